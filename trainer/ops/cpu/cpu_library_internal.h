/* What cpu_library.c takes from cpu_library_bf16.c. */
#ifndef TRAINER_OPS_CPU_LIBRARY_INTERNAL_H
#define TRAINER_OPS_CPU_LIBRARY_INTERNAL_H
#include "trainer/ops/cpu/cpu_internal.h"

/* oneDNN's product of bf16 matrices, or NULL: built without it, or a processor for which it has no kernels. */
CpuProductBf16 *cpu_library_dnnl_bf16_product(void);

#endif
