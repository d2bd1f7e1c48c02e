/* A batch whose worlds are on a device: where its memory lies there, and which kernels a step is (batch_kernels.h). The
 * host keeps the levels' constants, and a copy of the worlds for saved states and for looking at single ones. */
#include <stdlib.h>

#include "sim/batch_internal.h"
#include "sim/batch_kernels.h"
#include "sim/kernels.h"

enum { WORLD_THREADS = 128, NUMBER_THREADS = 256, BLOCKS_MAX = 1 << 20 };

struct SimBatchDevice {
  CoreDevice *device;
  CoreArena *arena;
  SimWorld *worlds;        /* all of these on the device */
  SimModel *models;
  float *templates;
  int32_t *features, *level;
  int64_t *nonfinite;
};

static SimDeviceBatch view(const SimBatch *batch) {
  const SimBatchDevice *d = batch->device;
  return (SimDeviceBatch){
    .worlds = d->worlds, .models = d->models, .templates = d->templates, .features = d->features,
    .nonfinite = d->nonfinite, .count = batch->options.worlds, .levels = batch->level_count,
    .whole_length = batch->whole_length, .observation_length = batch->observation_length,
    .first_world = batch->options.first_world, .seed = batch->options.seed, .size = batch->size};
}

static int check(const SimBatch *batch) {
  if (sim_batch_has_new_levels(batch))
    return core_error(CORE_USAGE, "worlds on a device can not draw new levels yet: env.curriculum and env.levels = random "
                      "need train.device = cpu");
  if (batch->options.observation != SIM_OBSERVATION_FLAT)
    return core_error(CORE_USAGE, "worlds on a device show flat observations only so far; set env.observations = flat or "
                      "train.device = cpu");
  return CORE_OK;
}

int sim_batch_device_create(SimBatch *batch) {
  const size_t worlds = (size_t)batch->options.worlds, levels = (size_t)batch->level_count;
  TRY(check(batch));
  SimBatchDevice *d = core_memory_zero_allocate(1, sizeof *d);
  batch->device = d;
  d->device = batch->options.device;
  d->arena = core_arena_create("simulator");
  core_arena_set_device(d->arena, d->device);
  CORE_ARENA_DEVICE(d->arena, d->worlds, worlds, "worlds [worlds]");
  CORE_ARENA_DEVICE(d->arena, d->models, levels, "level constants [levels]");
  CORE_ARENA_DEVICE(d->arena, d->templates, levels * (size_t)batch->whole_length,
                    "constant observations [levels][features]");
  CORE_ARENA_DEVICE(d->arena, d->features, (size_t)batch->observation_length, "features given [features]");
  CORE_ARENA_DEVICE(d->arena, d->level, worlds, "levels to start on [worlds]");
  CORE_ARENA_DEVICE(d->arena, d->nonfinite, 1, "worlds that are not finite");
  TRY(core_arena_commit(d->arena));
  core_device_to_device(d->device, d->features, batch->features,
                        (size_t)batch->observation_length * sizeof *batch->features);
  sim_batch_device_take_levels(batch, 0, batch->level_count);
  return CORE_OK;
}

void sim_batch_device_destroy(SimBatch *batch) {
  if (!batch->device) return;
  core_arena_destroy(&batch->device->arena);
  free(batch->device);
  batch->device = NULL;
}

size_t sim_batch_device_bytes(const SimBatch *batch) { return core_arena_device_bytes(batch->device->arena); }

void sim_batch_device_take_levels(SimBatch *batch, int first, int count) {
  const SimBatchDevice *d = batch->device;
  const size_t from = (size_t)first, n = (size_t)count, length = (size_t)batch->whole_length;
  core_device_to_device(d->device, d->models + from, batch->models + from, n * sizeof *d->models);
  core_device_to_device(d->device, d->templates + from * length, batch->templates + from * length,
                        n * length * sizeof *d->templates);
}

void sim_batch_device_observe(const SimBatch *batch, float *observations) {
  const SimBatchDevice *d = batch->device;
  const SimDeviceObserve observe = {view(batch), observations};
  const size_t numbers = (size_t)batch->options.worlds * (size_t)batch->observation_length;
  if (observations == NULL) return;
  d->device->launch(d->device, &sim_observe_flat_launch, core_device_blocks(numbers, NUMBER_THREADS, BLOCKS_MAX),
                    NUMBER_THREADS, 0, &observe);
}

void sim_batch_device_reset(SimBatch *batch, const int32_t *level, float *observations) {
  const SimBatchDevice *d = batch->device;
  const size_t worlds = (size_t)batch->options.worlds;
  const SimDeviceReset reset = {view(batch), level ? d->level : NULL,
                                level != NULL || batch->options.reset == SIM_RESET_SAME};
  if (level) core_device_to_device(d->device, d->level, level, worlds * sizeof *level);
  d->device->launch(d->device, &sim_reset_launch, core_device_blocks(worlds, WORLD_THREADS, BLOCKS_MAX), WORLD_THREADS,
                    0, &reset);
  sim_batch_device_observe(batch, observations);
}

void sim_batch_device_step(SimBatch *batch, const void *actions, const SimStepOut *out) {
  const SimBatchDevice *d = batch->device;
  const SimDeviceStep step = {view(batch), batch->rules, batch->options.actions, batch->options.auto_reset, actions,
                              *out};
  const unsigned blocks = core_device_blocks((size_t)batch->options.worlds, WORLD_THREADS, BLOCKS_MAX);
  d->device->launch(d->device, &sim_step_alone_launch, blocks, WORLD_THREADS, 0, &step);
  sim_batch_device_observe(batch, out->observations);
}

const int32_t *sim_batch_device_level_numbers(const SimBatch *batch) { return &batch->device->worlds->level; }

int64_t sim_batch_device_nonfinite(const SimBatch *batch) {
  int64_t count;
  core_device_to_host(batch->device->device, &count, batch->device->nonfinite, sizeof count);
  return count;
}

void sim_batch_device_fetch(const SimBatch *batch) {
  const SimBatchDevice *d = batch->device;
  core_device_to_host(d->device, batch->worlds, d->worlds, (size_t)batch->options.worlds * sizeof *d->worlds);
}

void sim_batch_device_put(SimBatch *batch) {
  const SimBatchDevice *d = batch->device;
  core_device_to_device(d->device, d->worlds, batch->worlds, (size_t)batch->options.worlds * sizeof *d->worlds);
}
