/* The kernels of sim/ for the host (kernels.h). */
#include "sim/kernels.h"

#include "sim/batch_kernels.h"
#include "sim/level_kernels.h"
#include "sim/observe_kernels.h"

#define KERNELS "sim/kernels.def"
#include "core/device_table.inc"
