/* Actuators: motors of joints (apply_motor in Jax2D's jax2d/joint.py), thrusters on bodies (calc_thrusters in its
 * jax2d/engine.py). */
#ifndef SIM_ACTUATE_H
#define SIM_ACTUATE_H
#include "sim/physics/joint.h"

#define SIM_MOTOR_SPEED 6.0f       /* rad/s */
#define SIM_MOTOR_POWER 900.0f
#define SIM_MOTOR_DECAY 0.1f
#define SIM_MOTOR_LIMIT_ZONE 0.1f  /* rad: zone next to a limit in which motors weaken */
#define SIM_THRUSTER_POWER 10.0f

/* Returns the angular impulse of a motor under control -1..1: a's angular velocity grows by it over a's inertia, b's
 * shrinks. */
SIM_FN real sim_actuate_motor(const SimJointModel *j, const SimBody *a, const SimBody *b, real control) {
  real error = b->angular_velocity - a->angular_velocity - j->motor_speed * control * SIM_MOTOR_SPEED;
  real power = SIM_MOTOR_POWER * j->motor_power * SIM_DT * j->inverse_sum_inertia;
  real angle = sim_joint_angle(j, a, b);
  real low = j->min_rotation + SIM_MOTOR_LIMIT_ZONE, high = j->max_rotation - SIM_MOTOR_LIMIT_ZONE;
  real beyond = angle - real_clip(angle, low, high);
  real weakened = real_max(real_of(0.0f), 1.0f - real_quotient(real_abs(beyond), real_of(SIM_MOTOR_LIMIT_ZONE)));
  weakened = real_select((beyond == 0.0f) | mask_not(j->has_limits), real_of(1.0f), weakened);
  real leaving = real_select(real_sign(beyond) != real_sign(control), real_of(1.0f), real_of(0.0f));
  power = power * real_max(weakened, leaving);
  mask drives = j->motor_on & mask_not(j->fixed) & (control != 0.0f);
  return real_select(drives, power * real_tanh(error * SIM_MOTOR_DECAY), real_of(0.0f));
}

/* Returns the velocity delta of a thruster under control 0..1, in the a fields. */
SIM_FN SimVelocityDelta sim_actuate_thruster(const SimThrusterModel *t, const SimBody *body, real control) {
  RealSinCos turn = real_sin_cos(t->rotation + body->rotation);
  SimVec arm = sim_vec_rotate(body->sine, body->cosine, t->anchor), direction = sim_vec(turn.cosine, turn.sine);
  real force = t->power * SIM_THRUSTER_POWER * control * SIM_DT;
  SimVelocityDelta delta = {0};
  delta.a_velocity = sim_vec_scale(force, sim_vec_scale(t->mass.inverse_mass, direction));
  delta.a_angular_velocity = t->mass.inverse_inertia * sim_vec_cross(arm, direction) * force;
  return delta;
}

#endif
