/* Level files: Kinetix JSON (spec kinetix.md 4) into SimLevel, and sets of files for env.levels. A level file is
 * hostile until read: types, presence and size are checked here, meaning (indices, outlines, masses) by level.c; every
 * message carries the file and the JSON path. Ignored as the reference's loader ignores them: collision matrix,
 * manifolds, accumulators, gravity, env_params. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "core/files.h"
#include "core/memory.h"
#include "core/text.h"
#include "sim/level_internal.h"

/* JSON paths: of an entity, of a member of it, of a member of that. */
enum { FILE_BYTES_MAX = 8 << 20, ENTITY_PATH = 64, MEMBER_PATH = 96, INNER_PATH = 128 };

/* ---- one value ------------------------------------------------------------------------------------------------- */

static const char *type_name(const json_t *value) {
  static const char *const names[] = {"an object", "a list", "a text", "a whole number", "a number",
                                      "true", "false", "null"};
  return names[json_typeof(value)];
}

/* `at` is the JSON path of `object` ("env_state.joint[2]"; "" for the top). */
static int get(const char *path, const char *at, const json_t *object, const char *key, const json_t **value) {
  if (!json_is_object(object))
    return core_error(CORE_USAGE, "%s: %s: expected an object, found %s", path, at[0] ? at : "top", type_name(object));
  *value = json_object_get(object, key);
  if (!*value) return core_error(CORE_USAGE, "%s: %s%s%s: missing", path, at, at[0] ? "." : "", key);
  return CORE_OK;
}

static int wrong_type(const char *path, const char *at, const char *key, const char *expected, const json_t *value) {
  return core_error(CORE_USAGE, "%s: %s.%s: expected %s, found %s", path, at, key, expected, type_name(value));
}

static int get_real(const char *path, const char *at, const json_t *object, const char *key, float *real) {
  const json_t *value = NULL;
  TRY(get(path, at, object, key, &value));
  if (!json_is_number(value)) return wrong_type(path, at, key, "a number", value);
  double number = json_number_value(value);
  if (!(fabs(number) <= 3.4e38)) return core_error(CORE_USAGE, "%s: %s.%s: %g is out of range", path, at, key, number);
  *real = (float)number;
  return CORE_OK;
}

static int get_int(const char *path, const char *at, const json_t *object, const char *key, int *whole) {
  const json_t *value = NULL;
  TRY(get(path, at, object, key, &value));
  if (!json_is_integer(value)) return wrong_type(path, at, key, "a whole number", value);
  json_int_t number = json_integer_value(value);
  if (number < INT_MIN || number > INT_MAX)
    return core_error(CORE_USAGE, "%s: %s.%s: %lld is out of range", path, at, key, (long long)number);
  *whole = (int)number;
  return CORE_OK;
}

static int get_bool(const char *path, const char *at, const json_t *object, const char *key, bool *flag) {
  const json_t *value = NULL;
  TRY(get(path, at, object, key, &value));
  if (!json_is_boolean(value)) return wrong_type(path, at, key, "true or false", value);
  *flag = json_is_true(value);
  return CORE_OK;
}

/* Vectors are objects with the keys "0" and "1". */
static int get_pair(const char *path, const char *at, const json_t *object, const char *key, float *x, float *y) {
  const json_t *value = NULL;
  char inner[INNER_PATH];
  TRY(get(path, at, object, key, &value));
  snprintf(inner, sizeof inner, "%s.%s", at, key);
  TRY(get_real(path, inner, value, "0", x));
  return get_real(path, inner, value, "1", y);
}

/* ---- entities: one row a field --------------------------------------------------------------------------------- */

typedef enum FieldKind { FIELD_REAL, FIELD_INT, FIELD_BOOL, FIELD_PAIR } FieldKind;
typedef struct Field { const char *key; FieldKind kind; size_t offset, second; } Field;
#define ONE(type, key, kind, member) {key, kind, offsetof(type, member), 0}
#define PAIR(type, key, x, y) {key, FIELD_PAIR, offsetof(type, x), offsetof(type, y)}

static const Field shape_fields[] = {
  PAIR(SimShape, "position", x, y),
  ONE(SimShape, "rotation", FIELD_REAL, rotation),
  PAIR(SimShape, "velocity", vx, vy),
  ONE(SimShape, "angular_velocity", FIELD_REAL, angular_velocity),
  ONE(SimShape, "inverse_mass", FIELD_REAL, inverse_mass),
  ONE(SimShape, "inverse_inertia", FIELD_REAL, inverse_inertia),
  ONE(SimShape, "friction", FIELD_REAL, friction),
  ONE(SimShape, "restitution", FIELD_REAL, restitution),
  ONE(SimShape, "collision_mode", FIELD_INT, collision_mode),
  ONE(SimShape, "active", FIELD_BOOL, active),
  ONE(SimShape, "n_vertices", FIELD_INT, vertex_count),
  ONE(SimShape, "radius", FIELD_REAL, radius),
  ONE(SimShape, "role", FIELD_INT, role),
  ONE(SimShape, "density", FIELD_REAL, density),
  {0},
};
static const Field joint_fields[] = {
  ONE(SimJoint, "a_index", FIELD_INT, a),
  ONE(SimJoint, "b_index", FIELD_INT, b),
  PAIR(SimJoint, "a_relative_pos", a_x, a_y),
  PAIR(SimJoint, "b_relative_pos", b_x, b_y),
  PAIR(SimJoint, "global_position", global_x, global_y),
  ONE(SimJoint, "active", FIELD_BOOL, active),
  ONE(SimJoint, "motor_speed", FIELD_REAL, motor_speed),
  ONE(SimJoint, "motor_power", FIELD_REAL, motor_power),
  ONE(SimJoint, "motor_on", FIELD_BOOL, motor_on),
  ONE(SimJoint, "motor_has_joint_limits", FIELD_BOOL, has_limits),
  ONE(SimJoint, "min_rotation", FIELD_REAL, min_rotation),
  ONE(SimJoint, "max_rotation", FIELD_REAL, max_rotation),
  ONE(SimJoint, "is_fixed_joint", FIELD_BOOL, fixed),
  ONE(SimJoint, "rotation", FIELD_REAL, rotation),
  ONE(SimJoint, "motor_binding", FIELD_INT, motor_binding),
  {0},
};
static const Field thruster_fields[] = {
  ONE(SimThruster, "object_index", FIELD_INT, shape),
  PAIR(SimThruster, "relative_position", x, y),
  ONE(SimThruster, "rotation", FIELD_REAL, rotation),
  ONE(SimThruster, "power", FIELD_REAL, power),
  PAIR(SimThruster, "global_position", global_x, global_y),
  ONE(SimThruster, "active", FIELD_BOOL, active),
  ONE(SimThruster, "thruster_binding", FIELD_INT, binding),
  {0},
};

static int read_fields(const char *path, const char *at, const json_t *object, const Field *field, void *entity) {
  for (; field->key; field++) {
    void *member = (char *)entity + field->offset, *second = (char *)entity + field->second;
    switch (field->kind) {
      case FIELD_REAL: TRY(get_real(path, at, object, field->key, member)); break;
      case FIELD_INT: TRY(get_int(path, at, object, field->key, member)); break;
      case FIELD_BOOL: TRY(get_bool(path, at, object, field->key, member)); break;
      case FIELD_PAIR: TRY(get_pair(path, at, object, field->key, member, second)); break;
    }
  }
  return CORE_OK;
}

static int read_vertices(const char *path, const char *at, const json_t *object, SimShape *shape) {
  static const char *const keys[SIM_VERTICES] = {"0", "1", "2", "3"};
  const json_t *vertices = NULL;
  char inner[MEMBER_PATH];
  TRY(get(path, at, object, "vertices", &vertices));
  snprintf(inner, sizeof inner, "%s.vertices", at);
  for (int i = 0; i < SIM_VERTICES; i++)
    TRY(get_pair(path, inner, vertices, keys[i], &shape->vertex_x[i], &shape->vertex_y[i]));
  return CORE_OK;
}

static int read_entities(const char *path, const json_t *state, const char *key, int count, const Field *fields,
                         void *entities, size_t bytes) {
  const json_t *list = NULL;
  TRY(get(path, "env_state", state, key, &list));
  if (!json_is_array(list)) return wrong_type(path, "env_state", key, "a list", list);
  if (json_array_size(list) != (size_t)count)
    return core_error(CORE_USAGE, "%s: env_state.%s: %zu entries, but static_env_params.num_%ss is %d", path, key,
                      json_array_size(list), key, count);
  for (int i = 0; i < count; i++) {
    char at[ENTITY_PATH];
    void *entity = (char *)entities + (size_t)i * bytes;
    snprintf(at, sizeof at, "env_state.%s[%d]", key, i);
    TRY(read_fields(path, at, json_array_get(list, (size_t)i), fields, entity));
    if (fields == shape_fields) TRY(read_vertices(path, at, json_array_get(list, (size_t)i), entity));
  }
  return CORE_OK;
}

/* Unused slots of published files hold leftovers (a thruster_binding of 3): nobody looks at them, but they are array
 * indices, so they become 0. */
static void clear_leftovers(SimLevel *level) {
  int shapes = level->size.polygons + level->size.circles;
  for (int i = 0; i < level->size.joints; i++) {
    SimJoint *joint = &level->joint[i];
    if (joint->active) continue;
    if (joint->a < 0 || joint->a >= shapes || joint->b < 0 || joint->b >= shapes) joint->a = joint->b = 0;
    if (joint->motor_binding < 0 || joint->motor_binding >= SIM_MOTOR_BINDINGS) joint->motor_binding = 0;
  }
  for (int i = 0; i < level->size.thrusters; i++) {
    SimThruster *thruster = &level->thruster[i];
    if (thruster->active) continue;
    if (thruster->shape < 0 || thruster->shape >= shapes) thruster->shape = 0;
    if (thruster->binding < 0 || thruster->binding >= SIM_THRUSTER_BINDINGS) thruster->binding = 0;
  }
}

/* ---- one file -------------------------------------------------------------------------------------------------- */

static int read_size(const char *path, const json_t *top, SimSize *size) {
  const struct { const char *key; int low, high, *target; } counts[] = {
    {"num_polygons", SIM_STATIC_POLYGONS, SIM_MAX_POLYGONS, &size->polygons},
    {"num_circles", 0, SIM_MAX_CIRCLES, &size->circles},
    {"num_joints", 0, SIM_MAX_JOINTS, &size->joints},
    {"num_thrusters", 0, SIM_MAX_THRUSTERS, &size->thrusters},
    {"max_polygon_vertices", SIM_VERTICES, SIM_VERTICES, &(int){0}},
    {"num_static_fixated_polys", SIM_STATIC_POLYGONS, SIM_STATIC_POLYGONS, &(int){0}},
    {"num_motor_bindings", SIM_MOTOR_BINDINGS, SIM_MOTOR_BINDINGS, &(int){0}},
    {"num_thruster_bindings", SIM_THRUSTER_BINDINGS, SIM_THRUSTER_BINDINGS, &(int){0}},
  };
  const json_t *params = NULL;
  TRY(get(path, "", top, "static_env_params", &params));
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    TRY(get_int(path, "static_env_params", params, counts[i].key, counts[i].target));
    if (*counts[i].target < counts[i].low || *counts[i].target > counts[i].high)
      return core_error(CORE_USAGE, "%s: static_env_params.%s: %d; this simulator takes %d to %d", path, counts[i].key,
                        *counts[i].target, counts[i].low, counts[i].high);
  }
  return CORE_OK;
}

/* "m/h0_unicycle" for .../m/h0_unicycle.json: the folders s, m and l hold levels of the same name. */
static int level_name(const char *path, char *name, size_t capacity) {
  const char *base = strrchr(path, '/'), *dot;
  base = base ? base + 1 : path;
  dot = strrchr(base, '.');
  size_t length = dot && strcmp(dot, ".json") == 0 ? (size_t)(dot - base) : strlen(base);
  bool sized = base - path >= 2 && strchr("sml", base[-2]) && (base - path == 2 || base[-3] == '/');
  size_t folder = sized ? 2 : 0;
  if (folder + length >= capacity)
    return core_error(CORE_USAGE, "%s: the level's name is longer than %zu characters", path, capacity - 1 - folder);
  memcpy(name, base - folder, folder + length);
  name[folder + length] = '\0';
  if (core_text_check_name(name + folder, "level name") != CORE_OK) return core_error_context(CORE_USAGE, "%s", path);
  return CORE_OK;
}

static int load_json(const char *path, json_t **top) {
  struct stat status;
  char *data = NULL;
  size_t size = 0;
  json_error_t fault;
  if (stat(path, &status) != 0) return core_error_errno(CORE_USAGE, "%s", path);
  if (!S_ISREG(status.st_mode)) return core_error(CORE_USAGE, "%s: not a file", path);
  if (status.st_size > FILE_BYTES_MAX)
    return core_error(CORE_USAGE, "%s: %.1f MiB; a level file has at most %d MiB", path,
                      (double)status.st_size / (1 << 20), FILE_BYTES_MAX >> 20);
  if (core_files_read(path, FILE_BYTES_MAX, &data, &size) != CORE_OK)
    return core_error_context(CORE_USAGE, "level file");
  *top = json_loadb(data, size, JSON_REJECT_DUPLICATES, &fault);
  free(data);
  if (!*top) return core_error(CORE_USAGE, "%s:%d:%d: not valid JSON: %s", path, fault.line, fault.column, fault.text);
  return CORE_OK;
}

static int read_level(const char *path, const json_t *top, SimLevel *level) {
  const json_t *state = NULL;
  char where[CORE_PATH_MAX + 16];
  TRY(get(path, "", top, "env_state", &state));
  TRY(read_size(path, top, &level->size));
  TRY(read_entities(path, state, "polygon", level->size.polygons, shape_fields, level->polygon, sizeof(SimShape)));
  TRY(read_entities(path, state, "circle", level->size.circles, shape_fields, level->circle, sizeof(SimShape)));
  TRY(read_entities(path, state, "joint", level->size.joints, joint_fields, level->joint, sizeof(SimJoint)));
  TRY(read_entities(path, state, "thruster", level->size.thrusters, thruster_fields, level->thruster,
                    sizeof(SimThruster)));
  clear_leftovers(level);
  level->gravity_y = -9.81f; /* the reference's loader keeps its own, whatever the file says */
  snprintf(where, sizeof where, "%s: env_state.", path);
  return sim_level_check_at(level, where);
}

int sim_level_read(const char *path, SimLevel *level) {
  json_t *top = NULL;
  memset(level, 0, sizeof *level);
  TRY(level_name(path, level->name, sizeof level->name));
  TRY(load_json(path, &top));
  int code = read_level(path, top, level);
  json_decref(top);
  return code;
}
