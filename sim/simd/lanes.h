/* The vector kernels (SIMD) of the CPU step: the physics of step.h for many worlds, bodies or pairs at once, one per
 * lane, with the same bits. block.c gathers their work and calls them through this table.
 *
 * The kernels are compiled once for each kind of processor (lanes_*.c, each with its own SIM_LANES). There `real` is a
 * vector. So they get memory as floats, not as the structs of the physics: a record is such a struct as the scalar code
 * lays it out, its n reals as n floats. */
#ifndef SIM_LANES_H
#define SIM_LANES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  SIM_LANES_CONTACTS = 192,    /* of a world */
  SIM_LANES_GROUPS = 32,
  SIM_LANES_POSITIONS = 16 * SIM_LANES_GROUPS, /* contacts of the common schedule of several worlds (lanes_solve.h) */
  SIM_LANES_JOINTS = 6,
  SIM_LANES_SLOTS = 16,        /* for the bodies of a world */
  SIM_LANES_BODY = 8,          /* floats from one body to the next */
  SIM_LANES_SHOWN = 8,         /* floats from what is shown of one body to the next */
  SIM_LANES_CONTACT = 16,      /* floats from one contact to the next */
  SIM_LANES_JOINT = 24,        /* floats from one joint to the next */
  SIM_LANES_OUTLINE = 40,      /* floats of an outline */
  SIM_LANES_ALIGNMENT = 64,    /* bytes: of the memory that solvers get */
  SIM_LANES_BOX = 4, SIM_LANES_PAIR = 4, /* floats from one of them to the next */
};

typedef struct SimLanesSortKey { uint8_t counts, level, groups; } SimLanesSortKey;

/* A contact of a world in the solver: its number (in the order of the model, with gaps) and its bodies' slots. */
typedef uint16_t SimLanesEntry;
enum { SIM_LANES_ENTRY_NUMBER = 255, SIM_LANES_ENTRY_A = 8, SIM_LANES_ENTRY_B = 12 }; /* its bits; where slots begin */

/* A world in the solver. Its bodies have slots there (lanes_slot.h), in the order in which joints and contacts name
 * them: those that move from slot 0 up, others from the last slot down. */
typedef struct SimLanesWorld {
  float *body;                 /* SimBody records, by shape */
  const float *contact;        /* SimContact records by number */
  const float *joint;          /* SimJointModel records */
  float *contact_impulse;      /* of SimWorld, by slot; out: the accumulated impulses */
  float *joint_impulse, *joint_spin_impulse; /* of SimWorld; by the joint's slot */
  int contact_count, group_count, joint_count;
  bool in_order;               /* bodies are pushed by contacts in the same order in `order` and in `listing` */
  SimLanesSortKey sort_key;    /* of block.c */
  uint16_t slots;              /* bits: which are in use */
  uint8_t slot_body[SIM_LANES_SLOTS]; /* by slot: the shape */
  uint8_t joint_slots[SIM_LANES_JOINTS]; /* a's, and 16 times b's */
  uint8_t group_end[SIM_LANES_GROUPS];   /* as in SimScratch */
  SimLanesEntry order[SIM_LANES_CONTACTS]; /* contacts in the order of the solver */
  uint8_t listing[SIM_LANES_CONTACTS];   /* in the order of the model: where they are in `order` */
} SimLanesWorld;

/* A pair of shapes to test. */
typedef struct SimLanesPair {
  float *a_body, *b_body;             /* SimBody records */
  const float *a_outline, *b_outline; /* SimOutline records */
  const float *a_corner, *b_corner;   /* four corners in the world; not read of circles */
  const float *pair;                  /* its SimPair record */
  const float *impulse;               /* of its first contact, in SimWorld; the second's follows */
  float *contact;                     /* out: SimContact records */
  uint8_t *points; /* out: number of contacts; overlap_polygons: 1 if they overlap */
} SimLanesPair;

/* A polygon that moves. */
typedef struct SimLanesPolygon {
  float *body;                 /* its SimBody record */
  const float *outline;        /* its SimOutline record */
  float *corner, *box;         /* out: corners, SimBox record */
} SimLanesPolygon;

/* A motor under control. */
typedef struct SimLanesMotor {
  float *a_body, *b_body;
  const float *joint;          /* its SimJointModel record */
  float control;
  float *spin;                 /* out: the angular impulse */
} SimLanesMotor;

typedef struct SimLanesKernels {
  const char *name;            /* "avx2" ... */
  /* Broad phase: which of `count` pairs of boxes overlap, as bits (sim_collide_boxes). offset: in bytes, from `box` to
   * the two SimBox records of each pair. Reads pairs, and writes bits, up to the next multiple of four. */
  void (*find_overlaps)(const float *box, const uint8_t (*offset)[2], int count, uint64_t *overlap_bits);
  /* Narrow phase of `count` pairs and the contacts that follow: two polygons, circle and polygon, two circles. */
  void (*collide_polygons)(const SimLanesPair *pair, int count);
  void (*collide_circle_polygons)(const SimLanesPair *pair, int count);
  void (*collide_circles)(const SimLanesPair *pair, int count);
  /* As collide_polygons, but only whether they overlap. */
  void (*overlap_polygons)(const SimLanesPair *pair, int count);
  /* Corners and boxes of `count` moving polygons. */
  void (*update_polygons)(const SimLanesPolygon *polygon, int count);
  /* Angular impulses of `count` motors. */
  void (*drive_motors)(const SimLanesMotor *motor, int count);
  /* Advances `count` bodies (SimBody records) by a step. */
  void (*advance)(float *const *body, int count);
  /* What flat observations show of `count` bodies (sim_observe_moving), in its order: seven floats each, and a zero. */
  void (*show)(float *const *body, int count, float *shown);
  /* Warm start and all solver iterations of `count` <= solve_most worlds. room: solve_bytes of memory, at a multiple of
   * SIM_LANES_ALIGNMENT. */
  int solve_most;
  size_t solve_bytes;
  void (*solve)(SimLanesWorld *const *world, int count, void *room);
} SimLanesKernels;

extern const SimLanesKernels SIM_LANES_AVX2, SIM_LANES_AVX2X2, SIM_LANES_AVX512;

#endif
