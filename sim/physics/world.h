/* State of a world: everything that a step depends on and changes, without pointers. Also the small types shared by all
 * of the physics (vectors, bodies, velocity deltas). Constants of an episode are in model.h.
 *
 * Units: meters, radians, seconds, kilograms; impulses in kg m/s. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H
#include "sim/physics/level.h"
#include "sim/real.h"

/* The engine's constants (SimParams in Jax2D's jax2d/sim_state.py). */
#define SIM_DT (1.0f / 60.0f)
#define SIM_POSITION_MAX 15.0f
#define SIM_VELOCITY_MAX 100.0f
#define SIM_ANGULAR_VELOCITY_MAX 50.0f
enum { SIM_SOLVER_ITERATIONS = 10, SIM_SOLVER_LANES = 16 };

enum {
  SIM_RR_MAX = SIM_POLYGONS_MAX * (SIM_POLYGONS_MAX - 1) / 2 - 6, /* without pairs of two statics */
  SIM_CR_MAX = SIM_CIRCLES_MAX * SIM_POLYGONS_MAX,
  SIM_CC_MAX = SIM_CIRCLES_MAX * (SIM_CIRCLES_MAX - 1) / 2,
  SIM_PAIRS_MAX = SIM_RR_MAX + SIM_CR_MAX + SIM_CC_MAX,
  SIM_CONTACTS_MAX = 2 * SIM_RR_MAX + SIM_CR_MAX + SIM_CC_MAX,
  SIM_WARM_WORDS = (SIM_CONTACTS_MAX + 63) / 64,
};
enum { SIM_RR, SIM_CR, SIM_CC, SIM_PAIR_KINDS };

typedef struct SimVec { real x, y; } SimVec;

SIM_FN SimVec sim_vec(real x, real y) { return (SimVec){x, y}; }
SIM_FN SimVec sim_vec_add(SimVec a, SimVec b) { return sim_vec(a.x + b.x, a.y + b.y); }
SIM_FN SimVec sim_vec_sub(SimVec a, SimVec b) { return sim_vec(a.x - b.x, a.y - b.y); }
SIM_FN SimVec sim_vec_scale(real s, SimVec v) { return sim_vec(s * v.x, s * v.y); }
SIM_FN real sim_vec_dot(SimVec a, SimVec b) { return a.x * b.x + a.y * b.y; }
SIM_FN real sim_vec_cross(SimVec a, SimVec b) { return a.x * b.y - a.y * b.x; }
/* Returns the cross product of an angular velocity w and v: the velocity at arm v. */
SIM_FN SimVec sim_vec_cross_scalar(real w, SimVec v) { return sim_vec(-w * v.y, w * v.x); }
SIM_FN SimVec sim_vec_tangent(SimVec n) { return sim_vec(n.y, -n.x); }
SIM_FN SimVec sim_vec_select(mask m, SimVec a, SimVec b) {
  return sim_vec(real_select(m, a.x, b.x), real_select(m, a.y, b.y));
}
/* Rotate by the angle with this sine and cosine, and back. */
SIM_FN SimVec sim_vec_rotate(real sine, real cosine, SimVec v) {
  return sim_vec(cosine * v.x - sine * v.y, sine * v.x + cosine * v.y);
}
SIM_FN SimVec sim_vec_unrotate(real sine, real cosine, SimVec v) {
  return sim_vec(cosine * v.x + sine * v.y, cosine * v.y - sine * v.x);
}

/* Motion and pose of a body. Sine and cosine are those of `rotation`. The fields that a contact changes come first, so
 * that the vector kernels need not load the rest. */
typedef struct SimBody {
  SimVec velocity;
  real angular_velocity, rotation;
  SimVec position;
  real sine, cosine;
} SimBody;

/* Both 0: the body is fixated. */
typedef struct SimMass { real inverse_mass, inverse_inertia; } SimMass;

/* Returns the velocity at the world point p of a body that moves with b. */
SIM_FN SimVec sim_body_velocity_at(SimBody b, SimVec p) {
  return sim_vec_add(b.velocity, sim_vec_cross_scalar(b.angular_velocity, sim_vec_sub(p, b.position)));
}
SIM_FN SimVec sim_body_to_world(SimBody b, SimVec local) {
  return sim_vec_add(sim_vec_rotate(b.sine, b.cosine, local), b.position);
}

/* Changes of two bodies' velocities by a contact or joint. */
typedef struct SimVelocityDelta {
  SimVec a_velocity, b_velocity;
  real a_angular_velocity, b_angular_velocity;
} SimVelocityDelta;

/* State of a world, just under 2 KiB. Impulses of inactive contacts and joints are 0. */
typedef struct SimWorld {
  SIM_ALIGN_RECORD SimBody body[SIM_SHAPES_MAX];
  SimVec joint_impulse[SIM_JOINTS_MAX];
  real joint_spin_impulse[SIM_JOINTS_MAX];
  SimVec contact_impulse[SIM_CONTACTS_MAX]; /* x along the normal, y along the tangent */
  uint64_t warm[SIM_WARM_WORDS];            /* a bit for each contact impulse that may be nonzero */
  real last_distance;                       /* -1: none yet in this episode */
  int32_t level, timestep;
  uint32_t episode;
  int32_t keeps_level;                      /* whether auto-reset starts the same level again */
  /* bits of the pairs in SimModel.pair that overlapped in the last step; for observations only */
  uint32_t overlap_pairs[(SIM_PAIRS_MAX + 31) / 32];
} SimWorld;

#endif
