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
#include "trainer/evaluate/evaluation_sets.h"
#include "trainer/learners/learner.h"
#include "trainer/learners/noisy_sgd.h"
#include "trainer/measure/metrics.h"
#include "trainer/ops/bf16.h"

/* What a configuration comes to, before anything large is allocated. */
typedef struct TrainingPlan {
  int64_t iterations, transitions_per_iteration, updates_per_iteration;
  int minibatch_rows, levels, observation_length, attempts; /* attempts: of an evaluation */
  bool are_foreign;              /* worlds are objects of other code (EnvForeign); then of this rank: */
  int instances;                 /* of the environment, at most at once */
  int evaluation_worlds, coverage_worlds; /* of them; the rest are trained on, but for one that describes the task */
  size_t actor_parameters, critic_parameters;
  int ranks, threads;            /* threads: of this rank */
  int generated;                 /* env.curriculum: worlds on new levels in every iteration */
  double buffer_bytes, environment_bytes, machine_bytes;
  double device_bytes,
    device_worlds_bytes; /* that training takes of the device's memory, worlds' of it; 0 without one */
} TrainingPlan;

/* The progress of training, beside weights and worlds; part of every checkpoint. */
typedef struct TrainingPosition {
  int64_t iteration;           /* finished; the next one is iteration + 1 */
  LearnerCounters count;
  double solve_rate;           /* of the last evaluation, else of the last iteration; NaN when neither is known */
} TrainingPosition;

#define TRAINING_EVALUATION_SECTION "evaluation due"

/* A checkpoint's section that lies on the device, and its copy on the host. */
typedef struct TrainingMirror { void *device, *host; size_t bytes; } TrainingMirror;

typedef struct Training {
  CoreConfig config;           /* resolved: what is run */
  TrainingPlan plan;
  CoreArena *arena;
  Env *levels;                 /* a small batch that knows the levels and makes the others */
  Env *env;
  Ops *ops;
  CoreDevice *device;          /* where ops compute; NULL: the CPU */
  struct Communicator *communicator; /* to the devices of the other ranks; NULL: one rank, or the CPU */
  bool device_shared;          /* some GPU has several ranks */
  char device_note[256];       /* why train.device = auto came to the CPU; empty: it did not, or by the build */
  TrainingMirror mirror[CHECKPOINT_SECTIONS_MAX];
  int mirrors;
  Agent agent;
  OpsBf16 bf16;                /* train.precision = bf16, on the CPU: how layers' products are made */
  Rollout rollout;
  Learner learner;
  Metrics metrics;
  Coverage coverage;
  Visited visited;
  Profile profile;
  bool profiled;               /* `profile` is of the last iteration */
  Curriculum *curriculum;      /* NULL: env.curriculum = none */
  NoisySgd *sgd;               /* algo.name = noisy_sgd: then there are no levels, env, ops, agent ... */
  Evaluator evaluator;         /* on the training levels */
  EvaluationSets others;
  TrainingPosition position;
  int64_t evaluation_due;      /* iteration whose evaluation was interrupted, for checkpoints; -1: none */
  double episode_return;       /* as position.solve_rate, where episodes have no goal; NaN elsewhere */
  Shards shards;               /* this rank's worlds */
  Sections sections;
  void *env_state;             /* of this rank's worlds, for a checkpoint */
  size_t env_state_bytes;
  bool env_failed;             /* the last error is an environment's outside of this process: nothing has diverged */
} Training;

/* Reads the levels, fixes all sizes, estimates memory. Nothing large is allocated. CORE_USAGE: the configuration asks
 * for something impossible (train.device = cuda in a build without it, levels that are not there ...). */
int training_plan(const CoreConfig *config, Training **training);
/* CORE_FAIL with numbers and the settings to change when the plan exceeds the memory that this process may use. */
int training_check_memory(const Training *training);
/* Allocates what was planned. */
int training_allocate(Training *training);
/* All ranks, once all of them have allocated: connects their devices, where they have some (communicator.h). */
int training_connect(Training *training);
void training_destroy(Training **training);

/* Initial weights and worlds. All ranks return the same. CORE_REQUEUE: one was told to stop while statistics of
 * observations were made (env.normalize_warmup); CORE_FAIL: an environment failed. */
int training_start(Training *training);

/* Names everything that a checkpoint must hold; `checkpoint` must outlive the training. All ranks call
 * training_before_save before the first one's checkpoint_write, and training_after_load after that has restored some or
 * all sections: they exchange state between ranks, and such that is not plain memory. */
void training_add_sections(Training *training, Checkpoint *checkpoint);
void training_before_save(Training *training);
int training_after_load(Training *training);

bool training_finished(const Training *training);
int64_t training_transitions(const Training *training); /* of all worlds since the start */

/* The next iteration, of all ranks together, which all return the same. CORE_FAIL when it diverged: the message
 * names tensor, element and iteration; the last checkpoint is the last good state. CORE_REQUEUE: the run was told to
 * stop, in a search of levels, in the play of the coverage box or in a rollout of worlds outside; training is as it was
 * before the iteration. wall_seconds of the row is left to the caller. */
int training_iterate(Training *training, StoreIteration *row);

/* Of an iteration's row: what progress shows until there is an evaluation. Called by training_iterate. */
void training_record_results(Training *training, const StoreIteration *row);

/* What became of an environment's steps: the code, CORE_FAIL for all but CORE_OK and CORE_REQUEUE; notes in env_failed
 * whether they failed. */
int training_env_result(Training *training, int code);

/* Ranks hold the same weights because they compute the same; where they do not (a damaged processor, libraries that
 * differ between machines), what follows would be wrong without anybody noticing. All ranks; CORE_FAIL says so. */
int training_check_weights(const Training *training);

/* Which evaluation an evaluation now is: 0 is the one before training. */
int64_t training_evaluation_number(const Training *training);
/* Is an evaluation due now? Before training (when eval.count > 0), then evenly, the last at the end. */
bool training_evaluation_due(const Training *training);
/* CORE_FAIL: an environment failed; CORE_REQUEUE: a rank was told to stop. There is no row then. All ranks alike. */
int training_evaluate(Training *training, StoreEvaluation *row);
/* The same on set 0 .. others.count - 1 of eval.levels. */
int training_evaluate_other(Training *training, int set, StoreEvaluation *row);

#endif
