/* Bounded sample of the states that a run's rollouts visit, written to files. Figures of the state space project it
 * onto any plane (analysis/runs/coverage.h fits one to several runs; docs/results.md#visited-states).
 * coverage.h needs no files, but has one fixed plane. Called by the rollout; changes nothing else.
 *
 * metrics.visited_states per run, the same number whatever its environments and steps, taken evenly from up to
 * VISITED_PARTS of its iterations: a stratified sample of each, a function of (seed, iteration), so that an iteration
 * repeated after a crash writes the same file again. States are the environment's observations, before any
 * normalization. */
#ifndef TRAINER_VISITED_H
#define TRAINER_VISITED_H
#include "core/device/arena.h"
#include "trainer/envs/env.h"
#include "trainer/ranks/shards.h"

enum { VISITED_PARTS = 64 };

typedef struct Visited {
  int features;                       /* features of a state */
  int row;                            /* floats of an observation in memory: features, except for pixels */
  const EnvPixels *pixels;            /* the environment's; borrowed */
  int64_t states, iterations, total;  /* states and iterations of the run; transitions per iteration */
  Shards shards;
  float *rows;                        /* [capacity][features] of this iteration; all ranks' after visited_finish */
  /* Sampled iteration: */
  int64_t count, next, iteration;     /* states; the next one of them, in the order of their rows */
  uint64_t seed;
} Visited;

/* Registers the buffers. states: per run, at least 1. total: transitions per iteration, of which there will be
 * `iterations`. */
void visited_register(Visited *visited, const Env *levels, const Shards *shards, int64_t states, int64_t iterations,
                      int64_t total, CoreArena *arena);
/* Returns the number of states that an iteration (from 1) contributes; 0: it is not sampled. */
int64_t visited_share(const Visited *visited, int64_t iteration);
/* Begins an iteration, before its rollout; returns false if it is not sampled. */
bool visited_begin(Visited *visited, uint64_t seed, int64_t iteration);
/* Returns the states that an iteration contributes at most. */
int64_t visited_capacity(int64_t states, int64_t iterations, int64_t total);
/* Adds state `number` of the sample. */
void visited_add_state(Visited *visited, int64_t number, const float *observation);
/* Adds the observations after step t, [worlds of this rank][features]. */
void visited_add_states(Visited *visited, int t, const float *shown);
/* Completes `rows` after the rollout; called by all ranks. */
void visited_finish(Visited *visited);
/* Formats the sample for NumPy (.npy version 1, float32 [count][features]); the caller frees the text. */
void visited_format(const Visited *visited, CoreText *file);

#endif
