/* The vector kernels for processors with AVX-512: sixteen lanes. The Makefile compiles this file for them; block.c asks
 * the machine before it calls anything here. */
#define SIM_LANES 16
#define SIM_LANES_SOLVERS 2
#include "sim/simd/lanes_kernels.h"

const SimLanesKernels SIM_LANES_AVX512 = SIM_LANES_KERNELS("avx512");
