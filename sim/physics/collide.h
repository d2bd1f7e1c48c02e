/* Narrow phase: contacts of two shapes in their current poses (Jax2D's jax2d/collision.py, with its oddities,
 * docs/simulator.md#kept-oddities).
 *
 * Pure functions of two shapes, in world coordinates. The normal points from a to b. model.c decides which pairs may
 * collide; contact.h and task.h define the effects of a contact. */
#ifndef SIM_COLLIDE_H
#define SIM_COLLIDE_H
#include "sim/physics/model.h"

typedef struct SimManifold {
  SimVec normal, point[2];
  real penetration;      /* shared by both contacts */
  mask active[2];        /* the second only between polygons, and only with the first */
} SimManifold;

SIM_FN mask sim_collide_boxes(SimBox a, SimBox b) {
  return (a.left <= b.right) & (b.left <= a.right) & (a.bottom <= b.top) & (b.bottom <= a.top);
}

SIM_FN SimManifold sim_collide_circles(SimBody a, real a_radius, SimBody b, real b_radius) {
  SimVec between = sim_vec_sub(b.position, a.position);
  real distance = real_sqrt(sim_vec_dot(between, between)), reach = a_radius + b_radius;
  real guarded = real_zero_to_one(distance);
  SimManifold m;
  m.normal = sim_vec(real_quotient(between.x, guarded), real_quotient(between.y, guarded));
  m.point[0] = m.point[1] = sim_vec_add(a.position, sim_vec_scale(a_radius, m.normal));
  m.penetration = reach - distance;
  m.active[0] = distance < reach;
  m.active[1] = mask_of(0);
  return m;
}

/* Collides a circle, a, with a polygon. Its center is clamped to the nearest edge, from inside as well. */
SIM_FN SimManifold sim_collide_circle_polygon(SimBody a, real radius, SimBody b, const SimOutline *outline) {
  SimVec center = sim_vec_unrotate(b.sine, b.cosine, sim_vec_sub(a.position, b.position));
  SimVec nearest = sim_vec(real_of(0.0f), real_of(0.0f));
  real least = real_of(REAL_HUGE);
  mask inside = mask_of(1);

  for (int i = 0; i < SIM_VERTICES; i++) {
    SimVec vertex = outline->vertex[i], next = outline->vertex[(i + 1) % SIM_VERTICES];
    if (i == 2) next = sim_vec_select(outline->triangle, outline->vertex[0], next);
    mask unused = i == 3 ? outline->triangle : mask_of(0);
    inside &= (sim_vec_cross(sim_vec_sub(vertex, center), sim_vec_sub(next, center)) < 0.0f) | unused;

    real along =
      real_clip(sim_vec_dot(outline->edge[i], sim_vec_sub(center, vertex)), real_of(0.0f), outline->length[i]);
    SimVec on_edge = sim_vec_add(vertex, sim_vec_scale(along, outline->edge[i]));
    SimVec offset = sim_vec_sub(on_edge, center);
    real distance = real_sqrt(sim_vec_dot(offset, offset));
    mask nearer = (distance < least) & mask_not(unused);
    least = real_select(nearer, distance, least);
    nearest = sim_vec_select(nearer, on_edge, nearest);
  }

  SimManifold m;
  SimVec out = sim_vec_sub(center, nearest);
  real distance = real_sqrt(sim_vec_dot(out, out));
  real side = real_select(inside, real_of(-1.0f), real_of(1.0f));

  SimVec world = sim_vec_scale(side, sim_vec_rotate(b.sine, b.cosine, out));
  real guarded = real_zero_to_one(real_sqrt(sim_vec_dot(world, world)));
  m.normal = sim_vec(real_quotient(-world.x, guarded), real_quotient(-world.y, guarded));
  m.point[0] = m.point[1] = sim_body_to_world(b, nearest);
  m.penetration = real_select(inside, radius, radius - distance);
  m.active[0] = (distance <= radius) | inside;
  m.active[1] = mask_of(0);

  return m;
}

/* Face of one polygon with the greatest separation from another. */
typedef struct SimFace {
  real separation;
  integer face;
} SimFace;

/* Finds that face for corners of b in a's frame, against the faces of a. Stops early (separation >= 0) once no lane can
 * touch. */
SIM_FN SimFace sim_collide_best_face(const SimOutline *a, const SimVec *b_local, mask b_triangle) {
  SimFace best = {real_of(-99999.0f), integer_of(0)};
  for (int i = 0; i < SIM_VERTICES; i++) {
    SimVec normal = sim_vec(a->normal_x[i], a->normal_y[i]);
    real last = real_select(b_triangle, real_of(REAL_HUGE), sim_vec_dot(normal, b_local[3]));
    real least = real_min(real_min(sim_vec_dot(normal, b_local[0]), sim_vec_dot(normal, b_local[1])),
                          real_min(sim_vec_dot(normal, b_local[2]), last));
    real separation = least - a->support[i];
    mask better = separation > best.separation;
    best.separation = real_select(better, separation, best.separation);
    best.face = integer_select(better, integer_of(i), best.face);
    if (!real_any(best.separation < 0.0f)) break;
  }
  return best;
}

/* Finds the incident points: the two corners of the other polygon (b_corner in the world, b_local in the face's frame)
 * deepest along `normal`: deepest first, ties in corner order, as in a stable sort. */
SIM_FN void sim_collide_incident(SimVec normal, const SimVec *b_local, mask b_triangle, const SimVec *b_corner,
                                 SimVec incident[2]) {
  real first = sim_vec_dot(normal, b_local[0]), second = real_of(2.0f * REAL_HUGE);
  incident[0] = incident[1] = b_corner[0];
  for (int k = 1; k < SIM_VERTICES; k++) {
    real depth = sim_vec_dot(normal, b_local[k]);
    if (k == 3) depth = real_select(b_triangle, real_of(REAL_HUGE), depth);
    mask leads = depth < first, follows = depth < second;
    incident[1] = sim_vec_select(leads, incident[0], sim_vec_select(follows, b_corner[k], incident[1]));
    second = real_select(leads, first, real_select(follows, depth, second));
    incident[0] = sim_vec_select(leads, b_corner[k], incident[0]);
    first = real_select(leads, depth, first);
  }
}

/* Computes the two contact points: incident corners in the frame of the reference face from `start` to `end`, where +x
 * points into the reference body, with y clamped to the face (x is unchanged). The deeper one comes first. Returns
 * whether both are below the face. The order of operations is the reference's: with parallel faces the last bit decides
 * which comes first. */
SIM_FN mask sim_collide_clip(SimVec start, SimVec end, const SimVec incident[2], SimVec point[2]) {
  SimVec d = sim_vec_sub(start, end);
  RealSinCos turn = real_sin_cos(REAL_PI + real_atan2(d.x, d.y));
  real length = real_sqrt(sim_vec_dot(d, d));
  SimVec p = sim_vec_rotate(turn.sine, turn.cosine, sim_vec_sub(incident[0], start));
  SimVec q = sim_vec_rotate(turn.sine, turn.cosine, sim_vec_sub(incident[1], start));
  p.y = real_clip(p.y, real_of(0.0f), length);
  q.y = real_clip(q.y, real_of(0.0f), length);
  mask keep = p.x >= q.x;
  point[0] = sim_vec_add(sim_vec_unrotate(turn.sine, turn.cosine, sim_vec_select(keep, p, q)), start);
  point[1] = sim_vec_add(sim_vec_unrotate(turn.sine, turn.cosine, sim_vec_select(keep, q, p)), start);
  return real_min(p.x, q.x) > 0.0f;
}

/* Polygon of a pair: outline in the body frame, corners in the world. */
typedef struct SimPolygon {
  const SimOutline *outline;
  const SimVec *corner;
  SimBody body;
} SimPolygon;

SIM_FN void sim_collide_to_frame(SimBody frame, const SimVec *corner, SimVec local[SIM_VERTICES]) {
  for (int k = 0; k < SIM_VERTICES; k++)
    local[k] = sim_vec_unrotate(frame.sine, frame.cosine, sim_vec_sub(corner[k], frame.position));
}

/* Overlap of two polygons, and which has the reference face. */
typedef struct SimOverlap {
  SimFace a, b;
  SimVec b_in_a[SIM_VERTICES], a_in_b[SIM_VERTICES];
  mask active, b_refers;
  real separation;
} SimOverlap;

SIM_FN SimOverlap sim_collide_overlap(const SimPolygon *a, const SimPolygon *b) {
  SimOverlap o;
  sim_collide_to_frame(a->body, b->corner, o.b_in_a);
  o.a = sim_collide_best_face(a->outline, o.b_in_a, b->outline->triangle);
  o.b = o.a;
  o.separation = o.a.separation;
  o.b_refers = mask_of(0);
  o.active = o.separation < 0.0f;
  if (!real_any(o.active)) return o;
  sim_collide_to_frame(b->body, a->corner, o.a_in_b);
  o.b = sim_collide_best_face(b->outline, o.a_in_b, a->outline->triangle);
  o.b_refers = o.a.separation + 0.01f < o.b.separation; /* bias against alternating faces */
  o.separation = real_max(o.a.separation, o.b.separation);
  o.active = o.separation < 0.0f;
  return o;
}

SIM_FN SimVec sim_collide_face_normal(const SimPolygon *p, integer face) {
  return sim_vec(real_pick(p->outline->normal_x, face), real_pick(p->outline->normal_y, face));
}

/* Returns an end of the reference face in the world; after a triangle's face 2 comes corner 0. */
SIM_FN SimVec sim_collide_corner(const SimPolygon *p, integer k) {
  k = integer_select((k == SIM_VERTICES) | ((k == 3) & p->outline->triangle), integer_of(0), k);
  const real x[SIM_VERTICES] = {p->corner[0].x, p->corner[1].x, p->corner[2].x, p->corner[3].x};
  const real y[SIM_VERTICES] = {p->corner[0].y, p->corner[1].y, p->corner[2].y, p->corner[3].y};
  return sim_vec(real_pick(x, k), real_pick(y, k));
}

/* Computes the contacts of two overlapping polygons (sim_collide_overlap). */
SIM_FN SimManifold sim_collide_polygons(const SimPolygon *a, const SimPolygon *b, const SimOverlap *o) {
  SimVec a_normal = sim_collide_face_normal(a, o->a.face), b_normal = sim_collide_face_normal(b, o->b.face);

  SimVec on_a[2], on_b[2], incident[2];
  sim_collide_incident(a_normal, o->b_in_a, b->outline->triangle, b->corner, on_b);
  sim_collide_incident(b_normal, o->a_in_b, a->outline->triangle, a->corner, on_a);

  /* The reference face clips the points of the other polygon. */
  for (int i = 0; i < 2; i++) incident[i] = sim_vec_select(o->b_refers, on_a[i], on_b[i]);
  SimVec start = sim_vec_select(o->b_refers, sim_collide_corner(b, o->b.face), sim_collide_corner(a, o->a.face));
  SimVec end = sim_vec_select(o->b_refers, sim_collide_corner(b, o->b.face + 1), sim_collide_corner(a, o->a.face + 1));

  SimManifold m;
  mask both = sim_collide_clip(start, end, incident, m.point);
  SimVec a_world = sim_vec_rotate(a->body.sine, a->body.cosine, a_normal);
  SimVec b_world = sim_vec_rotate(b->body.sine, b->body.cosine, b_normal);
  m.normal = sim_vec_select(o->b_refers, sim_vec(-b_world.x, -b_world.y), a_world);
  m.penetration = -o->separation;
  m.active[0] = o->active;
  m.active[1] = o->active & both;
  return m;
}

#endif
