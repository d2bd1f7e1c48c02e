/* Shared declarations of the CPU's convolutions. All except `each` work on the calling thread, in parts of
 * CPU_CONV_PART images; a call's last part may hold fewer, without effect on their values. */
#ifndef TRAINER_OPS_CPU_IMAGE_INTERNAL_H
#define TRAINER_OPS_CPU_IMAGE_INTERNAL_H
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/image.h"

extern const OpsImage CPU_IMAGE;

enum { CPU_CONV_PART = 4 }; /* images */

/* The three products of a convolution, without bias and activation, of a part of at most CPU_CONV_PART images on the
 * calling thread. packed: as `pack` gave it, 2 * ops_conv_packed floats. dpacked: is set; `unpack` turns it into [size]
 * [size][in][out]. */
typedef struct CpuConv {
  void (*pack)(const OpsConv *conv, const float *w, float *packed);
  void (*unpack)(const OpsConv *conv, const float *dpacked, float *dw);
  void (*forward)(const OpsConv *conv, const float *x, const float *packed, float *y, int rows);
  void (*to_input)(const OpsConv *conv, const float *dy, const float *packed, float *dx, int rows);
  void (*to_kernel)(const OpsConv *conv, const float *x, const float *dy, float *dpacked, int rows);
} CpuConv;

/* Returns oneDNN's convolutions (cpu_conv_library.c); NULL where it is not built in. */
const CpuConv *cpu_conv_library(void);
/* Returns convolutions as matrix products over gathered patches (cpu_conv_patches.c). */
const CpuConv *cpu_conv_patches(void);

/* Returns scratch of the calling thread with at least `floats` floats, valid until its next request of the same
 * `buffer`. */
enum { CPU_CONV_X, CPU_CONV_Y, CPU_CONV_WORK, CPU_CONV_SUMS, CPU_CONV_EACH, CPU_CONV_BUFFERS };
float *cpu_conv_scratch(int buffer, size_t floats);

#endif
