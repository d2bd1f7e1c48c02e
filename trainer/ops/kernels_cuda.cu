/* The kernels of the trainer for the GPU. */
#include "trainer/ops/kernels_bodies.h"

#define KERNELS "trainer/ops/kernels.def"
#include "core/device_entries.inc"
