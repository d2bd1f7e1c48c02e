/* Converts a level to colored polygons and discs, as Kinetix' renderer draws it: the arena, polygons, circles, joints,
 * thrusters, in this order. Independent of pixels, except for a sheet's layout, and of file formats. */
#include "sim/draw/draw.h"

#include <math.h>

#include "sim/physics/world.h"

/* Sizes in meters; Kinetix' at 100 pixels per meter. */
static const float EDGE = 0.02f, LINE = 0.012f, JOINT_RADIUS = 0.035f, JOINT_EDGE = 0.012f, THRUSTER_EDGE = 0.012f;
/* Length by which walls extend beyond both ends, outside the arena, so that they cover its corners. */
static const float WALL_REACH = 0.2f;
/* Largest share of a thin body's width that an edge takes, so that its color stays visible. */
static const float EDGE_SHARE = 0.15f;

/* ---- colors ---------------------------------------------------------------------------------------------------- */

static const SimDrawColor role_color[] = {{160, 160, 160}, {0, 204, 0}, {0, 102, 204}, {255, 102, 102}};
static const SimDrawColor fixated_color = {80, 80, 80}, nozzle_color = {120, 120, 120};
/* Colors of motor and thruster bindings: yellow, magenta, cyan, orange. */
static const SimDrawColor binding_color[SIM_MOTOR_BINDINGS] = {
  {255, 255, 0}, {255, 0, 255}, {0, 255, 255}, {255, 153, 51}};

SimDrawColor sim_draw_body_color(const SimShape *shape) {
  SimDrawColor color = role_color[shape->role];
  if (shape->inverse_mass != 0) return color;
  if (shape->role == SIM_ROLE_NORMAL) return fixated_color;
  return (SimDrawColor){color.red / 2, color.green / 2, color.blue / 2};
}

void sim_draw_palette(SimDrawColor color[SIM_DRAW_COLORS]) {
  int count = 0;
  color[count++] = SIM_DRAW_WHITE;
  color[count++] = nozzle_color;
  for (int role = SIM_ROLE_NORMAL; role <= SIM_ROLE_RED; role++) {
    color[count++] = sim_draw_body_color(&(SimShape){.role = role, .inverse_mass = 1});
    color[count++] = sim_draw_body_color(&(SimShape){.role = role});
  }
  for (int i = 0; i < SIM_MOTOR_BINDINGS; i++) color[count++] = binding_color[i];
}

/* ---- items ----------------------------------------------------------------------------------------------------- */

static bool is_finite(const SimDrawItem *item) {
  float sum = item->radius;
  for (int i = 0; i < SIM_DRAW_CORNERS; i++) sum += item->x[i] + item->y[i];
  return isfinite(sum);
}

static void add(SimDrawing *drawing, const SimDrawItem *item) {
  if (is_finite(item)) drawing->item[drawing->count++] = *item;
}

/* Returns the body frame at a position and rotation, which transforms points into the world. */
static SimBody pose(SimVec position, float rotation) {
  RealSinCos turn = real_sin_cos(rotation);
  return (SimBody){.rotation = rotation, .position = position, .sine = turn.sine, .cosine = turn.cosine};
}

static SimBody pose_of(const SimShape *shape) { return pose(sim_vec(shape->x, shape->y), shape->rotation); }

static const SimShape *shape_at(const SimLevel *level, int i) {
  return i < level->size.polygons ? &level->polygon[i] : &level->circle[i - level->size.polygons];
}

/* Adds a polygon with clockwise corners in the frame of `at`. */
static void add_polygon(SimDrawing *drawing, SimBody at, const SimVec *corner, int corners, float edge,
                        SimDrawColor fill) {
  SimDrawItem item = {.fill = fill, .edge = edge, .corners = corners};
  for (int i = 0; i < corners; i++) {
    SimVec p = sim_body_to_world(at, corner[i]);
    item.x[i] = p.x;
    item.y[i] = p.y;
  }
  add(drawing, &item);
}

static void add_disc(SimDrawing *drawing, SimVec center, float radius, float edge, SimDrawColor fill) {
  add(drawing, &(SimDrawItem){.fill = fill, .edge = edge, .x = {center.x}, .y = {center.y}, .radius = radius});
}

/* Returns the polygon's smallest width across one of its sides. */
static float thickness(const SimVec *corner, int corners) {
  float least = REAL_HUGE;
  for (int i = 0; i < corners; i++) {
    SimVec along = sim_vec_sub(corner[(i + 1) % corners], corner[i]);
    float length = real_sqrt(sim_vec_dot(along, along)), most = 0;
    for (int k = 0; k < corners; k++)
      most = real_max(most, real_abs(sim_vec_cross(along, sim_vec_sub(corner[k], corner[i]))) / length);
    least = real_min(least, most);
  }
  return least;
}

/* Adds a body. reach: meters by which the upper and lower ends move outwards. */
static void add_body(SimDrawing *drawing, const SimShape *shape, float reach) {
  SimVec corner[SIM_VERTICES];
  float middle = 0;
  for (int i = 0; i < shape->vertex_count; i++) middle += shape->vertex_y[i] / (float)shape->vertex_count;
  for (int i = 0; i < shape->vertex_count; i++)
    corner[i] = sim_vec(shape->vertex_x[i], shape->vertex_y[i] + real_copy_sign(reach, shape->vertex_y[i] - middle));
  float edge = real_min(EDGE, EDGE_SHARE * thickness(corner, shape->vertex_count));
  add_polygon(drawing, pose_of(shape), corner, shape->vertex_count, edge, sim_draw_body_color(shape));
}

/* Adds floor and ceiling, then the walls, which cover the corners. */
static void add_arena(SimDrawing *drawing, const SimLevel *level) {
  enum { FLOOR, LEFT, RIGHT, CEILING };
  static const int order[SIM_STATIC_POLYGONS] = {FLOOR, CEILING, LEFT, RIGHT};
  for (int i = 0; i < SIM_STATIC_POLYGONS; i++) {
    const SimShape *shape = &level->polygon[order[i]];
    if (shape->active) add_body(drawing, shape, order[i] == LEFT || order[i] == RIGHT ? WALL_REACH : 0);
  }
}

/* Adds a disc with a line from the center to the rim, upwards at rotation 0. */
static void add_circle(SimDrawing *drawing, const SimShape *shape) {
  float half = real_min(0.5f * LINE, EDGE_SHARE * shape->radius), r = shape->radius;
  const SimVec line[] = {{-half, r - half}, {half, r - half}, {half, 0}, {-half, 0}};
  float edge = real_min(EDGE, EDGE_SHARE * r);
  add_disc(drawing, sim_vec(shape->x, shape->y), r, edge, sim_draw_body_color(shape));
  add_polygon(drawing, pose_of(shape), line, 4, 0, SIM_DRAW_BLACK);
}

/* Adds a joint: a disc in its motor's color or white if revolute, a small square if fixed. The position is recomputed,
 * because the cached one of a level may be stale. */
static void add_joint(SimDrawing *drawing, const SimLevel *level, const SimJoint *joint) {
  const float half = JOINT_RADIUS;
  static const SimVec square[] = {{-1, 1}, {1, 1}, {1, -1}, {-1, -1}};
  SimBody body = pose_of(shape_at(level, joint->a));
  SimVec at = sim_body_to_world(body, sim_vec(joint->a_x, joint->a_y));
  if (!joint->fixed) {
    add_disc(drawing, at, half, JOINT_EDGE, joint->motor_on ? binding_color[joint->motor_binding] : SIM_DRAW_WHITE);
    return;
  }
  SimVec corner[4];
  for (int i = 0; i < 4; i++) corner[i] = sim_vec_scale(half, square[i]);
  add_polygon(drawing, pose(at, body.rotation), corner, 4, JOINT_EDGE, SIM_DRAW_WHITE);
}

/* Adds a thruster. The push goes along x of its frame, so that the flame lies at negative x. */
static void add_thruster(SimDrawing *drawing, const SimLevel *level, const SimThruster *thruster, const float *thrust) {
  SimBody body = pose_of(shape_at(level, thruster->shape));
  SimBody at = pose(sim_body_to_world(body, sim_vec(thruster->x, thruster->y)), body.rotation + thruster->rotation);
  float length = thrust ? 0.03f + 0.22f * real_clip(thrust[thruster->binding], 0, 1) : 0.11f;
  const SimVec flame[] = {{-0.01f, 0.05f}, {-0.01f, -0.05f}, {-0.01f - length, 0}};
  const SimVec nozzle[] = {{0.06f, 0.03f}, {0.06f, -0.03f}, {-0.02f, -0.06f}, {-0.02f, 0.06f}};
  add_polygon(drawing, at, flame, 3, THRUSTER_EDGE, binding_color[thruster->binding]);
  add_polygon(drawing, at, nozzle, 4, THRUSTER_EDGE, nozzle_color);
}

void sim_draw_world(const SimLevel *level, const float *thrust, SimDrawing *drawing) {
  drawing->count = 0;
  add_arena(drawing, level);
  for (int i = SIM_STATIC_POLYGONS; i < level->size.polygons; i++)
    if (level->polygon[i].active) add_body(drawing, &level->polygon[i], 0);
  for (int i = 0; i < level->size.circles; i++)
    if (level->circle[i].active) add_circle(drawing, &level->circle[i]);
  for (int i = 0; i < level->size.joints; i++)
    if (level->joint[i].active) add_joint(drawing, level, &level->joint[i]);
  for (int i = 0; i < level->size.thrusters; i++)
    if (level->thruster[i].active) add_thruster(drawing, level, &level->thruster[i], thrust);
}

/* ---- insets ---------------------------------------------------------------------------------------------------- */

/* Returns the unit vector from corner i to the next one. */
static SimVec direction(const SimDrawItem *item, int i) {
  int next = (i + 1) % item->corners;
  SimVec along = sim_vec(item->x[next] - item->x[i], item->y[next] - item->y[i]);
  return sim_vec_scale(1 / real_zero_to_one(real_sqrt(sim_vec_dot(along, along))), along);
}

bool sim_draw_inset(const SimDrawItem *item, float distance, float x[SIM_DRAW_CORNERS], float y[SIM_DRAW_CORNERS]) {
  int n = item->corners;
  for (int i = 0; i < n; i++) {
    SimVec in = sim_vec_tangent(direction(item, (i + n - 1) % n)), out = sim_vec_tangent(direction(item, i));
    float stretch = distance / (1 + sim_vec_dot(in, out)); /* to the intersection of the two moved sides */
    x[i] = item->x[i] + stretch * (in.x + out.x);
    y[i] = item->y[i] + stretch * (in.y + out.y);
    if (!isfinite(x[i]) || !isfinite(y[i])) return false;
  }
  for (int i = 0; i < n; i++) { /* a side that has reversed has passed the opposite one */
    int next = (i + 1) % n;
    if (sim_vec_dot(direction(item, i), sim_vec(x[next] - x[i], y[next] - y[i])) <= 0) return false;
  }
  return true;
}

/* ---- sheets ---------------------------------------------------------------------------------------------------- */

static int label_height(const SimDrawSheet *sheet) { return sheet->labeled ? SIM_DRAW_LABEL_PIXELS : 0; }

/* Returns the margin between cells; 0 for a single picture without a label, whose side is exactly the requested one. */
static int gap(const SimDrawSheet *sheet) {
  return sheet->columns * sheet->rows > 1 || sheet->labeled ? SIM_DRAW_GAP_PIXELS : 0;
}

int sim_draw_cell_left(const SimDrawSheet *sheet, int cell) {
  return gap(sheet) + cell % sheet->columns * (sheet->pixels + gap(sheet));
}

int sim_draw_cell_top(const SimDrawSheet *sheet, int cell) {
  return gap(sheet) + label_height(sheet) + cell / sheet->columns * (sheet->pixels + label_height(sheet) + gap(sheet));
}

int sim_draw_sheet_width(const SimDrawSheet *sheet) {
  return gap(sheet) + sheet->columns * (sheet->pixels + gap(sheet));
}

int sim_draw_sheet_height(const SimDrawSheet *sheet) {
  return gap(sheet) + sheet->rows * (sheet->pixels + label_height(sheet) + gap(sheet));
}

int sim_draw_sheet_check(const SimDrawSheet *sheet) {
  if (sheet->pixels < SIM_DRAW_PIXELS_MIN || sheet->pixels > SIM_DRAW_PIXELS_MAX)
    return core_error(CORE_USAGE, "drawing of %d pixels per side: out of range, expected %d to %d", sheet->pixels,
                      SIM_DRAW_PIXELS_MIN, SIM_DRAW_PIXELS_MAX);
  if (sheet->columns < 1 || sheet->rows < 1 || sheet->columns > SIM_DRAW_SIDE_MAX || sheet->rows > SIM_DRAW_SIDE_MAX)
    return core_error(CORE_USAGE, "sheet of %d columns and %d rows: out of range", sheet->columns, sheet->rows);
  if (sheet->count < 1 || sheet->count > sheet->columns * sheet->rows)
    return core_error(CORE_USAGE, "%d drawings do not fit a sheet of %d columns and %d rows", sheet->count,
                      sheet->columns, sheet->rows);
  int width = sim_draw_sheet_width(sheet), height = sim_draw_sheet_height(sheet);
  if (width > SIM_DRAW_SIDE_MAX || height > SIM_DRAW_SIDE_MAX)
    return core_error(CORE_USAGE, "image of %d x %d pixels: at most %d per side; use fewer or smaller drawings",
                      width, height, SIM_DRAW_SIDE_MAX);
  return CORE_OK;
}
