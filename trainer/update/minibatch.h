/* Minibatches: every epoch, a fresh permutation of the run's whole rollout divided into M parts, each gathered into
 * dense buffers. The transitions of a part do not depend on the ranks; each rank takes those of its own worlds, so
 * their numbers differ. A rank processes its rows in micro-batches, none across shards: usually one per shard, a second
 * one where chance gave it more rows than the buffers hold. On a device without shards a micro-batch has at most
 * MINIBATCH_DEVICE_ROWS rows, with entities ENCODER_CHUNK_DEVICE, so that activations take little memory whatever the
 * size of the minibatch. Between rollout and learner; it copies and never computes. */
#ifndef TRAINER_MINIBATCH_H
#define TRAINER_MINIBATCH_H
#include "core/device/arena.h"
#include "trainer/rollout/rollout.h"

enum { MINIBATCH_DEVICE_ROWS = 65536 }; /* the environment variable TRAINER_MICROBATCH overrides it, for tests */

/* Unit of the permutation (docs/algorithms.md#minibatches). */
typedef enum MinibatchUnit {
  MINIBATCH_TRANSITIONS,   /* single transitions */
  MINIBATCH_ENVIRONMENTS,  /* whole environments: a minibatch holds all K steps of N/M environments */
  MINIBATCH_SEQUENCES,     /* whole sequences of steps, for a recurrent policy (states.h) */
} MinibatchUnit;

/* ppo.shuffle */
typedef enum MinibatchShuffle {
  MINIBATCH_SHUFFLE_ALL,    /* one permutation of all units */
  MINIBATCH_SHUFFLE_BLOCKS, /* a permutation of each M neighboring units: a part has one of each such block */
  MINIBATCH_SHUFFLE_NONE,   /* slices of neighboring units */
} MinibatchShuffle;

typedef struct Minibatch {
  int global_rows;         /* B = N*K/M: rows of a minibatch, over all ranks */
  int capacity;            /* capacity of the buffers below, in rows */
  int pieces;              /* micro-batches of a captured step: one per shard, or as many as hold a minibatch */
  int rows;                /* rows of the micro-batch gathered last; `capacity` before any */
  int shard;               /* index among this rank's shards of the micro-batch's shard */
  MinibatchUnit by;
  MinibatchShuffle shuffle;
  bool is_exact;           /* every shard has equally many units of each part (ppo.shuffle = blocks), and `order` holds
                            * this rank's only */
  int order_rows;          /* rows of a part in `order`: all, or this rank's */
  uint32_t *order;         /* permutation of the epoch: [N*K], or [N] by environments, or [N*K/length] by sequences, the
                            * same at all ranks; or of this rank's part of them */
  uint32_t *epoch_rows;    /* [N*K] rows of its sequences, one after the other; NULL unless by sequences in one shard */
  uint32_t *scratch;       /* scratch of the permutation on a device; NULL without one */
  uint32_t *own;           /* this rank's rollout rows of the minibatch, shard after shard. NULL where `order` holds
                            * them: one shard, by transitions, no device */
  int *shard_rows;         /* [shards] rows of each */
  int next_row, shard_next_row; /* rows in the micro-batches so far; and of those, in micro-batches of the current
                                 * shard */
  uint32_t *index_buffer;  /* [capacity] where the run's and the rank's row numbers differ; NULL: they do not */
  const uint32_t *rows_of_part; /* rows of the selected part: `own`, or a section of `order` */
  const uint32_t *index;   /* [rows] gathered rows as rows of the run's rollout [steps][global worlds] */
  const uint32_t *own_index; /* [rows] the same as rows of this rank's rollout */
  Sequences sequences;     /* for a recurrent policy: the micro-batch holds these sequences, step after step */
  const float *values_of;  /* [steps][worlds] source of `values`; NULL: the rollout's */
  /* Ranks or shards that divide a rollout on a device keep the rows of all parts of the epoch in `own`: */
  int parts;               /* M */
  uint32_t *chunk_rows, *part_begins; /* scratch of minibatch_device.c, on the device */
  uint32_t *part_rows;     /* [parts][shards] on the host */
  /* For micro-batches whose rows only the device counts (minibatch_gather_piece), all on the device: */
  uint32_t *microbatch_rows, *counts; /* [capacity] rows of the micro-batch; [shards] how many of them are the
                                       * shard's */
  double *shares;          /* [parts][global shards] shares of a part's rows, where shards are ordered */
  Moments *records;        /* advantages: [shards] */
  Moments *global_records; /* [global shards], or [pieces] where there are no shards */
  /* On the ops' device, like `order`, `own` and `index_buffer`: */
  float *observations;     /* [capacity][features] */
  /* whether only chains of layers read the observations (agent_chains_inputs), so that ops may choose their format */
  bool is_input;
  uint8_t *actions;        /* [capacity][action_bytes] */
  float *logp;             /* [capacity] log-probs of the behavior policy */
  float *values;           /* [capacity] values at the rollout, or from values_of */
  float *advantages, *targets; /* [capacity] */
} Minibatch;

/* Registers the buffers. `config` has passed core_config_check. CORE_USAGE when N*K exceeds 2^32 - 1 or a part 2^31 -
 * 1. */
int minibatch_register(Minibatch *minibatch, const CoreConfig *config, const Rollout *rollout, CoreArena *arena);

/* Draws a new permutation: a function of (seed, iteration, epoch), the same for any number of ranks. */
void minibatch_shuffle(Minibatch *minibatch, Ops *ops, const Rollout *rollout, uint64_t seed, int64_t iteration,
                       int epoch);
/* Selects part m of the permutation for minibatch_next(). */
void minibatch_select(Minibatch *minibatch, Ops *ops, const Rollout *rollout, int m);
/* Selects, on a device, the part of the current step (ops->update), which the host need not know. Not needed where
 * ranks or shards divide the rows. */
void minibatch_select_current(Minibatch *minibatch, Ops *ops, const Rollout *rollout, int parts);
/* Whether every shard of every rank has capacity for its rows of each part of the epoch in one micro-batch, as
 * minibatch_gather_piece() requires. Called by all ranks. */
bool minibatch_fits(const Minibatch *minibatch, const Rollout *rollout);
/* Gathers micro-batch `piece` of the current step's part (ops->update) on a device, in order. Where ranks or shards
 * divide the rows, it is a shard's, padded to `capacity` rows (current_shard_rows). */
void minibatch_gather_piece(Minibatch *minibatch, Ops *ops, const Rollout *rollout, int piece, const float *advantages,
                            const float *targets);
/* Computes the moments of the advantages of the current step's part, of all shards or pieces, into global_records, and
 * returns their number. Overwrites the gathered micro-batch. communicator NULL: one rank. */
struct Communicator;
size_t minibatch_gather_moments(Minibatch *minibatch, Ops *ops, const Rollout *rollout, const float *advantages,
                                struct Communicator *communicator);
/* Gathers the next micro-batch (rows, shard, and the buffers). Returns false when none is left. advantages and targets
 * belong to this rank's rollout [steps][worlds]. */
bool minibatch_next(Minibatch *minibatch, Ops *ops, const Rollout *rollout, const float *advantages,
                    const float *targets);
/* Binds the agent's next passes to the micro-batch's sequences. Needed before those of a recurrent agent only. */
void minibatch_bind_sequences(const Minibatch *minibatch, const Agent *agent);
/* Whether the micro-batch gathered last is this rank's last of the selected part. */
bool minibatch_is_last(const Minibatch *minibatch, const Rollout *rollout);
/* Computes the moments of the selected part's advantages over all ranks: one micro-batch after the other, folded in
 * shard order. */
void minibatch_advantage_moments(Minibatch *minibatch, Ops *ops, const Rollout *rollout, const float *advantages,
                                 Moments *moments);

/* Returns the capacity of the buffers in rows. With one shard: a whole minibatch, on a device at most
 * MINIBATCH_DEVICE_ROWS (entities: ENCODER_CHUNK_DEVICE) or one unit. With several: a whole minibatch for slices of
 * neighbors, a shard's exact share where it has equally many of each part, else its share plus six standard deviations,
 * which chance practically never exceeds; exceeding it costs a second micro-batch. */
int minibatch_capacity(const CoreConfig *config, const Shards *shards, bool on_device);

#endif
