/* Two controls of the KL divergence of an iteration's update.
 *
 * Early stopping (ppo.target_kl): no further minibatch once the policy is too far from the one that acted, by the
 * estimator k3 = ratio - 1 - log ratio of a minibatch, before its step.
 *   epoch      CleanRL: after each epoch, if its last minibatch's k3 exceeds the target
 *   minibatch  Stable-Baselines3: as soon as a minibatch's k3 exceeds 1.5 times the target; it makes no step
 *
 * Adaptive KL penalty (Schulman et al. 2017, section 4): after each iteration with KL d the coefficient is halved where
 * d < target / 1.5, and doubled where d > 1.5 target. */
#ifndef TRAINER_LEARNERS_KL_CONTROL_H
#define TRAINER_LEARNERS_KL_CONTROL_H
#include "core/config/config.h"
#include "core/device/arena.h"
#include "trainer/ops/update.h"
#include "trainer/ranks/shards.h"

/* Checkpoint section that holds the coefficient. */
#define KL_PENALTY_SECTION "kl penalty"

typedef struct EarlyStop {
  double limit;        /* k3 beyond which there is no further step, nats; 0: early stopping is off */
  bool by_minibatch;   /* whether every minibatch is checked, not only the last of each epoch */
  bool stopped;        /* whether this iteration makes no further step */
  Shards shards;
  double *k3;          /* [shards] sums of the current minibatch over this rank's rows */
  double last;         /* k3 of the last minibatch, a mean over all ranks' rows */
} EarlyStop;

void early_stop_register(EarlyStop *stop, const CoreConfig *config, const Shards *shards, CoreArena *arena);
static inline bool early_stop_is_on(const EarlyStop *stop) { return stop->limit > 0; }
/* Returns the limit that a device checks before each step (OpsUpdatePlan); 0: none. */
static inline double early_stop_k3_limit(const EarlyStop *stop) { return stop->by_minibatch ? stop->limit : 0; }
/* Begins an iteration. */
void early_stop_begin(EarlyStop *stop);
/* Begins a minibatch whose steps the host drives; adds the sum of one of its micro-batches. */
void early_stop_begin_minibatch(EarlyStop *stop);
void early_stop_add(EarlyStop *stop, int shard, double k3);
/* Whether the minibatch may step. Called by all ranks after the last micro-batch; sums in the order of the shards, so
 * that the result is the same for any number of ranks. */
bool early_stop_allows(EarlyStop *stop, int64_t global_rows);
/* Takes over what a device decided in a captured epoch. rows: of a minibatch. */
void early_stop_read(EarlyStop *stop, const OpsUpdateStats *stats, bool divided, int rows);
/* Ends an epoch: the epoch's rule. */
void early_stop_end_epoch(EarlyStop *stop);

typedef struct KlPenalty {
  double target;       /* nats; 0: the coefficient stays */
  double start;        /* ppo.kl_penalty */
  double coefficient;  /* value in the next update: the whole state, saved in checkpoints */
} KlPenalty;

KlPenalty kl_penalty_create(const CoreConfig *config);
static inline bool kl_penalty_is_adaptive(const KlPenalty *penalty) { return penalty->target > 0; }
void kl_penalty_start(KlPenalty *penalty);
/* Updates the coefficient after an iteration of this KL, within the range of ppo.kl_penalty; a KL that is NaN changes
 * nothing. */
void kl_penalty_update(KlPenalty *penalty, double kl);

#endif
