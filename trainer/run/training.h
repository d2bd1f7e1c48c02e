/* Training as a computation: environment, agent, learner and measurements in memory, one iteration at a time. Files,
 * signals and logs are run.c's.
 *
 *   rollout (rollout.c <-> envs/)  ->  update (learners/)  ->  measurements (metrics.c)  ->  a row of the log */
#ifndef TRAINER_TRAINING_H
#define TRAINER_TRAINING_H
#include "core/device/arena.h"
#include "store/runlog/runlog.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/sections.h"
#include "trainer/evaluate/curriculum.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/learners/learner.h"
#include "trainer/learners/limit.h"
#include "trainer/learners/noisy_sgd.h"
#include "trainer/measure/metrics.h"
#include "trainer/ops/bf16.h"

/* Sizes that a configuration resolves to, before anything large is allocated. */
typedef struct TrainingPlan {
  int64_t iterations, transitions_per_iteration, updates_per_iteration;
  int minibatch_rows, levels, observation_length, attempts; /* attempts: of an evaluation */
  bool are_foreign;              /* worlds are objects of foreign code (EnvForeign); then of this rank: */
  int instances;                 /* maximum instances of the environment at once */
  int evaluation_worlds, coverage_worlds; /* parts of them; the rest are trained on, except one that describes the
                                           * task */
  size_t actor_parameters, critic_parameters;
  int ranks, threads;            /* threads: of this rank */
  int generated;                 /* env.curriculum: worlds on new levels in every iteration */
  double buffer_bytes, environment_bytes, machine_bytes;
  double device_bytes,
    device_worlds_bytes; /* memory on the device: of training, of its worlds; 0 without one */
} TrainingPlan;

/* Progress of training, in addition to weights and worlds; part of every checkpoint. */
typedef struct TrainingPosition {
  int64_t iteration;           /* finished; the next one is iteration + 1 */
  LearnerCounters count;
  double solve_rate;           /* last evaluation's, else the last iteration's; NaN when neither is known */
} TrainingPosition;

#define TRAINING_EVALUATION_SECTION "evaluation due"

/* Checkpoint section in device memory, and its copy on the host. */
typedef struct TrainingMirror { void *device, *host; size_t bytes; } TrainingMirror;

typedef struct Training {
  CoreConfig config;           /* resolved configuration */
  TrainingPlan plan;
  CoreArena *arena;
  Env *levels;                 /* a small batch that knows the levels and creates the others */
  Env *env;
  Ops *ops;
  CoreDevice *device;          /* device of the ops; NULL: the CPU */
  struct Communicator *communicator; /* communicator of the other ranks with devices; NULL: one rank, or the CPU */
  bool device_shared;          /* whether some GPU has several ranks */
  char device_note[256];       /* why train.device = auto fell back to the CPU; empty: it did not, or the build has no
                                * GPU */
  TrainingMirror mirror[CHECKPOINT_SECTIONS_MAX];
  int mirrors;
  Agent agent;
  OpsBf16 bf16;                /* train.precision = bf16, on the CPU: method of each layer's products */
  Rollout rollout;
  Learner learner;
  Metrics metrics;
  Coverage coverage;
  Visited visited;
  EnvInfoTable info;           /* sums over the last iteration, of all ranks */
  Profile profile;
  bool profiled;               /* whether `profile` belongs to the last iteration */
  Limit limit;
  NoiseScale noise;
  bool measures_noise;         /* whether `noise` belongs to the current iteration */
  Curriculum *curriculum;      /* NULL: env.curriculum = none */
  NoisySgd *sgd;               /* algo.name = noisy_sgd: then there are no levels, env, ops, agent ... */
  Evaluator evaluator;         /* on the training levels */
  EvaluationSets others;
  TrainingPosition position;
  int64_t evaluation_due;      /* iteration whose evaluation was interrupted, for checkpoints; -1: none */
  double episode_return;       /* like position.solve_rate, for episodes without goals; NaN otherwise */
  Shards shards;               /* this rank's worlds */
  Sections sections;
  void *env_state;             /* state of this rank's worlds, for a checkpoint */
  size_t env_state_bytes;
  bool env_failed;             /* whether the last error came from an environment outside this process: nothing has
                                * diverged */
} Training;

/* Reads the levels, fixes all sizes, estimates memory. Nothing large is allocated. CORE_USAGE: the configuration
 * requests something impossible (train.device = cuda in a build without it, missing levels ...). */
int training_plan(const CoreConfig *config, Training **training);
/* Checks the plan against the memory that this process may use. CORE_FAIL names the sizes and the settings to
 * change. */
int training_check_memory(const Training *training);
/* Allocates what was planned. */
int training_allocate(Training *training);
/* Connects the ranks' devices, if any, once all ranks have allocated (communicator.h); called by all ranks. */
int training_connect(Training *training);
void training_destroy(Training **training);

/* Creates initial weights and worlds. All ranks return the same. CORE_REQUEUE: one was asked to stop while statistics
 * of observations were collected (env.normalize_warmup); CORE_FAIL: an environment failed. */
int training_start(Training *training);

/* Adds every section of a checkpoint; `checkpoint` must outlive the training. All ranks call training_before_save
 * before the first one's checkpoint_write, and training_after_load after it has restored some or all sections: they
 * exchange state between ranks, and state that is not plain memory. */
void training_add_sections(Training *training, Checkpoint *checkpoint);
void training_before_save(Training *training);
int training_after_load(Training *training);

bool training_finished(const Training *training);
int64_t training_transitions(const Training *training); /* transitions of all worlds since the start */

/* Runs the next iteration, all ranks together, which all return the same. CORE_FAIL when it diverged: the message names
 * tensor, element and iteration; the last checkpoint is the last valid state. CORE_REQUEUE: the run was asked to stop,
 * in a level search, in the play of the coverage box or in a rollout of worlds outside this process; training is as it
 * was before the iteration. The caller fills the row's wall_seconds. */
int training_iterate(Training *training, StoreIteration *row);

/* Records an iteration's results for the progress line, until there is an evaluation. Called by training_iterate. */
void training_record_results(Training *training, const StoreIteration *row);

/* Returns the solve rate of an iteration's episodes: of their levels, else the share that reported success. */
double training_solve_rate(const Training *training, const RolloutEpisodes *episodes);

/* Reads the numbers that the worlds reported in a rollout, and checks for failures (env_check). All ranks; the same at
 * all ranks. */
int training_read_info(Training *training);

/* Converts the result of an environment's steps: CORE_FAIL for all codes except CORE_OK and CORE_REQUEUE; records in
 * env_failed whether they failed. */
int training_env_result(Training *training, int code);

/* Checks that all ranks hold the same weights. They compute the same, and where they do not (a damaged processor,
 * libraries that differ between machines), later results would be silently wrong. Called by all ranks; CORE_FAIL
 * reports a difference. */
int training_check_weights(const Training *training);

/* Returns the index of an evaluation at this point: 0 is the one before training. */
int64_t training_evaluation_number(const Training *training);
/* Whether an evaluation is due now: before training (when eval.count > 0), then evenly, the last at the end. */
bool training_evaluation_due(const Training *training);
/* Evaluates. CORE_FAIL: an environment failed; CORE_REQUEUE: a rank was asked to stop. There is no row then. The same
 * at all ranks. */
int training_evaluate(Training *training, StoreEvaluation *row);
/* Evaluates on set 0 .. others.count - 1 of eval.levels. */
int training_evaluate_other(Training *training, int set, StoreEvaluation *row);

#endif
