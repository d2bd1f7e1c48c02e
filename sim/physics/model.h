/* Level compiled for stepping: constants shared by all worlds on that level. Lists only the shapes, joints and pairs
 * that can have an effect. Built once per level (model.c), then constant.
 *
 * Sources: Jax2D's jax2d/engine.py (calculate_collision_matrix: which shapes collide; get_pairwise_interaction_indices:
 * lists of pairs; make_impulse_resolver_fn: padded lanes), Kinetix' kinetix/environment/env.py (compute_reward_info:
 * roles). */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H
#include "sim/physics/world.h"

/* Outline in its body's frame. A triangle's unused fourth face has support REAL_HUGE: it never separates. */
typedef struct SimOutline {
  SIM_ALIGN_RECORD SimVec vertex[SIM_VERTICES]; /* clockwise */
  SimVec edge[SIM_VERTICES];                /* unit vector from vertex i to the next */
  real normal_x[SIM_VERTICES], normal_y[SIM_VERTICES]; /* outward, of edge i */
  real support[SIM_VERTICES];               /* largest normal_i . vertex_k */
  real length[SIM_VERTICES];                /* length of edge i */
  mask triangle;
  SimMass mass;                             /* with radius: what a test of two shapes reads in addition to the
                                             * outline */
  real radius;                              /* circles only; the fields above are a polygon's, except mass */
} SimOutline;

typedef struct SimBox { real left, right, bottom, top; } SimBox;

/* Pair of shapes whose contact can have an effect; a < b, and normals point from a to b. */
typedef struct SimPair {
  uint8_t a, b;         /* global shape indices; for cr a is the circle */
  uint8_t reward;       /* SIM_TOUCH and SIM_LAVA bits: meaning of an active manifold for the task */
  uint8_t resolved;     /* whether contacts push the bodies: not joined, not both fixated */
  uint8_t clears_impulse;      /* whether its impulses are cleared after every application, as for padded lanes
                                * (env.pad_writes_zero) */
  uint8_t number;       /* index in the full list of its kind */
  uint16_t slot;        /* slot of its first contact in SimWorld.contact_impulse */
  real friction, restitution;
} SimPair;
enum { SIM_TOUCH = 1, SIM_LAVA = 2, SIM_PAIR_BYTES = 8 }; /* bytes of a pair before its reals */

typedef struct SimJointModel {
  SIM_ALIGN_RECORD mask fixed;
  mask has_limits, motor_on, motor_auto;
  SimVec a_anchor, b_anchor;    /* body frames */
  SimMass a_mass, b_mass;
  real a_share, b_share;        /* shares of the two anchors in the joint point, by mass */
  real inverse_sum_mass, inverse_sum_inertia; /* 1 / z1(1/m_a + 1/m_b), same for inertia */
  real min_rotation, max_rotation, rotation, motor_speed, motor_power;
  uint8_t a, b, slot, binding;  /* slot: index of the joint in the level */
  uint8_t wavefront;            /* joints of a wavefront share no moving body (wavefronts.h) */
} SimJointModel;
enum { SIM_JOINT_REALS = 21 };  /* reals at the start, including masks */

typedef struct SimThrusterModel {
  uint8_t shape, slot, binding;
  SimVec anchor;
  SimMass mass;
  real rotation, power;
} SimThrusterModel;

/* Compiled level. Its lists hold active shapes, active joints, and pairs that can touch. */
typedef struct SimModel {
  SimSize size;
  int shapes, pair_count[SIM_PAIR_KINDS], contacts; /* counts of this size, in use or not */
  SimVec gravity_step;                      /* gravity times dt */
  SimMass mass[SIM_SHAPES_MAX];
  real radius[SIM_SHAPES_MAX];
  SimOutline outline[SIM_SHAPES_MAX];
  SimBody start[SIM_SHAPES_MAX];            /* at the beginning of an episode */
  SimVec corner[SIM_POLYGONS_MAX][SIM_VERTICES]; /* corners in the world, at the start; constant where a shape never
                                                  * moves */
  SIM_ALIGN_RECORD SimBox box[SIM_SHAPES_MAX];
  uint8_t moving[SIM_SHAPES_MAX], active[SIM_SHAPES_MAX]; /* ascending lists; moving: active and able to move */
  bool moves[SIM_SHAPES_MAX];
  int moving_count, active_count;
  SimPair pair[SIM_PAIRS_MAX];              /* rr, then cr, then cc */
  int pair_end[SIM_PAIR_KINDS];             /* end of each kind in `pair` */
  uint8_t pair_box[SIM_PAIRS_MAX + 3][2];   /* byte offsets in `box` of the two shapes' boxes */
  SimJointModel joint[SIM_JOINTS_MAX];
  SimThrusterModel thruster[SIM_THRUSTERS_MAX];
  int joint_count, joint_wavefronts, thruster_count;
  uint8_t goal[SIM_PAIRS_MAX][2];           /* green and blue shape: the dense reward is based on their distance */
  int goal_count;
} SimModel;

/* Builds the model of a level that has passed sim_level_check. pad_writes_zero: env.pad_writes_zero. */
void sim_model_build(const SimLevel *level, bool pad_writes_zero, SimModel *model);

/* Return the pairs of a kind for a size, active or not, and its contact slots. */
SIM_FN int sim_model_pairs(SimSize size, int kind) {
  switch (kind) {
    case SIM_RR: return size.polygons * (size.polygons - 1) / 2 - SIM_STATIC_POLYGONS * (SIM_STATIC_POLYGONS - 1) / 2;
    case SIM_CR: return size.circles * size.polygons;
    default: return size.circles * (size.circles - 1) / 2;
  }
}
SIM_FN int sim_model_contacts(SimSize size) {
  return 2 * sim_model_pairs(size, SIM_RR) + sim_model_pairs(size, SIM_CR) + sim_model_pairs(size, SIM_CC);
}

#endif
