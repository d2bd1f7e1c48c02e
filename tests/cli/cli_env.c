/* Plays an environment and prints its outputs, for test scripts that compare it with other programs.
 *
 *   cli_env TASK WORLDS STEPS [SETTING=VALUE ...]
 *
 * One line per step and world, preceded by one per world with the step -1:
 *   step world hash-of-observation reward done truncated end length hash-of-last-observation
 * The hash is FNV-1a (64 bits) of the observation's pixels, or else of its values; the last one is 0 unless the episode
 * ended. World w takes action (5 t + 3 w + t / 7) mod n in step t, where n is the number of actions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "trainer/envs/tasks/tasks.h"

static uint64_t hash_of(const Env *env, const float *observations, int world) {
  const size_t length = (size_t)env->observation_length;
  const size_t bytes = env->pixels ? env_pixels_frame(env->pixels) * (size_t)env->pixels->frames : 4 * length;
  const uint8_t *row = (const uint8_t *)(observations + (size_t)world * length);
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ row[i]) * 1099511628211u;
  return hash;
}

static void print_step(const Env *env, int t, const EnvStep *out) {
  for (int w = 0; w < env->worlds; w++) {
    const bool done = t >= 0 && out->dones[w], end = env->has_lives ? t >= 0 && out->ends[w] : done;
    printf("%d %d %016" PRIx64 " %g %d %d %d %d %016" PRIx64 "\n", t, w, hash_of(env, out->observations, w),
           t >= 0 ? (double)out->rewards[w] : 0, done, t >= 0 && env->truncates && out->truncated[w], end,
           t >= 0 ? out->episode_steps[w] : 0,
           done && env->truncates ? hash_of(env, out->final_observations, w) : 0);
  }
}

static int play(const CoreConfig *config, int worlds, int steps) {
  Env *env = NULL;
  TRY(env_create(config, worlds, config->train.seed, &env));
  const size_t n = (size_t)worlds, numbers = n * (size_t)env->observation_length;
  uint8_t *actions = core_memory_zero_allocate(n, 1);
  const EnvStep out = {
    .observations = core_memory_zero_allocate(numbers, sizeof(float)),
    .rewards = core_memory_zero_allocate(n, sizeof(float)), .dones = core_memory_zero_allocate(n, 1),
    .solved = core_memory_zero_allocate(n, 1), .episode_steps = core_memory_zero_allocate(n, sizeof(int32_t)),
    .truncated = core_memory_zero_allocate(n, 1), .ends = core_memory_zero_allocate(n, 1),
    .final_observations = core_memory_zero_allocate(numbers, sizeof(float))};
  env->reset(env, out.observations);
  print_step(env, -1, &out);
  for (int t = 0; t < steps; t++) {
    for (int w = 0; w < worlds; w++) actions[w] = (uint8_t)((5 * t + 3 * w + t / 7) % env->head.size[0]);
    env->step(env, actions, &out);
    print_step(env, t, &out);
  }
  const int code = env_check(env);
  env_destroy(&env);
  free(actions), free(out.observations), free(out.rewards), free(out.dones), free(out.solved);
  free(out.episode_steps), free(out.truncated), free(out.ends), free(out.final_observations);
  return code;
}

int main(int argc, char **argv) {
  CoreConfig config = core_config_default();
  char task[CORE_CONFIG_TEXT + 16];
  if (argc < 4) {
    fprintf(stderr, "usage: cli_env TASK WORLDS STEPS [SETTING=VALUE ...]\n");
    return CORE_USAGE;
  }
  snprintf(task, sizeof task, "env.task=%s", argv[1]);
  int code = core_config_set_pair(&config, task);
  for (int i = 4; i < argc && code == CORE_OK; i++) code = core_config_set_pair(&config, argv[i]);
  if (code == CORE_OK) code = play(&config, atoi(argv[2]), atoi(argv[3]));
  if (code != CORE_OK) fprintf(stderr, "cli_env: %s\n", core_error_message());
  return code;
}
