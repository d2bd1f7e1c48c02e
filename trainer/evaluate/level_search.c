/* Playing the levels of a search, batch by batch, and offering each to the buffer. */
#include "trainer/evaluate/level_search.h"

#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "trainer/ranks/ranks.h"
#include "trainer/rollout/rollout.h"

static const double SOLVED_BONUS = 0.001;

static double solve_rate(int64_t solved, int64_t episodes) {
  return episodes > 0 ? (double)solved / (double)episodes : 0;
}

double level_search_score(int64_t solved, int64_t episodes) {
  double p = solve_rate(solved, episodes);
  return p * (1 - p) + SOLVED_BONUS * p;
}

/* Returns how many batches are played at once: with several ranks as many as they are, or the largest divisor of
 * sfl.num_batches below, so that a rank plays about sfl.batch_size levels at a time, and on a device up to
 * CORE_CONFIG_SEARCHED_LEVELS. Levels and actions depend on the levels' numbers only. One with comm.deterministic,
 * where the rows of a matrix product must not depend on the ranks. */
static int batches_at_once(const CoreConfig *config, const Shards *shards, bool on_device) {
  const int64_t of_device = CORE_CONFIG_SEARCHED_LEVELS / config->sfl.batch_size;
  const int64_t of_rank = on_device && of_device > 1 ? of_device : 1;
  int64_t multiple = shards->ordered ? 1 : of_rank * shards->global_shards;
  if (multiple > config->sfl.num_batches) multiple = config->sfl.num_batches;
  while (config->sfl.num_batches % multiple != 0) multiple--;
  return (int)multiple;
}

void level_search_register(LevelSearch *search, const CoreConfig *config, const Env *levels, const Shards *shards,
                           CoreArena *arena) {
  const int multiple = batches_at_once(config, shards, core_arena_device(arena) != NULL);
  *search = (LevelSearch){
    .at_once = multiple * (int)config->sfl.batch_size, .batches = (int)config->sfl.num_batches / multiple,
    .steps = (int)config->sfl.rollout_steps, .episodes_max = (int32_t)config->sfl.max_episodes, .shards = *shards,
  };

  search->first = shards_first_of(shards, search->at_once, 0);
  search->own = shards_first_of(shards, search->at_once, shards->shards) - search->first;
  const size_t own = (size_t)search->own;
  eval_rollout_register(&search->eval_rollout, config, levels, search->own, arena);

  CORE_ARENA(arena, search->part_end, (size_t)shards->shards, "search parts [shards]");
  CORE_ARENA(arena, search->slot, own, "search slots [levels]");
  CORE_ARENA(arena, search->numbers, own, "search numbers [levels]");
  CORE_ARENA_DEVICE(arena, search->own_episodes, own, "search episodes [levels]");
  CORE_ARENA_DEVICE(arena, search->own_solutions, own, "search solutions [levels]");
  CORE_ARENA_DEVICE(arena, search->clock, 1, "search's first step and level");
  CORE_ARENA(arena, search->episodes, 3 * (size_t)search->at_once, "search episodes, solutions, numbers [3][levels]");
}

int level_search_create(LevelSearch *search, const Env *levels, uint64_t seed, CoreDevice *device) {
  search->device = device;
  search->solutions = search->episodes + search->at_once;
  search->all_numbers = search->solutions + search->at_once;
  for (int s = 0; s < search->shards.shards; s++)
    search->part_end[s] = shards_first_of(&search->shards, search->at_once, s + 1) - search->first;
  eval_rollout_divide(&search->eval_rollout, search->part_end, search->shards.shards);
  for (int w = 0; w < search->own; w++) search->slot[w] = w;
  const EnvBatch batch = {.worlds = search->own, .seed = seed, .device = device};
  return search->own > 0 ? levels->generator->create_slots(levels, &batch, search->own, &search->env) : CORE_OK;
}

static void forget_graph(LevelSearch *search) {
  if (search->graph) search->device->destroy_graph(search->device, search->graph);
  search->graph = NULL;
}

void level_search_destroy(LevelSearch *search) {
  forget_graph(search);
  env_destroy(&search->env);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Steps of a batch's levels; `step` and `world` are those of the search. */
typedef struct Steps {
  const EvalPlayer *player;
  uint64_t seed, step;
  uint32_t world;
} Steps;

static void play_step(LevelSearch *search, const Steps *steps, const EvalKey *key) {
  Ops *ops = steps->player->ops;
  eval_rollout_step(&search->eval_rollout, search->env, steps->player, key);
  ops->count_trials(ops, search->eval_rollout.now.dones, search->eval_rollout.now.solved, search->own,
                    search->episodes_max, search->own_episodes, search->own_solutions);
}

/* Plays all steps on the host's command, checking for a stop before each. */
static int play_steps(LevelSearch *search, const Steps *steps) {
  for (int t = 0; t < search->steps; t++) {
    TRY(ranks_check_stop());
    const uint64_t step = steps->step + (uint64_t)t;
    const EvalKey key = {.seed = steps->seed ^ (step & 0xffffffff00000000u), /* as in a rollout: seeds have 32 bits */
                         .purpose = CORE_RANDOM_SEARCH, .first_world = steps->world, .step = (uint32_t)step};
    play_step(search, steps, &key);
  }
  return CORE_OK;
}

/* Launches the kernels of `count` steps from *clock on. */
static void launch_steps(LevelSearch *search, const Steps *steps, int count) {
  EvalKey key = {.seed = steps->seed, .purpose = CORE_RANDOM_SEARCH, .clock = search->clock};
  for (int t = 0; t < count; t++) {
    key.step = (uint32_t)t;
    play_step(search, steps, &key);
  }
}

/* Sets the steps of a graph: the largest divisor of all steps of which a graph has at most ROLLOUT_GRAPH_NODES_MAX
 * kernels. */
static void set_piece(LevelSearch *search, uint64_t launches_per_step) {
  search->piece = search->steps;
  while (search->piece > 1 && (search->steps % search->piece != 0 ||
                               (uint64_t)search->piece * launches_per_step > ROLLOUT_GRAPH_NODES_MAX))
    search->piece--;
}

/* Plays all steps on a device: the first step of the first batch kernel by kernel, which counts the launches, then the
 * others; later batches as graphs, between which it checks for a stop. */
static int play_queued(LevelSearch *search, const Steps *steps) {
  CoreDevice *device = search->device;
  const int piece = search->piece > 0 ? search->piece : 1;
  const uint64_t before = device->launches;
  if (search->epsilon != steps->player->agent->epsilon) forget_graph(search);
  search->epsilon = steps->player->agent->epsilon;

  for (int t = 0; t < search->steps; t += piece) {
    const OpsClock clock = {steps->step + (uint64_t)t, steps->world};
    TRY(ranks_check_stop());
    core_device_to_device(device, search->clock, &clock, sizeof clock);
    if (search->piece == 0) {
      launch_steps(search, steps, 1);
      continue;
    }
    env_synchronize(search->env); /* work started by a reset is not part of the graph */
    if (search->graph == NULL) {
      device->begin_capture(device);
      launch_steps(search, steps, piece);
      env_synchronize(search->env);
      search->graph = device->end_capture(device);
    }
    device->launch_graph(device, search->graph);
  }

  if (search->piece == 0) set_piece(search, (device->launches - before) / (uint64_t)search->steps + 1);
  return CORE_OK;
}

/* Plays this rank's part of levels first .. first + at_once - 1 of the search, each repeatedly from its start. */
static int play(LevelSearch *search, const EvalPlayer *player, uint64_t seed, uint64_t key, int64_t iteration,
                uint32_t first) {
  Env *env = search->env;
  Ops *ops = player->ops;
  const size_t bytes = (size_t)search->own * sizeof *search->own_episodes;
  const uint32_t begin = first + (uint32_t)search->first;
  env->generator->generate(env, key, LEVEL_SEARCH_FIRST + (int64_t)begin, search->own, 0, search->numbers);
  for (int w = 0; w < search->own; w++) search->all_numbers[search->first + w] = search->numbers[w];
  env->levels->reset_to(env, search->slot, search->eval_rollout.raw);

  eval_rollout_begin(&search->eval_rollout, ops->device);
  core_device_zero(ops->device, search->own_episodes, bytes);
  core_device_zero(ops->device, search->own_solutions, bytes);
  const Steps steps = {player, seed, (uint64_t)iteration * (uint64_t)search->steps, begin};
  const bool is_recordable = search->device && !env_is_hosted(search->env) && !search->device->times;
  TRY(is_recordable ? play_queued(search, &steps) : play_steps(search, &steps));

  core_device_to_host(ops->device, search->episodes + search->first, search->own_episodes, bytes);
  core_device_to_host(ops->device, search->solutions + search->first, search->own_solutions, bytes);
  return CORE_OK;
}

/* Plays a batch and exchanges the results: each rank counts its own levels and leaves the others at 0. */
static int play_batch(LevelSearch *search, const EvalPlayer *player, uint64_t seed, uint64_t key, int64_t iteration,
                      uint32_t first) {
  const size_t total = 3 * (size_t)search->at_once;
  memset(search->episodes, 0, total * sizeof *search->episodes);
  TRY(ranks_agree(search->env ? play(search, player, seed, key, iteration, first) : CORE_OK));
  ranks_sum_counts(search->episodes, total);
  return CORE_OK;
}

static void offer(const LevelSearch *search, uint32_t first, LevelBuffer *buffer, LevelSearchSummary *summary) {
  for (int w = 0; w < search->at_once; w++) {
    double p = solve_rate(search->solutions[w], search->episodes[w]);
    summary->levels++;
    summary->solve_rate += p;
    summary->learnability += p * (1 - p);
    level_buffer_offer(buffer, (LevelBufferEntry){
      .score = level_search_score(search->solutions[w], search->episodes[w]), .solve_rate = p,
      .index = first + (uint32_t)w, .number = (uint32_t)search->all_numbers[w],
    });
  }
}

/* Plays all batches. An interruption leaves the buffer partly filled. */
static int fill(LevelSearch *search, const EvalPlayer *player, uint64_t seed, uint64_t key, int64_t iteration,
                LevelBuffer *buffer, LevelSearchSummary *summary) {
  level_buffer_clear(buffer);
  for (int batch = 0; batch < search->batches; batch++) {
    uint32_t first = (uint32_t)batch * (uint32_t)search->at_once;
    TRY(play_batch(search, player, seed, key, iteration, first));
    offer(search, first, buffer, summary);
  }
  return CORE_OK;
}

int level_search_run(LevelSearch *search, const EvalPlayer *player, uint64_t seed, uint64_t key, int64_t iteration,
                     LevelBuffer *buffer, LevelSearchSummary *summary) {
  const int count = buffer->count;
  const size_t bytes = (size_t)buffer->capacity * sizeof *buffer->entry;
  LevelBufferEntry *before = core_memory_allocate(bytes);
  memcpy(before, buffer->entry, bytes);
  *summary = (LevelSearchSummary){0};

  const int code = fill(search, player, seed, key, iteration, buffer, summary);
  if (code != CORE_OK) {
    buffer->count = count;
    memcpy(buffer->entry, before, bytes);
  }
  free(before);
  TRY(code);

  level_buffer_close(buffer);
  for (int i = 0; i < buffer->count; i++) {
    double p = buffer->entry[i].solve_rate;
    summary->found += p * (1 - p) / buffer->count;
  }
  summary->solve_rate /= (double)summary->levels;
  summary->learnability /= (double)summary->levels;
  return CORE_OK;
}

/* ---- the buffer -------------------------------------------------------------------------------------------------- */

void level_buffer_register(LevelBuffer *buffer, int capacity, CoreArena *arena) {
  *buffer = (LevelBuffer){.capacity = capacity};
  CORE_ARENA(arena, buffer->entry, (size_t)capacity, "level buffer [levels]");
}

void level_buffer_clear(LevelBuffer *buffer) { buffer->count = 0; }

static int compare(const void *a, const void *b) {
  const LevelBufferEntry *x = a, *y = b;
  if (x->score != y->score) return x->score < y->score ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

static void swap(LevelBufferEntry *a, LevelBufferEntry *b) {
  LevelBufferEntry kept = *a;
  *a = *b;
  *b = kept;
}

static void sift_up(LevelBufferEntry *entry, int i) {
  for (int parent = (i - 1) / 2; i > 0 && compare(&entry[i], &entry[parent]) < 0; i = parent, parent = (i - 1) / 2)
    swap(&entry[i], &entry[parent]);
}

static void sift_down(LevelBufferEntry *entry, int count) {
  for (int i = 0, child = 1; child < count; child = 2 * i + 1) {
    if (child + 1 < count && compare(&entry[child + 1], &entry[child]) < 0) child++;
    if (compare(&entry[i], &entry[child]) <= 0) return;
    swap(&entry[i], &entry[child]);
    i = child;
  }
}

void level_buffer_offer(LevelBuffer *buffer, LevelBufferEntry entry) {
  if (buffer->count < buffer->capacity) {
    buffer->entry[buffer->count] = entry;
    sift_up(buffer->entry, buffer->count++);
  } else if (compare(&entry, &buffer->entry[0]) > 0) {
    buffer->entry[0] = entry;
    sift_down(buffer->entry, buffer->count);
  }
}

void level_buffer_close(LevelBuffer *buffer) {
  qsort(buffer->entry, (size_t)buffer->count, sizeof *buffer->entry, compare);
}
