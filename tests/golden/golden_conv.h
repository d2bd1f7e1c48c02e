/* Golden case "conv_ops": convolutions, pools and layer norms of pictures, values and all gradients. The files have
 * channels first; ours are last. */
#ifndef TESTS_GOLDEN_CONV_H
#define TESTS_GOLDEN_CONV_H
#include "tests/golden/golden_check.h"
#include "trainer/ops/image.h"

/* [outer][channels][area] <-> [outer][area][channels], on copies of the case's. */
static float *channels_last(Check *check, const float *x, size_t outer, size_t channels, size_t area) {
  float *y = check_floats(check, outer * channels * area);
  for (size_t o = 0; o < outer; o++)
    for (size_t c = 0; c < channels; c++)
      for (size_t a = 0; a < area; a++) y[(o * area + a) * channels + c] = x[(o * channels + c) * area + a];
  return y;
}
static float *channels_first(Check *check, const float *x, size_t outer, size_t channels, size_t area) {
  return channels_last(check, x, outer, area, channels);
}

/* Kernels: [out][in][area] <-> [area][in][out]. */
static float *kernel_last(Check *check, const float *w, size_t out, size_t in, size_t area) {
  float *y = check_floats(check, out * in * area);
  for (size_t o = 0; o < out; o++)
    for (size_t i = 0; i < in; i++)
      for (size_t a = 0; a < area; a++) y[(a * in + i) * out + o] = w[(o * in + i) * area + a];
  return y;
}
static float *kernel_first(Check *check, const float *w, size_t out, size_t in, size_t area) {
  return kernel_last(check, w, area, in, out);
}

/* Tensor `prefix` name and its dimensions, of which there must be four. */
static float *four(Check *check, const char *prefix, const char *name, size_t d[4]) {
  const GoldEntry *entry = check_entry(check, check_name(check, prefix, name));
  size_t n = 0;
  for (int i = 0; i < 4; i++) d[i] = (size_t)entry->dimension[i];
  if (entry->dimensions != 4 || gold_elements(entry) > 1u << 24)
    check_give_up(check, "%s%s is no picture", prefix, name);
  return check_input_float(check, check_name(check, prefix, name), &n);
}

static void pair(Check *check, const char *prefix, const char *name, int two[2]) {
  size_t n = 2;
  double *values = check_input(check, check_name(check, prefix, name), &n);
  for (int i = 0; i < 2; i++) {
    if (!(values[i] >= 0 && values[i] <= 64)) check_give_up(check, "%s%s is %g", prefix, name, values[i]);
    two[i] = (int)values[i];
  }
}

/* Bytes in the file are passed on as bytes. */
static float *pixels_of(Check *check, const float *x, const size_t d[4], int divide) {
  const size_t row = d[1] * d[2] * d[3];
  const OpsPixels pixels = {(int)d[2], (int)d[3], 1, (int)d[1], false, row};
  uint8_t *bytes = check_memory(check, d[0] * row);
  float *y = check_floats(check, d[0] * row);
  if (divide != 255) check_give_up(check, "pixels divided by %d", divide);
  for (size_t i = 0; i < d[0] * row; i++) bytes[i] = (uint8_t)x[i];
  check->ops->image->pixels(check->ops, &pixels, bytes, (int)d[0], y);
  return y;
}

static void run_conv(Check *check, const char *prefix) {
  Ops *ops = check->ops;
  size_t d[4], k[4], none = 0;
  const float *x = four(check, prefix, "in/x", d), *w = four(check, prefix, "in/w", k);
  const float *b = check_input_float(check, check_name(check, prefix, "in/b"), &none);
  OpsConv conv = {(int)d[2], (int)d[3], (int)d[1], (int)k[0], {(int)k[2], (int)k[3]}, {0}, {0}};
  pair(check, prefix, "hp/stride", conv.stride);
  pair(check, prefix, "hp/pad", conv.pad);
  const int divide = check_int(check, check_name(check, prefix, "hp/divide"), 1, 255), rows = (int)d[0];
  const size_t out = (size_t)rows * ops_conv_outputs(&conv), in = (size_t)rows * ops_conv_inputs(&conv);
  const size_t positions = ops_conv_outputs(&conv) / k[0], weights = ops_conv_weights(&conv);
  size_t n = out;
  const float *dy_first = check_input_float(check, check_name(check, prefix, "in/dy"), &n);
  const float *ours = divide > 1 ? pixels_of(check, x, d, divide) : channels_last(check, x, d[0], d[1], d[2] * d[3]);
  const float *kernel = kernel_last(check, w, k[0], k[1], k[2] * k[3]);
  float *dy = channels_last(check, dy_first, d[0], k[0], positions), *y = check_floats(check, out);
  float *dx = check_floats(check, in), *dw = check_floats(check, weights), *db = check_floats(check, k[0]);
  float *scratch = check_floats(check, ops_conv_scratch(&conv, rows));
  float *packed = check_floats(check, 2 * ops_conv_packed(&conv));
  float *dpacked = check_floats(check, ops_conv_packed(&conv));
  ops->image->conv_pack(ops, &conv, kernel, packed);
  ops->image->conv_forward(ops, &conv, ours, packed, b, y, rows, OPS_LINEAR, scratch);
  ops->image->conv_backward(ops, &conv, ours, packed, NULL, dy, divide > 1 ? NULL : dx, dpacked, db, rows, OPS_LINEAR,
                              scratch);
  ops->image->conv_unpack(ops, &conv, dpacked, dw);
  check_singles(check, prefix, "y", CHECK_SINGLE, channels_first(check, y, d[0], k[0], positions), out);
  if (divide == 1)
    check_singles(check, prefix, "dx", CHECK_SINGLE, channels_first(check, dx, d[0], d[1], d[2] * d[3]), in);
  check_singles(check, prefix, "dw", CHECK_SINGLE, kernel_first(check, dw, k[0], k[1], k[2] * k[3]), weights);
  check_singles(check, prefix, "db", CHECK_SINGLE, db, k[0]);
}

/* The file names the input's place that was greatest; ours the window's. */
static float *places(Check *check, const uint8_t *from, const OpsPool3 *pool, size_t rows) {
  const size_t columns = (size_t)ops_pool3_side(pool->width), outputs = ops_pool3_outputs(pool);
  float *place = check_floats(check, rows * outputs);
  for (size_t i = 0; i < rows * outputs; i++) {
    const int at = (int)(i % outputs / (size_t)pool->channels), row = at / (int)columns, column = at % (int)columns;
    place[i] = (float)((2 * row - 1 + from[i] / 3) * pool->width + 2 * column - 1 + from[i] % 3);
  }
  return place;
}

static void run_pool(Check *check, const char *prefix) {
  Ops *ops = check->ops;
  size_t d[4];
  const float *x = four(check, prefix, "in/x", d);
  const OpsPool3 pool = {(int)d[2], (int)d[3], (int)d[1]};
  const size_t in = d[0] * d[1] * d[2] * d[3], out = d[0] * ops_pool3_outputs(&pool);
  const size_t area = ops_pool3_outputs(&pool) / d[1];
  size_t n = out;
  const float *dy = check_input_float(check, check_name(check, prefix, "in/dy"), &n);
  float *y = check_floats(check, out), *dx = check_floats(check, in);
  uint8_t *from = check_memory(check, out);
  ops->image->pool_forward(ops, &pool, channels_last(check, x, d[0], d[1], d[2] * d[3]), y, from, (int)d[0]);
  ops->image->pool_backward(ops, &pool, from, channels_last(check, dy, d[0], d[1], area), dx, (int)d[0]);
  check_singles(check, prefix, "y", CHECK_SINGLE, channels_first(check, y, d[0], d[1], area), out);
  check_singles(check, prefix, "dx", CHECK_SINGLE, channels_first(check, dx, d[0], d[1], d[2] * d[3]), in);
  check_singles(check, prefix, "index", CHECK_STABLE,
                channels_first(check, places(check, from, &pool, d[0]), d[0], d[1], area), out);
}

static void run_picture_norm(Check *check, const char *prefix) {
  Ops *ops = check->ops;
  size_t d[4], n = 0;
  float *x = four(check, prefix, "in/x", d), *dy = four(check, prefix, "in/dy", d);
  const size_t columns = d[1] * d[2] * d[3], all = d[0] * columns;
  n = columns;
  const float *gain = check_input_float(check, check_name(check, prefix, "in/gain"), &n);
  const float *offset = check_input_float(check, check_name(check, prefix, "in/bias"), &n);
  float *y = check_floats(check, all), *inverse = check_floats(check, d[0]);
  float *dgain = check_floats(check, columns), *doffset = check_floats(check, columns);
  ops->norm_forward(ops, x, inverse, gain, offset, y, (int)d[0], (int)columns,
                    check_real(check, check_name(check, prefix, "hp/eps")), OPS_LINEAR);
  ops->norm_backward(ops, x, inverse, gain, offset, y, dy, dgain, doffset, (int)d[0], (int)columns, OPS_LINEAR);
  check_singles(check, prefix, "y", CHECK_SINGLE, y, all);
  check_singles(check, prefix, "dx", CHECK_SINGLE, dy, all);
  check_singles(check, prefix, "dgain", CHECK_SINGLE, dgain, columns);
  check_singles(check, prefix, "dbias", CHECK_SINGLE, doffset, columns);
  check_singles(check, prefix, "inverse_std", CHECK_SINGLE, inverse, d[0]);
}

/* Runs every "<case>/in/x"; its neighbors determine the operation. */
static void case_conv_ops(Check *check) {
  for (uint32_t i = 0; i < check->gold.count; i++) {
    const char *name = check->gold.entry[i].name, *end = strstr(name, "in/x");
    if (end == NULL || end == name || strcmp(end, "in/x") != 0) continue;
    char *prefix = check_memory(check, CHECK_NAME);
    snprintf(prefix, CHECK_NAME, "%.*s", (int)(end - name), name);
    if (check_has(check, check_name(check, prefix, "in/w"))) run_conv(check, prefix);
    else if (check_has(check, check_name(check, prefix, "in/gain"))) run_picture_norm(check, prefix);
    else run_pool(check, prefix);
  }
}

#endif
