/* Kernels of sim/ for launches by the host: sim_reset_launch etc. (kernels.def). */
#ifndef SIM_KERNELS_H
#define SIM_KERNELS_H
#include "core/device/device.h"
#define KERNEL(name, arguments_type, group) extern const CoreKernel name##_launch;
#include "sim/device/kernels.def"
#undef KERNEL
#endif
