/* Writes an image or a video of an environment that renders its own worlds (Env.picture). A video skips steps so
 * that it plays in real time at no more than 50 frames per second. */
#ifndef TRAINER_ENV_RECORDER_H
#define TRAINER_ENV_RECORDER_H
#include "trainer/envs/env.h"
#include "trainer/picture/picture.h"

typedef struct EnvRecorder {
  Env *env;                 /* borrowed */
  int pixels;               /* width and height of a frame */
  int steps_per_frame;
  int frames;               /* frames added so far */
  uint8_t *rgb;             /* [pixels][pixels][3] */
  Picture *picture;
} EnvRecorder;

/* Creates a recorder of world 0 of `env`. Errors: as picture_create. */
int env_recorder_create(const char *path, Env *env, int64_t pixels, EnvRecorder **recorder);
/* Adds a frame of the current state. Errors: as EnvPicture.draw and picture_add_pixels. */
int env_recorder_add_frame(EnvRecorder *recorder, bool is_last);
/* Whether a frame is due after `steps` steps; never for an image. */
bool env_recorder_is_due(const EnvRecorder *recorder, int steps);
void env_recorder_destroy(EnvRecorder **recorder);

#endif
