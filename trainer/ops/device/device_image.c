/* Image operations on a device (image.h). A convolution is the product over its patches, OPS_CONV_ROWS images at a
 * time, fused with bias and ReLU if the library supports it. */
#include "trainer/ops/device/device_internal.h"
#include "trainer/ops/kernels/kernels_dense.h"
#include "trainer/ops/kernels/kernels_image.h"

/* Offsets in chunks of rows are computed in 32 bits. */
static size_t elements_of(int rows, size_t each) {
  const size_t elements = (size_t)rows * each;
  CORE_CHECK(elements <= UINT32_MAX);
  return elements;
}

static void pixels(Ops *ops, const OpsPixels *p, const void *bytes, int rows, float *y) {
  const size_t all = (size_t)(p->frames * p->channels), numbers = (size_t)(p->height * p->width) * all;
  const OpsShowPixels a = {*p, bytes, y, (uint32_t)rows, core_divisor_32(numbers), core_divisor_32(all),
                           core_divisor_32((size_t)p->channels)};
  DEVICE_LAUNCH(device_state(ops), ops_show_pixels, elements_of(rows, numbers), &a);
}

static void conv_pack(Ops *ops, const OpsConv *conv, const float *w, float *packed) {
  core_device_copy(ops->device, packed, w, ops_conv_weights(conv) * sizeof *packed);
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

/* Parts of the scratch for `rows` images. */
typedef struct ConvBuffers { float *patches, *dpatches, *dw, *db, *parts; } ConvBuffers;

static size_t positions_of(const OpsConv *c) { return (size_t)ops_conv_height(c) * (size_t)ops_conv_width(c); }

static ConvBuffers buffers_of(const OpsConv *conv, int rows, float *scratch) {
  const size_t patches = (size_t)rows * positions_of(conv) * (size_t)ops_conv_patch(conv);
  ConvBuffers buffers = {.patches = scratch, .dpatches = scratch + patches, .dw = scratch + 2 * patches};
  buffers.db = buffers.dw + ops_conv_weights(conv);
  buffers.parts = buffers.db + conv->out;
  return buffers;
}

static int part_rows(int rows, int first) { return rows - first < OPS_CONV_ROWS ? rows - first : OPS_CONV_ROWS; }

static void gather(Ops *ops, const OpsConv *conv, const float *x, int rows, float *patches) {
  const size_t patch = (size_t)ops_conv_patch(conv), positions = positions_of(conv);
  const OpsPatches a = {*conv, x, patches, (uint32_t)rows, (uint32_t)ops_conv_inputs(conv), core_divisor_32(patch),
                        core_divisor_32(positions), core_divisor_32((size_t)ops_conv_width(conv)),
                        core_divisor_32((size_t)conv->in), core_divisor_32((size_t)conv->size[1])};
  DEVICE_LAUNCH(device_state(ops), ops_gather_patches, elements_of(rows, positions * patch), &a);
}

static void add_patches(Ops *ops, const OpsConv *conv, const float *patches, int rows, float *dx) {
  const size_t inputs = ops_conv_inputs(conv);
  const OpsUnpatch a = {*conv, patches, dx, (uint32_t)rows,
                        (uint32_t)(positions_of(conv) * (size_t)ops_conv_patch(conv)), ops_conv_height(conv),
                        ops_conv_width(conv), core_divisor_32(inputs), core_divisor_32((size_t)conv->in),
                        core_divisor_32((size_t)conv->width),
                        {core_divisor_32((size_t)conv->stride[0]), core_divisor_32((size_t)conv->stride[1])}};
  DEVICE_LAUNCH(device_state(ops), ops_add_patches, elements_of(rows, inputs), &a);
}

static void conv_forward(Ops *ops, const OpsConv *conv, const float *x, const float *packed, const float *b, float *y,
                         int rows, OpsActivation activation, float *scratch) {
  CORE_CHECK(activation == OPS_LINEAR || activation == OPS_RELU);
  for (int first = 0; first < rows; first += OPS_CONV_ROWS) {
    const int some = part_rows(rows, first);
    gather(ops, conv, x + (size_t)first * ops_conv_inputs(conv), some, scratch);
    device_dense_forward(ops, scratch, packed, b, y + (size_t)first * ops_conv_outputs(conv),
                         some * (int)positions_of(conv), ops_conv_patch(conv), conv->out, activation);
  }
}

/* Turns dy into the gradient before the activation; its column sums go to db. */
static void undo_activation(DeviceState *state, const OpsConv *conv, OpsActivation activation, const float *y,
                            float *dy, float *db, size_t rows, float *parts) {
  const size_t columns = (size_t)conv->out;
  const OpsActivationGradient a = {activation == OPS_RELU ? y : dy, NULL, dy, parts, rows, core_divisor(columns),
                                   activation};
  DEVICE_LAUNCH(state, ops_activation_gradient, device_column_parts(rows) * columns, &a);
  device_fold_columns(state, parts, rows, columns, db);
  device_fold_now(state);
}

static void conv_backward(Ops *ops, const OpsConv *conv, const float *x, const float *packed, const float *y, float *dy,
                          float *dx, float *dpacked, float *db, int rows, OpsActivation activation, float *scratch) {
  DeviceState *state = device_state(ops);
  const size_t in = ops_conv_inputs(conv), out = ops_conv_outputs(conv), patch = (size_t)ops_conv_patch(conv);
  const size_t channels = (size_t)conv->out, positions = positions_of(conv);
  CORE_CHECK(activation == OPS_LINEAR || activation == OPS_RELU);

  for (int first = 0; first < rows; first += OPS_CONV_ROWS) {
    const int some = part_rows(rows, first);
    const ConvBuffers buffers = buffers_of(conv, some, scratch);
    const size_t at = (size_t)first, n = (size_t)some * positions;
    float *dw_here = first > 0 ? buffers.dw : dpacked;
    float *db_here = first > 0 ? buffers.db : db;
    float *dy_here = dy + at * out;

    gather(ops, conv, x + at * in, some, buffers.patches);
    undo_activation(state, conv, activation, activation == OPS_RELU ? y + at * out : NULL, dy_here, db_here, n,
                    buffers.parts);
    device_multiply(state, &(DeviceProduct){.transpose_a = 1, .m = patch, .n = channels, .k = n, .a = buffers.patches,
                                            .b = dy_here, .c = dw_here});
    if (dx) {
      device_multiply(state, &(DeviceProduct){.transpose_b = 1, .m = n, .n = patch, .k = channels, .a = dy_here,
                                              .b = packed, .c = buffers.dpatches});
      add_patches(ops, conv, buffers.dpatches, some, dx + at * in);
    }

    ops->flops += (dx ? 4.0 : 2.0) * (double)n * (double)(patch * channels);
    if (first == 0) continue;
    ops->add(ops, dpacked, buffers.dw, ops_conv_weights(conv));
    ops->add(ops, db, buffers.db, channels);
  }
}

/* ---- pools and activations --------------------------------------------------------------------------------------- */

static size_t pool_inputs(const OpsPool3 *pool) {
  return (size_t)pool->height * (size_t)pool->width * (size_t)pool->channels;
}

/* Builds the arguments of a kernel with a thread per `each` elements of a row, `columns` of them side by side. */
static OpsWindows windows_of(const OpsPool3 *pool, int rows, size_t each, int columns) {
  return (OpsWindows){.pool = *pool, .rows = (uint32_t)rows, .inputs = (uint32_t)pool_inputs(pool),
                      .outputs = (uint32_t)ops_pool3_outputs(pool), .each = core_divisor_32(each),
                      .channels = core_divisor_32((size_t)pool->channels), .columns = core_divisor_32((size_t)columns)};
}

static void pool_forward(Ops *ops, const OpsPool3 *pool, const float *x, float *y, uint8_t *from, int rows) {
  const size_t outputs = ops_pool3_outputs(pool);
  OpsWindows a = windows_of(pool, rows, outputs, ops_pool3_side(pool->width));
  a.x = x;
  a.y = y;
  a.from = from;
  DEVICE_LAUNCH(device_state(ops), ops_pool_windows, elements_of(rows, outputs), &a);
}

static void pool_backward(Ops *ops, const OpsPool3 *pool, const uint8_t *from, const float *dy, float *dx, int rows) {
  const size_t inputs = pool_inputs(pool);
  OpsWindows a = windows_of(pool, rows, inputs, pool->width);
  a.from = (uint8_t *)(uintptr_t)from;
  a.dy = dy;
  a.dx = dx;
  DEVICE_LAUNCH(device_state(ops), ops_unpool_windows, elements_of(rows, inputs), &a);
}

static void relu_forward(Ops *ops, const float *x, float *y, size_t n) {
  DEVICE_LAUNCH(device_state(ops), ops_rectify, n, &(OpsRectify){x, y, n});
}

static void relu_backward(Ops *ops, const float *y, float *dy, size_t n) {
  DEVICE_LAUNCH(device_state(ops), ops_rectify_gradient, n, &(OpsRectify){y, dy, n});
}

static void each(Ops *ops, int count, size_t floats, float *scratch, void (*work)(void *context, int i, float *scratch),
                 void *context) {
  (void)ops;
  (void)floats;
  for (int i = 0; i < count; i++) work(context, i, scratch);
}

const OpsImage DEVICE_IMAGE = {
  .pixels = pixels, .conv_pack = conv_pack, .conv_unpack = conv_pack, .conv_forward = conv_forward,
  .conv_backward = conv_backward, .pool_forward = pool_forward, .pool_backward = pool_backward,
  .relu_forward = relu_forward, .relu_backward = relu_backward, .norm_backward = device_norm_backward, .each = each,
};
