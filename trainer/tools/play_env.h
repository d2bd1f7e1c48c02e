/* `trainer play` for environments that render their own worlds. */
#ifndef TRAINER_PLAY_ENV_H
#define TRAINER_PLAY_ENV_H
#include "trainer/tools/player.h"

typedef struct PlayEnv {
  const char *output;
  int64_t pixels;           /* width and height */
  int64_t steps;            /* maximum number of steps, all of them recorded; -1: the full episode */
  uint64_t seed;            /* seed of the initial state and of the actions */
} PlayEnv;

/* Plays an episode, writes an image or video of it and prints a summary. Errors: as env_recorder.h; out of memory. */
int play_env(const PlayEnv *play, Player *player);

#endif
