/* Playing evaluations, logging their rows, and keeping what they show (run_evaluate.h). */
#include "trainer/run/run_evaluate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/memory.h"
#include "sim/draw/draw_image.h"
#include "store/workspace/paths.h"
#include "trainer/picture/picture.h"
#include "trainer/ranks/ranks.h"

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

/* ---- the best checkpoint ----------------------------------------------------------------------------------------- */

int run_best_begin(RunBest *best, const Checkpoint *checkpoint, bool is_resumed) {
  int code = CORE_OK;
  *best = (RunBest){.kept = {.score = NAN}, .due = {.score = NAN}};
  if (ranks_is_first() && is_resumed) checkpoint_best_read(checkpoint, &best->kept);
  if (ranks_is_first() && !is_resumed) code = checkpoint_best_remove(checkpoint);
  TRY(ranks_agree(code));
  ranks_broadcast(&best->kept, sizeof best->kept);
  return CORE_OK;
}

/* Whether a score is better. A solve rate cannot be compared with a return: it is better, unless returns are asked for,
 * as they may be since the file was written. */
static bool is_better(const CheckpointBest *score, const CheckpointBest *than, bool by_return) {
  if (!isfinite(score->score)) return false;
  if (isnan(than->score)) return true;
  if (score->is_solve_rate != than->is_solve_rate) return score->is_solve_rate || by_return;
  return score->score > than->score;
}

void run_best_compare(RunBest *best, const CoreConfig *config, const StoreEvaluation *row, int attempts) {
  const bool by_rate = strcmp(config->checkpoint.best, "auto") == 0 && isfinite(row->solve_rate);
  const CheckpointBest score = {.score = by_rate ? row->solve_rate : row->episode_return, .is_solve_rate = by_rate,
                                .iteration = row->iteration};
  best->due = (CheckpointBest){.score = NAN};
  if (strcmp(config->checkpoint.best, "none") == 0 || row->iteration <= best->started) return;
  if (row->episodes < 0.5 * attempts) return;
  if (is_better(&score, &best->kept, strcmp(config->checkpoint.best, "return") == 0)) best->due = score;
}

void run_best_save(RunBest *best, const Checkpoint *checkpoint, Training *training, Progress *progress) {
  int code = CORE_OK;
  if (isnan(best->due.score)) return;
  training_before_save(training);
  if (ranks_is_first()) code = checkpoint_best_write(checkpoint, &best->due);

  if (ranks_agree(code) == CORE_OK) {
    best->kept = best->due;
    core_info("best checkpoint: iteration %" PRId64 ", %s %.6g", best->kept.iteration,
              best->kept.is_solve_rate ? "solve rate" : "return", best->kept.score);
  } else if (!best->has_warned) {
    best->has_warned = true;
    progress_message(progress, "warning: no best checkpoint at iteration %" PRId64 ", training continues: %s",
                     best->due.iteration, core_error_message());
  }

  core_error_clear();
  best->due.score = NAN;
}

/* ---- videos ------------------------------------------------------------------------------------------------------ */

/* A frame is drawn before a step and added at the next one: the last frame of a .gif is shown longer, and is known only
 * when the attempt has ended (run_evaluate.h). */

enum { PIXELS = 240 };
static const double VIDEO_S_MAX = 10, FRAME_S = 0.04; /* simulated seconds: in total, and per frame at least */

struct EvaluationVideo {
  Picture *picture;
  int every, most;            /* steps per frame, and maximum recorded steps */
  bool has_frame;             /* whether rgb has a frame that is not added yet */
  int code;                   /* code of the first failure */
  char problem[256];
  uint8_t rgb[PIXELS * PIXELS * 3];
};

int evaluation_video_check(const CoreConfig *config, const Env *env) {
  char every[32];
  if (config->eval.video_every == 0 || config->eval.count == 0) return CORE_OK;
  snprintf(every, sizeof every, "%lld", (long long)config->eval.video_every);
  if (!env->picture) return env_unsupported(env, "eval.video_every", every, "pictures", "eval.video_every to 0");
  if (sim_draw_image_available()) return CORE_OK;
  return core_error(CORE_USAGE, "eval.video_every = %s: this trainer was built without libgd; set it to 0, or install "
                                "libgd (libgd-dev, gd-devel) and build again", every);
}

static void note(EvaluationVideo *video, int code) {
  if (code == CORE_OK || video->code != CORE_OK) return;
  video->code = code;
  snprintf(video->problem, sizeof video->problem, "%s", core_error_message());
}

static int add_frame(EvaluationVideo *video, bool last) {
  video->has_frame = false;
  return picture_add_pixels(video->picture, &(SimDrawPixels){PIXELS, PIXELS, video->rgb}, last);
}

static void look(void *context, Env *env, int step) {
  EvaluationVideo *video = context;
  if (video->code != CORE_OK || step % video->every != 0 || step > video->most) return;
  if (video->has_frame) note(video, add_frame(video, false));
  note(video, env->picture->draw(env, 0, PIXELS, PIXELS, video->rgb));
  video->has_frame = video->code == CORE_OK;
}

void evaluation_video_begin(Training *training, const char *root, const char *id, EvaluationVideo **video) {
  char path[CORE_PATH_MAX], name[STORE_VIDEO_NAME];
  const int64_t every = training->config.eval.video_every;
  const Env *env = training->evaluator.env;
  *video = NULL;
  if (every == 0 || !env || training_evaluation_number(training) % every != 0) return;

  EvaluationVideo *created = core_memory_zero_allocate(1, sizeof *created);
  const double step_s = env->picture->step_seconds(env);
  created->every = (int)ceil(FRAME_S / step_s - 1e-6);
  created->most = (int)(VIDEO_S_MAX / step_s);

  store_video_name(training->position.iteration, name);
  note(created, store_path_run(root, id, name, path));
  if (created->code == CORE_OK)
    note(created, picture_create(path, PICTURE_PIXELS, created->every * step_s, &created->picture));
  training->evaluator.watcher = (EvaluateWatcher){look, created};
  *video = created;
}

void evaluation_video_end(Training *training, Progress *progress, bool is_finished, EvaluationVideo **video) {
  EvaluationVideo *created = *video;
  training->evaluator.watcher = (EvaluateWatcher){0};
  if (!created) return;
  if (is_finished && created->has_frame) note(created, add_frame(created, true));
  if (is_finished && created->code == CORE_OK) note(created, picture_write(created->picture));
  if (is_finished && created->code != CORE_OK)
    progress_message(progress, "warning: no video of this evaluation: %s", created->problem);
  picture_destroy(&created->picture);
  free(created);
  *video = NULL;
}
