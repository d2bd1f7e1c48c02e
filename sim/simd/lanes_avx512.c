/* Vector kernels for AVX-512: sixteen lanes. Compiled with AVX-512 flags; block.c checks the processor before it calls
 * them. */
#define SIM_LANES 16
#define SIM_LANES_SOLVERS 2
#include "sim/simd/lanes_kernels.h"

const SimLanesKernels SIM_LANES_AVX512 = SIM_LANES_KERNELS("avx512");
