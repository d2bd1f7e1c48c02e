/* Kernels of a batch on a device: reset, step. They use the CPU's functions (batch_world.h, task.h) and warp_step.h.
 * Listed in kernels.def; launched by batch_device.c. State and results are in device memory. */
#ifndef SIM_BATCH_KERNELS_H
#define SIM_BATCH_KERNELS_H
#include "core/device/device_kernel.h"
#include "sim/batch/batch_world.h"
#include "sim/device/warp_step.h"

/* Batch arguments. Arrays by world have all worlds; a launch covers worlds first .. first + count - 1. */
typedef struct SimDeviceBatch {
  SimWorld *worlds;            /* [worlds] */
  const SimModel *models;      /* [levels] */
  const float *templates;      /* [levels][whole_length] */
  const SimObserved *observed; /* [observation_length]: source of each element (observe_kernels.h) */
  int64_t *nonfinite;
  int32_t *waiting;            /* [waiters]: worlds that wait for a new level (level_kernels.h) */
  int64_t *waiters;            /* their number; NULL: all levels belong to the set */
  uint32_t *numbers;           /* [worlds]: of new levels, the number in the world's sequence */
  int first, count, levels, whole_length, observation_length;
  uint32_t first_world;
  uint64_t seed;
  SimSize size;
} SimDeviceBatch;

typedef struct SimDeviceStep {
  SimDeviceBatch batch;
  SimTaskRules rules;
  SimActionSpace space;
  int auto_reset;
  const void *actions;
  SimStepOut out;
} SimDeviceStep;

typedef struct SimDeviceWarpStep {
  SimDeviceStep step;
  SimWarpLayout layout;
  char *spill;            /* [blocks][layout.spill_bytes] */
} SimDeviceWarpStep;

typedef struct SimDeviceReset {
  SimDeviceBatch batch;
  const int32_t *level;        /* [worlds]; NULL: sampled */
  int keeps_level;
} SimDeviceReset;

SIM_FN int sim_device_draw_level(const SimDeviceBatch *batch, size_t w) {
  return sim_world_draw_level(batch->seed, batch->first_world + (uint32_t)w, batch->worlds[w].episode, batch->levels);
}

/* Starts the world's next episode on a level of the set, or lists the world as waiting for a new level. */
CORE_KERNEL_FN void sim_device_begin(const SimDeviceBatch *batch, size_t w) {
  SimWorld *world = &batch->worlds[w];
  if (batch->waiters) {
    batch->waiting[core_device_atomic_increment(batch->waiters)] = (int32_t)w;
    return;
  }
  const int level = sim_device_draw_level(batch, w);
  sim_world_start(world, &batch->models[level], level);
}

/* Ends an environment step: writes results, and starts the next episode where one ended. */
CORE_KERNEL_FN void sim_device_finish(const SimDeviceStep *step, size_t w, const SimTaskResult *result) {
  const SimDeviceBatch *batch = &step->batch;
  SimWorld *world = &batch->worlds[w];
  sim_world_report(world, result, batch->levels, w, &step->out);
  if (result->nonfinite) core_device_atomic_add(batch->nonfinite, 1);
  if (!result->done || !step->auto_reset) return;
  world->episode++;
  if (world->keeps_level) sim_world_start(world, &batch->models[world->level], world->level);
  else sim_device_begin(batch, w);
}

/* Runs an environment step, one thread per world: the oracle of sim_step_warp. */
CORE_KERNEL_FN void sim_step_alone(const CoreDeviceThread *at, const SimDeviceStep *step) {
  const SimDeviceBatch *batch = &step->batch;
  SimScratch scratch;
  for (size_t i = core_device_first(at); i < (size_t)batch->count; i += core_device_stride(at)) {
    const size_t w = (size_t)batch->first + i;
    SimWorld *world = &batch->worlds[w];
    const SimCommand command = sim_task_command(step->space, step->actions, w);
    const SimTaskResult result = sim_task_step(&step->rules, &batch->models[world->level], world, &command, &scratch);
    sim_device_finish(step, w, &result);
  }
}

/* Runs an environment step of the warp's worlds, after their owners have set model, state and command. Returns the
 * result of the owner's world. */
CORE_KERNEL_FN SimTaskResult sim_device_play_step(SimWarp *t, const SimTaskRules *rules) {
  const bool owns = sim_warp_owns(t);
  const SimWarpWorld *world = &t->world[owns ? t->lane : 0];
  SimTaskResult result = {0};
  sim_warp_begin(t);
  for (int k = 0; k < rules->frame_skip; k++) {
    const int bits = sim_warp_step(t);
    if (owns) sim_task_score(world->model, sim_warp_bodies(t, t->lane), bits, &result);
  }
  const bool nonfinite = sim_warp_end_steps(t);
  if (owns) sim_task_end_step(rules, nonfinite, world->state, &result);
  return result;
}

/* Runs an environment step with warps of several worlds each; a block is one warp. A world's owner lane does everything
 * except physics. */
CORE_KERNEL_FN void sim_step_warp(const CoreDeviceThread *at, const SimDeviceWarpStep *arguments) {
  const SimDeviceStep *step = &arguments->step;
  SimWarp t = sim_warp_of(at, &arguments->layout, arguments->spill);
  const size_t worlds = (size_t)arguments->layout.worlds, count = (size_t)step->batch.count;

  for (size_t first = at->block * worlds; first < count; first += at->blocks * worlds) {
    const size_t w = (size_t)step->batch.first + first + t.lane;
    t.count = (unsigned)(count - first < worlds ? count - first : worlds);
    if (sim_warp_owns(&t)) {
      SimWarpWorld *world = &t.world[t.lane];
      world->state = &step->batch.worlds[w];
      world->model = &step->batch.models[world->state->level];
      world->command = sim_task_command(step->space, step->actions, w);
    }

    const SimTaskResult result = sim_device_play_step(&t, &step->rules);
    if (sim_warp_owns(&t)) sim_device_finish(step, w, &result);
  }
}

CORE_KERNEL_FN void sim_reset(const CoreDeviceThread *at, const SimDeviceReset *reset) {
  const SimDeviceBatch *batch = &reset->batch;
  for (size_t i = core_device_first(at); i < (size_t)batch->count; i += core_device_stride(at)) {
    const size_t w = (size_t)batch->first + i;
    SimWorld *world = &batch->worlds[w];
    world->episode = 0;
    world->keeps_level = reset->keeps_level;
    if (reset->level) sim_world_start(world, &batch->models[reset->level[w]], reset->level[w]);
    else sim_device_begin(batch, w);
  }
}

#endif
