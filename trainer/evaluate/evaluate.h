/* Evaluation: the first episode of fixed attempts, actions by eval.actions, each level with the same weight (the
 * success rate of Beukman et al. 2026, appendix A). It has its own worlds and random stream, so training is the same
 * with and without evaluation. */
#ifndef TRAINER_EVALUATE_H
#define TRAINER_EVALUATE_H
#include "core/device/arena.h"
#include "store/runlog/runlog.h"
#include "trainer/evaluate/eval_rollout.h"

/* Callback before each step of the first attempt, until it ends; `step` counts from 0. It may read world 0 of `env` and
 * must change nothing. Only where this rank plays the first attempt. */
typedef struct EvaluateWatcher {
  void (*look)(void *context, Env *env, int step); /* NULL: none */
  void *context;
} EvaluateWatcher;

typedef struct Evaluator {
  Env *env;              /* owned; NULL where there are fewer attempts than ranks and none is left for this one */
  int global_attempts;   /* attempts of an evaluation */
  int first_attempt, attempts; /* this rank's of them */
  int worlds;            /* worlds at once: all attempts, or as many as train, in turns (EnvForeign) */
  int levels;
  bool solves;           /* whether episodes have goals; else solve rates are those that they report (info) */
  bool has_info;         /* whether the environment reports numbers */
  EnvInfoTable info;     /* sums over the last evaluation's attempts, of all ranks */
  bool counts_goals;     /* whether an episode may have several; else their number is NaN */
  int32_t *level;        /* [attempts]; never changes */
  EvalRollout eval_rollout; /* buffers of this rank's worlds */
  uint8_t *finished;     /* [worlds] 1: this turn's attempt has ended, or there is none */
  double *returns;       /* [worlds] returns of this turn's attempts */
  int64_t *ended, *solutions; /* [levels] attempts that ended, and those that reached the goal */
  EvaluateWatcher watcher; /* for the next evaluation */
} Evaluator;

/* Returns the attempts for `episodes` requested on `levels` levels: a multiple of the levels, or fewer than them. */
int evaluate_attempts(int64_t episodes, int levels);
/* Returns the level of attempt `world`: every level equally often; with fewer attempts than levels, evenly spaced
 * ones. */
int32_t evaluate_level(int world, int attempts, int levels);
/* Fills solve_rate, the mean over levels with attempts m of p = solutions / m, and its standard error sqrt(sum p (1 -
 * p) / (m - 1)) / levels, which needs two attempts on each. NaN where they are undefined. */
void evaluate_average(const int64_t *attempts, const int64_t *solutions, int levels, StoreEvaluation *row);

/* Registers the buffers. trained: worlds that this rank trains on. */
void evaluate_register(Evaluator *evaluator, const CoreConfig *config, const Env *levels, int trained,
                       CoreArena *arena);
/* Creates the worlds, after the arena's commit. device: the arena's. */
int evaluate_create(Evaluator *evaluator, const Env *levels, uint64_t seed, CoreDevice *device);
void evaluate_destroy(Evaluator *evaluator);

/* Plays an evaluation and fills *row except iteration and transitions; called by all ranks, which all return the same.
 * The agent uses the training's observation pipeline, whose statistics stay unchanged. `number`: index of the
 * evaluation in the run (0, 1, ...); with the seed it determines the randomness of actions and of foreign worlds.
 *
 * An attempt longer than Env.max_steps has no result: means are over those that ended, row->episodes of them, and NaN
 * without any. If none of the first turn's attempts ends, the others are not played.
 *
 * CORE_REQUEUE: a rank was asked to stop; CORE_FAIL: an environment failed. *row is not filled then. */
int evaluate_play(Evaluator *evaluator, Ops *ops, const Agent *agent, const ObsPipeline *pipeline, uint64_t seed,
                  int64_t number, StoreEvaluation *row);

/* ---- level sets of eval.levels ----------------------------------------------------------------------------------- */

/* Level sets of eval.levels: evaluated together with the training levels, each with its own worlds and log rows. They
 * use separate random streams, so training is the same with and without them. */

enum { EVALUATION_SETS_MAX = 8 };

typedef struct EvaluationSet {
  char name[ENV_SET_NAME];
  Env *levels;             /* a small batch that knows the levels and creates the evaluator's */
  Evaluator evaluator;
} EvaluationSet;

typedef struct EvaluationSets {
  int count;
  EvaluationSet set[EVALUATION_SETS_MAX];
} EvaluationSets;

/* Reads the sets; none without evaluations. CORE_USAGE: a set that does not exist, that does not fit, or two of one
 * name; or the environment has no levels. worlds: that this rank trains on. */
int evaluation_sets_register(EvaluationSets *sets, const CoreConfig *config, const Env *trained, int worlds,
                             CoreArena *arena);
int evaluation_sets_estimate_bytes(const EvaluationSets *sets, double *bytes);
/* Creates the worlds, after the arena's commit. device: the arena's. */
int evaluation_sets_create(EvaluationSets *sets, uint64_t seed, CoreDevice *device);
void evaluation_sets_destroy(EvaluationSets *sets);

/* Evaluates on set `i`, like evaluate_play. */
int evaluation_sets_play(EvaluationSets *sets, int i, Ops *ops, const Agent *agent, const ObsPipeline *pipeline,
                         uint64_t seed, int64_t number, StoreEvaluation *row);

#endif
