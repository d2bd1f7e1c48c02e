/* Minibatches: every epoch, a fresh permutation of the run's whole rollout cut into M parts, each gathered into
 * dense buffers. Which transitions a part holds does not depend on the ranks; each rank takes those of its own
 * worlds, so their numbers differ. A rank takes its rows in pieces, none across shards: usually one a shard, a
 * second one where chance gave it more rows than the buffers hold. Between rollout and learner; it copies and never
 * computes. */
#ifndef TRAINER_MINIBATCH_H
#define TRAINER_MINIBATCH_H
#include "core/device/arena.h"
#include "trainer/rollout/rollout.h"

/* What is permuted (spec ppo.md 1.5). */
typedef enum MinibatchBy {
  MINIBATCH_TRANSITIONS,   /* single transitions */
  MINIBATCH_ENVIRONMENTS,  /* whole environments: a minibatch holds all K steps of N/M worlds */
  MINIBATCH_SEQUENCES,     /* whole sequences of steps, which a policy with memory learns from (states.h) */
} MinibatchBy;

typedef struct Minibatch {
  int all_rows;            /* B = N*K/M: of a minibatch, over all ranks */
  int room;                /* rows that the buffers below hold */
  int rows;                /* of the piece that was gathered last; `room` before any */
  int shard;               /* of this rank's, the one that the piece belongs to */
  MinibatchBy by;
  uint32_t *order;         /* the epoch's permutation: [N*K], or [N] by environments, or [N*K/length] by sequences; the
                            * same at all ranks */
  uint32_t *epoch_rows;    /* [N*K] rows of its sequences, one after the other; NULL but by sequences in one shard */
  uint32_t *scratch;       /* of the permutation on a device; NULL without one */
  uint32_t *own;           /* this rank's rollout rows of the minibatch, shard after shard. NULL where they stand in
                            * `order`: one shard, by transitions, no device */
  int *shard_rows;         /* [shards] how many of each */
  int taken, taken_of_shard; /* of the rows: in the pieces so far; and of those, in pieces of the present shard */
  uint32_t *index_room;    /* [room], where rows have other numbers in the run than at this rank; NULL: they do not */
  const uint32_t *rows_of_part; /* the selected part's: `own`, or a piece of `order` */
  const uint32_t *index;   /* [rows] the rows of the run's rollout [steps][all worlds] that were gathered last */
  const uint32_t *own_index; /* [rows] the same as rows of this rank's; of minibatch_next */
  Sequences sequences;     /* of a policy with memory: the piece's rows are these, one step after the other */
  const float *values_of;  /* [steps][worlds] that `values` are gathered from; NULL: the rollout's */
  /* Where ranks or shards divide what is on a device, `own` has the rows of all of the epoch's parts: */
  int parts;               /* M */
  uint32_t *chunk_rows, *part_begins; /* minibatch_device.c's, on the device */
  uint32_t *part_rows;     /* [parts][shards] on the host */
  /* And for pieces whose rows only the device counts (minibatch_take_shard), all there: */
  uint32_t *taken_rows, *counts; /* [room] of the piece; [shards] how many of them are the shard's */
  double *shares;          /* [parts][all shards] of a part's rows, where shards are ordered */
  Moments *records, *all_records; /* of advantages: [shards], [all shards] */
  /* All of these are on the ops' device, and so are `order`, `own`, `index_room`: */
  float *observations;     /* [room][features] */
  bool is_input; /* nobody but chains of layers reads them (agent_chains_inputs), so ops may gather them as they like */
  uint8_t *actions;        /* [room][action_bytes] */
  float *logp;             /* [room] of the behaviour policy */
  float *values;           /* [room] at the rollout, or of values_of */
  float *advantages, *targets; /* [room] */
} Minibatch;

/* `config` has passed core_config_check. CORE_USAGE when N*K passes 2^32 - 1 or a part 2^31 - 1. */
int minibatch_register(Minibatch *minibatch, const CoreConfig *config, const Rollout *rollout, CoreArena *arena);

/* A new permutation: a function of (seed, iteration, epoch). */
void minibatch_shuffle(Minibatch *minibatch, Ops *ops, const Rollout *rollout, uint64_t seed, int64_t iteration,
                       int epoch);
/* Makes part m of the permutation the one that minibatch_next goes through. */
void minibatch_select(Minibatch *minibatch, Ops *ops, const Rollout *rollout, int m);
/* The same, on a device, of the present step's part (ops->update); the host need not know which. */
void minibatch_take(Minibatch *minibatch, Ops *ops, const Rollout *rollout, int parts);
/* Of an epoch: has every shard of every rank room for its rows of each part in one piece, so that all can be taken as
 * follows? All ranks. */
bool minibatch_fits(const Minibatch *minibatch, const Rollout *rollout);
/* On a device whose shards or ranks divide the rows, gathers a shard's piece of the present step's part (ops->update),
 * filled up to `room` rows (take_piece). */
void minibatch_take_shard(Minibatch *minibatch, Ops *ops, const Rollout *rollout, int shard, const float *advantages,
                          const float *targets);
/* Moments of the advantages of the present step's part, over all shards, to all_records; the piece is then the last
 * shard's. communicator NULL: one rank. */
struct Communicator;
void minibatch_take_moments(Minibatch *minibatch, Ops *ops, const Rollout *rollout, const float *advantages,
                            struct Communicator *communicator);
/* Gathers the next piece (rows, shard, and the buffers); false: there is none left. advantages and targets are of this
 * rank's rollout [steps][worlds]. */
bool minibatch_next(Minibatch *minibatch, Ops *ops, const Rollout *rollout, const float *advantages,
                    const float *targets);
/* The agent's next passes are over the piece. Needed before those of an agent with memory only. */
void minibatch_bind_sequences(const Minibatch *minibatch, const Agent *agent);
/* Is the piece that was gathered last the selected part's last one at this rank? */
bool minibatch_is_last(const Minibatch *minibatch, const Rollout *rollout);
/* Moments of the selected part's advantages, over all ranks: piece after piece, folded in shard order. */
void minibatch_advantage_moments(Minibatch *minibatch, Ops *ops, const Rollout *rollout, const float *advantages,
                                 Moments *moments);

/* Rows that the buffers of a minibatch hold: all of them where there is one shard, else a shard's share and six
 * standard deviations of it, which chance does not pass in the life of a cluster; what passes it costs a second
 * piece. */
int minibatch_room(const CoreConfig *config, const Shards *shards);

#endif
