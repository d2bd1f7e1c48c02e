/* Visited states as files, and as points of a plane (coverage.h). */
#include "analysis/runs/coverage.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/statistics.h"
#include "core/files.h"
#include "core/memory.h"
#include "core/random.h"

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* Parses "states.<iteration>.npy"; 0 for other names. */
static int64_t file_iteration(const char *name) {
  enum { BEFORE = sizeof "states." - 1, AFTER = sizeof ".npy" - 1 };
  char digits[24];
  int64_t iteration;
  const size_t length = strlen(name);
  if (length <= BEFORE + AFTER || length - BEFORE - AFTER >= sizeof digits) return 0;
  if (strncmp(name, "states.", BEFORE) != 0 || strcmp(name + length - AFTER, ".npy") != 0) return 0;
  memcpy(digits, name + BEFORE, length - BEFORE - AFTER);
  digits[length - BEFORE - AFTER] = '\0';
  return core_text_to_int(digits, &iteration) && iteration > 0 ? iteration : 0;
}

/* Header of a state file, as trainer/rollout/visited.c writes it. */
typedef struct Matrix { size_t header, count, features; } Matrix;

static bool read_header(const char *data, size_t size, Matrix *matrix) {
  enum { PREFIX = 10 };
  uint64_t count, features;
  char text[256];
  if (size < PREFIX || memcmp(data, "\x93NUMPY\x01", 7) != 0) return false;
  matrix->header = PREFIX + (unsigned char)data[8] + 256U * (unsigned char)data[9];
  if (matrix->header > size || matrix->header - PREFIX >= sizeof text) return false;
  memcpy(text, data + PREFIX, matrix->header - PREFIX);
  text[matrix->header - PREFIX] = '\0';
  if (sscanf(text, "{'descr': '<f4', 'fortran_order': False, 'shape': (%" SCNu64 ", %" SCNu64 ")", &count, &features) !=
      2)
    return false;
  matrix->count = count;
  matrix->features = features;
  return count <= INT32_MAX && features > 0 && features <= INT32_MAX;
}

static int no_matrix(const char *path) {
  return core_error(CORE_FAIL,
                    "%s: not a complete float32 matrix written by the trainer (.npy); remove it, or run again with "
                    "`sweep submit --force`",
                    path);
}

typedef struct StateFile { char path[CORE_PATH_MAX]; int64_t iteration; } StateFile;

static int by_iteration(const void *a, const void *b) {
  const int64_t x = ((const StateFile *)a)->iteration, y = ((const StateFile *)b)->iteration;
  return (x > y) - (x < y);
}

/* Lists the directory's state files, sorted by iteration; free *files. */
static int list_files(const char *directory, StateFile **files, size_t *count) {
  char **names = NULL;
  size_t name_count = 0;
  int code = CORE_OK;
  *files = NULL;
  *count = 0;
  if (!core_files_exists(directory)) return CORE_OK;

  TRY(core_files_list(directory, &names, &name_count));
  *files = core_memory_allocate((name_count + 1) * sizeof **files);
  for (size_t i = 0; i < name_count; i++) {
    StateFile *file = &(*files)[*count];
    file->iteration = file_iteration(names[i]);
    if (file->iteration == 0 || code != CORE_OK) continue;
    code = core_files_path(file->path, "%s/%s", directory, names[i]);
    ++*count;
  }

  for (size_t i = 0; i < name_count; i++) free(names[i]);
  free(names);
  qsort(*files, *count, sizeof **files, by_iteration);
  return code;
}

static int add_file(const StateFile *file, AnalysisStates *states) {
  char *data;
  size_t size;
  Matrix matrix;
  TRY(core_files_read(file->path, 0, &data, &size));

  const bool is_good = read_header(data, size, &matrix) &&
                       size - matrix.header == matrix.count * matrix.features * sizeof(float);
  if (!is_good || (states->count > 0 && matrix.features != states->features)) {
    free(data);
    return no_matrix(file->path);
  }

  const size_t count = states->count + matrix.count, row = matrix.features * sizeof(float);
  states->features = matrix.features;
  states->rows = core_memory_resize(states->rows, count * row + 1);
  states->iteration = core_memory_resize(states->iteration, (count + 1) * sizeof *states->iteration);

  memcpy(states->rows + states->count * matrix.features, data + matrix.header, matrix.count * row);
  for (size_t i = states->count; i < count; i++) states->iteration[i] = (double)file->iteration;

  states->count = count;
  free(data);
  return CORE_OK;
}

int analysis_states_read(const char *directory, AnalysisStates *states) {
  StateFile *files;
  size_t count;
  *states = (AnalysisStates){0};
  int code = list_files(directory, &files, &count);
  for (size_t i = 0; i < count; i++) {
    if (code != CORE_OK) break;
    code = add_file(&files[i], states);
  }
  free(files);
  if (code != CORE_OK) analysis_states_free(states);
  return code;
}

int analysis_states_count(const char *directory, size_t *count) {
  StateFile *files;
  size_t file_count;
  int code = list_files(directory, &files, &file_count);
  *count = 0;

  for (size_t i = 0; i < file_count; i++) {
    if (code != CORE_OK) break;
    char start[512];
    Matrix matrix;
    FILE *file = NULL;

    if (core_files_open_plain(files[i].path, &file) != CORE_OK) core_error_clear();
    const size_t size = file ? fread(start, 1, sizeof start, file) : 0;
    if (file) fclose(file);
    if (read_header(start, size, &matrix)) *count += matrix.count;
    else code = no_matrix(files[i].path);
  }

  free(files);
  return code;
}

void analysis_states_free(AnalysisStates *states) {
  free(states->rows);
  free(states->iteration);
  *states = (AnalysisStates){0};
}

size_t analysis_states_spread(const AnalysisStates *states, size_t i, size_t want) {
  return i * states->count / want;
}

/* ---- the plane -------------------------------------------------------------------------------------------------- */

static bool is_finite(const float *state, size_t features) {
  for (size_t f = 0; f < features; f++)
    if (!isfinite(state[f])) return false;
  return true;
}

/* Standardized states, transposed: z[kept row][state], so that a covariance is a product of two rows. A row is a
 * feature. Of states with more than SKETCH_ROWS features (pixels), it is the sum of the features of one bucket, with
 * random signs: a sparse random projection (Clarkson and Woodruff 2013), which preserves products of states up to a
 * deviation of 1/sqrt(SKETCH_ROWS). */
enum { SKETCH_ROWS = 1024 };
typedef struct Standard { double *z; size_t *feature, kept, count; bool is_sketched; } Standard;

static size_t sketch_row(size_t feature, double *sign) {
  const CoreRandom4 words = core_random_4(0, CORE_RANDOM_COVERAGE, (uint32_t)feature, UINT32_MAX - 1, 0);
  *sign = words.v[1] & 1 ? 1 : -1;
  return core_random_below(words.v[0], SKETCH_ROWS);
}

/* Lists the states without NaN or infinity: their number, and where each is among `states`. */
static size_t list_finite(const float *states, size_t count, size_t features, size_t *finite) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++)
    if (is_finite(states + i * features, features)) finite[n++] = i;
  return n;
}

/* Standardizes feature f of the states finite[n] into row[n]; returns whether it varies. */
static bool standardize_feature(const float *states, const size_t *finite, size_t n, size_t f, AnalysisPlane *plane,
                                double *row) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; i++) sum += row[i] = states[finite[i] * plane->features + f];
  plane->mean[f] = n ? sum / (double)n : 0;
  for (size_t i = 0; i < n; i++) squares += (row[i] - plane->mean[f]) * (row[i] - plane->mean[f]);
  const double sd = n ? sqrt(squares / (double)n) : 0;
  plane->scale[f] = sd > 1e-12 * fabs(plane->mean[f]) ? 1 / sd : 0; /* constant up to rounding */
  for (size_t i = 0; i < n; i++) row[i] = (row[i] - plane->mean[f]) * plane->scale[f];
  return plane->scale[f] != 0;
}

static Standard standardize(const float *states, size_t count, AnalysisPlane *plane) {
  const size_t features = plane->features;
  size_t *finite = core_memory_allocate((count + 1) * sizeof *finite);
  const size_t n = list_finite(states, count, features, finite);
  const size_t spare = features > SKETCH_ROWS ? SKETCH_ROWS : features;
  Standard s = {.count = n, .is_sketched = features > SKETCH_ROWS,
                .feature = core_memory_allocate((features + 1) * sizeof *s.feature),
                .z = core_memory_zero_allocate((spare + 1) * n + 1, sizeof *s.z)};
  bool varies = false;

  for (size_t f = 0; f < features; f++) {
    double *row = s.z + (s.is_sketched ? spare : s.kept) * n, sign; /* sketch: the row after the last is scratch */

    if (!standardize_feature(states, finite, n, f, plane, row)) continue;
    varies = true;

    if (!s.is_sketched) {
      s.feature[s.kept++] = f;
      continue;
    }
    double *sketch = s.z + sketch_row(f, &sign) * n;
    for (size_t i = 0; i < n; i++) sketch[i] += sign * row[i];
  }

  if (s.is_sketched) s.kept = varies ? SKETCH_ROWS : 0;
  free(finite);
  return s;
}

/* Computes c[kept][kept]. Each entry is summed in the order of the states by one thread, so that results are
 * reproducible. */
static double *covariance(const Standard *s) {
  const size_t d = s->kept, n = s->count;
  double *c = core_memory_allocate((d * d + 1) * sizeof *c);
#pragma omp parallel for schedule(dynamic)
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j <= i; j++) {
      const double *a = s->z + i * n, *b = s->z + j * n;
      double part[8] = {0}, sum = 0;
      for (size_t k = 0; k < n; k++) part[k % 8] += a[k] * b[k];
      for (int p = 0; p < 8; p++) sum += part[p];
      c[i * d + j] = c[j * d + i] = sum / (double)n;
    }
  }
  return c;
}

static double dot(const double *a, const double *b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* Orthogonalizes v against `other` (of length 1, optional) and normalizes it; returns the length before that. A
 * rounding residue (states on a line) becomes 0, so that all its products are 0. */
static double orthonormal(double *v, const double *other, size_t n) {
  const double shared = other ? dot(v, other, n) : 0;
  if (other) {
    for (size_t i = 0; i < n; i++) v[i] -= shared * other[i];
  }
  double length = sqrt(dot(v, v, n));
  if (length < 1e-9) length = 0;
  for (size_t i = 0; i < n; i++) v[i] = length > 0 ? v[i] / length : 0;
  return length;
}

/* Computes the two leading eigenvectors by orthogonal iteration (Golub and Van Loan 8.2.4) from fixed starting
 * vectors. If the next eigenvalue is nearly as large, the direction is arbitrary, but reproducible. vector[2][d];
 * value[2]. */
static void leading(const double *c, size_t d, double *vector[2], double value[2]) {
  enum { STEPS_MAX = 1000 };
  double *next[2] = {core_memory_allocate((d + 1) * sizeof **next), core_memory_allocate((d + 1) * sizeof **next)};

  for (size_t i = 0; i < d; i++) {
    vector[0][i] = 1 + 1e-3 * (double)(i % 7);
    vector[1][i] = i % 2 ? 1 : -1 - 1e-3 * (double)(i % 5);
  }

  orthonormal(vector[0], NULL, d);
  orthonormal(vector[1], vector[0], d);

  for (int step = 0; step < STEPS_MAX; step++) {
    double moved = 0;
    for (int k = 0; k < 2; k++) {
      for (size_t i = 0; i < d; i++) next[k][i] = dot(c + i * d, vector[k], d);
      value[k] = orthonormal(next[k], k ? next[0] : NULL, d);
      for (size_t i = 0; i < d; i++) moved = fmax(moved, fabs(next[k][i] - vector[k][i]));
    }
    for (int k = 0; k < 2; k++) memcpy(vector[k], next[k], d * sizeof *next[k]);
    if (moved < 1e-10) break;
  }

  free(next[0]);
  free(next[1]);
}

static void fix_sign(double *v, size_t n) {
  size_t largest = 0;
  for (size_t i = 1; i < n; i++)
    if (fabs(v[i]) > fabs(v[largest])) largest = i;
  for (size_t i = 0; i < n && v[largest] < 0; i++) v[i] = -v[i];
}

/* Sets axis[features] so that its product with a standardized state is that of v[kept] with the state's rows. */
static void set_axis(const Standard *s, const double *v, const AnalysisPlane *plane, double *axis) {
  if (!s->is_sketched) {
    for (size_t i = 0; i < s->kept; i++) axis[s->feature[i]] = v[i];
    return;
  }
  for (size_t f = 0; f < plane->features; f++) {
    double sign;
    const size_t row = sketch_row(f, &sign);
    axis[f] = plane->scale[f] != 0 ? sign * v[row] : 0;
  }
}

static void fit_axes(const Standard *s, AnalysisPlane *plane) {
  double *c = covariance(s), *vector[2], value[2] = {0}, variance = s->is_sketched ? 0 : (double)s->kept;
  if (s->is_sketched) {
    for (size_t i = 0; i < s->kept; i++) variance += c[i * s->kept + i];
  }
  for (int k = 0; k < 2; k++) vector[k] = core_memory_zero_allocate(s->kept + 1, sizeof **vector);
  leading(c, s->kept, vector, value);
  for (int k = 0; k < 2; k++) {
    fix_sign(vector[k], s->kept);
    set_axis(s, vector[k], plane, plane->axis[k]);
    plane->share[k] = value[k] / variance;
    free(vector[k]);
  }
  free(c);
}

static double along(const AnalysisPlane *plane, const float *state, int k) {
  double sum = 0;
  for (size_t f = 0; f < plane->features; f++) sum += (state[f] - plane->mean[f]) * plane->scale[f] * plane->axis[k][f];
  return sum;
}

static void fit_box(const float *states, size_t count, AnalysisPlane *plane) {
  static const double QUANTILE = 0.005;
  double *value = core_memory_allocate((count + 1) * sizeof *value);
  for (int k = 0; k < 2; k++) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
      const float *state = states + i * plane->features;
      if (is_finite(state, plane->features)) value[n++] = along(plane, state, k);
    }
    plane->low[k] = analysis_percentile(value, n, QUANTILE);
    plane->high[k] = analysis_percentile(value, n, 1 - QUANTILE);
  }
  free(value);
}

int analysis_plane_fit(const float *states, size_t count, size_t features, AnalysisPlane *plane) {
  *plane = (AnalysisPlane){.features = features};
  double **vectors[] = {&plane->mean, &plane->scale, &plane->axis[0], &plane->axis[1]};
  for (size_t i = 0; i < 4; i++) *vectors[i] = core_memory_zero_allocate(features + 1, sizeof(double));
  Standard s = standardize(states, count, plane);
  const size_t kept = s.kept, usable = s.count;
  if (kept > 0) {
    fit_axes(&s, plane);
    fit_box(states, count, plane);
  }
  free(s.z);
  free(s.feature);
  if (kept > 0) return CORE_OK;
  analysis_plane_free(plane);
  return core_error(CORE_FAIL, "cannot fit a plane: %zu usable states, all equal", usable);
}

void analysis_plane_free(AnalysisPlane *plane) {
  free(plane->mean);
  free(plane->scale);
  free(plane->axis[0]);
  free(plane->axis[1]);
  *plane = (AnalysisPlane){0};
}

bool analysis_plane_project(const AnalysisPlane *plane, const float *state, double point[2]) {
  if (!is_finite(state, plane->features)) return false;
  for (int k = 0; k < 2; k++) {
    const double width = plane->high[k] - plane->low[k];
    point[k] = width > 0 ? (along(plane, state, k) - plane->low[k]) / width : 0.5;
  }
  return true;
}

/* ---- cells ------------------------------------------------------------------------------------------------------ */

static size_t side_cell(double coordinate) {
  const double cell = floor(coordinate * ANALYSIS_COVERAGE_FINE);
  return cell >= ANALYSIS_COVERAGE_FINE ? ANALYSIS_COVERAGE_FINE - 1 : cell > 0 ? (size_t)cell : 0;
}

size_t analysis_coverage_cell(const double point[2]) {
  return side_cell(point[1]) * ANALYSIS_COVERAGE_FINE + side_cell(point[0]);
}

AnalysisCoverage analysis_coverage_of(const size_t *cells) {
  enum { FINE = ANALYSIS_COVERAGE_FINE, FINE_CELLS = FINE * FINE,
         COARSE_CELLS = ANALYSIS_COVERAGE_COARSE * ANALYSIS_COVERAGE_COARSE };
  size_t states = 0, fine = 0, coarse = 0;
  double n_log_n = 0;
  for (size_t y = 0; y < FINE; y += 2) {
    for (size_t x = 0; x < FINE; x += 2) {
      const size_t *first = cells + y * FINE + x, *second = first + FINE;
      const size_t sum = first[0] + first[1] + second[0] + second[1];
      fine += (first[0] > 0) + (first[1] > 0) + (second[0] > 0) + (second[1] > 0);
      coarse += sum > 0;
      states += sum;
      if (sum > 0) n_log_n += (double)sum * log((double)sum);
    }
  }

  if (states == 0) return (AnalysisCoverage){NAN, NAN, NAN};
  return (AnalysisCoverage){(double)coarse / COARSE_CELLS, (double)fine / FINE_CELLS,
                            (log((double)states) - n_log_n / (double)states) / log(COARSE_CELLS)};
}
