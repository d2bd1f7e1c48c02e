/* LSTM passes on the CPU (recurrent.h). A thread takes a block of sequences through all steps, so that no thread waits
 * between steps, and a step's values stay in its cache from one product to the next. Gradients of the kernels are
 * computed afterwards, by parts of the rows, each read once. Boundaries depend on shapes alone. Products are float32 in
 * any precision. */
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/recurrent.h"
#include "trainer/ops/row_lstm_internal.h"

enum {
  SEQUENCES_MIN = 32, BLOCKS = 8, ROUND = 16,
  PARTS = 16,             /* maximum parts of the rows in which gradients of kernels are summed */
  CHUNK_ROWS = 512,       /* rows per product of a part */
};
_Static_assert(CHUNK_ROWS % CPU_BIAS_ROWS == 0, "a chunk holds whole parts of the bias sum");

/* Returns the sequences per block: enough for a product, few enough for several threads, at most CPU_ROWS. */
static int block_sequences(int sequences) {
  const int share = ((sequences + BLOCKS - 1) / BLOCKS + ROUND - 1) / ROUND * ROUND;
  return share < SEQUENCES_MIN ? SEQUENCES_MIN : share > CPU_ROWS ? CPU_ROWS : share;
}

static int rows_of(const OpsLstm *l) { return l->length * l->sequences; }

/* c [m][n] (+)= a b, or a b' */
static void multiply(const CpuState *state, int transpose_a, int transpose_b, int m, int n, int k, CpuOperand a,
                     CpuOperand b, int accumulate, float *c) {
  cpu_product(state, OPS_BF16_FLOAT32, transpose_a, transpose_b, m, n, k, a, b, accumulate, c, n);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* Computes a row's gates [4][width], its cell and its output. */
CPU_VECTOR static void step_row(float *restrict i, float *restrict f, float *restrict g, float *restrict o,
                                const float *restrict bx, const float *restrict bh, const float *restrict c_in,
                                float *restrict c, float *restrict h, int width) {
  for (int u = 0; u < width; u++) {
    const RowGates gates = row_lstm_gates(i[u] + (bx[u] + bh[u]), f[u] + (bx[width + u] + bh[width + u]),
                                          g[u] + (bx[2 * width + u] + bh[2 * width + u]),
                                          o[u] + (bx[3 * width + u] + bh[3 * width + u]));
    c[u] = row_lstm_cell(&gates, c_in[u]);
    h[u] = row_lstm_output(&gates, c[u]);
    i[u] = gates.i;
    f[u] = gates.f;
    g[u] = gates.g;
    o[u] = gates.o;
  }
}

static bool is_first(const OpsLstm *l, int t, int s) {
  return l->begins && l->begins[(size_t)t * (size_t)l->sequences + (size_t)s] != 0;
}

/* Stores the state that enters step t of sequence s. */
static void store_input_state(const OpsLstm *l, int t, int s, const float *h, const float *c) {
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

/* Computes step t of a block's sequences; cells: scratch for one row. */
static void forward_step(const CpuState *state, const OpsLstm *l, int t, int first, int count, float *cell) {
  const int width = l->width, columns = 4 * width;
  const size_t w = (size_t)width, row = (size_t)t * (size_t)l->sequences + (size_t)first;
  const CpuOperand x = {l->x + row * (size_t)l->in, l->in}, h_in = {l->h_in + row * w, width};
  float *gates = l->gates + row * 4 * w;

  multiply(state, 0, 0, count, columns, l->in, x, (CpuOperand){l->wx, columns}, 0, gates);
  multiply(state, 0, 0, count, columns, width, h_in, (CpuOperand){l->wh, columns}, 1, gates);

  for (int k = 0; k < count; k++) {
    float *own = gates + (size_t)k * 4 * w, *h = l->h + (row + (size_t)k) * w;
    const int s = first + k;
    step_row(own, own + w, own + 2 * w, own + 3 * w, l->bx, l->bh, l->c_in + (row + (size_t)k) * w, cell, h,
             width);
    if (t + 1 < l->length) store_input_state(l, t + 1, s, h, cell);
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
      store_input_state(l, 0, s, start, start + l->width);
    }
    for (int t = 0; t < l->length; t++) forward_step(state, l, t, first, count, cell);
  }
  ops->flops += 8.0 * rows_of(l) * l->width * (l->in + l->width);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* Turns the gates of a row into the gradient at z; dh_next, dc: gradients at the state after the step, times `keep`; dc
 * becomes that at the cell state before it. */
CPU_VECTOR static void step_row_backward(float *restrict i, float *restrict f, float *restrict g, float *restrict o,
                                         const float *restrict c_in, const float *restrict dh,
                                         const float *restrict dh_next, float *restrict dc, float keep, int width) {
  for (int u = 0; u < width; u++) {
    const RowGates gates = {i[u], f[u], g[u], o[u]};
    float dc_in;
    const RowGates dz = row_lstm_gradient(&gates, c_in[u], dh[u] + keep * dh_next[u], keep * dc[u], &dc_in);
    dc[u] = dc_in;
    i[u] = dz.i;
    f[u] = dz.f;
    g[u] = dz.g;
    o[u] = dz.o;
  }
}

/* Computes the backward pass of a step of a block's sequences; wh: transposed, [4 width][width]. */
static void backward_step(const CpuState *state, const OpsLstm *l, const float *dh, const OpsLstmGradients *to,
                          const float *wh, int t, int first, int count) {
  const int width = l->width, columns = 4 * width;
  const size_t w = (size_t)width, row = (size_t)t * (size_t)l->sequences + (size_t)first;
  float *dh_next = to->dstate + (size_t)first * w, *dc = dh_next + (size_t)l->sequences * w;
  const CpuOperand dz = {l->gates + row * 4 * w, columns};
  for (int k = 0; k < count; k++) {
    const size_t at = (row + (size_t)k) * w, of_state = (size_t)k * w;
    float *own = l->gates + 4 * at;
    const float keep = t + 1 < l->length && is_first(l, t + 1, first + k) ? 0.0f : 1.0f;
    step_row_backward(own, own + w, own + 2 * w, own + 3 * w, l->c_in + at, dh + at, dh_next + of_state, dc + of_state,
                      keep, width);
  }
  multiply(state, 0, 0, count, width, columns, dz, (CpuOperand){wh, width}, 0, dh_next);
  if (to->dx)
    multiply(state, 0, 1, count, l->in, columns, dz, (CpuOperand){l->wx, columns}, 0, to->dx + row * (size_t)l->in);
}

static void backward_steps(CpuState *state, const OpsLstm *l, const float *dh, const OpsLstmGradients *to) {
  const int each = block_sequences(l->sequences), blocks = (l->sequences + each - 1) / each, columns = 4 * l->width;
  float *wh = state->kernels;
  memset(to->dstate, 0, 2 * (size_t)l->sequences * (size_t)l->width * sizeof *to->dstate);
  cpu_transpose(l->wh, (size_t)columns, l->width, columns, wh, (size_t)l->width);
#pragma omp parallel for schedule(dynamic, 1) num_threads(state->threads) if (blocks > 1)
  for (int block = 0; block < blocks; block++) {
    const int first = block * each, count = l->sequences - first < each ? l->sequences - first : each;
    for (int t = l->length - 1; t >= 0; t--) backward_step(state, l, dh, to, wh, t, first, count);
  }
}

CPU_VECTOR static void sum_rows(const float *dz, int rows, int columns, float *sums) {
  for (int c = 0; c < columns; c++) sums[c] = dz[c];
  for (int r = 1; r < rows; r++)
    for (int c = 0; c < columns; c++) sums[c] += dz[(size_t)r * (size_t)columns + (size_t)c];
}

/* Sums rows first .. end - 1 of x, h_in and dz -> a copy of the kernels' gradients, dwx then dwh; and parts of the
 * bias's. */
static void kernel_part(const CpuState *state, const OpsLstm *l, int first, int end, float *copy) {
  const int columns = 4 * l->width;
  const size_t in = (size_t)l->in, w = (size_t)l->width;
  for (int row = first; row < end; row += CHUNK_ROWS) {
    const int rows = end - row < CHUNK_ROWS ? end - row : CHUNK_ROWS;
    const size_t at = (size_t)row;
    const float *numbers = l->gates + at * 4 * w;
    const CpuOperand dz = {numbers, columns};
    multiply(state, 1, 0, l->in, columns, rows, (CpuOperand){l->x + at * in, l->in}, dz, row > first, copy);
    multiply(state, 1, 0, l->width, columns, rows, (CpuOperand){l->h_in + at * w, l->width}, dz, row > first,
             copy + in * 4 * w);
    for (int r = 0; r < rows; r += CPU_BIAS_ROWS)
      sum_rows(numbers + (size_t)r * 4 * w, rows - r < CPU_BIAS_ROWS ? rows - r : CPU_BIAS_ROWS, columns,
               state->bias_parts + (size_t)((row + r) / CPU_BIAS_ROWS) * 4 * w);
  }
}

/* Returns the number of parts of the rows, of `each` rows but the last; 0: copies do not fit. */
static int kernel_parts(const CpuState *state, const OpsLstm *l, int *each) {
  const size_t size = (size_t)(l->in + l->width) * 4 * (size_t)l->width, capacity = state->kernel_parts_capacity / size;
  const int chunks = (rows_of(l) + CHUNK_ROWS - 1) / CHUNK_ROWS, most = capacity < PARTS ? (int)capacity : PARTS;
  if (most == 0) return 0;
  const int chunks_each = (chunks + most - 1) / most;
  *each = chunks_each * CHUNK_ROWS;
  return (chunks + chunks_each - 1) / chunks_each;
}

static void kernel_gradients(Ops *ops, const OpsLstm *l, const OpsLstmGradients *to) {
  CpuState *state = cpu_state(ops);
  const int rows = rows_of(l), columns = 4 * l->width;
  const size_t of_x = (size_t)l->in * (size_t)columns, of_h = (size_t)l->width * (size_t)columns, size = of_x + of_h;
  int each = 0;
  const int parts = kernel_parts(state, l, &each);
  if (parts == 0) { /* such large layers are computed without copies */
    cpu_dense_backward(ops, l->x, l->wx, l->bx, l->gates, l->gates, NULL, to->dwx, to->dbx, rows, l->in, columns,
                       OPS_LINEAR);
    cpu_dense_backward(ops, l->h_in, l->wh, l->bh, l->gates, l->gates, NULL, to->dwh, to->dbh, rows, l->width, columns,
                       OPS_LINEAR);
    return;
  }

#pragma omp parallel num_threads(state->threads)
  {
#pragma omp for schedule(dynamic, 1)
    for (int part = 0; part < parts; part++)
      kernel_part(state, l, part * each, (part + 1) * each < rows ? (part + 1) * each : rows,
                  state->kernel_parts + (size_t)part * size);
    cpu_fold_columns(state->bias_parts, cpu_bias_parts(rows), columns, to->dbx);
    cpu_fold_kernel(state->kernel_parts, parts, size, of_x, to->dwx);
    cpu_fold_kernel(state->kernel_parts + of_x, parts, size, of_h, to->dwh);
  }

  memcpy(to->dbh, to->dbx, (size_t)columns * sizeof *to->dbh);
  ops->flops += 2.0 * rows * (double)size;
}

static void lstm_backward(Ops *ops, const OpsLstm *l, const float *dh, const OpsLstmGradients *to) {
  CpuState *state = cpu_state(ops);
  CORE_CHECK(rows_of(l) <= state->max_rows && 4 * l->width <= state->max_width && l->in <= state->max_width);
  backward_steps(state, l, dh, to);
  ops->flops += 8.0 * rows_of(l) * l->width * (l->width + (to->dx ? l->in : 0));
  kernel_gradients(ops, l, to);
}

const OpsRecurrent CPU_RECURRENT = {.lstm_forward = lstm_forward, .lstm_backward = lstm_backward};
