/* Gradients of several layers' kernels in one launch (kernels_weights.h), element by element against float64 on the
 * host with the same, rounded inputs. Rows fill no stage and no slab, and differ from product to product; what lies
 * between rows of different lengths is NaN. */
#include "trainer/ops/device/device_internal.h"
#define DEVICE_TESTS run_all
#include "tests/device_tools.h"
#include "device_buffers.h"
#include "bf16_tools.h"

static Ops *ops;

/* Layer of `rows` rows of inputs and gradients; row_x, row_dz: from one row to the next; first: of the gradients' row,
 * the first column. */
typedef struct Layer {
  uint32_t rows, in, row_x, out, row_dz, first;
  bool has_bias, dz_is_float;
  bool has_norm, has_times;    /* derived inputs */
} Layer;

enum { ALL = 12 };
static const Layer LAYERS[ALL] = {
  {1700, 98, 104, 256, 256, .first = 0, .has_bias = true}, /* inputs that are padded */
  {1000, 128, 128, 384, 384, .first = 0},
  {1000, 128, 136, 256, 384, .first = 0}, /* columns of a wider matrix, and its last ones */
  {1000, 128, 128, 128, 384, .first = 256},
  {301, 384, 384, 128, 128, .first = 0, .has_bias = true},
  {600, 16, 16, 128, 128, .first = 0, .has_bias = true},
  {64, 128, 128, 48, 48, .first = 0, .has_bias = true},
  {515, 64, 64, 31, 31, .first = 0, .has_bias = true, .dz_is_float = true},
  {1, 200, 200, 150, 150, .first = 0, .has_bias = true, .dz_is_float = true},
  {700, 27, 32, 127, 128, .first = 0, .has_bias = true},
  {651, 128, 136, 48, 48, .first = 0, .has_bias = true, .has_norm = true},
  {531, 104, 104, 128, 384, .first = 256, .has_times = true},
};

/* Matrices of a layer on the host, rounded and before its activation, and its gradients on the device. */
typedef struct Placed { float *x, *dz, *d_dw, *d_db; } Placed;

/* Returns [rows][stride] with NaN outside of `columns` columns from `first` on. */
static float *make_matrix(uint32_t stream, uint32_t rows, uint32_t columns, uint32_t stride, uint32_t first,
                          bool is_rounded) {
  const size_t n = (size_t)rows * stride;
  float *x = is_rounded ? rounded_normals(stream, n, 1) : normals(stream, n, 1);
  for (size_t i = 0; i < n; i++)
    if (i % stride < first || i % stride >= first + columns) x[i] = NAN;
  return x;
}

/* n numbers on the device, all bits of which are set. */
static float *unwritten(size_t n) {
  float *nothing = core_memory_allocate(n * sizeof *nothing);
  memset(nothing, 0xff, n * sizeof *nothing);
  float *memory = UP(nothing, n);
  free(nothing);
  return memory;
}

/* Inputs become their layer norm, by moments that are those of other rows. */
static void derive_norm(const Layer *layer, uint32_t stream, float *x, OpsWeightProduct *product) {
  const uint32_t in = layer->in;
  const size_t even = 2 * (size_t)(layer->rows + layer->rows % 2);
  float *moments = normals(stream, even, 1), *gain = normals(stream + 1, 2 * in, 1);
  for (uint32_t i = 0; i < layer->rows * layer->row_x; i++) {
    const uint32_t row = i / layer->row_x, c = i % layer->row_x;
    if (c < in) x[i] = gain[c] * ((x[i] - moments[2 * row]) * moments[2 * row + 1]) + gain[in + c];
  }
  for (size_t i = 2 * layer->rows; i < even; i++) moments[i] = NAN;
  product->moments = UP(moments, even);
  product->gain = UP(gain, 2 * in);
  free(moments), free(gain);
}

/* They become their products with another matrix, of which signs do not count. */
static void derive_times(const Layer *layer, uint32_t stream, float *x, OpsWeightProduct *product) {
  const size_t n = (size_t)layer->rows * layer->row_x;
  float *times = make_matrix(stream, layer->rows, layer->in, layer->row_x, 0, true);
  for (size_t i = 0; i < n; i++) x[i] *= fabsf(times[i]);
  product->times = (const uint16_t *)(const void *)up_bf16(times, n);
  free(times);
}

static OpsWeightProduct place_layer(const Layer *layer, uint32_t stream, Placed *p) {
  const size_t inputs = (size_t)layer->rows * layer->row_x, gradients = (size_t)layer->rows * layer->row_dz;
  p->x = make_matrix(stream, layer->rows, layer->in, layer->row_x, 0, true);
  p->dz = make_matrix(stream + 1, layer->rows, layer->out, layer->row_dz, layer->first, !layer->dz_is_float);
  p->d_dw = unwritten((size_t)layer->in * layer->out + 1);
  p->d_db = unwritten(layer->out + 1);

  OpsWeightProduct product = {.x = up_bf16(p->x, inputs), .dw = p->d_dw, .rows = layer->rows, .in = layer->in,
                              .out = layer->out, .row_x = layer->row_x, .row_dz = layer->row_dz,
                              .dz_is_float = layer->dz_is_float, .db = layer->has_bias ? p->d_db : NULL};
  if (layer->dz_is_float) product.dz = UP(p->dz, gradients);
  else product.dz = (const uint16_t *)(const void *)up_bf16(p->dz, gradients) + layer->first;

  if (layer->has_norm) derive_norm(layer, stream + 60, p->x, &product);
  if (layer->has_times) derive_times(layer, stream + 60, p->x, &product);
  if (layer->has_norm || layer->has_times) round_numbers(p->x, inputs);
  if (layer->dz_is_float) round_numbers(p->dz, gradients);
  return product;
}

/* Asserts NaN at an address of the device. */
static void assert_unwritten(const float *memory) {
  float *number = down(memory, sizeof *number);
  assert_true(isnan(*number));
  free(number);
}

static void check_layer(const Layer *layer, int number, const Placed *p) {
  const size_t in = layer->in, out = layer->out;
  float *dw = core_memory_allocate(in * out * sizeof *dw), *db = core_memory_allocate(out * sizeof *db);
  char name[64];

  for (size_t o = 0; o < out; o++) {
    double sum = 0;
    for (size_t r = 0; r < layer->rows; r++) sum += (double)p->dz[r * layer->row_dz + layer->first + o];
    db[o] = (float)sum;
  }
  for (size_t i = 0; i < in; i++)
    for (size_t o = 0; o < out; o++) {
      double sum = 0;
      for (size_t r = 0; r < layer->rows; r++)
        sum += (double)p->x[r * layer->row_x + i] * (double)p->dz[r * layer->row_dz + layer->first + o];
      dw[i * out + o] = (float)sum;
    }

  snprintf(name, sizeof name, "layer %d: gradient of weights", number);
  assert_elements(name, dw, p->d_dw, in * out, OPS_NUMBERS_FLOAT, tolerance_of_device());
  assert_unwritten(p->d_dw + in * out);
  snprintf(name, sizeof name, "layer %d: gradient of biases", number);
  if (layer->has_bias) assert_elements(name, db, p->d_db, out, OPS_NUMBERS_FLOAT, tolerance_of_device());
  assert_unwritten(p->d_db + (layer->has_bias ? out : 0));
  free(dw), free(db);
}

/* max_rows: of the scratch, whose size decides the number of slabs. */
static void check(int first, int count, int max_rows, int max_width) {
  OpsWeightProduct product[ALL];
  Placed placed[ALL];
  if (ops_device_create(device, OPS_BF16, max_rows, max_width, false, &ops) != CORE_OK)
    fail_msg("%s", core_error_message());
  for (int i = 0; i < count; i++)
    product[i] = place_layer(&LAYERS[first + i], 10 + 2 * (uint32_t)(first + i), &placed[i]);
  const uint64_t launches = device->launches;
  device_weights(device_state(ops), product, count);
  assert_int_equal(device->launches - launches, 2);

  for (int i = 0; i < count; i++) {
    check_layer(&LAYERS[first + i], first + i, &placed[i]);
    free(placed[i].x), free(placed[i].dz);
  }
  forget();
  ops_destroy(&ops);
}

static void run_all(void) {
  check(0, ALL, 64, 256);       /* two slabs */
  check(0, ALL, 30000, 384);    /* four, of which most layers fill fewer */
  check(8, 1, 64, 256);         /* one row */
  core_device_close(&device);
}

/* Shared memory is checked, too: reading another thread's value without a barrier gives another result. */
static void test_isolated(void **state) {
  (void)state;
  device = core_device_emulated(CORE_DEVICE_ISOLATED);
  check(4, ALL - 4, 64, 256);
  core_device_close(&device);
}

/* A slab's sums of the transformer fit in the scratch of the smallest run. */
static void test_room(void **state) {
  (void)state;
  device = core_device_emulated(CORE_DEVICE_FORWARD);
  assert_int_equal(ops_device_create(device, OPS_BF16, 1, 3 * OPS_TRANSFORMER_WIDTH, false, &ops), CORE_OK);
  const size_t square = (size_t)OPS_TRANSFORMER_WIDTH * OPS_TRANSFORMER_WIDTH;
  assert_true(device_state(ops)->column_parts_capacity >= 2 * (18 * square + 128 * 48 + 16 * 128));
  ops_destroy(&ops);
  core_device_close(&device);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
                                     cmocka_unit_test(test_isolated), cmocka_unit_test(test_room),
                                     cmocka_unit_test(test_gpu)};
  choose_device_tests();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
