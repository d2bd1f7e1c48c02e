/* Videos of evaluations (eval.video_every): the first attempt of some of them, as a .gif in the run's directory.
 * Recording changes nothing, so a run has the same bits with and without it. */
#ifndef TRAINER_EVALUATION_VIDEO_H
#define TRAINER_EVALUATION_VIDEO_H
#include "trainer/run/progress.h"

typedef struct EvaluationVideo EvaluationVideo;

/* Checks the settings. CORE_USAGE: videos are requested, and the environment draws no images, or there is no libgd. */
int evaluation_video_check(const CoreConfig *config, const Env *env);
/* Begins recording before the evaluation, on the rank that has the first attempt. *video: NULL where none is due. */
void evaluation_video_begin(Training *training, const char *root, const char *id, EvaluationVideo **video);
/* Writes the file after the evaluation, unless that was not finished. If the video cannot be made, training continues
 * with a warning. NULL: nothing to do. */
void evaluation_video_end(Training *training, Progress *progress, bool is_finished, EvaluationVideo **video);

#endif
