/* The features of a moving shape in an observation (spec kinetix.md 3.3): of one body or, in the vector kernels, of one
 * a lane. observe.h says where in a row they are. */
#ifndef SIM_OBSERVE_MOVING_H
#define SIM_OBSERVE_MOVING_H
#include "sim/physics/model.h"

enum { SIM_OBSERVE_MOVING = 7 };
#define SIM_OBSERVE_CLIP 10.0f

SIM_FN real sim_observe_clip(real x) {
  const real most = real_of(SIM_OBSERVE_CLIP);
  return real_select(real_is_nan(x), real_of(0.0f), real_clip(x, -most, most));
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

/* All of them, in the order of their places. */
SIM_FN void sim_observe_moving(const SimBody *body, real f[SIM_OBSERVE_MOVING]) {
  const real none = real_of(0.0f);
  f[0] = sim_observe_component(body, 0, none);
  f[1] = sim_observe_component(body, 1, none);
  f[2] = sim_observe_component(body, 2, none);
  f[3] = sim_observe_component(body, 3, none);
  f[4] = sim_observe_component(body, 7, none);
  f[5] = sim_observe_component(body, 12, none);
  f[6] = sim_observe_component(body, 13, none);
}

#endif
