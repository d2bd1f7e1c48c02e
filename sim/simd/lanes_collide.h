/* Broad phase, narrow phase (collide.h) and contacts of SIM_LANES pairs at once, from any worlds. Included only by
 * lanes_kernels.h. */
#ifndef SIM_LANES_COLLIDE_H
#define SIM_LANES_COLLIDE_H
#if defined(SIM_LANES)
#include "sim/physics/collide.h"
#include "sim/physics/contact.h"
#include "sim/simd/lanes_record.h"

/* One shape of each lane. */
typedef struct LanesShape {
  SimBody body;
  LanesOutline shape;
  SimVec corner[SIM_VERTICES];
} LanesShape;

/* Loads the parts of a pair's two shapes that every test reads. */
SIM_FN void lanes_load_shapes(const SimLanesPair *pair, int count, LanesShape *a, LanesShape *b) {
  float *body[SIM_LANES];
  const float *outline[SIM_LANES];
  LANES_OF(pair, count, a_body, body);
  a->body = lanes_load_body(body);
  LANES_OF(pair, count, b_body, body);
  b->body = lanes_load_body(body);
  LANES_OF(pair, count, a_outline, outline);
  lanes_load_outline_rest(outline, &a->shape);
  LANES_OF(pair, count, b_outline, outline);
  lanes_load_outline_rest(outline, &b->shape);
}

/* Loads the parts of a polygon that only the test of two polygons reads. */
SIM_FN SimPolygon lanes_load_polygon(const float *const outline[SIM_LANES], const float *const corner[SIM_LANES],
                                     LanesShape *s) {
  real f[8];
  lanes_load(corner, f);
  LANES_UNROLL for (int k = 0; k < SIM_VERTICES; k++) s->corner[k] = sim_vec(f[2 * k], f[2 * k + 1]);
  lanes_load_outline_part(outline, LANES_NORMALS, &s->shape);
  lanes_load_outline_part(outline, LANES_SUPPORT, &s->shape);
  return (SimPolygon){&s->shape.outline, s->corner, s->body};
}

SIM_FN void lanes_load_polygons(const SimLanesPair *pair, int count, LanesShape *a, LanesShape *b,
                                SimPolygon polygon[2]) {
  const float *outline[SIM_LANES], *corner[SIM_LANES];
  lanes_load_shapes(pair, count, a, b);
  LANES_OF(pair, count, a_outline, outline);
  LANES_OF(pair, count, a_corner, corner);
  polygon[0] = lanes_load_polygon(outline, corner, a);
  LANES_OF(pair, count, b_outline, outline);
  LANES_OF(pair, count, b_corner, corner);
  polygon[1] = lanes_load_polygon(outline, corner, b);
}

/* ---- broad phase ------------------------------------------------------------------------------------------------- */

SIM_FN lanes_row lanes_two_boxes(const void *box, unsigned first, unsigned second) {
  const lanes_quad low = lanes_read_quad((const float *)((const char *)box + first));
  const lanes_quad high = lanes_read_quad((const float *)((const char *)box + second));
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}

/* Tests the boxes of pairs 0 and 2: the first quad is all -1 if those of pair 0 overlap, the second if those of pair 2
 * do. */
SIM_FN lanes_row_mask lanes_two_overlap(const float *box, const uint8_t (*offset)[2]) {
  const lanes_row a = lanes_two_boxes(box, offset[0][0], offset[2][0]),
                  b = lanes_two_boxes(box, offset[0][1], offset[2][1]);
  const lanes_row opposite = __builtin_shufflevector(b, b, 1, 0, 3, 2, 5, 4, 7, 6);
  return __builtin_shufflevector(a <= opposite, opposite <= a, 0, 9, 2, 11, 4, 13, 6, 15);
}

SIM_FN void lanes_find_overlaps(const float *box, const uint8_t (*offset)[2], int count, uint64_t *overlap_bits) {
  for (; count > 0; count -= 64, offset += 64) {
    uint64_t bits = 0;
    for (int i = 0; i < 64 && i < count; i += 4)
      bits |= (uint64_t)lanes_full_quads(lanes_two_overlap(box, offset + i),
                                         lanes_two_overlap(box, offset + i + 1)) << i;
    *overlap_bits++ = bits;
  }
}

/* ---- contacts ---------------------------------------------------------------------------------------------------- */

SIM_FN void lanes_store_points(const SimLanesPair *pair, int count, integer points) {
  for (int i = 0; i < count; i++) *pair[i].points = (uint8_t)points[i];
}

/* Stores contact k of every pair; rows 2k and 2k + 1 hold its record. */
SIM_FN void lanes_store_contact(const SimLanesPair *pair, int count, int k, const real record[SIM_LANES_CONTACT]) {
  lanes_row low[SIM_LANES], high[SIM_LANES];
  lanes_to_rows(record, low);
  lanes_to_rows(record + 8, high);
  for (int i = 0; i < count; i++) {
    lanes_write_row(pair[i].contact + SIM_LANES_CONTACT * k, low[i]);
    lanes_write_row(pair[i].contact + SIM_LANES_CONTACT * k + 8, high[i]);
  }
}

/* Makes contacts of manifolds as sim_step_make_contact does. points: the largest number of contacts of a manifold. */
SIM_FN void lanes_make_contacts(const SimLanesPair *pair, int count, const LanesShape *a, const LanesShape *b,
                                const SimManifold *m, int points) {
  const float *from[SIM_LANES];
  real pairs[4], impulse[4];

  LANES_OF(pair, count, pair, from);
  lanes_load_four(from, 0, pairs);
  LANES_OF(pair, count, impulse, from);
  lanes_load_four(from, 0, impulse);

  const SimMass p = a->shape.outline.mass, q = b->shape.outline.mass;
  const real_word slot = real_bits(pairs[1]);

  for (int k = 0; k < points; k++) {
    if (!real_any(m->active[k])) break;
    const real target = sim_contact_restitution(&a->body, &b->body, m->normal, m->point[k], pairs[3]);
    const real record[SIM_LANES_CONTACT] = {
      m->normal.x, m->normal.y, m->point[k].x, m->point[k].y, p.inverse_mass, p.inverse_inertia, q.inverse_mass,
      q.inverse_inertia, m->penetration, target, pairs[2], impulse[2 * k], impulse[2 * k + 1],
      pairs[0], real_from_bits(slot + ((uint32_t)k << 16)), real_of(0.0f)};
    lanes_store_contact(pair, count, k, record);
  }

  lanes_store_points(pair, count, -(m->active[0] + m->active[1]));
}

/* ---- the kernels, for up to SIM_LANES pairs ---------------------------------------------------------------------- */

SIM_FN void lanes_overlap_some(const SimLanesPair *pair, int count) {
  LanesShape a, b;
  SimPolygon p[2];
  lanes_load_polygons(pair, count, &a, &b, p);
  lanes_store_points(pair, count, -sim_collide_overlap(&p[0], &p[1]).active);
}

SIM_FN void lanes_collide_some_polygons(const SimLanesPair *pair, int count) {
  LanesShape a, b;
  SimPolygon p[2];
  lanes_load_polygons(pair, count, &a, &b, p);
  SimOverlap overlap = sim_collide_overlap(&p[0], &p[1]);
  if (!real_any(overlap.active)) {
    lanes_store_points(pair, count, integer_of(0));
    return;
  }
  SimManifold m = sim_collide_polygons(&p[0], &p[1], &overlap);
  lanes_make_contacts(pair, count, &a, &b, &m, 2);
}

SIM_FN void lanes_collide_some_circle_polygons(const SimLanesPair *pair, int count) {
  const float *outline[SIM_LANES];
  LanesShape a, b;
  lanes_load_shapes(pair, count, &a, &b);
  LANES_OF(pair, count, b_outline, outline);
  lanes_load_outline_part(outline, LANES_VERTICES, &b.shape);
  lanes_load_outline_part(outline, LANES_EDGES, &b.shape);
  lanes_load_outline_part(outline, LANES_SUPPORT, &b.shape);
  SimManifold m = sim_collide_circle_polygon(a.body, a.shape.outline.radius, b.body, &b.shape.outline);
  lanes_make_contacts(pair, count, &a, &b, &m, 1);
}

SIM_FN void lanes_collide_some_circles(const SimLanesPair *pair, int count) {
  LanesShape a, b;
  lanes_load_shapes(pair, count, &a, &b);
  SimManifold m = sim_collide_circles(a.body, a.shape.outline.radius, b.body, b.shape.outline.radius);
  lanes_make_contacts(pair, count, &a, &b, &m, 1);
}

/* ---- any number -------------------------------------------------------------------------------------------------- */

SIM_FN void lanes_overlap_polygons(const SimLanesPair *pair, int count) {
  LANES_FOR_ALL(lanes_overlap_some, pair, count);
}
SIM_FN void lanes_collide_polygons(const SimLanesPair *pair, int count) {
  LANES_FOR_ALL(lanes_collide_some_polygons, pair, count);
}
SIM_FN void lanes_collide_circle_polygons(const SimLanesPair *pair, int count) {
  LANES_FOR_ALL(lanes_collide_some_circle_polygons, pair, count);
}
SIM_FN void lanes_collide_circles(const SimLanesPair *pair, int count) {
  LANES_FOR_ALL(lanes_collide_some_circles, pair, count);
}

#endif
#endif
