/* The vector kernels for processors with AVX2: eight lanes. The Makefile compiles this file for them; block.c asks the
 * machine before it calls anything here. */
#define SIM_LANES 8
#define SIM_LANES_SOLVERS 2
#include "sim/simd/lanes_kernels.h"

const SimLanesKernels SIM_LANES_AVX2 = SIM_LANES_KERNELS("avx2");
