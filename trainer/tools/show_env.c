/* Steps one world of a task without a policy and records it with the environment's renderer (show_env.h). */
#include "trainer/tools/show_env.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/config/config.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/unicode.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/picture/env_recorder.h"
#include "trainer/wrappers/action.h"

/* Buffers for a step of one world. */
typedef struct StepBuffers {
  float *observation, *actions;
  float reward;
  uint8_t done, solved;
  int32_t episode_steps;
} StepBuffers;

/* Steps the world, across ends of episodes, and adds the frames. */
static int record(const ShowEnv *show, Env *env, const CoreConfig *config, EnvRecorder *recorder,
                  StepBuffers *buffers) {
  const OpsHead head = action_head(config, env);
  const int64_t default_steps = picture_is_video(recorder->picture) ? SHOW_VIDEO_STEPS : 0;
  const int steps = (int)(show->steps >= 0 ? show->steps : default_steps);
  env->reset(env, buffers->observation);
  for (int i = 0; i < steps; i++) {
    if (env_recorder_is_due(recorder, i)) TRY(env_recorder_add_frame(recorder, false));
    if (show->random)
      action_random(&head, 1, (uint64_t)show->seed, CORE_RANDOM_ACTION, 0, (uint32_t)i, buffers->actions);
    env->step(env, buffers->actions, &(EnvStep){.observations = buffers->observation, .rewards = &buffers->reward,
                                              .dones = &buffers->done, .solved = &buffers->solved,
                                              .episode_steps = &buffers->episode_steps});
  }
  TRY(env_recorder_add_frame(recorder, true));
  return picture_write(recorder->picture);
}

static int record_task(const ShowEnv *show, const CoreConfig *config, Env *env) {
  EnvRecorder *recorder;
  StepBuffers buffers = {.observation = NULL};
  if (env->picture == NULL)
    return core_error(CORE_USAGE, "%.60s cannot be rendered; trainer show supports levels and MuJoCo tasks",
                                  show->task);

  TRY(env_recorder_create(show->output, env, show->pixels, &recorder));
  buffers.observation = core_memory_zero_allocate((size_t)env->observation_length, sizeof(float));
  buffers.actions = core_memory_zero_allocate((size_t)env->action_values + OPS_FACTORS_MAX, sizeof(float));
  const int code = record(show, env, config, recorder, &buffers);
  if (code == CORE_OK) {
    core_unicode_print(stdout, "%s: %d x %d pixels", show->output, recorder->pixels, recorder->pixels);
    if (picture_is_video(recorder->picture)) printf(", %d frames", recorder->frames);
    printf("\n");
  }

  env_recorder_destroy(&recorder);
  free(buffers.observation);
  free(buffers.actions);
  return code;
}

int show_env(const ShowEnv *show) {
  CoreConfig config = core_config_default();
  Env *env = NULL;
  TRY(core_config_set(&config, "env.task", show->task));
  TRY(env_create(&config, 1, (uint64_t)show->seed, &env));
  const int code = record_task(show, &config, env);
  env_destroy(&env);
  return code;
}
