/* Flat symbolic observation (docs/libsim.md#observations-by-index). Most of it is constant on a level and written once,
 * to a template. An observation is a copy of the template with the features of moving shapes. */
#ifndef SIM_OBSERVE_H
#define SIM_OBSERVE_H
#include "sim/task/observe_moving.h"

enum {
  SIM_OBSERVE_POLYGON = 26, SIM_OBSERVE_CIRCLE = 18, SIM_OBSERVE_JOINT = 22, SIM_OBSERVE_THRUSTER = 8, /* + one-hots */
  SIM_OBSERVE_MAX = 679,
};

/* Returns 26 (P-3) + 18 C + J (22 + 2 (P+C)) + T (8 + P + C) + 1. */
SIM_FN int sim_observe_length(SimSize size) {
  const int shapes = size.polygons + size.circles;
  return SIM_OBSERVE_POLYGON * (size.polygons - 3) + SIM_OBSERVE_CIRCLE * size.circles +
         size.joints * (SIM_OBSERVE_JOINT + 2 * shapes) + size.thrusters * (SIM_OBSERVE_THRUSTER + shapes) + 1;
}
/* Fills `row` (sim_observe_length) with the constant features of the level, clipped. */
void sim_observe_template(const SimLevel *level, float *row);

/* Returns the offset of shape k's features: slot 0, then polygons from 4, then circles; -1 for the other statics. */
SIM_FN int sim_observe_offset(SimSize size, int k) {
  if (k == 0) return 0;
  if (k < SIM_STATIC_POLYGONS) return -1;
  int polygons_before = (k < size.polygons ? k : size.polygons) - SIM_STATIC_POLYGONS + 1;
  int circles_before = k < size.polygons ? 0 : k - size.polygons;
  return polygons_before * SIM_OBSERVE_POLYGON + circles_before * SIM_OBSERVE_CIRCLE;
}

/* Writes a moving shape's features into its part of a row. */
SIM_FN void sim_observe_body(const SimBody *body, float *row) {
  real f[SIM_OBSERVE_MOVING];
  sim_observe_moving(body, f);
  row[SIM_COMPONENT_X] = f[0];
  row[SIM_COMPONENT_Y] = f[1];
  row[SIM_COMPONENT_VX] = f[2];
  row[SIM_COMPONENT_VY] = f[3];
  row[SIM_COMPONENT_SPIN] = f[4];
  row[SIM_COMPONENT_SINE] = f[5];
  row[SIM_COMPONENT_COSINE] = f[6];
}

/* Returns the source of feature k of an observation. */
SIM_FN SimObserved sim_observe_source(SimSize size, int k) {
  const int polygons = SIM_OBSERVE_POLYGON * (size.polygons - SIM_STATIC_POLYGONS + 1);
  const bool polygon = k < polygons;
  const int width = polygon ? SIM_OBSERVE_POLYGON : SIM_OBSERVE_CIRCLE, at = polygon ? k : k - polygons;
  const int number = at / width;
  const int shape = !polygon      ? size.polygons + number
                    : number == 0 ? 0
                                  : number + SIM_STATIC_POLYGONS - 1;
  const bool exists = shape < size.polygons + size.circles;
  return sim_observed_component(k, exists ? shape : 0, exists ? at % width : SIM_OBSERVE_POLYGON);
}

/* Sets used[i] = 1 for the features that sim_observe_body writes. */
static inline void sim_observe_mark_body(uint8_t *used) {
  static const uint8_t written[SIM_OBSERVE_MOVING] = {
    SIM_COMPONENT_X, SIM_COMPONENT_Y, SIM_COMPONENT_VX, SIM_COMPONENT_VY, SIM_COMPONENT_SPIN, SIM_COMPONENT_SINE,
    SIM_COMPONENT_COSINE};
  for (size_t i = 0; i < sizeof written; i++) used[written[i]] = 1;
}

/* Writes the observation of a world to row [length]. */
SIM_FN void sim_observe(const SimModel *model, const SimWorld *world, const float *template_row, int length,
                        float *row) {
  memcpy(row, template_row, (size_t)length * sizeof *row);
  for (int i = 0; i < model->moving_count; i++) {
    int offset = sim_observe_offset(model->size, model->moving[i]);
    if (offset >= 0) sim_observe_body(&world->body[model->moving[i]], row + offset);
  }
}

#endif
