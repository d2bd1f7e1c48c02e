/* A training program's side of sweep (docs/programs.md), for C and C++: header only, needs nothing but libc and POSIX.
 * Installed as <sweep/run.h>.
 *
 *   sweep_run_begin();                            asks for SIGTERM and SIGUSR2
 *   for (...) {
 *     sweep_run_log(step, "return", mean);        appends {"step": 200, "return": 0.93} to $SWEEP_METRICS
 *     if (sweep_run_should_stop()) { save(sweep_run_path("last.bin", path, sizeof path)); exit(SWEEP_RUN_SAVED); }
 *   }
 *
 * Outside of sweep lines go to standard output and files to the current directory. */
#ifndef SWEEP_RUN_HELPER_H
#define SWEEP_RUN_HELPER_H
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SWEEP_RUN_SAVED = 75, SWEEP_RUN_DIVERGED = 76 }; /* exit codes */

static volatile sig_atomic_t sweep_run_signal_;

static inline void sweep_run_take_signal_(int number) { sweep_run_signal_ = number; }

/* From here on SIGTERM and SIGUSR2 end nothing under sweep: sweep_run_should_stop tells of them. */
static inline void sweep_run_begin(void) {
  if (!getenv("SWEEP_RUN")) return;
  signal(SIGTERM, sweep_run_take_signal_);
  signal(SIGUSR2, sweep_run_take_signal_);
}

/* Whether sweep has asked the program to save and end. */
static inline int sweep_run_should_stop(void) { return sweep_run_signal_ != 0; }

/* A whole JSON object, appended as one line at once. Returns 0, or -1 when it cannot be written. */
static inline int sweep_run_write(const char *object) {
  const char *path = getenv("SWEEP_METRICS");
  FILE *file = path ? fopen(path, "a") : stdout;
  int failed;
  if (!file) return -1;
  failed = fprintf(file, "%s\n", object) < 0;
  failed |= (path ? fclose(file) : fflush(file)) != 0;
  return failed ? -1 : 0;
}

/* One metric at a step; NaN and infinities too. `name` needs no escape in JSON. */
static inline int sweep_run_log(double step, const char *name, double value) {
  char line[512], number[40];
  if (value != value) snprintf(number, sizeof number, "NaN");
  else if (value > 1.7976931348623157e308) snprintf(number, sizeof number, "Infinity");
  else if (value < -1.7976931348623157e308) snprintf(number, sizeof number, "-Infinity");
  else snprintf(number, sizeof number, "%.17g", value);
  snprintf(line, sizeof line, "{\"step\": %.17g, \"%.200s\": %s}", step, name, number);
  return sweep_run_write(line);
}

/* Path of a file in the run's own directory, which survives restarts. Returns `path`. */
static inline char *sweep_run_path(const char *name, char *path, size_t size) {
  const char *folder = getenv("SWEEP_DIR");
  snprintf(path, size, "%s%s%s", folder ? folder : "", folder ? "/" : "", name);
  return path;
}

/* 1, 2, ...: above 1 a file may lie in the run's directory. */
static inline int sweep_run_attempt(void) {
  const char *attempt = getenv("SWEEP_ATTEMPT");
  return attempt ? atoi(attempt) : 1;
}

#ifdef __cplusplus
}
#endif
#endif
