/* Computes a shape's corners and bounding box from its pose, and its pose after a step. A `real` is one number or, in
 * the vector kernels, one per lane. */
#ifndef SIM_MOVE_H
#define SIM_MOVE_H
#include "sim/physics/model.h"

/* Margin of bounding boxes, so that rounding errors cannot separate the boxes of a touching pair. */
#define SIM_BOX_MARGIN 1e-3f

SIM_FN SimBox sim_move_circle_box(SimVec center, real radius) {
  real reach = radius + SIM_BOX_MARGIN;
  return (SimBox){center.x - reach, center.x + reach, center.y - reach, center.y + reach};
}

/* Writes a polygon's corners in the world and returns their bounding box. Includes a triangle's unused fourth vertex,
 * which may enlarge the box. */
SIM_FN SimBox sim_move_polygon_box(const SimOutline *outline, const SimBody *body, SimVec corner[SIM_VERTICES]) {
  for (int k = 0; k < SIM_VERTICES; k++) corner[k] = sim_body_to_world(*body, outline->vertex[k]);
  SimBox box = {corner[0].x, corner[0].x, corner[0].y, corner[0].y};
  for (int k = 1; k < SIM_VERTICES; k++) {
    box.left = real_min(box.left, corner[k].x);
    box.right = real_max(box.right, corner[k].x);
    box.bottom = real_min(box.bottom, corner[k].y);
    box.top = real_max(box.top, corner[k].y);
  }
  return (SimBox){box.left - SIM_BOX_MARGIN, box.right + SIM_BOX_MARGIN, box.bottom - SIM_BOX_MARGIN,
                  box.top + SIM_BOX_MARGIN};
}

/* Clamps both components to [-most, most]. */
SIM_FN SimVec sim_move_clip(SimVec v, real most) {
  return sim_vec(real_clip(v.x, -most, most), real_clip(v.y, -most, most));
}

/* Returns the body after a time step: its pose advanced by its velocity, and all clamped to their limits. */
SIM_FN SimBody sim_move_advance(SimBody body) {
  body.position = sim_vec_add(body.position, sim_vec_scale(real_of(SIM_DT), body.velocity));
  body.rotation = body.rotation + body.angular_velocity * SIM_DT;
  body.position = sim_move_clip(body.position, real_of(SIM_POSITION_MAX));
  body.velocity = sim_move_clip(body.velocity, real_of(SIM_VELOCITY_MAX));
  body.angular_velocity = real_clip(body.angular_velocity, real_of(-SIM_ANGULAR_VELOCITY_MAX),
                                    real_of(SIM_ANGULAR_VELOCITY_MAX));
  RealSinCos turn = real_sin_cos(body.rotation);
  body.sine = turn.sine;
  body.cosine = turn.cosine;
  return body;
}

#endif
