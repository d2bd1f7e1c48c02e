/* The device's kernels of entity matrices that are bf16 in memory (entity.h), each alone and element by element against
 * the CPU's float32 function on the same, rounded inputs. Rows are a multiple of nothing: 67 worlds of 8 or 17
 * entities. */
#include "test.h"

#include "sim/batch/batch.h"
#include "sim/levels/generate.h"
#include "trainer/ops/device/device_internal.h"
#define DEVICE_TESTS run_all
#include "tests/device_tools.h"
#include "device_buffers.h"
#include "bf16_tools.h"

enum { WORLDS = 67, LEVELS = 12, EIGHTS = 128, HEADS = 8, SIZE = 2, ENTITIES_MAX = 17 };

static Ops *host, *ops;
static SimEntityLayout layout;
static float *observed;        /* [WORLDS][layout.length], on the host */
static OpsRows here, there;
static int entities, rows;     /* rows: WORLDS * entities */
static int width;              /* columns of the matrices */

/* Worlds of random levels, a few steps on, so that some shapes touch. */
static void observe(SimSize size) {
  static SimLevel level[LEVELS];
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  uint8_t idle[WORLDS * SIM_ACTIONS] = {0};
  for (uint32_t i = 0; i < LEVELS; i++) assert_int_equal(sim_generate_level(size, 3, i, &level[i]), CORE_OK);
  options.worlds = WORLDS;
  options.observation = SIM_OBSERVATION_ENTITY;
  assert_int_equal(sim_batch_create(&options, &(SimLevelSet){level, LEVELS, size}, &batch), CORE_OK);
  layout = sim_entity_layout(size);
  observed = core_memory_zero_allocate((size_t)(WORLDS * layout.length), sizeof *observed);
  for (int t = 0; t < 20; t++) sim_batch_step(batch, idle, &(SimStepOut){.observations = observed});
  sim_batch_destroy(&batch);
  here = (OpsRows){observed, WORLDS, layout.length};
  there = (OpsRows){UP(observed, (size_t)(WORLDS * layout.length)), WORLDS, layout.length};
  entities = layout.shapes + 1;
  rows = WORLDS * entities;
}

/* ---- layer norm -------------------------------------------------------------------------------------------------- */

static void test_norm(void) {
  const size_t r = (size_t)rows, n = r * EIGHTS;
  float *x = rounded_normals(1, n, 1), *gain = normals(2, EIGHTS, 1), *offset = normals(3, EIGHTS, 1);
  float *inverse = normals(4, r, 1), *y = rounded_normals(5, n, 1), *dx = rounded_normals(6, n, 1);
  float *dy = rounded_normals(7, n, 1), *more = rounded_normals(8, n, 1);
  float *dgain = normals(9, EIGHTS, 1), *doffset = normals(10, EIGHTS, 1);
  for (size_t i = 0; i < n; i++) x[i] += (float)(i / EIGHTS % 5); /* rows with means */
  round_numbers(x, n);
  float *d_x = up_bf16(x, n), *d_n = up_bf16(y, n), *d_y = up_bf16(y, n), *d_inverse = UP(inverse, r);
  float *d_gain = UP(gain, EIGHTS), *d_offset = UP(offset, EIGHTS);
  ops->entity->norm(ops, d_x, d_n, d_inverse, d_gain, d_offset, d_y, rows, EIGHTS, 1e-6);
  assert_bf16("norm: x", x, d_x, n);
  host->norm_forward(host, x, inverse, gain, offset, y, rows, EIGHTS, 1e-6, OPS_LINEAR);
  assert_bf16("norm: normalized", x, d_n, n);
  assert_bf16("norm: y", y, d_y, n);
  assert_floats("norm: inverse", inverse, d_inverse, r);

  round_numbers(x, n);
  d_n = up_bf16(x, n);
  float *d_dx = up_bf16(dx, n), *d_dy = up_bf16(dy, n), *d_more = up_bf16(more, n);
  float *d_dgain = UP(dgain, EIGHTS), *d_doffset = UP(doffset, EIGHTS);
  ops->entity->norm_add_gradient(ops, d_n, d_inverse, d_gain, d_dy, d_more, d_dx, d_dgain, d_doffset, rows, EIGHTS);
  ops->entity->finish(ops);
  host->norm_backward(host, x, inverse, gain, offset, y, dy, dgain, doffset, rows, EIGHTS, OPS_LINEAR);
  for (size_t i = 0; i < n; i++) dx[i] += more[i] + dy[i];
  assert_bf16("norm: gradient at x", dx, d_dx, n);
  assert_floats("norm: gradient of gain", dgain, d_dgain, EIGHTS);
  assert_floats("norm: gradient of offset", doffset, d_doffset, EIGHTS);
  free(x), free(gain), free(offset), free(inverse), free(y), free(dx), free(dy), free(more), free(dgain), free(doffset);
}

/* ---- gates ------------------------------------------------------------------------------------------------------- */

enum { A, U, UG, X, DOUT, DRX, R, Z, RX, H, OUT, DUG, DA, DU, DX, MATRICES };
static float *gate[MATRICES], *gate_there[MATRICES];

static size_t gate_numbers(int matrix) {
  return (size_t)rows * (size_t)width * (matrix == A || matrix == DA ? 3 : matrix == U || matrix == DU ? 2 : 1);
}

static void assert_gate(int first, int last) {
  static const char *const name[MATRICES] = {[R] = "gate: r", [Z] = "gate: z", [RX] = "gate: r x", [H] = "gate: h",
    [OUT] = "gate: out", [DUG] = "gate: dug", [DA] = "gate: da", [DU] = "gate: du", [DX] = "gate: dx"};
  for (int i = first; i <= last; i++) assert_bf16(name[i], gate[i], gate_there[i], gate_numbers(i));
}

/* Rounds a matrix that the next function reads, on both sides. */
static void hand_over(int matrix) {
  round_numbers(gate[matrix], gate_numbers(matrix));
  gate_there[matrix] = up_bf16(gate[matrix], gate_numbers(matrix));
}

/* Computes the gradients of gate_close; with sums of columns for the bias where rows have 128 numbers. */
static void check_gate_close_gradient(bool with_bias) {
  float **h = gate, **d = gate_there, *dbias = normals(41, (size_t)width, 1), *d_dbias = UP(dbias, (size_t)width);
  host->entity->gate_close_backward(host, h[DOUT], h[Z], h[H], h[X], rows, width, h[DUG], h[DA], h[DU], h[DX]);
  if (with_bias) {
    ops->entity->gate_close_bias_backward(ops, d[DOUT], d[Z], d[H], d[X], rows, width, d[DUG], d[DA], d[DU], d[DX],
                                          d_dbias);
    ops->entity->finish(ops);
    for (int c = 0; c < width; c++) {
      double sum = 0;
      for (int r = 0; r < rows; r++) sum -= (double)h[DU][(r * 2 + 1) * width + c];
      dbias[c] = (float)sum;
    }
    assert_floats("gate: gradient of bias", dbias, d_dbias, (size_t)width);
  } else {
    ops->entity->gate_close_backward(ops, d[DOUT], d[Z], d[H], d[X], rows, width, d[DUG], d[DA], d[DU], d[DX]);
  }
  assert_gate(DUG, DX);
  free(dbias);
}

static void test_gates(void) {
  float **h = gate, **d = gate_there, *bias = normals(40, (size_t)width, 1), *d_bias = UP(bias, (size_t)width);
  for (int i = A; i < MATRICES; i++) {
    h[i] = rounded_normals(50 + (uint32_t)i, gate_numbers(i), 1);
    d[i] = up_bf16(h[i], gate_numbers(i));
  }
  host->entity->gate_open(host, h[A], h[U], bias, h[X], rows, width, h[R], h[Z], h[RX]);
  ops->entity->gate_open(ops, d[A], d[U], d_bias, d[X], rows, width, d[R], d[Z], d[RX]);
  assert_gate(R, RX);
  hand_over(R), hand_over(Z);
  host->entity->gate_close(host, h[A], h[UG], h[Z], h[X], rows, width, h[H], h[OUT]);
  ops->entity->gate_close(ops, d[A], d[UG], d[Z], d[X], rows, width, d[H], d[OUT]);
  assert_gate(H, OUT);
  hand_over(H);
  check_gate_close_gradient(false);
  if (width == EIGHTS) check_gate_close_gradient(true);
  hand_over(DX);
  host->entity->gate_open_backward(host, h[DRX], h[R], h[X], rows, width, h[DA], h[DU], h[DX]);
  ops->entity->gate_open_backward(ops, d[DRX], d[R], d[X], rows, width, d[DA], d[DU], d[DX]);
  assert_gate(DUG, DX);
  for (int i = A; i < MATRICES; i++) free(h[i]);
  free(bias);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

static void test_attention(void) {
  const OpsAttention attention = {.relations = layout.attention, .mask = layout.polygon_mask, .kinds = SIM_ATTEND_KINDS,
                                  .entities = entities, .heads = HEADS, .size = SIZE};
  const size_t n = (size_t)(rows * HEADS * SIZE);
  float *qkv = normals(7, 3 * n, 1), *out = rounded_normals(8, n, 1), *dout = normals(9, n, 1);
  float *dqkv = core_memory_zero_allocate(3 * n, sizeof *dqkv);
  float *d_qkv = UP(qkv, 3 * n), *d_out = up_bf16(out, n), *d_dout = UP(dout, n), *d_dqkv = up_bf16(dqkv, 3 * n);
  host->entity->attend(host, here, &attention, qkv, out);
  ops->entity->attend(ops, there, &attention, d_qkv, d_out);
  assert_bf16("attention", out, d_out, n);
  host->entity->attend_backward(host, here, &attention, qkv, dout, dqkv);
  ops->entity->attend_backward(ops, there, &attention, d_qkv, d_dout, d_dqkv);
  assert_bf16("attention: gradient", dqkv, d_dqkv, 3 * n);
  free(qkv), free(out), free(dout), free(dqkv);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void check_messages(const OpsMessage *m) {
  const size_t shapes = (size_t)(rows * width), things = (size_t)(WORLDS * m->count * width);
  const size_t gathered = things * (size_t)(m->ends + 1);
  float *shape = rounded_normals(30, shapes, 1), *embedding = normals(31, things, 1);
  float *both = rounded_normals(32, gathered, 1), *message = rounded_normals(33, things, 1);
  float *d_shape = up_bf16(shape, shapes), *d_embedding = UP(embedding, things), *d_both = up_bf16(both, gathered);
  float *d_message = up_bf16(message, things);
  host->entity->gather(host, here, m, shape, embedding, both);
  ops->entity->gather(ops, there, m, d_shape, d_embedding, d_both);
  assert_bf16("messages: gathered", both, d_both, gathered);
  round_numbers(both, gathered);
  host->entity->gather_backward(host, here, m, both, shape, embedding);
  ops->entity->gather_backward(ops, there, m, d_both, d_shape, d_embedding);
  assert_bf16("messages: gradient of shapes", shape, d_shape, shapes);
  assert_floats("messages: gradient of embeddings", embedding, d_embedding, things);

  round_numbers(shape, shapes);
  host->entity->scatter(host, here, m, message, shape);
  ops->entity->scatter(ops, there, m, d_message, d_shape);
  assert_bf16("messages: scattered", shape, d_shape, shapes);
  round_numbers(shape, shapes);
  host->entity->scatter_backward(host, here, m, shape, message);
  ops->entity->scatter_backward(ops, there, m, d_shape, d_message);
  assert_bf16("messages: gradient of messages", message, d_message, things);
  free(shape), free(embedding), free(both), free(message);
}

static void test_messages(void) {
  const OpsMessage joints = {.mask = layout.joint_mask, .shapes = layout.joint_shapes, .count = 2 * layout.size.joints,
                             .ends = 2, .entities = entities, .width = width};
  const OpsMessage thrusters = {.mask = layout.thruster_mask, .shapes = layout.thruster_shapes,
                                .count = layout.size.thrusters, .ends = 1, .entities = entities, .width = width};
  check_messages(&joints);
  check_messages(&thrusters);
}

/* ---- packing and pooling ----------------------------------------------------------------------------------------- */

/* The kind's embedding has three columns fewer than the matrix, so that its tag and zeros follow; without a tag two. */
static void check_pack(int active, int count, int first, bool with_tag) {
  const int columns = width - (with_tag ? 3 : 2);
  const OpsPack pack = {.mask = active, .count = count, .width = columns, .first = first, .entities = entities,
                        .columns = width, .tag = with_tag ? columns + 1 : -1};
  const size_t n = (size_t)(rows * width), packed = (size_t)(WORLDS * count * columns);
  float *matrix = rounded_normals(3, n, 1), *embedding = normals(7, packed, 1);
  float *d_matrix = up_bf16(matrix, n), *d_embedding = UP(embedding, packed);
  host->entity->pack(host, here, &pack, embedding, matrix);
  ops->entity->pack(ops, there, &pack, d_embedding, d_matrix);
  host->entity->dummy(host, WORLDS, entities, width, matrix);
  ops->entity->dummy(ops, WORLDS, entities, width, d_matrix);
  assert_bf16("packed", matrix, d_matrix, n);
  round_numbers(matrix, n);
  host->entity->unpack(host, here, &pack, matrix, embedding);
  ops->entity->unpack(ops, there, &pack, d_matrix, d_embedding);
  assert_elements("unpacked", embedding, d_embedding, packed, OPS_NUMBERS_FLOAT, 0);
  free(matrix), free(embedding);
}

static void test_packing(void) {
  check_pack(layout.polygon_mask, layout.size.polygons, 1, true);
  check_pack(layout.circle_mask, layout.size.circles, 1 + layout.size.polygons, false);
}

static void check_pool(OpsActivation activation, bool is_weighted) {
  const size_t n = (size_t)(rows * width), each = (size_t)(WORLDS * width), weighed = (size_t)rows;
  float *matrix = rounded_normals(3, n, 0.3), *weights = normals(4, weighed, 1);
  float *out = normals(5, each, 1), *dout = normals(6, each, 1);
  float *d_matrix = up_bf16(matrix, n), *d_weights = UP(weights, weighed), *d_out = UP(out, each),
        *d_dout = UP(dout, each);
  const float *w = is_weighted ? weights : NULL, *d_w = is_weighted ? d_weights : NULL;
  host->entity->pool(host, matrix, w, WORLDS, entities, width, activation, out);
  ops->entity->pool(ops, d_matrix, d_w, WORLDS, entities, width, activation, d_out);
  assert_floats("pooled", out, d_out, each);
  host->entity->pool_backward(host, out, dout, w, WORLDS, entities, width, activation, matrix);
  ops->entity->pool_backward(ops, d_out, d_dout, d_w, WORLDS, entities, width, activation, d_matrix);
  assert_bf16("pooled: gradient", matrix, d_matrix, n);
  free(matrix), free(weights), free(out), free(dout);
}

static void test_pooling(void) {
  check_pool(OPS_LINEAR, true);
  check_pool(OPS_TANH, false);
}

/* ---- dense layers ------------------------------------------------------------------------------------------------ */

/* Without a fused epilogue, a product is rounded before bias and activation. */
static double dense_bound(const OpsEntityDense *layer) {
  return layer->result_is_float || layer->b == NULL ? tolerance_of_device() : ROUNDED;
}

static void check_dense(int in, int out, OpsActivation activation, bool with_bias, bool is_float) {
  const size_t r = (size_t)rows, i = (size_t)in, o = (size_t)out, kernel = i * o, parameters = kernel + o;
  float *x = rounded_normals(1, r * i, 1), *theta = rounded_normals(2, parameters, 1 / sqrt(in));
  float *y = normals(3, r * o, 1);
  float *dy = rounded_normals(4, r * o, 1), *dx = rounded_normals(5, r * i, 1), *dw = normals(6, kernel, 1),
        *db = normals(7, o, 1);
  float *d_theta = UP(theta, parameters), *d_dw = UP(dw, kernel), *d_db = UP(db, o), *rounded = UP(theta, parameters);
  OpsEntityDense layer = {.x = up_bf16(x, r * i), .b = with_bias ? d_theta + kernel : NULL,
                          .w = (uint16_t *)(void *)rounded, .in = in, .out = out, .result_is_float = is_float,
                          .y = is_float ? UP(y, r * o) : up_bf16(y, r * o)};
  if (!with_bias) memset(theta + kernel, 0, o * sizeof *theta);
  ops->entity->round(ops, d_theta, parameters, (uint16_t *)(void *)rounded);
  ops->entity->dense_forward(ops, &layer, rows, activation);
  host->dense_forward(host, x, theta, theta + kernel, y, rows, in, out, activation);
  assert_elements("dense: y", y, layer.y, r * o, is_float ? OPS_NUMBERS_FLOAT : OPS_NUMBERS_BF16, dense_bound(&layer));

  round_numbers(y, r * o);
  layer.y = activation == OPS_LINEAR ? NULL : up_bf16(y, r * o);
  layer.result_is_float = false;
  float *d_dy = up_bf16(dy, r * o), *d_dx = up_bf16(dx, r * i);
  ops->entity->dense_backward(ops, &layer, rows, activation, d_dy, d_dx, d_dw, with_bias ? d_db : NULL);
  ops->entity->finish(ops);
  for (size_t k = 0; k < r * o; k++) dy[k] *= derivative_at(activation, y[k]);
  assert_bf16("dense: gradient before the activation", dy, d_dy, r * o);
  round_numbers(dy, r * o);
  host->dense_backward(host, x, theta, theta + kernel, y, dy, dx, dw, db, rows, in, out, OPS_LINEAR);
  assert_bf16("dense: gradient at x", dx, d_dx, r * i);
  assert_floats("dense: gradient of the kernel", dw, d_dw, kernel);
  if (with_bias) assert_floats("dense: gradient of the bias", db, d_db, o);
  free(x), free(theta), free(y), free(dy), free(dx), free(dw), free(db);
}

static void test_dense(void) {
  check_dense(width, EIGHTS, OPS_RELU, true, false);
  check_dense(width, EIGHTS, OPS_LINEAR, true, false);
  check_dense(width, 3 * HEADS * SIZE, OPS_LINEAR, false, true);
  check_dense(27, width - 1, OPS_TANH, true, false);
  check_dense(19, width, OPS_RELU, true, true);
}

/* ---- on every device --------------------------------------------------------------------------------------------- */

/* Sizes of worlds, and widths: 128, of which some kernels have rows of 16 threads; 24, in steps of eight; 43, in single
 * elements. */
typedef struct Way { const SimSize *size; int width; unsigned blocks; } Way;
static const Way WAYS[] = {
  {&SIM_SIZE_S, EIGHTS, 0}, {&SIM_SIZE_L, EIGHTS, 3}, {&SIM_SIZE_S, 24, 2}, {&SIM_SIZE_S, 43, 2}};
enum { WAYS_ALL = sizeof WAYS / sizeof *WAYS };

/* The first tests are of kernels that use shared memory. */
static void (*const TESTS[])(void) = {test_norm, test_gates, test_attention, test_dense, test_messages, test_packing,
                                      test_pooling};
enum { TESTS_ALL = sizeof TESTS / sizeof *TESTS, TESTS_SHARED = 4 };

static void check_ways(int ways, int tests) {
  host = make_ops(1);
  if (ops_device_create(device, OPS_BF16, WORLDS * ENTITIES_MAX, 3 * EIGHTS, false, &ops) != CORE_OK)
    fail_msg("%s", core_error_message());
  for (int w = 0; w < ways; w++)
    for (int i = 0; i < tests; i++) {
      width = WAYS[w].width;
      limit_blocks(WAYS[w].blocks);
      observe(*WAYS[w].size);
      if (TESTS[i] != test_norm || width == EIGHTS) TESTS[i]();
      free(observed);
      forget();
    }
  ops_destroy(&ops);
  ops_destroy(&host);
  core_device_close(&device);
}

static void run_all(void) { check_ways(WAYS_ALL, TESTS_ALL); }

/* Shared memory is checked, too: reading another thread's value without a barrier gives another result. */
static void test_isolated(void **state) {
  (void)state;
  device = core_device_emulated(CORE_DEVICE_ISOLATED);
  check_ways(1, TESTS_SHARED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
                                     cmocka_unit_test(test_isolated), cmocka_unit_test(test_gpu)};
  choose_device_tests();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
