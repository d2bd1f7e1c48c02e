/* How the policy moves within one iteration (spec metrics.md 2.8): KL between the policies after successive
 * minibatches, and from the last one to each; and how much the rollout is still worth to each (4.3). The learner calls
 * profile_take; nothing is changed. Snapshots are the policy's outputs in fixed states of the rollout, not weights; of
 * many minibatches only every q-th is kept. */
#ifndef TRAINER_PROFILE_H
#define TRAINER_PROFILE_H
#include "core/device/arena.h"
#include "trainer/rollout/rollout.h"

enum { PROFILE_STATES = 4096, PROFILE_INTERVALS = 256 };

typedef struct Profile {
  int states, updates, every;  /* every: q, the least that gives at most PROFILE_INTERVALS intervals */
  int most, taken;             /* snapshots: room, and of this iteration */
  int seen;                    /* minibatches of this iteration */
  int piece;                   /* states that the ops take at once */
  OpsHead head;
  int own, room;               /* of the states: this rank's, and how many those can be */
  uint32_t *index, *index_on_device; /* [room]; NULL without a device */
  /* On the ops' device: */
  float *observations;         /* [room][features] */
  float *logits;               /* [most][room][logits] */
  uint8_t *actions;            /* [room][action_bytes] taken in the states */
  float *behaviour_logp, *logp; /* [room] their log-probabilities when taken; those of a snapshot */
  /* On the host: */
  LogSum *ratios;              /* [2][most] of the ratios snapshot / behaviour, and of their squares */
  int *update;                 /* [most] minibatches before the snapshot: 0, q, 2q, ..., updates */
  double *sequential;          /* [most - 1] mean KL(snapshot i+1 || snapshot i) */
  double *reference;           /* [most] mean KL(last snapshot || snapshot i) */
  double *ess_percent;         /* [most] effective sample size of the ratios, of the states */
} Profile;

/* What a curve of `reference` comes to. */
typedef struct ProfileSummary {
  double monotone;             /* share of intervals in which it does not rise */
  double slope;                /* of log(max(reference, 1e-12)) against minibatches, the last point left out */
} ProfileSummary;

/* updates: minibatches of an iteration. */
void profile_register(Profile *profile, const Agent *agent, const Rollout *rollout, int64_t updates, CoreArena *arena);
/* Before the first minibatch; the states are a function of (seed, iteration). */
void profile_begin(Profile *profile, Ops *ops, const Agent *agent, const Rollout *rollout, uint64_t seed,
                   int64_t iteration);
/* After each minibatch. Uses the activations up. */
void profile_take(Profile *profile, Ops *ops, const Agent *agent);
/* After the last; all ranks together: fills sequential, reference and ess_percent. */
ProfileSummary profile_finish(Profile *profile, Ops *ops);

/* From reference[n] and the minibatches before each point. NaN with fewer than three points. */
ProfileSummary profile_summarise(const double *reference, const int *update, int n);

#endif
