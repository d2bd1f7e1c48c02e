/* Schedule of evaluations, their rows, numbers that the worlds report, and the values shown during the run
 * (training.h). */
#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "trainer/ranks/ranks.h"
#include "trainer/run/training.h"

void training_record_results(Training *training, const StoreIteration *row) {
  const bool evaluates = training->config.eval.count > 0;
  TrainingPosition *position = &training->position;
  if (!isnan(row->solve_rate) && (!evaluates || isnan(position->solve_rate))) position->solve_rate = row->solve_rate;
  if (training->levels->solves || isnan(row->episode_return)) return;
  if (!evaluates || isnan(training->episode_return)) training->episode_return = row->episode_return;
}

/* Returns the evaluations within the first `iteration` iterations, without the one before training. */
static int64_t evaluations_until(const Training *training, int64_t iteration) {
  long double share = (long double)iteration * (long double)training->config.eval.count;
  return (int64_t)floorl(share / (long double)training->plan.iterations);
}

bool training_evaluation_due(const Training *training) {
  int64_t iteration = training->position.iteration;
  if (training->config.eval.count == 0 || training->sgd) return false;
  return iteration == 0 || evaluations_until(training, iteration) > evaluations_until(training, iteration - 1);
}

int64_t training_evaluation_number(const Training *training) {
  return evaluations_until(training, training->position.iteration);
}

static void place_row(const Training *training, StoreEvaluation *row) {
  row->iteration = training->position.iteration;
  row->transitions = (double)training_transitions(training);
}

int training_read_info(Training *training) {
  Env *env = training->env;
  training->info = (EnvInfoTable){0};
  if (env->info) {
    const int first = training->rollout.pipeline.first_reported; /* SAPG: only the leader's worlds */
    uint8_t *reported = core_memory_zero_allocate((size_t)env->worlds, 1);
    for (int w = first; w < env->worlds; w++) reported[w] = 1;
    env->info->read(env, reported, &training->info);
    free(reported);
  }
  TRY(ranks_agree(env_check(env)));
  if (env->info) env_info_reduce(&training->info);
  return CORE_OK;
}

double training_solve_rate(const Training *training, const RolloutEpisodes *episodes) {
  double count;
  return training->levels->solves ? episodes->solve_rate : env_info_solve_rate(&training->info, &count);
}

int training_env_result(Training *training, int code) {
  training->env_failed = code != CORE_OK && code != CORE_REQUEUE;
  return training->env_failed ? CORE_FAIL : code;
}

int training_evaluate(Training *training, StoreEvaluation *row) {
  obs_pool_statistics(&training->rollout.pipeline);
  const int code = training_env_result(
    training, evaluate_play(&training->evaluator, training->ops, &training->agent, &training->rollout.pipeline,
                            (uint64_t)training->config.train.seed, training_evaluation_number(training), row));
  if (code != CORE_OK) return core_error_context(code, "an evaluation");
  place_row(training, row);
  training->position.solve_rate = row->solve_rate;
  if (!training->levels->solves) training->episode_return = row->episode_return;
  return CORE_OK;
}

int training_evaluate_other(Training *training, int set, StoreEvaluation *row) {
  obs_pool_statistics(&training->rollout.pipeline);
  const int code = training_env_result(
    training, evaluation_sets_play(&training->others, set, training->ops, &training->agent,
                                   &training->rollout.pipeline, (uint64_t)training->config.train.seed,
                                   training_evaluation_number(training), row));
  if (code != CORE_OK) return core_error_context(code, "an evaluation");
  place_row(training, row);
  return CORE_OK;
}
