/* Gradient of a minibatch from those of its micro-batches: the mean over the rows of all shards of all ranks. A learner
 * runs its backward passes into `mean`, one micro-batch after the other, each a mean over the micro-batch's own rows.
 * With one shard and one micro-batch there is nothing to add, and the result of the passes is the gradient. */
#ifndef TRAINER_GRADIENT_H
#define TRAINER_GRADIENT_H
#include "core/device/arena.h"
#include "trainer/nets/agent.h"
#include "trainer/ranks/shards.h"

enum { GRADIENT_BUCKETS_MAX = 2 * (NETWORK_LAYERS_MAX + 1) };

/* Bucket: neighboring layers' parameters of one network, which ranks with devices all-reduce together. */
typedef struct GradientBucket { bool is_actor; size_t first, n; } GradientBucket;

/* Progress of overlapping the all-reduce with the last micro-batch, on a device with several ranks
 * (gradient_device.c). */
typedef struct GradientSending {
  GradientBucket bucket[GRADIENT_BUCKETS_MAX]; /* in the order of backward passes, the same at all ranks */
  int buckets, sent;
  size_t actor_from, critic_from; /* from this parameter on a network's gradient is complete */
  bool last;                      /* whether the current micro-batch is this rank's last; then its rows and the
                                   * minibatch's: */
  int rows;
  int64_t global_rows;
} GradientSending;

/* Data of captured updates, with one micro-batch per shard, that only the device knows. */
typedef struct GradientCaptured {
  const uint32_t *rows;      /* [shards] of this rank */
  const double *shares;      /* [parts][global shards] shares of all rows, where shards are ordered */
  const uint64_t *step;      /* *step % parts is the current minibatch */
  int parts;
} GradientCaptured;

typedef struct Gradient {
  const Agent *agent;
  Shards shards;
  AgentGradient mean;       /* gradient of the current micro-batch; after gradient_finish of the minibatch, the same at
                             * all ranks */
  float *actor, *critic;    /* [shards][n] means of the shards so far, on the weights' device; NULL: nothing is added */
  int *rows;                /* [shards] rows so far */
  float *gather;            /* comm.deterministic: a slice of all shards' gradients, on the weights' device */
  double *shares;           /* [global shards] likewise */
  GradientSending sending;
  GradientCaptured captured; /* rows NULL: the host knows the rows of each micro-batch */
} Gradient;

/* Registers the buffers. rows: of the largest micro-batch; pieces: micro-batches of a minibatch without shards. */
void gradient_register(Gradient *gradient, const Agent *agent, const Shards *shards, int rows, int pieces,
                       CoreArena *arena);
void gradient_begin(Gradient *gradient);
/* Begins a minibatch of a captured update: the host does not know the micro-batches' rows, so the functions below
 * ignore theirs. */
void gradient_begin_captured(Gradient *gradient, const GradientCaptured *captured);
/* Announces this rank's last micro-batch of a minibatch of global_rows rows, before its backward passes (actor, then
 * critic). Where ranks have devices, layers' gradients may then be sent as they are completed. Without this call
 * gradient_finish sends all. */
void gradient_expect_last(Gradient *gradient, int rows, int64_t global_rows);
/* Adds the gradient in `mean` of a micro-batch of one of this rank's shards. */
void gradient_add(Gradient *gradient, int shard, int rows);
/* Merges the mean `more` [n] of `rows` rows into the mean of `before` rows, on the weights' device (NULL: the host).
 * before 0: *mean is overwritten. */
void gradient_merge_mean(CoreDevice *device, float *mean, const float *more, size_t n, int before, int rows);
/* Computes the minibatch's gradient; called by all ranks. comm.deterministic: the gradients of all shards are gathered,
 * slice by slice, and folded in double in shard order, which sends every shard's gradient to every rank. Otherwise the
 * ranks' sums are all-reduced, on CPUs by MPI, on devices by the agent's communicator. global_rows: over all ranks. */
void gradient_finish(Gradient *gradient, int64_t global_rows);

#endif
