/* `trainer show` for environments that render their own worlds: the initial state, or some steps. */
#ifndef TRAINER_SHOW_ENV_H
#define TRAINER_SHOW_ENV_H
#include <stdbool.h>
#include <stdint.h>

typedef struct ShowEnv {
  const char *task, *output;
  int64_t pixels;           /* width and height */
  int64_t steps;            /* -1: SHOW_VIDEO_STEPS for a video, else 0 */
  int64_t seed;             /* seed of the initial state and of the actions */
  bool random;              /* whether actions are random; else all values are 0 */
} ShowEnv;

enum { SHOW_VIDEO_STEPS = 90 };

/* Writes the image or video and prints a summary. CORE_USAGE: unknown task, or a dependency is not installed. */
int show_env(const ShowEnv *show);

#endif
