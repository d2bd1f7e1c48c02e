/* Reads the golden files of the simulator: tab-separated lines, '#' comments, and the tables that say how far two
 * honest computations of the same trajectory may part (sensitivity.tsv, sensitivity_isa.tsv). */
#ifndef TESTS_GOLDEN_TRAJ_READ_H
#define TESTS_GOLDEN_TRAJ_READ_H
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"

enum { TRAJ_FIELDS_MAX = 1024 };

/* A file in memory, cut into lines and fields as it is read. */
typedef struct TrajFile {
  const char *path;
  char *data, *next;
  int line, count;              /* number and fields of the current line */
  bool comment;                 /* it begins with '#' */
  const char *field[TRAJ_FIELDS_MAX];
} TrajFile;

static inline int traj_open(const char *path, TrajFile *file) {
  size_t size = 0;
  memset(file, 0, sizeof *file);
  file->path = path;
  TRY(core_files_read(path, 0, &file->data, &size));
  file->next = file->data;
  return CORE_OK;
}

static inline void traj_close(TrajFile *file) {
  free(file->data);
  file->data = file->next = NULL;
}

/* The next line that is not empty; false at the end. A comment is one field. */
static inline bool traj_next(TrajFile *file) {
  while (*file->next) {
    char *line = file->next, *end = strchr(line, '\n');
    file->next = end ? end + 1 : line + strlen(line);
    if (end) *end = 0;
    file->line++;
    if (!*line) continue;
    file->comment = line[0] == '#';
    file->count = 0;
    for (char *at = line; at && file->count < TRAJ_FIELDS_MAX;) {
      char *tab = file->comment ? NULL : strchr(at, '\t');
      if (tab) *tab = 0;
      file->field[file->count++] = at;
      at = tab ? tab + 1 : NULL;
    }
    return true;
  }
  return false;
}

/* Field i as a number; NaN where it is missing or none, which no comparison accepts. */
static inline double traj_number(const TrajFile *file, int i) {
  if (i < 0 || i >= file->count) return NAN;
  char *end;
  double value = strtod(file->field[i], &end);
  return end == file->field[i] || *end ? NAN : value;
}

/* Reads an index; -1 if it is not an integer below `limit`. */
static inline int traj_index(const TrajFile *file, int i, int limit) {
  double value = traj_number(file, i);
  return value >= 0 && value < limit && value == floor(value) ? (int)value : -1;
}

/* Tolerances of one trajectory at one time. */
typedef struct TrajTolerance {
  double position, rotation, velocity, spin, reward;
  bool comparable;       /* false: rounding alone moves bodies too far; only finiteness and bounds are checked */
} TrajTolerance;

typedef struct TrajSensitivityRow {
  char level[128];       /* with '_' for '/' */
  int t;
  double figure[5];
  bool dones_differ;
} TrajSensitivityRow;

typedef struct TrajSensitivity { TrajSensitivityRow *rows; int count; } TrajSensitivity;

static inline void traj_flat_name(char *target, size_t capacity, const char *name) {
  snprintf(target, capacity, "%s", name);
  for (char *c = target; *c; c++) {
    if (*c == '/') *c = '_';
  }
}

/* Adds a table; a file that is not there adds nothing. */
static inline int traj_sensitivity_add(TrajSensitivity *table, const char *path) {
  if (!core_files_exists(path)) return CORE_OK;
  TrajFile *file = malloc(sizeof *file);
  if (!file) return core_error(CORE_FAIL, "out of memory");
  int code = traj_open(path, file);
  while (code == CORE_OK && traj_next(file)) {
    if (file->comment || file->count < 8 || isnan(traj_number(file, 1))) continue;
    TrajSensitivityRow *rows = realloc(table->rows, ((size_t)table->count + 1) * sizeof *rows);
    if (!rows) { code = core_error(CORE_FAIL, "out of memory"); break; }
    table->rows = rows;
    TrajSensitivityRow *row = &rows[table->count++];
    traj_flat_name(row->level, sizeof row->level, file->field[0]);
    row->t = (int)traj_number(file, 1);
    for (int i = 0; i < 5; i++) row->figure[i] = traj_number(file, 2 + i);
    row->dones_differ = traj_number(file, 7) != 0;
  }
  traj_close(file);
  free(file);
  return code;
}

/* max(1e-4, 10 times the larger figure) at the next listed time >= t; comparable while positions and angles may part by
 * no more than 0.05 and the end of the episode is sure. A level without rows has the default 1e-4. */
static inline TrajTolerance traj_tolerance(const TrajSensitivity *table, const char *level, int t) {
  double figure[5] = {0};
  bool differ = false;
  int later = -1; /* both tables list the same times */
  char name[128];
  traj_flat_name(name, sizeof name, level);
  for (int i = 0; i < table->count; i++) {
    const TrajSensitivityRow *row = &table->rows[i];
    if (row->t < t || strcmp(row->level, name) != 0) continue;
    if (later < 0 || row->t < later) later = row->t;
  }
  for (int i = 0; i < table->count; i++) {
    const TrajSensitivityRow *row = &table->rows[i];
    if (row->t != later || strcmp(row->level, name) != 0) continue;
    for (int k = 0; k < 5; k++) figure[k] = fmax(figure[k], row->figure[k]);
    differ |= row->dones_differ;
  }
  for (int k = 0; k < 5; k++) figure[k] = fmax(1e-4, 10 * figure[k]);
  return (TrajTolerance){figure[0], figure[1], figure[2], figure[3], figure[4],
                         !differ && figure[0] <= 0.05 && figure[1] <= 0.05};
}

#endif
