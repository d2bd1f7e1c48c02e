/* The kernels of sim/ for the GPU: index arithmetic of batch_kernels.h around the physics' own headers. */
#include "sim/batch_kernels.h"
#include "sim/level_kernels.h"
#include "sim/observe_kernels.h"

#define KERNELS "sim/kernels.def"
#include "core/device_entries.inc"
