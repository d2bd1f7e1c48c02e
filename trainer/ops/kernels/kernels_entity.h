/* Kernels of entity matrices (entity.h): one thread per element, so that writes coalesce. A sum over entities or
 * messages is computed by one thread, in the CPU's order, so the bits are the CPU's.
 *
 * Matrices of entities, `numbers`, are floats or bf16; embeddings of a kind and what attention reads and writes are
 * floats. A chunk has fewer than 2^32 elements, so that offsets are computed in 32 bits, by divisors prepared on the
 * host. */
#ifndef TRAINER_OPS_KERNELS_ENTITY_H
#define TRAINER_OPS_KERNELS_ENTITY_H
#include "trainer/ops/kernels/kernels_dense.h"
#include "trainer/ops/row_entity_internal.h"

CORE_DEVICE_FN const float *ops_row_of(OpsRows x, size_t row) { return x.x + row * (size_t)x.stride; }

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* columns: those that the kernel writes; count: entities of the kind. */
typedef struct OpsPacking {
  OpsRows x;
  OpsPack pack;
  const float *embedding;      /* unpacking: NULL */
  float *dembedding;           /* packing: NULL */
  void *matrix;
  CoreDivisor32 columns, count;
  OpsNumbers numbers;
} OpsPacking;

CORE_KERNEL_FN void ops_entity_pack(const CoreDeviceThread *at, const OpsPacking *a) {
  const OpsPack *p = &a->pack;
  const uint32_t columns = a->columns.number, each = a->count.number * columns;
  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * each; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->columns), of_row = core_divide_32(place.whole, a->count);
    const uint32_t column = place.rest;
    const size_t row = of_row.whole, thing = of_row.rest;
    const bool active = ops_row_of(a->x, row)[(size_t)p->mask + thing] != 0;
    const float *embedding = a->embedding + place.whole * (size_t)p->width;
    const float number = column < (size_t)p->width ? embedding[column] : (int)column == p->tag ? 1.0f : 0.0f;
    const size_t element = (row * (size_t)p->entities + (size_t)p->first + thing) * columns + column;
    ops_put_number(a->matrix, a->numbers, element, active ? number : 0.0f);
  }
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
  size_t rows;
  CoreDivisor entities, columns;
  OpsActivation activation;
  float *out;                  /* [rows][columns] */
  const float *dout;
  OpsNumbers numbers;
} OpsPool;

CORE_KERNEL_FN void ops_entity_pool(const CoreDeviceThread *at, const OpsPool *a) {
  const size_t entities = a->entities.number, columns = a->columns.number;
  for (size_t i = core_device_first(at); i < a->rows * columns; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, a->columns);
    float sum = 0;
    for (size_t e = place.whole * entities; e < (place.whole + 1) * entities; e++)
      sum += (a->weights ? a->weights[e] : 1.0f) * ops_number(a->matrix, a->numbers, e * columns + place.rest);
    a->out[i] = a->activation == OPS_TANH ? fast_tanh(sum) : sum;
  }
}

CORE_KERNEL_FN void ops_entity_pool_gradient(const CoreDeviceThread *at, const OpsPool *a) {
  const size_t entities = a->entities.number, columns = a->columns.number;
  for (size_t i = core_device_first(at); i < a->rows * entities * columns; i += core_device_stride(at)) {
    const CoreDivided entity = core_divide(i, a->columns);
    const size_t k = core_divide(entity.whole, a->entities).whole * columns + entity.rest;
    const float weight = a->weights ? a->weights[entity.whole] : 1.0f;
    ops_put_number(a->matrix, a->numbers, i, row_pool_backward(weight, a->out[k], a->dout[k], a->activation));
  }
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
  size_t rows;
  CoreDivisor width;
  OpsNumbers numbers;
} OpsGate;

CORE_KERNEL_FN void ops_gate_open(const CoreDeviceThread *at, const OpsGate *g) {
  const size_t width = g->width.number;
  const OpsNumbers as = g->numbers;
  for (size_t i = core_device_first(at); i < g->rows * width; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, g->width);
    const size_t a = place.whole * 3 * width + place.rest, u = place.whole * 2 * width + place.rest;
    const float before_r = ops_number(g->a, as, a) + ops_number(g->u, as, u);
    const float before_z = ops_number(g->a, as, a + width) + ops_number(g->u, as, u + width) - g->bias[place.rest];
    float gate_r, gate_z, gated;
    row_gate_open(before_r, before_z, ops_number(g->x, as, i), &gate_r, &gate_z, &gated);
    ops_put_number(g->r, as, i, gate_r);
    ops_put_number(g->z, as, i, gate_z);
    ops_put_number(g->rx, as, i, gated);
  }
}

CORE_KERNEL_FN void ops_gate_close(const CoreDeviceThread *at, const OpsGate *g) {
  const size_t width = g->width.number;
  const OpsNumbers as = g->numbers;
  for (size_t i = core_device_first(at); i < g->rows * width; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, g->width);
    const size_t a = (3 * place.whole + 2) * width + place.rest;
    float h, out;
    row_gate_close(ops_number(g->a, as, a) + ops_number(g->ug, as, i), ops_number(g->z, as, i), ops_number(g->x, as, i),
                   &h, &out);
    ops_put_number(g->h, as, i, h);
    ops_put_number(g->out, as, i, out);
  }
}

CORE_KERNEL_FN void ops_gate_close_gradient(const CoreDeviceThread *at, const OpsGate *g) {
  const size_t width = g->width.number;
  const OpsNumbers as = g->numbers;
  for (size_t i = core_device_first(at); i < g->rows * width; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, g->width);
    const size_t a = place.whole * 3 * width + place.rest, u = place.whole * 2 * width + place.rest;
    float dh, dz, dx;
    row_gate_close_backward(ops_number(g->dout, as, i), ops_number(g->z, as, i), ops_number(g->h, as, i),
                            ops_number(g->x, as, i), &dh, &dz, &dx);
    ops_put_number(g->dx, as, i, dx);
    ops_put_number(g->dug, as, i, dh);
    ops_put_number(g->da, as, a + 2 * width, dh);
    ops_put_number(g->da, as, a + width, dz);
    ops_put_number(g->du, as, u + width, dz);
  }
}

CORE_KERNEL_FN void ops_gate_open_gradient(const CoreDeviceThread *at, const OpsGate *g) {
  const size_t width = g->width.number;
  const OpsNumbers as = g->numbers;
  for (size_t i = core_device_first(at); i < g->rows * width; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, g->width);
    const float drx = ops_number(g->drx, as, i), r = ops_number(g->r, as, i);
    const float dr = row_gate_open_backward(drx, r, ops_number(g->x, as, i));
    ops_put_number(g->da, as, place.whole * 3 * width + place.rest, dr);
    ops_put_number(g->du, as, place.whole * 2 * width + place.rest, dr);
    ops_put_number(g->dx, as, i, ops_number(g->dx, as, i) + drx * r);
  }
}

/* x += y */
typedef struct OpsEntityAdd { void *x; const void *y; size_t n; OpsNumbers numbers; } OpsEntityAdd;
CORE_KERNEL_FN void ops_entity_add(const CoreDeviceThread *at, const OpsEntityAdd *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at))
    ops_put_number(a->x, a->numbers, i, ops_number(a->x, a->numbers, i) + ops_number(a->y, a->numbers, i));
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* of_row: elements of a row for the kernel, each of `width` values (times parts: ends + 1). */
typedef struct OpsMessages {
  OpsRows x;
  OpsMessage m;
  void *shapes;                /* [rows][entities][width] */
  float *embedding;            /* [rows][count][width] */
  void *messages;              /* [rows][count][width] */
  void *gathered;              /* [rows][count][ends + 1][width] */
  CoreDivisor32 width, of_row, parts;
  OpsNumbers numbers;
} OpsMessages;

CORE_KERNEL_FN void ops_message_gather(const CoreDeviceThread *at, const OpsMessages *a) {
  const uint32_t width = a->width.number, parts = a->parts.number, each = a->of_row.number * parts * width;
  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * each; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->width), end = core_divide_32(place.whole, a->parts);
    const CoreDivided32 of_row = core_divide_32(end.whole, a->of_row);
    const uint32_t part = end.rest;
    const size_t c = place.rest, thing = end.whole, row = of_row.whole;
    const float *observation = ops_row_of(a->x, row);
    const int k = (int)of_row.rest;
    float number = 0;
    if (observation[a->m.mask + k] != 0 && part < parts - 1) {
      const int entity = row_message_entity(observation, &a->m, k, (int)part);
      number = ops_number(a->shapes, a->numbers, (row * (size_t)a->m.entities + (size_t)entity) * width + c);
    } else if (observation[a->m.mask + k] != 0) {
      number = a->embedding[thing * width + c];
    }
    ops_put_number(a->gathered, a->numbers, i, number);
  }
}

/* Returns what an entity of the shapes' matrix receives from everything gathered from it. */
CORE_DEVICE_FN float ops_message_return(const OpsMessages *a, size_t row, int entity, size_t c, float sum) {
  const float *observation = ops_row_of(a->x, row);
  const size_t width = (size_t)a->m.width, parts = (size_t)a->m.ends + 1, first = row * (size_t)a->m.count;
  for (int k = 0; k < a->m.count; k++)
    for (int end = 0; end < a->m.ends && observation[a->m.mask + k] != 0; end++)
      if (row_message_entity(observation, &a->m, k, end) == entity)
        sum += ops_number(a->gathered, a->numbers, ((first + (size_t)k) * parts + (size_t)end) * width + c);
  return sum;
}

/* One thread per element of a shape, or of a sender's embedding. */
CORE_KERNEL_FN void ops_message_gather_gradient(const CoreDeviceThread *at, const OpsMessages *a) {
  const size_t ends = (size_t)a->m.ends, count = (size_t)a->m.count, entities = (size_t)a->m.entities;
  const uint32_t width = a->width.number, each = a->of_row.number * width;
  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * each; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->width), of_row = core_divide_32(place.whole, a->of_row);
    const size_t c = place.rest, row = of_row.whole, k = of_row.rest;
    if (k < entities) {
      const size_t shape = (row * entities + k) * width + c;
      const float sum = ops_message_return(a, row, (int)k, c, ops_number(a->shapes, a->numbers, shape));
      ops_put_number(a->shapes, a->numbers, shape, sum);
    } else if (ops_row_of(a->x, row)[(size_t)a->m.mask + k - entities] != 0) {
      const size_t thing = row * count + k - entities;
      a->embedding[thing * width + c] += ops_number(a->gathered, a->numbers, (thing * (ends + 1) + ends) * width + c);
    }
  }
}

CORE_KERNEL_FN void ops_message_scatter(const CoreDeviceThread *at, const OpsMessages *a) {
  const uint32_t width = a->width.number, each = a->of_row.number * width;
  const size_t count = (size_t)a->m.count;
  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * each; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->width), of_row = core_divide_32(place.whole, a->of_row);
    const size_t c = place.rest, row = of_row.whole;
    const int entity = (int)of_row.rest;
    const float *observation = ops_row_of(a->x, row);
    float sum = ops_number(a->shapes, a->numbers, i);
    for (int k = 0; k < a->m.count; k++)
      if (observation[a->m.mask + k] != 0 && row_message_entity(observation, &a->m, k, 0) == entity)
        sum += ops_number(a->messages, a->numbers, (row * count + (size_t)k) * width + c);
    ops_put_number(a->shapes, a->numbers, i, sum);
  }
}

CORE_KERNEL_FN void ops_message_scatter_gradient(const CoreDeviceThread *at, const OpsMessages *a) {
  const uint32_t width = a->width.number, each = a->of_row.number * width;
  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * each; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->width), of_row = core_divide_32(place.whole, a->of_row);
    const size_t row = of_row.whole;
    const float *observation = ops_row_of(a->x, row);
    const int k = (int)of_row.rest;
    if (observation[a->m.mask + k] == 0) {
      ops_put_number(a->messages, a->numbers, i, 0);
      continue;
    }
    const size_t entity = row * (size_t)a->m.entities + (size_t)row_message_entity(observation, &a->m, k, 0);
    ops_put_number(a->messages, a->numbers, i, ops_number(a->shapes, a->numbers, entity * width + place.rest));
  }
}

#endif
