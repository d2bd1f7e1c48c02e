/* Learners: from a rollout to new weights. Each is one entry of a table, found by algo.name (learner.c); training.c
 * calls the entry and knows no learner by name. A learner owns its buffers (in the run's arena) and its checkpoint
 * sections; it changes the agent's weights and never accesses the environment. */
#ifndef TRAINER_LEARNERS_LEARNER_H
#define TRAINER_LEARNERS_LEARNER_H
#include "core/device/arena.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/math/kurtosis.h"
#include "trainer/measure/noise_scale.h"
#include "trainer/measure/profile.h"

/* Statistics of gradients before clipping, over an iteration's minibatches. */
typedef struct GradientStats {
  double norm_mean, norm_max, clipped_fraction;
  double step_norm;                /* mean length of a minibatch's step; NaN unless UpdateContext.measure */
  Kurtosis kurtosis;               /* mean; NaN unless UpdateContext.measure */
} GradientStats;

/* Statistics of one update: means over its minibatches. NaN where a learner lacks the quantity. */
typedef struct UpdateStats {
  double learning_rate;
  GradientStats actor, critic;
  double joint_norm;               /* mean norm of both networks' gradients together before clipping; NaN with one
                                    * network */
  double policy_loss, value_loss;  /* without the entropy term; without ppo.value_coef */
  double entropy, clip_fraction;
  /* samples with zero policy gradient because of the clip; NaN unless UpdateContext.measure */
  double zero_grad_fraction;
  double advantage_mean, advantage_sd; /* before normalization */
  double explained_variance;       /* share of the targets' variance that the rollout's values explain */
  double controller_kl;            /* the KL that the adaptive learning rate reacts to */
  double com, epsilon, kl_penalty; /* values in use */
  double updates;                  /* minibatch steps */
} UpdateStats;

/* Arguments of an iteration's update. */
typedef struct UpdateContext {
  Ops *ops;
  const Rollout *rollout;
  int64_t iteration;               /* from 1 */
  bool measure;                    /* also compute what costs time: kurtosis, step_norm, zero_grad_fraction */
  float *before;                   /* [parameters of the larger network] scratch for step_norm */
  Profile *profile;                /* begun; gets a snapshot after each minibatch. NULL: none */
  NoiseScale *noise;               /* begun; measured before the first minibatch by learners with Epochs. NULL: none */
  int first_epoch;                 /* number of the first epoch, from 0: epochs that this batch has had, which orders
                                    * the minibatches of the next */
} UpdateContext;

/* Counters in every checkpoint's "position" section; a learner uses those that apply to it. */
typedef struct LearnerCounters {
  int64_t actor_updates, critic_updates;
  double proximal_weight;          /* 1 without a proximal policy */
} LearnerCounters;

/* Size of an update. */
typedef struct LearnerSize {
  int64_t rows;                    /* rows of the largest minibatch */
  int64_t updates;                 /* minibatches per iteration */
} LearnerSize;

typedef struct LearnerVTable {
  const char *name;                /* value of algo.name */
  /* Creates the learner and registers its buffers in the arena, which is committed later. config, agent and rollout
   * must outlive it. CORE_USAGE: invalid settings. The caller destroys *state (or it is NULL), also after an error. */
  int (*create)(const CoreConfig *config, Agent *agent, const Rollout *rollout, CoreArena *arena, void **state);
  void (*destroy)(void *state);
  /* Resets everything but the weights. Called before the first update, once the weights are initialized or
   * inherited. */
  void (*start)(void *state);
  /* Updates the weights, all ranks and shards together (minibatch.h, gradient.h). CORE_FAIL when a value is NaN or
   * infinite: the message names tensor and element, and the weights are then undefined. */
  int (*update)(void *state, const UpdateContext *context, UpdateStats *stats);
  /* Called after an update and its metrics with the transitions so far and the iteration's KL and DDR, the same on all
   * ranks. Optional. */
  void (*on_iteration_end)(void *state, double transitions, double kl, double ddr);
  /* Adds a section for everything that later updates depend on, in a fixed order, the networks' weights first ("actor",
   * "critic"). */
  void (*add_sections)(void *state, Checkpoint *checkpoint);
  void (*get_count)(const void *state, LearnerCounters *count);
  void (*set_count)(void *state, const LearnerCounters *count);
  /* Initializes a section that a checkpoint of another algorithm lacks, from the sections that were restored. Returns
   * false if it cannot. Optional. */
  bool (*init_missing_section)(void *state, const char *section);
  /* Applies this run's schedules and limits after another run's checkpoint of `iteration` was restored. Optional. */
  void (*apply_schedule)(void *state, int64_t iteration);
  /* Returns the update's size. NULL: each epoch divides the rollout into ppo.num_minibatches. */
  LearnerSize (*size)(const CoreConfig *config);
} LearnerVTable;

typedef struct Learner {
  const LearnerVTable *kind;
  void *state;
} Learner;

/* Returns the entry with this name, or NULL. */
const LearnerVTable *learner_find(const char *name);

/* Returns the update size of the configured learner. */
LearnerSize learner_size(const CoreConfig *config);

/* Creates the learner of algo.name. CORE_USAGE as LearnerVTable.create. Destroy *learner also after an error. */
int learner_create(const CoreConfig *config, Agent *agent, const Rollout *rollout, CoreArena *arena, Learner *learner);
void learner_destroy(Learner *learner);

#endif
