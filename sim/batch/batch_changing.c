/* Separates the features of a flat observation that change during an episode from the constants of its level, for users
 * that store many observations (batch.h). */
#include "sim/batch/batch_internal.h"
#include "sim/batch/batch_world.h"
#include "sim/levels/generate_draw.h"
#include "sim/task/observe_template.h"

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

int sim_batch_changing_features(const SimBatch *batch, bool drawn, uint8_t *changes) {
  uint8_t whole[SIM_OBSERVE_MAX] = {0};
  int count = 0;
  if (batch->options.observation != SIM_OBSERVATION_FLAT) return 0;
  for (int k = 0; k < batch->size.polygons + batch->size.circles; k++) {
    const int offset = sim_observe_offset(batch->size, k);
    if (offset >= 0 && (drawn ? may_move(batch, k) : moves_anywhere(batch, k))) sim_observe_mark_body(whole + offset);
  }
  for (int i = 0; i < batch->observation_length; i++) count += changes[i] = whole[batch->features[i]];
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
  CORE_CHECK(batch->options.observation == SIM_OBSERVATION_FLAT && batch->observation_length == batch->whole_length);
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
    sim_observe_make_template(&again, observations + i * (size_t)batch->whole_length);
  }
}
