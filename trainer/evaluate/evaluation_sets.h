/* Level sets of eval.levels: evaluated together with the training levels, each with its own worlds and log rows. They
 * use separate random streams, so training is the same with and without them. */
#ifndef TRAINER_EVALUATION_SETS_H
#define TRAINER_EVALUATION_SETS_H
#include "core/device/arena.h"
#include "trainer/evaluate/evaluate.h"

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
