/* Writer of Kinetix JSON, in the order of the table of fields that level_read.c shares. Numbers have all digits that a
 * float32 needs, whatever the locale. Omitted, because the reader ignores them: collision matrix, manifolds and engine
 * parameters. */
#include <math.h>

#include "sim/levels/level_fields_internal.h"
#include "sim/levels/level_set.h"

static void append_real(CoreText *json, float value) {
  char number[32];
  bool negative_zero = value == 0 && signbit(value); /* "-0" would be read as an integer, which has no sign */
  core_text_append(json, negative_zero ? "-0.0" : core_text_from_real((double)value, number));
}

static void append_pair(CoreText *json, float x, float y) {
  core_text_append(json, "{\"0\": ");
  append_real(json, x);
  core_text_append(json, ", \"1\": ");
  append_real(json, y);
  core_text_append(json, "}");
}

static void append_vertices(CoreText *json, const float *x, const float *y) {
  for (int i = 0; i < SIM_VERTICES; i++) {
    core_text_appendf(json, "%s\"%d\": ", i == 0 ? "{" : ", ", i);
    append_pair(json, x[i], y[i]);
  }
  core_text_append(json, "}");
}

static void append_entity(CoreText *json, const SimField *field, const void *entity) {
  const char *before = "{";
  for (; field->key; field++) {
    const void *member = (const char *)entity + field->offset, *second = (const char *)entity + field->second;
    core_text_appendf(json, "%s\"%s\": ", before, field->key);
    before = ", ";
    switch (field->kind) {
      case SIM_FIELD_REAL: append_real(json, *(const float *)member); break;
      case SIM_FIELD_INT: core_text_appendf(json, "%d", *(const int *)member); break;
      case SIM_FIELD_BOOL: core_text_append(json, *(const bool *)member ? "true" : "false"); break;
      case SIM_FIELD_PAIR: append_pair(json, *(const float *)member, *(const float *)second); break;
      case SIM_FIELD_VERTICES: append_vertices(json, member, second); break;
    }
  }
  core_text_append(json, "}");
}

static void append_entities(CoreText *json, const char *key, int count, const SimField *fields, const void *entities,
                            size_t bytes) {
  core_text_appendf(json, "\"%s\": [", key);
  for (int i = 0; i < count; i++) {
    core_text_append(json, i == 0 ? "\n" : ",\n");
    append_entity(json, fields, (const char *)entities + (size_t)i * bytes);
  }
  core_text_append(json, "]");
}

int sim_level_write(const SimLevel *level, CoreText *json) {
  SimSize size = level->size;
  TRY(sim_level_check(level));

  core_text_appendf(json, "{\"level_version\": %d,\n\"env_state\": {", SIM_LEVEL_VERSION);
  append_entities(json, "polygon", size.polygons, sim_level_shape_fields, level->polygon, sizeof(SimShape));
  core_text_append(json, ",\n");
  append_entities(json, "circle", size.circles, sim_level_shape_fields, level->circle, sizeof(SimShape));
  core_text_append(json, ",\n");
  append_entities(json, "joint", size.joints, sim_level_joint_fields, level->joint, sizeof(SimJoint));
  core_text_append(json, ",\n");
  append_entities(json, "thruster", size.thrusters, sim_level_thruster_fields, level->thruster, sizeof(SimThruster));

  core_text_append(json, ",\n\"gravity\": ");
  append_pair(json, level->gravity_x, level->gravity_y);
  core_text_appendf(json, "},\n\"static_env_params\": {\"num_polygons\": %d, \"num_circles\": %d, \"num_joints\": %d, "
                    "\"num_thrusters\": %d, \"max_polygon_vertices\": %d, \"num_static_fixated_polys\": %d, "
                    "\"num_motor_bindings\": %d, \"num_thruster_bindings\": %d}}\n", size.polygons, size.circles,
                    size.joints, size.thrusters, SIM_VERTICES, SIM_STATIC_POLYGONS, SIM_MOTOR_BINDINGS,
                    SIM_THRUSTER_BINDINGS);
  return CORE_OK;
}
