/* The bodies and arguments of all kernels in kernels.def, for whoever makes a table of them. */
#ifndef SIM_KERNELS_BODIES_H
#define SIM_KERNELS_BODIES_H
#include "sim/batch_kernels.h"
#include "sim/level_kernels.h"
#include "sim/observe_kernels.h"
#endif
