/* Reader of level files: Kinetix JSON (docs/simulator.md#level-files) to SimLevel. A level file is untrusted: types,
 * presence and size are checked here, meaning (indices, outlines, masses) in level.c; every message names the file and
 * the JSON path. Without effect, as in Kinetix' kinetix/util/saving.py: collision matrix, manifolds, gravity,
 * env_params. */
#include <errno.h>
#include "core/json.h"
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "core/files.h"
#include "core/text.h"
#include "sim/levels/level_fields_internal.h"
#include "sim/levels/level_set.h"
#include "sim/physics/level.h"

/* Lengths of JSON paths: of an entity, of its member, of a member of that. */
enum { FILE_BYTES_MAX = 8 << 20, ENTITY_PATH = 64, MEMBER_PATH = 96, INNER_PATH = 128 };

/* ---- single values --------------------------------------------------------------------------------------------- */

static const char *type_name(const json_t *value) {
  static const char *const names[] = {"an object", "a list", "a text", "a whole number", "a number",
                                      "true", "false", "null"};
  return names[json_typeof(value)];
}

/* Reads a member of `object`. node: JSON path of the object ("env_state.joint[2]"; "" for the top). */
static int get(const char *path, const char *node, const json_t *object, const char *key, const json_t **value) {
  if (!json_is_object(object))
    return core_error(CORE_USAGE, "%s: %s: expected an object, found %s", path, node[0] ? node : "top",
                      type_name(object));
  *value = json_object_get(object, key);
  if (!*value) return core_error(CORE_USAGE, "%s: %s%s%s: missing", path, node, node[0] ? "." : "", key);
  return CORE_OK;
}

static int wrong_type(const char *path, const char *node, const char *key, const char *expected, const json_t *value) {
  return core_error(CORE_USAGE, "%s: %s.%s: expected %s, found %s", path, node, key, expected, type_name(value));
}

static int get_real(const char *path, const char *node, const json_t *object, const char *key, float *real) {
  const json_t *value = NULL;
  TRY(get(path, node, object, key, &value));
  if (!json_is_number(value)) return wrong_type(path, node, key, "a number", value);
  double number = json_number_value(value);
  if (!(fabs(number) <= 3.4e38))
    return core_error(CORE_USAGE, "%s: %s.%s: %g is out of range", path, node, key, number);
  *real = (float)number;
  return CORE_OK;
}

static int get_int(const char *path, const char *node, const json_t *object, const char *key, int *whole) {
  const json_t *value = NULL;
  TRY(get(path, node, object, key, &value));
  if (!json_is_integer(value)) return wrong_type(path, node, key, "a whole number", value);
  json_int_t number = json_integer_value(value);
  if (number < INT_MIN || number > INT_MAX)
    return core_error(CORE_USAGE, "%s: %s.%s: %lld is out of range", path, node, key, (long long)number);
  *whole = (int)number;
  return CORE_OK;
}

static int get_bool(const char *path, const char *node, const json_t *object, const char *key, bool *flag) {
  const json_t *value = NULL;
  TRY(get(path, node, object, key, &value));
  if (!json_is_boolean(value)) return wrong_type(path, node, key, "true or false", value);
  *flag = json_is_true(value);
  return CORE_OK;
}

/* Reads a vector: an object with the keys "0" and "1". */
static int get_pair(const char *path, const char *node, const json_t *object, const char *key, float *x, float *y) {
  const json_t *value = NULL;
  char inner[INNER_PATH];
  TRY(get(path, node, object, key, &value));
  snprintf(inner, sizeof inner, "%s.%s", node, key);
  TRY(get_real(path, inner, value, "0", x));
  return get_real(path, inner, value, "1", y);
}

/* ---- entities ---------------------------------------------------------------------------------------------------- */

static int get_vertices(const char *path, const char *node, const json_t *object, const char *key, float *x, float *y) {
  static const char *const keys[SIM_VERTICES] = {"0", "1", "2", "3"};
  const json_t *vertices = NULL;
  char inner[MEMBER_PATH];
  TRY(get(path, node, object, key, &vertices));
  snprintf(inner, sizeof inner, "%s.%s", node, key);
  for (int i = 0; i < SIM_VERTICES; i++) TRY(get_pair(path, inner, vertices, keys[i], &x[i], &y[i]));
  return CORE_OK;
}

static int read_fields(const char *path, const char *node, const json_t *object, const SimField *field, void *entity) {
  for (; field->key; field++) {
    void *member = (char *)entity + field->offset, *second = (char *)entity + field->second;
    switch (field->kind) {
      case SIM_FIELD_REAL: TRY(get_real(path, node, object, field->key, member)); break;
      case SIM_FIELD_INT: TRY(get_int(path, node, object, field->key, member)); break;
      case SIM_FIELD_BOOL: TRY(get_bool(path, node, object, field->key, member)); break;
      case SIM_FIELD_PAIR: TRY(get_pair(path, node, object, field->key, member, second)); break;
      case SIM_FIELD_VERTICES: TRY(get_vertices(path, node, object, field->key, member, second)); break;
    }
  }
  return CORE_OK;
}

static int read_entities(const char *path, const json_t *state, const char *key, int count, const SimField *fields,
                         void *entities, size_t bytes) {
  const json_t *list = NULL;
  TRY(get(path, "env_state", state, key, &list));
  if (!json_is_array(list)) return wrong_type(path, "env_state", key, "a list", list);
  if (json_array_size(list) != (size_t)count)
    return core_error(CORE_USAGE, "%s: env_state.%s: %zu entries, but static_env_params.num_%ss is %d", path, key,
                      json_array_size(list), key, count);
  for (int i = 0; i < count; i++) {
    char node[ENTITY_PATH];
    void *entity = (char *)entities + (size_t)i * bytes;
    snprintf(node, sizeof node, "env_state.%s[%d]", key, i);
    TRY(read_fields(path, node, json_array_get(list, (size_t)i), fields, entity));
  }
  return CORE_OK;
}

/* Clears unused slots. Published files have leftovers there (a thruster_binding of 3); nothing reads them, but they are
 * array indices. */
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
    {"num_polygons", SIM_STATIC_POLYGONS, SIM_POLYGONS_MAX, &size->polygons},
    {"num_circles", 0, SIM_CIRCLES_MAX, &size->circles},
    {"num_joints", 0, SIM_JOINTS_MAX, &size->joints},
    {"num_thrusters", 0, SIM_THRUSTERS_MAX, &size->thrusters},
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
      return core_error(CORE_USAGE, "%s: static_env_params.%s: %d is out of range, expected %d to %d", path,
                        counts[i].key, *counts[i].target, counts[i].low, counts[i].high);
  }
  return CORE_OK;
}

/* Derives the level's name: "m/h0_unicycle" for .../m/h0_unicycle.json, because the directories s, m and l hold levels
 * of the same name. */
static int level_name(const char *path, char *name, size_t capacity) {
  const char *base = strrchr(path, '/'), *dot;
  base = base ? base + 1 : path;
  dot = strrchr(base, '.');
  size_t length = dot && strcmp(dot, ".json") == 0 ? (size_t)(dot - base) : strlen(base);
  bool sized = base - path >= 2 && strchr("sml", base[-2]) && (base - path == 2 || base[-3] == '/');
  size_t directory = sized ? 2 : 0;
  if (directory + length >= capacity)
    return core_error(CORE_USAGE, "%s: the level's name is longer than %zu characters", path, capacity - 1 - directory);
  memcpy(name, base - directory, directory + length);
  name[directory + length] = '\0';
  if (core_text_check_name(name + directory, "level name") != CORE_OK)
    return core_error_context(CORE_USAGE, "%s", path);
  return CORE_OK;
}

static int parse_json(const char *path, const char *data, size_t bytes, json_t **top) {
  json_error_t fault;
  *top = json_loadb(data, bytes, JSON_REJECT_DUPLICATES, &fault);
  if (!*top) return core_error(CORE_USAGE, "%s:%d:%d: not valid JSON: %s", path, fault.line, fault.column, fault.text);
  return CORE_OK;
}

/* Rejects files that declare a later version of the format. */
static int check_version(const char *path, const json_t *top) {
  int version = 0;
  if (!json_object_get(top, "level_version")) return CORE_OK;
  TRY(get_int(path, "top", top, "level_version", &version));
  if (version >= 1 && version <= SIM_LEVEL_VERSION) return CORE_OK;
  return core_error(CORE_USAGE, "%s: level_version: %d; this program reads version %d; a newer one is needed", path,
                    version, SIM_LEVEL_VERSION);
}

/* Rejects files with entities that this version does not know and would drop. */
static int check_known(const char *path, const json_t *state) {
  static const char *const known[] = {"polygon", "circle", "joint", "thruster", "collision_matrix", "acc_rr_manifolds",
                                      "acc_cr_manifolds", "acc_cc_manifolds", "gravity"};
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)state, key, value) {
    size_t i = 0;
    while (i < sizeof known / sizeof known[0] && strcmp(key, known[i]) != 0) i++;
    if (i == sizeof known / sizeof known[0])
      return core_error(CORE_USAGE, "%s: env_state.%.64s: unknown field; the file is from a newer version, or "
                        "the name is mistyped", path, key);
  }
  return CORE_OK;
}

static int read_level(const char *path, const json_t *top, SimLevel *level) {
  const json_t *state = NULL;
  char where[CORE_PATH_MAX + 16];

  TRY(get(path, "", top, "env_state", &state));
  TRY(check_version(path, top));
  TRY(read_size(path, top, &level->size));
  TRY(read_entities(path, state, "polygon", level->size.polygons, sim_level_shape_fields, level->polygon,
                    sizeof(SimShape)));
  TRY(read_entities(path, state, "circle", level->size.circles, sim_level_shape_fields, level->circle,
                    sizeof(SimShape)));
  TRY(read_entities(path, state, "joint", level->size.joints, sim_level_joint_fields, level->joint, sizeof(SimJoint)));
  TRY(read_entities(path, state, "thruster", level->size.thrusters, sim_level_thruster_fields, level->thruster,
                    sizeof(SimThruster)));

  TRY(check_known(path, state));
  clear_leftovers(level);
  level->gravity_y = -9.81f; /* the reference's loader uses its own gravity, whatever the file says */
  snprintf(where, sizeof where, "%s: env_state.", path);
  return sim_level_check_at(level, where);
}

static int check_bytes(const char *path, double bytes) {
  if (bytes <= FILE_BYTES_MAX) return CORE_OK;
  return core_error(CORE_USAGE, "%s: %.1f MiB; a level file has at most %d MiB", path, bytes / (1 << 20),
                    FILE_BYTES_MAX >> 20);
}

int sim_level_parse(const char *path, const char *data, size_t bytes, SimLevel *level) {
  json_t *top = NULL;
  memset(level, 0, sizeof *level);
  TRY(level_name(path, level->name, sizeof level->name));
  TRY(check_bytes(path, (double)bytes));
  TRY(parse_json(path, data, bytes, &top));
  int code = read_level(path, top, level);
  json_decref(top);
  return code;
}

int sim_level_read(const char *path, SimLevel *level) {
  struct stat status;
  char *data = NULL;
  size_t bytes = 0;
  memset(level, 0, sizeof *level);
  if (stat(path, &status) != 0) return core_error_errno(CORE_USAGE, "%s", path);
  if (!S_ISREG(status.st_mode)) return core_error(CORE_USAGE, "%s: not a file", path);
  TRY(check_bytes(path, (double)status.st_size));
  if (core_files_read(path, FILE_BYTES_MAX, &data, &bytes) != CORE_OK)
    return core_error_context(CORE_USAGE, "level file");
  int code = sim_level_parse(path, data, bytes, level);
  free(data);
  return code;
}
