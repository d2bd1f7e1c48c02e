/* Kernels of entity matrices (entity.h): one thread per element, or where rows allow it per 16 bytes, so that accesses
 * coalesce. A sum over entities or messages is computed by one thread, in the CPU's order, so with float matrices the
 * bits are the CPU's.
 *
 * Matrices of entities, `numbers`, are floats or bf16; embeddings of a kind are floats. A chunk has fewer than 2^32
 * elements, so that offsets are computed in 32 bits, by divisors prepared on the host. */
#ifndef TRAINER_OPS_KERNELS_ENTITY_H
#define TRAINER_OPS_KERNELS_ENTITY_H
#include "trainer/ops/kernels/kernels_bf16.h"
#include "trainer/ops/row_entity_internal.h"

/* Load and store `step` neighboring elements from element i on: 1, or a multiple of 16 bytes at such an address. */
CORE_KERNEL_FN void ops_load_numbers(const void *x, const OpsNumbers as, const int step, size_t i, float *values) {
  if (as == OPS_NUMBERS_BF16) {
    ops_widen_bf16(ops_load_bf16((const uint16_t *)x + i, step), step, values);
    return;
  }
  if (step == 1) values[0] = ((const float *)x)[i];
  CORE_DEVICE_UNROLL for (int first = 0; first + KERNEL_FOUR <= step; first += KERNEL_FOUR) {
    const OpsFourFloats four = *(const OpsFourFloats *)(const void *)((const float *)x + i + first);
    CORE_DEVICE_UNROLL for (int k = 0; k < KERNEL_FOUR; k++) values[first + k] = four.x[k];
  }
}

CORE_KERNEL_FN void ops_put_numbers(void *x, const OpsNumbers as, const int step, size_t i, const float *values) {
  if (as == OPS_NUMBERS_BF16) {
    ops_store_bf16(values, step, (uint16_t *)x + i);
    return;
  }
  if (step == 1) ((float *)x)[i] = values[0];
  CORE_DEVICE_UNROLL for (int first = 0; first + KERNEL_FOUR <= step; first += KERNEL_FOUR) {
    OpsFourFloats four;
    CORE_DEVICE_UNROLL for (int k = 0; k < KERNEL_FOUR; k++) four.x[k] = values[first + k];
    *(OpsFourFloats *)(void *)((float *)x + i + first) = four;
  }
}

/* Runs a kernel's loop as compiled for the format and step of its arguments. */
#define OPS_BY_STEP(loop, arguments)                                                       \
  do {                                                                                     \
    if ((arguments)->step == KERNEL_EIGHT)                                                 \
      loop(at, (arguments), OPS_NUMBERS_BF16, KERNEL_EIGHT);                               \
    else if ((arguments)->step == KERNEL_FOUR)                                             \
      loop(at, (arguments), OPS_NUMBERS_FLOAT, KERNEL_FOUR);                               \
    else                                                                                   \
      loop(at, (arguments), (arguments)->numbers, 1);                                      \
  } while (0)

CORE_DEVICE_FN const float *ops_row_of(OpsRows x, size_t row) { return x.x + row * (size_t)x.stride; }

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* columns: those that the kernel writes; count: entities of the kind. */
typedef struct OpsPacking {
  OpsRows x;
  OpsPack pack;
  const float *embedding;      /* unpacking: NULL */
  float *dembedding;           /* packing: NULL */
  void *matrix;
  CoreDivisor32 columns, count; /* packing: columns / step */
  int step;                    /* columns per thread: packing 16 bytes of the matrix, or 1; unpacking 1 */
  OpsNumbers numbers;
} OpsPacking;

CORE_KERNEL_FN void ops_entity_pack_by(const CoreDeviceThread *at, const OpsPacking *a, const OpsNumbers as,
                                       const int step) {
  const OpsPack *p = &a->pack;
  const uint32_t each = a->count.number * a->columns.number;

  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * each; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->columns), of_row = core_divide_32(place.whole, a->count);
    const int first = (int)place.rest * step;
    const size_t row = of_row.whole, thing = of_row.rest;
    const bool active = ops_row_of(a->x, row)[(size_t)p->mask + thing] != 0;
    const float *embedding = a->embedding + place.whole * (size_t)p->width;
    float numbers[KERNEL_EIGHT] = {0};

    for (int k = 0; k < step; k++) {
      const float number = first + k < p->width ? embedding[first + k] : first + k == p->tag ? 1.0f : 0.0f;
      numbers[k] = active ? number : 0.0f;
    }

    const size_t element = (row * (size_t)p->entities + (size_t)p->first + thing) * (size_t)p->columns;
    ops_put_numbers(a->matrix, as, step, element + (size_t)first, numbers);
  }
}
CORE_KERNEL_FN void ops_entity_pack(const CoreDeviceThread *at, const OpsPacking *a) {
  OPS_BY_STEP(ops_entity_pack_by, a);
}

CORE_KERNEL_FN void ops_entity_unpack(const CoreDeviceThread *at, const OpsPacking *a) {
  const OpsPack *p = &a->pack;
  const uint32_t each = a->count.number * a->columns.number;
  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * each; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->columns), of_row = core_divide_32(place.whole, a->count);
    const size_t row = of_row.whole, thing = of_row.rest;
    const size_t element = row * (size_t)p->entities + (size_t)p->first + thing;
    const bool active = ops_row_of(a->x, row)[(size_t)p->mask + thing] != 0;
    a->dembedding[i] = active ? ops_number(a->matrix, a->numbers, element * (size_t)p->columns + place.rest) : 0.0f;
  }
}

typedef struct OpsDummy {
  void *matrix;
  size_t rows, entities;
  CoreDivisor32 columns;
  OpsNumbers numbers;
} OpsDummy;
CORE_KERNEL_FN void ops_entity_dummy(const CoreDeviceThread *at, const OpsDummy *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->columns.number; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->columns);
    ops_put_number(a->matrix, a->numbers, place.whole * a->entities * a->columns.number + place.rest, 1.0f);
  }
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

typedef struct OpsPool {
  void *matrix;                /* [rows][entities][columns]; backward: its gradient */
  const float *weights;        /* [rows][entities]; NULL: ones */
  size_t rows, columns;
  CoreDivisor32 entities, steps; /* steps: columns / step */
  int step;                    /* elements per thread: 16 bytes of the matrix, or 1 */
  OpsActivation activation;
  float *out;                  /* [rows][columns] */
  const float *dout;
  OpsNumbers numbers;
} OpsPool;

CORE_KERNEL_FN void ops_entity_pool_by(const CoreDeviceThread *at, const OpsPool *a, const OpsNumbers as,
                                       const int step) {
  const size_t entities = a->entities.number;
  for (size_t i = core_device_first(at); i < a->rows * a->steps.number; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->steps);
    const size_t column = (size_t)place.rest * (size_t)step, first = (size_t)place.whole * entities;
    float sum[KERNEL_EIGHT] = {0}, x[KERNEL_EIGHT];
    for (size_t e = first; e < first + entities; e++) {
      ops_load_numbers(a->matrix, as, step, e * a->columns + column, x);
      for (int k = 0; k < step; k++) sum[k] += (a->weights ? a->weights[e] : 1.0f) * x[k];
    }
    for (int k = 0; k < step; k++) sum[k] = a->activation == OPS_TANH ? fast_tanh(sum[k]) : sum[k];
    ops_put_numbers(a->out, OPS_NUMBERS_FLOAT, step, i * (size_t)step, sum);
  }
}
CORE_KERNEL_FN void ops_entity_pool(const CoreDeviceThread *at, const OpsPool *a) {
  OPS_BY_STEP(ops_entity_pool_by, a);
}

CORE_KERNEL_FN void ops_entity_pool_gradient_by(const CoreDeviceThread *at, const OpsPool *a, const OpsNumbers as,
                                                const int step) {
  const size_t each = (size_t)a->entities.number * a->steps.number;
  for (size_t i = core_device_first(at); i < a->rows * each; i += core_device_stride(at)) {
    const CoreDivided32 entity = core_divide_32((uint32_t)i, a->steps);
    const size_t row = core_divide_32(entity.whole, a->entities).whole;
    const size_t element = row * a->columns + (size_t)entity.rest * (size_t)step;
    const float weight = a->weights ? a->weights[entity.whole] : 1.0f;
    float out[KERNEL_EIGHT], dout[KERNEL_EIGHT];
    ops_load_numbers(a->out, OPS_NUMBERS_FLOAT, step, element, out);
    ops_load_numbers(a->dout, OPS_NUMBERS_FLOAT, step, element, dout);
    for (int k = 0; k < step; k++) out[k] = row_pool_backward(weight, out[k], dout[k], a->activation);
    ops_put_numbers(a->matrix, as, step, i * (size_t)step, out);
  }
}
CORE_KERNEL_FN void ops_entity_pool_gradient(const CoreDeviceThread *at, const OpsPool *a) {
  OPS_BY_STEP(ops_entity_pool_gradient_by, a);
}

typedef struct OpsMeanWeights { OpsRows x; int mask, count; float *weights; CoreDivisor32 entities; } OpsMeanWeights;
CORE_KERNEL_FN void ops_entity_weights(const CoreDeviceThread *at, const OpsMeanWeights *a) {
  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * a->entities.number; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->entities);
    a->weights[i] = row_mean_weight(ops_row_of(a->x, place.whole) + a->mask, a->count, (int)place.rest);
  }
}

/* ---- gates ------------------------------------------------------------------------------------------------------- */

/* Names as in entity.h, which defines what is read and written. */
typedef struct OpsGate {
  const void *a, *u, *ug, *x, *dout, *drx;
  const float *bias;
  void *r, *z, *rx, *h, *out, *dug, *da, *du, *dx;
  size_t rows, width;
  CoreDivisor32 steps;         /* steps per row: width / step */
  int step;                    /* elements per thread: 16 bytes, or 1 */
  OpsNumbers numbers;
} OpsGate;

/* Elements of a thread: the first of them in matrices of one, two and three widths. */
typedef struct OpsGatePlace { size_t one, two, three, column; } OpsGatePlace;
CORE_KERNEL_FN OpsGatePlace ops_gate_place(const OpsGate *g, size_t i, const int step) {
  const CoreDivided32 place = core_divide_32((uint32_t)i, g->steps);
  const size_t row = place.whole, column = (size_t)place.rest * (size_t)step, first = row * g->width;
  const OpsGatePlace result = {first + column, 2 * first + column, 3 * first + column, column};
  return result;
}

/* A GPU approximates the functions of values that are rounded to bf16. */
CORE_KERNEL_FN float ops_gate_sigmoid(const OpsNumbers as, float x) {
  return as == OPS_NUMBERS_BF16 ? ops_sigmoid_rounded(x) : fast_sigmoid(x);
}
CORE_KERNEL_FN float ops_gate_tanh(const OpsNumbers as, float x) {
  return as == OPS_NUMBERS_BF16 ? ops_activate_rounded(OPS_TANH, x) : fast_tanh(x);
}

CORE_KERNEL_FN void ops_gate_open_by(const CoreDeviceThread *at, const OpsGate *g, const OpsNumbers as,
                                     const int step) {
  for (size_t i = core_device_first(at); i < g->rows * g->steps.number; i += core_device_stride(at)) {
    const OpsGatePlace place = ops_gate_place(g, i, step);
    float a_r[KERNEL_EIGHT], a_z[KERNEL_EIGHT], u_r[KERNEL_EIGHT], u_z[KERNEL_EIGHT];
    float x[KERNEL_EIGHT], bias[KERNEL_EIGHT];

    ops_load_numbers(g->a, as, step, place.three, a_r);
    ops_load_numbers(g->a, as, step, place.three + g->width, a_z);
    ops_load_numbers(g->u, as, step, place.two, u_r);
    ops_load_numbers(g->u, as, step, place.two + g->width, u_z);
    ops_load_numbers(g->x, as, step, place.one, x);
    ops_load_floats(g->bias + place.column, step, bias);

    for (int k = 0; k < step; k++) {
      a_r[k] = ops_gate_sigmoid(as, a_r[k] + u_r[k]);
      a_z[k] = ops_gate_sigmoid(as, a_z[k] + u_z[k] - bias[k]);
      x[k] = a_r[k] * x[k];
    }

    ops_put_numbers(g->r, as, step, place.one, a_r);
    ops_put_numbers(g->z, as, step, place.one, a_z);
    ops_put_numbers(g->rx, as, step, place.one, x);
  }
}
CORE_KERNEL_FN void ops_gate_open(const CoreDeviceThread *at, const OpsGate *g) { OPS_BY_STEP(ops_gate_open_by, g); }

CORE_KERNEL_FN void ops_gate_close_by(const CoreDeviceThread *at, const OpsGate *g, const OpsNumbers as,
                                      const int step) {
  for (size_t i = core_device_first(at); i < g->rows * g->steps.number; i += core_device_stride(at)) {
    const OpsGatePlace place = ops_gate_place(g, i, step);
    float h[KERNEL_EIGHT], ug[KERNEL_EIGHT], z[KERNEL_EIGHT] = {0}, x[KERNEL_EIGHT];
    ops_load_numbers(g->a, as, step, place.three + 2 * g->width, h);
    ops_load_numbers(g->ug, as, step, place.one, ug);
    ops_load_numbers(g->z, as, step, place.one, z);
    ops_load_numbers(g->x, as, step, place.one, x);
    for (int k = 0; k < step; k++) {
      h[k] = ops_gate_tanh(as, h[k] + ug[k]);
      x[k] = row_gate_out(z[k], x[k], h[k]);
    }
    ops_put_numbers(g->h, as, step, place.one, h);
    ops_put_numbers(g->out, as, step, place.one, x);
  }
}
CORE_KERNEL_FN void ops_gate_close(const CoreDeviceThread *at, const OpsGate *g) { OPS_BY_STEP(ops_gate_close_by, g); }

CORE_KERNEL_FN void ops_gate_close_gradient_by(const CoreDeviceThread *at, const OpsGate *g, const OpsNumbers as,
                                               const int step) {
  for (size_t i = core_device_first(at); i < g->rows * g->steps.number; i += core_device_stride(at)) {
    const OpsGatePlace place = ops_gate_place(g, i, step);
    float dout[KERNEL_EIGHT], z[KERNEL_EIGHT], h[KERNEL_EIGHT], x[KERNEL_EIGHT];

    ops_load_numbers(g->dout, as, step, place.one, dout);
    ops_load_numbers(g->z, as, step, place.one, z);
    ops_load_numbers(g->h, as, step, place.one, h);
    ops_load_numbers(g->x, as, step, place.one, x);

    for (int k = 0; k < step; k++) {
      float dh, dz, dx;
      row_gate_close_backward(dout[k], z[k], h[k], x[k], &dh, &dz, &dx);
      h[k] = dh;
      z[k] = dz;
      x[k] = dx;
    }

    ops_put_numbers(g->dx, as, step, place.one, x);
    ops_put_numbers(g->dug, as, step, place.one, h);
    ops_put_numbers(g->da, as, step, place.three + 2 * g->width, h);
    ops_put_numbers(g->da, as, step, place.three + g->width, z);
    ops_put_numbers(g->du, as, step, place.two + g->width, z);
  }
}
CORE_KERNEL_FN void ops_gate_close_gradient(const CoreDeviceThread *at, const OpsGate *g) {
  OPS_BY_STEP(ops_gate_close_gradient_by, g);
}

/* Computes the same for bf16 rows of 128 values, with column sums of -dz, the gradient of the gate's bias: a block has
 * KERNEL_EIGHTS_ROWS rows. */
typedef struct OpsGateEights {
  const uint16_t *dout, *z, *h, *x;
  uint16_t *dug, *da, *du, *dx;
  float *dbias;                /* [blocks][columns] */
  size_t rows;
} OpsGateEights;

CORE_KERNEL_FN void ops_gate_eights(const CoreDeviceThread *at, const OpsGateEights *g) {
  enum { WIDTH = KERNEL_EIGHTS_COLUMNS, EIGHT = KERNEL_EIGHT };
  const OpsEightsPlace place = ops_eights_place(at);
  const size_t begin = (size_t)at->block * KERNEL_EIGHTS_ROWS;
  const size_t end = begin + KERNEL_EIGHTS_ROWS < g->rows ? begin + KERNEL_EIGHTS_ROWS : g->rows;
  float dbias[EIGHT] = {0};

  for (size_t row = begin + place.row; row < end; row += KERNEL_EIGHTS_AT_ONCE) {
    const size_t one = row * WIDTH + place.column, two = one + row * WIDTH, three = two + row * WIDTH;
    float dout[EIGHT], z[EIGHT], h[EIGHT], x[EIGHT];
    ops_widen_bf16(ops_load_bf16(g->dout + one, EIGHT), EIGHT, dout);
    ops_widen_bf16(ops_load_bf16(g->z + one, EIGHT), EIGHT, z);
    ops_widen_bf16(ops_load_bf16(g->h + one, EIGHT), EIGHT, h);
    ops_widen_bf16(ops_load_bf16(g->x + one, EIGHT), EIGHT, x);

    for (int k = 0; k < EIGHT; k++) {
      float dh, dz, dx;
      row_gate_close_backward(dout[k], z[k], h[k], x[k], &dh, &dz, &dx);
      h[k] = dh;
      z[k] = dz;
      x[k] = dx;
      dbias[k] -= dz;
    }

    ops_store_bf16(x, EIGHT, g->dx + one);
    ops_store_bf16(h, EIGHT, g->dug + one);
    ops_store_bf16(h, EIGHT, g->da + three + 2 * WIDTH);
    ops_store_bf16(z, EIGHT, g->da + three + WIDTH);
    ops_store_bf16(z, EIGHT, g->du + two + WIDTH);
  }

  ops_sum_eights(at, dbias, g->dbias + (size_t)at->block * WIDTH);
}

CORE_KERNEL_FN void ops_gate_open_gradient_by(const CoreDeviceThread *at, const OpsGate *g, const OpsNumbers as,
                                              const int step) {
  for (size_t i = core_device_first(at); i < g->rows * g->steps.number; i += core_device_stride(at)) {
    const OpsGatePlace place = ops_gate_place(g, i, step);
    float drx[KERNEL_EIGHT], r[KERNEL_EIGHT], x[KERNEL_EIGHT], dx[KERNEL_EIGHT];

    ops_load_numbers(g->drx, as, step, place.one, drx);
    ops_load_numbers(g->r, as, step, place.one, r);
    ops_load_numbers(g->x, as, step, place.one, x);
    ops_load_numbers(g->dx, as, step, place.one, dx);

    for (int k = 0; k < step; k++) {
      dx[k] += drx[k] * r[k];
      x[k] = row_gate_open_backward(drx[k], r[k], x[k]);
    }

    ops_put_numbers(g->da, as, step, place.three, x);
    ops_put_numbers(g->du, as, step, place.two, x);
    ops_put_numbers(g->dx, as, step, place.one, dx);
  }
}
CORE_KERNEL_FN void ops_gate_open_gradient(const CoreDeviceThread *at, const OpsGate *g) {
  OPS_BY_STEP(ops_gate_open_gradient_by, g);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* of_row: vectors of a row for the kernel, each of `width` values (times parts: ends + 1). A thread has `step` of
 * them. */
typedef struct OpsMessages {
  OpsRows x;
  OpsMessage m;
  void *shapes;                /* [rows][entities][width] */
  float *embedding;            /* [rows][count][width] */
  void *messages;              /* [rows][count][width] */
  void *gathered;              /* [rows][count][ends + 1][width] */
  CoreDivisor32 steps, of_row, parts; /* steps: width / step */
  int step;                    /* elements per thread: 16 bytes, or 1 */
  OpsNumbers numbers;
} OpsMessages;

/* Elements of a thread: vector `of_row` of a row, from `column` on, among all of these vectors `vector`. */
typedef struct OpsMessagePlace { size_t row, vector, column; int of_row; } OpsMessagePlace;
CORE_KERNEL_FN OpsMessagePlace ops_message_place(const OpsMessages *a, uint32_t vector, uint32_t step_of_row,
                                                 const int step) {
  const CoreDivided32 of_row = core_divide_32(vector, a->of_row);
  const OpsMessagePlace place = {of_row.whole, vector, (size_t)step_of_row * (size_t)step, (int)of_row.rest};
  return place;
}

CORE_KERNEL_FN void ops_message_gather_by(const CoreDeviceThread *at, const OpsMessages *a, const OpsNumbers as,
                                          const int step) {
  const size_t width = (size_t)a->m.width, each = (size_t)a->of_row.number * a->parts.number * a->steps.number;

  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * each; i += core_device_stride(at)) {
    const CoreDivided32 steps = core_divide_32((uint32_t)i, a->steps), end = core_divide_32(steps.whole, a->parts);
    const OpsMessagePlace place = ops_message_place(a, end.whole, steps.rest, step);
    const float *observation = ops_row_of(a->x, place.row);
    const bool is_active = observation[a->m.mask + place.of_row] != 0;
    float numbers[KERNEL_EIGHT] = {0};

    if (is_active && end.rest < a->parts.number - 1) {
      const int entity = row_message_entity(observation, &a->m, place.of_row, (int)end.rest);
      const size_t shape = place.row * (size_t)a->m.entities + (size_t)entity;
      ops_load_numbers(a->shapes, as, step, shape * width + place.column, numbers);
    } else if (is_active) {
      ops_load_numbers(a->embedding, OPS_NUMBERS_FLOAT, step, place.vector * width + place.column, numbers);
    }

    ops_put_numbers(a->gathered, as, step, i * (size_t)step, numbers);
  }
}
CORE_KERNEL_FN void ops_message_gather(const CoreDeviceThread *at, const OpsMessages *a) {
  OPS_BY_STEP(ops_message_gather_by, a);
}

/* A shape's sum, which is read when it first receives something: most shapes receive nothing. */
typedef struct OpsMessageSum { float sum[KERNEL_EIGHT]; bool is_read; } OpsMessageSum;
CORE_KERNEL_FN void ops_message_add(const OpsMessages *a, const OpsNumbers as, const int step, size_t shape,
                                    const void *source, size_t element, OpsMessageSum *total) {
  float more[KERNEL_EIGHT];
  if (!total->is_read) ops_load_numbers(a->shapes, as, step, shape, total->sum);
  total->is_read = true;
  ops_load_numbers(source, as, step, element, more);
  for (int k = 0; k < step; k++) total->sum[k] += more[k];
}

/* Adds to a shape what it receives from everything gathered from it. */
CORE_KERNEL_FN void ops_message_return(const OpsMessages *a, const OpsNumbers as, const int step,
                                       const OpsMessagePlace *place) {
  const float *observation = ops_row_of(a->x, place->row);
  const size_t width = (size_t)a->m.width, parts = a->parts.number, first = place->row * (size_t)a->m.count;
  const size_t shape = (place->row * (size_t)a->m.entities + (size_t)place->of_row) * width + place->column;
  OpsMessageSum total = {{0}, false};
  for (int k = 0; k < a->m.count; k++) {
    if (observation[a->m.mask + k] == 0) continue;
    for (int end = 0; end < a->m.ends; end++)
      if (row_message_entity(observation, &a->m, k, end) == place->of_row)
        ops_message_add(a, as, step, shape, a->gathered,
                        ((first + (size_t)k) * parts + (size_t)end) * width + place->column, &total);
  }
  if (total.is_read) ops_put_numbers(a->shapes, as, step, shape, total.sum);
}

/* Computes the gradient of gathered messages: one thread per `step` elements of a shape, or of a sender's embedding. */
CORE_KERNEL_FN void ops_message_gather_gradient_by(const CoreDeviceThread *at, const OpsMessages *a,
                                                   const OpsNumbers as, const int step) {
  const size_t width = (size_t)a->m.width, count = (size_t)a->m.count, parts = a->parts.number;
  const size_t each = (size_t)a->of_row.number * a->steps.number;

  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * each; i += core_device_stride(at)) {
    const CoreDivided32 steps = core_divide_32((uint32_t)i, a->steps);
    const OpsMessagePlace place = ops_message_place(a, steps.whole, steps.rest, step);
    const int sender = place.of_row - a->m.entities;

    if (sender < 0) {
      ops_message_return(a, as, step, &place);
    } else if (ops_row_of(a->x, place.row)[a->m.mask + sender] != 0) {
      const size_t thing = place.row * count + (size_t)sender, element = thing * width + place.column;
      float sum[KERNEL_EIGHT], more[KERNEL_EIGHT];
      ops_load_numbers(a->embedding, OPS_NUMBERS_FLOAT, step, element, sum);
      ops_load_numbers(a->gathered, as, step, (thing * parts + parts - 1) * width + place.column, more);
      for (int k = 0; k < step; k++) sum[k] += more[k];
      ops_put_numbers(a->embedding, OPS_NUMBERS_FLOAT, step, element, sum);
    }
  }
}
CORE_KERNEL_FN void ops_message_gather_gradient(const CoreDeviceThread *at, const OpsMessages *a) {
  OPS_BY_STEP(ops_message_gather_gradient_by, a);
}

CORE_KERNEL_FN void ops_message_scatter_by(const CoreDeviceThread *at, const OpsMessages *a, const OpsNumbers as,
                                           const int step) {
  const size_t width = (size_t)a->m.width, each = (size_t)a->of_row.number * a->steps.number;
  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * each; i += core_device_stride(at)) {
    const CoreDivided32 steps = core_divide_32((uint32_t)i, a->steps);
    const OpsMessagePlace place = ops_message_place(a, steps.whole, steps.rest, step);
    const float *observation = ops_row_of(a->x, place.row);
    const size_t shape = i * (size_t)step, first = place.row * (size_t)a->m.count;
    OpsMessageSum total = {{0}, false};
    for (int k = 0; k < a->m.count; k++)
      if (observation[a->m.mask + k] != 0 && row_message_entity(observation, &a->m, k, 0) == place.of_row)
        ops_message_add(a, as, step, shape, a->messages, (first + (size_t)k) * width + place.column, &total);
    if (total.is_read) ops_put_numbers(a->shapes, as, step, shape, total.sum);
  }
}
CORE_KERNEL_FN void ops_message_scatter(const CoreDeviceThread *at, const OpsMessages *a) {
  OPS_BY_STEP(ops_message_scatter_by, a);
}

CORE_KERNEL_FN void ops_message_scatter_gradient_by(const CoreDeviceThread *at, const OpsMessages *a,
                                                    const OpsNumbers as, const int step) {
  const size_t width = (size_t)a->m.width, each = (size_t)a->of_row.number * a->steps.number;
  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * each; i += core_device_stride(at)) {
    const CoreDivided32 steps = core_divide_32((uint32_t)i, a->steps);
    const OpsMessagePlace place = ops_message_place(a, steps.whole, steps.rest, step);
    const float *observation = ops_row_of(a->x, place.row);
    float numbers[KERNEL_EIGHT] = {0};
    if (observation[a->m.mask + place.of_row] != 0) {
      const int entity = row_message_entity(observation, &a->m, place.of_row, 0);
      const size_t shape = place.row * (size_t)a->m.entities + (size_t)entity;
      ops_load_numbers(a->shapes, as, step, shape * width + place.column, numbers);
    }
    ops_put_numbers(a->messages, as, step, i * (size_t)step, numbers);
  }
}
CORE_KERNEL_FN void ops_message_scatter_gradient(const CoreDeviceThread *at, const OpsMessages *a) {
  OPS_BY_STEP(ops_message_scatter_gradient_by, a);
}

#endif
