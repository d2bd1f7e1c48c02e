/* Layout of observations. Every kind is a row of floats, so that code which stores observations need not know the kind.
 * Written by observe.h (flat) and observe_entity.h; read by the trainer's encoders.
 *
 * Sources: kinetix/render/renderer_symbolic_common.py, renderer_symbolic_flat.py and renderer_symbolic_entity.py of
 * Kinetix. docs/libsim.md#observations-by-index has the features of the flat one. */
#ifndef SIM_OBSERVE_LAYOUT_H
#define SIM_OBSERVE_LAYOUT_H
#include "sim/physics/level.h"
#include "sim/real.h"

typedef enum SimObservationKind {
  SIM_OBSERVATION_FLAT,      /* one vector (observe.h) */
  SIM_OBSERVATION_PADDED,    /* a matrix, one row per entity, all of one width */
  SIM_OBSERVATION_ENTITY,    /* entities by kind, with masks and relations, for networks over sets and graphs */
} SimObservationKind;

/* ---- entity ------------------------------------------------------------------------------------------------------ */

/* Features of one entity. Shapes: the flat observation's row, then gravity/10. Joints appear twice, seen from b to a
 * and from a to b: joint i is in rows i and J + i. Nothing is clipped; NaN counts as 0. */
enum { SIM_ENTITY_POLYGON = 27, SIM_ENTITY_CIRCLE = 19, SIM_ENTITY_JOINT = 22, SIM_ENTITY_THRUSTER = 8 };

/* Attention masks, as bits for each ordered pair of shapes; 0 where either is inactive. */
enum {
  SIM_ATTEND_ALL = 1,        /* both are active */
  SIM_ATTEND_COMPONENT = 2,  /* both active and connected over any number of joints */
  SIM_ATTEND_NEIGHBOR = 4,  /* joined by one joint */
  SIM_ATTEND_TOUCHING = 8,   /* overlapped in the last physics step, from the pair's first shape to its second */
  SIM_ATTEND_KINDS = 4,
};

/* Offsets in floats. Polygons include all four statics. Features of inactive entities are 0 (the reference leaves the
 * slot's contents, which its masks hide). */
typedef struct SimEntityLayout {
  SimSize size;
  int shapes;                /* polygons + circles */
  int polygons;              /* [P][SIM_ENTITY_POLYGON] */
  int circles;               /* [C][SIM_ENTITY_CIRCLE] */
  int joints;                /* [2 J][SIM_ENTITY_JOINT] */
  int thrusters;             /* [T][SIM_ENTITY_THRUSTER] */
  int polygon_mask, circle_mask, joint_mask, thruster_mask; /* [P] [C] [2 J] [T]: 1 active, 0 not */
  int joint_shapes;          /* [2 J][2]: global shape indices, from and to; 0 0 where inactive */
  int thruster_shapes;       /* [T]: global shape index; 0 where inactive */
  int attention;             /* [shapes][shapes]: SIM_ATTEND_* bits; row attends to column */
  int length;                /* S 289, M 429, L 992 */
} SimEntityLayout;
/* Appends `count` floats to a row; returns their offset. */
SIM_FN int sim_entity_append(int *length, int count) {
  int offset = *length;
  *length += count;
  return offset;
}

SIM_FN SimEntityLayout sim_entity_layout(SimSize size) {
  SimEntityLayout l = {.size = size, .shapes = size.polygons + size.circles};
  l.polygons = sim_entity_append(&l.length, size.polygons * SIM_ENTITY_POLYGON);
  l.circles = sim_entity_append(&l.length, size.circles * SIM_ENTITY_CIRCLE);
  l.joints = sim_entity_append(&l.length, 2 * size.joints * SIM_ENTITY_JOINT);
  l.thrusters = sim_entity_append(&l.length, size.thrusters * SIM_ENTITY_THRUSTER);
  l.polygon_mask = sim_entity_append(&l.length, size.polygons);
  l.circle_mask = sim_entity_append(&l.length, size.circles);
  l.joint_mask = sim_entity_append(&l.length, 2 * size.joints);
  l.thruster_mask = sim_entity_append(&l.length, size.thrusters);
  l.joint_shapes = sim_entity_append(&l.length, 4 * size.joints);
  l.thruster_shapes = sim_entity_append(&l.length, size.thrusters);
  l.attention = sim_entity_append(&l.length, l.shapes * l.shapes);
  return l;
}

/* ---- padded ------------------------------------------------------------------------------------------------------ */

/* Padded layout: the flat observation's rows (polygons without slots 1..3, circles, joints, thrusters), each padded
 * with zeros to the longest one, then one-hot kind (polygon, circle, joint, thruster) and gravity/10; clipped as the
 * flat one. The last five columns are set for inactive entities, too. */
typedef struct SimPaddedLayout { int rows, width, length; } SimPaddedLayout; /* S 6 x 41, M 10 x 45, L 21 x 59 */
/* sim_padded_layout: observe_entity.h */

#endif
