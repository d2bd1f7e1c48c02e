/* The vector kernels of the CPU step: the same physics as step.h walks one world at a time, for many worlds, bodies or
 * pairs side by side, with the same bits. block.c gathers the work and calls them; this is all that it knows of them.
 *
 * The kernels are compiled once for every kind of processor (lanes_*.c; each includes lanes_kernels.h with its own
 * SIM_LANES), where `real` is a vector; so they get memory as floats, never as the structs of the physics. A record is
 * such a struct as the scalar code lays it out: its n reals are n floats. */
#ifndef SIM_LANES_H
#define SIM_LANES_H
#include <stdbool.h>
#include <stdint.h>

enum {
  SIM_LANES_SOLVE = 16,        /* worlds that the solver takes at once */
  SIM_LANES_CONTACTS = 192,    /* of a world */
  SIM_LANES_GROUPS = 32,
  SIM_LANES_PLACES = 16 * SIM_LANES_GROUPS, /* for several worlds' contacts, each group as large as in one of them */
  SIM_LANES_JOINTS = 6,
  SIM_LANES_BODY = 8,          /* floats from one body to the next */
  SIM_LANES_CONTACT = 16,      /* floats from one contact to the next */
  SIM_LANES_JOINT = 24,        /* floats from one joint to the next */
  SIM_LANES_OUTLINE = 40,      /* floats of an outline */
  SIM_LANES_BOX = 4, SIM_LANES_PAIR = 4, /* floats from one of them to the next */
};

typedef struct SimLanesLikeness { uint8_t counts, level, groups; } SimLanesLikeness;

/* A world's part in the solver. Contacts have numbers, in the order of listing but not without gaps. */
typedef struct SimLanesWorld {
  float *body;                 /* SimBody records, by shape */
  const bool *moves;           /* which of them can move at all */
  const float *contact;        /* SimContact records by number */
  const float *joint;          /* SimJointModel records */
  float *contact_impulse;      /* of SimWorld, by the contact's slot: gets what the solver made of the record's */
  float *joint_impulse, *joint_spin_impulse; /* of SimWorld; by the joint's slot */
  int contact_count, group_count, joint_count;
  SimLanesLikeness likeness;   /* block.c's, to sort by */
  uint8_t listed[SIM_LANES_CONTACTS]; /* contacts in the order of listing */
  uint8_t order[SIM_LANES_CONTACTS], group_end[SIM_LANES_GROUPS]; /* as in SimScratch */
} SimLanesWorld;

/* Two shapes to be tested against each other. */
typedef struct SimLanesPair {
  float *a_body, *b_body;             /* SimBody records */
  const float *a_outline, *b_outline; /* SimOutline records */
  const float *a_corner, *b_corner;   /* their four corners in the world; not read of circles */
  const float *pair;                  /* its SimPair record */
  const float *impulse;               /* kept of its first contact, in SimWorld; its second's is the next */
  float *contact;                     /* gets SimContact records, of as many contacts as there are */
  uint8_t *points; /* gets how many there are; 1 where the shapes overlap and nobody wants contacts */
} SimLanesPair;

/* A polygon that moves. */
typedef struct SimLanesPolygon {
  float *body;                 /* its SimBody record */
  const float *outline;        /* its SimOutline record */
  float *corner, *box;         /* get corners and SimBox record */
} SimLanesPolygon;

/* A motor that is on. */
typedef struct SimLanesMotor {
  float *a_body, *b_body;
  const float *joint;          /* its SimJointModel record */
  float control;
  float *spin;                 /* gets the angular impulse */
} SimLanesMotor;

typedef struct SimLanesKernels {
  const char *name;            /* "avx2" ... */
  /* Which of `count` pairs of SimBox records meet, as bits (sim_collide_boxes). offset: from `box` to each pair's two,
   * in bytes; pairs are read, and bits given, up to the next multiple of four. */
  void (*find_meeting)(const float *box, const uint8_t (*offset)[2], int count, uint64_t *meeting);
  /* What `count` pairs of two polygons, of a circle and a polygon, or of two circles do to each other. */
  void (*collide_polygons)(const SimLanesPair *pair, int count);
  void (*collide_circle_polygons)(const SimLanesPair *pair, int count);
  void (*collide_circles)(const SimLanesPair *pair, int count);
  /* The same as collide_polygons without contacts, where only the overlap matters. */
  void (*overlap_polygons)(const SimLanesPair *pair, int count);
  void (*place_polygons)(const SimLanesPolygon *polygon, int count);
  void (*drive_motors)(const SimLanesMotor *motor, int count);
  /* Moves bodies (SimBody records) by a step. */
  void (*advance)(float *const *body, int count);
  /* Warm start and all solver iterations of `count` <= SIM_LANES_SOLVE worlds. */
  void (*solve)(SimLanesWorld *const *world, int count);
} SimLanesKernels;

extern const SimLanesKernels SIM_LANES_AVX2, SIM_LANES_AVX2X2, SIM_LANES_AVX512;

#endif
