/* An environment of your own in C: a shared library that has these functions.
 *
 *     gcc -O2 -shared -fPIC -o corridor.so corridor.c
 *     trainer --set env.task=library:./corridor.so/corridor --set env.num=64
 *
 * The trainer makes a world for each parallel environment, and steps different worlds from several threads at once. So
 * a world keeps all that changes in its own memory. Everything random follows from the seed that a reset is given. */
#ifndef SWEEP_ENVIRONMENT_H
#define SWEEP_ENVIRONMENT_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SWEEP_ENVIRONMENT_VERSION 1
#define SWEEP_ENVIRONMENT_FACTORS 32

/* What an environment shows and takes. */
typedef struct SweepSpaces {
  int observations;      /* numbers that a world shows */
  int factors;           /* an action of classes: so many numbers (1: one choice); 0: an action of real numbers */
  int classes[SWEEP_ENVIRONMENT_FACTORS]; /* each is 0 .. classes - 1, at most 255 */
  int values;            /* an action of real numbers: so many */
  float low, high;       /* their bounds */
  int limit;             /* steps of the longest episode */
  int solves;            /* 1: episodes can be solved */
  size_t state_bytes;    /* of a saved world, the same for all; 0: worlds cannot be saved */
} SweepSpaces;

typedef struct SweepResult {
  float reward;
  int terminated;        /* 1: the episode ended */
  int truncated;         /* 1: a time limit cut it */
  int solved;            /* 1: it ended at its goal */
} SweepResult;

/* SWEEP_ENVIRONMENT_VERSION. */
int sweep_environment_version(void);
/* What environment `name` of this library is; 0, or 1: it has none of that name. */
int sweep_environment_spaces(const char *name, SweepSpaces *spaces);
/* A world; NULL: no memory. */
void *sweep_environment_make(const char *name);
void sweep_environment_destroy(void *world);
/* Begins an episode. observation: [observations] */
void sweep_environment_reset(void *world, uint64_t seed, float *observation);
/* One step. action: uint8_t [factors] or float [values]. After an end the trainer resets. */
void sweep_environment_step(void *world, const void *action, SweepResult *result, float *observation);
/* The whole world, [state_bytes]; not called where that is 0. */
void sweep_environment_save(const void *world, void *state);
void sweep_environment_load(void *world, const void *state);

#ifdef __cplusplus
}
#endif
#endif
