/* Kernels of entity matrices (entity.h): one thread per element, so that writes coalesce. A sum over entities or
 * messages is computed by one thread, in the CPU's order, so the bits are the CPU's.
 *
 * A chunk has fewer than 2^32 elements, so that offsets are computed in 32 bits, by divisors prepared on the host. */
#ifndef TRAINER_OPS_KERNELS_ENTITY_H
#define TRAINER_OPS_KERNELS_ENTITY_H
#include "trainer/ops/row_attention_internal.h"
#include "trainer/ops/row_entity_internal.h"

CORE_DEVICE_FN const float *ops_row_of(OpsRows x, size_t row) { return x.x + row * (size_t)x.stride; }

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* columns: those that the kernel writes; count: entities of the kind. */
typedef struct OpsPacking {
  OpsRows x;
  OpsPack pack;
  const float *from;
  float *to;
  CoreDivisor32 columns, count;
} OpsPacking;

CORE_KERNEL_FN void ops_entity_pack(const CoreDeviceThread *at, const OpsPacking *a) {
  const OpsPack *p = &a->pack;
  const uint32_t columns = a->columns.number, each = a->count.number * columns;
  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * each; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->columns), of_row = core_divide_32(place.whole, a->count);
    const uint32_t column = place.rest;
    const size_t row = of_row.whole, thing = of_row.rest;
    const bool active = ops_row_of(a->x, row)[(size_t)p->mask + thing] != 0;
    const float *embedding = a->from + place.whole * (size_t)p->width;
    const float number = column < (size_t)p->width ? embedding[column] : (int)column == p->tag ? 1.0f : 0.0f;
    a->to[(row * (size_t)p->entities + (size_t)p->first + thing) * columns + column] = active ? number : 0.0f;
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
    a->to[i] = active ? a->from[element * (size_t)p->columns + place.rest] : 0.0f;
  }
}

typedef struct OpsDummy { float *matrix; size_t rows, entities; CoreDivisor32 columns; } OpsDummy;
CORE_KERNEL_FN void ops_entity_dummy(const CoreDeviceThread *at, const OpsDummy *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->columns.number; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->columns);
    a->matrix[place.whole * a->entities * a->columns.number + place.rest] = 1.0f;
  }
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

typedef struct OpsPool {
  float *matrix;               /* [rows][entities][columns]; backward: its gradient */
  const float *weights;        /* [rows][entities]; NULL: ones */
  size_t rows;
  CoreDivisor entities, columns;
  OpsActivation activation;
  float *out;                  /* [rows][columns] */
  const float *dout;
} OpsPool;

CORE_KERNEL_FN void ops_entity_pool(const CoreDeviceThread *at, const OpsPool *a) {
  const size_t entities = a->entities.number, columns = a->columns.number;
  for (size_t i = core_device_first(at); i < a->rows * columns; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, a->columns);
    float sum = 0;
    for (size_t e = place.whole * entities; e < (place.whole + 1) * entities; e++)
      sum += (a->weights ? a->weights[e] : 1.0f) * a->matrix[e * columns + place.rest];
    a->out[i] = a->activation == OPS_TANH ? fast_tanh(sum) : sum;
  }
}

CORE_KERNEL_FN void ops_entity_pool_gradient(const CoreDeviceThread *at, const OpsPool *a) {
  const size_t entities = a->entities.number, columns = a->columns.number;
  for (size_t i = core_device_first(at); i < a->rows * entities * columns; i += core_device_stride(at)) {
    const CoreDivided entity = core_divide(i, a->columns);
    const size_t k = core_divide(entity.whole, a->entities).whole * columns + entity.rest;
    a->matrix[i] =
      row_pool_backward(a->weights ? a->weights[entity.whole] : 1.0f, a->out[k], a->dout[k], a->activation);
  }
}

typedef struct OpsMeanWeights { OpsRows x; int mask, count; float *weights; CoreDivisor32 entities; } OpsMeanWeights;
CORE_KERNEL_FN void ops_entity_weights(const CoreDeviceThread *at, const OpsMeanWeights *a) {
  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * a->entities.number; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->entities);
    a->weights[i] = row_mean_weight(ops_row_of(a->x, place.whole) + a->mask, a->count, (int)place.rest);
  }
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

typedef struct OpsAttend {
  OpsRows x;
  OpsAttention attention;
  const float *qkv, *dout;     /* [rows][entities][3][heads][size], [rows][entities][heads][size] */
  float *out;                  /* shape of dout; backward: of qkv */
  CoreDivisor32 heads, entities;
} OpsAttend;

CORE_DEVICE_FN RowWorld ops_world_of(const OpsAttend *a, size_t row) {
  const OpsAttention *s = &a->attention;
  const RowWorld world = {s, ops_row_of(a->x, row), a->qkv + row * (size_t)(s->entities * 3 * s->heads * s->size)};
  return world;
}

/* One thread per query of a head. */
CORE_KERNEL_FN void ops_entity_attend(const CoreDeviceThread *at, const OpsAttend *a) {
  const uint32_t each = a->entities.number * a->heads.number;
  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * each; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->heads), query = core_divide_32(place.whole, a->entities);
    const RowWorld world = ops_world_of(a, query.whole);
    row_attend(&world, (int)query.rest, (int)place.rest, a->out + i * (size_t)a->attention.size);
  }
}

/* One thread per head: keys and values receive from all queries, in their order. */
CORE_KERNEL_FN void ops_entity_attend_gradient(const CoreDeviceThread *at, const OpsAttend *a) {
  const OpsAttention *s = &a->attention;
  const size_t heads = (size_t)s->heads, size = (size_t)s->size, entities = (size_t)s->entities;
  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * heads; i += core_device_stride(at)) {
    const CoreDivided32 place = core_divide_32((uint32_t)i, a->heads);
    const size_t row = place.whole, head = place.rest;
    const RowWorld world = ops_world_of(a, row);
    float *dqkv = a->out + row * entities * 3 * heads * size;
    for (size_t part = 0; part < entities * 3; part++)
      for (size_t k = 0; k < size; k++) dqkv[(part * heads + head) * size + k] = 0;
    for (size_t query = 0; query < entities; query++)
      row_attend_backward(&world, (int)query, (int)head, a->dout + ((row * entities + query) * heads + head) * size,
                          dqkv);
  }
}

/* ---- gates ------------------------------------------------------------------------------------------------------- */

/* Names as in entity.h, which defines what is read and written. */
typedef struct OpsGate {
  const float *a, *u, *ug, *bias, *x, *dout, *drx;
  float *r, *z, *rx, *h, *out, *dug, *da, *du, *dx;
  size_t rows;
  CoreDivisor width;
} OpsGate;

CORE_KERNEL_FN void ops_gate_open(const CoreDeviceThread *at, const OpsGate *g) {
  const size_t width = g->width.number;
  for (size_t i = core_device_first(at); i < g->rows * width; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, g->width);
    const size_t row = place.whole, c = place.rest;
    const float *a = g->a + row * 3 * width, *u = g->u + row * 2 * width;
    row_gate_open(a[c] + u[c], a[width + c] + u[width + c] - g->bias[c], g->x[i], &g->r[i], &g->z[i], &g->rx[i]);
  }
}

CORE_KERNEL_FN void ops_gate_close(const CoreDeviceThread *at, const OpsGate *g) {
  const size_t width = g->width.number;
  for (size_t i = core_device_first(at); i < g->rows * width; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, g->width);
    row_gate_close(g->a[(3 * place.whole + 2) * width + place.rest] + g->ug[i], g->z[i], g->x[i], &g->h[i], &g->out[i]);
  }
}

CORE_KERNEL_FN void ops_gate_close_gradient(const CoreDeviceThread *at, const OpsGate *g) {
  const size_t width = g->width.number;
  for (size_t i = core_device_first(at); i < g->rows * width; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, g->width);
    const size_t row = place.whole, c = place.rest;
    float *da = g->da + row * 3 * width, dh, dz;
    row_gate_close_backward(g->dout[i], g->z[i], g->h[i], g->x[i], &dh, &dz, &g->dx[i]);
    g->dug[i] = dh;
    da[2 * width + c] = dh;
    da[width + c] = dz;
    g->du[row * 2 * width + width + c] = dz;
  }
}

CORE_KERNEL_FN void ops_gate_open_gradient(const CoreDeviceThread *at, const OpsGate *g) {
  const size_t width = g->width.number;
  for (size_t i = core_device_first(at); i < g->rows * width; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, g->width);
    const size_t row = place.whole, c = place.rest;
    const float dr = row_gate_open_backward(g->drx[i], g->r[i], g->x[i]);
    g->da[row * 3 * width + c] = dr;
    g->du[row * 2 * width + c] = dr;
    g->dx[i] += g->drx[i] * g->r[i];
  }
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* of_row: elements of a row for the kernel, each of `width` values (times parts: ends + 1). */
typedef struct OpsMessages {
  OpsRows x;
  OpsMessage m;
  float *shapes;               /* [rows][entities][width] */
  float *things;               /* [rows][count][width]: embeddings or messages */
  float *gathered;             /* [rows][count][ends + 1][width] */
  CoreDivisor32 width, of_row, parts;
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
      number = a->shapes[(row * (size_t)a->m.entities + (size_t)entity) * width + c];
    } else if (observation[a->m.mask + k] != 0) {
      number = a->things[thing * width + c];
    }
    a->gathered[i] = number;
  }
}

/* Returns what an entity of the shapes' matrix receives from everything gathered from it. */
CORE_DEVICE_FN float ops_message_return(const OpsMessages *a, size_t row, int entity, size_t c, float sum) {
  const float *observation = ops_row_of(a->x, row);
  const size_t width = (size_t)a->m.width, parts = (size_t)a->m.ends + 1, first = row * (size_t)a->m.count;
  for (int k = 0; k < a->m.count; k++)
    for (int end = 0; end < a->m.ends && observation[a->m.mask + k] != 0; end++)
      if (row_message_entity(observation, &a->m, k, end) == entity)
        sum += a->gathered[((first + (size_t)k) * parts + (size_t)end) * width + c];
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
      float *shape = &a->shapes[(row * entities + k) * width + c];
      *shape = ops_message_return(a, row, (int)k, c, *shape);
    } else if (ops_row_of(a->x, row)[(size_t)a->m.mask + k - entities] != 0) {
      const size_t thing = row * count + k - entities;
      a->things[thing * width + c] += a->gathered[(thing * (ends + 1) + ends) * width + c];
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
    float sum = a->shapes[i];
    for (int k = 0; k < a->m.count; k++)
      if (observation[a->m.mask + k] != 0 && row_message_entity(observation, &a->m, k, 0) == entity)
        sum += a->things[(row * count + (size_t)k) * width + c];
    a->shapes[i] = sum;
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
      a->things[i] = 0;
      continue;
    }
    const size_t entity = row * (size_t)a->m.entities + (size_t)row_message_entity(observation, &a->m, k, 0);
    a->things[i] = a->shapes[entity * width + place.rest];
  }
}

#endif
