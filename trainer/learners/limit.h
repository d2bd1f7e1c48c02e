/* The fixed point of an iteration's batch. PPO-Clip is said to contract to a fixed point within an iteration (Honari et
 * al. 2025, assumption 4). Whether one exists shows only if the updates go on: after an iteration a copy of the learner
 * trains for further epochs on the same rollout, advantages and log-probabilities, while the learning rate and all
 * other settings stay those of the iteration. The policy is compared whenever the number of epochs has doubled. If the
 * last doublings no longer move it, it is the limit, and the iteration's profile (profile.h) gets the KL from it to
 * each of its policies. The learner then continues from its own state: nothing is changed. */
#ifndef TRAINER_LIMIT_H
#define TRAINER_LIMIT_H
#include "trainer/learners/learner.h"

/* A doubling that moves the policy by less than this share of its KL from the start leaves it where it was: one part
 * in 100 of KL is one in 10 of distance. A policy that drifts steadily moves by a quarter in a doubling, a random walk
 * by a half. */
#define LIMIT_TOLERANCE 0.01
enum { LIMIT_CHECKS_MAX = 32 };

typedef struct Limit {
  const CoreArena *arena;
  int checks;                  /* doublings of the number of epochs; 0: never measured */
  char *saved;                 /* [bytes] the learner's sections, on the host */
  size_t bytes;
} Limit;

/* Movement of the copy. */
typedef struct LimitPath {
  double epochs[LIMIT_CHECKS_MAX]; /* epochs on the batch at each check, those of the iteration included */
  double moved[LIMIT_CHECKS_MAX];  /* KL(policy || policy at the check before, first: the iteration's last one) */
  double start[LIMIT_CHECKS_MAX];  /* KL(policy || policy before the first minibatch) */
  int checks;                  /* fewer than planned if a value was not finite */
} LimitPath;

/* Registers the memory for the learner's state. epochs: most epochs on the batch (metrics.limit_epochs), at least twice
 * those of an iteration (per_iteration), or 0 for none. */
void limit_register(Limit *limit, const Learner *learner, int64_t epochs, int64_t per_iteration, CoreArena *arena);

/* Trains the copy, after the update described by `context` and before profile_finish(); then restores the learner.
 * The profile gets the last policy as the limit. Called by all ranks. */
LimitPath limit_measure(const Limit *limit, const Learner *learner, const UpdateContext *context, Profile *profile,
                        const Agent *agent, int64_t per_iteration);

/* Returns the number of epochs after which no doubling moved the policy by more than LIMIT_TOLERANCE of its KL from the
 * start; 0: the last one did, or the copy diverged. */
double limit_epochs(const LimitPath *path);
/* Returns what the last doubling moved as a share of the KL from the start; NaN: there was none. */
double limit_moved(const LimitPath *path);

#endif
