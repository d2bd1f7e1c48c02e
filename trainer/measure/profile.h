/* Profile of the policy's movement within one iteration (docs/results.md#kl-within-an-iteration; Honari et al. 2025,
 * Fig. 2): KL between the policies before and after a minibatch, from the last policy to each, and from the batch's
 * fixed point (limit.h) to each; and the effective sample size of the rollout for each. The learner calls
 * profile_snapshot; nothing is changed. Snapshots are the policy's outputs in fixed states of the rollout, not weights.
 * They are kept at up to PROFILE_INTERVALS + 1 points, at equal shares of the iteration's data. KL between neighbors is
 * always that of one minibatch, however many lie between two points. */
#ifndef TRAINER_PROFILE_H
#define TRAINER_PROFILE_H
#include "core/device/arena.h"
#include "trainer/rollout/rollout.h"

enum { PROFILE_STATES = 4096, PROFILE_INTERVALS = 256 };

typedef struct Profile {
  int states, updates;
  int max_points, points;      /* points: maximum, and those of this iteration so far */
  int seen;                    /* minibatches of this iteration so far */
  int chunk_rows;              /* states per pass of the ops */
  OpsHead head;
  int own, capacity;           /* this rank's states, and their maximum */
  uint32_t *index, *index_on_device; /* [capacity]; NULL without a device */
  const RolloutStates *states_of; /* the rollout's */
  Sequences sequences;         /* for a recurrent policy: the states are those of whole sequences */
  /* On the ops' device: */
  float *observations;         /* [capacity][features] */
  float *logits;               /* [max_points + 2][capacity][logits]; the last two: the policy one minibatch after a
                                * point, and the limit; or the limit and the policy before it */
  int limit;                   /* index of the limit in logits; 0: none */
  uint8_t *actions;            /* [capacity][action_bytes] taken in the states */
  float *behavior_logp, *logp; /* [capacity] their log-probs when taken; those of a snapshot */
  /* On the host: */
  LogSum *ratios;              /* [2][max_points] sums of the ratios snapshot / behavior, and of their squares */
  int *update;                 /* [max_points] minibatches before the point: 0, ..., updates */
  double *consecutive;         /* [max_points - 1] mean KL(policy one minibatch later || policy of point i) */
  double *reference;           /* [max_points] mean KL(policy of the last point || policy of point i) */
  double *to_limit;            /* [max_points] mean KL(limit || policy of point i), if there is a limit */
  double *ess_percent;         /* [max_points] effective sample size of the ratios, as a share of the states */
} Profile;

/* Summary of a curve of `reference`. */
typedef struct ProfileSummary {
  double monotone;             /* share of intervals in which it does not rise */
  double slope; /* slope of log(max(reference, 1e-12)) against the share of the data, without the last point */
} ProfileSummary;

/* Registers the buffers. updates: minibatches per iteration. */
void profile_register(Profile *profile, const Agent *agent, const Rollout *rollout, int64_t updates, CoreArena *arena);
/* Begins an iteration, before its first minibatch; the states are a function of (seed, iteration). */
void profile_begin(Profile *profile, Ops *ops, const Agent *agent, const Rollout *rollout, uint64_t seed,
                   int64_t iteration);
/* Takes a snapshot. Call after every minibatch; overwrites the agent's activations. */
void profile_snapshot(Profile *profile, Ops *ops, const Agent *agent);
/* Stores the current policy as the limit, after the last minibatch; called by all ranks. *moved: mean KL(policy ||
 * limit stored before, first: policy of the last point); *start: mean KL(policy || policy of the first point). */
void profile_store_limit(Profile *profile, Ops *ops, const Agent *agent, double *moved, double *start);
/* Fills consecutive, reference, to_limit and ess_percent after the last minibatch; called by all ranks. */
ProfileSummary profile_finish(Profile *profile, Ops *ops);
/* Returns the mean of consecutive, in nats per minibatch, after profile_finish. */
double profile_mean_consecutive(const Profile *profile);

/* Computes the summary from reference[n], the minibatches before each point, and those of the iteration (1: the slope
 * is per minibatch). NaN with fewer than three points. */
ProfileSummary profile_summarize(const double *reference, const int *update, int n, int updates);

#endif
