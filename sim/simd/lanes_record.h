/* Loads and stores of the records of lanes.h, one record per lane. Included only by the kernels' headers. */
#ifndef SIM_LANES_RECORD_H
#define SIM_LANES_RECORD_H
#if defined(SIM_LANES)
#include "sim/physics/model.h"
#include "sim/simd/lanes.h"

/* Sets from[lane] to the member of the lane's item; lanes from `count` on repeat lane 0. */
#define LANES_OF(item, count, member, from) \
  LANES_UNROLL for (int i = 0; i < SIM_LANES; i++) from[i] = item[i < count ? i : 0].member

/* Runs a kernel for up to SIM_LANES items over any number of items. */
#define LANES_FOR_ALL(kernel, item, count) \
  for (int i = 0; i < count; i += SIM_LANES) kernel(item + i, count - i < SIM_LANES ? count - i : SIM_LANES)

/* First floats of the two quads of a body record (SimBody): its motion, the only part that contacts change, and its
 * pose. */
enum { LANES_MOTION = 0, LANES_POSE = 4 };

SIM_FN void lanes_load_motion(float *const record[SIM_LANES], SimBody *body) {
  real f[4];
  lanes_load_four((const float *const *)record, LANES_MOTION, f);
  body->velocity = sim_vec(f[0], f[1]);
  body->angular_velocity = f[2];
  body->rotation = f[3];
}
SIM_FN void lanes_load_pose(float *const record[SIM_LANES], SimBody *body) {
  real f[4];
  lanes_load_four((const float *const *)record, LANES_POSE, f);
  body->position = sim_vec(f[0], f[1]);
  body->sine = f[2];
  body->cosine = f[3];
}
SIM_FN SimBody lanes_load_body(float *const record[SIM_LANES]) {
  SimBody body;
  lanes_load_motion(record, &body);
  lanes_load_pose(record, &body);
  return body;
}
SIM_FN void lanes_store_four(const real from[4], float *const record[SIM_LANES], int offset) {
  lanes_row row[LANES_QUAD_ROWS];
  lanes_four_to_rows(from, row);
  lanes_write_rows(record, offset, row);
}
SIM_FN void lanes_store_motion(float *const record[SIM_LANES], const SimBody *body) {
  real f[4] = {body->velocity.x, body->velocity.y, body->angular_velocity, body->rotation};
  lanes_store_four(f, record, LANES_MOTION);
}
SIM_FN void lanes_store_pose(float *const record[SIM_LANES], const SimBody *body) {
  real f[4] = {body->position.x, body->position.y, body->sine, body->cosine};
  lanes_store_four(f, record, LANES_POSE);
}

/* Outline record, and the first floats of its parts. */
typedef union LanesOutline {
  real row[SIM_LANES_OUTLINE];
  SimOutline outline;
} LanesOutline;
enum { LANES_VERTICES = 0, LANES_EDGES = 8, LANES_NORMALS = 16, LANES_SUPPORT = 24, LANES_REST = 32 };

SIM_FN void lanes_load_outline_part(const float *const record[SIM_LANES], int part, LanesOutline *o) {
  const float *from[SIM_LANES];
  LANES_UNROLL for (int i = 0; i < SIM_LANES; i++) from[i] = record[i] + part;
  lanes_load(from, o->row + part);
}
/* Loads kind of shape, mass and radius. */
SIM_FN void lanes_load_outline_rest(const float *const record[SIM_LANES], LanesOutline *o) {
  lanes_load_four(record, LANES_REST, o->row + LANES_REST);
  o->outline.triangle = -o->outline.triangle; /* converts 0 and 1 to a mask */
}

/* Joint record. */
typedef union LanesJoint {
  real row[SIM_LANES_JOINT];
  SimJointModel joint;
} LanesJoint;

SIM_FN void lanes_load_joint(const float *const record[SIM_LANES], LanesJoint *j) {
  LANES_UNROLL for (int part = 0; part < SIM_LANES_JOINT; part += 8) {
    const float *from[SIM_LANES];
    LANES_UNROLL for (int i = 0; i < SIM_LANES; i++) from[i] = record[i] + part;
    lanes_load(from, j->row + part);
  }
  j->joint.fixed = -j->joint.fixed; /* converts 0 and 1 to masks */
  j->joint.has_limits = -j->joint.has_limits;
  j->joint.motor_on = -j->joint.motor_on;
}

#endif
#endif
