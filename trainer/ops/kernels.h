/* The kernels of the trainer as the device's ops launch them: ops_adam_launch and so on. */
#ifndef TRAINER_OPS_KERNELS_H
#define TRAINER_OPS_KERNELS_H
#include "core/device.h"
#define KERNEL(name, arguments_type, team) extern const CoreKernel name##_launch;
#include "trainer/ops/kernels.def"
#undef KERNEL
#endif
