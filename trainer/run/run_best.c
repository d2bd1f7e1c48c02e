/* The best checkpoint of a run (run_best.h). */
#include "trainer/run/run_best.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/log.h"
#include "trainer/ranks/ranks.h"

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
