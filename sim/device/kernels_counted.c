/* Bodies of the kernels of sim/ that count their loads and stores (core/device/access_counts.h). */
#include "sim/device/kernels.h"
#include "sim/device/kernels_bodies.h"

#define KERNELS "sim/device/kernels.def"
#define COUNTED sim_counted_bodies
#include "core/device/device_counted.inc"
