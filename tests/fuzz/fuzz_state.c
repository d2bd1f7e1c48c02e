/* The simulator's saved state, as a checkpoint may hold it, with any numbers in it: refused, or loaded and then stepped
 * under any actions of any kind, with any kind of reset. Rewards stay finite and observations in their range. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "fuzz/fuzz.h"
#include "sim/batch/batch.h"
#include "sim/levels/level_set.h"

enum { WORLDS = 3, STEPS = 3 };

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  omp_set_num_threads(1);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  SimLevelSet set;
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch = NULL;
  float reward[WORLDS];
  options.worlds = WORLDS;
  options.max_steps = 2; /* so that resets come */
  options.actions = (SimActionSpace)(size % 3);
  options.reset = (SimReset)(size / 3 % SIM_RESET_NEW_FILTERED); /* filtering would take all of the time */
  FUZZ_CHECK(sim_morphology_set("public", "all", 3, &set) == CORE_OK);
  FUZZ_CHECK(sim_batch_create(&options, &set, &batch) == CORE_OK);
  size_t bytes = sim_batch_state_bytes(batch), features = (size_t)sim_batch_observation_length(batch);
  uint8_t *state = core_memory_zero_allocate(1, bytes);
  uint8_t *actions = core_memory_zero_allocate(WORLDS * SIM_ACTIONS, sizeof(float)); /* actions of any kind */
  float *observations = core_memory_zero_allocate(WORLDS * features, sizeof *observations);
  const SimStepOut out = {.observations = observations, .reward = reward};
  sim_batch_save(batch, state);
  /* the input lies over a good state from a place on that its first two bytes name */
  size_t at = size >= 2 ? (size_t)(data[0] | data[1] << 8) % bytes : 0;
  for (size_t i = 2; i < size; i++) state[(at + i - 2) % bytes] = data[i];
  for (size_t i = 0; i < size && i < WORLDS * SIM_ACTIONS * sizeof(float); i++) actions[i] = data[size - 1 - i];
  if (sim_batch_load(batch, state, bytes) == CORE_OK) {
    for (int t = 0; t < STEPS; t++) {
      sim_batch_step(batch, actions, &out);
      for (int w = 0; w < WORLDS; w++) FUZZ_CHECK(isfinite(reward[w]));
      for (size_t i = 0; i < WORLDS * features; i++) FUZZ_CHECK(fabsf(observations[i]) <= 10);
    }
  }
  free(state), free(actions), free(observations);
  sim_batch_destroy(&batch);
  sim_level_set_free(&set);
  return 0;
}
