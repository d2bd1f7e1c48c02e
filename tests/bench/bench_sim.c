/* How fast worlds step: environment steps (two physics steps, reward, observation, auto-reset) under random actions, on the
 * loco512 sets and, where a folder of Kinetix levels is given by KINETIX_LEVELS, on its S, M and L levels. One and all threads. */
#include <omp.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/random.h"
#include "core/terminal.h"
#include "sim/batch.h"
#include "tests/bench/bench.h"

enum { WORLDS = 1024, ACTION_SETS = 64 };

/* Environment steps per second of one level set; 0 when the set can not be made. */
static double steps_per_second(const SimLevelSet *levels, int threads) {
  SimBatchOptions options = sim_batch_options_default();
  options.worlds = WORLDS;
  options.auto_reset = true;
  SimBatch *batch = NULL;
  if (sim_batch_create(&options, levels, &batch) != CORE_OK) return 0;
  const size_t length = (size_t)sim_batch_observation_length(batch);
  float *observations = core_memory_allocate(WORLDS * length * sizeof *observations);
  float *reward = core_memory_allocate(WORLDS * sizeof *reward);
  uint8_t *done = core_memory_allocate(WORLDS);
  uint8_t *actions = core_memory_allocate((size_t)ACTION_SETS * WORLDS * SIM_ACTIONS);
  CoreRandomStream stream = core_random_stream(1, CORE_RANDOM_TEST, 0, 0);
  for (size_t i = 0; i < (size_t)ACTION_SETS * WORLDS * SIM_ACTIONS; i++)
    actions[i] = (uint8_t)core_random_below(core_random_next(&stream), i % SIM_ACTIONS < SIM_MOTOR_BINDINGS ? 3 : 2);
  omp_set_num_threads(threads);
  sim_batch_reset(batch, observations);
  const SimStepOut out = {.observations = observations, .reward = reward, .done = done};
  int64_t steps = 0;
  double start = 0;
  for (int i = 0; i == 0 || core_clock_s() - start < 2; i++) {
    if (i == 32) start = core_clock_s(), steps = 0; /* after warm-up */
    if (start == 0) start = core_clock_s();
    sim_batch_step(batch, actions + (size_t)(i % ACTION_SETS) * WORLDS * SIM_ACTIONS, &out);
    steps += WORLDS;
  }
  const double rate = (double)steps / (core_clock_s() - start);
  free(observations), free(reward), free(done), free(actions);
  sim_batch_destroy(&batch);
  return rate;
}

static void bench_set(const char *name, SimLevelSet *levels) {
  const int threads = omp_get_num_procs();
  bench_row("sim", name, "steps_per_second", steps_per_second(levels, 1), "environment steps/s", 1);
  if (threads > 1) bench_row("sim", name, "steps_per_second", steps_per_second(levels, threads), "environment steps/s", threads);
  sim_level_set_free(levels);
}

int main(void) {
  SimLevelSet levels;
  if (sim_morphology_set("public", "all", 512, &levels) == CORE_OK) bench_set("env_loco_public", &levels);
  if (sim_morphology_set("all", "all", 512, &levels) == CORE_OK) bench_set("env_loco_families", &levels);
  const char *folder = getenv("KINETIX_LEVELS");
  for (const char *size = "sml"; folder && *size; size++) {
    char path[4096], name[8];
    snprintf(path, sizeof path, "%s/%c", folder, *size);
    snprintf(name, sizeof name, "env_%c", *size);
    if (sim_level_set_read(path, &levels) == CORE_OK) bench_set(name, &levels);
  }
  return 0;
}
