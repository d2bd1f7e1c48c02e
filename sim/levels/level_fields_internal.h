/* Table of the fields of a level file, shared by the reader and the writer (level_fields.c). */
#ifndef SIM_LEVEL_FIELDS_INTERNAL_H
#define SIM_LEVEL_FIELDS_INTERNAL_H
#include <stddef.h>

#include "sim/physics/level.h"

/* Version of the format, as "level_version": 1. Kinetix' files have none. */
enum { SIM_LEVEL_VERSION = 1 };

/* Kinds of fields. PAIR: {"0": x, "1": y}. VERTICES: one such pair for each vertex, with keys "0" to "3". */
typedef enum SimFieldKind {
  SIM_FIELD_REAL, SIM_FIELD_INT, SIM_FIELD_BOOL, SIM_FIELD_PAIR, SIM_FIELD_VERTICES
} SimFieldKind;

/* Field of an entity in a file, and its offset in the struct; second: offset of y. */
typedef struct SimField {
  const char *key;
  SimFieldKind kind;
  size_t offset, second;
} SimField;
/* Tables that end with a row without a key. Polygons and circles share one. */
extern const SimField sim_level_shape_fields[], sim_level_joint_fields[], sim_level_thruster_fields[];

#endif
