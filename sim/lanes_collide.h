/* The narrow phase of collide.h for SIM_LANES pairs side by side, from any worlds. Included by lanes_kernels.h only. */
#ifndef SIM_LANES_COLLIDE_H
#define SIM_LANES_COLLIDE_H
#if defined(SIM_LANES)
#include "sim/collide.h"
#include "sim/lanes.h"

typedef union LanesOutline {
  real row[SIM_LANES_OUTLINE];
  SimOutline outline;
} LanesOutline;

/* A polygon of every lane. */
typedef struct LanesPolygon {
  LanesOutline shape;
  SimVec corner[SIM_VERTICES];
  SimPolygon polygon;
} LanesPolygon;

/* Lanes beyond `count` do what lane 0 does. */
#define LANES_OF_PAIRS(member, offset, from) \
  LANES_UNROLL for (int i = 0; i < SIM_LANES; i++) from[i] = pair[i < count ? i : 0].member + (offset)

SIM_FN SimBody lanes_body_of(const real f[8]) {
  return (SimBody){{f[0], f[1]}, f[2], f[3], {f[4], f[5]}, f[6], f[7]};
}

SIM_FN mask lanes_triangles(const float *const outline[SIM_LANES]) {
  mask m = mask_of(0);
  LANES_UNROLL for (int i = 0; i < SIM_LANES; i++) {
    int32_t triangle;
    memcpy(&triangle, outline[i] + 32, sizeof triangle);
    m[i] = -triangle;
  }
  return m;
}

/* What the test of two polygons reads of one. */
SIM_FN void lanes_load_polygon(const float *const body[SIM_LANES], const float *const outline[SIM_LANES],
                               const float *const corner[SIM_LANES], LanesPolygon *p) {
  const float *from[SIM_LANES];
  real f[8];
  lanes_load(body, f);
  p->polygon = (SimPolygon){&p->shape.outline, p->corner, lanes_body_of(f)};
  lanes_load(corner, f);
  LANES_UNROLL for (int k = 0; k < SIM_VERTICES; k++) p->corner[k] = sim_vec(f[2 * k], f[2 * k + 1]);
  LANES_UNROLL for (int i = 0; i < SIM_LANES; i++) from[i] = outline[i] + 16;
  lanes_load(from, p->shape.row + 16);
  LANES_UNROLL for (int i = 0; i < SIM_LANES; i++) from[i] = outline[i] + 24;
  lanes_load(from, p->shape.row + 24);
  p->shape.outline.triangle = lanes_triangles(outline);
}

SIM_FN void lanes_load_polygons(const SimLanesPair *pair, int count, LanesPolygon *a, LanesPolygon *b) {
  const float *body[SIM_LANES], *outline[SIM_LANES], *corner[SIM_LANES];
  LANES_OF_PAIRS(a_body, 0, body);
  LANES_OF_PAIRS(a_outline, 0, outline);
  LANES_OF_PAIRS(a_corner, 0, corner);
  lanes_load_polygon(body, outline, corner, a);
  LANES_OF_PAIRS(b_body, 0, body);
  LANES_OF_PAIRS(b_outline, 0, outline);
  LANES_OF_PAIRS(b_corner, 0, corner);
  lanes_load_polygon(body, outline, corner, b);
}

SIM_FN void lanes_store_manifolds(const SimLanesPair *pair, int count, const SimManifold *m) {
  integer points = -(m->active[0] + m->active[1]);
  real f[8] = {m->normal.x, m->normal.y, m->point[0].x, m->point[0].y, m->point[1].x, m->point[1].y, m->penetration,
               (real)points};
  lanes_row row[SIM_LANES];
  lanes_to_rows(f, row);
  for (int i = 0; i < count; i++) lanes_write_row(pair[i].manifold, row[i]);
}

/* Only how many points count, for pairs whose other values nobody reads. */
SIM_FN void lanes_store_points(const SimLanesPair *pair, int count, mask active) {
  for (int i = 0; i < count; i++) {
    int32_t points = -active[i];
    memcpy(pair[i].manifold + SIM_LANES_MANIFOLD - 1, &points, sizeof points);
  }
}

/* ---- the kernels, for up to SIM_LANES pairs ---------------------------------------------------------------------- */

SIM_FN void lanes_overlap_some(const SimLanesPair *pair, int count) {
  LanesPolygon a, b;
  lanes_load_polygons(pair, count, &a, &b);
  lanes_store_points(pair, count, sim_collide_overlap(&a.polygon, &b.polygon).active);
}

SIM_FN void lanes_collide_some(const SimLanesPair *pair, int count) {
  LanesPolygon a, b;
  lanes_load_polygons(pair, count, &a, &b);
  SimOverlap overlap = sim_collide_overlap(&a.polygon, &b.polygon);
  if (!real_any(overlap.active)) {
    lanes_store_points(pair, count, overlap.active);
    return;
  }
  SimManifold m = sim_collide_polygons(&a.polygon, &b.polygon, &overlap);
  lanes_store_manifolds(pair, count, &m);
}

SIM_FN void lanes_collide_some_circles(const SimLanesPair *pair, int count) {
  const float *from[SIM_LANES];
  LanesOutline shape;
  real f[8], radius = real_of(0.0f);
  LANES_OF_PAIRS(a_body, 0, from);
  lanes_load(from, f);
  SimBody a = lanes_body_of(f);
  LANES_OF_PAIRS(b_body, 0, from);
  lanes_load(from, f);
  SimBody b = lanes_body_of(f);
  LANES_OF_PAIRS(b_outline, 24, from);
  lanes_load(from, shape.row + 24);
  LANES_OF_PAIRS(b_outline, 8, from);
  lanes_load(from, shape.row + 8);
  LANES_OF_PAIRS(b_outline, 0, from);
  lanes_load(from, shape.row);
  shape.outline.triangle = lanes_triangles(from);
  LANES_UNROLL for (int i = 0; i < SIM_LANES; i++) radius[i] = pair[i < count ? i : 0].radius;
  SimManifold m = sim_collide_circle_polygon(a, radius, b, &shape.outline);
  lanes_store_manifolds(pair, count, &m);
}

/* ---- and for any number ------------------------------------------------------------------------------------------ */

SIM_FN int lanes_at_most(int count) { return count < SIM_LANES ? count : SIM_LANES; }

SIM_FN void lanes_overlap_polygons(const SimLanesPair *pair, int count) {
  for (int i = 0; i < count; i += SIM_LANES) lanes_overlap_some(pair + i, lanes_at_most(count - i));
}
SIM_FN void lanes_collide_polygons(const SimLanesPair *pair, int count) {
  for (int i = 0; i < count; i += SIM_LANES) lanes_collide_some(pair + i, lanes_at_most(count - i));
}
SIM_FN void lanes_collide_circles(const SimLanesPair *pair, int count) {
  for (int i = 0; i < count; i += SIM_LANES) lanes_collide_some_circles(pair + i, lanes_at_most(count - i));
}

#endif
#endif
