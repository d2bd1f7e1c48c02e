/* An LSTM's passes on the CPU (recurrent.h). A thread takes a block of sequences through all steps, so that nobody
 * waits for the others between steps and a block's states stay in its cache. Borders of blocks follow from the number
 * of sequences alone. Products are float32 in any precision. */
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/recurrent.h"
#include "trainer/ops/row_lstm_internal.h"

enum { SEQUENCES_LEAST = 32, BLOCKS = 8, ROUND = 16 };

/* Sequences of a block: enough for a product, few enough for several threads, at most CPU_ROWS. */
static int block_sequences(int sequences) {
  const int share = ((sequences + BLOCKS - 1) / BLOCKS + ROUND - 1) / ROUND * ROUND;
  return share < SEQUENCES_LEAST ? SEQUENCES_LEAST : share > CPU_ROWS ? CPU_ROWS : share;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* A row's gates [4][width], its cell and its output. */
CPU_VECTOR static void step_row(float *restrict i, float *restrict f, float *restrict g, float *restrict o,
                                const float *restrict bias, const float *restrict c_in, float *restrict c,
                                float *restrict h, int width) {
  for (int u = 0; u < width; u++) {
    const RowGates gates = row_lstm_gates(i[u] + bias[u], f[u] + bias[width + u], g[u] + bias[2 * width + u],
                                          o[u] + bias[3 * width + u]);
    c[u] = row_lstm_cell(&gates, c_in[u]);
    h[u] = row_lstm_output(&gates, c[u]);
    i[u] = gates.i, f[u] = gates.f, g[u] = gates.g, o[u] = gates.o;
  }
}

static bool is_first(const OpsLstm *l, int t, int s) {
  return l->begins && l->begins[(size_t)t * (size_t)l->sequences + (size_t)s] != 0;
}

/* What enters step t of sequence s, from where it is. */
static void enter(const OpsLstm *l, int t, int s, const float *h, const float *c) {
  const size_t bytes = (size_t)l->width * sizeof(float);
  const size_t at = ((size_t)t * (size_t)l->sequences + (size_t)s) * (size_t)l->width;
  if (is_first(l, t, s)) {
    memset(l->h_in + at, 0, bytes);
    memset(l->c_in + at, 0, bytes);
    return;
  }
  memcpy(l->h_in + at, h, bytes);
  memcpy(l->c_in + at, c, bytes);
}

/* Step t of a block's sequences; cells: room for one row. */
static void forward_step(const CpuState *state, const OpsLstm *l, int t, int first, int count, float *cell) {
  const int width = l->width, columns = 4 * width;
  const size_t w = (size_t)width, row = (size_t)t * (size_t)l->sequences + (size_t)first;
  const CpuOperand h_in = {l->h_in + row * w, width}, wh = {l->wh, columns};
  float *gates = l->gates + row * 4 * w;
  cpu_product(state, OPS_BF16_FLOAT32, 0, 0, count, columns, width, h_in, wh, 1, gates, columns);
  for (int k = 0; k < count; k++) {
    float *own = gates + (size_t)k * 4 * w, *h = l->h + (row + (size_t)k) * w;
    const int s = first + k;
    step_row(own, own + w, own + 2 * w, own + 3 * w, l->bh, l->c_in + (row + (size_t)k) * w, cell, h, width);
    if (t + 1 < l->length) enter(l, t + 1, s, h, cell);
    else if (l->end) {
      memcpy(l->end + (size_t)s * l->stride, h, w * sizeof *h);
      memcpy(l->end + (size_t)s * l->stride + w, cell, w * sizeof *h);
    }
  }
}

static void lstm_forward(Ops *ops, const OpsLstm *l) {
  CpuState *state = cpu_state(ops);
  const int each = block_sequences(l->sequences), blocks = (l->sequences + each - 1) / each;
  CORE_CHECK(l->width <= state->max_width);
#pragma omp parallel for schedule(dynamic, 1) num_threads(state->threads) if (blocks > 1)
  for (int block = 0; block < blocks; block++) {
    const int first = block * each, count = l->sequences - first < each ? l->sequences - first : each;
    float *cell = cpu_thread_rows(state, CPU_PRODUCT_SCRATCH);
    for (int s = first; s < first + count; s++) {
      const float *start = l->start + (size_t)s * l->stride;
      enter(l, 0, s, start, start + l->width);
    }
    for (int t = 0; t < l->length; t++) forward_step(state, l, t, first, count, cell);
  }
  ops->flops += 8.0 * l->length * l->sequences * l->width * l->width;
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* The gates of a row become the gradient at z; dh_next, dc: those at what left the step, times `keep`, and dc becomes
 * that at the cell which entered. */
CPU_VECTOR static void step_row_backward(float *restrict i, float *restrict f, float *restrict g, float *restrict o,
                                         const float *restrict c_in, const float *restrict dh,
                                         const float *restrict dh_next, float *restrict dc, float keep, int width) {
  for (int u = 0; u < width; u++) {
    const RowGates gates = {i[u], f[u], g[u], o[u]};
    float dc_in;
    const RowGates dz = row_lstm_gradient(&gates, c_in[u], dh[u] + keep * dh_next[u], keep * dc[u], &dc_in);
    dc[u] = dc_in;
    i[u] = dz.i, f[u] = dz.f, g[u] = dz.g, o[u] = dz.o;
  }
}

static void backward_step(const CpuState *state, const OpsLstm *l, const float *dh, float *dstate, int t, int first,
                          int count) {
  const int width = l->width, columns = 4 * width;
  const size_t w = (size_t)width, row = (size_t)t * (size_t)l->sequences + (size_t)first;
  float *dh_next = dstate + (size_t)first * w, *dc = dh_next + (size_t)l->sequences * w;
  float *gates = l->gates + row * 4 * w;
  for (int k = 0; k < count; k++) {
    const size_t at = (row + (size_t)k) * w, of_state = (size_t)k * w;
    float *own = gates + (size_t)k * 4 * w;
    const float keep = t + 1 < l->length && is_first(l, t + 1, first + k) ? 0.0f : 1.0f;
    step_row_backward(own, own + w, own + 2 * w, own + 3 * w, l->c_in + at, dh + at, dh_next + of_state, dc + of_state,
                      keep, width);
  }
  cpu_product(state, OPS_BF16_FLOAT32, 0, 1, count, width, columns, (CpuOperand){gates, columns},
              (CpuOperand){l->wh, columns}, 0, dh_next, width);
}

static void lstm_backward(Ops *ops, const OpsLstm *l, const float *dh, float *dstate) {
  CpuState *state = cpu_state(ops);
  const int each = block_sequences(l->sequences), blocks = (l->sequences + each - 1) / each;
  memset(dstate, 0, 2 * (size_t)l->sequences * (size_t)l->width * sizeof *dstate);
#pragma omp parallel for schedule(dynamic, 1) num_threads(state->threads) if (blocks > 1)
  for (int block = 0; block < blocks; block++) {
    const int first = block * each, count = l->sequences - first < each ? l->sequences - first : each;
    for (int t = l->length - 1; t >= 0; t--) backward_step(state, l, dh, dstate, t, first, count);
  }
  ops->flops += 8.0 * l->length * l->sequences * l->width * l->width;
}

const OpsRecurrent CPU_RECURRENT = {.lstm_forward = lstm_forward, .lstm_backward = lstm_backward};
