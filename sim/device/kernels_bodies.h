/* The bodies and arguments of all kernels in kernels.def, for whoever makes a table of them. */
#ifndef SIM_KERNELS_BODIES_H
#define SIM_KERNELS_BODIES_H
#include "sim/device/batch_kernels.h"
#include "sim/device/level_kernels.h"
#include "sim/device/observe_kernels.h"
#endif
