/* The best checkpoint of a run, ckpt/best.ckpt: the state after the evaluation with the highest score so far. It has
 * one section more than others, with that score. No run resumes from it, and checkpoint.keep does not count it. */
#ifndef TRAINER_CHECKPOINT_BEST_H
#define TRAINER_CHECKPOINT_BEST_H
#include "trainer/checkpoint/checkpoint.h"

#define CHECKPOINT_BEST_SECTION "best evaluation"

/* Score of an evaluation. Plain memory, stored as it is. */
typedef struct CheckpointBest {
  double score;          /* NaN: none */
  int64_t is_solve_rate; /* 1: solve rate; 0: return */
  int64_t iteration;     /* number of iterations before the evaluation */
} CheckpointBest;

/* Writes the file atomically: after a crash it is the old or the new one. CORE_FAIL: as checkpoint_write. */
int checkpoint_best_write(const Checkpoint *checkpoint, const CheckpointBest *best);
/* Reads the score of the file, and checks all of it. The score is NaN if there is no file, it is damaged or another
 * run's; the log then has the reason. */
void checkpoint_best_read(const Checkpoint *checkpoint, CheckpointBest *best);
/* Removes the file, if it exists. */
int checkpoint_best_remove(const Checkpoint *checkpoint);
/* Finds the file in a run's directory of checkpoints. CORE_USAGE: there is none. */
int checkpoint_best_path(const char *directory, char path[CORE_PATH_MAX]);

#endif
