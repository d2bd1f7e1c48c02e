/* The sixteen lanes of AVX-512 on processors with AVX2, two vectors for each: slower than lanes_avx2.c, but it lets
 * tests run what those processors do. The Makefile compiles this file for AVX2; block.c asks the machine before it
 * calls anything. */
#define SIM_LANES 16
#define SIM_LANES_SOLVERS 1
#include "sim/simd/lanes_kernels.h"

const SimLanesKernels SIM_LANES_AVX2X2 = SIM_LANES_KERNELS("avx2x2");
