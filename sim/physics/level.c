/* Levels as plain structs: the empty scene, mass from shape, expansion, and validation of a level from any source (a
 * file, a generator) for the simulator, which trusts validated levels. Files are read by level_read.c. */
#include "sim/physics/level.h"

#include <math.h>
#include <string.h>

#include "sim/physics/level_build.h"

const SimSize SIM_SIZE_S = {5, 2, 1, 1}, SIM_SIZE_M = {6, 3, 2, 2}, SIM_SIZE_L = {12, 4, 6, 2},
              SIM_SIZE_LOCO = {10, 3, 6, 1};

SimLevel sim_level_empty(SimSize size, bool corrected) {
  SimLevel level;
  sim_level_clear(size, corrected, &level);
  return level;
}

void sim_level_recompute_mass(SimLevel *level) { sim_level_weigh(level); }

/* ---- expansion to more slots ----------------------------------------------------------------------------------- */

int sim_level_expand(SimLevel *level, SimSize size) {
  SimSize old = level->size;
  if (size.polygons > SIM_POLYGONS_MAX || size.circles > SIM_CIRCLES_MAX || size.joints > SIM_JOINTS_MAX ||
      size.thrusters > SIM_THRUSTERS_MAX)
    return core_error(CORE_USAGE, "level '%s': the simulator has at most %d polygons, %d circles, %d joints, "
                      "%d thrusters", level->name, SIM_POLYGONS_MAX, SIM_CIRCLES_MAX, SIM_JOINTS_MAX,
                      SIM_THRUSTERS_MAX);
  if (size.polygons < old.polygons || size.circles < old.circles || size.joints < old.joints ||
      size.thrusters < old.thrusters)
    return core_error(CORE_USAGE, "level '%s': has %d/%d/%d/%d slots (polygons/circles/joints/thrusters) and does not "
                      "fit into %d/%d/%d/%d", level->name, old.polygons, old.circles, old.joints, old.thrusters,
                      size.polygons, size.circles, size.joints, size.thrusters);
  sim_level_grow(level, size);
  return CORE_OK;
}

/* ---- the check ------------------------------------------------------------------------------------------------- */

typedef struct NamedReal { const char *field; float value; } NamedReal;

/* Far above any sensible value, far below where float32 overflows in a product. */
static const float LARGEST = 1e9f;

static int check_reals(const char *where, const char *entity, int index, const NamedReal *reals, int count) {
  for (int i = 0; i < count; i++)
    if (!(fabsf(reals[i].value) <= LARGEST))
      return core_error(CORE_USAGE, "%s%s[%d].%s: %g is not a valid number (at most %g in magnitude)", where, entity,
                        index, reals[i].field, (double)reals[i].value, (double)LARGEST);
  return CORE_OK;
}
#define CHECK_REALS(where, entity, index, ...)                                             \
  check_reals((where), (entity), (index), (const NamedReal[]){__VA_ARGS__},                \
              (int)(sizeof((const NamedReal[]){__VA_ARGS__}) / sizeof(NamedReal)))

static int check_range(const char *where, const char *entity, int index, const char *field, int value, int low,
                       int high) {
  if (value >= low && value <= high) return CORE_OK;
  return core_error(CORE_USAGE, "%s%s[%d].%s: %d is out of range, expected %d..%d", where, entity, index, field, value,
                    low, high);
}

static int check_shape_index(const char *where, const char *entity, int index, const char *field, int value,
                             SimSize size) {
  int shapes = size.polygons + size.circles;
  if (value >= 0 && value < shapes) return CORE_OK;
  return core_error(CORE_USAGE, "%s%s[%d].%s: %d is not a shape, expected 0..%d", where, entity, index, field, value,
                    shapes - 1);
}

/* Checks that every corner turns right by a clear angle and the outline turns once in total: strictly convex,
 * clockwise, not degenerate. Three or four right turns cannot turn twice, so the turns alone decide. */
static int check_outline(const char *where, int index, const SimShape *shape) {
  const double least_sine = 1e-3, least_edge = 1e-4;
  int n = shape->vertex_count;
  for (int i = 0; i < n; i++) {
    int j = (i + 1) % n, k = (i + 2) % n;
    double x1 = (double)shape->vertex_x[j] - shape->vertex_x[i], y1 = (double)shape->vertex_y[j] - shape->vertex_y[i];
    double x2 = (double)shape->vertex_x[k] - shape->vertex_x[j], y2 = (double)shape->vertex_y[k] - shape->vertex_y[j];
    double length = sqrt(x1 * x1 + y1 * y1), next = sqrt(x2 * x2 + y2 * y2);
    if (length < least_edge)
      return core_error(CORE_USAGE, "%spolygon[%d].vertices: corners %d and %d coincide", where, index, i, j);
    if (y1 * x2 - x1 * y2 < least_sine * length * next)
      return core_error(CORE_USAGE, "%spolygon[%d].vertices: not convex and clockwise at corner %d", where, index, j);
  }
  return CORE_OK;
}

static int check_shape(const char *where, const char *kind, int index, const SimShape *shape) {
  bool circle = kind[0] == 'c';

  TRY(CHECK_REALS(where, kind, index, {"position.0", shape->x}, {"position.1", shape->y}, {"rotation", shape->rotation},
                  {"velocity.0", shape->vx}, {"velocity.1", shape->vy}, {"angular_velocity", shape->angular_velocity},
                  {"inverse_mass", shape->inverse_mass}, {"inverse_inertia", shape->inverse_inertia},
                  {"density", shape->density}, {"friction", shape->friction}, {"restitution", shape->restitution},
                  {"radius", shape->radius}));
  for (int i = 0; i < SIM_VERTICES; i++)
    TRY(CHECK_REALS(where, kind, index, {"vertices", shape->vertex_x[i]}, {"vertices", shape->vertex_y[i]}));
  TRY(check_range(where, kind, index, "collision_mode", shape->collision_mode, 0, 2));
  TRY(check_range(where, kind, index, "role", shape->role, SIM_ROLE_NORMAL, SIM_ROLE_RED));
  TRY(check_range(where, kind, index, "n_vertices", shape->vertex_count, 0, SIM_VERTICES));

  if (!shape->active) return CORE_OK; /* unused slots of published files hold leftover values */
  if (shape->inverse_mass < 0 || shape->inverse_inertia < 0)
    return core_error(CORE_USAGE, "%s%s[%d].%s: negative", where, kind, index,
                      shape->inverse_mass < 0 ? "inverse_mass" : "inverse_inertia");
  if ((shape->inverse_mass == 0) != (shape->inverse_inertia == 0))
    return core_error(CORE_USAGE, "%s%s[%d]: inverse_mass and inverse_inertia must be both 0 (fixated) or both above 0",
                      where, kind, index);
  if (shape->inverse_mass != 0 && !(shape->density > 0))
    return core_error(CORE_USAGE, "%s%s[%d].density: %g gives a moving body zero mass", where, kind, index,
                      (double)shape->density);

  if (circle && !(shape->radius > 0))
    return core_error(CORE_USAGE, "%s%s[%d].radius: %g must be above 0", where, kind, index, (double)shape->radius);
  if (circle) return CORE_OK;
  TRY(check_range(where, kind, index, "n_vertices", shape->vertex_count, 3, SIM_VERTICES));
  return check_outline(where, index, shape);
}

static int check_joint(const char *where, int index, const SimJoint *joint, SimSize size) {
  TRY(check_shape_index(where, "joint", index, "a_index", joint->a, size));
  TRY(check_shape_index(where, "joint", index, "b_index", joint->b, size));
  TRY(check_range(where, "joint", index, "motor_binding", joint->motor_binding, 0, SIM_MOTOR_BINDINGS - 1));

  TRY(CHECK_REALS(where, "joint", index, {"a_relative_pos.0", joint->a_x}, {"a_relative_pos.1", joint->a_y},
                  {"b_relative_pos.0", joint->b_x}, {"b_relative_pos.1", joint->b_y},
                  {"global_position.0", joint->global_x}, {"global_position.1", joint->global_y},
                  {"motor_speed", joint->motor_speed}, {"motor_power", joint->motor_power},
                  {"min_rotation", joint->min_rotation}, {"max_rotation", joint->max_rotation},
                  {"rotation", joint->rotation}));

  if (!joint->active) return CORE_OK;
  if (joint->a == joint->b)
    return core_error(CORE_USAGE, "%sjoint[%d].b_index: the joint connects shape %d to itself", where, index, joint->a);
  if (joint->has_limits && joint->min_rotation > joint->max_rotation)
    return core_error(CORE_USAGE, "%sjoint[%d].min_rotation: %g is above max_rotation %g", where, index,
                      (double)joint->min_rotation, (double)joint->max_rotation);
  return CORE_OK;
}

static int check_thruster(const char *where, int index, const SimThruster *thruster, SimSize size) {
  TRY(check_shape_index(where, "thruster", index, "object_index", thruster->shape, size));
  TRY(check_range(where, "thruster", index, "thruster_binding", thruster->binding, 0, SIM_THRUSTER_BINDINGS - 1));
  return CHECK_REALS(where, "thruster", index, {"relative_position.0", thruster->x},
                     {"relative_position.1", thruster->y}, {"rotation", thruster->rotation},
                     {"power", thruster->power}, {"global_position.0", thruster->global_x},
                     {"global_position.1", thruster->global_y});
}

static int check_size(const char *where, SimSize size) {
  const struct { const char *name; int value, low, high; } counts[] = {
    {"polygon", size.polygons, SIM_STATIC_POLYGONS, SIM_POLYGONS_MAX}, {"circle", size.circles, 0, SIM_CIRCLES_MAX},
    {"joint", size.joints, 0, SIM_JOINTS_MAX}, {"thruster", size.thrusters, 0, SIM_THRUSTERS_MAX}};
  for (int i = 0; i < 4; i++)
    if (counts[i].value < counts[i].low || counts[i].value > counts[i].high)
      return core_error(CORE_USAGE, "%s%s: %d slots: out of range, expected %d to %d", where, counts[i].name,
                        counts[i].value, counts[i].low, counts[i].high);
  return CORE_OK;
}

int sim_level_check_at(const SimLevel *level, const char *where) {
  SimSize size = level->size;
  TRY(check_size(where, size));
  for (int i = 0; i < size.polygons; i++) TRY(check_shape(where, "polygon", i, &level->polygon[i]));
  for (int i = 0; i < SIM_STATIC_POLYGONS; i++)
    if (level->polygon[i].inverse_mass != 0 || level->polygon[i].inverse_inertia != 0)
      return core_error(CORE_USAGE, "%spolygon[%d].inverse_mass: floor, walls and ceiling (polygons 0..%d) must be "
                        "fixated (0)", where, i, SIM_STATIC_POLYGONS - 1);
  for (int i = 0; i < size.circles; i++) TRY(check_shape(where, "circle", i, &level->circle[i]));
  for (int i = 0; i < size.joints; i++) TRY(check_joint(where, i, &level->joint[i], size));
  for (int i = 0; i < size.thrusters; i++) TRY(check_thruster(where, i, &level->thruster[i], size));
  if (!(fabsf(level->gravity_x) <= LARGEST && fabsf(level->gravity_y) <= LARGEST))
    return core_error(CORE_USAGE, "%sgravity: not a valid number", where);
  return CORE_OK;
}

int sim_level_check(const SimLevel *level) {
  char where[sizeof level->name + 16];
  snprintf(where, sizeof where, "level '%.*s': ", (int)sizeof level->name - 1, level->name);
  return sim_level_check_at(level, where);
}
