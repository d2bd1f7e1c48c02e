/* Running normalisation of observations and rewards, by the rules of the implementations that the papers used.
 * Statistics are float64 and summed in the order of the worlds, so they do not depend on threads. Called by observer.c
 * and rollout.c. */
#ifndef TRAINER_NORMALIZE_H
#define TRAINER_NORMALIZE_H
#include <stdint.h>

#include "core/device/arena.h"
#include "trainer/math/normalize_rule.h"
#include "trainer/ranks/shards.h"

/* By the names of env.normalize_observations. CLEANRL_EACH has its worlds' statistics in normalise_each.h; here it has
 * those of all worlds together, which nothing but normalize_restored changes. */
NormalizeRule normalize_rule(const char *name);

/* Statistics: moments[0] = count, then the features' means, then their sums of squared differences from the mean; one
 * block of 1 + 2 features numbers, a checkpoint's section as it is. */
typedef struct Normalizer {
  NormalizeRule rule;
  int features;
  double *moments;     /* [1 + 2 features] in use */
  double *next;        /* the same, with what came since: in use from normalize_advance on (CLEANRL: at once) */
  double *factor;      /* [features] 1 / deviation, of `moments` */
  CoreDevice *device;  /* where these are, and the x and y of the functions below; NULL: on the host */
  /* A device's: rows are added up in parts of shards, of which ranks tell each other. */
  Shards shards;
  /* [parts][features] of this rank, and of all ranks where there are several, else `sums` */
  double *sums, *global_sums;
  double *shift;       /* [features] by which means move */
  struct Communicator *communicator; /* NULL: one rank */
} Normalizer;

static inline size_t normalize_moments(int features) { return 1 + 2 * (size_t)features; }

/* shards: how the rows that are added divide, on a device; on the host they are those of all ranks. */
void normalize_register(Normalizer *normalizer, NormalizeRule rule, int features, const Shards *shards,
                        CoreArena *arena);
/* No observations yet: the rule's prior. */
void normalize_start(Normalizer *normalizer);
/* x [rows][features] as they come from the environment: on a device this rank's worlds, and all ranks add theirs. */
void normalize_add(Normalizer *normalizer, const float *x, int rows);
/* Makes the observations added so far count in `moments`. */
void normalize_advance(Normalizer *normalizer);
/* After `moments` has been restored. */
void normalize_restored(Normalizer *normalizer);
/* x [rows][features] -> y, rows of y_stride numbers. y may be x. */
void normalize_apply(const Normalizer *normalizer, const float *x, int rows, float *y, int y_stride);

/* mean and m2 [features] of `count` rows, with those of x [rows][features] added; returns the new count. */
double normalize_merge(double count, double *mean, double *m2, int features, const float *x, int rows);

/* ---- rewards ----------------------------------------------------------------------------------------------------- */

/* r -> r / deviation of the discounted sums of rewards so far, variance + 1e-8, within +-10. */
typedef enum RewardRule {
  REWARD_NONE,
  REWARD_CLEANRL,      /* with the statistics of each step (gym's NormalizeReward; spec ppo.md 8.1) */
  REWARD_PPO_EWMA,     /* a whole rollout with the statistics after it (openai/ppo-ewma; 2.3) */
  REWARD_CLEANRL_EACH, /* each world's by its own statistics of each step (gymnasium's NormalizeReward in each world) */
} RewardRule;
RewardRule reward_rule(const char *name);

typedef struct RewardScale {
  bool clips;          /* rewards become their signs before anything else (env.clip_rewards) */
  RewardRule rule;
  double gamma;
  int worlds, global_worlds;
  double *all;         /* [global_worlds] returns of all ranks, which the statistics are of; NULL with one rank */
  double *returns;     /* [worlds] discounted sum of the episode that runs */
  double *moments;     /* count, mean, sum of squared differences; CLEANRL_EACH: [worlds][3] */
  CoreDevice *device;  /* where all of these, and the rewards of the functions below are; NULL: on the host */
  struct Communicator *communicator; /* of ranks with devices */
} RewardScale;

static inline size_t reward_moments(const RewardScale *scale) {
  return scale->rule == REWARD_CLEANRL_EACH ? 3 * (size_t)scale->worlds : 3;
}

/* All of these do nothing for REWARD_NONE, but that reward_step clips. */
void reward_register(RewardScale *scale, RewardRule rule, double gamma, int worlds, int global_worlds,
                     CoreArena *arena);
void reward_start(RewardScale *scale);
/* New episodes in all worlds; the statistics stay. */
void reward_restart(RewardScale *scale);
/* In place, for one step [worlds], after its rewards are counted. PPO_EWMA: only updates the statistics. truncated:
 * ends by the time limit alone, over which CLEANRL's sums go on; NULL: there are none. Called by all ranks. */
void reward_step(RewardScale *scale, float *rewards, const uint8_t *dones, const uint8_t *truncated);
/* After the rollout's last step, rewards [n]. The others: nothing is left to do. */
void reward_finish(const RewardScale *scale, float *rewards, size_t n);

#endif
