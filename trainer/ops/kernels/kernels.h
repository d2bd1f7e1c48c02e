/* Kernels of the trainer for launches by the host: ops_adam_launch etc. (kernels.def). */
#ifndef TRAINER_OPS_KERNELS_H
#define TRAINER_OPS_KERNELS_H
#include "core/device/device.h"
#define KERNEL(name, arguments_type, group) extern const CoreKernel name##_launch;
#include "trainer/ops/kernels/kernels.def"
#undef KERNEL
#endif
