/* Batch with worlds on a device: its memory there, and the launches of its kernels (batch_kernels.h). The host keeps
 * the levels' constants, and a copy of the worlds for saved states and for reading single ones. */
#include "sim/device/batch_device.h"

#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "sim/batch/batch_internal.h"
#include "sim/device/batch_kernels.h"
#include "sim/device/kernels.h"
#include "sim/device/level_device_internal.h"
#include "sim/device/observe_kernels.h"

enum { WORLD_THREADS = 128, NUMBER_THREADS = 256, BLOCKS_MAX = 1 << 20, WARPS_WANTED = 8,
       WARPS_MIN = 4, FEW_WORLDS = 4 };

/* Launch parameters of an environment step. */
typedef struct StepLaunch {
  const CoreKernel *kernel;
  int worlds;              /* worlds per warp; 1: sim_step_alone */
  unsigned blocks;
  SimWarpLayout layout;
} StepLaunch;

typedef struct SimBatchDevice {
  CoreDevice *device;
  CoreArena *arena;
  SimWorld *worlds;        /* all of these on the device */
  SimModel *models;
  float *templates;
  int32_t *features, *level;
  SimObserved *observed;   /* [observation_length] */
  int64_t *nonfinite;
  int32_t *waiting;        /* [waiters] worlds that wait for a new level; NULL where no levels are new */
  int64_t *waiters;
  uint32_t *numbers;       /* as in SimBatch */
  SimLevelDevice *drawing; /* generator on the device; NULL: no levels are filtered or generated */
  bool keeps_levels;       /* whether all worlds keep their levels, so that none will wait */
  char *spill;             /* [blocks][spill_bytes]: overflow of the warps' shared memory */
  StepLaunch step;
} SimBatchDevice;

static SimBatchDevice *device_of(const SimBatch *batch) { return batch->remote; }

static SimDeviceBatch view(const SimBatch *batch) {
  const SimBatchDevice *d = device_of(batch);
  return (SimDeviceBatch){.worlds = d->worlds,
                          .models = d->models,
                          .templates = d->templates,
                          .observed = d->observed,
                          .nonfinite = d->nonfinite,
                          .waiting = d->waiting,
                          .waiters = d->waiters,
                          .numbers = d->numbers,
                          .count = batch->options.worlds,
                          .levels = batch->level_count,
                          .whole_length = batch->whole_length,
                          .observation_length = batch->observation_length,
                          .first_world = batch->options.first_world,
                          .seed = batch->options.seed,
                          .size = batch->size};
}

SimDeviceBatch sim_batch_device_view(const SimBatch *batch) { return view(batch); }
SimLevelDevice *sim_batch_device_levels(const SimBatch *batch) { return device_of(batch)->drawing; }
CoreDevice *sim_batch_device_of(const SimBatch *batch) { return device_of(batch)->device; }

SimDeviceLevelGenerator sim_batch_device_maker(const SimBatch *batch) {
  const SimReadyRules rules = {batch->options.observation, batch->whole_length, batch->options.pad_writes_zero};
  return (SimDeviceLevelGenerator){device_of(batch)->models, device_of(batch)->templates, batch->new_size, batch->size,
                                   rules};
}

/* Chooses the worlds per warp: as many as let a multiprocessor hold WARPS_WANTED warps, and down to FEW_WORLDS where
 * the device would have fewer than WARPS_MIN per multiprocessor (docs/cuda-measurements.md). For measurements
 * SIM_WARP_WORLDS in the environment sets it: alone (one thread per world), 2, 4, 8, 16 or 32. */
static int choose_worlds(const SimBatch *batch, const CoreDevice *device, size_t all, int *worlds) {
  static const char *const NAME[] = {"alone", "2", "4", "8", "16", "32"};
  const char *wanted = getenv("SIM_WARP_WORLDS");
  const size_t shared = device->shared_bytes, warps = WARPS_MIN * (size_t)device->processors;
  *worlds = SIM_WARP_LANES;
  while (*worlds > FEW_WORLDS && all / (size_t)*worlds < warps) *worlds /= 2;
  while (*worlds > 2 && shared / (sim_warp_fit(batch->size, *worlds, shared).bytes + SIM_WARP_RESERVED) < WARPS_WANTED)
    *worlds /= 2;
  if (!wanted || !*wanted) return CORE_OK;
  for (int i = 0; i < 6; i++) {
    if (strcmp(wanted, NAME[i]) != 0) continue;
    *worlds = 1 << i;
    return CORE_OK;
  }
  return core_error(CORE_USAGE, "SIM_WARP_WORLDS = '%s': expected alone, 2, 4, 8, 16 or 32", wanted);
}

/* Chooses the launch: no more warps than the device holds at once; each steps several sets of worlds. That bounds the
 * memory for contacts that do not fit into shared memory. */
static int choose_launch(const SimBatch *batch, CoreDevice *device, size_t worlds, const CoreKernel *warp_kernel,
                         StepLaunch *launch) {
  TRY(choose_worlds(batch, device, worlds, &launch->worlds));
  launch->kernel = &sim_step_alone_launch;
  launch->blocks = core_device_blocks(worlds, WORLD_THREADS, BLOCKS_MAX);
  if (launch->worlds == 1) return CORE_OK;
  launch->kernel = warp_kernel;
  launch->layout = sim_warp_fit(batch->size, launch->worlds, device->shared_bytes);
  const size_t fit = device->resident_blocks(device, warp_kernel, SIM_WARP_LANES, launch->layout.bytes);
  const size_t at_once = device->processors * fit * (size_t)launch->worlds;
  const size_t rounds = (worlds + at_once - 1) / at_once;
  launch->blocks = core_device_blocks(worlds, (unsigned)(rounds * (size_t)launch->worlds), BLOCKS_MAX);
  return CORE_OK;
}

size_t sim_device_contact_bytes(const SimBatch *batch, CoreDevice *device, size_t worlds) {
  StepLaunch launch;
  if (choose_launch(batch, device, worlds, &sim_step_warp_launch, &launch) != CORE_OK || launch.worlds == 1) return 0;
  return (size_t)launch.blocks * launch.layout.spill_bytes;
}

static void take_levels(SimBatch *batch, int first, int count) {
  const SimBatchDevice *d = device_of(batch);
  const size_t from = (size_t)first, n = (size_t)count, length = (size_t)batch->whole_length;
  core_device_to_device(d->device, d->models + from, batch->models + from, n * sizeof *d->models);
  core_device_to_device(d->device, d->templates + from * length, batch->templates + from * length,
                        n * length * sizeof *d->templates);
}

/* Returns the source of element i of an observation. */
static SimObserved place_of(const SimBatch *batch, int i) {
  const SimEntityLayout entities = sim_entity_layout(batch->size);
  switch (batch->options.observation) {
    case SIM_OBSERVATION_PADDED: return sim_padded_source(sim_padded_layout(batch->size), batch->size, i);
    case SIM_OBSERVATION_ENTITY: return sim_entity_source(&entities, i);
    default: return sim_observe_source(batch->size, batch->features[i]);
  }
}

/* Copies the features once the memory is allocated. */
static void put_features(const SimBatch *batch) {
  const SimBatchDevice *d = device_of(batch);
  const size_t n = (size_t)batch->observation_length;
  SimObserved *observed = core_memory_allocate(n * sizeof *observed);
  for (size_t i = 0; i < n; i++) observed[i] = place_of(batch, (int)i);
  core_device_to_device(d->device, d->features, batch->features, n * sizeof *batch->features);
  core_device_to_device(d->device, d->observed, observed, n * sizeof *observed);
  free(observed);
}

static int create(SimBatch *batch) {
  const size_t worlds = (size_t)batch->options.worlds, levels = (size_t)batch->level_count;
  const bool draws = sim_batch_has_new_levels(batch);
  const size_t slots = levels + (draws ? worlds : 0);

  SimBatchDevice *d = core_memory_zero_allocate(1, sizeof *d);
  batch->remote = d;
  d->device = batch->options.backend.device;
  TRY(choose_launch(batch, d->device, worlds, &sim_step_warp_launch, &d->step));

  d->arena = core_arena_create("simulator");
  core_arena_set_device(d->arena, d->device);
  CORE_ARENA_DEVICE(d->arena, d->worlds, worlds, "worlds [worlds]");
  CORE_ARENA_DEVICE(d->arena, d->models, slots, "level constants [slots]");
  CORE_ARENA_DEVICE(d->arena, d->templates, slots * (size_t)batch->whole_length,
                    "constant observations [slots][features]");
  if (draws) {
    CORE_ARENA_DEVICE(d->arena, d->waiting, worlds, "worlds that wait for a level [worlds]");
    CORE_ARENA_DEVICE(d->arena, d->waiters, 1, "how many worlds wait for a level");
    CORE_ARENA_DEVICE(d->arena, d->numbers, worlds, "numbers of new levels [worlds]");
  }

  CORE_ARENA_DEVICE(d->arena, d->features, (size_t)batch->observation_length, "features given [features]");
  CORE_ARENA_DEVICE(d->arena, d->observed, (size_t)batch->observation_length, "places of features given [features]");
  CORE_ARENA_DEVICE(d->arena, d->level, worlds, "levels to start on [worlds]");
  CORE_ARENA_DEVICE(d->arena, d->nonfinite, 1, "worlds that are not finite");
  if (d->step.worlds > 1)
    CORE_ARENA_DEVICE(d->arena, d->spill, (size_t)d->step.blocks * d->step.layout.spill_bytes,
                      "contacts beyond shared memory [blocks][bytes]");

  TRY(core_arena_commit(d->arena));
  put_features(batch);
  if (batch->options.drawn_slots == 0) take_levels(batch, 0, batch->held_count);
  return sim_level_device_create(batch, d->device, &d->drawing);
}

static void destroy(SimBatch *batch) {
  SimBatchDevice *d = device_of(batch);
  if (!d) return;
  sim_level_device_destroy(&d->drawing);
  core_arena_destroy(&d->arena);
  free(d);
  batch->remote = NULL;
}

static size_t bytes(const SimBatch *batch) {
  return core_arena_device_bytes(device_of(batch)->arena) + sim_level_device_bytes(device_of(batch)->drawing);
}

/* Observes worlds first .. first + count - 1. */
static void observe_part(const SimBatch *batch, int first, int count, float *observations) {
  CoreDevice *device = device_of(batch)->device;
  SimDeviceBatch part = view(batch);
  part.first = first;
  part.count = count;
  const SimDeviceObserve rows = {part, core_divisor((size_t)batch->observation_length), observations};
  const bool entities = batch->options.observation == SIM_OBSERVATION_ENTITY;
  const size_t numbers = (size_t)count * (size_t)batch->observation_length;
  const size_t threads = entities ? numbers : (numbers + SIM_OBSERVE_FOUR - 1) / SIM_OBSERVE_FOUR;
  if (observations == NULL) return;
  device->launch(device, entities ? &sim_observe_entities_launch : &sim_observe_rows_launch,
                 core_device_blocks(threads, NUMBER_THREADS, BLOCKS_MAX), NUMBER_THREADS, 0, &rows);
}

static void observe(const SimBatch *batch, float *observations) {
  observe_part(batch, 0, batch->options.worlds, observations);
}

static void reset(SimBatch *batch, const int32_t *level, float *observations) {
  SimBatchDevice *d = device_of(batch);
  const size_t worlds = (size_t)batch->options.worlds;
  const SimDeviceReset start = {view(batch), level ? d->level : NULL,
                                level != NULL || batch->options.reset == SIM_RESET_SAME};
  if (level) core_device_to_device(d->device, d->level, level, worlds * sizeof *level);
  sim_level_device_discard(batch);
  d->device->launch(d->device, &sim_reset_launch, core_device_blocks(worlds, WORLD_THREADS, BLOCKS_MAX), WORLD_THREADS,
                    0, &start);
  d->keeps_levels = level != NULL;
  if (level == NULL) sim_level_device_renew(batch, true, 0);
  observe(batch, observations);
}

static void step_worlds(const SimBatch *batch, int first, int count, const void *actions, const SimStepOut *out) {
  const SimBatchDevice *d = device_of(batch);
  SimDeviceStep step = {view(batch), batch->rules, batch->options.actions, batch->options.auto_reset, actions, *out};
  step.batch.first = first;
  step.batch.count = count;
  const SimDeviceWarpStep warp_step = {step, d->step.layout, d->spill};
  if (d->step.worlds == 1)
    d->device->launch(d->device, d->step.kernel, d->step.blocks, WORLD_THREADS, 0, &step);
  else
    d->device->launch(d->device, d->step.kernel, d->step.blocks, SIM_WARP_LANES, d->step.layout.bytes, &warp_step);
}

int sim_batch_device_slots(SimSize size, CoreDevice *device, SimDeviceSlots *slots) {
  const SimBatch some = {.size = size};
  StepLaunch launch = {0};
  TRY(choose_launch(&some, device, INT32_MAX, &sim_noop_warp_launch, &launch));
  slots->blocks = launch.worlds == 1 ? device->processors : launch.blocks;
  slots->each = launch.worlds == 1 ? WORLD_THREADS : (size_t)launch.worlds;
  slots->bytes = sizeof(SimWorld) + sizeof(SimModel) + (size_t)sim_observe_length(size) * sizeof(float) +
                  2 * sizeof(int32_t) + sizeof(uint32_t) + launch.layout.spill_bytes / slots->each;
  return CORE_OK;
}

void sim_batch_device_play_noop(const SimBatch *batch, const SimDeviceNoop *what, unsigned blocks) {
  const SimBatchDevice *d = device_of(batch);
  const bool alone = d->step.worlds == 1;
  SimDeviceNoop idle = *what;
  char *spill = alone ? NULL : d->spill + (size_t)idle.first * d->step.layout.spill_bytes;
  idle.warp = (SimDeviceWarpStep){{.batch = view(batch), .rules = batch->rules}, d->step.layout, spill};
  idle.maker = sim_batch_device_maker(batch);
  if (alone) d->device->launch(d->device, &sim_noop_alone_launch, blocks, WORLD_THREADS, 0, &idle);
  else d->device->launch(d->device, &sim_noop_warp_launch, blocks, SIM_WARP_LANES, d->step.layout.bytes, &idle);
}

static void synchronize(SimBatch *batch) { sim_level_device_synchronize(batch); }

static void step(SimBatch *batch, int first, int count, const void *actions, const SimStepOut *out) {
  step_worlds(batch, first, count, actions, out);
  if (!device_of(batch)->keeps_levels) sim_level_device_renew(batch, true, count);
  observe_part(batch, first, count, out->observations);
}

static SimConstants constants(const SimBatch *batch) {
  const SimBatchDevice *d = device_of(batch);
  return (SimConstants){.rows = d->templates, .length = (size_t)batch->whole_length, .features = d->features,
                        .level = &d->worlds->level, .stride = sizeof *d->worlds, .number = d->numbers};
}

static void regenerate_constants(const SimBatch *batch, const uint32_t *index, const int32_t *level, size_t rows,
                                 size_t worlds, float *observations) {
  CoreDevice *device = device_of(batch)->device;
  const SimDeviceRegenerateConstants a = {sim_batch_device_maker(batch),
                                batch->options.seed,
                                batch->options.first_world,
                                index,
                                level,
                                rows,
                                worlds,
                                observations};
  device->launch(device, &sim_regenerate_constants_launch, core_device_blocks(rows, WORLD_THREADS, BLOCKS_MAX),
                 WORLD_THREADS, 0, &a);
}

static int64_t nonfinite(const SimBatch *batch) {
  int64_t count;
  core_device_to_host(device_of(batch)->device, &count, device_of(batch)->nonfinite, sizeof count);
  return count;
}

static void fetch(const SimBatch *batch) {
  const SimBatchDevice *d = device_of(batch);
  core_device_to_host(d->device, batch->worlds, d->worlds, (size_t)batch->options.worlds * sizeof *d->worlds);
}

/* Generates the new levels of the worlds again after loading. They are not saved, since they depend on episode numbers
 * only. */
static void restore_levels(SimBatch *batch) {
  SimBatchDevice *d = device_of(batch);
  int32_t *waiting = core_memory_allocate((size_t)batch->options.worlds * sizeof *waiting);
  int64_t waiters = 0;
  d->keeps_levels = true;
  for (int w = 0; w < batch->options.worlds; w++) {
    if (batch->worlds[w].level >= batch->level_count) waiting[waiters++] = w;
    if (!batch->worlds[w].keeps_level) d->keeps_levels = false;
  }
  core_device_to_device(d->device, d->waiting, waiting, (size_t)waiters * sizeof *waiting);
  core_device_to_device(d->device, d->waiters, &waiters, sizeof waiters);
  free(waiting);
  sim_level_device_discard(batch);
  sim_level_device_renew(batch, false, 0);
}

static void put(SimBatch *batch) {
  const SimBatchDevice *d = device_of(batch);
  core_device_to_device(d->device, d->worlds, batch->worlds, (size_t)batch->options.worlds * sizeof *d->worlds);
  if (d->waiters) restore_levels(batch);
}

static const SimBackendTable table = {
    .create = create,
    .destroy = destroy,
    .reset = reset,
    .step = step,
    .synchronize = synchronize,
    .observe = observe,
    .constants = constants,
    .regenerate_constants = regenerate_constants,
    .nonfinite = nonfinite,
    .bytes = bytes,
    .take_levels = take_levels,
    .fetch = fetch,
    .put = put,
};

SimBackend sim_device_backend(CoreDevice *device) { return (SimBackend){device, device ? &table : NULL}; }
