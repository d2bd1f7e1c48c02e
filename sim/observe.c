/* The constant part of the observation: shapes' properties, joints, thrusters, gravity (spec kinetix.md 3.3). */
#include "sim/observe.h"

int sim_observe_length(SimSize size) {
  int shapes = size.polygons + size.circles;
  return SIM_OBSERVE_POLYGON * (size.polygons - 3) + SIM_OBSERVE_CIRCLE * size.circles +
         size.joints * (SIM_OBSERVE_JOINT + 2 * shapes) + size.thrusters * (SIM_OBSERVE_THRUSTER + shapes) + 1;
}

/* The sixteen values that both kinds of shape begin with. */
static void write_shape(const SimShape *shape, float *row) {
  RealSinCos turn = real_sin_cos(shape->rotation);
  row[0] = shape->x;
  row[1] = shape->y;
  row[2] = shape->vx;
  row[3] = shape->vy;
  row[4] = shape->inverse_mass;
  row[5] = shape->inverse_inertia;
  row[6] = shape->density;
  row[7] = real_tanh(shape->angular_velocity / 10.0f);
  row[8 + shape->role] = 1.0f;
  row[12] = turn.sine;
  row[13] = turn.cosine;
  row[14] = shape->friction;
  row[15] = shape->restitution;
}

void sim_observe_polygon(const SimShape *shape, float *row) {
  write_shape(shape, row);
  for (int i = 0; i < SIM_VERTICES; i++) {
    row[17 + 2 * i] = i < shape->vertex_count ? shape->vertex_x[i] : -1.0f;
    row[18 + 2 * i] = i < shape->vertex_count ? shape->vertex_y[i] : -1.0f;
  }
  row[25] = shape->vertex_count <= 3;
}

void sim_observe_circle(const SimShape *shape, float *row) {
  write_shape(shape, row);
  row[16] = shape->radius;
  row[17] = 1.0f;
}

void sim_observe_joint(const SimJoint *j, float *row) {
  RealSinCos rest = real_sin_cos(j->rotation);
  RealSinCos low = real_sin_cos(j->min_rotation), high = real_sin_cos(j->max_rotation);
  float first[8] = {1.0f, j->fixed, j->b_x, j->b_y, j->a_x, j->a_y, rest.sine, rest.cosine};
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

void sim_observe_thruster(const SimThruster *t, float *row) {
  RealSinCos turn = real_sin_cos(t->rotation);
  row[0] = 1.0f;
  row[1] = t->x;
  row[2] = t->y;
  row[3 + t->binding] = 1.0f;
  row[5] = turn.sine;
  row[6] = turn.cosine;
  row[7] = t->power;
}

static void write_joint(const SimJoint *j, int shapes, float *row) {
  sim_observe_joint(j, row);
  row[SIM_OBSERVE_JOINT + j->b] = 1.0f;
  row[SIM_OBSERVE_JOINT + shapes + j->a] = 1.0f;
}

static void write_thruster(const SimThruster *t, float *row) {
  sim_observe_thruster(t, row);
  row[SIM_OBSERVE_THRUSTER + t->shape] = 1.0f;
}

void sim_observe_template(const SimLevel *level, float *row) {
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
    if (level->joint[i].active) write_joint(&level->joint[i], shapes, next);
  }
  for (int i = 0; i < size.thrusters; i++, next += SIM_OBSERVE_THRUSTER + shapes) {
    if (level->thruster[i].active) write_thruster(&level->thruster[i], next);
  }
  *next = level->gravity_y / 10.0f;
  for (int i = 0; i < length; i++) row[i] = sim_observe_clip(row[i]);
}
