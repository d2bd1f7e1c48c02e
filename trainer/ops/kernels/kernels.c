/* Host table of the trainer's kernels (kernels.h). */
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_bodies.h"

#define KERNELS "trainer/ops/kernels/kernels.def"
#include "core/device/device_table.inc"
