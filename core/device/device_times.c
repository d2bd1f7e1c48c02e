/* Table of CORE_DEVICE_TIMES (device_times.h). */
#include "core/device/device_times.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"

enum { NAMES_MAX = 512, NAME_BYTES = 96 };

typedef struct Timed {
  char name[NAME_BYTES];
  uint64_t count;
  double seconds, first;       /* time of all calls, and of the first */
} Timed;

struct CoreDeviceTimes {
  Timed timed[NAMES_MAX];
  int names;
};

CoreDeviceTimes *core_device_times_open(void) {
  const char *wanted = getenv("CORE_DEVICE_TIMES");
  if (wanted == NULL || strcmp(wanted, "1") != 0) return NULL;
  return core_memory_zero_allocate(1, sizeof(CoreDeviceTimes));
}

void core_device_times_close(CoreDeviceTimes **times) {
  free(*times);
  *times = NULL;
}

void core_device_times_add(CoreDeviceTimes *times, const char *name, double seconds) {
  int i = 0;
  while (i < times->names && strncmp(times->timed[i].name, name, NAME_BYTES - 1) != 0) i++;
  if (i == NAMES_MAX) {
    name = "others";
    i--;
  }
  if (i == times->names) times->names++;
  snprintf(times->timed[i].name, NAME_BYTES, "%s", name);
  if (times->timed[i].count++ == 0) times->timed[i].first = seconds;
  times->timed[i].seconds += seconds;
}

static int longest_first(const void *a, const void *b) {
  const double x = ((const Timed *)a)->seconds, y = ((const Timed *)b)->seconds;
  return (x < y) - (x > y);
}

void core_device_times_print(const CoreDeviceTimes *times, double empty, FILE *out) {
  CoreDeviceTimes sorted = *times;
  double all = 0;
  if (times->names == 0) return;

  for (int i = 0; i < sorted.names; i++) {
    Timed *t = &sorted.timed[i];
    if (t->count > 1) {
      t->count--;
      t->seconds -= t->first;
    }
    all += t->seconds;
  }

  qsort(sorted.timed, (size_t)sorted.names, sizeof *sorted.timed, longest_first);
  fprintf(out, "times of the device, one operation after the other (%.1f us of each are the timing's own), without the "
          "first of each, which may load code\n", 1e6 * empty);
  fprintf(out, "%10s %12s %10s %6s  name\n", "times", "all, ms", "each, us", "%");

  for (int i = 0; i < sorted.names; i++) {
    const Timed *t = &sorted.timed[i];
    fprintf(out, "%10llu %12.3f %10.2f %6.2f  %s\n", (unsigned long long)t->count, 1e3 * t->seconds,
            1e6 * t->seconds / (double)t->count, all > 0 ? 100 * t->seconds / all : 0, t->name);
  }
}
