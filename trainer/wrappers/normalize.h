/* Running normalization of observations and rewards, by the rules of the implementations that the papers used.
 * Statistics are float64 and summed in the order of the worlds, so they do not depend on threads. Called by
 * obs_pipeline.c and rollout.c. */
#ifndef TRAINER_NORMALIZE_H
#define TRAINER_NORMALIZE_H
#include <stdint.h>

#include "core/device/arena.h"
#include "trainer/math/normalize_rule.h"
#include "trainer/ranks/shards.h"

/* Returns the rule named by env.normalize_observations. CLEANRL_EACH keeps its worlds' statistics in normalize_each.h;
 * here it has those of all worlds together, which only normalize_restored changes. */
NormalizeRule normalize_rule(const char *name);

/* Statistics: moments[0] = count, then the features' means, then their sums of squared differences from the mean; one
 * block of 1 + 2 features values, stored as a checkpoint section. */
typedef struct Normalizer {
  NormalizeRule rule;
  int features;
  double *moments;     /* [1 + 2 features] in use */
  double *next;        /* [1 + 2 features] including newer observations; in use from normalize_advance on (CLEANRL: at
                        * once) */
  double *factor;      /* [features] 1 / standard deviation, from `moments` */
  CoreDevice *device;  /* device of these, and of x and y below; NULL: on the host */
  /* On a device, rows are summed in parts of shards, which ranks exchange. */
  Shards shards;
  /* [parts][features] of this rank, and of all ranks where there are several, else `sums` */
  double *sums, *global_sums;
  double *shift;       /* [features] change of the means */
  struct Communicator *communicator; /* NULL: one rank */
} Normalizer;

static inline size_t normalize_moments(int features) { return 1 + 2 * (size_t)features; }

/* Registers the buffers. shards: division of the added rows, on a device; on the host the rows are those of all
 * ranks. */
void normalize_register(Normalizer *normalizer, NormalizeRule rule, int features, const Shards *shards,
                        CoreArena *arena);
/* Resets the statistics to the rule's prior. */
void normalize_start(Normalizer *normalizer);
/* Adds x [rows][features] of the environment: on a device this rank's worlds, and all ranks add theirs. */
void normalize_add(Normalizer *normalizer, const float *x, int rows);
/* Makes the observations added so far count in `moments`. */
void normalize_advance(Normalizer *normalizer);
/* Recomputes the factors after `moments` has been restored. */
void normalize_restored(Normalizer *normalizer);
/* Normalizes x [rows][features] -> y, rows of y_stride floats. y may be x. */
void normalize_apply(const Normalizer *normalizer, const float *x, int rows, float *y, int y_stride);

/* Merges x [rows][features] into mean and m2 [features] of `count` rows; returns the new count. */
double normalize_merge(double count, double *mean, double *m2, int features, const float *x, int rows);

/* ---- rewards ----------------------------------------------------------------------------------------------------- */

/* Rules of reward scaling: r -> r / standard deviation of the discounted sums of rewards so far, variance + 1e-8,
 * clamped to +-10. */
typedef enum RewardRule {
  REWARD_NONE,
  REWARD_CLEANRL,      /* with the statistics of each step (gym's NormalizeReward) */
  REWARD_PPO_EWMA,     /* a whole rollout with the statistics after it (openai/ppo-ewma's RewardNormalizer) */
  REWARD_CLEANRL_EACH, /* each world's by its own statistics of each step (gymnasium's NormalizeReward in each world) */
} RewardRule;
RewardRule reward_rule(const char *name);

typedef struct RewardScale {
  bool clips;          /* rewards are replaced by their signs first (env.clip_rewards) */
  RewardRule rule;
  double gamma;
  int worlds, global_worlds;
  double *all;         /* [global_worlds] returns of all ranks, for the statistics; NULL with one rank */
  double *returns;     /* [worlds] discounted sum of the running episode */
  double *moments;     /* count, mean, sum of squared differences; CLEANRL_EACH: [worlds][3] */
  CoreDevice *device;  /* device of all of these, and of the rewards below; NULL: on the host */
  struct Communicator *communicator; /* communicator of ranks with devices */
} RewardScale;

static inline size_t reward_moments(const RewardScale *scale) {
  return scale->rule == REWARD_CLEANRL_EACH ? 3 * (size_t)scale->worlds : 3;
}

/* With REWARD_NONE these do nothing, except that reward_step clips. */
void reward_register(RewardScale *scale, RewardRule rule, double gamma, int worlds, int global_worlds,
                     CoreArena *arena);
void reward_start(RewardScale *scale);
/* Starts new episodes in all worlds; the statistics stay. */
void reward_restart(RewardScale *scale);
/* Scales the rewards of one step [worlds] in place, after they are counted. PPO_EWMA: only updates the statistics.
 * truncated: ends by the time limit alone, across which CLEANRL's sums continue; NULL: there are none. Called by all
 * ranks. */
void reward_step(RewardScale *scale, float *rewards, const uint8_t *dones, const uint8_t *truncated);
/* Scales rewards [n] after the rollout's last step (PPO_EWMA); the other rules do nothing. */
void reward_finish(const RewardScale *scale, float *rewards, size_t n);

#endif
