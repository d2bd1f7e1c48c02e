/* Frame pool (frames.h). */
#include "trainer/rollout/frames.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

enum { NEW = -1 }; /* NEW: to be stored; NEW - 1 - f: equal to frame f of the stack, which is */

int frames_check(const CoreConfig *config, const Env *env, int worlds) {
  const char *storage = config->train.observation_storage;
  const double rows = (double)worlds * (double)(config->ppo.num_steps + 1), stack = (double)env->pixels->frames;
  if (stack > 1 && rows * stack >= INT32_MAX)
    return core_error(CORE_USAGE, "env.num * ppo.num_steps: %d environments of a rank would store %.3g frames in a "
                      "rollout; the maximum is %.3g; lower ppo.num_steps, or use more ranks", worlds, rows * stack,
                      (double)INT32_MAX);
  if (strcmp(storage, "float32") == 0) return CORE_OK;
  return core_error(CORE_USAGE, "train.observation_storage = %s: net.encoder = %s reads pixels, which are stored as "
                    "bytes, and stacked frames once; set train.observation_storage to float32", storage,
                    config->net.encoder);
}

bool frames_apply(const Env *env, const CoreDevice *device) {
  return device == NULL && env->pixels && env->pixels->frames > 1;
}

void frames_register(Frames *frames, const Env *env, int steps, int worlds, CoreArena *arena) {
  const EnvPixels *pixels = env->pixels;
  const size_t n = (size_t)worlds, rows = n * (size_t)steps, stack = (size_t)pixels->frames;
  *frames = (Frames){.worlds = worlds, .features = env->observation_length, .stack = pixels->frames,
                     .frame_bytes = env_pixels_frame(pixels),
                     .capacity = n * stack + rows + rows / FRAMES_STEPS_AN_EPISODE};
  CORE_CHECK(frames->capacity < INT32_MAX);
  CORE_ARENA(arena, frames->index, (rows + n) * stack,
             "rollout observations, frames of rows [steps + 1][worlds][stack]");
  CORE_ARENA(arena, frames->pool, frames->capacity * frames->frame_bytes,
             "rollout observations, frames [frames][bytes]");
}

static uint8_t *frame_at(const Frames *frames, int32_t number) {
  const size_t i = (size_t)number;
  return i < frames->capacity ? frames->pool + i * frames->frame_bytes
                              : frames->more + (i - frames->capacity) * frames->frame_bytes;
}

static int32_t *row_at(const Frames *frames, int t, int world) {
  return frames->index + ((size_t)t * (size_t)frames->worlds + (size_t)world) * (size_t)frames->stack;
}

static const uint8_t *shown_of(const Frames *frames, const float *observations, int world) {
  return (const uint8_t *)(observations + (size_t)world * (size_t)frames->features);
}

/* Finds frame f of a row at t: the next frame of the previous row, an earlier one of this stack, or a new one. */
static int32_t find(const Frames *frames, int t, int world, int f, const uint8_t *shown) {
  const size_t bytes = frames->frame_bytes;
  const uint8_t *frame = shown + (size_t)f * bytes;
  if (t > 0 && f + 1 < frames->stack) {
    const int32_t before = row_at(frames, t - 1, world)[f + 1];
    if (memcmp(frame, frame_at(frames, before), bytes) == 0) return before;
  }
  for (int g = 0; g < f; g++)
    if (memcmp(frame, shown + (size_t)g * bytes, bytes) == 0) return NEW - 1 - g;
  return NEW;
}

/* Assigns pool indices to new frames, world by world, and grows the pool if needed. */
static void take(Frames *frames, int t, int first, int count) {
  for (int w = first; w < first + count; w++) {
    int32_t *row = row_at(frames, t, w);
    for (int f = 0; f < frames->stack; f++) {
      if (row[f] == NEW) row[f] = (int32_t)frames->used++;
      else if (row[f] < NEW) row[f] = row[NEW - 1 - row[f]];
    }
  }
  CORE_CHECK(frames->used < INT32_MAX);
  if (frames->used <= frames->capacity + frames->more_capacity) return;
  frames->more_capacity = (frames->used - frames->capacity) * 3 / 2;
  frames->more = core_memory_resize(frames->more, frames->more_capacity * frames->frame_bytes);
}

void frames_store(Frames *frames, int t, int first, int count, const float *observations) {
  const size_t bytes = frames->frame_bytes;

  if (t == 0 && first == 0) frames->used = 0;
  const int32_t old = (int32_t)frames->used;
#pragma omp parallel for schedule(static) if (count > 1)
  for (int w = first; w < first + count; w++) {
    const uint8_t *shown = shown_of(frames, observations, w);
    for (int f = 0; f < frames->stack; f++) row_at(frames, t, w)[f] = find(frames, t, w, f, shown);
  }

  take(frames, t, first, count);
#pragma omp parallel for schedule(static) if (count > 1)
  for (int w = first; w < first + count; w++) {
    const uint8_t *shown = shown_of(frames, observations, w);
    const int32_t *row = row_at(frames, t, w);
    for (int f = 0; f < frames->stack; f++)
      if (row[f] >= old) memcpy(frame_at(frames, row[f]), shown + (size_t)f * bytes, bytes);
  }
}

void frames_gather(const Frames *frames, const uint32_t *index, int rows, float *observations) {
  const size_t stack = (size_t)frames->stack, bytes = frames->frame_bytes;
  const size_t row_bytes = (size_t)frames->features * sizeof *observations;
#pragma omp parallel for schedule(static)
  for (int i = 0; i < rows; i++) {
    uint8_t *row = (uint8_t *)observations + (size_t)i * row_bytes;
    for (size_t f = 0; f < stack; f++)
      memcpy(row + f * bytes, frame_at(frames, frames->index[index[i] * stack + f]), bytes);
    memset(row + stack * bytes, 0, row_bytes - stack * bytes);
  }
}

void frames_destroy(Frames *frames) {
  free(frames->more);
  frames->more = NULL;
  frames->more_capacity = 0;
}
