/* Learners: from a rollout to new weights. Each is one entry of a table, found by algo.name (learner.c); training.c
 * calls the entry and knows no learner by name. A learner owns its buffers (in the run's arena) and its part of a
 * checkpoint; it changes the agent's weights and never sees the environment. */
#ifndef TRAINER_LEARNERS_LEARNER_H
#define TRAINER_LEARNERS_LEARNER_H
#include "core/device/arena.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/math/kurtosis.h"
#include "trainer/measure/profile.h"

/* Gradients before clipping, over an iteration's minibatches. */
typedef struct LearnerGradients {
  double norm_mean, norm_max, clipped_fraction;
  double step_norm;                /* length of a minibatch's step, mean; NaN unless step->measure */
  Kurtosis kurtosis;               /* mean; NaN unless step->measure */
} LearnerGradients;

/* What one update measured on the way; means are over its minibatches. NaN where a learner has no such thing. */
typedef struct LearnerUpdate {
  double learning_rate;
  LearnerGradients actor, critic;
  double joint_norm; /* of both networks' gradients together before clipping, mean; NaN with one network */
  double policy_loss, value_loss;  /* without the entropy term; without ppo.value_coef */
  double entropy, clip_fraction;
  double silent_fraction;          /* samples that the clip leaves without policy gradient; NaN unless step->measure */
  double advantage_mean, advantage_sd; /* before standardisation */
  double explained_variance;       /* of the targets by the rollout's values */
  double controller_kl;            /* that the learning rate follows */
  double com, epsilon;             /* in use */
} LearnerUpdate;

/* The arguments of an iteration's update. */
typedef struct LearnerStep {
  Ops *ops;
  const Rollout *rollout;
  int64_t iteration;               /* from 1 */
  bool measure;                    /* also what costs time: kurtosis, step_norm, silent_fraction */
  float *before;                   /* [the larger network's parameters]: room for step_norm */
  Profile *profile;                /* begun: gets a snapshot after each minibatch; NULL: none */
} LearnerStep;

/* Counters in every checkpoint's "position", whatever the learner; it uses those that it has. */
typedef struct LearnerCount {
  int64_t actor_updates, critic_updates;
  double proximal_weight;          /* 1 where there is no proximal policy */
} LearnerCount;

/* The size of an update. */
typedef struct LearnerSize {
  int64_t rows;                    /* of the largest minibatch */
  int64_t updates;                 /* minibatches of an iteration */
} LearnerSize;

typedef struct LearnerKind {
  const char *name;                /* algo.name */
  /* Makes the learner and registers its buffers in the arena, which is committed later. config, agent and rollout must
   * outlive it. CORE_USAGE: settings that can not be. *state is NULL or to be destroyed, also after an error. */
  int (*create)(const CoreConfig *config, Agent *agent, const Rollout *rollout, CoreArena *arena, void **state);
  void (*destroy)(void *state);
  /* Before the first update, after the weights are initialised (or inherited): everything but the weights. */
  void (*start)(void *state);
  /* Of all ranks and shards together (minibatch.h, gradient.h). CORE_FAIL when something is NaN or infinite: the
   * message names tensor and element, the weights are then undefined. */
  int (*update)(void *state, const LearnerStep *step, LearnerUpdate *update);
  /* After an update and its metrics: the iteration's DDR, the same on all ranks, and the transitions so far. NULL: it
   * does nothing with them. */
  void (*follow)(void *state, double transitions, double ddr);
  /* Everything that later updates depend on, the networks' weights first ("actor", "critic"), in a fixed order. */
  void (*add_sections)(void *state, Checkpoint *checkpoint);
  void (*get_count)(const void *state, LearnerCount *count);
  void (*set_count)(void *state, const LearnerCount *count);
  /* Makes a section that another learner's checkpoint does not have from those that are restored; false: it can not.
   * NULL: it never can. */
  bool (*derive)(void *state, const char *section);
  /* After another run's checkpoint of `iteration`: what this run's settings make of that iteration, and their limits.
   * NULL: nothing. */
  void (*schedule)(void *state, int64_t iteration);
  /* NULL: all epochs cut the rollout into ppo.num_minibatches. */
  LearnerSize (*size)(const CoreConfig *config);
} LearnerKind;

typedef struct Learner {
  const LearnerKind *kind;
  void *state;
} Learner;

/* The entry of a name, or NULL. */
const LearnerKind *learner_find(const char *name);

/* Of the learner that algo.name asks for. */
LearnerSize learner_size(const CoreConfig *config);

/* The learner that algo.name asks for. CORE_USAGE as LearnerKind.create. Destroy *learner also after an error. */
int learner_create(const CoreConfig *config, Agent *agent, const Rollout *rollout, CoreArena *arena, Learner *learner);
void learner_destroy(Learner *learner);

#endif
