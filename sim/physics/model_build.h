/* Construction of SimModel from a checked level: outlines with face normals, pair lists, joints with their mass terms;
 * for the host and the GPU. */
#ifndef SIM_MODEL_BUILD_H
#define SIM_MODEL_BUILD_H
#include "sim/physics/contact.h"
#include "sim/physics/model.h"
#include "sim/physics/move.h"
#include "sim/physics/wavefronts.h"

SIM_FN SimMass sim_model_mass(const SimShape *shape) {
  const SimMass mass = {shape->inverse_mass, shape->inverse_inertia};
  return mass;
}

SIM_FN const SimShape *sim_model_shape(const SimLevel *level, int index) {
  return index < level->size.polygons ? &level->polygon[index] : &level->circle[index - level->size.polygons];
}

/* A normal is its edge rotated by the reference's float pi/2, whose cosine is not quite 0. */
SIM_CALLED_FN SimOutline sim_model_outline(const SimShape *shape) {
  RealSinCos left = real_sin_cos(REAL_HALF_PI);
  SimOutline o = {.triangle = shape->vertex_count == 3};
  int count = o.triangle ? 3 : SIM_VERTICES;

  for (int i = 0; i < SIM_VERTICES; i++) o.vertex[i] = sim_vec(shape->vertex_x[i], shape->vertex_y[i]);
  for (int i = 0; i < SIM_VERTICES; i++) {
    SimVec delta = sim_vec_sub(o.vertex[(i + 1) % (i < count ? count : SIM_VERTICES)], o.vertex[i]);
    SimVec normal = sim_vec_rotate(left.sine, left.cosine, delta);
    o.length[i] = real_sqrt(sim_vec_dot(delta, delta));
    real guarded = real_zero_to_one(o.length[i]);
    o.edge[i] = sim_vec(delta.x / guarded, delta.y / guarded);
    o.normal_x[i] = normal.x / guarded;
    o.normal_y[i] = normal.y / guarded;

    o.support[i] = i < count ? -REAL_HUGE : REAL_HUGE;
    for (int k = 0; k < count; k++)
      o.support[i] = real_max(o.support[i], sim_vec_dot(sim_vec(o.normal_x[i], o.normal_y[i]), o.vertex[k]));
  }
  return o;
}

/* Whether a shape never moves: nothing can push it, its velocity is 0, and its position is not clipped. */
SIM_FN bool sim_model_is_frozen(const SimShape *s) {
  return s->inverse_mass == 0 && s->inverse_inertia == 0 && s->vx == 0 && s->vy == 0 && s->angular_velocity == 0 &&
         s->x >= -SIM_POSITION_MAX && s->x <= SIM_POSITION_MAX && s->y >= -SIM_POSITION_MAX && s->y <= SIM_POSITION_MAX;
}

SIM_CALLED_FN void sim_model_add_shapes(const SimLevel *level, SimModel *model) {
  for (int k = 0; k < model->shapes; k++) {
    const SimShape *shape = sim_model_shape(level, k);
    RealSinCos turn = real_sin_cos(shape->rotation);
    const SimBody start = {
      .velocity = {shape->vx, shape->vy}, .angular_velocity = shape->angular_velocity,
      .rotation = shape->rotation, .position = {shape->x, shape->y},
      .sine = turn.sine, .cosine = turn.cosine,
    };
    model->start[k] = start;

    if (!shape->active) continue;
    model->mass[k] = sim_model_mass(shape);
    model->radius[k] = shape->radius;
    model->active[model->active_count++] = (uint8_t)k;
    model->moves[k] = !sim_model_is_frozen(shape);
    if (model->moves[k]) model->moving[model->moving_count++] = (uint8_t)k;

    if (k < level->size.polygons) {
      model->outline[k] = sim_model_outline(shape);
      model->box[k] = sim_move_polygon_box(&model->outline[k], &model->start[k], model->corner[k]);
    } else {
      model->box[k] = sim_move_circle_box(model->start[k].position, shape->radius);
    }
    model->outline[k].mass = model->mass[k];
    model->outline[k].radius = shape->radius;
  }
}

/* Computes groups of shapes connected by any number of active joints; they never push each other. */
SIM_FN void sim_model_groups(const SimLevel *level, int group[SIM_SHAPES_MAX]) {
  const int shapes = level->size.polygons + level->size.circles;
  for (int k = 0; k < shapes; k++) group[k] = k;
  for (int i = 0; i < level->size.joints; i++) {
    if (!level->joint[i].active) continue;
    int from = group[level->joint[i].b], to = group[level->joint[i].a];
    for (int k = 0; k < shapes; k++) {
      if (group[k] == from) group[k] = to;
    }
  }
}

/* Mode 0 collides with mode 2 only, which collides with all. */
SIM_FN bool sim_model_modes_collide(int a, int b) { return a == 2 || b == 2 || a * b > 0; }

SIM_FN bool sim_model_joined_or_fixated(const SimModel *model, const int *group, int a, int b) {
  return group[a] == group[b] || (model->mass[a].inverse_mass == 0 && model->mass[b].inverse_mass == 0);
}

/* all: also list pairs whose overlap has no effect (joined shapes), for observations of overlaps. The motion has the
 * same bits. */
typedef struct SimPairRules { bool pad_writes_zero, all; } SimPairRules;

/* Adds pair `number` of its kind to the model if it can have an effect: if it pushes, if the task rewards it, or (with
 * several solver batches) if its overlap moves other pairs to another batch. */
SIM_CALLED_FN void sim_model_add_pair(const SimLevel *level, const int *group, SimPairRules rules, int kind, int number,
                                      int a, int b, SimModel *model) {
  const SimShape *p = sim_model_shape(level, a), *q = sim_model_shape(level, b);
  if (!p->active || !q->active) return;

  int roles = p->role * q->role, pairs = model->pair_count[kind];
  bool touch = roles == SIM_ROLE_GREEN * SIM_ROLE_BLUE;
  if (touch) {
    model->goal[model->goal_count][0] = (uint8_t)a;
    model->goal[model->goal_count++][1] = (uint8_t)b;
  }

  SimPair pair = {
    .a = (uint8_t)a, .b = (uint8_t)b,
    .reward = (uint8_t)(touch ? SIM_TOUCH : roles == SIM_ROLE_GREEN * SIM_ROLE_RED ? SIM_LAVA : 0),
    .resolved = !sim_model_joined_or_fixated(model, group, a, b),
    .clears_impulse = rules.pad_writes_zero && number == pairs - 1 && pairs % SIM_SOLVER_LANES != 0,
    .number = (uint8_t)number,
    .friction = sim_contact_friction(p->friction, q->friction),
    .restitution = real_min(p->restitution, q->restitution),
  };

  int before = kind == SIM_RR ? 0 : 2 * model->pair_count[SIM_RR] + (kind == SIM_CC ? model->pair_count[SIM_CR] : 0);
  pair.slot = (uint16_t)(before + (kind == SIM_RR ? 2 * number : number));
  bool counts = pair.resolved || pair.reward || pairs > SIM_SOLVER_LANES || rules.all;
  if (sim_model_modes_collide(p->collision_mode, q->collision_mode) &&
      counts) model->pair[model->pair_end[kind]++] = pair;
}

SIM_FN void sim_model_list_pairs(const SimLevel *level, SimPairRules rules, SimModel *model) {
  int group[SIM_SHAPES_MAX], polygons = level->size.polygons, number = 0;

  memset(model->pair_end, 0, sizeof model->pair_end);
  model->goal_count = 0;
  sim_model_groups(level, group);
  for (int a = 0; a < polygons; a++) {
    for (int b = a + 1; b < polygons; b++) {
      if (b >= SIM_STATIC_POLYGONS) sim_model_add_pair(level, group, rules, SIM_RR, number++, a, b, model);
    }
  }

  model->pair_end[SIM_CR] = model->pair_end[SIM_RR];
  for (int c = 0; c < level->size.circles; c++) {
    for (int p = 0; p < polygons; p++)
      sim_model_add_pair(level, group, rules, SIM_CR, c * polygons + p, polygons + c, p, model);
  }

  model->pair_end[SIM_CC] = model->pair_end[SIM_CR];
  number = 0;
  for (int a = polygons; a < model->shapes; a++) {
    for (int b = a + 1; b < model->shapes; b++)
      sim_model_add_pair(level, group, rules, SIM_CC, number++, a, b, model);
  }

  for (int i = 0; i < model->pair_end[SIM_CC]; i++) {
    model->pair_box[i][0] = (uint8_t)(model->pair[i].a * sizeof model->box[0]);
    model->pair_box[i][1] = (uint8_t)(model->pair[i].b * sizeof model->box[0]);
  }
}

SIM_CALLED_FN void sim_model_add_joints(const SimLevel *level, SimModel *model) {
  for (int i = 0; i < level->size.joints; i++) {
    const SimJoint *j = &level->joint[i];
    if (!j->active || !sim_model_shape(level, j->a)->active || !sim_model_shape(level, j->b)->active) continue;
    SimMass a = model->mass[j->a], b = model->mass[j->b];
    if (a.inverse_mass == 0 && b.inverse_mass == 0) continue;

    real a_mass = 1.0f / real_zero_to_one(a.inverse_mass), b_mass = 1.0f / real_zero_to_one(b.inverse_mass);
    real a_share = a.inverse_mass == 0   ? 1.0f
                   : b.inverse_mass == 0 ? 0.0f
                                         : a_mass / (a_mass + b_mass);
    real b_share = a.inverse_mass == 0   ? 0.0f
                   : b.inverse_mass == 0 ? 1.0f
                                         : b_mass / (a_mass + b_mass);

    const SimJointModel result = {
      .fixed = j->fixed, .has_limits = j->has_limits, .motor_on = j->motor_on, .motor_auto = j->motor_auto,
      .a_anchor = {j->a_x, j->a_y}, .b_anchor = {j->b_x, j->b_y}, .a_mass = a, .b_mass = b,
      .a_share = a_share, .b_share = b_share,
      .inverse_sum_mass = 1.0f / real_zero_to_one(a.inverse_mass + b.inverse_mass),
      .inverse_sum_inertia = 1.0f / real_zero_to_one(a.inverse_inertia + b.inverse_inertia),
      .min_rotation = j->min_rotation, .max_rotation = j->max_rotation, .rotation = j->rotation,
      .motor_speed = j->motor_speed, .motor_power = j->motor_power,
      .a = (uint8_t)j->a, .b = (uint8_t)j->b, .slot = (uint8_t)i, .binding = (uint8_t)j->motor_binding,
    };
    model->joint[model->joint_count++] = result;
  }
}

/* Assigns joints to wavefronts: each to the first in which no earlier joint changes its bodies. */
SIM_FN void sim_model_schedule_joints(SimModel *model) {
  SimWavefrontBodies bodies = {0};
  for (int i = 0; i < model->joint_count; i++) {
    SimJointModel *j = &model->joint[i];
    const unsigned a = sim_wavefronts_end(model, j->a), b = sim_wavefronts_end(model, j->b);
    const unsigned wavefront = sim_wavefronts_later(bodies, a, b);
    sim_wavefronts_assign(&bodies, a, wavefront);
    sim_wavefronts_assign(&bodies, b, wavefront);
    j->wavefront = (uint8_t)wavefront;
    if ((int)wavefront >= model->joint_wavefronts) model->joint_wavefronts = (int)wavefront + 1;
  }
}

SIM_FN void sim_model_add_thrusters(const SimLevel *level, SimModel *model) {
  for (int i = 0; i < level->size.thrusters; i++) {
    const SimThruster *t = &level->thruster[i];
    if (!t->active || !sim_model_shape(level, t->shape)->active) continue;
    const SimThrusterModel result = {
      .shape = (uint8_t)t->shape, .slot = (uint8_t)i, .binding = (uint8_t)t->binding, .anchor = {t->x, t->y},
      .mass = model->mass[t->shape], .rotation = t->rotation, .power = t->power,
    };
    model->thruster[model->thruster_count++] = result;
  }
}

/* Builds the complete model (model.h). */
SIM_CALLED_FN void sim_model_make(const SimLevel *level, SimPairRules rules, SimModel *model) {
  memset(model, 0, sizeof *model);
  model->size = level->size;
  model->shapes = level->size.polygons + level->size.circles;
  for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) model->pair_count[kind] = sim_model_pairs(level->size, kind);
  model->contacts = sim_model_contacts(level->size);
  model->gravity_step = sim_vec(level->gravity_x * SIM_DT, level->gravity_y * SIM_DT);
  sim_model_add_shapes(level, model);
  sim_model_list_pairs(level, rules, model);
  sim_model_add_joints(level, model);
  sim_model_schedule_joints(model);
  sim_model_add_thrusters(level, model);
}

#endif
