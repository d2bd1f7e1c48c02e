/* Entity and padded observations of a world, for the host: changing features, written into a copy of its level's
 * template. */
#include "sim/task/observe_entity.h"

void sim_observe_entity(const SimModel *model, const SimWorld *world, const float *template_row, float *row) {
  const SimEntityLayout layout = sim_entity_layout(model->size);
  float *attention = row + layout.attention;
  memcpy(row, template_row, (size_t)layout.length * sizeof *row);
  for (int i = 0; i < model->moving_count; i++)
    sim_entity_write_body(&world->body[model->moving[i]], row + sim_entity_row(&layout, model->moving[i]));
  for (int i = 0; i < model->pair_end[SIM_PAIR_KINDS - 1]; i++) {
    if (world->overlap_pairs[i / 32] >> i % 32 & 1)
      attention[model->pair[i].a * layout.shapes + model->pair[i].b] += SIM_ATTEND_TOUCHING;
  }
}

/* Returns the offset of shape k's row, -1 for slots 1..3. */
static int padded_offset(SimPaddedLayout layout, int k) {
  if (k == 0) return 0;
  return k < SIM_STATIC_POLYGONS ? -1 : (k - SIM_STATIC_POLYGONS + 1) * layout.width;
}

void sim_observe_padded(const SimModel *model, const SimWorld *world, const float *template_row, float *row) {
  const SimPaddedLayout layout = sim_padded_layout(model->size);
  memcpy(row, template_row, (size_t)layout.length * sizeof *row);
  for (int i = 0; i < model->moving_count; i++) {
    const int offset = padded_offset(layout, model->moving[i]);
    if (offset >= 0) sim_observe_body(&world->body[model->moving[i]], row + offset);
  }
}
