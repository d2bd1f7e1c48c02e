/* Separates the features of a flat or entity observation that change during an episode from the constants of its level,
 * for users that store many observations (batch.h). */
#include <stdlib.h>

#include "core/memory.h"
#include "sim/batch/batch_internal.h"
#include "sim/batch/batch_world.h"
#include "sim/levels/generate_draw.h"
#include "sim/task/level_ready.h"

enum { MODEL_PAIRS = SIM_PAIR_KINDS - 1 }; /* kind whose end is that of the list */

/* Returns whether shape k moves on any level of the set. */
static bool moves_anywhere(const SimBatch *batch, int k) {
  for (int level = 0; level < batch->held_count; level++)
    if (k < batch->models[level].shapes && batch->models[level].moves[k]) return true;
  return false;
}

/* Returns whether the generator may make shape k move. Generated levels fill the first slots of each kind. */
static bool may_move(const SimBatch *batch, int k) {
  const SimSize drawn = batch->new_size;
  const bool polygon = k < batch->size.polygons;
  return polygon ? k >= SIM_STATIC_POLYGONS && k < drawn.polygons : k - batch->size.polygons < drawn.circles;
}

/* Returns whether a generated level may have shape k. */
static bool may_exist(const SimBatch *batch, int k) {
  const int polygons = batch->size.polygons;
  return k < polygons ? k < batch->new_size.polygons : k - polygons < batch->new_size.circles;
}

/* Marks the attention of pairs of shapes that may overlap, in the order in which models list a pair. */
static void mark_touching(const SimBatch *batch, const SimEntityLayout *layout, bool drawn, uint8_t *changes) {
  uint8_t *attention = changes + layout->attention;
  const int polygons = batch->size.polygons;

  if (drawn) {
    for (int i = 0; i < layout->shapes; i++)
      for (int k = i + 1; k < layout->shapes; k++) {
        const bool circle_first = i < polygons && k >= polygons;
        if (k < SIM_STATIC_POLYGONS || !may_exist(batch, i) || !may_exist(batch, k)) continue;
        attention[circle_first ? k * layout->shapes + i : i * layout->shapes + k] = SIM_FEATURE_TOUCHES;
      }
    return;
  }

  for (int level = 0; level < batch->held_count; level++) {
    const SimModel *model = &batch->models[level];
    for (int i = 0; i < model->pair_end[MODEL_PAIRS]; i++)
      attention[model->pair[i].a * layout->shapes + model->pair[i].b] = SIM_FEATURE_TOUCHES;
  }
}

int sim_batch_changing_features(const SimBatch *batch, bool drawn, uint8_t *changes) {
  const SimObservationKind kind = batch->options.observation;
  const SimEntityLayout layout = sim_entity_layout(batch->size);
  int count = 0;
  if (kind == SIM_OBSERVATION_PADDED) return 0;
  uint8_t *whole = core_memory_zero_allocate((size_t)batch->whole_length, sizeof *whole);
  for (int k = 0; k < layout.shapes; k++) {
    const int offset = kind == SIM_OBSERVATION_ENTITY ? sim_entity_row(&layout, k) : sim_observe_offset(batch->size, k);
    if (offset >= 0 && (drawn ? may_move(batch, k) : moves_anywhere(batch, k))) sim_observe_mark_body(whole + offset);
  }
  if (kind == SIM_OBSERVATION_ENTITY) mark_touching(batch, &layout, drawn, whole);
  for (int i = 0; i < batch->observation_length; i++)
    count += (changes[i] = whole[batch->features[i]]) != SIM_FEATURE_CONSTANT;
  free(whole);
  return count;
}

SimConstants sim_batch_constants(const SimBatch *batch) {
  if (batch->backend) return batch->backend->constants(batch);
  return (SimConstants){.rows = batch->templates, .length = (size_t)batch->whole_length, .features = batch->features,
                        .level = &batch->worlds->level, .stride = sizeof *batch->worlds,
                        .number = sim_batch_has_new_levels(batch) ? batch->numbers : NULL};
}

void sim_batch_regenerate_constants(const SimBatch *batch, const uint32_t *index, const int32_t *level, size_t rows,
                          size_t worlds, float *observations) {
  CORE_CHECK(batch->observation_length == batch->whole_length);

  if (batch->backend) {
    batch->backend->regenerate_constants(batch, index, level, rows, worlds, observations);
    return;
  }
#pragma omp parallel for schedule(dynamic, 64)
  for (size_t i = 0; i < rows; i++) {
    SimLevel again;
    if (level[index[i]] >= 0) continue;
    const uint64_t key =
      sim_world_level_key(batch->options.seed, batch->options.first_world + (uint32_t)(index[i] % worlds));
    sim_generate_draw(batch->new_size, key, (uint32_t)(-1 - level[index[i]]), &again);
    sim_level_grow(&again, batch->size);
    sim_ready_row(&again, batch->options.observation, observations + i * (size_t)batch->whole_length);
  }
}
