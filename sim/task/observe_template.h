/* Templates: the constant part of the three kinds of observations, from a level (observe_layout.h), on the host and
 * the GPU. Contains shapes' properties, joints, thrusters and gravity. observe.h and observe_entity.h add the changing
 * features. */
#ifndef SIM_OBSERVE_TEMPLATE_H
#define SIM_OBSERVE_TEMPLATE_H
#include "sim/physics/model_build.h"
#include "sim/task/observe.h"
#include "sim/task/observe_entity.h"

/* ---- flat, and an entity's features ------------------------------------------------------------------------------ */

/* Writes the sixteen values that both kinds of shape begin with. */
SIM_CALLED_FN void sim_observe_write_shape(const SimShape *shape, float *row) {
  RealSinCos turn = real_sin_cos(shape->rotation);
  row[SIM_COMPONENT_X] = shape->x;
  row[SIM_COMPONENT_Y] = shape->y;
  row[SIM_COMPONENT_VX] = shape->vx;
  row[SIM_COMPONENT_VY] = shape->vy;
  row[SIM_COMPONENT_INVERSE_MASS] = shape->inverse_mass;
  row[SIM_COMPONENT_INVERSE_INERTIA] = shape->inverse_inertia;
  row[SIM_COMPONENT_DENSITY] = shape->density;
  row[SIM_COMPONENT_SPIN] = real_tanh(shape->angular_velocity / 10.0f);
  row[SIM_COMPONENT_ROLE + shape->role] = 1.0f;
  row[SIM_COMPONENT_SINE] = turn.sine;
  row[SIM_COMPONENT_COSINE] = turn.cosine;
  row[SIM_COMPONENT_FRICTION] = shape->friction;
  row[SIM_COMPONENT_RESTITUTION] = shape->restitution;
}

/* Writes an entity's features as all observations have them, not clipped, into a row of zeros. Joints are seen from b
 * to a; a fixed one has no features of motor and limits. */
SIM_FN void sim_observe_polygon(const SimShape *shape, float *row) {
  sim_observe_write_shape(shape, row);
  for (int i = 0; i < SIM_VERTICES; i++) {
    row[17 + 2 * i] = i < shape->vertex_count ? shape->vertex_x[i] : -1.0f;
    row[18 + 2 * i] = i < shape->vertex_count ? shape->vertex_y[i] : -1.0f;
  }
  row[25] = shape->vertex_count <= 3;
}

SIM_FN void sim_observe_circle(const SimShape *shape, float *row) {
  sim_observe_write_shape(shape, row);
  row[16] = shape->radius;
  row[17] = 1.0f;
}

SIM_CALLED_FN void sim_observe_joint(const SimJoint *j, float *row) {
  RealSinCos rest = real_sin_cos(j->rotation);
  RealSinCos low = real_sin_cos(j->min_rotation), high = real_sin_cos(j->max_rotation);

  float first[8] = {1.0f, (float)j->fixed, j->b_x, j->b_y, j->a_x, j->a_y, rest.sine, rest.cosine};
  memcpy(row, first, sizeof first);

  if (!j->fixed) {
    row[8] = j->motor_speed;
    row[9] = j->motor_power;
    row[10] = j->motor_on;
    row[11] = j->has_limits;
    row[12 + j->motor_binding] = 1.0f;
  }
  if (!j->fixed && j->has_limits) {
    float limits[6] = {low.sine, low.cosine, high.sine, high.cosine,
                       j->min_rotation - j->rotation, j->max_rotation - j->rotation};
    memcpy(row + 16, limits, sizeof limits);
  }
}

SIM_FN void sim_observe_thruster(const SimThruster *t, float *row) {
  RealSinCos turn = real_sin_cos(t->rotation);
  row[0] = 1.0f;
  row[1] = t->x;
  row[2] = t->y;
  row[3 + t->binding] = 1.0f;
  row[5] = turn.sine;
  row[6] = turn.cosine;
  row[7] = t->power;
}

SIM_FN void sim_observe_write_joint(const SimJoint *j, int shapes, float *row) {
  sim_observe_joint(j, row);
  row[SIM_OBSERVE_JOINT + j->b] = 1.0f;
  row[SIM_OBSERVE_JOINT + shapes + j->a] = 1.0f;
}

SIM_FN void sim_observe_write_thruster(const SimThruster *t, float *row) {
  sim_observe_thruster(t, row);
  row[SIM_OBSERVE_THRUSTER + t->shape] = 1.0f;
}

SIM_CALLED_FN void sim_observe_make_template(const SimLevel *level, float *row) {
  SimSize size = level->size;
  int shapes = size.polygons + size.circles, length = sim_observe_length(size);

  memset(row, 0, (size_t)length * sizeof *row);
  for (int k = 0; k < size.polygons; k++) {
    int offset = sim_observe_offset(size, k);
    if (offset >= 0 && level->polygon[k].active) sim_observe_polygon(&level->polygon[k], row + offset);
  }
  for (int k = 0; k < size.circles; k++) {
    if (level->circle[k].active)
      sim_observe_circle(&level->circle[k], row + sim_observe_offset(size, size.polygons + k));
  }

  float *next = row + sim_observe_offset(size, shapes);
  for (int i = 0; i < size.joints; i++, next += SIM_OBSERVE_JOINT + 2 * shapes) {
    if (level->joint[i].active) sim_observe_write_joint(&level->joint[i], shapes, next);
  }
  for (int i = 0; i < size.thrusters; i++, next += SIM_OBSERVE_THRUSTER + shapes) {
    if (level->thruster[i].active) sim_observe_write_thruster(&level->thruster[i], next);
  }

  *next = level->gravity_y / 10.0f;
  for (int i = 0; i < length; i++) row[i] = sim_observe_clip(row[i]);
}

/* ---- entity ------------------------------------------------------------------------------------------------------ */

SIM_FN void sim_entity_write_shapes(const SimLevel *level, const SimEntityLayout *l, float *row) {
  for (int k = 0; k < l->size.polygons; k++) {
    float *polygon = row + sim_entity_row(l, k);
    if (!level->polygon[k].active) continue;
    sim_observe_polygon(&level->polygon[k], polygon);
    polygon[SIM_ENTITY_POLYGON - 1] = level->gravity_y / 10.0f;
    row[l->polygon_mask + k] = 1.0f;
  }
  for (int k = 0; k < l->size.circles; k++) {
    float *circle = row + sim_entity_row(l, l->size.polygons + k);
    if (!level->circle[k].active) continue;
    sim_observe_circle(&level->circle[k], circle);
    circle[SIM_ENTITY_CIRCLE - 1] = level->gravity_y / 10.0f;
    row[l->circle_mask + k] = 1.0f;
  }
}

/* The second view has anchors and shapes swapped. */
SIM_FN void sim_entity_write_joints(const SimLevel *level, const SimEntityLayout *l, float *row) {
  const int joints = l->size.joints;
  for (int i = 0; i < joints; i++) {
    const SimJoint *joint = &level->joint[i];
    SimJoint view[2] = {*joint, *joint};
    if (!joint->active) continue;

    view[1].a = joint->b;
    view[1].a_x = joint->b_x;
    view[1].a_y = joint->b_y;
    view[1].b = joint->a;
    view[1].b_x = joint->a_x;
    view[1].b_y = joint->a_y;

    for (int number = i; number < 2 * joints; number += joints) {
      const SimJoint *seen = &view[number >= joints];
      sim_observe_joint(seen, row + l->joints + number * SIM_ENTITY_JOINT);
      row[l->joint_mask + number] = 1.0f;
      row[l->joint_shapes + 2 * number] = (float)seen->b;
      row[l->joint_shapes + 2 * number + 1] = (float)seen->a;
    }
  }
}

SIM_FN void sim_entity_write_thrusters(const SimLevel *level, const SimEntityLayout *l, float *row) {
  for (int i = 0; i < l->size.thrusters; i++) {
    if (!level->thruster[i].active) continue;
    sim_observe_thruster(&level->thruster[i], row + l->thrusters + i * SIM_ENTITY_THRUSTER);
    row[l->thruster_mask + i] = 1.0f;
    row[l->thruster_shapes + i] = (float)level->thruster[i].shape;
  }
}

SIM_FN bool sim_entity_is_active(const SimLevel *level, int k) {
  return k < level->size.polygons ? level->polygon[k].active : level->circle[k - level->size.polygons].active;
}

/* A shape is neither its own neighbor nor overlaps itself; the other relations include it. */
SIM_FN void sim_entity_write_attention(const SimLevel *level, const SimEntityLayout *l, float *row) {
  int group[SIM_SHAPES_MAX];
  uint8_t bits[SIM_SHAPES_MAX][SIM_SHAPES_MAX] = {0};
  sim_model_groups(level, group);

  for (int i = 0; i < l->shapes; i++) {
    for (int k = 0; k < l->shapes; k++)
      bits[i][k] = (uint8_t)(SIM_ATTEND_ALL | (group[i] == group[k] ? SIM_ATTEND_COMPONENT : 0));
  }

  for (int i = 0; i < level->size.joints; i++) {
    const SimJoint *joint = &level->joint[i];
    if (!joint->active) continue;
    bits[joint->a][joint->b] |= SIM_ATTEND_NEIGHBOR;
    bits[joint->b][joint->a] |= SIM_ATTEND_NEIGHBOR;
  }

  for (int i = 0; i < l->shapes; i++) {
    for (int k = 0; k < l->shapes; k++)
      if (sim_entity_is_active(level, i) && sim_entity_is_active(level, k))
        row[l->attention + i * l->shapes + k] = bits[i][k];
  }
}

SIM_CALLED_FN void sim_entity_make_template(const SimLevel *level, float *row) {
  const SimEntityLayout layout = sim_entity_layout(level->size);
  memset(row, 0, (size_t)layout.length * sizeof *row);
  sim_entity_write_shapes(level, &layout, row);
  sim_entity_write_joints(level, &layout, row);
  sim_entity_write_thrusters(level, &layout, row);
  sim_entity_write_attention(level, &layout, row);
  for (int i = 0; i < layout.length; i++) row[i] = real_select(real_is_nan(row[i]), 0.0f, row[i]);
}

/* ---- padded ------------------------------------------------------------------------------------------------------ */

/* Spreads the flat template's rows. */
SIM_CALLED_FN void sim_padded_make_template(const SimLevel *level, float *row) {
  const SimSize size = level->size;
  const SimPaddedLayout layout = sim_padded_layout(size);
  const int shapes = size.polygons + size.circles;
  const int count[SIM_PADDED_KINDS] = {size.polygons - SIM_STATIC_POLYGONS + 1, size.circles, size.joints,
                                       size.thrusters};
  const int width[SIM_PADDED_KINDS] = {SIM_OBSERVE_POLYGON, SIM_OBSERVE_CIRCLE, SIM_OBSERVE_JOINT + 2 * shapes,
                                       SIM_OBSERVE_THRUSTER + shapes};
  float flat[SIM_OBSERVE_MAX];
  const float *from = flat;

  sim_observe_make_template(level, flat);
  memset(row, 0, (size_t)layout.length * sizeof *row);

  for (int kind = 0; kind < SIM_PADDED_KINDS; kind++) {
    for (int i = 0; i < count[kind]; i++, from += width[kind], row += layout.width) {
      memcpy(row, from, (size_t)width[kind] * sizeof *row);
      row[layout.width - SIM_PADDED_EXTRA + kind] = 1.0f;
      row[layout.width - 1] = flat[sim_observe_length(size) - 1];
    }
  }
}

#endif
