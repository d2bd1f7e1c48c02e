/* The gradient of a minibatch from those of its pieces: the mean over the rows of all shards of all ranks. A
 * learner runs its backward passes into `mean`, piece by piece, each a mean over the piece's own rows. With one
 * shard there is nothing to add up and the passes' result is the gradient. */
#ifndef TRAINER_GRADIENT_H
#define TRAINER_GRADIENT_H
#include "core/device/arena.h"
#include "trainer/nets/agent.h"
#include "trainer/ranks/shards.h"

enum { GRADIENT_BUCKETS_MAX = 2 * (NETWORK_LAYERS_MAX + 1) };

/* Neighbouring layers' parameters of one network, which ranks with devices send together. */
typedef struct GradientBucket { bool is_actor; size_t first, n; } GradientBucket;

/* On a device with several ranks: which buckets were sent while the last piece is still computed
 * (gradient_device.c). */
typedef struct GradientSending {
  GradientBucket bucket[GRADIENT_BUCKETS_MAX]; /* in the order of backward passes, the same at all ranks */
  int buckets, sent;
  size_t actor_from, critic_from; /* from here on a network's gradient is complete */
  bool last;                      /* the present piece is this rank's last; then its rows and the minibatch's: */
  int rows;
  int64_t all_rows;
} GradientSending;

/* Of recorded updates, with one piece per shard: what only the device knows. */
typedef struct GradientCaptured {
  const uint32_t *rows;      /* [shards] of this rank */
  const double *shares;      /* [parts][all shards] of all rows, where shards are ordered */
  const uint64_t *step;      /* *step % parts is the present part */
  int parts;
} GradientCaptured;

typedef struct Gradient {
  const Agent *agent;
  Shards shards;
  AgentGradient mean;       /* of the piece at hand; after gradient_finish of the minibatch, the same at all ranks */
  float *actor, *critic;    /* [shards][n] means of the shards so far, where the weights are; NULL: one shard */
  int *rows;                /* [shards] rows so far */
  float *gather;            /* comm.deterministic: a slice of all shards' gradients, where the weights are */
  double *shares;           /* the same on a device: [all shards] */
  GradientSending sending;
  GradientCaptured captured;  /* rows NULL: the host knows how many each piece has */
} Gradient;

/* rows: of the largest piece. */
void gradient_register(Gradient *gradient, const Agent *agent, const Shards *shards, int rows, CoreArena *arena);
void gradient_begin(Gradient *gradient);
/* gradient_begin in a recorded update: the host does not know pieces' rows, so the functions below ignore theirs. */
void gradient_begin_captured(Gradient *gradient, const GradientCaptured *captured);
/* Before the backward passes of a piece, actor's then critic's, that is this rank's last one of a minibatch of all_rows
 * rows: where ranks have devices, layers' gradients may then be sent as they come. Without this call all are sent by
 * gradient_finish. */
void gradient_expect_last(Gradient *gradient, int rows, int64_t all_rows);
/* Adds what the backward passes of a piece of one of this rank's shards left in `mean`. */
void gradient_add(Gradient *gradient, int shard, int rows);
/* All ranks. comm.deterministic: the gradients of all shards are gathered, slice by slice, and folded in double in
 * shard order; all numbers of a shard then go to every rank. Else each rank's sum is added, on CPUs by MPI, on devices
 * by the agent's communicator. all_rows: of all ranks. */
void gradient_finish(Gradient *gradient, int64_t all_rows);

#endif
