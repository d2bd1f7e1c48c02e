/* The device's ops for entity encoders (entity.h) against the CPU's, on rows of entity observations that the simulator
 * makes: the same bits, since every sum over entities has one order. Kernels are run by the emulator, one way and the
 * other, in memory that host code cannot access; on a machine with a GPU by that, too. */
#include "test.h"

#include "core/memory.h"
#include "sim/batch/batch.h"
#include "sim/levels/generate.h"
#include "trainer/ops/device/device_internal.h"

#include "ops_tools.h"
#define DEVICE_TESTS run_all
#include "tests/device_tools.h"
#include "device_buffers.h"

enum { ROWS = 24, LEVELS = 12, WIDTH_MAX = 12 };
static int width;              /* width of matrices: 12, which loads of 16 bytes divide, and 11 */

static Ops *host_ops, *ops;
static SimEntityLayout layout;
static float *observed;        /* [ROWS][layout.length], on the host */
static OpsRows here, there;

/* Worlds of random levels, a few steps on, so that some shapes touch. */
static void observe(SimSize size) {
  static SimLevel level[LEVELS];
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  uint8_t idle[ROWS * SIM_ACTIONS] = {0};
  for (uint32_t i = 0; i < LEVELS; i++) assert_int_equal(sim_generate_level(size, 3, i, &level[i]), CORE_OK);
  options.worlds = ROWS;
  options.observation = SIM_OBSERVATION_ENTITY;
  assert_int_equal(sim_batch_create(&options, &(SimLevelSet){level, LEVELS, size}, &batch), CORE_OK);
  layout = sim_entity_layout(size);
  observed = core_memory_zero_allocate((size_t)(ROWS * layout.length), sizeof *observed);
  for (int t = 0; t < 20; t++) sim_batch_step(batch, idle, &(SimStepOut){.observations = observed});
  sim_batch_destroy(&batch);
  here = (OpsRows){observed, ROWS, layout.length};
  there = (OpsRows){UP(observed, (size_t)(ROWS * layout.length)), ROWS, layout.length};
}

/* ---- packing and pooling ----------------------------------------------------------------------------------------- */

static void test_packing(void) {
  const int shapes = layout.size.polygons, entities = layout.shapes + 1, columns = width + 4;
  const OpsPack pack = {.mask = layout.polygon_mask, .count = shapes, .width = width, .first = 1, .entities = entities,
                        .columns = columns, .tag = width + 1};
  const size_t n = (size_t)(ROWS * entities * columns), each = (size_t)(ROWS * shapes * width);
  float *matrix = normals(1, n, 1), *embedding = normals(2, each, 1);
  float *dmatrix = UP(matrix, n), *dembedding = UP(embedding, each);
  host_ops->entity->pack(host_ops, here, &pack, embedding, matrix),
    ops->entity->pack(ops, there, &pack, dembedding, dmatrix);
  assert_same_bits(matrix, dmatrix, n);
  host_ops->entity->dummy(host_ops, ROWS, entities, columns, matrix),
    ops->entity->dummy(ops, ROWS, entities, columns, dmatrix);
  assert_same_bits(matrix, dmatrix, n);
  host_ops->entity->unpack(host_ops, here, &pack, matrix, embedding),
    ops->entity->unpack(ops, there, &pack, dmatrix, dembedding);
  assert_same_bits(embedding, dembedding, each);
  host_ops->entity->slice(host_ops, here, 5, width, matrix), ops->entity->slice(ops, there, 5, width, dmatrix);
  assert_same_bits(matrix, dmatrix, (size_t)(ROWS * width));
  free(matrix), free(embedding);
}

static void test_pooling(void) {
  const int entities = layout.shapes + 1;
  const size_t n = (size_t)(ROWS * entities * width), weighed = (size_t)(ROWS * entities);
  const size_t each = (size_t)(ROWS * width);
  float *matrix = normals(3, n, 1), *weights = normals(4, weighed, 1), *out = normals(5, each, 1),
        *dout = normals(6, each, 1);
  float *there_matrix = UP(matrix, n), *there_weights = UP(weights, weighed), *there_out = UP(out, each),
        *there_dout = UP(dout, each);
  host_ops->entity->mean_weights(host_ops, here, layout.polygon_mask, layout.shapes, weights);
  ops->entity->mean_weights(ops, there, layout.polygon_mask, layout.shapes, there_weights);
  assert_same_bits(weights, there_weights, weighed);
  for (int weighted = 0; weighted < 2; weighted++) {
    const OpsActivation activation = weighted ? OPS_LINEAR : OPS_TANH;
    const float *w = weighted ? weights : NULL, *there_w = weighted ? there_weights : NULL;
    host_ops->entity->pool(host_ops, matrix, w, ROWS, entities, width, activation, out);
    ops->entity->pool(ops, there_matrix, there_w, ROWS, entities, width, activation, there_out);
    assert_same_bits(out, there_out, each);
    host_ops->entity->pool_backward(host_ops, out, dout, w, ROWS, entities, width, activation, matrix);
    ops->entity->pool_backward(ops, there_out, there_dout, there_w, ROWS, entities, width, activation, there_matrix);
    assert_same_bits(matrix, there_matrix, n);
  }
  free(matrix), free(weights), free(out), free(dout);
}

/* ---- attention and gates ----------------------------------------------------------------------------------------- */

static void check_attention(int heads, int size) {
  const int entities = layout.shapes + 1;
  const OpsAttention attention = {.relations = layout.attention, .mask = layout.polygon_mask, .kinds = SIM_ATTEND_KINDS,
                                  .entities = entities, .heads = heads, .size = size};
  const size_t n = (size_t)(ROWS * entities * heads * size);
  float *qkv = normals(7, 3 * n, 1), *out = normals(8, n, 1), *dout = normals(9, n, 1), *dqkv = normals(10, 3 * n, 1);
  float *there_qkv = UP(qkv, 3 * n), *there_out = UP(out, n), *there_dout = UP(dout, n), *there_dqkv = UP(dqkv, 3 * n);
  host_ops->entity->attend(host_ops, here, &attention, qkv, out);
  ops->entity->attend(ops, there, &attention, there_qkv, there_out);
  assert_same_bits(out, there_out, n);
  host_ops->entity->attend_backward(host_ops, here, &attention, qkv, dout, dqkv);
  ops->entity->attend_backward(ops, there, &attention, there_qkv, there_dout, there_dqkv);
  assert_same_bits(dqkv, there_dqkv, 3 * n);
  free(qkv), free(out), free(dout), free(dqkv);
}

/* The host's vectors hold eight heads: one full vector, and one and a half. */
static void test_attention(void) {
  check_attention(8, 2);
  check_attention(12, 2);
}

static void test_gates(void) {
  enum { A, U, UG, BIAS, X, DOUT, R, Z, RX, H, OUT, DUG, DA, DU, DX, ALL };
  const size_t row = (size_t)(ROWS * width);
  float *h[ALL], *d[ALL];
  for (int i = A; i < ALL; i++) {
    const size_t n = (i == A || i == DA ? 3 : i == U || i == DU ? 2 : 1) * row;
    h[i] = normals((uint32_t)i, n, 1);
    d[i] = UP(h[i], n);
  }
  host_ops->entity->gate_open(host_ops, h[A], h[U], h[BIAS], h[X], ROWS, width, h[R], h[Z], h[RX]);
  ops->entity->gate_open(ops, d[A], d[U], d[BIAS], d[X], ROWS, width, d[R], d[Z], d[RX]);
  host_ops->entity->gate_close(host_ops, h[A], h[UG], h[Z], h[X], ROWS, width, h[H], h[OUT]);
  ops->entity->gate_close(ops, d[A], d[UG], d[Z], d[X], ROWS, width, d[H], d[OUT]);
  host_ops->entity->gate_close_backward(host_ops, h[DOUT], h[Z], h[H], h[X], ROWS, width, h[DUG], h[DA], h[DU], h[DX]);
  ops->entity->gate_close_backward(ops, d[DOUT], d[Z], d[H], d[X], ROWS, width, d[DUG], d[DA], d[DU], d[DX]);
  host_ops->entity->gate_open_backward(host_ops, h[DUG], h[R], h[X], ROWS, width, h[DA], h[DU], h[DX]);
  ops->entity->gate_open_backward(ops, d[DUG], d[R], d[X], ROWS, width, d[DA], d[DU], d[DX]);
  for (int i = R; i < ALL; i++) assert_same_bits(h[i], d[i], (i == DA ? 3 : i == DU ? 2 : 1) * row);
  for (int i = A; i < ALL; i++) free(h[i]);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void check_messages(const OpsMessage *m) {
  const size_t shapes = (size_t)(ROWS * m->entities * width), things = (size_t)(ROWS * m->count * width);
  const size_t gathered = things * (size_t)(m->ends + 1);
  float *h[3] = {normals(30, shapes, 1), normals(31, things, 1), normals(32, gathered, 1)};
  float *d[3] = {UP(h[0], shapes), UP(h[1], things), UP(h[2], gathered)};
  host_ops->entity->gather(host_ops, here, m, h[0], h[1], h[2]), ops->entity->gather(ops, there, m, d[0], d[1], d[2]);
  assert_same_bits(h[2], d[2], gathered);
  host_ops->entity->gather_backward(host_ops, here, m, h[2], h[0], h[1]);
  ops->entity->gather_backward(ops, there, m, d[2], d[0], d[1]);
  assert_same_bits(h[0], d[0], shapes);
  assert_same_bits(h[1], d[1], things);
  host_ops->entity->scatter(host_ops, here, m, h[1], h[0]), ops->entity->scatter(ops, there, m, d[1], d[0]);
  assert_same_bits(h[0], d[0], shapes);
  host_ops->entity->scatter_backward(host_ops, here, m, h[0], h[1]),
    ops->entity->scatter_backward(ops, there, m, d[0], d[1]);
  assert_same_bits(h[1], d[1], things);
  for (int i = 0; i < 3; i++) free(h[i]);
}

static void test_messages(void) {
  const OpsMessage joints = {.mask = layout.joint_mask, .shapes = layout.joint_shapes, .count = 2 * layout.size.joints,
                             .ends = 2, .entities = layout.shapes + 1, .width = width};
  const OpsMessage thrusters = {.mask = layout.thruster_mask,
                                .shapes = layout.thruster_shapes,
                                .count = layout.size.thrusters,
                                .ends = 1,
                                .entities = layout.shapes + 1,
                                .width = width};
  check_messages(&joints);
  check_messages(&thrusters);
}

/* ---- on every device --------------------------------------------------------------------------------------------- */

static void run_all(void) {
  static void (*const all[])(void) = {test_packing, test_pooling, test_attention, test_gates, test_messages};
  static const SimSize *const sizes[] = {&SIM_SIZE_S, &SIM_SIZE_L};
  host_ops = make_ops(1);
  if (ops_device_create(device, OPS_FLOAT32, ROWS, WIDTH_MAX, false, &ops) != CORE_OK)
    fail_msg("%s", core_error_message());
  for (size_t way = 0; way < 4; way++)
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
      width = way < 2 ? WIDTH_MAX : WIDTH_MAX - 1;
      observe(*sizes[way % 2]);
      all[i]();
      free(observed);
      forget();
    }
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
