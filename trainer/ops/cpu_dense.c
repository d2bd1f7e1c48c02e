/* Dense layers on the CPU: matrix products over blocks of rows with bias, activation and the activation's gradient
 * applied to a block while it is in the cache. Blocks are fixed (cpu_internal.h); threads take whole blocks. */
#include <omp.h>

#include "trainer/ops/cpu_internal.h"
#include "trainer/ops/fast_math_internal.h"

enum {
  KERNEL_PARTS = 16,               /* a kernel's gradient is summed in at most so many row parts */
  KERNEL_PARTS_FLOATS = 1 << 24,   /* and in fewer where they would take more memory than this */
  KERNEL_COLUMNS = 256,            /* inputs of the layer that one task takes: work for all threads in wide layers */
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

/* y is the output; for SILU it is the recomputed product without bias, since SILU can not be inverted. */
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

void cpu_activation_gradient(OpsActivation activation, const float *y, const float *bias, float *dy, float *db, int rows,
                             int columns) {
  activation_gradient[activation](y, bias, dy, db, rows, columns);
}

/* -------- forward -------------------------------------------------------------------------------------------- */

void cpu_dense_forward(Ops *ops, const float *x, const float *w, const float *b, float *y, int rows, int in, int out,
                       OpsActivation activation) {
  CpuState *state = cpu_state(ops);
  int threads_before = omp_get_max_threads();
  omp_set_num_threads(state->threads);
#pragma omp parallel for schedule(dynamic, 1)
  for (int block = 0; block < cpu_blocks(rows); block++) {
    size_t first = (size_t)block * CPU_ROWS;
    int count = cpu_block_rows(rows, block);
    float *target = y + first * out;
    state->library->product(0, 0, count, out, in, x + first * in, in, w, out, 0, target, out);
    cpu_activate(activation, target, b, count, out);
  }
  omp_set_num_threads(threads_before);
  ops->flops += 2.0 * rows * in * out;
}

/* -------- backward ------------------------------------------------------------------------------------------- */

typedef struct Layer {
  CpuState *state;
  const float *x, *w, *b, *y;
  float *dy, *dx, *dw, *db;
  int rows, in, out;
  OpsActivation activation;
} Layer;

/* dy of a block becomes the gradient before the activation, its column sums and the gradient at the input follow. */
static void backward_block(const Layer *layer, int block) {
  CpuState *state = layer->state;
  size_t first = (size_t)block * CPU_ROWS;
  int count = cpu_block_rows(layer->rows, block), in = layer->in, out = layer->out;
  float *dy = layer->dy + first * out;
  const float *y = layer->y + first * out;
  if (layer->activation == OPS_SILU) {
    float *product = state->rows_scratch + (size_t)omp_get_thread_num() * CPU_ROWS * state->max_width;
    state->library->product(0, 0, count, out, in, layer->x + first * in, in, layer->w, out, 0, product, out);
    y = product;
  }
  for (int r = 0; r < count; r += CPU_BIAS_ROWS) {
    float *db = state->bias_parts + (first + r) / CPU_BIAS_ROWS * out;
    cpu_activation_gradient(layer->activation, y + (size_t)r * out, layer->b, dy + (size_t)r * out, db,
                            count - r < CPU_BIAS_ROWS ? count - r : CPU_BIAS_ROWS, out);
  }
  if (layer->dx) state->library->product(0, 1, count, in, out, dy, out, layer->w, out, 0, layer->dx + first * in, in);
}

/* Columns from `first` on, at most BIAS_COLUMNS of them. */
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

/* How many row parts a kernel's gradient is summed in: from the shape alone. */
static int kernel_parts(int rows, int in, int out) {
  int64_t parts = cpu_blocks(rows) / 2, room = KERNEL_PARTS_FLOATS / ((int64_t)in * out);
  if (parts > room) parts = room;
  if (parts > KERNEL_PARTS) parts = KERNEL_PARTS;
  return parts < 1 ? 1 : (int)parts;
}

size_t cpu_kernel_parts_floats(int max_width) {
  size_t most = (size_t)KERNEL_PARTS * max_width * max_width;
  return most < KERNEL_PARTS_FLOATS ? most : KERNEL_PARTS_FLOATS;
}

/* dw = x^T dy: part p sums its rows into its own copy. With one part the copy is dw itself. */
static void kernel_task(const Layer *layer, int parts, int part, int column) {
  int blocks = cpu_blocks(layer->rows);
  int first = (int)((int64_t)blocks * part / parts) * CPU_ROWS;
  int end = (int)((int64_t)blocks * (part + 1) / parts) * CPU_ROWS;
  int in = layer->in, out = layer->out, columns = in - column < KERNEL_COLUMNS ? in - column : KERNEL_COLUMNS;
  if (end > layer->rows) end = layer->rows;
  float *dw = parts == 1 ? layer->dw : layer->state->kernel_parts + (size_t)part * in * out;
  layer->state->library->product(1, 0, columns, out, end - first, layer->x + (size_t)first * in + column, in,
                                 layer->dy + (size_t)first * out, out, 0, dw + (size_t)column * out, out);
}

CPU_VECTOR static void fold_kernel(const float *parts_of_kernel, int parts, size_t size, size_t first, size_t end,
                                   float *dw) {
  for (size_t i = first; i < end; i++) dw[i] = parts_of_kernel[i];
  for (int part = 1; part < parts; part++)
    for (size_t i = first; i < end; i++) dw[i] += parts_of_kernel[(size_t)part * size + i];
}

void cpu_dense_backward(Ops *ops, const float *x, const float *w, const float *b, const float *y, float *dy, float *dx,
                        float *dw, float *db, int rows, int in, int out, OpsActivation activation) {
  CpuState *state = cpu_state(ops);
  Layer layer = {state, x, w, b, y, dy, dx, dw, db, rows, in, out, activation};
  int parts = kernel_parts(rows, in, out), slices = (in + KERNEL_COLUMNS - 1) / KERNEL_COLUMNS;
  size_t size = (size_t)in * out, chunk = 8192;
  CORE_CHECK(rows <= state->max_rows && in <= state->max_width && out <= state->max_width);
  int threads_before = omp_get_max_threads();
  omp_set_num_threads(state->threads);
#pragma omp parallel
  {
#pragma omp for schedule(dynamic, 1)
    for (int block = 0; block < cpu_blocks(rows); block++) backward_block(&layer, block);
#pragma omp for schedule(dynamic, 1)
    for (int task = 0; task < parts * slices; task++)
      kernel_task(&layer, parts, task / slices, task % slices * KERNEL_COLUMNS);
    cpu_fold_columns(state->bias_parts, cpu_bias_parts(rows), out, db);
    if (parts > 1) {
#pragma omp for schedule(static)
      for (size_t first = 0; first < size; first += chunk)
        fold_kernel(state->kernel_parts, parts, size, first, first + chunk < size ? first + chunk : size, dw);
    }
  }
  omp_set_num_threads(threads_before);
  ops->flops += 2.0 * rows * in * out * (1 + (dx != NULL) + (activation == OPS_SILU));
}
