/* Storage of a rollout's observations that are stacked frames (EnvPixels with frames > 1). A row shares all but its
 * newest frame with the row before, so each frame is stored once, in a pool, and a row as indices of its frames there:
 * the same bytes as full rows, with four frames in about a quarter of the memory. Where an episode begins, frames are
 * new; equal ones of one stack (blank ones, or copies of the first) are stored once.
 *
 * The pool has capacity for a new frame in each row, and for a share of rows at which episodes begin. A rollout that
 * needs more allocates it on the heap. Host only. */
#ifndef TRAINER_FRAMES_H
#define TRAINER_FRAMES_H
#include "core/device/arena.h"
#include "trainer/envs/env.h"

enum { FRAMES_STEPS_AN_EPISODE = 16 }; /* episode length that the pool is sized for: shorter ones use the heap */

typedef struct Frames {
  int worlds, features;    /* features: floats of a row including its bytes, as Env.observation_length */
  int stack;               /* frames per row; 0: not used */
  size_t frame_bytes;
  int32_t *index;          /* [steps + 1][worlds][stack] pool indices */
  uint8_t *pool;           /* [capacity][frame_bytes] */
  uint8_t *more;           /* [used - capacity][frame_bytes] at most, on the heap; NULL: not needed so far */
  size_t capacity, more_capacity;
  size_t used;             /* frames used so far in this rollout */
} Frames;

/* Checks the settings; worlds: of this rank. CORE_USAGE: train.observation_storage requests another storage of pixels,
 * or a rollout may have more frames than indices. */
int frames_check(const CoreConfig *config, const Env *env, int worlds);
/* Whether this environment's observations are stored as frames, given the device of its rows (NULL: the host). */
bool frames_apply(const Env *env, const CoreDevice *device);
void frames_register(Frames *frames, const Env *env, int steps, int worlds, CoreArena *arena);
/* Stores worlds first .. first + count - 1 of row block t from observations [worlds][features]. A rollout begins with t
 * = 0, and all its worlds are stored in one block before any in the next. */
void frames_store(Frames *frames, int t, int first, int count, const float *observations);
/* Gathers rows `index` of the rollout -> observations [rows][features]. */
void frames_gather(const Frames *frames, const uint32_t *index, int rows, float *observations);
/* Frees the heap memory. */
void frames_destroy(Frames *frames);

#endif
