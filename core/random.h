/* Random numbers: Philox4x32-10 (Salmon et al. 2011, through Random123), counter-based, so that a number depends only
 * on what it is for (seed, purpose, index), never on threads, ranks or devices. The same text serves C and CUDA. */
#ifndef CORE_RANDOM_H
#define CORE_RANDOM_H
#include <math.h>
#include <stdint.h>
/* Philox needs none of the processor's intrinsics, and their headers take longer to compile than most files. */
#ifndef R123_USE_SSE
#define R123_USE_SSE 0
#endif
#include <Random123/philox.h>

#if defined(__CUDACC__)
#define CORE_RANDOM_FN static inline __host__ __device__
#define CORE_RANDOM_CALLED_FN static __host__ __device__ __noinline__
#else
#define CORE_RANDOM_FN static inline
#define CORE_RANDOM_CALLED_FN static inline
#endif

/* Purposes of streams: a word of the counter, so that streams never overlap. Append new ones; values are fixed. */
enum {
  CORE_RANDOM_RESET = 1,     /* level choice at an episode's start: (world, episode) */
  CORE_RANDOM_ACTION = 2,    /* action sampling: (world, step) */
  CORE_RANDOM_SHUFFLE = 3,   /* minibatch permutation: (iteration, epoch) */
  CORE_RANDOM_WEIGHTS = 4,   /* network initialization: (tensor, element) */
  CORE_RANDOM_LEVEL = 5,     /* level generation: (level, attempt) */
  CORE_RANDOM_EVALUATE = 6,  /* actions during evaluation: (world, step) */
  CORE_RANDOM_BOOTSTRAP = 7, /* resampling in statistics: (replicate, task) */
  CORE_RANDOM_STATES = 8,    /* states sampled for a metric: (iteration) */
  CORE_RANDOM_NOISE = 9,     /* the noisy convex example: (step) */
  CORE_RANDOM_SEARCH = 13,   /* actions of a learnability search: (level, step) */
  CORE_RANDOM_BUFFER = 14,   /* levels sampled from the buffer: (world, iteration) */
  CORE_RANDOM_TEST = 15,
  CORE_RANDOM_WARM_UP = 20,   /* random actions before the first iteration: (world, step) */
  CORE_RANDOM_ENTROPY = 21,   /* sampled entropies: (transition, update) */
  CORE_RANDOM_FOLLOWERS = 22, /* SAPG: whose transitions the leader learns from: (iteration) */
  CORE_RANDOM_COVERAGE = 25,  /* the plane of state coverage, and the play that its box comes from: (world, step) */
  CORE_RANDOM_TRIAL = 26,     /* values of a search's trials: (trial, draw); the seed is of sweep, search, setting */
  /* Seeds of worlds that draw their own random numbers (EnvForeign): training's (world, reset), the warm-up's and the
   * coverage box's (world, 0), an evaluation's (attempt, evaluation). */
  CORE_RANDOM_WORLD = 27,
  CORE_RANDOM_WORLD_WARM_UP = 28,
  CORE_RANDOM_WORLD_COVERAGE = 29,
  CORE_RANDOM_WORLD_EVALUATE = 30,
  CORE_RANDOM_BLOCK = 31, /* minibatch permutation of one block: (iteration, epoch); the seed has the block */
};

typedef struct CoreRandom4 { uint32_t v[4]; } CoreRandom4;

/* Returns four 32-bit words for (seed; purpose, a, b, c). a and b are indices, c counts blocks of one use. */
CORE_RANDOM_FN CoreRandom4 core_random_4(uint64_t seed, uint32_t purpose, uint32_t a, uint32_t b, uint32_t c) {
  philox4x32_ctr_t counter = {{c, b, a, purpose}};
  philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
  philox4x32_ctr_t out = philox4x32(counter, key);
  CoreRandom4 r;
  for (int i = 0; i < 4; i++) r.v[i] = out.v[i];
  return r;
}

/* [0, 1) with 24 bits: exact in float32 on every machine. */
CORE_RANDOM_FN float core_random_unit(uint32_t word) { return (float)(word >> 8) * (1.0f / 16777216.0f); }

/* Uniform in 0..n-1 (multiply-shift; bias below n/2^32). */
CORE_RANDOM_FN uint32_t core_random_below(uint32_t word, uint32_t n) { return (uint32_t)(((uint64_t)word * n) >> 32); }

/* A sequential reader of one stream, for code that draws many numbers for one thing (a level). */
typedef struct CoreRandomStream {
  uint64_t seed;
  uint32_t purpose, a, b, block, used;
  CoreRandom4 words;
} CoreRandomStream;

CORE_RANDOM_FN CoreRandomStream core_random_stream(uint64_t seed, uint32_t purpose, uint32_t a, uint32_t b) {
  CoreRandomStream s = {seed, purpose, a, b, 0, 4, {{0, 0, 0, 0}}};
  return s;
}

/* A call on GPUs: a level takes dozens of draws, and ten rounds in each of their places are slow to compile. */
CORE_RANDOM_CALLED_FN uint32_t core_random_next(CoreRandomStream *s) {
  if (s->used == 4) {
    s->words = core_random_4(s->seed, s->purpose, s->a, s->b, s->block++);
    s->used = 0;
  }
  return s->words.v[s->used++];
}

CORE_RANDOM_FN float core_random_uniform(CoreRandomStream *s, float low, float high) {
  return low + (high - low) * core_random_unit(core_random_next(s));
}

/* Two independent N(0,1) draws from two words (Box-Muller in double, by the machine's own log, sin and cos). */
CORE_RANDOM_FN void core_random_normal_pair(uint32_t first, uint32_t second, double *x, double *y) {
  const double word = 1.0 / 4294967296.0;
  const double u = ((double)first + 1.0) * word; /* (0, 1]: the logarithm of 0 never comes up */
  const double angle = (double)second * (word * 2.0 * 3.14159265358979323846);
  const double radius = sqrt(-2.0 * log(u));
  *x = radius * cos(angle);
  *y = radius * sin(angle);
}

/* A uniform permutation of 0..n-1 into `order` (Fisher-Yates on the stream (seed; purpose, a, b)). */
CORE_RANDOM_FN void core_random_permutation(uint64_t seed, uint32_t purpose, uint32_t a, uint32_t b, uint32_t *order,
                                            uint32_t n) {
  CoreRandomStream stream = core_random_stream(seed, purpose, a, b);
  for (uint32_t i = 0; i < n; i++) {
    /* The inside-out form: fills and shuffles in one pass. */
    uint32_t j = core_random_below(core_random_next(&stream), i + 1);
    order[i] = order[j];
    order[j] = i;
  }
}

#endif
