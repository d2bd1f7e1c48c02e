/* A trainer for tests that can be held up: the real one, linked with this file by the linker's --wrap (tests/tests.mk).
 * While the file $TRAINER_PACE is there, each iteration of a process but its first takes as many milliseconds more as
 * the file says, so that a run is still going on when a test kills it, stops it or looks at it, however fast or busy
 * the machine is. The wait ends with the file, and when the process has been told to stop. tests/fault/pace.sh is the
 * side of the scripts. */
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
