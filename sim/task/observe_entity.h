/* Observations by entity: padded and entity ones (observe_layout.h). Like a flat one, an observation is a copy of the
 * level's template with the features of moving shapes. */
#ifndef SIM_OBSERVE_ENTITY_H
#define SIM_OBSERVE_ENTITY_H
#include "sim/task/observe.h"
#include "sim/task/observe_layout.h"

/* Returns the layout of padded matrices. */
enum { SIM_PADDED_KINDS = 4, SIM_PADDED_EXTRA = SIM_PADDED_KINDS + 1 };

SIM_FN SimPaddedLayout sim_padded_layout(SimSize size) {
  const int shapes = size.polygons + size.circles;
  int widest = SIM_OBSERVE_POLYGON;
  if (size.joints > 0 && SIM_OBSERVE_JOINT + 2 * shapes > widest) widest = SIM_OBSERVE_JOINT + 2 * shapes;
  if (size.thrusters > 0 && SIM_OBSERVE_THRUSTER + shapes > widest) widest = SIM_OBSERVE_THRUSTER + shapes;
  SimPaddedLayout layout = {.rows = shapes - SIM_STATIC_POLYGONS + 1 + size.joints + size.thrusters,
                            .width = widest + SIM_PADDED_EXTRA};
  layout.length = layout.rows * layout.width;
  return layout;
}

/* Returns the offset of shape k's features. */
SIM_FN int sim_entity_row(const SimEntityLayout *l, int k) {
  return k < l->size.polygons ? l->polygons + k * SIM_ENTITY_POLYGON
                              : l->circles + (k - l->size.polygons) * SIM_ENTITY_CIRCLE;
}

/* Writes a world's observation to row [length]. For entity observations the model must list all pairs
 * (level_ready.h). */
void sim_observe_entity(const SimModel *model, const SimWorld *world, const float *template_row, float *row);
void sim_observe_padded(const SimModel *model, const SimWorld *world, const float *template_row, float *row);

/* Returns feature `component` of a moving shape; `otherwise` where it is constant. The reference replaces NaN in the
 * state, before it takes sine and cosine. */
SIM_FN real sim_entity_component(const SimBody *body, int component, real otherwise) {
  real x;
  switch (component) {
    case SIM_COMPONENT_X: x = body->position.x; break;
    case SIM_COMPONENT_Y: x = body->position.y; break;
    case SIM_COMPONENT_VX: x = body->velocity.x; break;
    case SIM_COMPONENT_VY: x = body->velocity.y; break;
    case SIM_COMPONENT_SPIN: x = sim_observe_angular_velocity(body->angular_velocity); break;
    case SIM_COMPONENT_SINE: x = body->sine; break;
    case SIM_COMPONENT_COSINE: x = body->cosine; break;
    default: return otherwise;
  }
  return real_select(real_is_nan(x), real_of(component == SIM_COMPONENT_COSINE ? 1.0f : 0.0f), x);
}

SIM_FN void sim_entity_write_body(const SimBody *body, float *row) {
  row[SIM_COMPONENT_X] = sim_entity_component(body, SIM_COMPONENT_X, 0.0f);
  row[SIM_COMPONENT_Y] = sim_entity_component(body, SIM_COMPONENT_Y, 0.0f);
  row[SIM_COMPONENT_VX] = sim_entity_component(body, SIM_COMPONENT_VX, 0.0f);
  row[SIM_COMPONENT_VY] = sim_entity_component(body, SIM_COMPONENT_VY, 0.0f);
  row[SIM_COMPONENT_SPIN] = sim_entity_component(body, SIM_COMPONENT_SPIN, 0.0f);
  row[SIM_COMPONENT_SINE] = sim_entity_component(body, SIM_COMPONENT_SINE, 0.0f);
  row[SIM_COMPONENT_COSINE] = sim_entity_component(body, SIM_COMPONENT_COSINE, 0.0f);
}

/* ---- single scalars, for a GPU ----------------------------------------------------------------------------------- */

/* Whether shapes a and b (in a pair's order) overlapped in the last physics step. */
SIM_FN bool sim_entity_overlap(const SimModel *model, const SimWorld *world, int a, int b) {
  for (int word = 0; word < (model->pair_end[SIM_PAIR_KINDS - 1] + 31) / 32; word++)
    for (uint32_t left = world->overlap_pairs[word]; left; left &= left - 1) {
      const SimPair *pair = &model->pair[32 * word + real_lowest_bit(left)];
      if (pair->a == a && pair->b == b) return true;
    }
  return false;
}

/* Returns the source of element k of an entity observation. */
SIM_FN SimObserved sim_entity_source(const SimEntityLayout *l, int k) {
  const bool polygon = k < l->circles;
  const int index = polygon ? k : k - l->circles, width = polygon ? SIM_ENTITY_POLYGON : SIM_ENTITY_CIRCLE;
  if (k < l->joints) return sim_observed_component(k, index / width + (polygon ? 0 : l->size.polygons), index % width);
  SimObserved o = {(uint16_t)k, 0, SIM_OBSERVED_CONSTANT};
  if (k < l->attention) return o;
  o.shape = (uint8_t)((k - l->attention) / l->shapes);
  o.number = (uint8_t)(SIM_OBSERVED_PAIR + (k - l->attention) % l->shapes);
  return o;
}

/* Returns the value of such a source. */
SIM_FN real sim_entity_number(const SimModel *model, const SimWorld *world, const float *template_row, SimObserved o) {
  if (o.number >= SIM_OBSERVED_PAIR) {
    const bool overlap_pairs = sim_entity_overlap(model, world, o.shape, o.number - SIM_OBSERVED_PAIR);
    return overlap_pairs ? template_row[o.place] + (real)SIM_ATTEND_TOUCHING : template_row[o.place];
  }
  if (o.number == SIM_OBSERVED_CONSTANT || !model->moves[o.shape]) return template_row[o.place];
  real x = (&world->body[o.shape].velocity.x)[o.number];
  if (o.number == SIM_OBSERVED_ANGULAR_VELOCITY) x = sim_observe_angular_velocity(x);
  return real_select(real_is_nan(x), real_of(o.number == SIM_OBSERVED_COSINE ? 1.0f : 0.0f), x);
}

/* Returns the source of element k of a padded observation; its elements are those of a flat one. */
SIM_FN SimObserved sim_padded_source(SimPaddedLayout l, SimSize size, int k) {
  const int row = k / l.width, shape = row == 0 ? 0 : row + SIM_STATIC_POLYGONS - 1;
  const bool exists = shape < size.polygons + size.circles;
  return sim_observed_component(k, exists ? shape : 0, exists ? k % l.width : l.width);
}

#endif
