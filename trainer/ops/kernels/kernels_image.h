/* Kernels of image operations (image.h): one thread per element, in memory order. A chunk has fewer than 2^32 elements,
 * so that offsets are computed in 32 bits, by divisors prepared on the host. The convolutions' products are the
 * library's, over patches. */
#ifndef TRAINER_OPS_KERNELS_IMAGE_H
#define TRAINER_OPS_KERNELS_IMAGE_H
#include "trainer/ops/row_image_internal.h"

/* numbers: elements of a row; all: channels of all frames; channels: of one. */
typedef struct OpsShowPixels {
  OpsPixels pixels;
  const uint8_t *bytes;
  float *y;
  uint32_t rows;
  CoreDivisor32 numbers, all, channels;
} OpsShowPixels;
/* Multiplies in float64 and rounds: for each of the 256 values the result of dividing by 255. */
CORE_DEVICE_FN float ops_show_byte(uint8_t byte) { return (float)((double)byte * (1.0 / 255.0)); }
CORE_KERNEL_FN void ops_show_pixels(const CoreDeviceThread *at, const OpsShowPixels *a) {
  for (size_t i = core_device_first(at); i < (size_t)a->rows * a->numbers.number; i += core_device_stride(at)) {
    const CoreDivided32 row = core_divide_32((uint32_t)i, a->numbers), pixel = core_divide_32(row.rest, a->all);
    const CoreDivided32 frame = core_divide_32(pixel.rest, a->channels);
    const uint32_t byte = row_pixel_at(&a->pixels, pixel.whole, frame.whole, frame.rest);
    a->y[i] = ops_show_byte(a->bytes[(size_t)row.whole * a->pixels.row + byte]);
  }
}

/* x [rows][inputs] -> patches [rows][outputs' height][width][patch]. positions: of a row's outputs; columns: of
 * these. */
typedef struct OpsPatches {
  OpsConv conv;
  const float *x;
  float *patches;
  uint32_t rows, inputs;
  CoreDivisor32 patch, positions, columns, in, across;
} OpsPatches;
CORE_KERNEL_FN void ops_gather_patches(const CoreDeviceThread *at, const OpsPatches *a) {
  const size_t all = (size_t)a->rows * a->positions.number * a->patch.number;
  for (size_t i = core_device_first(at); i < all; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->patch), row = core_divide_32(place.whole, a->positions);
    const CoreDivided32 output = core_divide_32(row.rest, a->columns), pixel = core_divide_32(place.rest, a->in);
    const CoreDivided32 window = core_divide_32(pixel.whole, a->across);
    const RowInWindow in = {(int)window.whole, (int)window.rest, (int)pixel.rest};
    a->patches[i] =
      row_patch(&a->conv, a->x + (size_t)row.whole * a->inputs, (int)output.whole, (int)output.rest, in);
  }
}

/* Patches' gradients -> dx [rows][inputs]. of_row: elements of a row's patches; stride: the convolution's. */
typedef struct OpsUnpatch {
  OpsConv conv;
  const float *patches;
  float *dx;
  uint32_t rows, of_row;
  int output_rows, output_columns;
  CoreDivisor32 inputs, in, width, stride[2];
} OpsUnpatch;
CORE_KERNEL_FN void ops_add_patches(const CoreDeviceThread *at, const OpsUnpatch *a) {
  for (size_t i = core_device_first(at); i < (size_t)a->rows * a->inputs.number; i += core_device_stride(at)) {
    const CoreDivided32 row = core_divide_32((uint32_t)i, a->inputs), pixel = core_divide_32(row.rest, a->in);
    const CoreDivided32 at_y = core_divide_32(pixel.whole, a->width);
    const CoreDivided32 down = core_divide_32(at_y.whole + (uint32_t)a->conv.pad[0], a->stride[0]);
    const CoreDivided32 across = core_divide_32(at_y.rest + (uint32_t)a->conv.pad[1], a->stride[1]);
    const RowWindows windows = {a->output_rows, a->output_columns, (int)down.whole, (int)across.whole,
                                {(int)down.rest, (int)across.rest, (int)pixel.rest}};
    a->dx[i] = row_unpatch(&a->conv, a->patches + (size_t)row.whole * a->of_row, windows);
  }
}

/* inputs, outputs: of a row. each: those per thread; columns: of a row of them. */
typedef struct OpsWindows {
  OpsPool3 pool;
  const float *x, *dy;
  float *y, *dx;
  uint8_t *from;
  uint32_t rows, inputs, outputs;
  CoreDivisor32 each, channels, columns;
} OpsWindows;
CORE_KERNEL_FN void ops_pool_windows(const CoreDeviceThread *at, const OpsWindows *a) {
  for (size_t i = core_device_first(at); i < (size_t)a->rows * a->each.number; i += core_device_stride(at)) {
    const CoreDivided32 row = core_divide_32((uint32_t)i, a->each), place = core_divide_32(row.rest, a->channels);
    const CoreDivided32 output = core_divide_32(place.whole, a->columns);
    a->y[i] = row_window(&a->pool, a->x + (size_t)row.whole * a->inputs, (int)output.whole, (int)output.rest,
                         (int)place.rest, &a->from[i]);
  }
}
CORE_KERNEL_FN void ops_unpool_windows(const CoreDeviceThread *at, const OpsWindows *a) {
  for (size_t i = core_device_first(at); i < (size_t)a->rows * a->each.number; i += core_device_stride(at)) {
    const CoreDivided32 row = core_divide_32((uint32_t)i, a->each), place = core_divide_32(row.rest, a->channels);
    const CoreDivided32 input = core_divide_32(place.whole, a->columns);
    const size_t first = (size_t)row.whole * a->outputs;
    a->dx[i] = row_window_backward(&a->pool, a->from + first, a->dy + first, (int)input.whole, (int)input.rest,
                                   (int)place.rest);
  }
}

/* y = max(x, 0), or dy becomes 0 where y is not positive. */
typedef struct OpsRectify { const float *x; float *y; size_t n; } OpsRectify;
CORE_KERNEL_FN void ops_rectify(const CoreDeviceThread *at, const OpsRectify *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) a->y[i] = a->x[i] <= 0 ? 0 : a->x[i];
}
CORE_KERNEL_FN void ops_rectify_gradient(const CoreDeviceThread *at, const OpsRectify *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) a->y[i] = a->x[i] > 0 ? a->y[i] : 0;
}

#endif
