/* The kernels of sim/ as batch_device.c launches them: sim_reset_launch and so on. */
#ifndef SIM_KERNELS_H
#define SIM_KERNELS_H
#include "core/device/device.h"
#define KERNEL(name, arguments_type, warp) extern const CoreKernel name##_launch;
#include "sim/device/kernels.def"
#undef KERNEL
#endif
