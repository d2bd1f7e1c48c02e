/* Drawing levels on a device: which kernels (level_kernels.h) a draw is. Candidates of the filter are the worlds of a
 * batch of their own, which is stepped as any other; the host only hears how many are still lacking. */
#include "sim/level_device_internal.h"

#include "sim/kernels.h"

enum { THREADS = 128, BLOCKS_MAX = 1 << 20 };
/* Of a group, so many play first, which is mostly all that it takes; then the rest of those that lack levels. */
enum { PLAYED_FIRST = SIM_GROUP_KEPT + 16, GROUPS_MAX = 128, CANDIDATES_MAX = GROUPS_MAX * PLAYED_FIRST };

struct SimLevelDevice {
  CoreDevice *device;
  CoreArena *arena;
  SimBatch *candidates;        /* `room` worlds */
  size_t room, groups;         /* groups of a sequence that are drawn at a time */
  SimCast cast;                /* of all of them */
  uint8_t *idle;               /* [room] actions */
  int32_t *lacks;              /* [room] */
  int64_t *lackers;
  uint32_t *choice;            /* [worlds] */
  SimDeviceGroups group;       /* its arrays */
  uint32_t *given;             /* [groups][SIM_GROUP_KEPT] numbers from the host */
};

static size_t fewer(size_t a, size_t b) { return a < b ? a : b; }

/* A group more than the places fill, since ranges need not begin with a group. */
static void choose_room(const SimBatch *batch, SimLevelDevice *levels) {
  const bool filters = batch->options.reset == SIM_RESET_NEW_FILTERED;
  const size_t groups = (size_t)batch->level_count / SIM_GROUP_KEPT + 2;
  levels->groups = batch->options.drawn_levels ? fewer(groups, GROUPS_MAX) : 0;
  levels->room = levels->groups * PLAYED_FIRST;
  if (filters && levels->room == 0) levels->room = fewer((size_t)batch->options.worlds, CANDIDATES_MAX);
}

static int create_candidates(const SimBatch *batch, SimLevelDevice *levels) {
  SimBatchOptions options = sim_batch_options_default();
  const SimLevelSet none = {.size = batch->new_size};
  options.worlds = (int)levels->room;
  options.auto_reset = false;  /* only the first end counts */
  options.reset = SIM_RESET_NEW;
  options.device = levels->device;
  return sim_batch_create(&options, &none, &levels->candidates);
}

static void register_memory(const SimBatch *batch, SimLevelDevice *l) {
  const size_t room = l->room, kept = l->groups * SIM_GROUP_KEPT, drawn = l->groups * SIM_GROUP_DRAWN;
  const bool filters = batch->options.reset == SIM_RESET_NEW_FILTERED;
  CORE_ARENA_DEVICE(l->arena, l->cast.key, room, "candidates' keys [candidates]");
  CORE_ARENA_DEVICE(l->arena, l->cast.number, room, "candidates' numbers [candidates]");
  CORE_ARENA_DEVICE(l->arena, l->cast.decided, room, "candidates decided [candidates]");
  CORE_ARENA_DEVICE(l->arena, l->cast.solved, room, "candidates that solve themselves [candidates]");
  CORE_ARENA_DEVICE(l->arena, l->cast.done, room, "candidates done [candidates]");
  CORE_ARENA_DEVICE(l->arena, l->cast.reward, room, "candidates' rewards [candidates]");
  CORE_ARENA_DEVICE(l->arena, l->idle, room * SIM_ACTIONS, "idle actions [candidates][bindings]");
  CORE_ARENA_DEVICE(l->arena, l->lacks, room, "who lacks levels [candidates]");
  CORE_ARENA_DEVICE(l->arena, l->lackers, 1, "how many lack levels");
  CORE_ARENA_DEVICE(l->arena, l->choice, filters ? (size_t)batch->options.worlds : 0, "numbers chosen [worlds]");
  CORE_ARENA_DEVICE(l->arena, l->group.good, l->groups, "levels found [groups]");
  CORE_ARENA_DEVICE(l->arena, l->group.time, drawn, "when levels come up [drawn]");
  CORE_ARENA_DEVICE(l->arena, l->group.played, drawn, "levels played [drawn]");
  CORE_ARENA_DEVICE(l->arena, l->group.chosen, drawn, "levels chosen [drawn]");
  CORE_ARENA_DEVICE(l->arena, l->group.order, drawn, "order of levels [drawn]");
  CORE_ARENA_DEVICE(l->arena, l->group.numbers, kept, "numbers of levels [kept]");
  CORE_ARENA_DEVICE(l->arena, l->given, kept, "numbers of levels again [kept]");
}

int sim_level_device_create(const SimBatch *batch, CoreDevice *device, SimLevelDevice **levels) {
  const bool filters = batch->options.reset == SIM_RESET_NEW_FILTERED;
  *levels = NULL;
  if (!filters && !batch->options.drawn_levels) return CORE_OK;
  SimLevelDevice *made = core_memory_zero_allocate(1, sizeof *made);
  *levels = made;
  made->device = device;
  made->arena = core_arena_create("random levels");
  core_arena_set_device(made->arena, device);
  choose_room(batch, made);
  register_memory(batch, made);
  TRY(core_arena_commit(made->arena));
  TRY(create_candidates(batch, made));
  made->cast.batch = sim_batch_device_view(made->candidates);
  made->cast.maker = sim_batch_device_maker(made->candidates);
  return CORE_OK;
}

void sim_level_device_destroy(SimLevelDevice **levels) {
  if (!*levels) return;
  sim_batch_destroy(&(*levels)->candidates);
  core_arena_destroy(&(*levels)->arena);
  free(*levels);
  *levels = NULL;
}

size_t sim_level_device_bytes(const SimLevelDevice *levels) {
  return levels ? core_arena_device_bytes(levels->arena) + sim_batch_bytes(levels->candidates) : 0;
}

size_t sim_level_device_stack_bytes(CoreDevice *device) {
  const CoreKernel *const kernels[] = {&sim_recall_launch, &sim_cast_launch, &sim_renew_launch, &sim_show_again_launch};
  size_t most = 0;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    const size_t bytes = device->stack_bytes(device, kernels[i]);
    most = bytes > most ? bytes : most;
  }
  return most;
}

/* ---- what draws have in common ------------------------------------------------------------------------------------- */

static void launch(CoreDevice *device, const CoreKernel *kernel, size_t n, const void *arguments) {
  device->launch(device, kernel, core_device_blocks(n, THREADS, BLOCKS_MAX), THREADS, 0, arguments);
}

/* Draws the first `count` candidates, whose keys and numbers are set, and plays them with idle hands. */
static void play(const SimLevelDevice *levels, size_t count) {
  const SimStepOut out = {.reward = levels->cast.reward, .done = levels->cast.done};
  SimCast cast = levels->cast;
  cast.count = count;
  launch(levels->device, &sim_cast_launch, count, &cast);
  for (int step = 0; step < SIM_FILTER_STEPS; step++) {
    sim_batch_device_step_some(levels->candidates, 0, (int)count, levels->idle, &out);
    launch(levels->device, &sim_cast_note_launch, count, &cast);
  }
}

static size_t fetch_count(CoreDevice *device, const int64_t *counter) {
  int64_t count;
  core_device_to_host(device, &count, counter, sizeof count);
  return (size_t)count;
}

/* ---- places: groups of a sequence ---------------------------------------------------------------------------------- */

/* Which levels `groups` groups from number base on keep: into levels->group.numbers. */
static void choose_groups(SimLevelDevice *levels, uint64_t key, uint32_t base, size_t groups) {
  CoreDevice *device = levels->device;
  SimDeviceGroups g = levels->group;
  g.cast = levels->cast;
  g.key = key;
  g.base = base;
  g.groups = groups;
  g.lacks = levels->lacks;
  g.lackers = levels->lackers;
  launch(device, &sim_group_times_launch, groups * SIM_GROUP_DRAWN, &g);
  launch(device, &sim_group_order_launch, groups * SIM_GROUP_DRAWN, &g);
  core_device_zero(device, levels->lackers, sizeof *levels->lackers);
  size_t playing = groups;
  for (int round = 0; round < 2 && playing > 0; round++) {
    g.first_rank = round == 0 ? 0 : PLAYED_FIRST;
    g.ranks = round == 0 ? PLAYED_FIRST : SIM_GROUP_DRAWN - PLAYED_FIRST;
    g.lacking = round == 0 ? NULL : levels->lacks;
    g.cast.count = playing * g.ranks;
    launch(device, &sim_group_cast_launch, g.cast.count, &g);
    play(levels, g.cast.count);
    launch(device, &sim_group_judge_launch, g.cast.count, &g);
    if (round > 0) break;
    launch(device, &sim_group_lacks_launch, groups, &g);
    playing = fetch_count(device, levels->lackers);
  }
  launch(device, &sim_group_choose_launch, groups * SIM_GROUP_DRAWN, &g);
  launch(device, &sim_group_number_launch, groups * SIM_GROUP_DRAWN, &g);
}

static void recall(const SimBatch *batch, uint64_t key, const uint32_t *numbers, size_t count, size_t place) {
  const SimDeviceRecall a = {sim_batch_device_maker(batch), key, numbers, count, place};
  launch(sim_batch_device_of(batch), &sim_recall_launch, count, &a);
}

void sim_level_device_draw(SimBatch *batch, uint64_t key, int64_t first, int count, int place, uint32_t *numbers) {
  SimLevelDevice *levels = sim_batch_device_levels(batch);
  const int64_t last = first + count, end = (last + SIM_GROUP_KEPT - 1) / SIM_GROUP_KEPT;
  CORE_CHECK(levels && first >= 0 && last <= SIM_STREAM_LEVELS && place >= 0 && place + count <= batch->level_count);
  for (int64_t group = first / SIM_GROUP_KEPT; group < end; group += (int64_t)levels->groups) {
    const size_t groups = fewer((size_t)(end - group), levels->groups);
    const int64_t begin = group * SIM_GROUP_KEPT, low = begin < first ? first : begin;
    const int64_t behind = begin + (int64_t)groups * SIM_GROUP_KEPT, high = behind < last ? behind : last;
    const uint32_t *chosen = levels->group.numbers + (low - begin);
    choose_groups(levels, key, (uint32_t)(group * SIM_GROUP_DRAWN), groups);
    recall(batch, key, chosen, (size_t)(high - low), (size_t)(place + low - first));
    core_device_to_host(levels->device, numbers + (low - first), chosen, (size_t)(high - low) * sizeof *numbers);
  }
}

void sim_level_device_recall(SimBatch *batch, uint64_t key, const uint32_t *numbers, int count, int place) {
  SimLevelDevice *levels = sim_batch_device_levels(batch);
  CORE_CHECK(levels && place >= 0 && place + count <= batch->level_count);
  const size_t all = (size_t)count, most = levels->groups * SIM_GROUP_KEPT;
  for (size_t begin = 0; begin < all; begin += most) {
    const size_t n = fewer(all - begin, most);
    core_device_to_device(levels->device, levels->given, numbers + begin, n * sizeof *numbers);
    recall(batch, key, levels->given, n, (size_t)place + begin);
  }
}

/* ---- new levels of worlds ------------------------------------------------------------------------------------------- */

/* Of waiting worlds begin .. begin + count - 1: which of its two levels each gets. */
static void choose_new(const SimLevelDevice *levels, SimDeviceRenew *renew, size_t count) {
  renew->cast = levels->cast;
  renew->cast.count = count;
  renew->lackers = levels->lackers;
  core_device_zero(levels->device, levels->lackers, sizeof *levels->lackers);
  launch(levels->device, &sim_renew_cast_launch, count, renew);
  play(levels, count);
  renew->lacks = levels->lacks;
  launch(levels->device, &sim_renew_judge_first_launch, count, renew);
  renew->cast.count = fetch_count(levels->device, levels->lackers);
  if (renew->cast.count == 0) return;
  launch(levels->device, &sim_renew_cast_launch, renew->cast.count, renew);
  play(levels, renew->cast.count);
  launch(levels->device, &sim_renew_judge_second_launch, renew->cast.count, renew);
}

static void renew_filtered(const SimLevelDevice *levels, SimDeviceRenew renew) {
  const size_t waiting = fetch_count(levels->device, renew.batch.waiters);
  renew.choice = levels->choice;
  for (; renew.begin < waiting; renew.begin += levels->room) {
    renew.count = fewer(waiting - renew.begin, levels->room);
    renew.lacks = NULL;
    choose_new(levels, &renew, renew.count);
    launch(levels->device, &sim_renew_launch, renew.count, &renew);
  }
}

void sim_level_device_renew(const SimBatch *batch, bool start) {
  CoreDevice *device = sim_batch_device_of(batch);
  const SimDeviceRenew renew = {.batch = sim_batch_device_view(batch), .maker = sim_batch_device_maker(batch),
                                .start = start};
  if (renew.batch.waiters == NULL) return;
  if (batch->options.reset == SIM_RESET_NEW_FILTERED) renew_filtered(sim_batch_device_levels(batch), renew);
  else launch(device, &sim_renew_launch, (size_t)batch->options.worlds, &renew);
  core_device_zero(device, renew.batch.waiters, sizeof *renew.batch.waiters);
}
