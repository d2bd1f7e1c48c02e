/* The gradient of a minibatch from those of its pieces: the mean over the rows of all shards of all ranks. A
 * learner runs its backward passes into `mean`, piece by piece, each a mean over the piece's own rows. With one
 * shard there is nothing to add up and the passes' result is the gradient. */
#ifndef TRAINER_GRADIENT_H
#define TRAINER_GRADIENT_H
#include "trainer/agent.h"
#include "trainer/shards.h"

typedef struct Gradient {
  const Agent *agent;
  Shards shards;
  AgentGradient mean;       /* of the piece at hand; after gradient_finish of the minibatch, the same at all ranks */
  float *actor, *critic;    /* [shards][n] means of the shards so far; NULL where there is one shard */
  int *rows;                /* [shards] rows so far */
  float *gather;            /* comm.deterministic: a slice of all shards' gradients */
} Gradient;

/* rows: of the largest piece. */
void gradient_register(Gradient *gradient, const Agent *agent, const Shards *shards, int rows, CoreArena *arena);
void gradient_begin(Gradient *gradient);
/* Adds what the backward passes of a piece of one of this rank's shards left in `mean`. */
void gradient_add(Gradient *gradient, int shard, int rows);
/* All ranks. comm.deterministic: the gradients of all shards are gathered, slice by slice, and folded in double in
 * shard order; all numbers of a shard then go to every rank. Else each rank's sum is added by MPI. all_rows: of all
 * ranks. */
void gradient_finish(Gradient *gradient, int64_t all_rows);

#endif
