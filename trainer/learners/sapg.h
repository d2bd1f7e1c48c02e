/* SAPG, Split and Aggregate Policy Gradients (Singla et al. 2024; docs/algorithms.md#sapg). The environments are
 * divided into blocks that share the networks; each block has a learned embedding next to the observation and its own
 * log standard deviations (agent.h). All blocks learn by PPO from their own transitions. The last one, the leader, also
 * learns from those of a few followers, by importance weighting and one-step returns; only the leader is evaluated and
 * reported.
 *
 * Ranks divide the environments, not the blocks: each rank processes the samples of its own environments, whichever
 * block learns from them.
 *
 *   rollout -> sapg_data.c: on-policy ++ off-policy samples, values, returns, advantages, shuffled once
 *           -> sapg.c:      epochs of minibatches; after each epoch the learning rate adapts to the KL */
#ifndef TRAINER_LEARNERS_SAPG_H
#define TRAINER_LEARNERS_SAPG_H
#include "core/device/arena.h"
#include "trainer/learners/learner.h"
#include "trainer/learners/captured.h"
#include "trainer/learners/rl_games.h"
#include "trainer/math/sapg_layout.h"
#include "trainer/update/advantage.h"
#include "trainer/update/gradient.h"
#include "trainer/update/optimizer.h"

/* Division of the samples into minibatches, each as large as with on-policy samples only; the remainder joins the
 * last. */
typedef struct SapgMinibatches {
  int count;                   /* minibatches per epoch */
  int rows, last_rows;         /* rows of each minibatch, and of the last */
} SapgMinibatches;

/* Samples of an iteration (sapg_layout.h), on the ops' device except where marked as host memory. */
typedef struct SapgData {
  CoreDevice *device;          /* NULL: the host */
  SapgLayout layout;           /* layout of the run */
  Shards shards;
  SapgMinibatches minibatches;
  int columns;                 /* columns of this iteration */
  uint32_t *drawn;             /* [blocks] followers, the sampled ones first, on the host */
  uint32_t *follower, *column; /* [drawn] of SapgShare */
  int *shard_end;              /* [shards] end of each shard's columns, on the host */
  uint32_t *sequences;         /* [samples of the run / sequence length] shuffled sequences */
  uint32_t *lists;             /* [2][same] scratch of the shuffle on a device */
  /* This rank's samples: */
  float *rewards;              /* [off-policy] */
  uint8_t *dones;
  uint8_t *truncated;          /* [off-policy] truncation flags, with ... */
  float *last_values;          /* [samples] ... the values of last observations there (env.truncation = bootstrap); else
                                * NULL */
  float *values, *returns;     /* [samples + a row of worlds], [samples]: the critic's, before the update */
  float *advantages;           /* [samples] normalized over all samples */
  float *logp;                 /* [samples] log-probs of the block that acted */
  float *logp_own;             /* [samples] log-probs of the block that learns, before the update; NULL unless sapg.clip
                                * = paper */
  float *logits;               /* [samples][logits] policies that the adaptive learning rate's KL compares with */
  float *scratch;              /* [2][samples of a shard]; with several shards only */
  /* Minibatches. */
  uint32_t *own;               /* [samples] minibatch after minibatch, in each shard after shard */
  uint32_t *part_rows;         /* [minibatches][shards] rows of each, on the host */
  uint32_t *chunk_rows, *part_begins; /* scratch of choosing them on a device */
  int part;                    /* index of the current minibatch */
  size_t next_row;             /* offset in `own`: rows of earlier minibatches and of this one's micro-batches so far */
  int shard_next_row;          /* rows of the current shard's micro-batches so far */
  Sequences memory;            /* for a recurrent policy: a micro-batch holds these sequences, step after step */
  uint32_t *unordered_rows;    /* [capacity] rows before sequences_order, for a recurrent policy only */
  /* Current micro-batch. */
  int capacity, rows, shard;   /* capacity in rows; current rows and shard */
  uint32_t *sample, *index;    /* [capacity] this rank's samples, and their rows of the rollout */
  float *observations;         /* [capacity][seen] observations with the block that learns */
  float *policy;               /* [capacity][logits]; sapg.clip = paper only */
  uint8_t *actions;            /* [capacity][action_bytes] */
  float *batch_logp, *batch_own, *batch_advantages, *batch_values, *batch_returns; /* [capacity] each */
} SapgData;

typedef struct Sapg {
  const CoreConfig *config;    /* the caller's; must outlive this */
  Agent *agent;                /* agent whose weights are trained */
  SapgData data;
  Optimizer actor_optimizer, critic_optimizer;
  Gradient gradient;
  CapturedUpdate captured;     /* captured updates of an epoch */
  float *doutput;              /* [capacity][logits] */
  float *logp;                 /* [capacity] log-probs of the current policy */
  float *entropy_coef;         /* [blocks] */
  AdaptiveLr adaptive_lr;
  double *value_moments;       /* [VALUE_MOMENTS] on the host */
} Sapg;

/* Entry of the learner table. */
extern const LearnerVTable sapg_learner;

/* ---- internal parts ---------------------------------------------------------------------------------------------- */

/* Returns the entropy coefficient of block b: from scale/2 evenly down to the leader's 0. */
double sapg_entropy_coef(int block, int blocks, double scale);

/* sapg_data.c */
SapgMinibatches sapg_minibatches(const CoreConfig *config);
void sapg_data_register(SapgData *data, const CoreConfig *config, const Agent *agent, const Rollout *rollout,
                        CoreArena *arena);
/* Fills samples, values, returns and advantages of a rollout, shuffled; and their statistics. value_moments as in Sapg
 * (NULL: values are not normalized). Called by all ranks. */
void sapg_data_collect(SapgData *data, Ops *ops, const CoreConfig *config, const Agent *agent, const Rollout *rollout,
                       int64_t iteration, double *value_moments, UpdateStats *stats);
/* Samples the followers and assigns samples to minibatches. Part of sapg_data_collect(). */
void sapg_data_draw(SapgData *data, Ops *ops, uint64_t seed, int64_t iteration);
/* Returns the rows of minibatch m over all ranks. */
static inline int sapg_data_rows(const SapgData *data, int m) {
  return m + 1 < data->minibatches.count ? data->minibatches.rows : data->minibatches.last_rows;
}
/* Selects minibatch m for sapg_data_next(). */
void sapg_data_select(SapgData *data, int m);
/* Gathers the next micro-batch (rows, shard, sample, and all below). Returns false when none is left. */
bool sapg_data_next(SapgData *data, Ops *ops, const Rollout *rollout);
/* Gather a whole minibatch at once, where one rank has all environments in one shard: minibatch m, or between begin and
 * finish of ops->update (an epoch) that of the device's current step, which must not be the last. */
void sapg_data_gather_minibatch(SapgData *data, Ops *ops, const Rollout *rollout, int m);
void sapg_data_gather_current(SapgData *data, Ops *ops, const Rollout *rollout);

#endif
