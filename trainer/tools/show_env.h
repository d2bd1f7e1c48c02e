/* `trainer show` of a task whose environment draws its own worlds: its start, or what actions do to it. */
#ifndef TRAINER_SHOW_ENV_H
#define TRAINER_SHOW_ENV_H
#include <stdbool.h>
#include <stdint.h>

typedef struct ShowEnv {
  const char *task, *output;
  int64_t pixels;           /* a side */
  int64_t steps;            /* -1: SHOW_MOVING_STEPS of a film, else none */
  int64_t seed;             /* of the start and of the actions */
  bool random;              /* else no action: all numbers 0 */
} ShowEnv;

enum { SHOW_MOVING_STEPS = 90 };

/* Writes the picture and prints a line. CORE_USAGE: no such task, or what it needs is not installed. */
int show_env(const ShowEnv *show);

#endif
