/* The kernels of the trainer for the host (kernels.h). */
#include "trainer/ops/kernels.h"
#include "trainer/ops/kernels_bodies.h"

#define KERNELS "trainer/ops/kernels.def"
#include "core/device_table.inc"
