/* Entity matrices on a device (entity.h): launches of kernels_entity.h. */
#include "trainer/ops/device/device_internal.h"
#include "trainer/ops/kernels/kernels_attention.h"
#include "trainer/ops/kernels/kernels_entity.h"

/* Returns the type of the matrices in memory (OpsEntity.dense_forward). */
static OpsNumbers numbers_of(Ops *ops) {
  return device_state(ops)->precision == OPS_BF16 ? OPS_NUMBERS_BF16 : OPS_NUMBERS_FLOAT;
}

static CoreDivisor32 divisor(int number) { return core_divisor_32((size_t)number); }

/* Offsets in chunks of rows are computed in 32 bits. */
static size_t elements_of(int rows, int each) {
  const size_t elements = (size_t)rows * (size_t)each;
  CORE_CHECK(elements <= UINT32_MAX);
  return elements;
}

/* Returns the elements per thread: 16 bytes where rows of `width` and addresses (ORed) are multiples of it, else 1. */
static int step_of(Ops *ops, size_t width, uintptr_t addresses) {
  const int most = numbers_of(ops) == OPS_NUMBERS_BF16 ? KERNEL_EIGHT : KERNEL_FOUR;
  return device_step(most, width, addresses);
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

static void slice(Ops *ops, OpsRows x, int offset, int columns, float *target) {
  const OpsSlice a = {x.x, target, (size_t)x.rows, (size_t)x.stride, (size_t)offset,
                      core_divisor((size_t)columns)};
  DEVICE_LAUNCH(device_state(ops), ops_slice, a.rows * (size_t)columns, &a);
}

static void pack(Ops *ops, OpsRows x, const OpsPack *p, const float *embedding, float *matrix) {
  const int step = step_of(ops, (size_t)p->columns, device_address(matrix));
  const OpsPacking a = {x, *p, embedding, NULL, matrix, divisor(p->columns / step), divisor(p->count), step,
                        numbers_of(ops)};
  if (p->count == 0) return; /* a divisor is never 0 */
  DEVICE_LAUNCH(device_state(ops), ops_entity_pack, elements_of(x.rows, p->count * (p->columns / step)), &a);
}

static void unpack(Ops *ops, OpsRows x, const OpsPack *p, const float *dmatrix, float *dembedding) {
  if (p->count == 0) return;
  const OpsPacking a = {x, *p, NULL, dembedding, (void *)(uintptr_t)dmatrix, divisor(p->width), divisor(p->count), 1,
                        numbers_of(ops)};
  DEVICE_LAUNCH(device_state(ops), ops_entity_unpack, elements_of(x.rows, p->count * p->width), &a);
}

static void dummy(Ops *ops, int rows, int entities, int columns, float *matrix) {
  const OpsDummy a = {matrix, (size_t)rows, (size_t)entities, divisor(columns), numbers_of(ops)};
  DEVICE_LAUNCH(device_state(ops), ops_entity_dummy, elements_of(rows, columns), &a);
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

static OpsPool pool_of(Ops *ops, const float *matrix, const float *weights, int rows, int entities, int columns,
                       OpsActivation activation, const float *out, const float *dout) {
  const int step = step_of(ops, (size_t)columns, device_address(matrix) | device_address(out) | device_address(dout));
  CORE_CHECK(activation == OPS_LINEAR || activation == OPS_TANH);
  (void)elements_of(rows, entities * columns); /* the check of 32-bit indices */
  return (OpsPool){(float *)(uintptr_t)matrix, weights, (size_t)rows, (size_t)columns, divisor(entities),
                   divisor(columns / step), step, activation, (float *)(uintptr_t)out, dout, numbers_of(ops)};
}

static void pool(Ops *ops, const float *matrix, const float *weights, int rows, int entities, int columns,
                 OpsActivation activation, float *out) {
  const OpsPool a = pool_of(ops, matrix, weights, rows, entities, columns, activation, out, NULL);
  DEVICE_LAUNCH(device_state(ops), ops_entity_pool, a.rows * a.steps.number, &a);
}

static void pool_backward(Ops *ops, const float *out, const float *dout, const float *weights, int rows, int entities,
                          int columns, OpsActivation activation, float *dmatrix) {
  const OpsPool a = pool_of(ops, dmatrix, weights, rows, entities, columns, activation, out, dout);
  DEVICE_LAUNCH(device_state(ops), ops_entity_pool_gradient, a.rows * (size_t)entities * a.steps.number, &a);
}

static void mean_weights(Ops *ops, OpsRows x, int mask, int count, float *weights) {
  const OpsMeanWeights a = {x, mask, count, weights, divisor(count + 1)};
  DEVICE_LAUNCH(device_state(ops), ops_entity_weights, elements_of(x.rows, count + 1), &a);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

static OpsAttend attend_of(Ops *ops, OpsRows x, const OpsAttention *s, const float *qkv, const float *dout,
                           void *out) {
  CORE_CHECK(s->entities <= OPS_ENTITIES_MAX && s->heads % s->kinds == 0 && s->size == KERNEL_HEAD_SIZE);
  return (OpsAttend){x, *s, qkv, dout, out, divisor(s->heads), divisor(s->entities), numbers_of(ops)};
}

static void attend(Ops *ops, OpsRows x, const OpsAttention *attention, const float *qkv, float *out) {
  const OpsAttend a = attend_of(ops, x, attention, qkv, NULL, out);
  DEVICE_LAUNCH(device_state(ops), ops_entity_attend, elements_of(x.rows, attention->entities * attention->heads), &a);
}

static void attend_backward(Ops *ops, OpsRows x, const OpsAttention *attention, const float *qkv, const float *dout,
                            float *dqkv) {
  const OpsAttend a = attend_of(ops, x, attention, qkv, dout, dqkv);
  const unsigned each = (unsigned)(attention->entities * attention->heads);
  const unsigned threads = each < DEVICE_THREADS ? DEVICE_THREADS / each * each : each; /* whole rows */
  CoreDevice *device = device_state(ops)->device;
  device->launch(device, &ops_entity_attend_gradient_launch,
                 core_device_blocks(elements_of(x.rows, (int)each), threads, DEVICE_BLOCKS_MAX), threads,
                 threads * sizeof(OpsSoftmax), &a);
}

/* ---- gates ------------------------------------------------------------------------------------------------------- */

/* Completes the arguments. */
static OpsGate gate_of(Ops *ops, OpsGate g, int rows, int width) {
  const void *const matrices[] = {g.a, g.u,  g.ug, g.x,   g.dout, g.drx, g.r, g.z,
                                  g.rx, g.h, g.out, g.dug, g.da,   g.du,  g.dx};
  uintptr_t addresses = 0;
  for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) addresses |= device_address(matrices[i]);
  g.rows = (size_t)rows;
  g.width = (size_t)width;
  g.numbers = numbers_of(ops);
  g.step = step_of(ops, g.width, addresses);
  g.steps = divisor(width / g.step);
  (void)elements_of(rows, width); /* the check of 32-bit indices */
  return g;
}

static void gate_open(Ops *ops, const float *a, const float *u, const float *bias, const float *x, int rows, int width,
                      float *r, float *z, float *rx) {
  const OpsGate g = gate_of(ops, (OpsGate){.a = a, .u = u, .bias = bias, .x = x, .r = r, .z = z, .rx = rx}, rows,
                            width);
  DEVICE_LAUNCH(device_state(ops), ops_gate_open, g.rows * g.steps.number, &g);
}

static void gate_close(Ops *ops, const float *a, const float *ug, const float *z, const float *x, int rows, int width,
                       float *h, float *out) {
  const OpsGate g = gate_of(ops, (OpsGate){.a = a, .ug = ug, .x = x, .z = (float *)(uintptr_t)z, .h = h, .out = out},
                            rows, width);
  DEVICE_LAUNCH(device_state(ops), ops_gate_close, g.rows * g.steps.number, &g);
}

static void gate_close_backward(Ops *ops, const float *dout, const float *z, const float *h, const float *x, int rows,
                                int width, float *dug, float *da, float *du, float *dx) {
  const OpsGate g = gate_of(ops, (OpsGate){.x = x, .dout = dout, .z = (float *)(uintptr_t)z,
                                           .h = (float *)(uintptr_t)h, .dug = dug, .da = da, .du = du, .dx = dx},
                            rows, width);
  DEVICE_LAUNCH(device_state(ops), ops_gate_close_gradient, g.rows * g.steps.number, &g);
}

static void gate_open_backward(Ops *ops, const float *drx, const float *r, const float *x, int rows, int width,
                               float *da, float *du, float *dx) {
  const OpsGate g = gate_of(ops, (OpsGate){.x = x, .drx = drx, .r = (float *)(uintptr_t)r, .da = da, .du = du,
                                           .dx = dx}, rows, width);
  DEVICE_LAUNCH(device_state(ops), ops_gate_open_gradient, g.rows * g.steps.number, &g);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Builds the arguments, some of which the kernel writes; of_row: vectors of a row, each of m->width values. */
static OpsMessages messages_of(Ops *ops, OpsRows x, const OpsMessage *m, int of_row, const float *shapes,
                               const float *embedding, const float *messages, const float *gathered) {
  const uintptr_t addresses =
    device_address(shapes) | device_address(embedding) | device_address(messages) | device_address(gathered);
  const int step = step_of(ops, (size_t)m->width, addresses);
  return (OpsMessages){x, *m, (void *)(uintptr_t)shapes, (float *)(uintptr_t)embedding, (void *)(uintptr_t)messages,
                       (void *)(uintptr_t)gathered, divisor(m->width / step), divisor(of_row), divisor(m->ends + 1),
                       step, numbers_of(ops)};
}

static size_t message_steps(const OpsMessages *a, size_t of_row) {
  return elements_of(a->x.rows, (int)(of_row * a->steps.number));
}

static void gather(Ops *ops, OpsRows x, const OpsMessage *m, const float *shapes, const float *embedding,
                   float *gathered) {
  if (m->count == 0) return;
  const OpsMessages a = messages_of(ops, x, m, m->count, shapes, embedding, NULL, gathered);
  DEVICE_LAUNCH(device_state(ops), ops_message_gather, message_steps(&a, a.of_row.number * a.parts.number), &a);
}

static void gather_backward(Ops *ops, OpsRows x, const OpsMessage *m, const float *dgathered, float *dshapes,
                            float *dembedding) {
  if (m->count == 0) return;
  const OpsMessages a = messages_of(ops, x, m, m->entities + m->count, dshapes, dembedding, NULL, dgathered);
  DEVICE_LAUNCH(device_state(ops), ops_message_gather_gradient, message_steps(&a, a.of_row.number), &a);
}

static void scatter(Ops *ops, OpsRows x, const OpsMessage *m, const float *messages, float *shapes) {
  if (m->count == 0) return;
  const OpsMessages a = messages_of(ops, x, m, m->entities, shapes, NULL, messages, NULL);
  DEVICE_LAUNCH(device_state(ops), ops_message_scatter, message_steps(&a, a.of_row.number), &a);
}

static void scatter_backward(Ops *ops, OpsRows x, const OpsMessage *m, const float *dshapes, float *dmessages) {
  if (m->count == 0) return;
  const OpsMessages a = messages_of(ops, x, m, m->count, dshapes, NULL, dmessages, NULL);
  DEVICE_LAUNCH(device_state(ops), ops_message_scatter_gradient, message_steps(&a, a.of_row.number), &a);
}

/* Functions that both precisions share. */
#define SHARED \
  .slice = slice, .pack = pack, .unpack = unpack, .dummy = dummy, .pool = pool, .pool_backward = pool_backward, \
  .mean_weights = mean_weights, .attend = attend, .attend_backward = attend_backward, .gate_open = gate_open, \
  .gate_close = gate_close, .gate_close_backward = gate_close_backward, .gate_open_backward = gate_open_backward, \
  .gather = gather, .gather_backward = gather_backward, .scatter = scatter, .scatter_backward = scatter_backward
const OpsEntity DEVICE_ENTITY = {SHARED, .norm = device_norm, .norm_add_gradient = device_norm_add_gradient};
const OpsEntity DEVICE_ENTITY_BF16 = {
  SHARED, .round = device_entity_round, .dense_forward = device_entity_forward,
  .dense_backward = device_entity_backward, .norm = device_entity_norm,
  .norm_add_gradient = device_entity_norm_backward, .gate_close_bias_backward = device_entity_gate_backward,
  .finish = device_entity_finish, .transform = device_transform,
  .transform_backward = device_transform_backward,
};
