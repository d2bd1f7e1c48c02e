/* One world of a task, without a policy -> its own pictures -> a file (show_env.h). */
#include "trainer/tools/show_env.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/config/config.h"
#include "core/memory.h"
#include "core/random.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/picture/film.h"
#include "trainer/wrappers/action.h"

/* What a step fills, of one world. */
typedef struct World {
  float *observation, *actions;
  float reward;
  uint8_t done, solved;
  int32_t episode_steps;
} World;

static void step(const ShowEnv *show, Env *env, const OpsHead *head, int number, World *world) {
  if (show->random)
    action_random(head, 1, (uint64_t)show->seed, CORE_RANDOM_ACTION, 0, (uint32_t)number, world->actions);
  env->step(env, world->actions, &(EnvStep){.observations = world->observation, .rewards = &world->reward,
                                            .dones = &world->done, .solved = &world->solved,
                                            .episode_steps = &world->episode_steps});
}

/* An episode that ends is followed by the next one. */
static int shoot(const ShowEnv *show, Env *env, const CoreConfig *config, Film *film, World *world) {
  const OpsHead head = action_head(config, env);
  const int64_t moving = picture_moves(film->picture) ? SHOW_MOVING_STEPS : 0;
  const int steps = (int)(show->steps >= 0 ? show->steps : moving);
  env->reset(env, world->observation);
  for (int i = 0; i < steps; i++) {
    if (film_wants(film, i)) TRY(film_shoot(film, false));
    step(show, env, &head, i, world);
  }
  TRY(film_shoot(film, true));
  return picture_write(film->picture);
}

static int make_film(const ShowEnv *show, const CoreConfig *config, Env *env) {
  Film *film;
  World world = {.observation = NULL};
  if (env->picture == NULL)
    return core_error(CORE_USAGE, "%.60s draws no pictures; show is for levels and for MuJoCo's tasks", show->task);
  TRY(film_create(show->output, env, show->pixels, &film));
  world.observation = core_memory_zero_allocate((size_t)env->observation_length, sizeof(float));
  world.actions = core_memory_zero_allocate((size_t)env->action_values + OPS_FACTORS_MAX, sizeof(float));
  const int code = shoot(show, env, config, film, &world);
  if (code == CORE_OK) {
    printf("%s: %d x %d pixels", show->output, film->pixels, film->pixels);
    if (picture_moves(film->picture)) printf(", %d frames", film->frames);
    printf("\n");
  }
  film_destroy(&film);
  free(world.observation);
  free(world.actions);
  return code;
}

int show_env(const ShowEnv *show) {
  CoreConfig config = core_config_default();
  Env *env = NULL;
  TRY(core_config_set(&config, "env.task", show->task));
  TRY(env_create(&config, 1, (uint64_t)show->seed, &env));
  const int code = make_film(show, &config, env);
  env_destroy(&env);
  return code;
}
