/* GPU entries of the trainer's kernels. */
#include "trainer/ops/kernels/kernels_bodies.h"

#define KERNELS "trainer/ops/kernels/kernels.def"
#include "core/device/device_entries.inc"
