/* The flat symbolic observation (spec kinetix.md 3.3). Most of it is constant on a level and is written once to a
 * template. An observation is a copy of the template with the features of moving shapes. */
#ifndef SIM_OBSERVE_H
#define SIM_OBSERVE_H
#include "sim/physics/model.h"

enum {
  SIM_OBSERVE_POLYGON = 26, SIM_OBSERVE_CIRCLE = 18, SIM_OBSERVE_JOINT = 22, SIM_OBSERVE_THRUSTER = 8, /* + one-hots */
  SIM_OBSERVE_MAX = 679,
};
#define SIM_OBSERVE_CLIP 10.0f

/* 26 (P-3) + 18 C + J (22 + 2 (P+C)) + T (8 + P + C) + 1. */
SIM_FN int sim_observe_length(SimSize size) {
  const int shapes = size.polygons + size.circles;
  return SIM_OBSERVE_POLYGON * (size.polygons - 3) + SIM_OBSERVE_CIRCLE * size.circles +
         size.joints * (SIM_OBSERVE_JOINT + 2 * shapes) + size.thrusters * (SIM_OBSERVE_THRUSTER + shapes) + 1;
}
/* Fills `row` (sim_observe_length) with everything that is constant on the level, clipped. */
void sim_observe_template(const SimLevel *level, float *row);

SIM_FN real sim_observe_clip(real x) {
  return real_select(real_is_nan(x), 0.0f, real_clip(x, -SIM_OBSERVE_CLIP, SIM_OBSERVE_CLIP));
}

/* Where shape k's features begin: slot 0, then polygons from 4, then circles; -1 for the other statics. */
SIM_FN int sim_observe_offset(SimSize size, int k) {
  if (k == 0) return 0;
  if (k < SIM_STATIC_POLYGONS) return -1;
  int polygons_before = (k < size.polygons ? k : size.polygons) - SIM_STATIC_POLYGONS + 1;
  int circles_before = k < size.polygons ? 0 : k - size.polygons;
  return polygons_before * SIM_OBSERVE_POLYGON + circles_before * SIM_OBSERVE_CIRCLE;
}

/* Feature `component` of a moving shape; `otherwise` where it is constant. */
SIM_FN real sim_observe_component(const SimBody *body, int component, real otherwise) {
  switch (component) {
    case 0: return sim_observe_clip(body->position.x);
    case 1: return sim_observe_clip(body->position.y);
    case 2: return sim_observe_clip(body->velocity.x);
    case 3: return sim_observe_clip(body->velocity.y);
    case 7: return sim_observe_clip(real_tanh(body->angular_velocity / 10.0f));
    case 12: return sim_observe_clip(body->sine);
    case 13: return sim_observe_clip(body->cosine);
    default: return otherwise;
  }
}

SIM_FN void sim_observe_body(const SimBody *body, float *row) {
  row[0] = sim_observe_component(body, 0, 0.0f);
  row[1] = sim_observe_component(body, 1, 0.0f);
  row[2] = sim_observe_component(body, 2, 0.0f);
  row[3] = sim_observe_component(body, 3, 0.0f);
  row[7] = sim_observe_component(body, 7, 0.0f);
  row[12] = sim_observe_component(body, 12, 0.0f);
  row[13] = sim_observe_component(body, 13, 0.0f);
}

/* Feature k of an observation, for a GPU with a thread per feature. */
SIM_FN real sim_observe_feature(const SimModel *model, const SimWorld *world, const float *template_row, int k) {
  const int polygons = SIM_OBSERVE_POLYGON * (model->size.polygons - SIM_STATIC_POLYGONS + 1);
  const bool polygon = k < polygons;
  const int width = polygon ? SIM_OBSERVE_POLYGON : SIM_OBSERVE_CIRCLE, at = polygon ? k : k - polygons;
  const int number = at / width;
  const int shape = !polygon ? model->size.polygons + number : number == 0 ? 0 : number + SIM_STATIC_POLYGONS - 1;
  if (shape >= model->shapes || !model->moves[shape]) return template_row[k];
  return sim_observe_component(&world->body[shape], at % width, template_row[k]);
}

/* Sets used[i] = 1 for the features that sim_observe_body writes. */
static inline void sim_observe_mark_body(uint8_t *used) {
  static const uint8_t written[] = {0, 1, 2, 3, 7, 12, 13};
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
