/* Revolute joints (with or without limits) and fixed joints (Jax2D's jax2d/joint.py).
 *
 * sim_joint_begin computes the constants of a step (rotations change only at its end). sim_joint_resolve is then
 * applied in every solver iteration, joint after joint. Motors are in actuate.h. */
#ifndef SIM_JOINT_H
#define SIM_JOINT_H
#include "sim/physics/model.h"

#define SIM_JOINT_BAUMGARTE_VELOCITY 2.0f
#define SIM_JOINT_BAUMGARTE_POSITION 0.7f
#define SIM_JOINT_BAUMGARTE_FIXED 2.0f
#define SIM_JOINT_BAUMGARTE_LIMIT 5.0f
#define SIM_JOINT_STIFFNESS 0.6f

/* Joint during a step. */
typedef struct SimJointStep {
  SimVec a_arm, b_arm;      /* from the centers to the anchors, in the world */
  real angular_bias;        /* angular velocity that corrects the angle error or the violated limit */
  mask has_angular_constraint; /* fixed, or at a limit: the angular impulse is applied */
  SimVec impulse;           /* accumulated */
  real angular_impulse;
  SimVec point;             /* joint point at its last application */
} SimJointStep;

SIM_FN real sim_joint_angle(const SimJointModel *j, const SimBody *a, const SimBody *b) {
  return b->rotation - a->rotation - j->rotation;
}

SIM_FN SimJointStep sim_joint_begin(const SimJointModel *j, const SimBody *a, const SimBody *b, SimVec impulse,
                                    real angular_impulse) {
  SimJointStep s;
  s.a_arm = sim_vec_rotate(a->sine, a->cosine, j->a_anchor);
  s.b_arm = sim_vec_rotate(b->sine, b->cosine, j->b_anchor);
  real angle = sim_joint_angle(j, a, b), allowed = real_clip(angle, j->min_rotation, j->max_rotation);
  s.angular_bias = real_select(j->fixed, angle * SIM_JOINT_BAUMGARTE_FIXED,
                               (angle - allowed) * SIM_JOINT_BAUMGARTE_LIMIT);
  s.has_angular_constraint = j->fixed | (j->has_limits & (allowed != angle));
  s.impulse = impulse;
  s.angular_impulse = angular_impulse;
  s.point = sim_vec(real_of(0.0f), real_of(0.0f));
  return s;
}

/* Returns the velocity delta: a receives the impulse, b its opposite (contacts: the other way round). */
SIM_FN SimVelocityDelta sim_joint_velocity_delta(const SimJointModel *j, const SimJointStep *s, SimVec impulse) {
  SimVelocityDelta delta;
  delta.a_velocity = sim_vec_scale(j->a_mass.inverse_mass, impulse);
  delta.b_velocity = sim_vec_scale(-j->b_mass.inverse_mass, impulse);
  delta.a_angular_velocity = sim_vec_cross(s->a_arm, impulse) * j->a_mass.inverse_inertia;
  delta.b_angular_velocity = -sim_vec_cross(s->b_arm, impulse) * j->b_mass.inverse_inertia;
  return delta;
}

SIM_FN SimVelocityDelta sim_joint_warm_start(const SimJointModel *j, const SimJointStep *s) {
  SimVelocityDelta delta = sim_joint_velocity_delta(j, s, s->impulse);
  delta.a_angular_velocity += s->angular_impulse * j->a_mass.inverse_inertia;
  delta.b_angular_velocity -= s->angular_impulse * j->b_mass.inverse_inertia;
  return delta;
}

/* Result of one application of a joint: a velocity delta and, against drift, a shift of both positions. */
typedef struct SimJointDelta {
  SimVelocityDelta on;
  SimVec a_shift, b_shift;
} SimJointDelta;

/* Solves the joint once. Updates s; the caller adds the delta to both bodies. One scalar effective mass serves both
 * components of the impulse; the position error is not divided by dt (both as in the reference). */
SIM_FN SimJointDelta sim_joint_resolve(const SimJointModel *j, SimJointStep *s, const SimBody *a, const SimBody *b) {
  SimVec a_point = sim_vec_add(a->position, s->a_arm), b_point = sim_vec_add(b->position, s->b_arm);
  SimVec gap = sim_vec_sub(b_point, a_point);
  s->point = sim_vec(a_point.x * j->a_share + b_point.x * j->b_share, a_point.y * j->a_share + b_point.y * j->b_share);

  SimVec slip = sim_vec_sub(sim_body_velocity_at(*b, s->point), sim_body_velocity_at(*a, s->point));
  real a_turn = sim_vec_cross(s->a_arm, slip), b_turn = sim_vec_cross(s->b_arm, slip);
  real turning =
    real_quotient(a_turn * a_turn * j->a_mass.inverse_inertia + b_turn * b_turn * j->b_mass.inverse_inertia,
                  real_zero_to_one(sim_vec_dot(slip, slip)));
  real sum_mass = real_zero_to_one(j->a_mass.inverse_mass + j->b_mass.inverse_mass);
  real scale = SIM_JOINT_STIFFNESS / real_zero_to_one(sum_mass + turning);
  SimVec impulse = sim_vec_scale(scale, sim_vec_add(slip, sim_vec_scale(real_of(SIM_JOINT_BAUMGARTE_VELOCITY), gap)));
  SimJointDelta delta = {.on = sim_joint_velocity_delta(j, s, impulse)};

  real spin = b->angular_velocity + delta.on.b_angular_velocity - a->angular_velocity - delta.on.a_angular_velocity;
  mask pushes = j->fixed | (real_sign(spin) == real_sign(s->angular_bias)); /* a limit only pushes */
  real angular_impulse = real_select(s->has_angular_constraint & pushes,
                                     (spin + s->angular_bias) * j->inverse_sum_inertia, real_of(0.0f));
  delta.on.a_angular_velocity += angular_impulse * j->a_mass.inverse_inertia;
  delta.on.b_angular_velocity -= angular_impulse * j->b_mass.inverse_inertia;

  SimVec shift = sim_vec_scale(SIM_JOINT_BAUMGARTE_POSITION * j->inverse_sum_mass, gap);
  delta.a_shift = sim_vec_scale(j->a_mass.inverse_mass, shift);
  delta.b_shift = sim_vec_scale(-j->b_mass.inverse_mass, shift);
  s->impulse = sim_vec_add(s->impulse, impulse);
  s->angular_impulse =
    real_select(j->fixed, s->angular_impulse + angular_impulse, real_of(0.0f)); /* limits are not accumulated */
  return delta;
}

#endif
