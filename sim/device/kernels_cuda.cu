/* The kernels of sim/ for the GPU: index arithmetic of the kernels' bodies around the physics' own headers. */
#include "sim/device/kernels_bodies.h"

#define KERNELS "sim/device/kernels.def"
#include "core/device/device_entries.inc"
