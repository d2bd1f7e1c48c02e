/* Helpers of the golden cases: settings and inputs from a file, memory that is freed automatically, and the
 * comparison of our values with the truth. A missing or misshapen tensor ends the case with a message (longjmp),
 * never the program. */
#ifndef TESTS_GOLDEN_CHECK_H
#define TESTS_GOLDEN_CHECK_H
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "core/memory.h"
#include "tests/golden/golden_read.h"
#include "trainer/ops/ops.h"

enum { CHECK_NAME = 128 };

/* One file under comparison. */
typedef struct Check {
  Gold gold;
  Ops *ops;
  size_t values;              /* compared so far */
  double worst;               /* largest |deviation| / tolerance */
  char where[CHECK_NAME];     /* name of the tensor */
  const char *left_out;       /* contents of the file that are not compared, or NULL */
  void **blocks;              /* freed when the case is over */
  size_t block_count, block_capacity;
  jmp_buf give_up;
} Check;

_Noreturn static inline void check_give_up(Check *check, const char *format, ...) {
  char why[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  core_error(CORE_FAIL, "%s", why);
  longjmp(check->give_up, 1);
}

static inline void *check_memory(Check *check, size_t bytes) {
  if (check->block_count == check->block_capacity) {
    check->block_capacity = 2 * check->block_capacity + 64;
    check->blocks = core_memory_resize(check->blocks, check->block_capacity * sizeof *check->blocks);
  }
  return check->blocks[check->block_count++] = core_memory_zero_allocate(bytes + 1, 1);
}
static inline float *check_floats(Check *check, size_t n) { return check_memory(check, n * sizeof(float)); }

static inline const GoldEntry *check_entry(Check *check, const char *name) {
  const GoldEntry *entry = gold_find(&check->gold, name);
  if (!entry) check_give_up(check, "no tensor %s", name);
  return entry;
}

static inline int check_has(const Check *check, const char *name) { return gold_find(&check->gold, name) != NULL; }

/* "prefix" "name" joined in a buffer that lives as long as the case. */
static inline const char *check_name(Check *check, const char *prefix, const char *name) {
  char *joined = check_memory(check, CHECK_NAME);
  snprintf(joined, CHECK_NAME, "%s%s", prefix, name);
  return joined;
}

static inline double check_real(Check *check, const char *name) {
  const GoldEntry *entry = check_entry(check, name);
  if (gold_elements(entry) != 1) check_give_up(check, "%s is not a scalar", name);
  return gold_element(&check->gold, entry, 0);
}

/* A count or code within lowest..highest. */
static inline int check_int(Check *check, const char *name, int lowest, int highest) {
  double value = check_real(check, name);
  if (!(value >= lowest && value <= highest))
    check_give_up(check, "%s = %g, expected %d to %d", name, value, lowest, highest);
  return (int)value;
}

/* A whole tensor; *n is its size, or must equal it when *n is not 0. */
static inline double *check_input(Check *check, const char *name, size_t *n) {
  const GoldEntry *entry = check_entry(check, name);
  size_t size = gold_elements(entry);
  if (*n && size != *n) check_give_up(check, "%s has %zu elements, expected %zu", name, size, *n);
  *n = size;
  double *values = check_memory(check, size * sizeof(double));
  for (size_t i = 0; i < size; i++) values[i] = gold_element(&check->gold, entry, i);
  return values;
}

static inline float *check_input_float(Check *check, const char *name, size_t *n) {
  double *values = check_input(check, name, n);
  float *floats = check_floats(check, *n);
  for (size_t i = 0; i < *n; i++) floats[i] = (float)values[i];
  return floats;
}

/* Small non-negative integers below `bound`: actions, flags. */
static inline uint8_t *check_input_bytes(Check *check, const char *name, size_t *n, int bound) {
  double *values = check_input(check, name, n);
  uint8_t *bytes = check_memory(check, *n);
  for (size_t i = 0; i < *n; i++) {
    if (!(values[i] >= 0 && values[i] < bound))
      check_give_up(check, "%s holds %g, expected 0 to %d", name, values[i], bound - 1);
    bytes[i] = (uint8_t)values[i];
  }
  return bytes;
}

/* hp/factors as a head. */
static inline OpsHead check_head(Check *check) {
  size_t n = 0;
  double *sizes = check_input(check, "hp/factors", &n);
  OpsHead head = {.factors = (int)n};
  if (n < 1 || n > OPS_FACTORS_MAX) check_give_up(check, "hp/factors: %zu factors", n);
  for (size_t f = 0; f < n; f++) {
    if (!(sizes[f] >= 1 && sizes[f] + head.logits <= OPS_LOGITS_MAX))
      check_give_up(check, "hp/factors: size %g", sizes[f]);
    head.logits += head.size[f] = (int)sizes[f];
  }
  return head;
}

/* Required accuracy of a value. */
typedef enum CheckKind {
  CHECK_SINGLE, /* float32 code: 8 x |float32 - float64| of PyTorch + 1e-6 x max|truth of the tensor| */
  CHECK_STABLE, /* float32 results of stable float64 sums: 1e-6 x max(1, max|truth|), whatever PyTorch's float32 did */
  CHECK_DOUBLE, /* float64 code: 1e-10 x max|truth| */
} CheckKind;

/* The part of the tolerance that all elements share. `terms`: magnitude of what was summed up to the value, where
 * that is larger than the value itself (the rounding of a mean is relative to its terms). */
static inline double check_tolerance(Check *check, const char *prefix, const char *name, CheckKind kind,
                                     const GoldEntry *truth, double terms) {
  double largest = terms;
  char deviation[2 * CHECK_NAME];
  for (size_t i = 0; i < gold_elements(truth); i++) {
    double value = fabs(gold_element(&check->gold, truth, i));
    if (isfinite(value)) largest = fmax(largest, value);
  }
  if (kind == CHECK_DOUBLE) return 1e-10 * largest;
  if (kind == CHECK_STABLE) return 1e-6 * fmax(1, largest);
  snprintf(deviation, sizeof deviation, "%se32/%s", prefix, name); /* large files keep only the largest deviation */
  const GoldEntry *largest_deviation = gold_find(&check->gold, deviation);
  return 1e-6 * largest + (largest_deviation ? 8 * gold_element(&check->gold, largest_deviation, 0) : 0);
}

/* PyTorch's own float32 values of the tensor, or NULL where there are none or they do not count. */
static inline const GoldEntry *check_single(Check *check, const char *prefix, const char *name, CheckKind kind,
                                            size_t n) {
  char full[2 * CHECK_NAME];
  snprintf(full, sizeof full, "%sf32/%s", prefix, name);
  const GoldEntry *single = kind == CHECK_SINGLE ? gold_find(&check->gold, full) : NULL;
  return single && gold_elements(single) == n ? single : NULL;
}

static inline void check_note(Check *check, double share, const char *prefix, const char *name, size_t i) {
  if (!(share > check->worst)) return;
  check->worst = share;
  snprintf(check->where, sizeof check->where, "%s%s[%zu]", prefix, name, i);
}

/* Compares n of our values with <prefix>out/<name>. Equal NaN or infinities agree; one alone is infinitely off. */
static inline void check_values(Check *check, const char *prefix, const char *name, CheckKind kind, const double *ours,
                                size_t n, double terms) {
  char full[2 * CHECK_NAME];
  snprintf(full, sizeof full, "%sout/%s", prefix, name);
  const GoldEntry *truth = check_entry(check, full), *single = check_single(check, prefix, name, kind, n);
  if (gold_elements(truth) != n) check_give_up(check, "%s has %zu elements, ours %zu", full, gold_elements(truth), n);
  double shared = check_tolerance(check, prefix, name, kind, truth, terms);
  for (size_t i = 0; i < n; i++) {
    double want = gold_element(&check->gold, truth, i), off = fabs(ours[i] - want), tolerance = shared;
    if (ours[i] == want || (isnan(ours[i]) && isnan(want))) continue;
    double reference = single ? fabs(gold_element(&check->gold, single, i) - want) : 0;
    if (isfinite(reference)) tolerance += 8 * reference;
    check_note(check, isfinite(off) && tolerance > 0 ? off / tolerance : INFINITY, prefix, name, i);
  }
  check->values += n;
}

static inline void check_doubles(Check *check, const char *prefix, const char *name, CheckKind kind, const double *ours,
                                 size_t n) {
  check_values(check, prefix, name, kind, ours, n, 0);
}

static inline void check_singles(Check *check, const char *prefix, const char *name, CheckKind kind,
                                 const float *ours, size_t n) {
  double *values = check_memory(check, n * sizeof(double));
  for (size_t i = 0; i < n; i++) values[i] = (double)ours[i];
  check_doubles(check, prefix, name, kind, values, n);
}

static inline void check_scalar(Check *check, const char *prefix, const char *name, CheckKind kind, double ours) {
  check_doubles(check, prefix, name, kind, &ours, 1);
}

#endif
