/* Image operations on the CPU (image.h). Only `each` divides work over threads. */
#include "trainer/ops/cpu/cpu_image_internal.h"
#include "trainer/ops/fast_math_internal.h"
#include "trainer/ops/row_image_internal.h"

#include <stdlib.h>
#include <string.h>

/* Returns oneDNN's implementation if built in; TRAINER_CONV=patches, for tests, selects the other. */
static const CpuConv *implementation(void) {
  static const CpuConv *_Atomic chosen;
  if (chosen) return chosen;
  const char *wanted = getenv("TRAINER_CONV");
  const CpuConv *library = cpu_conv_library();
  const CpuConv *conv = library && !(wanted && strcmp(wanted, "patches") == 0) ? library : cpu_conv_patches();
  chosen = conv;
  return conv;
}

float *cpu_conv_scratch(int buffer, size_t floats) {
  static _Thread_local struct { float *memory; size_t floats; } buffers[CPU_CONV_BUFFERS];
  if (floats > buffers[buffer].floats) {
    free(buffers[buffer].memory);
    buffers[buffer].memory = aligned_alloc(64, (floats + 15) / 16 * 16 * sizeof(float));
    buffers[buffer].floats = floats;
    CORE_CHECK(buffers[buffer].memory != NULL);
  }
  return buffers[buffer].memory;
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

CPU_VECTOR static void show_plane(const uint8_t *bytes, size_t area, size_t stride, float *y) {
  for (size_t i = 0; i < area; i++) y[i * stride] = (float)bytes[i] / 255.0f;
}
CPU_VECTOR static void show_planes_4(const uint8_t *bytes, size_t area, float *y) {
  for (size_t i = 0; i < area; i++)
    for (size_t c = 0; c < 4; c++) y[4 * i + c] = (float)bytes[c * area + i] / 255.0f;
}

static void image_to_floats(const OpsPixels *p, const uint8_t *bytes, float *y) {
  const size_t area = (size_t)p->height * (size_t)p->width, all = (size_t)(p->frames * p->channels);
  const bool planes = !p->channels_last || p->channels == 1;
  if (planes && all == 4) show_planes_4(bytes, area, y);
  else if (planes)
    for (size_t c = 0; c < all; c++) show_plane(bytes + c * area, area, all, y + c);
  else if (p->frames == 1) show_plane(bytes, area * all, 1, y);
  else
    for (size_t i = 0; i < area * all; i++) y[i] = (float)bytes[row_pixel_place(p, (uint32_t)i)] / 255.0f;
}

static void show(Ops *ops, const OpsPixels *p, const void *bytes, int rows, float *y) {
  const size_t numbers = (size_t)(p->height * p->width) * (size_t)(p->frames * p->channels);
  (void)ops;
  for (int r = 0; r < rows; r++)
    image_to_floats(p, (const uint8_t *)bytes + (size_t)r * p->row, y + (size_t)r * numbers);
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

static void conv_pack(Ops *ops, const OpsConv *conv, const float *w, float *packed) {
  (void)ops;
  implementation()->pack(conv, w, packed);
}
static void conv_unpack(Ops *ops, const OpsConv *conv, const float *dpacked, float *dw) {
  (void)ops;
  implementation()->unpack(conv, dpacked, dw);
}

static void count_flops(Ops *ops, double flops) {
#pragma omp atomic
  ops->flops += flops;
}

static int part_rows(int rows, int first) { return rows - first < CPU_CONV_PART ? rows - first : CPU_CONV_PART; }

static void conv_forward(Ops *ops, const OpsConv *conv, const float *x, const float *packed, const float *b, float *y,
                         int rows, OpsActivation activation, float *scratch) {
  const CpuConv *with = implementation();
  const size_t in = ops_conv_inputs(conv), out = ops_conv_outputs(conv);
  CORE_CHECK(activation == OPS_LINEAR || activation == OPS_RELU);
  (void)scratch;
  for (int first = 0; first < rows; first += CPU_CONV_PART) {
    const int some = part_rows(rows, first);
    float *to = y + (size_t)first * out;
    with->forward(conv, x + (size_t)first * in, packed, to, some);
    cpu_activate(activation, to, b, some * (int)(out / (size_t)conv->out), conv->out);
  }
  count_flops(ops, 2.0 * rows * (double)out * ops_conv_patch(conv));
}

CPU_VECTOR static void add(float *sum, const float *x, size_t n) {
  for (size_t i = 0; i < n; i++) sum[i] += x[i];
}

static void conv_backward(Ops *ops, const OpsConv *conv, const float *x, const float *packed, const float *y, float *dy,
                          float *dx, float *dpacked, float *db, int rows, OpsActivation activation, float *scratch) {
  const CpuConv *with = implementation();
  const size_t in = ops_conv_inputs(conv), out = ops_conv_outputs(conv), n = ops_conv_packed(conv);
  const size_t biases = (size_t)conv->out;
  CORE_CHECK(activation == OPS_LINEAR || activation == OPS_RELU);
  (void)scratch;

  for (int first = 0; first < rows; first += CPU_CONV_PART) {
    const int some = part_rows(rows, first);
    const size_t at = (size_t)first;
    float *more = first > 0 ? cpu_conv_scratch(CPU_CONV_SUMS, n + biases) : NULL, *dy_here = dy + at * out;
    float *dkernel = more ? more : dpacked;
    float *dbias = more ? more + n : db;

    cpu_activation_gradient(activation, activation == OPS_RELU ? y + at * out : dy_here, NULL, dy_here, dbias,
                            some * (int)(out / biases), conv->out);
    with->to_kernel(conv, x + at * in, dy_here, dkernel, some);
    if (dx) with->to_input(conv, dy_here, packed, dx + at * in, some);
    if (more == NULL) continue;
    add(dpacked, more, n);
    add(db, more + n, biases);
  }
  count_flops(ops, (dx ? 4.0 : 2.0) * rows * (double)out * ops_conv_patch(conv));
}

static void each(Ops *ops, int count, size_t floats, float *scratch, void (*work)(void *context, int i, float *scratch),
                 void *context) {
  (void)scratch;
#pragma omp parallel for schedule(dynamic, 1) num_threads(cpu_state(ops)->threads)
  for (int i = 0; i < count; i++) work(context, i, cpu_conv_scratch(CPU_CONV_EACH, floats));
}

/* ---- pools and activations --------------------------------------------------------------------------------------- */

static size_t pool_inputs(const OpsPool3 *p) { return (size_t)p->height * (size_t)p->width * (size_t)p->channels; }

/* Part of a window inside the image: rows and columns [from, to) of its three. Its first element, which may be outside,
 * is at `corner`; a row of the image has `line` elements. */
typedef struct PoolWindow { int top, bottom, left, right; ptrdiff_t corner, line; } PoolWindow;

static inline PoolWindow pool_window(const OpsPool3 *p, int row, int column) {
  return (PoolWindow){row == 0, 2 * row + 1 < p->height ? 3 : 2, column == 0, 2 * column + 1 < p->width ? 3 : 2,
                      ((ptrdiff_t)(2 * row - 1) * p->width + 2 * column - 1) * p->channels,
                      (ptrdiff_t)p->width * p->channels};
}

/* Sixteen channels at once. Without the pragma gcc unrolls the loops before vectorizing, and then fails to
 * vectorize. */
enum { POOL_LANES = 16 };

/* row_window for POOL_LANES channels. */
static inline void pool_lanes(PoolWindow in, int channels, const float *x, float *restrict y, uint8_t *restrict from) {
  float greatest[POOL_LANES];
  int32_t places[POOL_LANES];
  const float *first = x + in.corner + in.top * in.line + (ptrdiff_t)in.left * channels;

#pragma omp simd
  for (int i = 0; i < POOL_LANES; i++) {
    greatest[i] = first[i];
    places[i] = in.top * 3 + in.left;
  }

  for (int down = in.top; down < in.bottom; down++)
    for (int across = in.left; across < in.right; across++) {
      const float *other = x + in.corner + down * in.line + (ptrdiff_t)across * channels;
#pragma omp simd
      for (int i = 0; i < POOL_LANES; i++) {
        const bool is_greater = other[i] > greatest[i] || other[i] != other[i]; /* NaN, too */
        greatest[i] = is_greater ? other[i] : greatest[i];
        places[i] = is_greater ? down * 3 + across : places[i];
      }
    }

#pragma omp simd
  for (int i = 0; i < POOL_LANES; i++) y[i] = greatest[i];
#pragma omp simd
  for (int i = 0; i < POOL_LANES; i++) from[i] = (uint8_t)places[i];
}

CPU_VECTOR static void pool_image(const OpsPool3 *p, const float *x, float *y, uint8_t *from) {
  const int rows = ops_pool3_side(p->height), columns = ops_pool3_side(p->width), channels = p->channels;
  for (int row = 0; row < rows; row++)
    for (int column = 0; column < columns; column++, y += channels, from += channels) {
      const PoolWindow in = pool_window(p, row, column);
      int c = 0;
      for (; c + POOL_LANES <= channels; c += POOL_LANES) pool_lanes(in, channels, x + c, y + c, from + c);
      for (; c < channels; c++) y[c] = row_window(p, x, row, column, c, &from[c]);
    }
}

static inline void unpool_lanes(PoolWindow in, int channels, const uint8_t *restrict from, const float *restrict dy,
                                float *restrict dx) {
  for (int down = in.top; down < in.bottom; down++)
    for (int across = in.left; across < in.right; across++) {
      float *here = dx + in.corner + down * in.line + (ptrdiff_t)across * channels;
#pragma omp simd
      for (int i = 0; i < POOL_LANES; i++) here[i] = from[i] == down * 3 + across ? here[i] + dy[i] : here[i];
    }
}

/* In the order of the windows, which is that of row_window_backward for each element: windows further down and right
 * have it at a smaller index. */
CPU_VECTOR static void unpool_image(const OpsPool3 *p, const uint8_t *from, const float *dy, float *dx) {
  const int rows = ops_pool3_side(p->height), columns = ops_pool3_side(p->width), channels = p->channels;
  memset(dx, 0, pool_inputs(p) * sizeof *dx);
  for (int row = rows - 1; row >= 0; row--)
    for (int column = columns - 1; column >= 0; column--) {
      const PoolWindow in = pool_window(p, row, column);
      const uint8_t *f = from + (row * columns + column) * (ptrdiff_t)channels;
      const float *d = dy + (row * columns + column) * (ptrdiff_t)channels;
      int c = 0;
      for (; c + POOL_LANES <= channels; c += POOL_LANES) unpool_lanes(in, channels, f + c, d + c, dx + c);
      for (; c < channels; c++)
        dx[in.corner + f[c] / 3 * in.line + (ptrdiff_t)(f[c] % 3) * channels + c] += d[c];
    }
}

static void pool_forward(Ops *ops, const OpsPool3 *pool, const float *x, float *y, uint8_t *from, int rows) {
  const size_t in = pool_inputs(pool), out = ops_pool3_outputs(pool);
  (void)ops;
  for (int r = 0; r < rows; r++) pool_image(pool, x + (size_t)r * in, y + (size_t)r * out, from + (size_t)r * out);
}

static void pool_backward(Ops *ops, const OpsPool3 *pool, const uint8_t *from, const float *dy, float *dx, int rows) {
  const size_t in = pool_inputs(pool), out = ops_pool3_outputs(pool);
  (void)ops;
  for (int r = 0; r < rows; r++)
    unpool_image(pool, from + (size_t)r * out, dy + (size_t)r * out, dx + (size_t)r * in);
}

CPU_VECTOR static void relu(const float *x, float *y, size_t n) {
  for (size_t i = 0; i < n; i++) y[i] = x[i] <= 0 ? 0 : x[i]; /* NaN stays */
}
CPU_VECTOR static void relu_gradient(const float *y, float *dy, size_t n) {
  for (size_t i = 0; i < n; i++) dy[i] = y[i] > 0 ? dy[i] : 0;
}

static void relu_forward(Ops *ops, const float *x, float *y, size_t n) {
  (void)ops;
  relu(x, y, n);
}

static void relu_backward(Ops *ops, const float *y, float *dy, size_t n) {
  (void)ops;
  relu_gradient(y, dy, n);
}

const OpsImage CPU_IMAGE = {
  .pixels = show, .conv_pack = conv_pack, .conv_unpack = conv_unpack, .conv_forward = conv_forward,
  .conv_backward = conv_backward, .pool_forward = pool_forward, .pool_backward = pool_backward,
  .relu_forward = relu_forward, .relu_backward = relu_backward, .norm_backward = cpu_norm_backward_rows, .each = each,
};
