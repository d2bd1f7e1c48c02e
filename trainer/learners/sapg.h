/* SAPG, Split and Aggregate Policy Gradients (Singla et al. 2024; spec ppo.md 7). The worlds are cut into blocks that
 * share the networks; each block has a learned embedding beside the observation and its own log standard deviations
 * (agent.h). All blocks learn by PPO from their own transitions. The last one, the leader, also learns from those of a
 * few followers, by importance weighting and one-step returns; it alone is evaluated and reported.
 *
 * Ranks divide the worlds, not the blocks; a rank computes with the samples of its own worlds, whoever learns from
 * them.
 *
 *   rollout -> sapg_data.c: on-policy ++ off-policy samples, values, returns, advantages, shuffled once
 *           -> sapg.c:      epochs of minibatches; after each epoch the learning rate follows the KL */
#ifndef TRAINER_LEARNERS_SAPG_H
#define TRAINER_LEARNERS_SAPG_H
#include "core/device/arena.h"
#include "trainer/learners/learner.h"
#include "trainer/learners/recorded.h"
#include "trainer/learners/rl_games.h"
#include "trainer/math/sapg_layout.h"
#include "trainer/update/advantage.h"
#include "trainer/update/gradient.h"
#include "trainer/update/optimizer.h"

/* How the samples are cut: minibatches are as large as if there were on-policy samples only; what is left over joins
 * the last. */
typedef struct SapgMinibatches {
  int count;                   /* of an epoch */
  int rows, last_rows;         /* of each, and of the last one */
} SapgMinibatches;

/* The samples of an iteration (sapg_layout.h), on the ops' device but for what is said to be the host's. */
typedef struct SapgData {
  CoreDevice *device;          /* NULL: the host */
  SapgLayout layout;           /* of the run */
  Shards shards;
  SapgMinibatches minibatches;
  int columns;                 /* of this iteration */
  uint32_t *drawn;             /* [blocks] followers, the drawn ones first, on the host */
  uint32_t *follower, *column; /* [drawn]: SapgShare's */
  int *shard_end;              /* [shards] columns of the shards up to it, on the host */
  uint32_t *sequences;         /* [samples of the run / sequence]: the shuffle */
  uint32_t *lists;             /* [2][the same]: the device's, for shuffling */
  /* This rank's samples: */
  float *rewards;              /* [off-policy] */
  uint8_t *dones;
  uint8_t *truncated;          /* [off-policy] and */
  float *last_values;          /* [samples] of last observations where cut (env.truncation = bootstrap); else NULL */
  float *values, *returns;     /* [samples + a row of worlds], [samples]: of the critic before the update */
  float *advantages;           /* [samples] standardised over all */
  float *logp;                 /* [samples] of the block that acted */
  float *logp_own;             /* [samples] of the block that learns, before the update; clip = paper only, else NULL */
  float *logits;               /* [samples][logits] of the last policy that the KL is taken to */
  float *scratch;              /* [2][samples of a shard]; several shards only */
  /* Minibatches. */
  uint32_t *own;               /* [samples] minibatch after minibatch, and there shard after shard */
  uint32_t *part_rows;         /* [minibatches][shards] how many of each, on the host */
  uint32_t *chunk_rows, *part_begins; /* the device's, for choosing them */
  int part;                    /* the one that is gone through */
  size_t taken;                /* of own: in minibatches before, and in this one's pieces so far; */
  int taken_of_shard;          /* of those, in pieces of the present shard */
  Sequences memory;            /* of a policy with memory: a piece's samples are these, one step after the other */
  uint32_t *taken_rows;        /* [room] of sapg_data_take, with memory only */
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
  Optimizer actor_optimizer, critic_optimizer;
  Gradient gradient;
  RecordedUpdate recorded;                 /* of an epoch's updates */
  float *doutput;              /* [room][logits] */
  float *logp;                 /* [room] of the present policy */
  float *entropy_coef;         /* [blocks] */
  RateController controller;
  double *value_moments;       /* [VALUE_MOMENTS] on the host */
} Sapg;

/* The entry of the table. */
extern const LearnerKind sapg_learner;

/* ---- its parts --------------------------------------------------------------------------------------------------- */

/* Weight of block b's entropy: from scale/2 evenly down to the leader's 0. */
double sapg_entropy_coef(int block, int blocks, double scale);

/* sapg_data.c */
SapgMinibatches sapg_minibatches(const CoreConfig *config);
void sapg_data_register(SapgData *data, const CoreConfig *config, const Agent *agent, const Rollout *rollout,
                        CoreArena *arena);
/* All ranks together: samples, values, returns and advantages of a rollout, in a fresh order; value_moments as Sapg's
 * (NULL: values are not normalised). Fills what is reported of them. */
void sapg_data_collect(SapgData *data, Ops *ops, const CoreConfig *config, const Agent *agent, const Rollout *rollout,
                       int64_t iteration, double *value_moments, LearnerUpdate *update);
/* The part of it that draws followers and decides which samples are in which minibatch. */
void sapg_data_draw(SapgData *data, Ops *ops, uint64_t seed, int64_t iteration);
/* Rows of minibatch m, over all ranks. */
static inline int sapg_data_rows(const SapgData *data, int m) {
  return m + 1 < data->minibatches.count ? data->minibatches.rows : data->minibatches.last_rows;
}
/* Makes minibatch m of the order the one that sapg_data_next goes through. */
void sapg_data_select(SapgData *data, int m);
/* Gathers its next piece (rows, shard, sample, and all below); false: there is none left. */
bool sapg_data_next(SapgData *data, Ops *ops, const Rollout *rollout);
/* All of minibatch m at once, where one rank has all worlds in one shard. Between ops->update's begin and finish, which
 * then are an epoch's, any m but the last may be -1: the present step's. */
void sapg_data_take(SapgData *data, Ops *ops, const Rollout *rollout, int m);

#endif
