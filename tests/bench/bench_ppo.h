/* PPO end to end in this process: iterations of a training without evaluations and files. Included by bench_mujoco.c
 * and bench_environments.c; peers/cleanrl_ppo.py has the rows of CleanRL's programs. */
#ifndef TESTS_BENCH_PPO_H
#define TESTS_BENCH_PPO_H
#include "tests/bench/bench.h"
#include "trainer/run/training.h"

enum { BENCH_PPO_ITERATIONS = 6 };

/* Steps a second of the median iteration after the first, as a row of `part`. settings: pairs of names and values, up
 * to a NULL. */
static inline int bench_ppo(const char *part, const char *name, const char *const (*settings)[2], int threads) {
  CoreConfig config = core_config_default();
  Training *training = NULL;
  StoreIteration row;
  double speed[BENCH_PPO_ITERATIONS];
  TRY(core_config_set(&config, "eval.count", "0"));
  for (; (*settings)[0]; settings++) TRY(core_config_set(&config, (*settings)[0], (*settings)[1]));
  int code = training_plan(&config, &training);
  if (code == CORE_OK) code = training_allocate(training);
  if (code == CORE_OK) training_start(training);
  if (code == CORE_OK) code = training_iterate(training, &row);
  for (int i = 0; code == CORE_OK && i < BENCH_PPO_ITERATIONS; i++) {
    code = training_iterate(training, &row);
    speed[i] = row.steps_per_second;
  }
  training_destroy(&training);
  if (code == CORE_OK)
    bench_row(part, name, "steps_per_second", bench_median(speed, BENCH_PPO_ITERATIONS), "environment steps/s",
              threads);
  return code;
}

#endif
