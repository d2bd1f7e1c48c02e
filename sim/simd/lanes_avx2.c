/* Vector kernels for AVX2: eight lanes. Compiled with AVX2 flags; block.c checks the processor before it calls them. */
#define SIM_LANES 8
#define SIM_LANES_SOLVERS 2
#include "sim/simd/lanes_kernels.h"

const SimLanesKernels SIM_LANES_AVX2 = SIM_LANES_KERNELS("avx2");
