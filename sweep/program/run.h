/* API for training programs that run under sweep (docs/programs.md), for C and C++. Header only; needs libc and POSIX.
 * Installed as <sweep/run.h>.
 *
 *   sweep_run_begin();                            handles SIGTERM and SIGUSR2
 *   for (...) {
 *     sweep_run_log(step, "return", mean);        appends {"step": 200, "return": 0.93} to $SWEEP_METRICS
 *     if (sweep_run_should_stop()) { save(sweep_run_path("last.bin", path, sizeof path)); exit(SWEEP_RUN_SAVED); }
 *   }
 *
 * Without sweep, lines go to standard output and files to the current directory. */
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

static inline void sweep_run_on_signal_(int signal) { sweep_run_signal_ = signal; }

/* Installs handlers of SIGTERM and SIGUSR2 under sweep: from here on they only make sweep_run_should_stop true. */
static inline void sweep_run_begin(void) {
  if (!getenv("SWEEP_RUN")) return;
  signal(SIGTERM, sweep_run_on_signal_);
  signal(SIGUSR2, sweep_run_on_signal_);
}

/* Returns whether sweep has asked the program to save and exit. */
static inline int sweep_run_should_stop(void) { return sweep_run_signal_ != 0; }

/* Appends a complete JSON object as one line. Returns 0, or -1 if it cannot be written. */
static inline int sweep_run_write(const char *object) {
  const char *path = getenv("SWEEP_METRICS");
  FILE *file = path ? fopen(path, "a") : stdout;
  int failed;
  if (!file) return -1;
  failed = fprintf(file, "%s\n", object) < 0;
  failed |= (path ? fclose(file) : fflush(file)) != 0;
  return failed ? -1 : 0;
}

/* Logs a metric at a step; NaN and infinities are allowed. `name` must not need escapes in JSON. */
static inline int sweep_run_log(double step, const char *name, double value) {
  char line[512], text[40];
  if (value != value) snprintf(text, sizeof text, "NaN");
  else if (value > 1.7976931348623157e308) snprintf(text, sizeof text, "Infinity");
  else if (value < -1.7976931348623157e308) snprintf(text, sizeof text, "-Infinity");
  else snprintf(text, sizeof text, "%.17g", value);
  snprintf(line, sizeof line, "{\"step\": %.17g, \"%.200s\": %s}", step, name, text);
  return sweep_run_write(line);
}

/* Writes the path of a file in the run's own directory, which survives restarts. Returns `path`. */
static inline char *sweep_run_path(const char *name, char *path, size_t size) {
  const char *directory = getenv("SWEEP_DIR");
  snprintf(path, size, "%s%s%s", directory ? directory : "", directory ? "/" : "", name);
  return path;
}

/* Returns the number of the attempt: 1, 2, ... Above 1, the run's directory may have files of earlier attempts. */
static inline int sweep_run_attempt(void) {
  const char *attempt = getenv("SWEEP_ATTEMPT");
  return attempt ? atoi(attempt) : 1;
}

#ifdef __cplusplus
}
#endif
#endif
