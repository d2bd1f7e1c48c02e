/* Entity matrices on the CPU (entity.h): packing, pooling, messages and gates. Threads take whole rows of observations,
 * and a row's sums have one order, so the number of threads does not matter. Attention is in cpu_attention.c. */
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/row_entity_internal.h"

#define FOR_ROWS(ops, row, count) \
  _Pragma("omp parallel for schedule(static) num_threads(cpu_state(ops)->threads)") \
  for (int row = 0; row < (count); row++)

static const float *row_of(OpsRows x, int row) { return x.x + (size_t)row * (size_t)x.stride; }

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static void slice(Ops *ops, OpsRows x, int offset, int columns, float *target) {
  FOR_ROWS(ops, row, x.rows)
    memcpy(target + (size_t)row * columns, row_of(x, row) + offset, (size_t)columns * sizeof *target);
}

static void pack_row(const float *mask, const OpsPack *p, const float *embedding, float *matrix) {
  float *to = matrix + (size_t)p->first * p->columns;
  memset(to, 0, (size_t)p->count * p->columns * sizeof *to);
  for (int i = 0; i < p->count; i++, to += p->columns, embedding += p->width) {
    if (mask[i] == 0) continue;
    memcpy(to, embedding, (size_t)p->width * sizeof *to);
    if (p->tag >= 0) to[p->tag] = 1.0f;
  }
}

static void pack(Ops *ops, OpsRows x, const OpsPack *p, const float *embedding, float *matrix) {
  FOR_ROWS(ops, row, x.rows)
    pack_row(row_of(x, row) + p->mask, p, embedding + (size_t)row * p->count * p->width,
             matrix + (size_t)row * p->entities * p->columns);
}

static void unpack_row(const float *mask, const OpsPack *p, const float *dmatrix, float *dembedding) {
  const float *from = dmatrix + (size_t)p->first * p->columns;
  for (int i = 0; i < p->count; i++, from += p->columns, dembedding += p->width) {
    if (mask[i] == 0) memset(dembedding, 0, (size_t)p->width * sizeof *dembedding);
    else memcpy(dembedding, from, (size_t)p->width * sizeof *dembedding);
  }
}

static void unpack(Ops *ops, OpsRows x, const OpsPack *p, const float *dmatrix, float *dembedding) {
  FOR_ROWS(ops, row, x.rows)
    unpack_row(row_of(x, row) + p->mask, p, dmatrix + (size_t)row * p->entities * p->columns,
               dembedding + (size_t)row * p->count * p->width);
}

static void dummy(Ops *ops, int rows, int entities, int columns, float *matrix) {
  FOR_ROWS(ops, row, rows)
    for (int c = 0; c < columns; c++) matrix[(size_t)row * entities * columns + c] = 1.0f;
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

CPU_VECTOR static void pool_row(const float *matrix, const float *weight, int entities, int columns,
                                OpsActivation activation, float *restrict out) {
  for (int c = 0; c < columns; c++) out[c] = 0;
  for (int e = 0; e < entities; e++, matrix += columns) {
    const float w = weight ? weight[e] : 1.0f;
    for (int c = 0; c < columns; c++) out[c] += w * matrix[c];
  }
  if (activation == OPS_TANH)
    for (int c = 0; c < columns; c++) out[c] = fast_tanh(out[c]);
}

static void pool(Ops *ops, const float *matrix, const float *weights, int rows, int entities, int columns,
                 OpsActivation activation, float *out) {
  CORE_CHECK(activation == OPS_LINEAR || activation == OPS_TANH);
  FOR_ROWS(ops, row, rows)
    pool_row(matrix + (size_t)row * entities * columns, weights ? weights + (size_t)row * entities : NULL, entities,
             columns, activation, out + (size_t)row * columns);
}

CPU_VECTOR static void pool_row_backward(const float *out, const float *dout, const float *weight, int entities,
                                         int columns, OpsActivation activation, float *restrict dmatrix) {
  for (int e = 0; e < entities; e++, dmatrix += columns) {
    const float w = weight ? weight[e] : 1.0f;
    for (int c = 0; c < columns; c++)
      dmatrix[c] = row_pool_backward(w, out[c], dout[c], activation);
  }
}

static void pool_backward(Ops *ops, const float *out, const float *dout, const float *weights, int rows, int entities,
                          int columns, OpsActivation activation, float *dmatrix) {
  FOR_ROWS(ops, row, rows)
    pool_row_backward(out + (size_t)row * columns, dout + (size_t)row * columns,
                      weights ? weights + (size_t)row * entities : NULL, entities, columns, activation,
                      dmatrix + (size_t)row * entities * columns);
}

static void mean_weights(Ops *ops, OpsRows x, int mask, int count, float *weights) {
  FOR_ROWS(ops, row, x.rows) {
    const float *active = row_of(x, row) + mask;
    for (int entity = 0; entity <= count; entity++)
      weights[(size_t)row * (count + 1) + entity] = row_mean_weight(active, count, entity);
  }
}

/* ---- gates ------------------------------------------------------------------------------------------------------- */

CPU_VECTOR static void open_row(const float *a, const float *u, const float *bias, const float *x, int width,
                                float *restrict r, float *restrict z, float *restrict rx) {
  for (int c = 0; c < width; c++)
    row_gate_open(a[c] + u[c], a[width + c] + u[width + c] - bias[c], x[c], &r[c], &z[c], &rx[c]);
}

static void gate_open(Ops *ops, const float *a, const float *u, const float *bias, const float *x, int rows, int width,
                      float *r, float *z, float *rx) {
  FOR_ROWS(ops, row, rows) {
    const size_t at = (size_t)row * width;
    open_row(a + 3 * at, u + 2 * at, bias, x + at, width, r + at, z + at, rx + at);
  }
}

CPU_VECTOR static void close_row(const float *a, const float *ug, const float *z, const float *x, int width,
                                 float *restrict h, float *restrict out) {
  for (int c = 0; c < width; c++) row_gate_close(a[2 * width + c] + ug[c], z[c], x[c], &h[c], &out[c]);
}

static void gate_close(Ops *ops, const float *a, const float *ug, const float *z, const float *x, int rows, int width,
                       float *h, float *out) {
  FOR_ROWS(ops, row, rows) {
    const size_t at = (size_t)row * width;
    close_row(a + 3 * at, ug + at, z + at, x + at, width, h + at, out + at);
  }
}

CPU_VECTOR static void close_row_backward(const float *dout, const float *z, const float *h, const float *x, int width,
                                          float *restrict dug, float *restrict da, float *restrict du,
                                          float *restrict dx) {
  for (int c = 0; c < width; c++) {
    float dz;
    row_gate_close_backward(dout[c], z[c], h[c], x[c], &dug[c], &dz, &dx[c]);
    da[2 * width + c] = dug[c];
    da[width + c] = dz;
    du[width + c] = dz;
  }
}

static void gate_close_backward(Ops *ops, const float *dout, const float *z, const float *h, const float *x, int rows,
                                int width, float *dug, float *da, float *du, float *dx) {
  FOR_ROWS(ops, row, rows) {
    const size_t at = (size_t)row * width;
    close_row_backward(dout + at, z + at, h + at, x + at, width, dug + at, da + 3 * at, du + 2 * at, dx + at);
  }
}

CPU_VECTOR static void open_row_backward(const float *drx, const float *r, const float *x, int width,
                                         float *restrict da, float *restrict du, float *restrict dx) {
  for (int c = 0; c < width; c++) {
    da[c] = du[c] = row_gate_open_backward(drx[c], r[c], x[c]);
    dx[c] += drx[c] * r[c];
  }
}

static void gate_open_backward(Ops *ops, const float *drx, const float *r, const float *x, int rows, int width,
                               float *da, float *du, float *dx) {
  FOR_ROWS(ops, row, rows) {
    const size_t at = (size_t)row * width;
    open_row_backward(drx + at, r + at, x + at, width, da + 3 * at, du + 2 * at, dx + at);
  }
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Returns the index in the matrix of one end of a joint or thruster. */
static int entity_of(const float *observation, const OpsMessage *m, int thing, int end) {
  const int entity = row_message_entity(observation, m, thing, end);
  CORE_CHECK(entity > 0 && entity < m->entities);
  return entity;
}

static void gather_row(const float *observation, const OpsMessage *m, const float *shapes, const float *embedding,
                       float *gathered) {
  const size_t width = (size_t)m->width, bytes = width * sizeof *gathered;
  for (int i = 0; i < m->count; i++, gathered += (m->ends + 1) * width, embedding += width) {
    memset(gathered, 0, (m->ends + 1) * bytes);
    if (observation[m->mask + i] == 0) continue;
    for (int end = 0; end < m->ends; end++)
      memcpy(gathered + end * width, shapes + entity_of(observation, m, i, end) * width, bytes);
    memcpy(gathered + m->ends * width, embedding, bytes);
  }
}

static void gather(Ops *ops, OpsRows x, const OpsMessage *m, const float *shapes, const float *embedding,
                   float *gathered) {
  FOR_ROWS(ops, row, x.rows)
    gather_row(row_of(x, row), m, shapes + (size_t)row * m->entities * m->width,
               embedding + (size_t)row * m->count * m->width,
               gathered + (size_t)row * m->count * (m->ends + 1) * m->width);
}

CPU_VECTOR static void add_to(float *restrict sum, const float *restrict term, size_t n) {
  for (size_t i = 0; i < n; i++) sum[i] += term[i];
}

static void gather_row_backward(const float *observation, const OpsMessage *m, const float *dgathered, float *dshapes,
                                float *dembedding) {
  const size_t width = (size_t)m->width;
  for (int i = 0; i < m->count; i++, dgathered += (m->ends + 1) * width, dembedding += width) {
    if (observation[m->mask + i] == 0) continue;
    for (int end = 0; end < m->ends; end++)
      add_to(dshapes + entity_of(observation, m, i, end) * width, dgathered + end * width, width);
    add_to(dembedding, dgathered + m->ends * width, width);
  }
}

static void gather_backward(Ops *ops, OpsRows x, const OpsMessage *m, const float *dgathered, float *dshapes,
                            float *dembedding) {
  FOR_ROWS(ops, row, x.rows)
    gather_row_backward(row_of(x, row), m, dgathered + (size_t)row * m->count * (m->ends + 1) * m->width,
                        dshapes + (size_t)row * m->entities * m->width,
                        dembedding + (size_t)row * m->count * m->width);
}

static void scatter(Ops *ops, OpsRows x, const OpsMessage *m, const float *messages, float *shapes) {
  const size_t width = (size_t)m->width;
  FOR_ROWS(ops, row, x.rows)
    for (int i = 0; i < m->count; i++)
      if (row_of(x, row)[m->mask + i] != 0)
        add_to(shapes + ((size_t)row * m->entities + entity_of(row_of(x, row), m, i, 0)) * width,
               messages + ((size_t)row * m->count + i) * width, width);
}

static void scatter_backward(Ops *ops, OpsRows x, const OpsMessage *m, const float *dshapes, float *dmessages) {
  const size_t width = (size_t)m->width;
  FOR_ROWS(ops, row, x.rows)
    for (int i = 0; i < m->count; i++) {
      float *dmessage = dmessages + ((size_t)row * m->count + i) * width;
      if (row_of(x, row)[m->mask + i] == 0) memset(dmessage, 0, width * sizeof *dmessage);
      else memcpy(dmessage, dshapes + ((size_t)row * m->entities + entity_of(row_of(x, row), m, i, 0)) * width,
                  width * sizeof *dmessage);
    }
}

const OpsEntity CPU_ENTITY = {
    .slice = slice, .pack = pack, .unpack = unpack, .dummy = dummy,
    .pool = pool, .pool_backward = pool_backward, .mean_weights = mean_weights,
    .attend = cpu_attend, .attend_backward = cpu_attend_backward,
    .gate_open = gate_open, .gate_close = gate_close,
    .gate_close_backward = gate_close_backward, .gate_open_backward = gate_open_backward,
    .gather = gather, .gather_backward = gather_backward, .scatter = scatter, .scatter_backward = scatter_backward,
};
