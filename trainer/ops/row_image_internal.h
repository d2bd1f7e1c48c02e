/* Elementwise formulas of image operations (image.h), shared by the CPU's loops and the device's kernels. */
#ifndef TRAINER_OPS_ROW_IMAGE_INTERNAL_H
#define TRAINER_OPS_ROW_IMAGE_INTERNAL_H
#include "trainer/ops/image.h"

/* Returns the byte index in a row of channel `of_frame` of a pixel in a frame. */
CORE_DEVICE_FN uint32_t row_pixel_at(const OpsPixels *p, uint32_t pixel, uint32_t frame, uint32_t of_frame) {
  const uint32_t area = (uint32_t)(p->height * p->width), channels = (uint32_t)p->channels;
  return frame * area * channels + (p->channels_last ? pixel * channels + of_frame : of_frame * area + pixel);
}
/* Returns the byte index in a row of element i of y[height][width][frames * channels]. */
CORE_DEVICE_FN uint32_t row_pixel_place(const OpsPixels *p, uint32_t i) {
  const uint32_t all = (uint32_t)(p->frames * p->channels), channels = (uint32_t)p->channels, channel = i % all;
  return row_pixel_at(p, i / all, channel / channels, channel % channels);
}

/* Position in a window: row, column, channel. */
typedef struct RowInWindow { int down, across, channel; } RowInWindow;

/* Returns an element of the patch at (row, column) of the output; x: one image [height][width][in]. */
CORE_DEVICE_FN float row_patch(const OpsConv *c, const float *x, int row, int column, RowInWindow in) {
  const int down = in.down, across = in.across, channel = in.channel;
  const int y = row * c->stride[0] - c->pad[0] + down, z = column * c->stride[1] - c->pad[1] + across;
  if (y < 0 || y >= c->height || z < 0 || z >= c->width) return 0;
  return x[((size_t)y * (size_t)c->width + (size_t)z) * (size_t)c->in + (size_t)channel];
}

/* Windows that contain input (y, z): the last one is at (row, column) of the output and contains it at `in`; in each
 * earlier window its position is one stride further. rows, columns: of the output. */
typedef struct RowWindows { int rows, columns, row, column; RowInWindow in; } RowWindows;

/* Returns the sum over the patches of one image, [outputs][patch], of the elements that stem from an input, the last
 * window first. */
CORE_DEVICE_FN float row_unpatch(const OpsConv *c, const float *patches, RowWindows w) {
  const int patch = ops_conv_patch(c);
  float sum = 0;
  for (int down = w.in.down, row = w.row; down < c->size[0] && row >= 0; down += c->stride[0], row--) {
    if (row >= w.rows) continue;
    for (int across = w.in.across, column = w.column; across < c->size[1] && column >= 0;
         across += c->stride[1], column--) {
      if (column >= w.columns) continue;
      const size_t output = (size_t)row * (size_t)w.columns + (size_t)column;
      sum += patches[output * (size_t)patch + (size_t)((down * c->size[1] + across) * c->in + w.in.channel)];
    }
  }
  return sum;
}

/* Returns the maximum of the window at (row, column); x: one image. NaN counts as the greatest. */
CORE_DEVICE_FN float row_window(const OpsPool3 *p, const float *x, int row, int column, int channel, uint8_t *from) {
  float greatest = 0;
  bool found = false;
  for (int k = 0; k < 9; k++) {
    const int y = 2 * row - 1 + k / 3, z = 2 * column - 1 + k % 3;
    if (y < 0 || y >= p->height || z < 0 || z >= p->width) continue;
    const float value = x[((size_t)y * (size_t)p->width + (size_t)z) * (size_t)p->channels + (size_t)channel];
    if (found && !(value > greatest) && value == value) continue;
    greatest = value;
    *from = (uint8_t)k;
    found = true;
  }
  return greatest;
}

/* Returns the gradient at input element (y, z, channel) of one image. */
CORE_DEVICE_FN float row_window_backward(const OpsPool3 *p, const uint8_t *from, const float *dy, int y, int z,
                                         int channel) {
  const int rows = ops_pool3_side(p->height), columns = ops_pool3_side(p->width);
  float sum = 0;
  for (int k = 0; k < 9; k++) {
    const int row = y + 1 - k / 3, column = z + 1 - k % 3;
    if (row < 0 || row % 2 || row / 2 >= rows || column < 0 || column % 2 || column / 2 >= columns) continue;
    const size_t output = ((size_t)(row / 2) * (size_t)columns + (size_t)(column / 2)) * (size_t)p->channels;
    if (from[output + (size_t)channel] == k) sum += dy[output + (size_t)channel];
  }
  return sum;
}

#endif
