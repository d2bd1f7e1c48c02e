/* Table of the vector kernels (SIMD) of the CPU step: the physics of step.h for many worlds, bodies or pairs at once,
 * one per lane, with the same bits. block.c gathers the work and calls the kernels through this table.
 *
 * The kernels are compiled once for each instruction set (lanes_*.c, each with its own SIM_LANES), where `real` is a
 * vector. They therefore take memory as floats and not as the structs of the physics: a record is such a struct as the
 * scalar code lays it out, with its n reals as n floats. */
#ifndef SIM_LANES_H
#define SIM_LANES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  SIM_LANES_CONTACTS = 192,    /* contacts of one world */
  SIM_LANES_GROUPS = 32,
  SIM_LANES_POSITIONS = 16 * SIM_LANES_GROUPS, /* contacts in the common schedule of the worlds of a vector
                                                * (lanes_solve.h) */
  SIM_LANES_JOINTS = 6,
  SIM_LANES_SLOTS = 16,        /* bodies of one world */
  SIM_LANES_BODY = 8,          /* floats in a body record */
  SIM_LANES_SHOWN = 8,         /* floats in a body's observed features */
  SIM_LANES_CONTACT = 16,      /* floats in a contact record */
  SIM_LANES_JOINT = 24,        /* floats in a joint record */
  SIM_LANES_OUTLINE = 40,      /* floats in an outline record */
  SIM_LANES_ALIGNMENT = 64,    /* bytes: alignment of the solver's memory */
  SIM_LANES_BOX = 4, SIM_LANES_PAIR = 4, /* floats in a box record and in a pair record */
};

typedef struct SimLanesSortKey { uint8_t counts, level, groups; } SimLanesSortKey;

/* Contact of a world in the solver: its number (in the model's order, with gaps) and the slots of its bodies. */
typedef uint16_t SimLanesEntry;
/* mask of the number; first bits of the slots */
enum { SIM_LANES_ENTRY_NUMBER = 255, SIM_LANES_ENTRY_A = 8, SIM_LANES_ENTRY_B = 12 };

/* World in the solver. Its bodies have slots (lanes_slot.h), assigned in the order in which joints and contacts name
 * them: moving bodies from slot 0 up, resting bodies from the last slot down. */
typedef struct SimLanesWorld {
  float *body;                 /* [shape] SimBody records */
  const float *contact;        /* [number] SimContact records */
  const float *joint;          /* SimJointModel records */
  float *contact_impulse;      /* [slot] impulses in SimWorld; in: of the previous step, out: accumulated */
  float *joint_impulse, *joint_spin_impulse; /* [joint slot] impulses in SimWorld */
  int contact_count, group_count, joint_count;
  bool in_order;               /* every body meets its contacts in the same order in `order` and `listing` */
  SimLanesSortKey sort_key;    /* set by block.c */
  uint16_t slots;              /* bits: slots in use */
  uint8_t slot_body[SIM_LANES_SLOTS]; /* [slot] shape */
  uint8_t joint_slots[SIM_LANES_JOINTS]; /* slot of a in the low four bits, of b in the high four */
  uint8_t group_end[SIM_LANES_GROUPS]; /* as in SimScratch */
  SimLanesEntry order[SIM_LANES_CONTACTS]; /* contacts in the solver's order */
  uint8_t listing[SIM_LANES_CONTACTS]; /* positions in `order` of the contacts, in the model's order */
} SimLanesWorld;

/* Pair of shapes to test. */
typedef struct SimLanesPair {
  float *a_body, *b_body;             /* SimBody records */
  const float *a_outline, *b_outline; /* SimOutline records */
  const float *a_corner, *b_corner;   /* four corners in world coordinates; not read for circles */
  const float *pair;                  /* SimPair record */
  const float *impulse;               /* impulse of the first contact in SimWorld; the second's follows it */
  float *contact;                     /* output: SimContact records */
  uint8_t *points; /* output: number of contacts; overlap_polygons: 1 if they overlap */
} SimLanesPair;

/* Moving polygon. */
typedef struct SimLanesPolygon {
  float *body;                 /* SimBody record */
  const float *outline;        /* SimOutline record */
  float *corner, *box;         /* output: corners, SimBox record */
} SimLanesPolygon;

/* Motor with a control signal. */
typedef struct SimLanesMotor {
  float *a_body, *b_body;
  const float *joint;          /* SimJointModel record */
  float control;
  float *spin;                 /* output: angular impulse */
} SimLanesMotor;

typedef struct SimLanesKernels {
  const char *name;            /* "avx2", ... */
  /* Broad phase: sets bit i of overlap_bits if the boxes of pair i overlap (sim_collide_boxes). offset: bytes from
   * `box` to the two SimBox records of each pair. Reads pairs and writes bits up to the next multiple of four. */
  void (*find_overlaps)(const float *box, const uint8_t (*offset)[2], int count, uint64_t *overlap_bits);
  /* Narrow phase of `count` pairs, and their contacts: two polygons, circle and polygon, two circles. */
  void (*collide_polygons)(const SimLanesPair *pair, int count);
  void (*collide_circle_polygons)(const SimLanesPair *pair, int count);
  void (*collide_circles)(const SimLanesPair *pair, int count);
  /* Tests `count` pairs of polygons for overlap only; writes no contacts. */
  void (*overlap_polygons)(const SimLanesPair *pair, int count);
  /* Computes corners and boxes of `count` moving polygons. */
  void (*update_polygons)(const SimLanesPolygon *polygon, int count);
  /* Computes the angular impulses of `count` motors. */
  void (*drive_motors)(const SimLanesMotor *motor, int count);
  /* Integrates the positions of `count` bodies (SimBody records) over one step. */
  void (*advance)(float *const *body, int count);
  /* Writes the observed features of `count` bodies in the order of sim_observe_moving: seven floats each, and a
   * zero. */
  void (*show)(float *const *body, int count, float *shown);
  /* Runs warm start and all solver iterations of `count` <= solve_most worlds. memory: solve_bytes of memory, aligned
   * to SIM_LANES_ALIGNMENT. */
  int solve_most;
  size_t solve_bytes;
  void (*solve)(SimLanesWorld *const *world, int count, void *memory);
} SimLanesKernels;

extern const SimLanesKernels SIM_LANES_AVX2, SIM_LANES_AVX2X2, SIM_LANES_AVX512;

#endif
