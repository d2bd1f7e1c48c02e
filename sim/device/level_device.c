/* Drawing levels on a device: launches the kernels of level_kernels.h. The filter tests levels in the slots of a batch
 * of its own (noop_kernels.h). Worlds' new levels are filtered and drawn ahead, in a stream of their own. */
#include "core/device/arena.h"
#include "core/memory.h"
#include "sim/device/batch_device.h"
#include "sim/device/kernels.h"
#include "sim/device/level_device_internal.h"

enum { THREADS = 128, BLOCKS_MAX = 1 << 20 };
/* Candidates of a group that are tested first, which usually suffices; then the rest of groups that lack levels. */
enum { PLAYED_FIRST = SIM_GROUP_KEPT + 16, GROUPS_MAX = 128 };
/* Limits of the steps between two starts of the work in CORE_STREAM_AHEAD: of the filter, and without it. */
enum { AHEAD_STEPS_MIN = 16, AHEAD_STEPS_MAX = 64, DRAW_STEPS_MIN = 4, DRAW_STEPS_MAX = 32 };
/* DRAW_WARPS: warps per multiprocessor that draw levels; about as many as have registers. DRAWN_MAX, DEPTH_MAX:
 * levels drawn ahead, of all worlds and of one; at least one per world. */
enum { DRAW_WARPS = 8, DRAWN_MAX = 1 << 18, DEPTH_MAX = 4 };

struct SimLevelDevice {
  CoreDevice *device;
  CoreArena *arena;
  SimBatch *filter_batch;      /* its worlds are the slots in which levels are tested; NULL: none is filtered */
  SimDeviceSlots slots;
  size_t capacity, groups;         /* maximum tasks, and groups of a sequence, of a draw */
  SimCandidates tested;        /* [capacity] candidates of groups */
  int32_t *lacks;              /* [groups] */
  int64_t *lackers;
  SimDeviceGroups group;       /* its arrays */
  uint32_t *given;             /* [groups][SIM_GROUP_KEPT] numbers from the host */
  SimChoices choices;          /* arrays of the worlds' choices */
  SimDrawnLevels drawn;        /* arrays of levels drawn ahead */
  int64_t period;              /* environment steps of worlds between two starts of the work ahead */
  int64_t stepped;             /* environment steps of worlds since it was last started */
  bool busy;                   /* whether CORE_STREAM_AHEAD works on levels */
};

static size_t fewer(size_t a, size_t b) { return a < b ? a : b; }

static bool filters(const SimBatch *batch) { return batch->options.reset == SIM_RESET_NEW_FILTERED; }

/* Creates as many slots as worlds that the device steps at once: the number of tasks depends on episodes, not on
 * worlds. */
static int create_filter_batch(const SimBatch *batch, SimLevelDevice *levels) {
  SimBatchOptions options = sim_batch_options_default();
  const SimLevelSet none = {.size = batch->new_size};
  CORE_CHECK(levels->slots.blocks > 1); /* half of them are for choices ahead */
  options.worlds = (int)(levels->slots.blocks * levels->slots.each);
  options.auto_reset = false;  /* only the first end counts */
  options.reset = SIM_RESET_NEW;
  options.backend = sim_device_backend(levels->device);
  return sim_batch_create(&options, &none, &levels->filter_batch);
}

static void register_choices(CoreArena *arena, SimChoices *choices, size_t worlds) {
  CORE_ARENA_DEVICE(arena, choices->until, worlds, "episodes decided [worlds]");
  CORE_ARENA_DEVICE(arena, choices->late, worlds, "choices decided [worlds]");
  CORE_ARENA_DEVICE(arena, choices->ahead_world, worlds, "worlds to choose for [worlds]");
  CORE_ARENA_DEVICE(arena, choices->ahead_episode, worlds, "episodes to choose for [worlds]");
  CORE_ARENA_DEVICE(arena, choices->ahead_chosen, worlds * SIM_AHEAD_ROUND, "levels chosen [worlds][round]");
  CORE_ARENA_DEVICE(arena, choices->ahead_count, 1, "how many worlds choose levels ahead");
}

/* Returns the levels drawn ahead per world; 0 if worlds get new levels by resets only. */
static uint32_t drawn_depth(const SimBatch *batch, size_t worlds) {
  const size_t fit = DRAWN_MAX / worlds;
  if (!sim_batch_has_new_levels(batch) || !batch->options.auto_reset) return 0;
  return fit < 1 ? 1 : fit > DEPTH_MAX ? DEPTH_MAX : (uint32_t)fit;
}

size_t sim_level_device_drawn_bytes(const SimBatch *batch, size_t worlds) {
  return worlds * drawn_depth(batch, worlds) * (sizeof(SimLevel) + sizeof(uint32_t) + sizeof(SimDrawTask));
}

static void register_drawn(CoreArena *arena, SimDrawnLevels *drawn, size_t worlds) {
  const size_t levels = worlds * drawn->depth;
  CORE_ARENA_DEVICE(arena, drawn->level, levels, "levels drawn ahead [worlds][depth]");
  CORE_ARENA_DEVICE(arena, drawn->ready, levels, "episodes of levels drawn ahead [worlds][depth]");
  CORE_ARENA_DEVICE(arena, drawn->task, levels, "levels to draw ahead [worlds][depth]");
  CORE_ARENA_DEVICE(arena, drawn->tasks, 1, "how many levels to draw ahead");
  CORE_ARENA_DEVICE(arena, drawn->late, 1, "how many levels were drawn within a step");
}

static void register_memory(const SimBatch *batch, SimLevelDevice *l) {
  const size_t kept = l->groups * SIM_GROUP_KEPT, drawn = l->groups * SIM_GROUP_DRAWN;

  CORE_ARENA_DEVICE(l->arena, l->tested.key, l->capacity, "keys of levels to play [tasks]");
  CORE_ARENA_DEVICE(l->arena, l->tested.number, l->capacity, "numbers of levels to play [tasks]");
  CORE_ARENA_DEVICE(l->arena, l->tested.solved, l->capacity, "levels that solve themselves [tasks]");
  CORE_ARENA_DEVICE(l->arena, l->lacks, l->groups, "groups that lack levels [groups]");
  CORE_ARENA_DEVICE(l->arena, l->lackers, 1, "how many lack levels");
  CORE_ARENA_DEVICE(l->arena, l->group.good, l->groups, "levels found [groups]");
  CORE_ARENA_DEVICE(l->arena, l->group.time, drawn, "when levels come up [drawn]");
  CORE_ARENA_DEVICE(l->arena, l->group.played, drawn, "levels played [drawn]");
  CORE_ARENA_DEVICE(l->arena, l->group.chosen, drawn, "levels chosen [drawn]");
  CORE_ARENA_DEVICE(l->arena, l->group.order, drawn, "order of levels [drawn]");
  CORE_ARENA_DEVICE(l->arena, l->group.numbers, kept, "numbers of levels [kept]");
  CORE_ARENA_DEVICE(l->arena, l->given, kept, "numbers of levels again [kept]");

  if (filters(batch)) register_choices(l->arena, &l->choices, (size_t)batch->options.worlds);
  l->drawn.depth = drawn_depth(batch, (size_t)batch->options.worlds);
  if (l->drawn.depth > 0) register_drawn(l->arena, &l->drawn, (size_t)batch->options.worlds);
}

/* A choice plays at most two levels, one step after the other; drawing a level takes about a quarter of that. Where the
 * worlds fill the device many times in a step, few of their steps take as long; otherwise as many. */
static int64_t choose_period(const SimBatch *batch, size_t slots) {
  const int64_t worlds = batch->options.worlds, rounds = (worlds + (int64_t)slots - 1) / (int64_t)slots;
  const int64_t steps = (filters(batch) ? 2 * SIM_FILTER_STEPS : SIM_FILTER_STEPS / 2) / rounds;
  const int64_t least = filters(batch) ? AHEAD_STEPS_MIN : DRAW_STEPS_MIN;
  const int64_t most = filters(batch) ? AHEAD_STEPS_MAX : DRAW_STEPS_MAX;
  return worlds * (steps < least ? least : steps > most ? most : steps);
}

int sim_level_device_create(const SimBatch *batch, CoreDevice *device, SimLevelDevice **levels) {
  *levels = NULL;
  if (!sim_batch_has_new_levels(batch) && batch->options.drawn_slots == 0) return CORE_OK;
  SimLevelDevice *created = core_memory_zero_allocate(1, sizeof *created);
  *levels = created;
  created->device = device;
  created->arena = core_arena_create("random levels");
  core_arena_set_device(created->arena, device);
  /* One group more than the slots need, since a range may begin within a group. */
  const size_t groups = (size_t)batch->level_count / SIM_GROUP_KEPT + 2;
  created->groups = batch->options.drawn_slots > 0 ? fewer(groups, GROUPS_MAX) : 0;
  created->capacity = created->groups * PLAYED_FIRST;
  register_memory(batch, created);
  TRY(core_arena_commit(created->arena));
  TRY(sim_batch_device_slots(batch->new_size, device, &created->slots));
  if (filters(batch) || batch->options.drawn_slots > 0) TRY(create_filter_batch(batch, created));
  created->period = choose_period(batch, created->slots.blocks * created->slots.each);
  return CORE_OK;
}

void sim_level_device_destroy(SimLevelDevice **levels) {
  if (!*levels) return;
  if ((*levels)->busy) (*levels)->device->stream_wait((*levels)->device, CORE_STREAM_AHEAD);
  sim_batch_destroy(&(*levels)->filter_batch);
  core_arena_destroy(&(*levels)->arena);
  free(*levels);
  *levels = NULL;
}

size_t sim_level_device_bytes(const SimLevelDevice *levels) {
  if (!levels) return 0;
  return core_arena_device_bytes(levels->arena) + (levels->filter_batch ? sim_batch_bytes(levels->filter_batch) : 0);
}

size_t sim_level_device_stack_bytes(CoreDevice *device) {
  const CoreKernel *const kernels[] = {&sim_restore_launch, &sim_renew_launch, &sim_draw_ahead_launch,
                                       &sim_regenerate_constants_launch, &sim_noop_warp_launch};
  size_t most = 0;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    const size_t bytes = device->stack_bytes(device, kernels[i]);
    most = bytes > most ? bytes : most;
  }
  return most;
}

size_t sim_level_device_slot_bytes(SimSize drawn, CoreDevice *device) {
  SimDeviceSlots slots;
  if (sim_batch_device_slots(drawn, device, &slots) == CORE_OK) return slots.blocks * slots.each * slots.bytes;
  core_error_clear(); /* SIM_WARP_WORLDS is wrong; creating the batch reports it */
  return 0;
}

/* ---- shared by all draws ----------------------------------------------------------------------------------------- */

static void launch(CoreDevice *device, const CoreKernel *kernel, size_t n, const void *arguments) {
  device->launch(device, kernel, core_device_blocks(n, THREADS, BLOCKS_MAX), THREADS, 0, arguments);
}

/* Launches a kernel that draws up to n levels, a thread each (sim_spread). */
static void launch_draws(CoreDevice *device, const CoreKernel *kernel, size_t n, const void *arguments) {
  const unsigned blocks = core_device_blocks(n, 1, DRAW_WARPS * device->processors);
  device->launch(device, kernel, blocks, SIM_WARP_LANES, 0, arguments);
}

/* Runs tasks in `blocks` blocks of slots from `first` on. */
static void play(const SimLevelDevice *levels, SimNoopKind kind, const SimCandidates *tested, unsigned first,
                 unsigned blocks) {
  const SimDeviceNoop idle = {.kind = kind, .tested = *tested, .choices = levels->choices, .first = first};
  sim_batch_device_play_noop(levels->filter_batch, &idle, blocks);
}

static size_t fetch_count(CoreDevice *device, const int64_t *counter) {
  int64_t count;
  core_device_to_host(device, &count, counter, sizeof count);
  return (size_t)count;
}

/* ---- drawn slots: groups of a sequence --------------------------------------------------------------------------- */

/* Writes the numbers of the levels that the filter keeps of `groups` groups, from `base` on, to
 * levels->group.numbers. */
static void choose_groups(SimLevelDevice *levels, uint64_t key, uint32_t base, size_t groups) {
  CoreDevice *device = levels->device;
  SimDeviceGroups g = levels->group;
  g.tested = levels->tested;
  g.key = key;
  g.base = base;
  g.groups = groups;
  g.lacks = levels->lacks;
  g.lackers = levels->lackers;

  launch(device, &sim_group_times_launch, groups * SIM_GROUP_DRAWN, &g);
  launch(device, &sim_group_order_launch, groups * SIM_GROUP_DRAWN, &g);
  core_device_zero(device, levels->lackers, sizeof *levels->lackers);

  /* In the second round, only the groups that lack levels play their other candidates. */
  size_t playing = groups;
  for (int round = 0; round < 2 && playing > 0; round++) {
    g.first_rank = round == 0 ? 0 : PLAYED_FIRST;
    g.ranks = round == 0 ? PLAYED_FIRST : SIM_GROUP_DRAWN - PLAYED_FIRST;
    g.lacking = round == 0 ? NULL : levels->lacks;
    g.tested.count = playing * g.ranks;
    launch(device, &sim_group_candidates_launch, g.tested.count, &g);
    play(levels, SIM_NOOP_CANDIDATES, &g.tested, 0, levels->slots.blocks);
    launch(device, &sim_group_evaluate_launch, g.tested.count, &g);
    if (round > 0) break;
    launch(device, &sim_group_lacks_launch, groups, &g);
    playing = fetch_count(device, levels->lackers);
  }

  launch(device, &sim_group_choose_launch, groups * SIM_GROUP_DRAWN, &g);
  launch(device, &sim_group_number_launch, groups * SIM_GROUP_DRAWN, &g);
}

static void recall(const SimBatch *batch, uint64_t key, const uint32_t *numbers, size_t count, size_t slot) {
  const SimDeviceRecall a = {sim_batch_device_maker(batch), key, numbers, count, slot};
  launch_draws(sim_batch_device_of(batch), &sim_restore_launch, count, &a);
}

void sim_level_device_draw(SimBatch *batch, uint64_t key, int64_t first, int count, int slot, uint32_t *numbers) {
  SimLevelDevice *levels = sim_batch_device_levels(batch);
  const int64_t last = first + count, end = (last + SIM_GROUP_KEPT - 1) / SIM_GROUP_KEPT;
  CORE_CHECK(levels && first >= 0 && last <= SIM_STREAM_LEVELS && slot >= 0 && slot + count <= batch->level_count);
  for (int64_t group = first / SIM_GROUP_KEPT; group < end; group += (int64_t)levels->groups) {
    const size_t groups = fewer((size_t)(end - group), levels->groups);
    const int64_t begin = group * SIM_GROUP_KEPT, low = begin < first ? first : begin;
    const int64_t behind = begin + (int64_t)groups * SIM_GROUP_KEPT, high = behind < last ? behind : last;
    const uint32_t *chosen = levels->group.numbers + (low - begin);
    choose_groups(levels, key, (uint32_t)(group * SIM_GROUP_DRAWN), groups);
    recall(batch, key, chosen, (size_t)(high - low), (size_t)(slot + low - first));
    core_device_to_host(levels->device, numbers + (low - first), chosen, (size_t)(high - low) * sizeof *numbers);
  }
}

void sim_level_device_restore(SimBatch *batch, uint64_t key, const uint32_t *numbers, int count, int slot) {
  SimLevelDevice *levels = sim_batch_device_levels(batch);
  CORE_CHECK(levels && slot >= 0 && slot + count <= batch->level_count);
  const size_t all = (size_t)count, most = levels->groups * SIM_GROUP_KEPT;
  for (size_t begin = 0; begin < all; begin += most) {
    const size_t n = fewer(all - begin, most);
    core_device_to_device(levels->device, levels->given, numbers + begin, n * sizeof *numbers);
    recall(batch, key, levels->given, n, (size_t)slot + begin);
  }
}

/* ---- new levels of worlds ---------------------------------------------------------------------------------------- */

/* Choices ahead use half of the slots, choices that worlds wait for the others, since both may run at once. */
static unsigned half(const SimLevelDevice *levels) { return (levels->slots.blocks + 1) / 2; }

int64_t sim_level_device_late(const SimBatch *batch) {
  const SimLevelDevice *levels = sim_batch_device_levels(batch);
  return (int64_t)fetch_count(levels->device, levels->drawn.late);
}

static SimDeviceRenew renew_arguments(const SimBatch *batch, const SimLevelDevice *levels) {
  return (SimDeviceRenew){.choices = levels->choices, .maker = sim_batch_device_maker(batch), .drawn = levels->drawn};
}

/* Waits for the work in CORE_STREAM_AHEAD and stores its choices and levels. */
static void take_ahead(const SimBatch *batch, SimLevelDevice *levels) {
  const SimDeviceRenew renew = renew_arguments(batch, levels);
  if (!levels->busy) return;
  levels->device->stream_wait(levels->device, CORE_STREAM_AHEAD);
  launch(levels->device, &sim_publish_draws_launch, (size_t)batch->options.worlds, &renew);
  if (filters(batch)) launch(levels->device, &sim_choose_publish_launch, (size_t)batch->options.worlds,
                             &levels->choices);
  levels->busy = false;
}

/* Starts the filter on the episodes that worlds will play next, and then to draw their levels. */
static void go_ahead(const SimBatch *batch, SimLevelDevice *levels) {
  CoreDevice *device = levels->device;
  const size_t worlds = (size_t)batch->options.worlds;
  const SimDeviceRenew renew = renew_arguments(batch, levels);

  levels->stepped = 0;
  if (filters(batch)) {
    core_device_zero(device, levels->choices.ahead_count, sizeof *levels->choices.ahead_count);
    launch(device, &sim_choose_ahead_launch, worlds, &levels->choices);
  }
  core_device_zero(device, levels->drawn.tasks, sizeof *levels->drawn.tasks);
  launch(device, &sim_list_draws_launch, worlds, &renew);

  /* The draws overlap the steps of the worlds, on a stream of their own. */
  device->stream_push(device, CORE_STREAM_AHEAD);
  if (filters(batch))
    play(levels, SIM_NOOP_AHEAD, &levels->tested, half(levels), levels->slots.blocks - half(levels));
  launch_draws(device, &sim_draw_ahead_launch, worlds * levels->drawn.depth, &renew);
  device->stream_pop(device);

  levels->busy = true;
}

void sim_level_device_synchronize(const SimBatch *batch) {
  SimLevelDevice *levels = sim_batch_device_levels(batch);
  if (levels) take_ahead(batch, levels);
}

void sim_level_device_discard(const SimBatch *batch) {
  SimLevelDevice *levels = sim_batch_device_levels(batch);
  if (!levels) return;
  const size_t worlds = (size_t)batch->options.worlds, drawn = worlds * levels->drawn.depth;
  take_ahead(batch, levels);
  if (drawn > 0) core_device_zero(levels->device, levels->drawn.ready, drawn * sizeof *levels->drawn.ready);
  if (filters(batch))
    core_device_zero(levels->device, levels->choices.until, worlds * sizeof *levels->choices.until);
}

void sim_level_device_renew(const SimBatch *batch, bool start, int stepped) {
  CoreDevice *device = sim_batch_device_of(batch);
  SimLevelDevice *levels = sim_batch_device_levels(batch);
  const SimDeviceBatch view = sim_batch_device_view(batch);
  if (view.waiters == NULL) return;
  levels->choices.batch = view;
  levels->stepped += stepped;
  if (levels->stepped >= levels->period) take_ahead(batch, levels);
  if (filters(batch)) play(levels, SIM_NOOP_WAITING, &levels->tested, 0, half(levels)); /* few: most are made ahead */
  SimDeviceRenew renew = renew_arguments(batch, levels);
  renew.start = start;
  launch_draws(device, &sim_renew_launch, (size_t)batch->options.worlds, &renew);
  core_device_zero(device, view.waiters, sizeof *view.waiters);
  if (!levels->busy && levels->drawn.depth > 0) go_ahead(batch, levels);
}
