/* Convolutions as matrix products over patches, for machines without oneDNN, and for comparison in tests. */
#include "trainer/ops/cpu/cpu_image_internal.h"
#include "trainer/ops/row_image_internal.h"

#include <string.h>

static const CpuLibrary *library(void) {
  size_t count;
  return cpu_libraries(&count);
}

static void copy(const OpsConv *conv, const float *from, float *to) {
  memcpy(to, from, ops_conv_weights(conv) * sizeof *to);
}

static size_t positions(const OpsConv *c) { return (size_t)ops_conv_height(c) * (size_t)ops_conv_width(c); }
static float *patches_scratch(const OpsConv *c) {
  return cpu_conv_scratch(CPU_CONV_WORK, positions(c) * (size_t)ops_conv_patch(c));
}

static void gather(const OpsConv *c, const float *x, float *patches) {
  const int rows = ops_conv_height(c), columns = ops_conv_width(c), patch = ops_conv_patch(c);
  for (int row = 0; row < rows; row++)
    for (int column = 0; column < columns; column++, patches += patch)
      for (int k = 0; k < patch; k++) {
        const RowInWindow in = {k / c->in / c->size[1], k / c->in % c->size[1], k % c->in};
        patches[k] = row_patch(c, x, row, column, in);
      }
}

static void forward(const OpsConv *c, const float *x, const float *packed, float *y, int rows) {
  float *patches = patches_scratch(c);
  for (int r = 0; r < rows; r++, x += ops_conv_inputs(c), y += ops_conv_outputs(c)) {
    gather(c, x, patches);
    library()->product(0, 0, (int)positions(c), c->out, ops_conv_patch(c), patches, ops_conv_patch(c), packed, c->out,
                       0, y, c->out);
  }
}

static void to_input(const OpsConv *c, const float *dy, const float *packed, float *dx, int rows) {
  float *patches = patches_scratch(c);
  for (int r = 0; r < rows; r++, dy += ops_conv_outputs(c)) {
    library()->product(0, 1, (int)positions(c), ops_conv_patch(c), c->out, dy, c->out, packed, c->out, 0, patches,
                       ops_conv_patch(c));
    for (int y = 0; y < c->height; y++)
      for (int z = 0; z < c->width; z++) {
        const int down = y + c->pad[0], right = z + c->pad[1];
        RowWindows w = {ops_conv_height(c), ops_conv_width(c), down / c->stride[0], right / c->stride[1],
                        {down % c->stride[0], right % c->stride[1], 0}};
        for (; w.in.channel < c->in; w.in.channel++) *dx++ = row_unpatch(c, patches, w);
      }
  }
}

static void to_kernel(const OpsConv *c, const float *x, const float *dy, float *dpacked, int rows) {
  float *patches = patches_scratch(c);
  for (int r = 0; r < rows; r++, x += ops_conv_inputs(c), dy += ops_conv_outputs(c)) {
    gather(c, x, patches);
    library()->product(1, 0, ops_conv_patch(c), c->out, (int)positions(c), patches, ops_conv_patch(c), dy, c->out,
                       r > 0, dpacked, c->out);
  }
}

const CpuConv *cpu_conv_patches(void) {
  static const CpuConv conv = {copy, copy, forward, to_input, to_kernel};
  return &conv;
}
