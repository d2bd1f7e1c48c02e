/* Minibatches: every epoch, a fresh permutation of the rollout cut into M parts, each gathered into dense buffers.
 * Between rollout and learner; it copies and never computes. */
#ifndef TRAINER_MINIBATCH_H
#define TRAINER_MINIBATCH_H
#include "trainer/rollout.h"

/* What is permuted (spec ppo.md 1.5). */
typedef enum MinibatchBy {
  MINIBATCH_TRANSITIONS,   /* single transitions */
  MINIBATCH_ENVIRONMENTS,  /* whole environments: a minibatch holds all K steps of N/M worlds */
} MinibatchBy;

typedef struct Minibatch {
  int rows;                /* B = N*K/M */
  MinibatchBy by;
  uint32_t *order;         /* the epoch's permutation: [N*K], or [N] by environments */
  uint32_t *index;         /* [rows] the rollout rows of the minibatch that was gathered last */
  float *observations;     /* [rows][features] */
  uint8_t *actions;        /* [rows][action_bytes] */
  float *logp;             /* [rows] of the behaviour policy */
  float *values;           /* [rows] at the rollout */
  float *advantages, *targets; /* [rows] */
} Minibatch;

/* `config` has passed core_config_check. CORE_USAGE when N*K passes 2^32 - 1 or a part 2^31 - 1. */
int minibatch_register(Minibatch *minibatch, const CoreConfig *config, const Rollout *rollout, CoreArena *arena);

/* A new permutation: a function of (seed, iteration, epoch). */
void minibatch_shuffle(Minibatch *minibatch, const Rollout *rollout, uint64_t seed, int64_t iteration, int epoch);
/* Gathers part m of the permutation; advantages and targets are [N*K]. */
void minibatch_gather(Minibatch *minibatch, Ops *ops, const Rollout *rollout, const float *advantages,
                      const float *targets, int m);

#endif
