/* Interface of cpu_library_bf16.c to cpu_library.c. */
#ifndef TRAINER_OPS_CPU_LIBRARY_INTERNAL_H
#define TRAINER_OPS_CPU_LIBRARY_INTERNAL_H
#include "trainer/ops/cpu/cpu_internal.h"

/* Returns oneDNN's product of bf16 matrices, or NULL: built without it, or no kernels for this processor. */
CpuProductBf16 *cpu_library_dnnl_bf16_product(void);

#endif
