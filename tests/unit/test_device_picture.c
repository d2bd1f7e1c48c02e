/* The device's ops for images (picture.h) against the CPU's, and complete pixel encoders on both. The emulator runs
 * kernels in both thread orders, in memory that host code cannot access; a GPU runs them, too, if there is one.
 * Results without sums have the same bits; products differ in the order of their terms. */
#include "test.h"

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/nets/encoder.h"
#include "trainer/ops/device/device_internal.h"

#include "ops_tools.h"
#define DEVICE_TESTS run_all
#include "tests/device_tools.h"
#include "device_buffers.h"

enum { ROWS = 7 }; /* more than a part of images on the CPU (CPU_CONV_PART) */

static Ops *host_ops, *ops;
/* Relative to the largest; not all zero. */
static void assert_close(const float *host, const float *memory, size_t n, double tolerance) {
  float *got = core_memory_allocate(n * sizeof *got);
  double largest = 0;
  core_device_to_host(device, got, memory, n * sizeof *got);
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)host[i]));
  assert_true(largest > 0);
  for (size_t i = 0; i < n; i++) assert_near((double)got[i], (double)host[i], tolerance * largest);
  free(got);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static void test_pixels(void) {
  const OpsPixels shapes[] = {{6, 5, 1, 4, false, 120}, {7, 4, 3, 1, true, 84}, {3, 3, 2, 2, true, 40}};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    const OpsPixels *p = &shapes[s];
    const size_t n = (size_t)(ROWS * p->height * p->width * p->channels * p->frames), bytes = ROWS * p->row;
    uint8_t *x = core_memory_allocate(bytes);
    float *y = core_memory_zero_allocate(n, sizeof *y), *there = UP(y, n);
    for (size_t i = 0; i < bytes; i++) x[i] = (uint8_t)(37 * i + 11 * s);
    host_ops->image->pixels(host_ops, p, x, ROWS, y);
    ops->image->pixels(ops, p, up(x, bytes), ROWS, there);
    assert_close(y, there, n, 0);
    free(x), free(y);
    forget();
  }
}

static void check_conv(const OpsConv *c, OpsActivation activation) {
  const size_t in = ROWS * ops_conv_inputs(c), out = ROWS * ops_conv_outputs(c), weights = ops_conv_weights(c);
  const size_t packed = 2 * ops_conv_packed(c), biases = (size_t)c->out, scratch = ops_conv_scratch(c, ROWS);
  float *x = normals(1, in, 1), *w = normals(2, weights, 1), *b = normals(3, biases, 1), *dy = normals(4, out, 1);
  float *y = core_memory_zero_allocate(out + in + weights + biases, sizeof *y), *dx = y + out, *dw = dx + in;
  float *db = dw + weights, *kernel = core_memory_zero_allocate(2 * packed + scratch, sizeof *kernel);
  float *gx = UP(x, in), *gb = UP(b, biases), *gdy = UP(dy, out), *gy = UP(y, out), *gdx = UP(dx, in);
  float *gdw = UP(dw, weights), *gdb = UP(db, biases), *gkernel = UP(kernel, packed), *gdkernel = UP(kernel, packed);
  float *gscratch = UP(kernel, scratch);
  host_ops->image->conv_pack(host_ops, c, w, kernel);
  host_ops->image->conv_forward(host_ops, c, x, kernel, b, y, ROWS, activation, NULL);
  host_ops->image->conv_backward(host_ops, c, x, kernel, y, dy, dx, kernel + packed, db, ROWS, activation, NULL);
  host_ops->image->conv_unpack(host_ops, c, kernel + packed, dw);
  ops->image->conv_pack(ops, c, UP(w, weights), gkernel);
  ops->image->conv_forward(ops, c, gx, gkernel, gb, gy, ROWS, activation, gscratch);
  ops->image->conv_backward(ops, c, gx, gkernel, gy, gdy, gdx, gdkernel, gdb, ROWS, activation, gscratch);
  ops->image->conv_unpack(ops, c, gdkernel, gdw);
  assert_close(y, gy, out, 2e-6);
  assert_close(dy, gdy, out, 0);
  assert_close(dx, gdx, in, 2e-6);
  assert_close(dw, gdw, weights, 2e-6);
  assert_close(db, gdb, biases, 2e-6);
  free(x), free(w), free(b), free(dy), free(y), free(kernel);
  forget();
}

static void test_convolutions(void) {
  const OpsConv convs[] = {{9, 8, 3, 4, {3, 5}, {2, 1}, {1, 2}}, {20, 24, 4, 5, {8, 8}, {4, 4}, {0, 0}},
                           {6, 7, 5, 16, {3, 3}, {1, 1}, {1, 1}}, {4, 3, 5, 2, {1, 1}, {1, 1}, {0, 0}}};
  for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
    check_conv(&convs[i], OPS_LINEAR);
    check_conv(&convs[i], OPS_RELU);
  }
}

static void test_pools(void) {
  const OpsPool3 pools[] = {{8, 8, 3}, {7, 9, 4}, {1, 1, 3}, {6, 7, 16}, {5, 4, 35}, {1, 2, 32}};
  for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
    const OpsPool3 *p = &pools[i];
    const size_t in = (size_t)(ROWS * p->height * p->width * p->channels), out = ROWS * ops_pool3_outputs(p);
    float *x = normals(5, in, 1), *dy = normals(6, out, 1), *y = core_memory_zero_allocate(in + out, sizeof *y);
    uint8_t *from = core_memory_zero_allocate(out, 1), *gfrom = UP(from, out);
    for (size_t k = 0; k < in; k++) x[k] = k % 101 == 0 ? NAN : roundf(x[k]); /* some are equal, some are no numbers */
    float *gy = UP(y, out), *gdx = UP(y, in);
    host_ops->image->pool_forward(host_ops, p, x, y, from, ROWS);
    host_ops->image->pool_backward(host_ops, p, from, dy, y + out, ROWS);
    ops->image->pool_forward(ops, p, UP(x, in), gy, gfrom, ROWS);
    ops->image->pool_backward(ops, p, gfrom, UP(dy, out), gdx, ROWS);
    assert_same_bits(y, gy, out);
    assert_same_bits(y + out, gdx, in);
    uint8_t *got = down(gfrom, out);
    assert_memory_equal(got, from, out);
    free(got);
    free(x), free(dy), free(y), free(from);
    forget();
  }
}

/* ---- encoders ---------------------------------------------------------------------------------------------------- */

typedef struct Made {
  CoreArena *arena;
  Encoder encoder;
  Ops *ops;
  float *x, *theta, *embedding, *dembedding, *gradient;
} Made;

/* on: NULL for the host. */
static void make(Made *m, const EncoderShape *shape, CoreDevice *on) {
  *m = (Made){.arena = core_arena_create("test")};
  core_arena_set_device(m->arena, on);
  encoder_register(&m->encoder, shape, ROWS, m->arena);
  CORE_ARENA_DEVICE(m->arena, m->x, (size_t)(ROWS * shape->length), "pixels");
  CORE_ARENA_DEVICE(m->arena, m->theta, shape->parameters, "weights");
  CORE_ARENA_DEVICE(m->arena, m->embedding, (size_t)(ROWS * shape->width), "embedding");
  CORE_ARENA_DEVICE(m->arena, m->dembedding, (size_t)(ROWS * shape->width), "its gradient");
  CORE_ARENA_DEVICE(m->arena, m->gradient, shape->parameters, "gradient");
  assert_int_equal(core_arena_commit(m->arena), CORE_OK);
  const int rows = encoder_ops_rows(&m->encoder), width = encoder_ops_width(shape, on != NULL);
  if (on) assert_int_equal(ops_device_create(on, OPS_FLOAT32, rows, width, false, &m->ops), CORE_OK);
  else assert_int_equal(ops_cpu_create(2, rows, width, &m->ops), CORE_OK);
}

static void run(Made *m) {
  encoder_forward(&m->encoder, m->ops, m->theta, m->x, ROWS, m->embedding);
  encoder_backward(&m->encoder, m->ops, m->theta, m->x, ROWS, m->embedding, m->dembedding, m->gradient);
}

static void check_encoder(EncoderKind kind, const EnvPixels *pixels, bool layer_norm) {
  const EncoderShape shape = encoder_shape_of_pixels(kind, pixels, layer_norm);
  const size_t bytes = (size_t)(ROWS * shape.length) * sizeof(float), width = (size_t)(ROWS * shape.width);
  Made here, there;
  make(&here, &shape, NULL);
  make(&there, &shape, device);
  for (size_t i = 0; i < bytes; i++) ((uint8_t *)here.x)[i] = (uint8_t)(i * 2654435761u >> 13);
  encoder_init(&shape, 3, 0, here.theta);
  float *dembedding = normals(7, width, 1);
  memcpy(here.dembedding, dembedding, width * sizeof *dembedding);
  core_device_to_device(device, there.x, here.x, bytes);
  core_device_to_device(device, there.theta, here.theta, shape.parameters * sizeof(float));
  core_device_to_device(device, there.dembedding, dembedding, width * sizeof *dembedding);
  run(&here);
  run(&there);
  assert_close(here.embedding, there.embedding, width, 1e-5);
  assert_close(here.gradient, there.gradient, shape.parameters, 1e-5);
  free(dembedding);
  ops_destroy(&here.ops), ops_destroy(&there.ops);
  core_arena_destroy(&here.arena), core_arena_destroy(&there.arena);
}

static void test_encoders(void) {
  const EnvPixels atari = {40, 37, 1, 2, false}, procgen = {12, 9, 3, 1, true};
  check_encoder(ENCODER_NATURE, &atari, false);
  check_encoder(ENCODER_NATURE, &atari, true);
  check_encoder(ENCODER_IMPALA, &procgen, false);
}

/* ---- on every device --------------------------------------------------------------------------------------------- */

static void run_all(void) {
  static void (*const all[])(void) = {test_pixels, test_convolutions, test_pools, test_encoders};
  host_ops = make_ops(1);
  if (ops_device_create(device, OPS_FLOAT32, 2048, 256, false, &ops) != CORE_OK) fail_msg("%s", core_error_message());
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) all[i]();
  ops_destroy(&ops);
  ops_destroy(&host_ops);
  core_device_close(&device);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
                                     cmocka_unit_test(test_gpu)};
  choose_device_tests();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
