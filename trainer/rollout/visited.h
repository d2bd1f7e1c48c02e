/* A bounded sample of the states that a run's rollouts visit, written to files. Pictures of the state space project it
 * onto any plane (analysis/runs/coverage.h fits one to several runs; P002 Figs. 2 and 9, spec metrics.md 4.5).
 * coverage.h needs no files, but has one fixed plane. Called by the rollout; it changes nothing.
 *
 * metrics.visited_states of a whole run, the same number whatever its environments and steps, taken evenly from up to
 * VISITED_PARTS of its iterations: a stratified sample of each, a function of (seed, iteration), so that an iteration
 * done again after a crash writes the same file again. States are observations as the environment shows them, before
 * any normalisation. */
#ifndef TRAINER_VISITED_H
#define TRAINER_VISITED_H
#include "core/device/arena.h"
#include "trainer/envs/env.h"
#include "trainer/ranks/shards.h"

enum { VISITED_PARTS = 64 };

typedef struct Visited {
  int features;                       /* of a state */
  int row;                            /* numbers of memory that an observation takes: features, but where pixels */
  const EnvPixels *pixels;            /* of the environment; borrowed */
  int64_t states, iterations, total;  /* asked for of the run; of the run; transitions of an iteration */
  Shards shards;
  float *rows;                        /* [room][features] of this iteration; all ranks' after visited_finish */
  /* Of the iteration that is sampled. */
  int64_t count, next, iteration;     /* states; the next one of them, in the order of their rows */
  uint64_t seed;
} Visited;

/* states: of the whole run, at least 1. total: transitions of an iteration, of which `iterations` will be done. */
void visited_register(Visited *visited, const Env *levels, const Shards *shards, int64_t states, int64_t iterations,
                      int64_t total, CoreArena *arena);
/* How many states iteration 1 .. iterations gives; 0: it is not sampled. */
int64_t visited_share(const Visited *visited, int64_t iteration);
/* Before a rollout; false: it is not sampled. */
bool visited_begin(Visited *visited, uint64_t seed, int64_t iteration);
/* What the environment shows after step t of it, [worlds of this rank][features]. */
void visited_add_states(Visited *visited, int t, const float *shown);
/* After it, all ranks together: `rows` are complete. */
void visited_finish(Visited *visited);
/* The sample as NumPy reads it (.npy version 1, float32 [count][features]); the caller frees the text. */
void visited_format(const Visited *visited, CoreText *file);

#endif
