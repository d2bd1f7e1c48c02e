/* The transformer over shapes on `device`, for tests of its fused passes: worlds, parameters and all matrices that the
 * passes leave, and a launch with few blocks. A test file that includes this defines first
 *   #define DEVICE_TESTS run_all */
#ifndef TESTS_UNIT_TRANSFORMER_TOOLS_H
#define TESTS_UNIT_TRANSFORMER_TOOLS_H
#include "sim/batch/batch.h"
#include "sim/levels/generate.h"
#include "trainer/nets/encoder.h"
#include "trainer/nets/encoder_entities.h"
#include "trainer/ops/device/device_internal.h"
#include "trainer/ops/kernels/kernels_fused_backward.h"
#include "tests/device_tools.h"
#include "device_buffers.h"
#include "bf16_tools.h"

enum { WORLDS_MAX = 131, LEVELS = 12, ENTITIES_MAX = 17, W = OPS_TRANSFORMER_WIDTH, HEADS = OPS_TRANSFORMER_HEADS,
       LAYERS = OPS_TRANSFORMER_LAYERS, KINDS = OPS_TRANSFORMER_KINDS, ATTENDED = 2 * HEADS };
static const char *const NAMES[KINDS] = {"polygon", "circle", "joint", "thruster"};

static Ops *host, *ops;
static EncoderShape shape;
static OpsRows here, there;
static int worlds, entities, rows; /* rows: worlds * entities */
static float *theta, *rounded;     /* parameters, and rounded to bf16 */
static OpsTransformer t;           /* the device's */
static float *embedding;           /* [worlds][W] on the device */

/* Worlds of random levels, a few steps on, so that some shapes touch. */
static inline float *observe(SimSize size) {
  static SimLevel level[LEVELS];
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  uint8_t idle[WORLDS_MAX * SIM_ACTIONS] = {0};
  float *x = core_memory_zero_allocate((size_t)(worlds * shape.length), sizeof *x);
  for (uint32_t i = 0; i < LEVELS; i++) assert_int_equal(sim_generate_level(size, 3, i, &level[i]), CORE_OK);
  options.worlds = worlds;
  options.observation = SIM_OBSERVATION_ENTITY;
  assert_int_equal(sim_batch_create(&options, &(SimLevelSet){level, LEVELS, size}, &batch), CORE_OK);
  for (int s = 0; s < 20; s++) sim_batch_step(batch, idle, &(SimStepOut){.observations = x});
  sim_batch_destroy(&batch);
  return x;
}

static inline size_t tensor(const char *format, int layer) {
  char name[ENCODER_NAME];
  snprintf(name, sizeof name, format, layer);
  for (int i = 0; i < shape.tensors; i++)
    if (strcmp(shape.tensor[i].name, name) == 0) return shape.tensor[i].offset;
  fail_msg("no tensor '%s'", name);
  return 0;
}

/* Device memory of n numbers, or their halves of bf16; all bits are set. */
static inline float *unset(size_t n) {
  float *nothing = core_memory_allocate(n * sizeof *nothing + 4);
  memset(nothing, 0xff, n * sizeof *nothing);
  float *memory = UP(nothing, n);
  free(nothing);
  return memory;
}
static inline float *matrix(void) { return unset((size_t)(rows * W)); }

static inline OpsTransformerNorm make_norm(const char *gain, int layer) {
  return (OpsTransformerNorm){.moments = unset((size_t)(2 * rows + 2)), .gain = tensor(gain, layer)};
}
static inline OpsTransformerGate make_gate(const char *w, int layer) {
  const size_t n = (size_t)(rows * W);
  return (OpsTransformerGate){.r = matrix(), .z = matrix(), .h = matrix(), .out = matrix(), .w = tensor(w, layer),
                              .da = unset(3 * n)};
}

static inline OpsTransformerLayer make_layer(int i) {
  const size_t n = (size_t)rows, joints = (size_t)(worlds * t.message[0].count * W);
  const size_t thrusters = (size_t)(worlds * t.message[1].count * W);
  return (OpsTransformerLayer){
    .norm_1 = make_norm("layer %d norm 1 gain", i), .norm_2 = make_norm("layer %d norm 2 gain", i),
    .qkv = unset(n * 3 * ATTENDED), .attended = unset(n * ATTENDED), .out = matrix(), .dense = matrix(),
    .gate_1 = make_gate("layer %d gate 1 W", i), .gate_2 = make_gate("layer %d gate 2 W", i),
    .gathered = {unset(joints * 3), unset(thrusters * 2)}, .qkv_w = tensor("layer %d qkv W", i),
    .out_w = tensor("layer %d out W", i), .dense_w = tensor("layer %d dense W", i),
    .message = {tensor("layer %d joint W", i), tensor("layer %d thruster W", i)},
    .dqkv = unset(n * 3 * ATTENDED), .dout = matrix(), .ddense = matrix(),
    .dmessages = {unset(joints), unset(thrusters)}};
}

static inline OpsTransformerKind make_kind(int kind) {
  const EncoderEntities e = encoder_entities(&shape.layout, kind);
  const bool is_shape = kind < OPS_TRANSFORMER_SHAPES;
  char name[ENCODER_NAME];
  snprintf(name, sizeof name, "%s W", NAMES[kind]);
  const OpsPack pack = {.mask = e.mask, .count = e.count, .width = is_shape ? W - 1 : W, .columns = W,
                        .first = kind == 0 ? 1 : 1 + shape.layout.size.polygons, .entities = entities,
                        .tag = kind == 0 ? W - 1 : -1};
  const size_t embedded = (size_t)(worlds * e.count * pack.width);
  const size_t features = (size_t)(worlds * e.count * OPS_TRANSFORMER_FEATURES);
  return (OpsTransformerKind){pack, e.offset, e.features, is_shape, unset(features),
                              unset(embedded), tensor(name, 0), unset((size_t)(worlds * e.count * W))};
}

static inline void make_transformer(void) {
  const SimEntityLayout *l = &shape.layout;
  const size_t n = (size_t)rows;
  t = (OpsTransformer){.kinds = KINDS, .layers = LAYERS, .epsilon = 1e-6f, .is_learning = true, .shapes = matrix(),
                       .weights = unset(n)};
  t.attention = (OpsAttention){.relations = l->attention, .mask = l->polygon_mask, .kinds = SIM_ATTEND_KINDS,
                               .entities = entities, .heads = HEADS, .size = 2};
  t.message[0] = (OpsMessage){l->joint_mask, l->joint_shapes, 2 * l->size.joints, 2, entities, W};
  t.message[1] = (OpsMessage){l->thruster_mask, l->thruster_shapes, l->size.thrusters, 1, entities, W};
  for (int k = 0; k < KINDS; k++) t.kind[k] = make_kind(k);
  for (int i = 0; i < LAYERS; i++) t.layer[i] = make_layer(i);
  t.theta = UP(theta, shape.parameters);
  float *halves = up_bf16(rounded, shape.parameters);
  t.rounded = (const uint16_t *)(const void *)halves;
  embedding = unset((size_t)(worlds * W));
}

static inline void make_worlds(SimSize size, int count) {
  shape = encoder_shape(ENCODER_TRANSFORMER, sim_entity_layout(size));
  worlds = count;
  entities = shape.layout.shapes + 1;
  rows = worlds * entities;

  theta = core_memory_allocate(shape.parameters * sizeof *theta);
  rounded = core_memory_allocate(shape.parameters * sizeof *rounded);
  encoder_init(&shape, 8, 200, theta);
  float *more = normals(90, shape.parameters, 0.05);
  for (size_t k = 0; k < shape.parameters; k++) rounded[k] = theta[k] += more[k];
  round_numbers(rounded, shape.parameters);
  free(more);

  here = (OpsRows){observe(size), worlds, shape.length};
  there = (OpsRows){UP(here.x, (size_t)(worlds * shape.length)), worlds, shape.length};
  make_transformer();
}

static inline void forget_worlds(void) {
  free(theta), free(rounded), free((void *)(uintptr_t)here.x);
  forget();
}

/* The device's numbers as floats, the caller's to free. */
static inline float *numbers(const void *memory, size_t n, OpsNumbers as) {
  void *got = down(memory, n * sizeof(float));
  float *x = core_memory_allocate(n * sizeof *x);
  for (size_t i = 0; i < n; i++) x[i] = ops_number(got, as, i);
  free(got);
  return x;
}
static inline float *entity_numbers(const float *memory, int columns) {
  return numbers(memory, (size_t)(rows * columns), OPS_NUMBERS_BF16);
}
static inline float *space(int count, int columns) {
  return core_memory_zero_allocate((size_t)(count * columns) + 1, sizeof(float));
}

/* Compute from the matrices that the device has left: r; r x and the norm of x, rounded; has_gain: gain and offset,
 * too. */
static inline float *reset_numbers(const OpsTransformerGate *gate) {
  float *r = entity_numbers(gate->r, W);
  for (int i = 0; i < rows * W; i++) r[i] = fabsf(r[i]);
  return r;
}
static inline float *reset_inputs(const OpsTransformerGate *gate, const float *x) {
  float *rx = reset_numbers(gate);
  for (int i = 0; i < rows * W; i++) rx[i] *= x[i];
  round_numbers(rx, (size_t)(rows * W));
  return rx;
}
static inline float *norm_of(const OpsTransformerNorm *norm, const float *x, bool has_gain) {
  const float *gain = theta + norm->gain, *offset = gain + W;
  float *moments = numbers(norm->moments, (size_t)(2 * rows), OPS_NUMBERS_FLOAT), *y = space(rows, W);
  for (int i = 0; i < rows * W; i++) {
    y[i] = (x[i] - moments[i / W * 2]) * moments[i / W * 2 + 1];
    if (has_gain) y[i] = gain[i % W] * y[i] + offset[i % W];
  }
  round_numbers(y, (size_t)(rows * W));
  free(moments);
  return y;
}

/* x W + b with rounded W: y [count][out]. */
static inline void dense(const float *x, size_t w, bool with_bias, float *y, int count, int in, int out,
                         OpsActivation a) {
  float *zeros = space(1, out);
  host->dense_forward(host, x, rounded + w, with_bias ? theta + w + (size_t)in * (size_t)out : zeros, y, count, in, out,
                      a);
  free(zeros);
}

/* ---- a forward pass ---------------------------------------------------------------------------------------------- */

/* Sizes and numbers of worlds. processors: few, so that blocks process several tiles. */
typedef struct Way { const SimSize *size; int worlds; unsigned processors; } Way;
static inline void transform(const Way *way) {
  const unsigned processors = device->processors;
  make_worlds(*way->size, way->worlds);
  device->processors = way->processors;
  assert_true(ops->entity->transform(ops, there, &t, embedding));
  device->processors = processors;
}

static inline void open_ops(void) {
  host = make_ops(1);
  if (ops_device_create(device, OPS_BF16, WORLDS_MAX * ENTITIES_MAX, 3 * W, false, &ops) != CORE_OK)
    fail_msg("%s", core_error_message());
}
static inline void close_ops(void) {
  ops_destroy(&ops);
  ops_destroy(&host);
  core_device_close(&device);
}

/* ---- passes of several ways -------------------------------------------------------------------------------------- */

/* Runs a pass and checks what it leaves. Each test file defines it. */
static void check_way(const Way *way);

static inline void check_ways(const Way *ways, size_t count) {
  open_ops();
  for (size_t w = 0; w < count; w++) {
    check_way(&ways[w]);
    forget_worlds();
  }
  close_ops();
}

/* Shared memory and copies are checked, too: reading what another thread writes before a barrier, or what is copied
 * before it has arrived, gives another result. */
static inline void test_isolated(void **state) {
  static const Way ways[] = {{&SIM_SIZE_S, 19, 1}, {&SIM_SIZE_M, 12, 1}};
  (void)state;
  device = core_device_emulated(CORE_DEVICE_ISOLATED);
  check_ways(ways, getenv("TEST_LONG") ? 2 : 1);
}

#endif
