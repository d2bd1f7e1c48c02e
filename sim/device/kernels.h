/* Kernels of sim/ for launches by the host: sim_reset_launch etc. (kernels.def). */
#ifndef SIM_KERNELS_H
#define SIM_KERNELS_H
#include "core/device/device.h"
#include "core/device/emulated_code.h"
#define KERNEL(name, arguments_type, group) extern const CoreKernel name##_launch;
#include "sim/device/kernels.def"
#undef KERNEL
/* Bodies that count their loads and stores (core/device/access_counts.h). */
extern const CoreEmulatedBody sim_counted_bodies[];
#endif
