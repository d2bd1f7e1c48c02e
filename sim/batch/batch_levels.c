/* Levels of a batch: checks, models, replacement, observed features, and new levels of single worlds. batch_cpu.c
 * decides the level of an episode. */
#include <math.h>

#include "sim/batch/batch_internal.h"
#include "sim/batch/batch_world.h"
#include "sim/batch/filter.h"
#include "sim/levels/generate.h"
#include "sim/task/level_ready.h"

static bool same_size(SimSize a, SimSize b) { return memcmp(&a, &b, sizeof a) == 0; }

static int check_set(const SimLevelSet *set) {
  for (int i = 0; i < set->count; i++) {
    TRY(sim_level_check(&set->level[i]));
    if (!same_size(set->level[i].size, set->size))
      return core_error(CORE_USAGE, "level '%.63s': its size differs from the set's; expand it first",
                        set->level[i].name);
  }
  return CORE_OK;
}

/* Checks all that could make the draw of a new level fail during a step. */
static int check_new(const SimBatchOptions *options, SimSize size) {
  SimLevel probe;
  TRY(sim_generate_level(options->new_size.polygons > 0 ? options->new_size : size, 0, 0, &probe));
  return sim_level_expand(&probe, size);
}

int sim_batch_check_levels(const SimBatchOptions *options, const SimLevelSet *set) {
  const bool draws_new = options->reset >= SIM_RESET_NEW;
  if (set->count < (draws_new ? 0 : 1)) return core_error(CORE_USAGE, "the level set is empty");
  if (draws_new) TRY(check_new(options, set->size));
  return check_set(set);
}

static void take_level(SimBatch *batch, const SimLevel *level, int slot) {
  SimModel *model = &batch->models[slot];
  float *row = batch->templates + (size_t)slot * (size_t)batch->whole_length;
  const SimReadyRules rules = {batch->options.observation, batch->whole_length, batch->options.pad_writes_zero};
  sim_level_ready(level, &rules, model, row);
}

void sim_batch_set_levels(SimBatch *batch, int first, const SimLevelSet *set) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < set->count; i++) {
    batch->levels[first + i] = set->level[i];
    take_level(batch, &set->level[i], first + i);
  }
  for (int w = 0; w < sim_batch_planned(batch); w++) batch->plans[w].model = NULL;
}

/* ---- features ---------------------------------------------------------------------------------------------------- */

/* Marks the features that are nonzero in a level's template or that its moving bodies write. */
static void mark_features(SimSize size, const SimModel *model, const float *row, int length, uint8_t *used) {
  for (int k = 0; k < length; k++) used[k] |= row[k] != 0;
  for (int k = 0; k < model->moving_count; k++) {
    const int offset = sim_observe_offset(size, model->moving[k]);
    if (offset >= 0) sim_observe_mark_body(used + offset);
  }
}

static void mark_level(const SimLevel *level, int length, uint8_t *used) {
  float row[SIM_OBSERVE_MAX];
  SimModel model;
  sim_model_build(level, false, &model); /* without pads, which add no features */
  sim_observe_template(level, row);
  mark_features(level->size, &model, row, length, used);
}

void sim_batch_mark_features(const SimLevelSet *set, uint8_t *used) {
  for (int i = 0; i < set->count; i++) mark_level(&set->level[i], sim_observe_length(set->size), used);
}

/* Checks that the observed features include all of the level's. */
static int check_features(const SimBatch *batch, const SimLevel *level) {
  uint8_t used[SIM_OBSERVE_MAX] = {0};
  mark_level(level, batch->whole_length, used);
  for (int i = 0; i < batch->observation_length; i++) used[batch->features[i]] = 0;
  const uint8_t *left_out = memchr(used, 1, sizeof used);
  if (left_out == NULL) return CORE_OK;
  return core_error(CORE_USAGE, "level '%.63s': has feature %td, which this batch's observations omit; create it "
                    "without compact_observations and features", level->name, left_out - used);
}

/* Checks the features of the options and copies them; they must include all features of the copied levels. */
static int take_features(SimBatch *batch) {
  const SimBatchOptions *options = &batch->options;
  for (int i = 0; i < options->feature_count; i++) {
    const int feature = options->features[i];
    if (feature < 0 || feature >= batch->whole_length || (i > 0 && feature <= options->features[i - 1]))
      return core_error(CORE_USAGE, "feature %d at index %d: must ascend from 0 to %d", feature, i,
                        batch->whole_length - 1);
    batch->features[batch->observation_length++] = feature;
  }
  const bool is_whole = batch->observation_length == batch->whole_length;
  if (!is_whole && sim_batch_has_new_levels(batch))
    return core_error(CORE_USAGE, "new levels may have any feature; list all %d", batch->whole_length);
  if (!is_whole) {
    for (int i = 0; i < batch->held_count; i++) TRY(check_features(batch, &batch->levels[i]));
  }
  batch->options.features = NULL;
  return CORE_OK;
}

/* Chooses the features of the copied levels, where the options name none. */
static void choose_shown(SimBatch *batch) {
  uint8_t used[SIM_OBSERVE_MAX] = {0};
  const int length = batch->whole_length;
  const bool is_whole = !batch->options.compact_observations || sim_batch_has_new_levels(batch);
  if (!is_whole) {
    for (int i = 0; i < batch->held_count; i++)
      mark_features(batch->size, &batch->models[i], batch->templates + (size_t)i * (size_t)length, length, used);
  }
  for (int k = 0; k < length; k++)
    if (is_whole || used[k]) batch->features[batch->observation_length++] = k;
}

/* Fills in the index of each observed feature and the runs of adjacent ones. */
static void place_features(SimBatch *batch) {
  batch->run_count = 0;
  for (int i = 0; i < batch->observation_length; i++) {
    const int feature = batch->features[i];
    batch->given[feature] = i;
    if (i == 0 || batch->features[i - 1] != feature - 1)
      batch->runs[batch->run_count++] = (SimFeatureRun){feature, i, 0};
    batch->runs[batch->run_count - 1].length++;
  }
}

int sim_batch_choose_features(SimBatch *batch) {
  batch->observation_length = 0;
  if (batch->options.features) TRY(take_features(batch));
  else choose_shown(batch);
  place_features(batch);
  return CORE_OK;
}

int sim_batch_replace_levels(SimBatch *batch, const SimLevelSet *set) {
  if (set->count != batch->level_count || !same_size(set->size, batch->size))
    return core_error(CORE_USAGE, "%d levels cannot replace %d; numbers and sizes must agree", set->count,
                      batch->level_count);
  return sim_batch_replace_some(batch, 0, set);
}

int sim_batch_replace_some(SimBatch *batch, int first, const SimLevelSet *set) {
  CORE_CHECK(batch->options.drawn_slots == 0);
  if (first < 0 || set->count > batch->level_count - first || !same_size(set->size, batch->size))
    return core_error(CORE_USAGE, "%d levels from index %d on do not fit into a set of %d, or differ in size",
                      set->count, first, batch->level_count);
  TRY(check_set(set));
  if (batch->observation_length < batch->whole_length) {
    for (int i = 0; i < set->count; i++) TRY(check_features(batch, &set->level[i]));
  }
  sim_batch_set_levels(batch, first, set);
  if (batch->backend) batch->backend->take_levels(batch, first, set->count);
  return CORE_OK;
}

/* ---- new levels -------------------------------------------------------------------------------------------------- */

/* Draws from the world's endless sequence of levels, whose level `number` is sim_generate_level(seed of the world,
 * number). */
uint32_t sim_batch_draw_new(const SimBatch *batch, int w, SimLevel *level) {
  const uint32_t world = batch->options.first_world + (uint32_t)w, episode = batch->worlds[w].episode;
  const uint64_t seed = sim_world_level_key(batch->options.seed, world);
  uint32_t number = episode;
  if (batch->options.reset == SIM_RESET_NEW_FILTERED)
    number = sim_filter_draw(batch->new_size, seed, episode * SIM_FILTER_RATIO, level);
  else
    /* sizes were checked at creation */
    CORE_CHECK(sim_generate_level(batch->new_size, seed, number, level) == CORE_OK);
  CORE_CHECK(sim_level_expand(level, batch->size) == CORE_OK);
  return number;
}

int sim_batch_prepare_new(SimBatch *batch, int w) {
  SimLevel level;
  const int slot = batch->level_count + w;
  batch->numbers[w] = sim_batch_draw_new(batch, w, &level);
  take_level(batch, &level, slot);
  if (w < sim_batch_planned(batch)) batch->plans[w].model = NULL;
  return slot;
}
