/* What the physics works on: the state of a world, and the constants of the level that it plays.
 *
 * SimWorld is everything that a step depends on and changes; it holds no pointers. SimModel (made once a level by
 * model.c, shared by all worlds on that level) holds masses, outlines, joints and the list of pairs that can matter.
 * Units: metres, radians, seconds, kilograms, kg m/s for impulses. Formulas: spec kinetix.md 1 and 2. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H
#include "sim/level.h"
#include "sim/real.h"

/* The engine's constants (spec 1.2). */
#define SIM_DT (1.0f / 60.0f)
#define SIM_POSITION_MAX 15.0f
#define SIM_VELOCITY_MAX 100.0f
#define SIM_ANGULAR_VELOCITY_MAX 50.0f
enum { SIM_SOLVER_ITERATIONS = 10, SIM_SOLVER_LANES = 16 };

enum {
  SIM_MAX_RR = SIM_MAX_POLYGONS * (SIM_MAX_POLYGONS - 1) / 2 - 6, /* pairs of the four statics are not listed */
  SIM_MAX_CR = SIM_MAX_CIRCLES * SIM_MAX_POLYGONS,
  SIM_MAX_CC = SIM_MAX_CIRCLES * (SIM_MAX_CIRCLES - 1) / 2,
  SIM_MAX_PAIRS = SIM_MAX_RR + SIM_MAX_CR + SIM_MAX_CC,
  SIM_MAX_CONTACTS = 2 * SIM_MAX_RR + SIM_MAX_CR + SIM_MAX_CC,
};
enum { SIM_RR, SIM_CR, SIM_CC, SIM_PAIR_KINDS };

typedef struct SimVec { real x, y; } SimVec;

SIM_FN SimVec sim_vec(real x, real y) { return (SimVec){x, y}; }
SIM_FN SimVec sim_vec_add(SimVec a, SimVec b) { return sim_vec(a.x + b.x, a.y + b.y); }
SIM_FN SimVec sim_vec_sub(SimVec a, SimVec b) { return sim_vec(a.x - b.x, a.y - b.y); }
SIM_FN SimVec sim_vec_scale(real s, SimVec v) { return sim_vec(s * v.x, s * v.y); }
SIM_FN real sim_vec_dot(SimVec a, SimVec b) { return a.x * b.x + a.y * b.y; }
SIM_FN real sim_vec_cross(SimVec a, SimVec b) { return a.x * b.y - a.y * b.x; }
SIM_FN SimVec sim_vec_spin(real w, SimVec v) { return sim_vec(-w * v.y, w * v.x); } /* velocity at v of a spin w */
SIM_FN SimVec sim_vec_tangent(SimVec n) { return sim_vec(n.y, -n.x); }
SIM_FN SimVec sim_vec_select(mask m, SimVec a, SimVec b) {
  return sim_vec(real_select(m, a.x, b.x), real_select(m, a.y, b.y));
}
/* Rotation by the angle with this sine and cosine, and back. */
SIM_FN SimVec sim_vec_rotate(real sine, real cosine, SimVec v) {
  return sim_vec(cosine * v.x - sine * v.y, sine * v.x + cosine * v.y);
}
SIM_FN SimVec sim_vec_unrotate(real sine, real cosine, SimVec v) {
  return sim_vec(cosine * v.x + sine * v.y, cosine * v.y - sine * v.x);
}

/* A body in motion. Sine and cosine always belong to `rotation`. */
typedef struct SimBody {
  SimVec position, velocity;
  real angular_velocity, rotation, sine, cosine;
} SimBody;

/* 0 and 0: fixated. */
typedef struct SimMass { real inverse_mass, inverse_inertia; } SimMass;

/* Velocity at the world point p of a body that moves with b. */
SIM_FN SimVec sim_body_velocity_at(SimBody b, SimVec p) {
  return sim_vec_add(b.velocity, sim_vec_spin(b.angular_velocity, sim_vec_sub(p, b.position)));
}
SIM_FN SimVec sim_body_to_world(SimBody b, SimVec local) {
  return sim_vec_add(sim_vec_rotate(b.sine, b.cosine, local), b.position);
}

/* What two bodies receive from a contact or joint. */
typedef struct SimPush {
  SimVec a_velocity, b_velocity;
  real a_spin, b_spin;
} SimPush;

/* An outline in its body's frame. A triangle has its unused fourth face at support REAL_HUGE: it never separates. */
typedef struct SimOutline {
  SimVec vertex[SIM_VERTICES];              /* clockwise */
  SimVec edge[SIM_VERTICES];                /* unit vector from vertex i to the next */
  real length[SIM_VERTICES];                /* of edge i */
  real normal_x[SIM_VERTICES], normal_y[SIM_VERTICES]; /* outward, of edge i */
  real support[SIM_VERTICES];               /* largest normal_i . vertex_k */
  mask triangle;
} SimOutline;

typedef struct SimBox { real left, right, bottom, top; } SimBox;

/* Two shapes whose contact can matter; a < b in listing order, and normals point from a to b. */
typedef struct SimPair {
  uint8_t a, b;         /* global shape indices; for cr a is the circle */
  uint8_t reward;       /* SIM_TOUCH and SIM_LAVA bits: what an active manifold means to the task */
  uint8_t resolved;     /* pushes the bodies: not joined, not both fixated */
  uint8_t forgets;      /* the padded lanes of spec 2.4 clear its impulses after every application */
  uint8_t number;       /* index in the full list of its kind (spec 2.1) */
  uint16_t slot;        /* of its first contact in SimWorld.contact_impulse */
  real friction, restitution;
} SimPair;
enum { SIM_TOUCH = 1, SIM_LAVA = 2 };

typedef struct SimJointModel {
  uint8_t a, b, slot, binding;  /* slot: which joint of the level */
  mask fixed, has_limits, motor_on, motor_auto;
  SimVec a_anchor, b_anchor;    /* body frames */
  SimMass a_mass, b_mass;
  real a_share, b_share;        /* of the two anchors in the joint point; by mass */
  real inverse_sum_mass, inverse_sum_inertia; /* 1 / z1(1/m_a + 1/m_b), same for inertia */
  real min_rotation, max_rotation, rotation, motor_speed, motor_power;
} SimJointModel;

typedef struct SimThrusterModel {
  uint8_t shape, slot, binding;
  SimVec anchor;
  SimMass mass;
  real rotation, power;
} SimThrusterModel;

/* A level made ready. Lists hold only what can have an effect: active shapes, joints that act, pairs that can touch. */
typedef struct SimModel {
  SimSize size;
  int shapes, pairs_listed[SIM_PAIR_KINDS], contacts; /* slots by size, active or not */
  SimVec gravity_step;                      /* gravity times dt */
  SimMass mass[SIM_MAX_SHAPES];
  real radius[SIM_MAX_SHAPES];
  SimOutline outline[SIM_MAX_POLYGONS];
  SimBody start[SIM_MAX_SHAPES];            /* at the beginning of an episode */
  SimVec corner[SIM_MAX_POLYGONS][SIM_VERTICES]; /* in the world, at the start: for good where a shape is frozen */
  SimBox box[SIM_MAX_SHAPES];
  uint8_t moving[SIM_MAX_SHAPES], active[SIM_MAX_SHAPES]; /* lists; moving = active and not frozen */
  int moving_count, active_count;
  SimPair pair[SIM_MAX_PAIRS];              /* rr, then cr, then cc */
  int pair_end[SIM_PAIR_KINDS];             /* where each kind ends in `pair` */
  SimJointModel joint[SIM_MAX_JOINTS];
  SimThrusterModel thruster[SIM_MAX_THRUSTERS];
  int joint_count, thruster_count;
  uint8_t goal[SIM_MAX_PAIRS][2];           /* green and blue: their distance is the dense reward's */
  int goal_count;
} SimModel;

/* A world's state, 2 KiB. Impulses of contacts and joints that are not active are 0. */
typedef struct SimWorld {
  SimBody body[SIM_MAX_SHAPES];
  SimVec joint_impulse[SIM_MAX_JOINTS];
  real joint_spin_impulse[SIM_MAX_JOINTS];
  SimVec contact_impulse[SIM_MAX_CONTACTS]; /* x along the normal, y along the tangent */
  real last_distance;                       /* -1: none yet in this episode */
  int32_t level, timestep;
  uint32_t episode;
  int32_t keeps_level;                      /* auto-reset starts the same level again */
} SimWorld;

#endif
