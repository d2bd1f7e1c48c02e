/* The sixteen-lane kernels of AVX-512 on AVX2, with two registers to a vector. Slower than lanes_avx2.c, but tests can
 * run the sixteen-lane code on processors without AVX-512. Compiled with AVX2 flags; block.c checks the processor
 * before it calls them. */
#define SIM_LANES 16
#define SIM_LANES_SOLVERS 1
#include "sim/simd/lanes_kernels.h"

const SimLanesKernels SIM_LANES_AVX2X2 = SIM_LANES_KERNELS("avx2x2");
