/* The kernels of sim/ for the host (kernels.h). */
#include "sim/kernels.h"
#include "sim/kernels_bodies.h"

#define KERNELS "sim/kernels.def"
#include "core/device_table.inc"
