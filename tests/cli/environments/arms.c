/* A task with many actions, for tests/cli/test_library.sh: "two" has the 46 continuous actions of two arms with a hand
 * each, "most" 64 discrete ones and "excess" 65. Each action should equal its part of the observation. */
#include <stdlib.h>
#include <string.h>

#include <sweep/environment.h>

enum { ACTIONS = 46, STEPS = 8 };

typedef struct Arms { int step, is_discrete; } Arms;

int sweep_environment_version(void) { return SWEEP_ENVIRONMENT_VERSION; }

int sweep_environment_spaces(const char *name, SweepSpaces *spaces) {
  *spaces = (SweepSpaces){.observations = ACTIONS, .limit = STEPS, .state_bytes = sizeof(Arms), .low = -1, .high = 1};
  if (strcmp(name, "two") == 0) spaces->values = ACTIONS;
  else spaces->factors = strcmp(name, "most") == 0 ? SWEEP_ENVIRONMENT_FACTORS : SWEEP_ENVIRONMENT_FACTORS + 1;
  for (int i = 0; i < SWEEP_ENVIRONMENT_FACTORS; i++) spaces->classes[i] = 2;
  return 0;
}

void *sweep_environment_make(const char *name) {
  Arms *arms = calloc(1, sizeof *arms);
  if (arms) arms->is_discrete = strcmp(name, "two") != 0;
  return arms;
}

void sweep_environment_destroy(void *world) { free(world); }

static void observe(float *observation) {
  for (int i = 0; i < ACTIONS; i++) observation[i] = (float)(i % 3 - 1);
}

void sweep_environment_reset(void *world, uint64_t seed, float *observation) {
  (void)seed;
  ((Arms *)world)->step = 0;
  observe(observation);
}

void sweep_environment_step(void *world, const void *action, SweepResult *result, float *observation) {
  Arms *arms = world;
  const float *values = action;
  const uint8_t *classes = action;
  *result = (SweepResult){.truncated = ++arms->step == STEPS};
  for (int i = 0; i < ACTIONS; i++) {
    const float error = (arms->is_discrete ? (float)classes[i] : values[i]) - (float)(i % 3 - 1);
    result->reward -= error * error / ACTIONS;
  }
  observe(observation);
}

void sweep_environment_save(const void *world, void *state) { memcpy(state, world, sizeof(Arms)); }
void sweep_environment_load(void *world, const void *state) { memcpy(world, state, sizeof(Arms)); }
