/* Parts of a step of one world that the host (batch_cpu.c) and the GPU kernels (batch_kernels.h) share: the level of an
 * episode, its start, and the outputs of a step. */
#ifndef SIM_BATCH_WORLD_H
#define SIM_BATCH_WORLD_H
#include "core/random.h"
#include "sim/batch/batch.h"
#include "sim/task/observe.h"
#include "sim/task/task.h"

/* Returns the index in the set of an episode's level. number: global number of the world. */
SIM_FN int sim_world_draw_level(uint64_t seed, uint32_t number, uint32_t episode, int levels) {
  const CoreRandom4 words = core_random_4(seed, CORE_RANDOM_RESET, number, episode, 0);
  return (int)core_random_below(words.v[0], (uint32_t)levels);
}

/* Returns the key of the endless sequence of new levels of the world with this global number. */
SIM_FN uint64_t sim_world_level_key(uint64_t seed, uint32_t number) {
  const CoreRandom4 words = core_random_4(seed, CORE_RANDOM_RESET, number, 0, 1);
  return (uint64_t)words.v[0] << 32 | words.v[1];
}

/* Puts the world at the start of `level`; its episode number and keeps_level are kept. */
SIM_FN void sim_world_start(SimWorld *world, const SimModel *model, int level) {
  const uint32_t episode = world->episode;
  const int32_t keeps_level = world->keeps_level;
  memset(world, 0, sizeof *world);
  memcpy(world->body, model->start, sizeof world->body);
  world->last_distance = -1.0f;
  world->level = level;
  world->episode = episode;
  world->keeps_level = keeps_level;
}

/* Writes the outputs of the step of world w, except its observation. */
SIM_FN void sim_world_report(const SimWorld *world, const SimTaskResult *result, int levels, size_t w,
                             const SimStepOut *out) {
  if (out->reward) out->reward[w] = result->reward;
  if (out->done) out->done[w] = result->done;
  if (out->solved) out->solved[w] = result->done && result->solved;
  if (out->level) out->level[w] = world->level < levels ? world->level : -1;
  if (out->episode_steps) out->episode_steps[w] = world->timestep;
}

#endif
