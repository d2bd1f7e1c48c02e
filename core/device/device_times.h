/* What a device's operations took, by name, for CORE_DEVICE_TIMES=1. Each is timed by itself while the host waits for
 * it, so nothing overlaps, and graphs are not recorded: these are the parts' times, not the whole's. */
#ifndef CORE_DEVICE_TIMES_H
#define CORE_DEVICE_TIMES_H
#include <stdio.h>

typedef struct CoreDeviceTimes CoreDeviceTimes;

/* NULL unless CORE_DEVICE_TIMES is 1. The caller closes it. */
CoreDeviceTimes *core_device_times_open(void);
void core_device_times_close(CoreDeviceTimes **times);
/* Names are told apart by their first 95 bytes; of more than 512 names the rest are "others". */
void core_device_times_add(CoreDeviceTimes *times, const char *name, double seconds);
/* A table, what took longest first. `empty`: seconds that an operation of nothing takes. Nothing where nothing was
 * timed. */
void core_device_times_print(const CoreDeviceTimes *times, double empty, FILE *out);

#endif
