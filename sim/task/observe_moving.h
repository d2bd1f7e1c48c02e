/* Features of a moving shape in an observation (docs/libsim.md#observations-by-index): of one body or, in the vector
 * kernels, of one per lane. observe.h defines their position in a row. */
#ifndef SIM_OBSERVE_MOVING_H
#define SIM_OBSERVE_MOVING_H
#include <stddef.h>

#include "sim/physics/model.h"

enum { SIM_OBSERVE_MOVING = 7 }; /* number of components that change while a shape moves */

/* Components of a shape by their index in its row. */
enum {
  SIM_COMPONENT_X, SIM_COMPONENT_Y, SIM_COMPONENT_VX, SIM_COMPONENT_VY, /* change */
  SIM_COMPONENT_INVERSE_MASS, SIM_COMPONENT_INVERSE_INERTIA, SIM_COMPONENT_DENSITY,
  SIM_COMPONENT_SPIN,          /* angular velocity; changes */
  SIM_COMPONENT_ROLE,          /* and the three after it: one-hot */
  SIM_COMPONENT_SINE = 12, SIM_COMPONENT_COSINE, /* rotation; change */
  SIM_COMPONENT_FRICTION, SIM_COMPONENT_RESTITUTION,
};
#define SIM_OBSERVE_CLIP 10.0f

SIM_FN real sim_observe_clip(real x) {
  const real most = real_of(SIM_OBSERVE_CLIP);
  return real_select(real_is_nan(x), real_of(0.0f), real_clip(x, -most, most));
}

/* Returns an angular velocity as observed. */
SIM_FN real sim_observe_angular_velocity(real w) { return real_tanh(real_quotient(w, real_of(10.0f))); }

/* Returns feature `component` of a moving shape; `otherwise` where it is constant. */
SIM_FN real sim_observe_component(const SimBody *body, int component, real otherwise) {
  switch (component) {
    case SIM_COMPONENT_X: return sim_observe_clip(body->position.x);
    case SIM_COMPONENT_Y: return sim_observe_clip(body->position.y);
    case SIM_COMPONENT_VX: return sim_observe_clip(body->velocity.x);
    case SIM_COMPONENT_VY: return sim_observe_clip(body->velocity.y);
    case SIM_COMPONENT_SPIN: return sim_observe_clip(sim_observe_angular_velocity(body->angular_velocity));
    case SIM_COMPONENT_SINE: return sim_observe_clip(body->sine);
    case SIM_COMPONENT_COSINE: return sim_observe_clip(body->cosine);
    default: return otherwise;
  }
}

/* ---- for GPUs, a few elements per thread: a table with the source of each element of a row ----------------------- */

/* Source of an element of a row: the body's while its shape moves, else the template's. Aligned, so that it is read at
 * once. */
typedef struct __attribute__((aligned(4))) SimObserved {
  uint16_t place;              /* index in the template */
  uint8_t shape;
  uint8_t number;              /* index of the float in SimBody, or one of these: */
} SimObserved;
enum {
  SIM_OBSERVED_ANGULAR_VELOCITY = 2, /* angular velocity, which is observed as its tanh */
  SIM_OBSERVED_COSINE = 7,
  SIM_OBSERVED_CONSTANT = 8,   /* always the template's */
  SIM_OBSERVED_PAIR = 16,      /* + a shape: whether the two overlap (observe_entity.h) */
};

/* Returns the source of component `component` of a shape, at index `place`. */
SIM_FN SimObserved sim_observed_component(int place, int shape, int component) {
  SimObserved o = {(uint16_t)place, (uint8_t)shape, SIM_OBSERVED_CONSTANT};
  switch (component) {
    case SIM_COMPONENT_X: o.number = offsetof(SimBody, position.x) / sizeof(real); break;
    case SIM_COMPONENT_Y: o.number = offsetof(SimBody, position.y) / sizeof(real); break;
    case SIM_COMPONENT_VX: o.number = offsetof(SimBody, velocity.x) / sizeof(real); break;
    case SIM_COMPONENT_VY: o.number = offsetof(SimBody, velocity.y) / sizeof(real); break;
    case SIM_COMPONENT_SPIN: o.number = SIM_OBSERVED_ANGULAR_VELOCITY; break;
    case SIM_COMPONENT_SINE: o.number = offsetof(SimBody, sine) / sizeof(real); break;
    case SIM_COMPONENT_COSINE: o.number = SIM_OBSERVED_COSINE; break;
    default: o.shape = 0;
  }
  return o;
}

/* Writes all components, in order. */
SIM_FN void sim_observe_moving(const SimBody *body, real f[SIM_OBSERVE_MOVING]) {
  const real none = real_of(0.0f);
  f[0] = sim_observe_component(body, SIM_COMPONENT_X, none);
  f[1] = sim_observe_component(body, SIM_COMPONENT_Y, none);
  f[2] = sim_observe_component(body, SIM_COMPONENT_VX, none);
  f[3] = sim_observe_component(body, SIM_COMPONENT_VY, none);
  f[4] = sim_observe_component(body, SIM_COMPONENT_SPIN, none);
  f[5] = sim_observe_component(body, SIM_COMPONENT_SINE, none);
  f[6] = sim_observe_component(body, SIM_COMPONENT_COSINE, none);
}

#endif
