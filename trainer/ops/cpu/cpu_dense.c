/* Parts of dense layers on the CPU: activations and their gradients over blocks of rows, sums of parts; and the
 * backward pass of a kernel so large that few parts of rows can have a copy of its gradient, so that threads divide its
 * columns too. All others: cpu_chain.c. */
#include <omp.h>

#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/fast_math_internal.h"

enum {
  KERNEL_COLUMNS = 256,            /* inputs of the layer per task: work for all threads in wide layers */
  BIAS_COLUMNS = 64,
};
_Static_assert(CPU_ROWS % CPU_BIAS_ROWS == 0, "a block of rows holds whole parts of the bias sum");

size_t cpu_bias_parts_floats(int max_rows, int max_width) {
  return (size_t)cpu_bias_parts(max_rows) * (size_t)max_width;
}

/* -------- activations: y = f(y + bias) over a block ---------------------------------------------------------- */

#define ACTIVATE(name, expression)                                                            \
  CPU_VECTOR static void activate_##name(float *y, const float *bias, int rows, int columns) { \
    for (int r = 0; r < rows; r++, y += columns)                                              \
      for (int c = 0; c < columns; c++) {                                                     \
        float z = y[c] + bias[c];                                                             \
        y[c] = (expression);                                                                  \
      }                                                                                       \
  }
ACTIVATE(linear, z)
ACTIVATE(tanh, fast_tanh(z))
ACTIVATE(relu, z > 0 ? z : z != z ? z : 0)
ACTIVATE(silu, z * fast_sigmoid(z))
ACTIVATE(elu, z > 0 ? z : fast_expm1(z))

typedef void Activate(float *y, const float *bias, int rows, int columns);
static Activate *const activate[] = {
    [OPS_LINEAR] = activate_linear, [OPS_TANH] = activate_tanh, [OPS_RELU] = activate_relu,
    [OPS_SILU] = activate_silu,     [OPS_ELU] = activate_elu,
};

void cpu_activate(OpsActivation activation, float *y, const float *bias, int rows, int columns) {
  activate[activation](y, bias, rows, columns);
}

/* -------- their gradients: dy *= f', bias gradient = column sums of dy --------------------------------------- */

/* y is the output; for SILU it is the recomputed product without bias, since SILU cannot be inverted. */
#define GRADIENT(name, expression)                                                                             \
  CPU_VECTOR static void gradient_##name(const float *y, const float *bias, float *dy, float *db, int rows,    \
                                         int columns) {                                                        \
    for (int c = 0; c < columns; c++) db[c] = 0;                                                               \
    for (int r = 0; r < rows; r++, y += columns, dy += columns)                                                \
      for (int c = 0; c < columns; c++) {                                                                      \
        float derivative = (expression);                                                                       \
        dy[c] *= derivative;                                                                                   \
        db[c] += dy[c];                                                                                        \
      }                                                                                                        \
  }
static inline float silu_derivative(float z) {
  float s = fast_sigmoid(z);
  return s * (1.0f + z * (1.0f - s));
}
GRADIENT(linear, 1.0f)
GRADIENT(tanh, 1.0f - y[c] * y[c])
GRADIENT(relu, y[c] > 0 ? 1.0f : 0.0f)
GRADIENT(silu, silu_derivative(y[c] + bias[c]))
GRADIENT(elu, y[c] > 0 ? 1.0f : y[c] + 1.0f)

typedef void Gradient(const float *y, const float *bias, float *dy, float *db, int rows, int columns);
static Gradient *const activation_gradient[] = {
    [OPS_LINEAR] = gradient_linear, [OPS_TANH] = gradient_tanh, [OPS_RELU] = gradient_relu,
    [OPS_SILU] = gradient_silu,     [OPS_ELU] = gradient_elu,
};

void cpu_activation_gradient(OpsActivation activation, const float *y, const float *bias, float *dy, float *db,
                             int rows, int columns) {
  activation_gradient[activation](y, bias, dy, db, rows, columns);
}

/* -------- sums of parts --------------------------------------------------------------------------------------- */

/* Folds at most BIAS_COLUMNS columns from `first` on. */
static void fold_some(const float *parts, int count, int columns, int first, float *target) {
  double sum[BIAS_COLUMNS] = {0};
  int some = columns - first < BIAS_COLUMNS ? columns - first : BIAS_COLUMNS;
  for (int part = 0; part < count; part++)
    for (int c = 0; c < some; c++) sum[c] += (double)parts[(size_t)part * columns + first + c];
  for (int c = 0; c < some; c++) target[first + c] = (float)sum[c];
}

void cpu_fold_columns(const float *parts, int count, int columns, float *target) {
#pragma omp for schedule(static) nowait
  for (int first = 0; first < columns; first += BIAS_COLUMNS) fold_some(parts, count, columns, first, target);
}

CPU_VECTOR static void fold_kernel(const float *copies, int parts, size_t stride, size_t first, size_t end, float *dw) {
  for (size_t i = first; i < end; i++) dw[i] = copies[i];
  for (int part = 1; part < parts; part++)
    for (size_t i = first; i < end; i++) dw[i] += copies[(size_t)part * stride + i];
}

void cpu_fold_kernel(const float *copies, int parts, size_t stride, size_t size, float *dw) {
  const size_t chunk = 2048;
#pragma omp for schedule(static) nowait
  for (size_t first = 0; first < size; first += chunk)
    fold_kernel(copies, parts, stride, first, first + chunk < size ? first + chunk : size, dw);
}

/* -------- backward with a large kernel ------------------------------------------------------------------------ */

typedef struct Large {
  CpuState *state;
  const OpsLayer *layer;
  const float *x;
  float *dy, *dx;
  CpuOperand w;
  OpsBf16Method method;
  int rows, parts;
} Large;

/* Turns dy of a block into the gradient before the activation; then computes its column sums and the gradient at the
 * input. */
static void backward_block(const Large *large, int block) {
  CpuState *state = large->state;
  const OpsLayer *layer = large->layer;
  size_t first = (size_t)block * CPU_ROWS;
  int count = cpu_block_rows(large->rows, block), in = layer->in, out = layer->out;
  float *dy = large->dy + first * out;
  const float *y = layer->y + first * out;

  if (layer->activation == OPS_SILU) {
    float *product = cpu_thread_rows(state, CPU_PRODUCT_SCRATCH);
    const CpuOperand x =
      cpu_operand(large->method, large->x + first * in, count, in, in, cpu_thread_rows(state, CPU_X_SCRATCH));
    cpu_product(state, large->method, 0, 0, count, out, in, x, large->w, 0, product, out);
    y = product;
  }

  for (int r = 0; r < count; r += CPU_BIAS_ROWS) {
    float *db = state->bias_parts + (first + r) / CPU_BIAS_ROWS * out;
    cpu_activation_gradient(layer->activation, y + (size_t)r * out, layer->b, dy + (size_t)r * out, db,
                            count - r < CPU_BIAS_ROWS ? count - r : CPU_BIAS_ROWS, out);
  }

  if (large->dx == NULL) return;
  const CpuOperand operand = cpu_operand(large->method, dy, count, out, out, cpu_thread_rows(state, CPU_DY_SCRATCH));
  cpu_product(state, large->method, 0, 1, count, in, out, operand, large->w, 0, large->dx + first * in, in);
}

/* Returns the number of row parts in which a kernel's gradient is summed: from the shape alone. */
static int kernel_parts(const CpuState *state, int rows, const OpsLayer *layer) {
  const size_t size = (size_t)layer->in * (size_t)layer->out, capacity = state->kernel_parts_capacity / size;
  const size_t parts = (size_t)cpu_blocks(rows) / 2;
  return capacity < 1 || parts < 1 ? 1 : (int)(parts < capacity ? parts : capacity);
}

/* dw = x^T dy: part p sums its rows into its own copy. With one part the copy is dw itself. */
static void kernel_task(const Large *large, int part, int column) {
  const OpsLayer *layer = large->layer;
  int blocks = cpu_blocks(large->rows), parts = large->parts;
  int first = (int)((int64_t)blocks * part / parts) * CPU_ROWS;
  int end = (int)((int64_t)blocks * (part + 1) / parts) * CPU_ROWS;
  int in = layer->in, out = layer->out, columns = in - column < KERNEL_COLUMNS ? in - column : KERNEL_COLUMNS;
  if (end > large->rows) end = large->rows;

  float *dw = parts == 1 ? layer->dw : large->state->kernel_parts + (size_t)part * in * out;
  /* as much as the rounding scratch holds */
  const int step = large->method == OPS_BF16_FLOAT32 ? end - first : CPU_ROWS;

  for (int row = first; row < end; row += step) {
    const int rows = end - row < step ? end - row : step;
    const CpuOperand x = cpu_operand(large->method, large->x + (size_t)row * in + column, rows, columns, in,
                                     cpu_thread_rows(large->state, CPU_X_SCRATCH));
    const CpuOperand dy = cpu_operand(large->method, large->dy + (size_t)row * out, rows, out, out,
                                      cpu_thread_rows(large->state, CPU_DY_SCRATCH));
    cpu_product(large->state, large->method, 1, 0, columns, out, rows, x, dy, row > first, dw + (size_t)column * out,
                out);
  }
}

void cpu_dense_backward_large(CpuState *state, const float *x, const OpsLayer *layer, float *dy, float *dx, int rows) {
  const int in = layer->in, slices = (in + KERNEL_COLUMNS - 1) / KERNEL_COLUMNS,
            parts = kernel_parts(state, rows, layer);
  const size_t size = (size_t)in * (size_t)layer->out;
  const OpsBf16Method method = cpu_method(state, in, layer->out);
  const CpuOperand w = cpu_operand(method, layer->w, in, layer->out, layer->out, state->operands);
  const Large large = {state, layer, x, dy, dx, w, method, rows, parts};

  int threads_before = omp_get_max_threads();
  omp_set_num_threads(state->threads);
#pragma omp parallel
  {
#pragma omp for schedule(dynamic, 1)
    for (int block = 0; block < cpu_blocks(rows); block++) backward_block(&large, block);
#pragma omp for schedule(dynamic, 1)
    for (int task = 0; task < parts * slices; task++)
      kernel_task(&large, task / slices, task % slices * KERNEL_COLUMNS);

    if (layer->db) cpu_fold_columns(state->bias_parts, cpu_bias_parts(rows), layer->out, layer->db);
    if (parts > 1) cpu_fold_kernel(state->kernel_parts, parts, size, size, layer->dw);
  }
  omp_set_num_threads(threads_before);
}
