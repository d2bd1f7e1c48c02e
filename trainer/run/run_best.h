/* Keeps the best checkpoint of a run (trainer/checkpoint/best.h). All ranks call these functions. */
#ifndef TRAINER_RUN_BEST_H
#define TRAINER_RUN_BEST_H
#include "trainer/checkpoint/best.h"
#include "trainer/run/progress.h"

typedef struct RunBest {
  CheckpointBest kept;   /* score of the file; NaN: there is none */
  CheckpointBest due;    /* score of the last evaluation, if the file must be written; else NaN */
  int64_t started;       /* iteration at which the run started: 0, or more with init.from */
  bool has_warned;       /* whether a failed write was reported */
} RunBest;

/* Reads the score of the file with --resume, else removes the file. The file is authoritative: it may be of a later
 * iteration than the checkpoint from which the run resumes, and remains where no other checkpoint is intact. */
int run_best_begin(RunBest *best, const Checkpoint *checkpoint, bool is_resumed);
/* Compares an evaluation of that many attempts on the training levels by checkpoint.best. The evaluation before
 * training does not count, and neither does one of which fewer than half of the attempts ended. */
void run_best_compare(RunBest *best, const CoreConfig *config, const StoreEvaluation *row, int attempts);
/* Writes the file if it is due. Training continues if it cannot be written. */
void run_best_save(RunBest *best, const Checkpoint *checkpoint, Training *training, Progress *progress);

#endif
