/* Weighted sampling of levels by the no-op filter (filter.h), for the host and the GPU. Each level draws an exponential
 * time, whose rate is the level's weight, and the levels with the earliest times are kept. The weight is small, so the
 * time is late on average, if the no-op policy solves the level ("the level solves itself"). */
#ifndef SIM_FILTER_KEY_H
#define SIM_FILTER_KEY_H
#include "core/random.h"
#include "sim/batch/filter.h"
#include "sim/batch/level_stream.h"
#include "sim/levels/generate.h"
#include "sim/levels/generate_joint.h"

#define SIM_FILTER_SOLVED_WEIGHT 0.001
#define SIM_FILTER_SOLVED_REWARD 0.5f /* a first episode whose last reward exceeds this counts as solved */

/* Returns -log(x) of a normal (not subnormal) 0 < x < 1 with error 1e-12, computed by + - * / alone so that every
 * machine keeps the same levels. */
SIM_FN double sim_filter_minus_log(double x) {
  const double ln_2 = 0.693147180559945309;
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  const int exponent = (int)(bits >> 52) - 1022;
  bits = (bits & 0xfffffffffffffu) | (uint64_t)1022 << 52;
  double m; /* 0.5 .. 1: x = m 2^exponent */
  memcpy(&m, &bits, sizeof m);
  double t = (1 - m) / (1 + m), square = t * t, sum = 0;
  for (int k = 25; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 2 * t * sum - exponent * ln_2;
}

/* Returns the time of level `number`. Exponential times E / weight give the same order as the Gumbel-max trick of the
 * reference (E / weight = exp(-(log weight + G))). */
SIM_FN double sim_filter_key(uint64_t seed, uint32_t number, bool solved) {
  const CoreRandom4 words = core_random_4(seed, CORE_RANDOM_LEVEL, number, SIM_GENERATE_FILTER, 0);
  const double two_to_minus_32 = 1.0 / 4294967296.0;
  return sim_filter_minus_log(((double)words.v[0] + 0.5) * two_to_minus_32) / (solved ? SIM_FILTER_SOLVED_WEIGHT : 1);
}

/* Pair of levels of which one is kept, ordered by the times that they have if neither solves itself. */
typedef struct SimFilterPair { uint32_t early, late; } SimFilterPair;
SIM_FN SimFilterPair sim_filter_pair(uint64_t seed, uint32_t first) {
  const bool swap = sim_filter_key(seed, first + 1, false) < sim_filter_key(seed, first, false);
  const SimFilterPair pair = {first + swap, first + !swap};
  return pair;
}

/* Whether the early level is kept although it solves itself. */
SIM_FN bool sim_filter_keeps_early(uint64_t seed, SimFilterPair pair, bool late_solved) {
  return late_solved || sim_filter_key(seed, pair.early, true) <= sim_filter_key(seed, pair.late, false);
}

#endif
