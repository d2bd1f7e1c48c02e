/* Bodies and arguments of all kernels in kernels.def, for generating tables of them. */
#ifndef SIM_KERNELS_BODIES_H
#define SIM_KERNELS_BODIES_H
#include "sim/device/batch_kernels.h"
#include "sim/device/level_kernels.h"
#include "sim/device/observe_kernels.h"
#endif
