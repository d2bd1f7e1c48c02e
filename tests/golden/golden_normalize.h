/* Golden case of normalization a world: gymnasium's NormalizeObservation and NormalizeReward, one each an environment,
 * and gym's over all environments together (Procgen's). Replays the file's episodes through the trainer's wrappers. */
#ifndef GOLDEN_NORMALIZE_H
#define GOLDEN_NORMALIZE_H
#include "core/device/arena.h"
#include "tests/golden/golden_check.h"
#include "trainer/wrappers/normalize.h"
#include "trainer/wrappers/normalize_each.h"

/* The file's episodes, [steps][worlds] of each. */
typedef struct NormalizeCase {
  size_t steps, worlds, features;
  float *first, *arrived, *reset_to; /* [features]; first: [worlds][features] */
  float *reward;
  uint8_t *terminated, *truncated, *ended;
} NormalizeCase;

static NormalizeCase normalize_case(Check *check) {
  const GoldEntry *shape = check_entry(check, "in/obs");
  NormalizeCase c = {.steps = (size_t)shape->dimension[0], .worlds = (size_t)shape->dimension[1],
                     .features = (size_t)shape->dimension[2]};
  size_t rows = c.steps * c.worlds, numbers = rows * c.features, first = c.worlds * c.features;
  if (rows == 0 || c.features == 0) check_give_up(check, "in/obs has no shape of steps, worlds and features");
  c.first = check_input_float(check, "in/reset_obs", &first);
  c.arrived = check_input_float(check, "in/obs", &numbers);
  c.reset_to = check_input_float(check, "in/obs_after_reset", &numbers);
  c.reward = check_input_float(check, "in/reward", &rows);
  c.terminated = check_input_bytes(check, "in/terminated", &rows, 2);
  c.truncated = check_input_bytes(check, "in/truncated", &rows, 2);
  c.ended = check_memory(check, rows);
  for (size_t i = 0; i < rows; i++) {
    c.ended[i] = c.terminated[i] || c.truncated[i];
    c.truncated[i] = c.truncated[i] && !c.terminated[i]; /* as environments tell it */
  }
  return c;
}

/* A compared tensor, filled step by step. */
static double *normalize_room(Check *check, size_t n) { return check_memory(check, n * sizeof(double)); }

static void normalize_observations(Check *check, const NormalizeCase *c) {
  const size_t row = c->worlds * c->features, all = c->steps * row, record = 1 + 2 * c->features;
  NormalizeEach each;
  CoreArena *arena = core_arena_create("golden");
  normalize_each_register(&each, (int)c->worlds, (int)c->features, arena);
  if (core_arena_commit(arena) != CORE_OK) check_give_up(check, "no memory");
  float *x = check_floats(check, row), *seen = check_floats(check, row + all), *last = check_floats(check, all);
  double *mean = normalize_room(check, all), *var = normalize_room(check, all);
  double *count = normalize_room(check, c->steps * c->worlds);
  const GoldEntry *final = check_entry(check, "out/final_obs");
  normalize_each_start(&each);
  normalize_each_add(&each, c->first, NULL);
  normalize_each_apply(&each, c->first, seen, (int)c->features);
  check_singles(check, "", "obs0", CHECK_STABLE, seen, row);
  for (size_t t = 0; t < c->steps; t++) {
    const float *arrived = c->arrived + t * row;
    const uint8_t *ended = c->ended + t * c->worlds;
    for (size_t i = 0; i < row; i++) {
      x[i] = ended[i / c->features] ? c->reset_to[t * row + i] : arrived[i];
      last[t * row + i] = (float)gold_element(&check->gold, final, t * row + i); /* no episode ended */
    }
    normalize_each_add(&each, x, &(NormalizeLast){ended, arrived, last + t * row, (int)c->features});
    normalize_each_apply(&each, x, seen + row + t * row, (int)c->features);
    for (size_t i = 0; i < row; i++) {
      const double *of = each.moments + i / c->features * record;
      mean[t * row + i] = of[1 + i % c->features];
      var[t * row + i] = of[1 + c->features + i % c->features] / of[0];
      count[t * c->worlds + i / c->features] = of[0];
    }
  }
  check_singles(check, "", "obs", CHECK_STABLE, seen + row, all);
  check_singles(check, "", "final_obs", CHECK_STABLE, last, all);
  check_doubles(check, "", "obs_mean", CHECK_DOUBLE, mean, all);
  check_doubles(check, "", "obs_var", CHECK_DOUBLE, var, all);
  check_doubles(check, "", "obs_count", CHECK_DOUBLE, count, c->steps * c->worlds);
  core_arena_destroy(&arena);
}

/* each: the files' own tensors; else those of `vector/`, where any end is one of the sum. */
static void normalize_rewards(Check *check, const NormalizeCase *c, bool each) {
  const size_t n = c->steps * c->worlds;
  RewardScale scale;
  CoreArena *arena = core_arena_create("golden");
  reward_register(&scale, each ? REWARD_CLEANRL_EACH : REWARD_CLEANRL, check_real(check, "hp/gamma"), (int)c->worlds,
                  (int)c->worlds, arena);
  if (core_arena_commit(arena) != CORE_OK) check_give_up(check, "no memory");
  float *reward = check_floats(check, n);
  double *mean = normalize_room(check, n), *var = normalize_room(check, n), *sum = normalize_room(check, n);
  memcpy(reward, c->reward, n * sizeof *reward);
  reward_start(&scale);
  for (size_t t = 0; t < c->steps; t++) {
    const size_t at = t * c->worlds;
    reward_step(&scale, reward + at, c->ended + at, each ? c->truncated + at : NULL);
    for (size_t w = 0; w < c->worlds && each; w++) {
      const double *of = scale.moments + 3 * w;
      mean[at + w] = of[1];
      var[at + w] = of[2] / of[0];
      sum[at + w] = scale.returns[w];
    }
  }
  const char *prefix = each ? "" : "vector/";
  check_singles(check, prefix, "reward", CHECK_STABLE, reward, n);
  if (each) {
    check_doubles(check, "", "return_mean", CHECK_DOUBLE, mean, n);
    check_doubles(check, "", "return_var", CHECK_DOUBLE, var, n);
    check_doubles(check, "", "discounted_return", CHECK_DOUBLE, sum, n);
  } else {
    check_scalar(check, prefix, "return_mean", CHECK_DOUBLE, scale.moments[1]);
    check_scalar(check, prefix, "return_var", CHECK_DOUBLE, scale.moments[2] / scale.moments[0]);
  }
  core_arena_destroy(&arena);
}

static void case_normalize(Check *check) {
  if (check_real(check, "hp/clip") != 10 || check_real(check, "hp/epsilon") != 1e-8 ||
      check_real(check, "hp/count0") != 1e-4)
    check_give_up(check, "hp/clip, hp/epsilon or hp/count0 is not what the trainer has");
  const NormalizeCase c = normalize_case(check);
  normalize_observations(check, &c);
  normalize_rewards(check, &c, true);
  normalize_rewards(check, &c, false);
}

#endif
