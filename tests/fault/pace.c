/* A trainer for tests that can be slowed: the real one, linked with this file by the linker's --wrap (tests/tests.mk).
 * While the file $TRAINER_PACE exists, each iteration of a process except its first is delayed by the milliseconds in
 * the file, so that a run is in progress when a test kills, stops or inspects it, on any machine. The delay ends when
 * the file is removed, and when the process is asked to stop. tests/fault/pace.sh has the shell functions. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/signals.h"
#include "store/runlog/runlog.h"

void __real_store_runlog_iteration(StoreRunlog *log, const StoreIteration *row);
void __wrap_store_runlog_iteration(StoreRunlog *log, const StoreIteration *row);

/* The milliseconds in the file; 0 without one. */
static long pace_ms(void) {
  const char *path = getenv("TRAINER_PACE");
  FILE *file = path ? fopen(path, "re") : NULL;
  char text[32] = "";
  if (!file) return 0;
  if (!fgets(text, sizeof text, file)) text[0] = '\0';
  fclose(file);
  return strtol(text, NULL, 10);
}

void __wrap_store_runlog_iteration(StoreRunlog *log, const StoreIteration *row) {
  enum { SLICE_MS = 20 };
  static bool is_first = true;
  __real_store_runlog_iteration(log, row);
  for (long waited_ms = 0; !is_first && core_signals_stop() == 0 && waited_ms < pace_ms(); waited_ms += SLICE_MS)
    nanosleep(&(struct timespec){.tv_nsec = SLICE_MS * 1000000L}, NULL);
  is_first = false;
}
