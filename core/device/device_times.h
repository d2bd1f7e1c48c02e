/* Times of a device's operations by name, for CORE_DEVICE_TIMES=1. Each operation is timed separately while the host
 * waits for it, so nothing overlaps and graphs are not captured: the sum exceeds the time of an ordinary run. */
#ifndef CORE_DEVICE_TIMES_H
#define CORE_DEVICE_TIMES_H
#include <stdio.h>

typedef struct CoreDeviceTimes CoreDeviceTimes;

/* Returns NULL unless CORE_DEVICE_TIMES is 1. The caller closes it. */
CoreDeviceTimes *core_device_times_open(void);
void core_device_times_close(CoreDeviceTimes **times);
/* Adds a time. Names are distinguished by their first 95 bytes; beyond 512 names the rest count as "others". */
void core_device_times_add(CoreDeviceTimes *times, const char *name, double seconds);
/* Prints a table, longest first. Leaves out the first time of a name that has others: libraries load their code in it,
 * which takes milliseconds. `empty`: seconds that an empty operation takes. Prints nothing if nothing was timed. */
void core_device_times_print(const CoreDeviceTimes *times, double empty, FILE *out);

#endif
