/* SAPG, Split and Aggregate Policy Gradients (Singla et al. 2024; spec ppo.md 7). The worlds are cut into blocks that
 * share the networks; each block has a learned embedding beside the observation and its own log standard deviations
 * (agent.h). All blocks learn by PPO from their own transitions. The last one, the leader, also learns from those of a
 * few followers, by importance weighting and one-step returns; it alone is evaluated and reported.
 *
 * Ranks divide the worlds, not the blocks; a rank computes with the samples of its own worlds, whoever learns from them.
 *
 *   rollout -> sapg_data.c: on-policy ++ off-policy samples, values, returns, advantages, shuffled once
 *           -> sapg.c:      epochs of minibatches; after each epoch the learning rate follows the KL */
#ifndef TRAINER_LEARNERS_SAPG_H
#define TRAINER_LEARNERS_SAPG_H
#include "trainer/advantage.h"
#include "trainer/gradient.h"
#include "trainer/learners/learner.h"
#include "trainer/optimizer.h"

/* Where an iteration's samples come from: N*K of the rollout, then those of the drawn followers. */
typedef struct SapgLayout {
  int worlds, steps, blocks;   /* N, K */
  int drawn;                   /* followers drawn */
  int sequence;                /* steps that stay together in a shuffle */
} SapgLayout;

static inline int sapg_block_worlds(const SapgLayout *layout) { return layout->worlds / layout->blocks; }
static inline size_t sapg_on_policy(const SapgLayout *layout) {
  return (size_t)layout->worlds * (size_t)layout->steps;
}
static inline size_t sapg_off_policy(const SapgLayout *layout) { /* of one follower */
  return (size_t)sapg_block_worlds(layout) * (size_t)layout->steps;
}
static inline size_t sapg_samples(const SapgLayout *layout) {
  return sapg_on_policy(layout) + (size_t)layout->drawn * sapg_off_policy(layout);
}

/* The samples of an iteration. In the run a sample is numbered by its place: on-policy t*N + world; off-policy, from the
 * d-th drawn follower, N*K + d*(n*K) + t*n + world in the block, n worlds a block. A rank has those that its own worlds
 * went through, so no transition travels: on-policy t*(own worlds) + world, behind them off-policy t*columns + column,
 * the columns being its worlds of drawn followers, in order. */
typedef struct SapgData {
  SapgLayout layout;           /* of the run */
  Shards shards;
  uint32_t *follower;          /* [blocks]: the drawn ones come first */
  uint32_t *order;             /* [samples of the run]: after the shuffle; minibatches are pieces of it */
  uint32_t *sequences;         /* [samples of the run / sequence]: the shuffle */
  int columns;                 /* of this iteration */
  int32_t *column_of_world;    /* [own worlds], -1: none */
  uint32_t *world_of_column;   /* [columns] */
  int *shard_end;              /* [shards] columns of the shards up to it */
  /* Of this rank's samples. */
  float *rewards;              /* [off-policy] */
  uint8_t *dones;
  float *values, *returns;     /* [samples + a row of worlds], [samples]: of the critic before the update */
  float *advantages;           /* [samples] standardised over all */
  float *logp;                 /* [samples] of the block that acted */
  float *logp_own;             /* [samples] of the block that learns, before the update; clip = paper only, else NULL */
  float *logits;               /* [samples][logits] of the last policy that the KL is taken to */
  float *scratch;              /* [2][samples of a shard]; several shards only */
  /* Of a minibatch: this rank's samples, shard after shard. */
  uint32_t *own;               /* [rows of a minibatch] */
  int *shard_rows;             /* [shards] how many of each */
  int taken, taken_of_shard;   /* of own: in the pieces so far; of those, in pieces of the present shard */
  /* Of a piece of it. */
  int room, rows, shard;       /* most rows; its rows and shard */
  uint32_t *sample, *index;    /* [room] this rank's samples, and their rows of the rollout */
  float *observations;         /* [room][seen], with the block that learns */
  float *policy;               /* [room][logits]; clip = paper only */
  uint8_t *actions;            /* [room][action_bytes] */
  float *batch_logp, *batch_own, *batch_advantages, *batch_values, *batch_returns; /* [room] */
} SapgData;

typedef struct Sapg {
  const CoreConfig *config;    /* the caller's; must outlive this */
  Agent *agent;                /* whose weights are learnt */
  SapgData data;
  int minibatch, updates;      /* rows of a minibatch but the last; minibatches an epoch */
  int rows;                    /* of the last minibatch, the largest */
  Optimizer actor_optimizer, critic_optimizer;
  Gradient gradient;
  float *doutput;              /* [room][logits] */
  float *logp;                 /* [room] of the present policy */
  double *kl;                  /* [shards] of an epoch, this rank's rows */
  float *entropy_coef;         /* [blocks] */
  double *rate;                /* the learning rate as it stands */
  double *value_moments;       /* count, mean, sum of squared differences of values and returns */
} Sapg;

/* The entry of the table. */
extern const LearnerKind sapg_learner;

/* ---- its parts --------------------------------------------------------------------------------------------------- */

/* The learning rate after an epoch with this mean KL (7.3). threshold 0: as it was. */
double sapg_rate(double rate, double kl, double threshold);
/* KL(p || q) of two rows of a Gaussian head as the controller takes it, with its small constants (metrics.md 2.4). */
double sapg_kl(const OpsHead *head, const float *p, const float *q);
/* Weight of block b's entropy: from scale/2 evenly down to the leader's 0. */
double sapg_entropy_coef(int block, int blocks, double scale);
/* order[samples] from a permutation of the sequences: a world's steps one after the other, worlds in order. */
void sapg_order(const SapgLayout *layout, const uint32_t *sequences, uint32_t *order);

/* sapg_data.c. `rows`: of the largest minibatch. */
void sapg_data_register(SapgData *data, const CoreConfig *config, const Agent *agent, const Rollout *rollout, int rows,
                        CoreArena *arena);
/* All ranks together: samples, values, returns and advantages of a rollout, in a fresh order; value_moments as Sapg's
 * (NULL: values are not normalised). Fills what is reported of them. */
void sapg_data_collect(SapgData *data, Ops *ops, const CoreConfig *config, const Agent *agent, const Rollout *rollout,
                       int64_t iteration, double *value_moments, LearnerUpdate *update);
/* Makes samples first .. first+rows-1 of the order the minibatch that sapg_data_next goes through. */
void sapg_data_select(SapgData *data, size_t first, int rows);
/* Gathers its next piece (rows, shard, sample, and all below); false: there is none left. */
bool sapg_data_next(SapgData *data, Ops *ops, const Rollout *rollout);
/* This rank's number of a sample of the run, or -1. */
int64_t sapg_data_own(const SapgData *data, uint32_t sample);

#endif
