/* numpy's default generator, as Gymnasium's environments draw from it: SeedSequence, PCG64 (XSL-RR 128/64, O'Neill
 * 2014), doubles of 53 bits, and standard normals by the ziggurat of 256 layers (Marsaglia and Tsang 2000). So that
 * seeded resets can be compared number by number. */
#ifndef TESTS_GOLDEN_NUMPY_H
#define TESTS_GOLDEN_NUMPY_H
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef unsigned __int128 NumpyWide;
typedef struct Numpy { NumpyWide state, increment; } Numpy;

/* ---- SeedSequence ------------------------------------------------------------------------------------------------ */

static inline uint32_t numpy_hash(uint32_t value, uint32_t *constant, uint32_t multiplier) {
  value ^= *constant;
  *constant *= multiplier;
  value *= *constant;
  return value ^ value >> 16;
}

static inline uint32_t numpy_mix(uint32_t x, uint32_t y) {
  const uint32_t mixed = 0xca01f9ddu * x - 0x4973f715u * y;
  return mixed ^ mixed >> 16;
}

static inline void numpy_seed_words(uint64_t seed, uint64_t word[4]) {
  enum { POOL = 4 };
  uint32_t pool[POOL], constant = 0x43b0d7e5u, half[8];
  const uint32_t entropy[POOL] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  for (int i = 0; i < POOL; i++) pool[i] = numpy_hash(entropy[i], &constant, 0x931e8875u);
  for (int from = 0; from < POOL; from++)
    for (int to = 0; to < POOL; to++)
      if (from != to) pool[to] = numpy_mix(pool[to], numpy_hash(pool[from], &constant, 0x931e8875u));
  constant = 0x8b51f9ddu;
  for (int i = 0; i < 8; i++) half[i] = numpy_hash(pool[i % POOL], &constant, 0x58f38dedu);
  for (int i = 0; i < 4; i++) word[i] = (uint64_t)half[2 * i + 1] << 32 | half[2 * i];
}

/* ---- PCG64 ------------------------------------------------------------------------------------------------------- */

static inline void numpy_step(Numpy *numpy) {
  const NumpyWide multiplier = (NumpyWide)0x2360ed051fc65da4u << 64 | 0x4385df649fccf645u;
  numpy->state = numpy->state * multiplier + numpy->increment;
}

static inline Numpy numpy_seed(uint64_t seed) {
  uint64_t word[4];
  numpy_seed_words(seed, word);
  Numpy numpy = {0, ((NumpyWide)word[2] << 64 | word[3]) << 1 | 1};
  numpy_step(&numpy);
  numpy.state += (NumpyWide)word[0] << 64 | word[1];
  numpy_step(&numpy);
  return numpy;
}

static inline uint64_t numpy_next(Numpy *numpy) {
  numpy_step(numpy);
  const uint64_t folded = (uint64_t)(numpy->state >> 64) ^ (uint64_t)numpy->state;
  const int turn = (int)(numpy->state >> 122);
  return folded >> turn | folded << (-turn & 63);
}

/* [0, 1) */
static inline double numpy_uniform(void *numpy) { return (double)(numpy_next(numpy) >> 11) * 0x1p-53; }

/* ---- normals ----------------------------------------------------------------------------------------------------- */

enum { NUMPY_LAYERS = 256 };
typedef struct NumpyLayers {
  uint64_t k[NUMPY_LAYERS]; /* below this a layer's number is under the curve for sure */
  double w[NUMPY_LAYERS], f[NUMPY_LAYERS];
} NumpyLayers;

static const double numpy_last = 3.6541528853610087963519472518;

static inline const NumpyLayers *numpy_layers(void) {
  static NumpyLayers layers;
  const long double r = 3.6541528853610087963519472518L, scale = 0x1p52L;
  long double x = r, fr = expl(-0.5L * r * r);
  const long double area = r * fr + sqrtl(acosl(-1) / 2) * erfcl(r / sqrtl(2));
  if (layers.w[0] != 0) return &layers;
  layers.w[0] = (double)(area / fr / scale);
  layers.k[0] = (uint64_t)(r * fr / area * scale);
  layers.f[0] = 1;
  for (int i = NUMPY_LAYERS - 1; i > 0; i--) {
    const long double f = expl(-0.5L * x * x), below = i > 1 ? sqrtl(-2 * logl(area / x + f)) : 0;
    layers.w[i] = (double)(x / scale);
    layers.f[i] = (double)f;
    layers.k[i] = (uint64_t)(below / x * scale);
    x = below;
  }
  return &layers;
}

static inline double numpy_normal(void *numpy) {
  const NumpyLayers *layers = numpy_layers();
  for (;;) {
    const uint64_t drawn = numpy_next(numpy), number = drawn >> 9 & 0xfffffffffffffu;
    const int layer = (int)(drawn & 255);
    const double x = (double)number * layers->w[layer] * (drawn >> 8 & 1 ? -1 : 1);
    if (number < layers->k[layer]) return x;
    if (layer > 0) {
      const double height = (layers->f[layer - 1] - layers->f[layer]) * numpy_uniform(numpy) + layers->f[layer];
      if (height < exp(-0.5 * x * x)) return x;
      continue;
    }
    for (;;) {
      const double away = -1 / numpy_last * log1p(-numpy_uniform(numpy)), y = -log1p(-numpy_uniform(numpy));
      if (y + y > away * away) return number >> 8 & 1 ? -(numpy_last + away) : numpy_last + away;
    }
  }
}

#endif
