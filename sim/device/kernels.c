/* Host table of the kernels of sim/ (kernels.h). */
#include "sim/device/kernels.h"
#include "sim/device/kernels_bodies.h"

#define KERNELS "sim/device/kernels.def"
#include "core/device/device_table.inc"
