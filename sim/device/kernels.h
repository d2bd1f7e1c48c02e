/* The kernels of sim/ as the host launches them: sim_reset_launch and so on (kernels.def). */
#ifndef SIM_KERNELS_H
#define SIM_KERNELS_H
#include "core/device/device.h"
#define KERNEL(name, arguments_type, group) extern const CoreKernel name##_launch;
#include "sim/device/kernels.def"
#undef KERNEL
#endif
