/* All vector kernels over one SIM_LANES, for the files that compile them (lanes_avx2.c ...). */
#ifndef SIM_LANES_KERNELS_H
#define SIM_LANES_KERNELS_H
#include "sim/lanes_solve.h"

#define SIM_LANES_KERNELS(kind) \
  { .name = kind, .solve = lanes_solve }

#endif
