/* How the policy moves within one iteration (spec metrics.md 2.8): KL between the policies before and after a
 * minibatch, and from the last policy to each; and how much the rollout is still worth to each (4.3). The learner calls
 * profile_snapshot; nothing is changed. Snapshots are the policy's outputs in fixed states of the rollout, not weights.
 * They are kept at up to PROFILE_INTERVALS + 1 points, equal shares of the iteration's data apart. KL between
 * neighbours is always that of one minibatch, however many lie between two points. */
#ifndef TRAINER_PROFILE_H
#define TRAINER_PROFILE_H
#include "core/device/arena.h"
#include "trainer/rollout/rollout.h"

enum { PROFILE_STATES = 4096, PROFILE_INTERVALS = 256 };

typedef struct Profile {
  int states, updates;
  int most, taken;             /* points: all, and those of this iteration so far */
  int seen;                    /* minibatches of this iteration */
  int piece;                   /* states that the ops take at once */
  OpsHead head;
  int own, room;               /* of the states: this rank's, and how many those can be */
  uint32_t *index, *index_on_device; /* [room]; NULL without a device */
  const RolloutStates *states_of; /* the rollout's */
  Sequences sequences;         /* of a policy with memory: the states are those of whole sequences */
  /* On the ops' device: */
  float *observations;         /* [room][features] */
  float *logits;               /* [most + 1][room][logits]; the last: a policy that is no point but follows one */
  uint8_t *actions;            /* [room][action_bytes] taken in the states */
  float *behaviour_logp, *logp; /* [room] their log-probabilities when taken; those of a snapshot */
  /* On the host: */
  LogSum *ratios;              /* [2][most] of the ratios snapshot / behaviour, and of their squares */
  int *update;                 /* [most] minibatches before the point: 0, ..., updates */
  double *consecutive;         /* [most - 1] mean KL(policy one minibatch later || policy of point i) */
  double *reference;           /* [most] mean KL(policy of the last point || policy of point i) */
  double *ess_percent;         /* [most] effective sample size of the ratios, of the states */
} Profile;

/* What a curve of `reference` comes to. */
typedef struct ProfileSummary {
  double monotone;             /* share of intervals in which it does not rise */
  double slope; /* of log(max(reference, 1e-12)) against the share of the data, the last point left out */
} ProfileSummary;

/* updates: minibatches of an iteration. */
void profile_register(Profile *profile, const Agent *agent, const Rollout *rollout, int64_t updates, CoreArena *arena);
/* Before the first minibatch; the states are a function of (seed, iteration). */
void profile_begin(Profile *profile, Ops *ops, const Agent *agent, const Rollout *rollout, uint64_t seed,
                   int64_t iteration);
/* After each minibatch. Uses the activations up. */
void profile_snapshot(Profile *profile, Ops *ops, const Agent *agent);
/* After the last; all ranks together: fills consecutive, reference and ess_percent. */
ProfileSummary profile_finish(Profile *profile, Ops *ops);
/* After profile_finish: mean of consecutive, in nat a minibatch. */
double profile_mean_consecutive(const Profile *profile);

/* From reference[n], the minibatches before each point, and those of the iteration (1: the slope is that of a
 * minibatch). NaN with fewer than three points. */
ProfileSummary profile_summarise(const double *reference, const int *update, int n, int updates);

#endif
