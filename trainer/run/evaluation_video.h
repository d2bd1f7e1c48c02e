/* Films of evaluations (eval.video_every): the first attempt of some of them, as it was played, as a .gif in the run's
 * folder. A film looks on and changes nothing, so a run has the same bits with and without it. */
#ifndef TRAINER_EVALUATION_VIDEO_H
#define TRAINER_EVALUATION_VIDEO_H
#include "trainer/run/progress.h"

typedef struct EvaluationVideo EvaluationVideo;

/* CORE_USAGE: films are asked for, and the environment draws no pictures, or there is no libgd. */
int evaluation_video_check(const CoreConfig *config, const Env *env);
/* Before the evaluation, on the rank that has the first attempt. *film: NULL where none is due. */
void evaluation_video_begin(Training *training, const char *root, const char *id, EvaluationVideo **video);
/* After it: writes the file, unless the evaluation was not finished. Training goes on without a film that cannot be
 * made, with a warning. NULL: nothing to do. */
void evaluation_video_end(Training *training, Progress *progress, bool is_finished, EvaluationVideo **video);

#endif
