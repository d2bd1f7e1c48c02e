/* Contact impulses: one contact point between two bodies (resolve_collision and resolve_warm_starting_impulse in
 * Jax2D's jax2d/collision.py).
 *
 * A contact is prepared once per step from a manifold, then applied in every solver iteration. step.h decides which
 * contacts are applied together, and in which order. */
#ifndef SIM_CONTACT_H
#define SIM_CONTACT_H
#include "sim/physics/world.h"

#define SIM_CONTACT_SLOP 0.01f
#define SIM_CONTACT_BAUMGARTE 0.2f
#define SIM_CONTACT_FRICTION 0.4f

/* Contact during a step. Point, normal and bias are constant while the bodies move. */
typedef struct SimContact {
  SIM_ALIGN_RECORD SimVec normal;
  SimVec point;
  SimMass a_mass, b_mass;
  real penetration, restitution_target, friction;
  SimVec impulse;        /* accumulated impulse: x along the normal, y along the tangent */
  uint8_t a, b, reward, resolved, clears_impulse, number; /* as in SimPair, whose first bytes these are */
  uint16_t slot;
} SimContact;
enum { SIM_CONTACT_REALS = 13 }; /* reals at the start of a SimContact */

/* Returns the friction coefficient of a pair: root of the sum of squares, not a product. */
SIM_FN real sim_contact_friction(real a, real b) {
  real x = a * SIM_CONTACT_FRICTION, y = b * SIM_CONTACT_FRICTION;
  return real_sqrt(x * x + y * y);
}

/* Returns the restitution target, from the speed at the beginning of the step, whatever its sign. */
SIM_FN real sim_contact_restitution(const SimBody *a, const SimBody *b, SimVec normal, SimVec point, real restitution) {
  SimVec approach = sim_vec_sub(sim_body_velocity_at(*b, point), sim_body_velocity_at(*a, point));
  return sim_vec_dot(approach, normal) * restitution;
}

/* Returns the velocity delta of an impulse J at arms r1, r2 from the centers: a receives -J, b receives J. */
SIM_FN SimVelocityDelta sim_contact_velocity_delta(const SimContact *c, SimVec r1, SimVec r2, SimVec impulse) {
  SimVelocityDelta delta;
  delta.a_velocity = sim_vec_scale(-c->a_mass.inverse_mass, impulse);
  delta.b_velocity = sim_vec_scale(c->b_mass.inverse_mass, impulse);
  delta.a_angular_velocity = -c->a_mass.inverse_inertia * sim_vec_cross(r1, impulse);
  delta.b_angular_velocity = c->b_mass.inverse_inertia * sim_vec_cross(r2, impulse);
  return delta;
}

/* Warm start: returns the velocity delta of the impulse accumulated in the last step. */
SIM_FN SimVelocityDelta sim_contact_warm_start(const SimContact *c, const SimBody *a, const SimBody *b) {
  SimVec impulse = sim_vec_add(sim_vec_scale(c->impulse.x, c->normal),
                               sim_vec_scale(c->impulse.y, sim_vec_tangent(c->normal)));
  return sim_contact_velocity_delta(c, sim_vec_sub(c->point, a->position), sim_vec_sub(c->point, b->position), impulse);
}

/* Returns 1 / effective mass of the contact along `axis`. */
SIM_FN real sim_contact_inv_effective_mass(const SimContact *c, SimVec r1, SimVec r2, SimVec axis) {
  real along1 = sim_vec_dot(r1, axis), along2 = sim_vec_dot(r2, axis);
  return c->a_mass.inverse_mass + c->b_mass.inverse_mass +
         c->a_mass.inverse_inertia * (sim_vec_dot(r1, r1) - along1 * along1) +
         c->b_mass.inverse_inertia * (sim_vec_dot(r2, r2) - along2 * along2);
}

/* Arms and effective masses, which depend on the bodies' positions. Only joints change those within a step. */
typedef struct SimContactArms {
  SimVec r1, r2;
  real normal_inv_mass, tangent_inv_mass; /* 1 / effective mass; never 0 */
} SimContactArms;

SIM_FN SimContactArms sim_contact_arms(const SimContact *c, SimVec a_position, SimVec b_position) {
  SimContactArms arms = {.r1 = sim_vec_sub(c->point, a_position), .r2 = sim_vec_sub(c->point, b_position)};
  arms.normal_inv_mass = real_zero_to_one(sim_contact_inv_effective_mass(c, arms.r1, arms.r2, c->normal));
  arms.tangent_inv_mass = real_zero_to_one(sim_contact_inv_effective_mass(c, arms.r1, arms.r2,
                                                                          sim_vec_tangent(c->normal)));
  return arms;
}

/* Solves the contact once: the normal impulse (accumulated impulse clamped to >= 0), then friction within its cone, on
 * the velocities after the normal impulse. Updates c->impulse; the caller adds the velocity delta to the bodies. */
SIM_FN SimVelocityDelta sim_contact_resolve(SimContact *c, const SimContactArms *arms, const SimBody *a,
                                            const SimBody *b) {
  SimVec normal = c->normal, tangent = sim_vec_tangent(normal), r1 = arms->r1, r2 = arms->r2;
  SimVec a_velocity = sim_vec_add(a->velocity, sim_vec_cross_scalar(a->angular_velocity, r1));
  SimVec b_velocity = sim_vec_add(b->velocity, sim_vec_cross_scalar(b->angular_velocity, r2));
  real vn = sim_vec_dot(sim_vec_sub(b_velocity, a_velocity), normal);
  real bias = -(SIM_CONTACT_BAUMGARTE / SIM_DT) * real_min(real_of(0.0f), -c->penetration + SIM_CONTACT_SLOP);
  real impulse_delta = real_quotient(-vn + bias - c->restitution_target, arms->normal_inv_mass);
  real normal_impulse = real_max(c->impulse.x + impulse_delta, real_of(0.0f));
  SimVelocityDelta delta = sim_contact_velocity_delta(c, r1, r2, sim_vec_scale(normal_impulse - c->impulse.x, normal));

  a_velocity = sim_vec_add(sim_vec_add(a->velocity, delta.a_velocity),
                           sim_vec_cross_scalar(a->angular_velocity + delta.a_angular_velocity, r1));
  b_velocity = sim_vec_add(sim_vec_add(b->velocity, delta.b_velocity),
                           sim_vec_cross_scalar(b->angular_velocity + delta.b_angular_velocity, r2));
  real vt = sim_vec_dot(sim_vec_sub(b_velocity, a_velocity), tangent);
  real tangent_delta = real_quotient(-vt, arms->tangent_inv_mass);
  real max_friction = c->friction * normal_impulse;
  real tangent_impulse = real_clip(c->impulse.y + tangent_delta, -max_friction, max_friction);
  SimVelocityDelta friction_delta = sim_contact_velocity_delta(c, r1, r2,
                                                               sim_vec_scale(tangent_impulse - c->impulse.y, tangent));
  c->impulse = sim_vec(normal_impulse, tangent_impulse);

  delta.a_velocity = sim_vec_add(delta.a_velocity, friction_delta.a_velocity);
  delta.b_velocity = sim_vec_add(delta.b_velocity, friction_delta.b_velocity);
  delta.a_angular_velocity += friction_delta.a_angular_velocity;
  delta.b_angular_velocity += friction_delta.b_angular_velocity;
  return delta;
}

#endif
