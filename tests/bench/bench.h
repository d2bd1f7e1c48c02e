/* One CSV row of `make bench`: part,case,metric,value,unit,threads,machine,commit. Included by each
 * tests/bench/bench_*.c. */
#ifndef TESTS_BENCH_H
#define TESTS_BENCH_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/command/options.h"
#include "core/version.h"

/* Seconds of a monotonic clock. */
static inline double bench_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The processor's name as the system gives it; "unknown" where it gives none. */
static inline const char *bench_machine(void) {
  static char name[128] = "";
  if (name[0]) return name;
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[256];
  while (file && fgets(line, sizeof line, file)) {
    char *value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
    if (!value) continue;
    value += 1 + strspn(value + 1, " \t");
    value[strcspn(value, "\n")] = '\0';
    snprintf(name, sizeof name, "%s", value);
    break;
  }
  if (file) fclose(file);
  if (!name[0]) snprintf(name, sizeof name, "unknown");
  return name;
}

/* A text field: commas would end it, so they become spaces. */
static inline void bench_text(const char *text, char end) {
  for (; *text; text++) putchar(*text == ',' ? ' ' : *text);
  putchar(end);
}

static inline int bench_ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The middle one of n values, the upper of two; they are sorted. */
static inline double bench_median(double *values, int n) {
  qsort(values, (size_t)n, sizeof *values, bench_ascending);
  return values[n / 2];
}

static inline void bench_row(const char *part, const char *name, const char *metric, double value, const char *unit,
                             int threads) {
  bench_text(part, ',');
  bench_text(name, ',');
  bench_text(metric, ',');
  printf("%.6g,", value);
  bench_text(unit, ',');
  printf("%d,", threads);
  bench_text(bench_machine(), ',');
  bench_text(core_commit(), '\n');
  fflush(stdout);
}

#endif
