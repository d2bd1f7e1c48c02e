/* Evaluators for further level sets, and their names. */
#include "trainer/evaluate/evaluation_sets.h"

#include <string.h>

#include "core/device/arena.h"
#include "trainer/envs/levels.h"

_Static_assert((int)EVALUATION_SETS_MAX == (int)LEVELS_PARTS_MAX && (int)ENV_SET_NAME == (int)LEVELS_NAME,
               "limits of sets and names agree");

/* Checks a set's name, which is a key in the log. */
static int check_name(const EvaluationSets *sets, int i) {
  bool is_duplicate = strcmp(sets->set[i].name, "train") == 0;
  for (int k = 0; k < i; k++) is_duplicate |= strcmp(sets->set[i].name, sets->set[k].name) == 0;
  if (!is_duplicate) return CORE_OK;
  return core_error(CORE_USAGE, "eval.levels: two sets are named %s; rename the directory or file",
                    sets->set[i].name);
}

int evaluation_sets_register(EvaluationSets *sets, const CoreConfig *config, const Env *trained, int worlds,
                             CoreArena *arena) {
  int count = 0;
  if (config->eval.count > 0) TRY(env_evaluation_sets(config, trained, &count));
  for (int i = 0; i < count; i++) {
    EvaluationSet *set = &sets->set[i];
    TRY(env_create_evaluation(config, trained, i, &(EnvBatch){.worlds = 1}, &set->levels, set->name));
    sets->count++;
    TRY(check_name(sets, i));
    evaluate_register(&set->evaluator, config, set->levels, worlds, arena);
  }
  return CORE_OK;
}

int evaluation_sets_estimate_bytes(const EvaluationSets *sets, double *bytes) {
  *bytes = 0;
  for (int i = 0; i < sets->count; i++) {
    double of_set;
    TRY(env_estimate_bytes(sets->set[i].levels, sets->set[i].evaluator.worlds, &of_set));
    *bytes += of_set;
  }
  return CORE_OK;
}

int evaluation_sets_create(EvaluationSets *sets, uint64_t seed, CoreDevice *device) {
  for (int i = 0; i < sets->count; i++)
    TRY(evaluate_create(&sets->set[i].evaluator, sets->set[i].levels, seed, device));
  return CORE_OK;
}

void evaluation_sets_destroy(EvaluationSets *sets) {
  for (int i = 0; i < sets->count; i++) {
    evaluate_destroy(&sets->set[i].evaluator);
    env_destroy(&sets->set[i].levels);
  }
  sets->count = 0;
}

int evaluation_sets_play(EvaluationSets *sets, int i, Ops *ops, const Agent *agent, const ObsPipeline *pipeline,
                         uint64_t seed, int64_t number, StoreEvaluation *row) {
  const uint64_t stream = seed | (uint64_t)(i + 1) << 32; /* seeds have 32 bits */
  TRY(evaluate_play(&sets->set[i].evaluator, ops, agent, pipeline, stream, number, row));
  core_text_copy(row->level_set, sizeof row->level_set, sets->set[i].name, "level set");
  return CORE_OK;
}
