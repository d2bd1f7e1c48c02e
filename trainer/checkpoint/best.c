/* Reading and writing the best checkpoint (best.h). */
#include "trainer/checkpoint/best.h"

#include <math.h>
#include <string.h>

#include "core/log.h"

static int path_of_best(const char *directory, char path[CORE_PATH_MAX]) {
  return core_files_path(path, "%s/best.ckpt", directory);
}

int checkpoint_best_write(const Checkpoint *checkpoint, const CheckpointBest *best) {
  Checkpoint scored = *checkpoint;
  CheckpointBest section = *best;
  char path[CORE_PATH_MAX];
  TRY(path_of_best(checkpoint->directory, path));
  checkpoint_add(&scored, CHECKPOINT_BEST_SECTION, &section, sizeof section);
  return checkpoint_write_file(&scored, best->iteration, path);
}

static int read_best(const Checkpoint *checkpoint, const char *path, CheckpointBest *best) {
  CheckpointContents contents;
  int64_t iteration;
  TRY(checkpoint_inspect(path, &contents));
  TRY(checkpoint_read_section(path, checkpoint->run_id, CHECKPOINT_BEST_SECTION, best, sizeof *best, &iteration));
  if (best->iteration == iteration && isfinite(best->score)) return CORE_OK;
  return core_error(CORE_FAIL, "%s: its score is invalid", path);
}

void checkpoint_best_read(const Checkpoint *checkpoint, CheckpointBest *best) {
  char path[CORE_PATH_MAX];
  int code = path_of_best(checkpoint->directory, path);
  *best = (CheckpointBest){.score = NAN};
  if (code == CORE_OK && !core_files_exists(path)) return;
  if (code == CORE_OK) code = read_best(checkpoint, path, best);
  if (code == CORE_OK) return;
  core_warn("the best checkpoint is ignored: %s", core_error_message());
  core_error_clear();
  *best = (CheckpointBest){.score = NAN};
}

int checkpoint_best_remove(const Checkpoint *checkpoint) {
  char path[CORE_PATH_MAX];
  TRY(path_of_best(checkpoint->directory, path));
  return core_files_remove(path);
}

int checkpoint_best_path(const char *directory, char path[CORE_PATH_MAX]) {
  TRY(path_of_best(directory, path));
  if (core_files_exists(path)) return CORE_OK;
  return core_error(CORE_USAGE, "%.300s has no best checkpoint, which evaluations after training began write unless "
                    "checkpoint.best = none; omit --best for the newest one", directory);
}
