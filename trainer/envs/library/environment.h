/* Interface of a user-defined environment in C: a shared library that exports these functions.
 *
 *     gcc -O2 -shared -fPIC -o corridor.so corridor.c
 *     trainer --set env.task=library:./corridor.so/corridor --set env.num=64
 *
 * The trainer creates a world per parallel environment and steps different worlds concurrently from several threads. So
 * all mutable state must belong to a world, and all random numbers must derive from the seed of a reset. */
#ifndef SWEEP_ENVIRONMENT_H
#define SWEEP_ENVIRONMENT_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SWEEP_ENVIRONMENT_VERSION 2
#define SWEEP_ENVIRONMENT_FACTORS 64

/* Observation and action spaces, and properties of an environment. */
typedef struct SweepSpaces {
  int observations;      /* floats per observation */
  int factors;           /* discrete action: number of components; 0: continuous action */
  int classes[SWEEP_ENVIRONMENT_FACTORS]; /* component i is 0 .. classes[i] - 1, at most 255 classes */
  int values;            /* continuous action: number of components; 0: discrete action */
  float low, high;       /* bounds of continuous components */
  int limit;             /* maximum number of steps of an episode */
  int solves;            /* 1: episodes have a goal */
  size_t state_bytes;    /* size of a saved world; 0: worlds cannot be saved */
} SweepSpaces;

typedef struct SweepResult {
  float reward;
  int terminated;        /* 1: the episode ended */
  int truncated;         /* 1: a time limit ended the episode */
  int solved;            /* 1: the episode ended at its goal */
} SweepResult;

/* Returns SWEEP_ENVIRONMENT_VERSION. */
int sweep_environment_version(void);
/* Describes environment `name`. Returns 0; 1: the library has no environment of that name. */
int sweep_environment_spaces(const char *name, SweepSpaces *spaces);
/* Creates a world; NULL: out of memory. */
void *sweep_environment_make(const char *name);
void sweep_environment_destroy(void *world);
/* Starts an episode. observation: [observations] */
void sweep_environment_reset(void *world, uint64_t seed, float *observation);
/* Steps the world. action: uint8_t [factors] or float [values]. After the end of an episode the trainer resets it. */
void sweep_environment_step(void *world, const void *action, SweepResult *result, float *observation);
/* Save and restore the full state of a world, [state_bytes]; not called if state_bytes is 0. */
void sweep_environment_save(const void *world, void *state);
void sweep_environment_load(void *world, const void *state);

#ifdef __cplusplus
}
#endif
#endif
