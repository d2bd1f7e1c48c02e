/* Pictures on the CPU (picture.h): threads take parts of CPU_CONV_PART pictures, and sums over them go in the order of
 * groups of parts, which follow from the shapes alone (cpu_internal.h). */
#include "trainer/ops/cpu/cpu_picture_internal.h"
#include "trainer/ops/fast_math_internal.h"
#include "trainer/ops/row_picture_internal.h"

#include <stdlib.h>
#include <string.h>

enum { GROUPS = 64, LOOP = 1 << 14 };

/* oneDNN where it is built in; TRAINER_CONV=patches, for tests, takes the other way. */
static const CpuConv *implementation(void) {
  const char *wanted = getenv("TRAINER_CONV");
  const CpuConv *library = cpu_conv_library();
  return library && !(wanted && strcmp(wanted, "patches") == 0) ? library : cpu_conv_patches();
}

float *cpu_conv_room(int room, size_t floats) {
  static _Thread_local struct { float *memory; size_t floats; } rooms[CPU_ROOMS];
  if (floats > rooms[room].floats) {
    free(rooms[room].memory);
    rooms[room].memory = aligned_alloc(64, (floats + 15) / 16 * 16 * sizeof(float));
    rooms[room].floats = floats;
    CORE_CHECK(rooms[room].memory != NULL);
  }
  return rooms[room].memory;
}

static int parts_of(int rows) { return (rows + CPU_CONV_PART - 1) / CPU_CONV_PART; }
static int part_rows(int rows, int part) {
  const int left = rows - part * CPU_CONV_PART;
  return left < CPU_CONV_PART ? left : CPU_CONV_PART;
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

CPU_VECTOR static void show_plane(const uint8_t *bytes, size_t area, size_t stride, float *y) {
  for (size_t i = 0; i < area; i++) y[i * stride] = (float)bytes[i] / 255.0f;
}
CPU_VECTOR static void show_planes_4(const uint8_t *bytes, size_t area, float *y) {
  for (size_t i = 0; i < area; i++)
    for (size_t c = 0; c < 4; c++) y[4 * i + c] = (float)bytes[c * area + i] / 255.0f;
}

static void show_picture(const OpsPixels *p, const uint8_t *bytes, float *y) {
  const size_t area = (size_t)p->height * (size_t)p->width, all = (size_t)(p->frames * p->channels);
  const bool planes = !p->channels_last || p->channels == 1;
  if (planes && all == 4) show_planes_4(bytes, area, y);
  else if (planes)
    for (size_t c = 0; c < all; c++) show_plane(bytes + c * area, area, all, y + c);
  else if (p->frames == 1) show_plane(bytes, area * all, 1, y);
  else
    for (size_t i = 0; i < area * all; i++) y[i] = (float)bytes[row_pixel_place(p, i)] / 255.0f;
}

static void show(Ops *ops, const OpsPixels *p, const void *bytes, int rows, float *y) {
  const size_t numbers = (size_t)(p->height * p->width) * (size_t)(p->frames * p->channels);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads)
  for (int r = 0; r < rows; r++) show_picture(p, (const uint8_t *)bytes + (size_t)r * p->row, y + (size_t)r * numbers);
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

/* A kernel in the implementation's form, until the next. */
static float *pack(const CpuConv *with, const OpsConv *conv, const float *w) {
  float *kernel = cpu_conv_room(CPU_ROOM_KERNEL, with->packed(conv));
  with->pack(conv, w, kernel);
  return kernel;
}

static void conv_forward(Ops *ops, const OpsConv *conv, const float *x, const float *w, const float *b, float *y,
                         int rows, OpsActivation activation, float *scratch) {
  const CpuConv *with = implementation();
  const size_t in = ops_conv_inputs(conv), out = ops_conv_outputs(conv);
  const float *kernel = pack(with, conv, w);
  CORE_CHECK(activation == OPS_LINEAR || activation == OPS_RELU);
  (void)scratch;
#pragma omp parallel for schedule(dynamic, 1) num_threads(cpu_state(ops)->threads)
  for (int part = 0; part < parts_of(rows); part++) {
    const size_t first = (size_t)part * CPU_CONV_PART;
    const int some = part_rows(rows, part);
    with->forward(conv, x + first * in, kernel, y + first * out, some);
    cpu_activate(activation, y + first * out, b, some * (int)(out / (size_t)conv->out), conv->out);
  }
  ops->flops += 2.0 * rows * (double)out * ops_conv_patch(conv);
}

/* The backward pass of a call. */
typedef struct Backward {
  const CpuConv *with;
  const OpsConv *conv;
  const float *x, *y, *kernel;
  float *dy, *dx;
  OpsActivation activation;
  int rows, groups;
  size_t packed;
  float *kernels, *biases; /* [groups][packed], [groups][out] */
} Backward;

static int first_of_group(const Backward *pass, int group) {
  return (int)((int64_t)parts_of(pass->rows) * group / pass->groups);
}

/* One part's gradients; those of the kernel and the bias to dkernel and db. */
static void backward_part(const Backward *pass, int part, float *dkernel, float *db) {
  const OpsConv *conv = pass->conv;
  const size_t first = (size_t)part * CPU_CONV_PART, in = ops_conv_inputs(conv), out = ops_conv_outputs(conv);
  const int some = part_rows(pass->rows, part), positions = (int)(out / (size_t)conv->out);
  float *dy = pass->dy + first * out;
  cpu_activation_gradient(pass->activation, pass->y + first * out, NULL, dy, db, some * positions, conv->out);
  pass->with->to_kernel(conv, pass->x + first * in, dy, dkernel, some);
  if (pass->dx) pass->with->to_input(conv, dy, pass->kernel, pass->dx + first * in, some);
}

CPU_VECTOR static void add(float *sum, const float *x, size_t n) {
  for (size_t i = 0; i < n; i++) sum[i] += x[i];
}

static void backward_group(const Backward *pass, int group) {
  const size_t out = (size_t)pass->conv->out;
  const int first = first_of_group(pass, group), end = first_of_group(pass, group + 1);
  float *dkernel = pass->kernels + (size_t)group * pass->packed, *db = pass->biases + (size_t)group * out;
  float *more = cpu_conv_room(CPU_ROOM_PART, pass->packed + out);
  backward_part(pass, first, dkernel, db);
  for (int part = first + 1; part < end; part++) {
    backward_part(pass, part, more, more + pass->packed);
    add(dkernel, more, pass->packed);
    add(db, more + pass->packed, out);
  }
}

static int groups_of(const CpuState *state, int rows, size_t floats) {
  const size_t room = state->kernel_parts_room / floats;
  int groups = parts_of(rows) < GROUPS ? parts_of(rows) : GROUPS;
  if ((size_t)groups > room) groups = (int)room;
  CORE_CHECK(groups > 0);
  return groups;
}

static void conv_backward(Ops *ops, const OpsConv *conv, const float *x, const float *w, const float *y, float *dy,
                          float *dx, float *dw, float *db, int rows, OpsActivation activation, float *scratch) {
  CpuState *state = cpu_state(ops);
  const CpuConv *with = implementation();
  const size_t packed = with->packed(conv), out = (size_t)conv->out;
  const int groups = groups_of(state, rows, packed + out), threads_before = omp_get_max_threads();
  Backward pass = {with, conv, x, y, pack(with, conv, w), dy, dx, activation, rows, groups, packed,
                   state->kernel_parts, state->kernel_parts + (size_t)groups * packed};
  CORE_CHECK(activation == OPS_LINEAR || activation == OPS_RELU);
  (void)scratch;
  omp_set_num_threads(state->threads);
#pragma omp parallel
  {
#pragma omp for schedule(dynamic, 1)
    for (int group = 0; group < groups; group++) backward_group(&pass, group);
    cpu_fold_kernel(pass.kernels, groups, packed, packed, pass.kernels);
    cpu_fold_columns(pass.biases, groups, conv->out, db);
  }
  omp_set_num_threads(threads_before);
  with->unpack(conv, pass.kernels, dw);
  ops->flops += (dx ? 4.0 : 2.0) * rows * (double)ops_conv_outputs(conv) * ops_conv_patch(conv);
}

/* ---- pools and activations --------------------------------------------------------------------------------------- */

/* All but the border has whole windows, where rows of channels are compared at once. */
CPU_VECTOR static void pool_whole(const OpsPool3 *p, const float *x, int row, int column, float *y, uint8_t *from) {
  const size_t channels = (size_t)p->channels, line = (size_t)p->width * channels;
  const float *corner = x + (size_t)(2 * row - 1) * line + (size_t)(2 * column - 1) * channels;
  for (size_t c = 0; c < channels; c++) {
    y[c] = corner[c];
    from[c] = 0;
  }
  for (size_t k = 1; k < 9; k++) {
    const float *other = corner + k / 3 * line + k % 3 * channels;
    for (size_t c = 0; c < channels; c++) {
      const bool is_greater = !(other[c] <= y[c]); /* NaN, too */
      y[c] = is_greater ? other[c] : y[c];
      from[c] = is_greater ? (uint8_t)k : from[c];
    }
  }
}

static void pool_picture(const OpsPool3 *p, const float *x, float *y, uint8_t *from) {
  const int rows = ops_pool3_side(p->height), columns = ops_pool3_side(p->width), channels = p->channels;
  for (int row = 0; row < rows; row++)
    for (int column = 0; column < columns; column++, y += channels, from += channels) {
      if (row > 0 && column > 0 && 2 * row + 1 < p->height && 2 * column + 1 < p->width)
        pool_whole(p, x, row, column, y, from);
      else
        for (int c = 0; c < channels; c++) y[c] = row_window(p, x, row, column, c, &from[c]);
    }
}

static size_t pool_inputs(const OpsPool3 *p) { return (size_t)p->height * (size_t)p->width * (size_t)p->channels; }

static void pool_forward(Ops *ops, const OpsPool3 *pool, const float *x, float *y, uint8_t *from, int rows) {
  const size_t in = pool_inputs(pool), out = ops_pool3_outputs(pool);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads)
  for (int r = 0; r < rows; r++) pool_picture(pool, x + (size_t)r * in, y + (size_t)r * out, from + (size_t)r * out);
}

/* In the order of the windows, which is that of row_window_backward for each number: windows further down and right
 * have it at a smaller k. */
static void unpool_picture(const OpsPool3 *p, const uint8_t *from, const float *dy, float *dx) {
  const int rows = ops_pool3_side(p->height), columns = ops_pool3_side(p->width), channels = p->channels;
  memset(dx, 0, pool_inputs(p) * sizeof *dx);
  for (int row = rows - 1; row >= 0; row--)
    for (int column = columns - 1; column >= 0; column--) {
      const size_t output = ((size_t)row * (size_t)columns + (size_t)column) * (size_t)channels;
      for (int c = 0; c < channels; c++) {
        const int k = from[output + (size_t)c], y = 2 * row - 1 + k / 3, z = 2 * column - 1 + k % 3;
        dx[((size_t)y * (size_t)p->width + (size_t)z) * (size_t)channels + (size_t)c] += dy[output + (size_t)c];
      }
    }
}

static void pool_backward(Ops *ops, const OpsPool3 *pool, const uint8_t *from, const float *dy, float *dx, int rows) {
  const size_t in = pool_inputs(pool), out = ops_pool3_outputs(pool);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads)
  for (int r = 0; r < rows; r++)
    unpool_picture(pool, from + (size_t)r * out, dy + (size_t)r * out, dx + (size_t)r * in);
}

CPU_VECTOR static void relu_some(const float *x, float *y, size_t n) {
  for (size_t i = 0; i < n; i++) y[i] = x[i] <= 0 ? 0 : x[i]; /* NaN stays */
}
CPU_VECTOR static void relu_gradient_some(const float *y, float *dy, size_t n) {
  for (size_t i = 0; i < n; i++) dy[i] = y[i] > 0 ? dy[i] : 0;
}

static void relu_forward(Ops *ops, const float *x, float *y, size_t n) {
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads)
  for (size_t first = 0; first < n; first += LOOP) relu_some(x + first, y + first, n - first < LOOP ? n - first : LOOP);
}

static void relu_backward(Ops *ops, const float *y, float *dy, size_t n) {
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads)
  for (size_t first = 0; first < n; first += LOOP)
    relu_gradient_some(y + first, dy + first, n - first < LOOP ? n - first : LOOP);
}

const OpsPicture CPU_PICTURE = {
  .pixels = show, .conv_forward = conv_forward, .conv_backward = conv_backward, .pool_forward = pool_forward,
  .pool_backward = pool_backward, .relu_forward = relu_forward, .relu_backward = relu_backward,
};
