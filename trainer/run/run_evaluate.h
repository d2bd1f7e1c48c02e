/* Scheduling of a run's evaluations, on all level sets, into the run's log; their videos, and the checkpoint of the
 * best one. */
#ifndef TRAINER_RUN_EVALUATE_H
#define TRAINER_RUN_EVALUATE_H
#include "trainer/checkpoint/best.h"
#include "trainer/run/logs.h"
#include "trainer/run/progress.h"

/* ---- the best checkpoint ----------------------------------------------------------------------------------------- */

/* Keeps the best checkpoint of a run (trainer/checkpoint/best.h). All ranks call these functions. */

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

/* ---- evaluations ------------------------------------------------------------------------------------------------- */

typedef struct RunEvaluation {
  Training *training;
  RunLogs *logs;         /* used on the first rank only */
  Progress *progress;
  const char *root, *id; /* workspace and id of the run */
  RunBest *best;         /* compared with each evaluation */
} RunEvaluation;

/* Evaluates if due, on all level sets, and logs the rows; called by all ranks, after each iteration and before the
 * first. Warns once of attempts that did not end. CORE_REQUEUE: a rank was asked to stop; no row is logged, and the
 * training records for its checkpoint that the evaluation is due. CORE_FAIL: an environment failed. */
int run_evaluate_if_due(const RunEvaluation *evaluation, bool *unfinished_warned);
/* Warns, before training, of an environment that declares no time limit. */
void run_evaluate_warn(const Training *training, Progress *progress);

/* ---- videos ------------------------------------------------------------------------------------------------------ */

/* Videos of evaluations (eval.video_every): the first attempt of some of them, as a .gif in the run's directory.
 * Recording changes nothing, so a run has the same bits with and without it. */

typedef struct EvaluationVideo EvaluationVideo;

/* Checks the settings. CORE_USAGE: videos are requested, and the environment draws no images, or there is no libgd. */
int evaluation_video_check(const CoreConfig *config, const Env *env);
/* Begins recording before the evaluation, on the rank that has the first attempt. *video: NULL where none is due. */
void evaluation_video_begin(Training *training, const char *root, const char *id, EvaluationVideo **video);
/* Writes the file after the evaluation, unless that was not finished. If the video cannot be made, training continues
 * with a warning. NULL: nothing to do. */
void evaluation_video_end(Training *training, Progress *progress, bool is_finished, EvaluationVideo **video);

#endif
