/* What of a flat observation changes on a level and what is the level's: for who keeps many observations (batch.h). */
#include "sim/batch_internal.h"

/* Does shape k move on any of the set's levels? */
static bool moves_anywhere(const SimBatch *batch, int k) {
  for (int level = 0; level < batch->level_count; level++)
    if (k < batch->models[level].shapes && batch->models[level].moves[k]) return true;
  return false;
}

int sim_batch_changing_features(const SimBatch *batch, uint8_t *changes) {
  uint8_t whole[SIM_OBSERVE_MAX] = {0};
  int count = 0;
  if (batch->options.observation != SIM_OBSERVATION_FLAT || sim_batch_has_new_levels(batch)) return 0;
  for (int k = 0; k < batch->size.polygons + batch->size.circles; k++) {
    const int offset = sim_observe_offset(batch->size, k);
    if (offset >= 0 && moves_anywhere(batch, k)) sim_observe_mark_body(whole + offset);
  }
  for (int i = 0; i < batch->observation_length; i++) count += changes[i] = whole[batch->features[i]];
  return count;
}

void sim_batch_constant_features(const SimBatch *batch, float *rows) {
  for (int level = 0; level < batch->level_count; level++)
    for (int i = 0; i < batch->observation_length; i++)
      rows[(size_t)level * (size_t)batch->observation_length + (size_t)i] =
        batch->templates[(size_t)level * (size_t)batch->whole_length + (size_t)batch->features[i]];
}

const int32_t *sim_batch_level_numbers(const SimBatch *batch, size_t *stride) {
  *stride = sizeof *batch->worlds;
  return batch->device ? sim_batch_device_level_numbers(batch) : &batch->worlds->level;
}
