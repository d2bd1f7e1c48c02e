/* End to end: transitions a second of whole PPO iterations (rollout, update, KL and DDR) with 512 worlds x 64 steps,
 * minibatches of 16 384, 8 epochs and separate 3x256 tanh networks, on the Kinetix levels of each size under KINETIX_LEVELS: what
 * tests/bench/peers/jax_ppo.py does in JAX. With the shares of rollout, update and the rest. Prints CSV. */
#include <math.h>
#include <stdlib.h>

#include "tests/bench/bench.h"
#include "trainer/training.h"

enum { ITERATIONS = 4 };

static int measure(const CoreConfig *config, StoreIteration *best, int *threads) {
  Training *training = NULL;
  int code = training_plan(config, &training);
  if (code == CORE_OK) code = training_allocate(training);
  if (code == CORE_OK) training_start(training);
  for (int i = 0; code == CORE_OK && i < ITERATIONS; i++) {
    StoreIteration row;
    code = training_iterate(training, &row);
    /* The first warms up, and measures what only each tenth iteration measures. */
    if (i > 0 && (i == 1 || row.steps_per_second > best->steps_per_second)) *best = row;
  }
  if (code == CORE_OK) *threads = training->plan.threads;
  training_destroy(&training);
  return code;
}

static int bench_size(const char *levels, char size) {
  CoreConfig config = core_config_default();
  StoreIteration row = {0};
  char name[16], value[4096];
  int threads = 1;
  snprintf(name, sizeof name, "ppo_%c", size);
  snprintf(value, sizeof value, "%s/%c", levels, size);
  const char *const settings[][2] = {{"env.task", "levels"}, {"env.levels", value}, {"env.num", "512"},
                                     {"ppo.num_steps", "64"}, {"ppo.num_minibatches", "2"}, {"eval.count", "0"},
                                     {"train.total_steps", "1e9"}};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    TRY(core_config_set(&config, settings[i][0], settings[i][1]));
  TRY(measure(&config, &row, &threads));
  double seconds = row.seconds_rollout + row.seconds_update + row.seconds_other;
  bench_row("trainer", name, "steps_per_second", row.steps_per_second, "transitions/s", threads);
  bench_row("trainer", name, "rollout", 100 * row.seconds_rollout / seconds, "%", threads);
  bench_row("trainer", name, "update", 100 * row.seconds_update / seconds, "%", threads);
  bench_row("trainer", name, "rest", 100 * row.seconds_other / seconds, "%", threads);
  bench_row("trainer", name, "update_per_second", 512 * 64 / row.seconds_update, "transitions/s", threads);
  return CORE_OK;
}

int main(void) {
  const char *levels = getenv("KINETIX_LEVELS");
  int code = CORE_OK;
  for (const char *size = "sml"; levels && *size; size++)
    if (bench_size(levels, *size) != CORE_OK) {
      printf("# ppo_%c: %s\n", *size, core_error_message());
      code = 1;
    }
  return code;
}
