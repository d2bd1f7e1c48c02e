/* One CSV row of `make bench`: part,case,metric,value,unit,threads,machine,commit. Included by each tests/bench/bench_*.c. */
#ifndef TESTS_BENCH_H
#define TESTS_BENCH_H
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/options.h"

/* Seconds of a monotonic clock. */
static inline double bench_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The processor's name as the system gives it, without commas; "unknown" where it gives none. */
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
  for (char *c = name; *c; c++) if (*c == ',') *c = ' ';
  return name;
}

static inline void bench_row(const char *part, const char *name, const char *metric, double value, const char *unit,
                             int threads) {
  printf("%s,%s,%s,%.6g,%s,%d,%s,%s\n", part, name, metric, value, unit, threads, bench_machine(), core_commit());
  fflush(stdout);
}

#endif
