/* Kernels of single bodies: corners and boxes of polygons, motors, integration of positions. Included only by
 * lanes_kernels.h. */
#ifndef SIM_LANES_MOVE_H
#define SIM_LANES_MOVE_H
#if defined(SIM_LANES)
#include "sim/physics/actuate.h"
#include "sim/physics/move.h"
#include "sim/simd/lanes_record.h"
#include "sim/task/observe_moving.h"

SIM_FN void lanes_update_some(const SimLanesPolygon *polygon, int count) {
  float *record[SIM_LANES];
  const float *outline[SIM_LANES];
  LanesOutline shape;
  SimBody body;
  SimVec corner[SIM_VERTICES];

  LANES_OF(polygon, count, outline, outline);
  lanes_load_outline_part(outline, LANES_VERTICES, &shape);
  LANES_OF(polygon, count, body, record);
  lanes_load_pose(record, &body);
  SimBox box = sim_move_polygon_box(&shape.outline, &body, corner);

  const real f[8] = {corner[0].x, corner[0].y, corner[1].x, corner[1].y,
                     corner[2].x, corner[2].y, corner[3].x, corner[3].y};
  lanes_row row[SIM_LANES];
  lanes_to_rows(f, row);
  LANES_OF(polygon, count, corner, record);
  LANES_UNROLL for (int i = 0; i < SIM_LANES; i++) lanes_write_row(record[i], row[i]);

  const real sides[4] = {box.left, box.right, box.bottom, box.top};
  LANES_OF(polygon, count, box, record);
  lanes_store_four(sides, record, 0);
}

SIM_FN void lanes_drive_some(const SimLanesMotor *motor, int count) {
  float *record[SIM_LANES];
  const float *from[SIM_LANES];
  SimBody a, b;
  LanesJoint j;
  real control = real_of(0.0f);
  LANES_OF(motor, count, joint, from);
  lanes_load_joint(from, &j);
  LANES_OF(motor, count, a_body, record);
  lanes_load_motion(record, &a);
  LANES_OF(motor, count, b_body, record);
  lanes_load_motion(record, &b);
  for (int i = 0; i < count; i++) control[i] = motor[i].control;
  real spin = sim_actuate_motor(&j.joint, &a, &b, control);
  for (int i = 0; i < count; i++) *motor[i].spin = spin[i];
}

SIM_FN void lanes_advance_some(float *const *body, int count) {
  float *record[SIM_LANES];
  LANES_UNROLL for (int i = 0; i < SIM_LANES; i++) record[i] = body[i < count ? i : 0];
  SimBody moved = sim_move_advance(lanes_load_body(record));
  lanes_store_motion(record, &moved);
  lanes_store_pose(record, &moved);
}

SIM_FN void lanes_show_some(float *const *body, int count, float *shown) {
  float *record[SIM_LANES];
  lanes_row row[SIM_LANES];
  LANES_UNROLL for (int i = 0; i < SIM_LANES; i++) record[i] = body[i < count ? i : 0];
  const SimBody b = lanes_load_body(record);
  real f[SIM_LANES_SHOWN];
  sim_observe_moving(&b, f);
  f[SIM_OBSERVE_MOVING] = real_of(0.0f);
  lanes_to_rows(f, row);
  for (int i = 0; i < count; i++) lanes_write_row(shown + SIM_LANES_SHOWN * i, row[i]);
}

SIM_FN void lanes_update_polygons(const SimLanesPolygon *polygon, int count) {
  LANES_FOR_ALL(lanes_update_some, polygon, count);
}
SIM_FN void lanes_drive_motors(const SimLanesMotor *motor, int count) { LANES_FOR_ALL(lanes_drive_some, motor, count); }
SIM_FN void lanes_advance(float *const *body, int count) { LANES_FOR_ALL(lanes_advance_some, body, count); }
SIM_FN void lanes_show(float *const *body, int count, float *shown) {
  for (int i = 0; i < count; i += SIM_LANES)
    lanes_show_some(body + i, count - i < SIM_LANES ? count - i : SIM_LANES, shown + SIM_LANES_SHOWN * i);
}

#endif
#endif
