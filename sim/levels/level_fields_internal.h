/* The fields of a level file, one row each, that the reader and the writer both go by (level_fields.c). */
#ifndef SIM_LEVEL_FIELDS_INTERNAL_H
#define SIM_LEVEL_FIELDS_INTERNAL_H
#include <stddef.h>

#include "sim/physics/level.h"

/* Kinetix' files have no version; ours say "level_version": 1. */
enum { SIM_LEVEL_VERSION = 1 };

/* PAIR: {"0": x, "1": y}. VERTICES: the same of each vertex, keyed "0" to "3". */
typedef enum SimFieldKind {
  SIM_FIELD_REAL, SIM_FIELD_INT, SIM_FIELD_BOOL, SIM_FIELD_PAIR, SIM_FIELD_VERTICES
} SimFieldKind;

/* A field of an entity in a file, and where it lies in the struct; second: of y. */
typedef struct SimField {
  const char *key;
  SimFieldKind kind;
  size_t offset, second;
} SimField;
/* Each ends with a row without a key. Polygons and circles have the same. */
extern const SimField sim_level_shape_fields[], sim_level_joint_fields[], sim_level_thruster_fields[];

#endif
