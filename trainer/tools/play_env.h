/* `trainer play` of a run whose environment draws its own worlds. */
#ifndef TRAINER_PLAY_ENV_H
#define TRAINER_PLAY_ENV_H
#include "trainer/tools/player.h"

typedef struct PlayEnv {
  const char *output;
  int64_t pixels;           /* a side */
  int64_t steps;            /* that are played at most, all of them drawn; -1: the whole episode */
  uint64_t seed;            /* of the start and of the actions */
} PlayEnv;

/* Plays an episode, writes its picture or film and prints a line. Errors: film.h's, and out of memory. */
int play_env(const PlayEnv *play, Player *player);

#endif
