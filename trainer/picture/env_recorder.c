/* Frames of world 0 (env_recorder.h). */
#include "trainer/picture/env_recorder.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"

static const double FRAME_S_MIN = 0.02; /* shortest frame of a .gif that browsers honor */

int env_recorder_create(const char *path, Env *env, int64_t pixels, EnvRecorder **recorder) {
  const double step_s = env->picture->step_seconds(env);
  const int steps_per_frame = (int)ceil(FRAME_S_MIN / step_s - 1e-6);
  Picture *picture;
  *recorder = NULL;
  TRY(picture_create(path, PICTURE_PIXELS, steps_per_frame * step_s, &picture));
  *recorder = core_memory_zero_allocate(1, sizeof **recorder);
  **recorder = (EnvRecorder){.env = env, .pixels = (int)pixels, .steps_per_frame = steps_per_frame, .picture = picture,
                             .rgb = core_memory_allocate((size_t)pixels * (size_t)pixels * 3)};
  return CORE_OK;
}

int env_recorder_add_frame(EnvRecorder *recorder, bool is_last) {
  const int pixels = recorder->pixels;
  TRY(recorder->env->picture->draw(recorder->env, 0, pixels, pixels, recorder->rgb));
  recorder->frames++;
  return picture_add_pixels(recorder->picture, &(SimDrawPixels){pixels, pixels, recorder->rgb}, is_last);
}

bool env_recorder_is_due(const EnvRecorder *recorder, int steps) {
  return picture_is_video(recorder->picture) && steps % recorder->steps_per_frame == 0;
}

void env_recorder_destroy(EnvRecorder **recorder) {
  if (*recorder == NULL) return;
  picture_destroy(&(*recorder)->picture);
  free((*recorder)->rgb);
  free(*recorder);
  *recorder = NULL;
}
