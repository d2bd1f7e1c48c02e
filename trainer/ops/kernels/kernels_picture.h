/* Kernels of pictures (picture.h): one thread per number, whose neighbours are neighbours in memory. A piece has fewer
 * than 2^32 numbers, so that places are worked out in 32 bits. The convolutions' products are the library's, over
 * patches. */
#ifndef TRAINER_OPS_KERNELS_PICTURE_H
#define TRAINER_OPS_KERNELS_PICTURE_H
#include "trainer/ops/row_picture_internal.h"

typedef struct OpsShowPixels { OpsPixels pixels; const uint8_t *bytes; float *y; uint32_t rows; } OpsShowPixels;
CORE_KERNEL_FN void ops_show_pixels(const CoreDeviceThread *at, const OpsShowPixels *a) {
  const OpsPixels *p = &a->pixels;
  const uint32_t numbers = (uint32_t)(p->height * p->width * p->frames * p->channels);
  for (size_t i = core_device_first(at); i < (size_t)a->rows * numbers; i += core_device_stride(at)) {
    const uint32_t row = (uint32_t)i / numbers, number = (uint32_t)i % numbers;
    a->y[i] = (float)a->bytes[(size_t)row * p->row + row_pixel_place(p, number)] / 255.0f;
  }
}

/* x [rows][inputs] -> patches [rows][outputs' height][width][patch]. */
typedef struct OpsPatches { OpsConv conv; const float *x; float *patches; uint32_t rows; } OpsPatches;
CORE_KERNEL_FN void ops_gather_patches(const CoreDeviceThread *at, const OpsPatches *a) {
  const OpsConv *c = &a->conv;
  const uint32_t patch = (uint32_t)ops_conv_patch(c), columns = (uint32_t)ops_conv_width(c);
  const uint32_t positions = (uint32_t)ops_conv_height(c) * columns, inputs = (uint32_t)(c->height * c->width * c->in);
  for (size_t i = core_device_first(at); i < (size_t)a->rows * positions * patch; i += core_device_stride(at)) {
    const uint32_t k = (uint32_t)i % patch, place = (uint32_t)i / patch, position = place % positions;
    a->patches[i] = row_patch(c, a->x + (size_t)(place / positions) * inputs, (int)(position / columns),
                              (int)(position % columns), (int)k);
  }
}

/* Patches' gradients -> dx [rows][inputs]. */
typedef struct OpsUnpatch { OpsConv conv; const float *patches; float *dx; uint32_t rows; } OpsUnpatch;
CORE_KERNEL_FN void ops_add_patches(const CoreDeviceThread *at, const OpsUnpatch *a) {
  const OpsConv *c = &a->conv;
  const uint32_t in = (uint32_t)c->in, width = (uint32_t)c->width, inputs = (uint32_t)c->height * width * in;
  const size_t all = (size_t)(ops_conv_height(c) * ops_conv_width(c)) * (size_t)ops_conv_patch(c);
  for (size_t i = core_device_first(at); i < (size_t)a->rows * inputs; i += core_device_stride(at)) {
    const uint32_t row = (uint32_t)i / inputs, pixel = (uint32_t)i % inputs / in;
    const int channel = (int)((uint32_t)i % in);
    a->dx[i] = row_unpatch(c, a->patches + row * all, (int)(pixel / width), (int)(pixel % width), channel);
  }
}

typedef struct OpsWindows {
  OpsPool3 pool;
  const float *x, *dy;
  float *y, *dx;
  uint8_t *from;
  uint32_t rows;
} OpsWindows;
CORE_KERNEL_FN void ops_pool_windows(const CoreDeviceThread *at, const OpsWindows *a) {
  const OpsPool3 *p = &a->pool;
  const uint32_t channels = (uint32_t)p->channels, columns = (uint32_t)ops_pool3_side(p->width);
  const uint32_t outputs = (uint32_t)ops_pool3_side(p->height) * columns * channels;
  const uint32_t inputs = (uint32_t)(p->height * p->width) * channels;
  for (size_t i = core_device_first(at); i < (size_t)a->rows * outputs; i += core_device_stride(at)) {
    const uint32_t row = (uint32_t)i / outputs, place = (uint32_t)i % outputs / channels;
    a->y[i] = row_window(p, a->x + (size_t)row * inputs, (int)(place / columns), (int)(place % columns),
                         (int)((uint32_t)i % channels), &a->from[i]);
  }
}
CORE_KERNEL_FN void ops_unpool_windows(const CoreDeviceThread *at, const OpsWindows *a) {
  const OpsPool3 *p = &a->pool;
  const uint32_t channels = (uint32_t)p->channels, width = (uint32_t)p->width;
  const uint32_t inputs = (uint32_t)p->height * width * channels;
  const size_t outputs = (size_t)(ops_pool3_side(p->height) * ops_pool3_side(p->width)) * channels;
  for (size_t i = core_device_first(at); i < (size_t)a->rows * inputs; i += core_device_stride(at)) {
    const uint32_t row = (uint32_t)i / inputs, place = (uint32_t)i % inputs / channels;
    a->dx[i] = row_window_backward(p, a->from + row * outputs, a->dy + row * outputs, (int)(place / width),
                                   (int)(place % width), (int)((uint32_t)i % channels));
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
