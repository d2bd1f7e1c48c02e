/* Evaluation (spec metrics.md 5.1): the first episode of fixed attempts, actions by eval.actions, each level weighing
 * the same. It has its own worlds and its own random stream, so training is the same whether or not it is evaluated. */
#ifndef TRAINER_EVALUATE_H
#define TRAINER_EVALUATE_H
#include "core/device/arena.h"
#include "store/runlog/runlog.h"
#include "trainer/evaluate/eval_rollout.h"

/* Who looks on: called before each step of the first attempt, until it ends; `step` counts from 0. It may look at world
 * 0 of `env` and changes nothing. Only where this rank plays the first attempt. */
typedef struct EvaluateWatcher {
  void (*look)(void *context, Env *env, int step); /* NULL: nobody looks */
  void *context;
} EvaluateWatcher;

typedef struct Evaluator {
  Env *env;              /* owned; NULL where there are fewer attempts than ranks and none is left for this one */
  int global_attempts;   /* of an evaluation */
  int first_attempt, attempts; /* this rank's of them */
  int worlds;            /* at once: all attempts, or as many as train, in turns (EnvForeign) */
  int levels;
  bool solves;           /* episodes have goals; else solve rates are NaN */
  bool counts_goals;     /* an episode may have several; else their number is NaN */
  int32_t *level;        /* [attempts]; never changes */
  EvalRollout eval_rollout; /* of this rank's worlds */
  uint8_t *finished;     /* [worlds] 1: this turn's attempt has ended, or there is none */
  double *returns;       /* [worlds] of this turn's attempts */
  int64_t *ended, *solutions; /* [levels] attempts that ended, and of them at the goal */
  EvaluateWatcher watcher; /* of the next evaluation */
} Evaluator;

/* Attempts for `episodes` wished on `levels` levels: a multiple of the levels, or fewer than them. */
int evaluate_attempts(int64_t episodes, int levels);
/* The level of attempt `world`: every level equally often; with fewer attempts than levels, evenly spread ones. */
int32_t evaluate_level(int world, int attempts, int levels);
/* Fills solve_rate, the mean over levels with attempts m of p = solutions / m, and its standard error
 * sqrt(sum p (1 - p) / (m - 1)) / levels, which needs two attempts on each. NaN where they are not defined. */
void evaluate_average(const int64_t *attempts, const int64_t *solutions, int levels, StoreEvaluation *row);

/* trained: worlds that this rank trains on. */
void evaluate_register(Evaluator *evaluator, const CoreConfig *config, const Env *levels, int trained,
                       CoreArena *arena);
/* After the arena's commit: makes the worlds. device: the arena's. */
int evaluate_create(Evaluator *evaluator, const Env *levels, uint64_t seed, CoreDevice *device);
void evaluate_destroy(Evaluator *evaluator);

/* All ranks together, which all return the same. Plays and fills all of *row but iteration and transitions. The agent
 * sees through the training's observer, whose statistics stay as they are. `number`: which evaluation of the run this
 * is (0, 1, ...); with the seed it fixes the randomness of actions and of foreign worlds.
 *
 * An attempt that takes more than Env.max_steps has no result: means are over those that ended, row->episodes of them,
 * and NaN without any. If none of the first turn's attempts ends, the others are not played.
 *
 * CORE_REQUEUE: a rank was told to stop; CORE_FAIL: an environment failed. *row is not filled then. */
int evaluate_play(Evaluator *evaluator, Ops *ops, const Agent *agent, const ObsPipeline *pipeline, uint64_t seed,
                   int64_t number, StoreEvaluation *row);

#endif
