/* Contact impulses: one contact point between two bodies (spec kinetix.md 2.3, 2.4).
 *
 * A contact is made once per step from a manifold, then applied in every solver iteration. step.h decides which
 * contacts are applied together, and in which order. */
#ifndef SIM_CONTACT_H
#define SIM_CONTACT_H
#include "sim/physics/world.h"

#define SIM_CONTACT_SLOP 0.01f
#define SIM_CONTACT_BAUMGARTE 0.2f
#define SIM_CONTACT_FRICTION 0.4f

/* A contact during a step. Point, normal and bias are constant while the bodies move. */
typedef struct SimContact {
  SIM_ALIGN_RECORD SimVec normal;
  SimVec point;
  SimMass a_mass, b_mass;
  real penetration, restitution_target, friction;
  SimVec impulse;        /* accumulated: x along the normal, y along the tangent */
  uint8_t a, b, reward, resolved, forgets, number; /* as in SimPair, which begins with these */
  uint16_t slot;
} SimContact;
enum { SIM_CONTACT_REALS = 13 }; /* that it begins with */

/* Coefficient of a pair from those of its shapes: root of the sum of squares, not a product. */
SIM_FN real sim_contact_friction(real a, real b) {
  real x = a * SIM_CONTACT_FRICTION, y = b * SIM_CONTACT_FRICTION;
  return real_sqrt(x * x + y * y);
}

/* Restitution takes the speed at the step's beginning, whatever its sign. */
SIM_FN real sim_contact_restitution(const SimBody *a, const SimBody *b, SimVec normal, SimVec point, real restitution) {
  SimVec approach = sim_vec_sub(sim_body_velocity_at(*b, point), sim_body_velocity_at(*a, point));
  return sim_vec_dot(approach, normal) * restitution;
}

/* An impulse J at arms r1, r2 from the centres: a receives -J, b receives J. */
SIM_FN SimPush sim_contact_push(const SimContact *c, SimVec r1, SimVec r2, SimVec impulse) {
  SimPush push;
  push.a_velocity = sim_vec_scale(-c->a_mass.inverse_mass, impulse);
  push.b_velocity = sim_vec_scale(c->b_mass.inverse_mass, impulse);
  push.a_spin = -c->a_mass.inverse_inertia * sim_vec_cross(r1, impulse);
  push.b_spin = c->b_mass.inverse_inertia * sim_vec_cross(r2, impulse);
  return push;
}

/* Warm start: the push of the impulse that the last step accumulated. */
SIM_FN SimPush sim_contact_warm_start(const SimContact *c, const SimBody *a, const SimBody *b) {
  SimVec impulse = sim_vec_add(sim_vec_scale(c->impulse.x, c->normal),
                               sim_vec_scale(c->impulse.y, sim_vec_tangent(c->normal)));
  return sim_contact_push(c, sim_vec_sub(c->point, a->position), sim_vec_sub(c->point, b->position), impulse);
}

/* 1 / effective mass of the contact along `axis`. */
SIM_FN real sim_contact_compliance(const SimContact *c, SimVec r1, SimVec r2, SimVec axis) {
  real along1 = sim_vec_dot(r1, axis), along2 = sim_vec_dot(r2, axis);
  return c->a_mass.inverse_mass + c->b_mass.inverse_mass +
         c->a_mass.inverse_inertia * (sim_vec_dot(r1, r1) - along1 * along1) +
         c->b_mass.inverse_inertia * (sim_vec_dot(r2, r2) - along2 * along2);
}

/* What an application needs of the bodies' positions. Only joints change those within a step. */
typedef struct SimContactArms {
  SimVec r1, r2;
  real normal_compliance, tangent_compliance; /* never 0 */
} SimContactArms;

SIM_FN SimContactArms sim_contact_arms(const SimContact *c, SimVec a_position, SimVec b_position) {
  SimContactArms arms = {.r1 = sim_vec_sub(c->point, a_position), .r2 = sim_vec_sub(c->point, b_position)};
  arms.normal_compliance = real_zero_to_one(sim_contact_compliance(c, arms.r1, arms.r2, c->normal));
  arms.tangent_compliance = real_zero_to_one(sim_contact_compliance(c, arms.r1, arms.r2, sim_vec_tangent(c->normal)));
  return arms;
}

/* One application: normal impulse (accumulated >= 0), then friction within its cone on the velocities that the normal
 * impulse leaves. Changes c->impulse; the caller adds the push to the bodies. */
SIM_FN SimPush sim_contact_resolve(SimContact *c, const SimContactArms *arms, const SimBody *a, const SimBody *b) {
  SimVec normal = c->normal, tangent = sim_vec_tangent(normal), r1 = arms->r1, r2 = arms->r2;
  SimVec a_velocity = sim_vec_add(a->velocity, sim_vec_spin(a->angular_velocity, r1));
  SimVec b_velocity = sim_vec_add(b->velocity, sim_vec_spin(b->angular_velocity, r2));
  real speed = sim_vec_dot(sim_vec_sub(b_velocity, a_velocity), normal);
  real bias = -(SIM_CONTACT_BAUMGARTE / SIM_DT) * real_min(real_of(0.0f), -c->penetration + SIM_CONTACT_SLOP);
  real wanted = real_quotient(-speed + bias - c->restitution_target, arms->normal_compliance);
  real total = real_max(c->impulse.x + wanted, real_of(0.0f));
  SimPush push = sim_contact_push(c, r1, r2, sim_vec_scale(total - c->impulse.x, normal));

  a_velocity = sim_vec_add(sim_vec_add(a->velocity, push.a_velocity),
                           sim_vec_spin(a->angular_velocity + push.a_spin, r1));
  b_velocity = sim_vec_add(sim_vec_add(b->velocity, push.b_velocity),
                           sim_vec_spin(b->angular_velocity + push.b_spin, r2));
  real slide = sim_vec_dot(sim_vec_sub(b_velocity, a_velocity), tangent);
  real drag = real_quotient(-slide, arms->tangent_compliance);
  real most = c->friction * total;
  real held = real_clip(c->impulse.y + drag, -most, most);
  SimPush rub = sim_contact_push(c, r1, r2, sim_vec_scale(held - c->impulse.y, tangent));
  c->impulse = sim_vec(total, held);

  push.a_velocity = sim_vec_add(push.a_velocity, rub.a_velocity);
  push.b_velocity = sim_vec_add(push.b_velocity, rub.b_velocity);
  push.a_spin += rub.a_spin;
  push.b_spin += rub.b_spin;
  return push;
}

#endif
