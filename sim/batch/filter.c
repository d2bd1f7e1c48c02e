/* No-op filter (filter.h): plays every drawn level without actions and keeps a weighted half of the levels. */
#include "sim/batch/filter.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "sim/batch/batch_internal.h"
#include "sim/batch/filter_key.h"
#include "sim/batch/level_stream.h"
#include "sim/levels/generate.h"
#include "sim/levels/level_set.h"
#include "sim/task/task.h"

/* ---- test of levels without actions ---------------------------------------------------------------------------- */

void sim_filter_play_noop(SimBatch *batch, uint8_t *solved) {
  static const uint8_t idle[SIM_FILTER_WORLDS_MAX * SIM_ACTIONS];
  float reward[SIM_FILTER_WORLDS_MAX];
  uint8_t done[SIM_FILTER_WORLDS_MAX], decided[SIM_FILTER_WORLDS_MAX] = {0};
  const int worlds = sim_batch_worlds(batch);
  CORE_CHECK(worlds <= SIM_FILTER_WORLDS_MAX);
  memset(solved, 0, (size_t)worlds);
  for (int step = 0; step < SIM_FILTER_STEPS; step++) {
    sim_batch_step(batch, idle, &(SimStepOut){.reward = reward, .done = done});
    for (int w = 0; w < worlds; w++) {
      if (done[w] && !decided[w]) solved[w] = reward[w] > SIM_FILTER_SOLVED_REWARD;
      decided[w] |= done[w];
    }
  }
}

static int play_set(const SimLevelSet *set, uint8_t *solved) {
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch = NULL;
  int32_t level[SIM_FILTER_WORLDS_MAX];
  options.worlds = set->count;
  options.auto_reset = false; /* only the first episode counts */
  TRY(sim_batch_create(&options, set, &batch));
  for (int w = 0; w < set->count; w++) level[w] = w;
  sim_batch_reset_to(batch, level, NULL);
  sim_filter_play_noop(batch, solved);
  sim_batch_destroy(&batch);
  return CORE_OK;
}

int sim_filter_noop(const SimLevelSet *set, uint8_t *solved) {
  for (int begin = 0; begin < set->count; begin += SIM_FILTER_WORLDS_MAX) {
    int left = set->count - begin, count = left < SIM_FILTER_WORLDS_MAX ? left : SIM_FILTER_WORLDS_MAX;
    TRY(play_set(&(SimLevelSet){set->level + begin, count, set->size}, solved + begin));
  }
  return CORE_OK;
}

/* ---- the weighted choice --------------------------------------------------------------------------------------- */

bool sim_filter_solves_itself(const SimLevel *level) {
  const SimBatchOptions options = sim_batch_options_default();
  const SimCommand idle = {0};
  const SimTaskRules rules = {options.frame_skip, options.max_steps, options.dense_reward};
  SimModel model;
  SimScratch scratch;
  SimWorld world = {.last_distance = -1.0f};
  sim_model_build(level, options.pad_writes_zero, &model);
  memcpy(world.body, model.start, sizeof world.body);
  for (int step = 0; step < SIM_FILTER_STEPS; step++) {
    const SimTaskResult result = sim_task_step(&rules, &model, &world, &idle, &scratch);
    if (result.done) return result.reward > SIM_FILTER_SOLVED_REWARD;
  }
  return false;
}

uint32_t sim_filter_draw(SimSize size, uint64_t seed, uint32_t first, SimLevel *level) {
  const SimFilterPair pair = sim_filter_pair(seed, first);
  CORE_CHECK(sim_generate_level(size, seed, pair.early, level) == CORE_OK);
  /* usual case: the late level cannot become the earlier one, since solving only delays it */
  if (!sim_filter_solves_itself(level)) return pair.early;
  const SimLevel solved = *level;
  CORE_CHECK(sim_generate_level(size, seed, pair.late, level) == CORE_OK);
  if (!sim_filter_keeps_early(seed, pair, sim_filter_solves_itself(level))) return pair.late;
  *level = solved;
  return pair.early;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Moves the `keep` levels with the earliest times to the front of `drawn`, in their order. */
static void choose(SimLevelSet *drawn, uint64_t seed, uint32_t first, const uint8_t *solved, int keep) {
  size_t count = (size_t)drawn->count;
  double *time = core_memory_allocate(2 * count * sizeof *time), *sorted = time + count;
  for (size_t i = 0; i < count; i++) time[i] = sim_filter_key(seed, first + (uint32_t)i, solved[i]);
  memcpy(sorted, time, count * sizeof *time);
  qsort(sorted, count, sizeof *sorted, by_value);
  double last = sorted[keep - 1];
  drawn->count = 0;
  for (size_t i = 0; i < count && drawn->count < keep; i++)
    if (time[i] <= last) drawn->level[drawn->count++] = drawn->level[i];
  free(time);
}

/* ---- sets ------------------------------------------------------------------------------------------------------ */

static int allocate_levels(SimSize size, int64_t count, SimLevelSet *set) {
  SimLevel probe;
  *set = (SimLevelSet){.size = size};
  if (count < 1) return core_error(CORE_USAGE, "random levels: %lld; must be at least 1", (long long)count);
  TRY(sim_generate_level(size, 0, 0, &probe)); /* after this check only a lack of memory can fail */
  set->level = calloc((size_t)count, sizeof *set->level);
  if (!set->level)
    return core_error(CORE_FAIL, "random levels: no memory for %lld of them (%zu bytes each); use fewer",
                      (long long)count, sizeof *set->level);
  return CORE_OK;
}

/* Draws 2 * keep levels into the set's memory and moves the chosen ones to its front. */
static int draw_filtered(SimLevelSet *set, uint64_t seed, uint32_t first, int keep) {
  int count = SIM_FILTER_RATIO * keep;
  uint8_t *solved = core_memory_allocate((size_t)count);
#pragma omp parallel for schedule(dynamic, 16)
  for (int i = 0; i < count; i++) sim_generate_level(set->size, seed, first + (uint32_t)i, &set->level[i]);
  set->count = count;
  int code = sim_filter_noop(set, solved);
  if (code == CORE_OK) choose(set, seed, first, solved, keep);
  free(solved);
  return code;
}

int sim_generate_filtered(SimSize size, uint64_t seed, uint32_t first, int count, SimLevelSet *set) {
  int64_t drawn = (int64_t)SIM_FILTER_RATIO * count;
  *set = (SimLevelSet){0};
  if (first + drawn - 1 > UINT32_MAX || drawn > INT32_MAX)
    return core_error(CORE_USAGE, "random levels: %d from number %u go beyond 32 bits", count, first);
  TRY(allocate_levels(size, drawn, set));
  int code = draw_filtered(set, seed, first, count);
  if (code != CORE_OK) sim_level_set_free(set);
  return code;
}

int sim_generate_set(SimSize size, int count, SimLevelSet *set) {
  SimLevelStream *stream = NULL;
  TRY(allocate_levels(size, count, set));
  int code = sim_level_stream_create(size, &stream);
  if (code == CORE_OK) sim_level_stream_draw(stream, 0, 0, count, set->level, NULL);
  set->count = count;
  sim_level_stream_destroy(&stream);
  if (code != CORE_OK) sim_level_set_free(set);
  return code;
}
