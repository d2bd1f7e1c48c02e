/* Playing evaluations and logging their rows (run_evaluate.h). */
#include "trainer/run/run_evaluate.h"

#include <inttypes.h>

#include "trainer/ranks/ranks.h"
#include "trainer/run/evaluation_video.h"

static const char NO_LIMIT_HINT[] = "set env.max_steps, or register the environment with max_episode_steps";

/* Evaluates on the training levels and the other sets: row[1 + others.count]. */
static int evaluate(const RunEvaluation *evaluation, StoreEvaluation *row) {
  Training *training = evaluation->training;
  EvaluationVideo *video = NULL;
  if (ranks_is_first()) evaluation_video_begin(training, evaluation->root, evaluation->id, &video);
  const int code = training_evaluate(training, row);
  evaluation_video_end(training, evaluation->progress, code == CORE_OK, &video);
  TRY(code);
  for (int set = 0; set < training->others.count; set++) TRY(training_evaluate_other(training, set, &row[1 + set]));
  return CORE_OK;
}

/* Warns once of attempts that did not end, which have no result. Each line of the log has their number. */
static void warn_of_unfinished(const RunEvaluation *evaluation, const StoreEvaluation *row, int attempts,
                               bool *warned) {
  const Env *env = evaluation->training->levels;
  if (row->episodes >= attempts || *warned) return;
  *warned = true;
  progress_message(evaluation->progress,
                   "warning: evaluation after iteration %" PRId64 " on %s: %.0f of %d attempts took "
                   "more than %d steps and are not measured; %s", row->iteration, row->level_set,
                   attempts - row->episodes, attempts, env->max_steps,
                   env->has_no_limit ? NO_LIMIT_HINT
                                  : "the environment declares that limit, so it must end episodes there");
}

int run_evaluate_if_due(const RunEvaluation *evaluation, bool *unfinished_warned) {
  Training *training = evaluation->training;
  StoreEvaluation row[1 + EVALUATION_SETS_MAX];
  training->evaluation_due = -1;
  if (!training_evaluation_due(training)) return CORE_OK;
  training->evaluation_due = training->position.iteration;

  TRY(evaluate(evaluation, row));
  run_best_compare(evaluation->best, &training->config, &row[0], training->evaluator.global_attempts);
  training->evaluation_due = -1;

  if (!ranks_is_first()) return CORE_OK;
  for (int i = 0; i <= training->others.count; i++) {
    const Evaluator *evaluator = i == 0 ? &training->evaluator : &training->others.set[i - 1].evaluator;
    run_logs_evaluation(evaluation->logs, &row[i], evaluator->global_attempts);
    if (i == 0) run_logs_evaluation_info(evaluation->logs, evaluation->progress, &row[i], &evaluator->info);
    warn_of_unfinished(evaluation, &row[i], evaluator->global_attempts, unfinished_warned);
  }
  return CORE_OK;
}

void run_evaluate_warn(const Training *training, Progress *progress) {
  const Env *env = training->levels;
  if (!env || !env->has_no_limit || training->config.eval.count == 0) return;
  progress_message(progress,
                   "warning: %s declares no time limit: an attempt of an evaluation that takes more than %d steps "
                   "is not measured; %s", training->config.env.task, env->max_steps, NO_LIMIT_HINT);
}
