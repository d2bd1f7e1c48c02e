/* The kernels of sim/ for the GPU: index arithmetic of the kernels' bodies around the physics' own headers. */
#include "sim/kernels_bodies.h"

#define KERNELS "sim/kernels.def"
#include "core/device_entries.inc"
