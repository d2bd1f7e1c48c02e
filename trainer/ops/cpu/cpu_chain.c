/* Dense layers on the CPU, one or a chain of them: matrix products over blocks of rows, with bias, activation and the
 * activation's gradient applied to a block while it is in the cache. A block goes through all layers of a chain, and
 * back through all of them, before the next one starts: a gradient between layers never leaves the cache, and a layer's
 * output is read from memory once for the layer above and below it. Blocks and parts are fixed by shapes
 * (cpu_internal.h); threads take whole ones.
 *
 * Kernels too large for a copy in each part go through cpu_dense.c instead. */
#include <stdbool.h>

#include "trainer/ops/cpu/cpu_internal.h"

enum {
  PARTS = 16,             /* gradients are summed in at most this many row parts, or in more of ... */
  PART_BLOCKS = 8,        /* ... this many blocks each, */
  PARTS_MAX = 64,        /* up to this number */
  CHAIN_WIDTHS = 4,       /* scratch holds this many layers of the maximum width */
  TRANSPOSE_ROWS = 16,    /* rows of a kernel that a thread transposes at a time */
};

/* ---- memory ------------------------------------------------------------------------------------------------------ */

size_t cpu_chain_kernels_floats(const CpuState *state) {
  const size_t capacity = CHAIN_WIDTHS * (size_t)state->max_width * (size_t)state->max_width;
  if (capacity <= CPU_KERNEL_PARTS_FLOATS) return capacity;
  return state->max_kernel > CPU_KERNEL_PARTS_FLOATS ? state->max_kernel : CPU_KERNEL_PARTS_FLOATS;
}

static size_t chain_biases(int max_width) { return (size_t)CHAIN_WIDTHS * (size_t)max_width; }
size_t cpu_chain_bias_sums(int max_width) { return PARTS_MAX * chain_biases(max_width); }

static size_t kernel_size(const OpsLayer *layer) { return (size_t)layer->in * (size_t)layer->out; }

static int most_parts(int rows) {
  const int blocks = cpu_blocks(rows);
  int parts = blocks / PART_BLOCKS;
  if (parts < PARTS) parts = PARTS;
  if (parts > PARTS_MAX) parts = PARTS_MAX;
  return parts < blocks ? parts : blocks;
}

size_t cpu_chain_parts_floats(int max_rows, int max_width) {
  const size_t most = (size_t)most_parts(max_rows) * CHAIN_WIDTHS * (size_t)max_width * (size_t)max_width;
  return most < CPU_KERNEL_PARTS_FLOATS ? most : CPU_KERNEL_PARTS_FLOATS;
}

/* Returns the first of the layers up to `end` that are processed together because the scratch holds all of them; `end`:
 * not even the last one. */
static int first_of_run(const CpuState *state, const OpsLayer *layers, int end, int parts) {
  size_t kernels = 0, biases = 0;
  for (int first = end; first > 0; first--) {
    kernels += kernel_size(&layers[first - 1]);
    biases += (size_t)layers[first - 1].out;
    if (kernels > cpu_chain_kernels_floats(state) || biases > chain_biases(state->max_width) ||
        kernels * (size_t)parts > state->kernel_parts_capacity)
      return first;
  }
  return 0;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* Layers that are processed together. */
typedef struct Run {
  CpuState *state;
  const OpsLayer *layers;
  int count, rows, parts;
  size_t kernels, biases; /* sizes of a part's copy, of all layers */
  const float *x;
  bool has_zeros;         /* whether x has many zeros */
  CpuPatterns (*patterns)[2]; /* [blocks] zero patterns, if known */
  float *dy, *dx;         /* [rows][...] gradients above and below; dx may be NULL */
} Run;

/* Return the offsets of layer l's kernel and bias in a part's copy, and of its kernel among all. */
static size_t kernel_offset(const Run *run, int l) {
  size_t offset = 0;
  for (int i = 0; i < l; i++) offset += kernel_size(&run->layers[i]);
  return offset;
}
static size_t bias_place(const Run *run, int l) {
  size_t offset = 0;
  for (int i = 0; i < l; i++) offset += (size_t)run->layers[i].out;
  return offset;
}

static OpsBf16Method layer_method(const Run *run, int l) {
  return cpu_method(run->state, run->layers[l].in, run->layers[l].out);
}

/* Returns layer l's kernel as a factor: in place, or as rounded by round_kernels. */
static CpuOperand kernel_operand(const Run *run, int l) {
  const OpsLayer *layer = &run->layers[l];
  if (layer_method(run, l) == OPS_BF16_FLOAT32) return (CpuOperand){layer->w, layer->out};
  return (CpuOperand){run->state->operands + kernel_offset(run, l), layer->out};
}

static bool has_rounded(const Run *run) {
  for (int l = 0; l < run->count; l++)
    if (layer_method(run, l) != OPS_BF16_FLOAT32) return true;
  return false;
}

/* Rounds the kernels; called by a group of threads. */
static void round_kernels(const Run *run) {
  if (!has_rounded(run)) return; /* no barrier needed */
#pragma omp for schedule(static)
  for (int l = 0; l < run->count; l++) {
    const OpsLayer *layer = &run->layers[l];
    float *rounded = run->state->operands + kernel_offset(run, l);
    cpu_operand(layer_method(run, l), layer->w, layer->in, layer->out, layer->out, rounded);
  }
}

/* Computes C[m][n] of layer l for a block of rows, whose left factor is x, transposed or not. */
static void multiply_x(const Run *run, int l, int block, int transposed, int m, int n, int k, CpuOperand x,
                       CpuOperand b, int accumulate, float *c) {
  if (l == 0 && run->has_zeros) {
    CpuPatterns own;
    const CpuPatterns *patterns = run->patterns ? &run->patterns[block][transposed] : &own;
    if (!run->patterns) cpu_zeros_find(x.data, transposed ? k : m, x.stride, transposed, &own);
    if ((run->patterns || cpu_zeros_are_shared(&own, m)) &&
        cpu_zeros_product(patterns, transposed, m, n, k, x.data, x.stride, b.data, b.stride, accumulate, c, n))
      return;
  }
  cpu_product(run->state, layer_method(run, l), transposed, 0, m, n, k, x, b, accumulate, c, n);
}

/* Looks for zeros in the chain's input. Layers' outputs have no zeros in the same positions of many rows. */
static void look_for_zeros(const float *input, Run *run) {
  const CpuInputs *inputs = &run->state->inputs;
  const int in = run->layers[0].in;
  if (run->x != input || layer_method(run, 0) != OPS_BF16_FLOAT32) return;
  if (run->x == inputs->x && run->rows == inputs->rows && in == inputs->columns) {
    run->has_zeros = inputs->has_zeros;
    run->patterns = inputs->blocks;
  } else run->has_zeros = cpu_zeros_are_many(run->state, run->x, NULL, run->rows, in);
}

static void forward_block(const Run *run, int block) {
  CpuState *state = run->state;
  const size_t first = (size_t)block * CPU_ROWS;
  const int some = cpu_block_rows(run->rows, block);
  const float *x = run->x + first * (size_t)run->layers[0].in;
  for (int l = 0; l < run->count; l++) {
    const OpsLayer *layer = &run->layers[l];
    float *y = layer->y + first * (size_t)layer->out;
    const OpsBf16Method method = layer_method(run, l);
    const CpuOperand operand = cpu_operand(method, x, some, layer->in, layer->in,
                                           cpu_thread_rows(state, CPU_X_SCRATCH));
    multiply_x(run, l, block, 0, some, layer->out, layer->in, operand, kernel_operand(run, l), 0, y);
    cpu_activate(layer->activation, y, layer->b, some, layer->out);
    x = y;
  }
}

static void forward_run(const Run *run) {
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(run->state->threads);
#pragma omp parallel
  {
    round_kernels(run);
#pragma omp for schedule(dynamic, 1)
    for (int block = 0; block < cpu_blocks(run->rows); block++) forward_block(run, block);
  }
  omp_set_num_threads(threads_before);
}

/* Returns the end of the layers from `first` on whose rounded kernels fit in the scratch; in float32 all. */
static int end_of_run(const CpuState *state, const OpsLayer *layers, int first, int count) {
  size_t kernels = kernel_size(&layers[first]);
  int end = first + 1;
  if (!state->has_bf16) return count;
  while (end < count && (kernels += kernel_size(&layers[end])) <= cpu_chain_kernels_floats(state)) end++;
  return end;
}

void cpu_chain_forward(Ops *ops, const float *x, const OpsLayer *layers, int count, int rows) {
  CpuState *state = cpu_state(ops);
  for (int first = 0, end; first < count; first = end) {
    end = end_of_run(state, layers, first, count);
    Run run = {.state = state, .layers = layers + first, .count = end - first, .rows = rows,
               .x = first > 0 ? layers[first - 1].y : x};
    look_for_zeros(x, &run);
    forward_run(&run);
  }
  for (int l = 0; l < count; l++) ops->flops += 2.0 * rows * layers[l].in * layers[l].out;
}

void cpu_dense_forward(Ops *ops, const float *x, const float *w, const float *b, float *y, int rows, int in, int out,
                       OpsActivation activation) {
  const OpsLayer layer = {.in = in, .out = out, .activation = activation, .w = w, .b = b, .y = y};
  cpu_chain_forward(ops, x, &layer, 1, rows);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* Transposes the kernels, after round_kernels; called by a group of threads. sgemm is faster without transposed
 * matrices, and each kernel is used for many blocks. */
static void transpose_kernels(const Run *run) {
  for (int l = run->dx ? 0 : 1; l < run->count; l++) {
    if (layer_method(run, l) == OPS_BF16_LIBRARY) continue;
    const int in = run->layers[l].in, out = run->layers[l].out;
    const float *kernel = kernel_operand(run, l).data;
#pragma omp for schedule(static) nowait
    for (int first = 0; first < out; first += TRANSPOSE_ROWS)
      cpu_transpose(kernel + first, (size_t)out, in, first + TRANSPOSE_ROWS < out ? TRANSPOSE_ROWS : out - first,
                    run->state->kernels + kernel_offset(run, l) + (size_t)first * (size_t)in, (size_t)in);
  }
#pragma omp barrier
}

/* dx = dy W^T of a block. */
static void multiply_below(const Run *run, int l, int rows, CpuOperand dy, float *dx) {
  const int in = run->layers[l].in, out = run->layers[l].out;
  const CpuOperand transposed = {run->state->kernels + kernel_offset(run, l), in};
  const OpsBf16Method method = layer_method(run, l);
  if (method == OPS_BF16_LIBRARY)
    cpu_product(run->state, method, 0, 1, rows, in, out, dy, kernel_operand(run, l), 0, dx, in);
  else cpu_product(run->state, method, 0, 0, rows, in, out, dy, transposed, 0, dx, in);
}

/* Turns dy of some rows of layer l into the gradient before the activation; adds its column sums to `sums`. */
static void before_activation(const Run *run, int l, CpuOperand x, const float *y, float *dy, int rows, double *sums) {
  CpuState *state = run->state;
  const OpsLayer *layer = &run->layers[l];
  const size_t out = (size_t)layer->out;
  float *db = cpu_thread_rows(state, CPU_BIAS_SCRATCH);
  if (layer->db == NULL && layer->activation == OPS_LINEAR) return;

  /* SiLU's derivative takes the product, which is not stored: it is computed again. */
  if (layer->activation == OPS_SILU) {
    float *product = cpu_thread_rows(state, CPU_PRODUCT_SCRATCH);
    cpu_product(state, layer_method(run, l), 0, 0, rows, layer->out, layer->in, x, kernel_operand(run, l), 0, product,
                layer->out);
    y = product;
  }

  for (int r = 0; r < rows; r += CPU_BIAS_ROWS) {
    const size_t at = (size_t)r * out;
    cpu_activation_gradient(layer->activation, y + at, layer->b, dy + at, db,
                            rows - r < CPU_BIAS_ROWS ? rows - r : CPU_BIAS_ROWS, layer->out);
    for (size_t c = 0; c < out; c++) sums[c] += (double)db[c];
  }
}

/* Whether a thread that has all parts, of a block each, may accumulate their kernels directly: the same sums as those
 * of fold_parts. Products of cpu_small.c are known to accumulate like that. */
static bool adds_up(const Run *run, int l) {
  const OpsLayer *layer = &run->layers[l];
  return run->state->threads == 1 && run->parts == cpu_blocks(run->rows) && run->state->library->has_small &&
         layer_method(run, l) == OPS_BF16_FLOAT32 && cpu_small_takes(layer->in, layer->out, CPU_ROWS);
}

/* Returns the input rows of layer l in a block. */
static const float *layer_input(const Run *run, int l, int block) {
  const float *x = l > 0 ? run->layers[l - 1].y : run->x;
  return x + (size_t)block * CPU_ROWS * (size_t)run->layers[l].in;
}

/* Returns the memory for dx of layer l in a block: scratch of this thread, or the run's own dx for the first layer,
 * which may be NULL (not wanted). Neighboring layers use different scratch, since dx of one is dy of the next. */
static float *layer_dx(const Run *run, int l, int block) {
  if (l > 0) return cpu_thread_rows(run->state, l % 2 ? CPU_EVEN_SCRATCH : CPU_ODD_SCRATCH);
  return run->dx ? run->dx + (size_t)block * CPU_ROWS * (size_t)run->layers[0].in : NULL;
}

/* Adds x^T dy of a block to the kernel gradient of layer l: to that of the part, which fold_parts sums, or directly to
 * the layer's. */
static void add_kernel_gradient(const Run *run, int l, int part, int block, bool is_first, CpuOperand x,
                                CpuOperand dy) {
  const OpsLayer *layer = &run->layers[l];
  const bool direct = adds_up(run, l), accumulate = direct ? part > 0 : !is_first;
  float *of_part = run->state->kernel_parts + (size_t)part * run->kernels + kernel_offset(run, l);
  multiply_x(run, l, block, 1, layer->in, layer->out, cpu_block_rows(run->rows, block), x, dy, accumulate,
             direct ? layer->dw : of_part);
}

/* Computes the backward pass of layer l in a block of part `part`: overwrites dy with the gradient before the
 * activation, adds to the bias sums `db` and to the kernel gradient, and writes dx unless it is NULL. */
static void backward_layer(const Run *run, int l, int part, int block, bool is_first, double *db, float *dy,
                           float *dx) {
  CpuState *state = run->state;
  const OpsLayer *layer = &run->layers[l];
  const int rows = cpu_block_rows(run->rows, block), in = layer->in, out = layer->out;
  const float *y = layer->y + (size_t)block * CPU_ROWS * (size_t)out;
  const OpsBf16Method method = layer_method(run, l);
  const CpuOperand x = cpu_operand(method, layer_input(run, l, block), rows, in, in,
                                   cpu_thread_rows(state, CPU_X_SCRATCH));
  before_activation(run, l, x, y, dy, rows, db + bias_place(run, l));
  const CpuOperand dz = cpu_operand(method, dy, rows, out, out, cpu_thread_rows(state, CPU_DY_SCRATCH));
  if (dx) multiply_below(run, l, rows, dz, dx);
  add_kernel_gradient(run, l, part, block, is_first, x, dz);
}

/* Computes the backward pass of a block of part `part`, from the last layer to the first. is_first: the part's first
 * block, which sets the part's sums instead of adding to them. */
static void backward_block(const Run *run, int part, int block, bool is_first) {
  double *db = run->state->bias_sums + (size_t)part * run->biases;
  float *dy = run->dy + (size_t)block * CPU_ROWS * (size_t)run->layers[run->count - 1].out;
  if (is_first) memset(db, 0, run->biases * sizeof *db);
  for (int l = run->count - 1; l >= 0; l--) {
    float *dx = layer_dx(run, l, block);
    backward_layer(run, l, part, block, is_first, db, dy, dx);
    dy = dx;
  }
}

static void backward_part(const Run *run, int part) {
  const int64_t blocks = cpu_blocks(run->rows);
  const int first = (int)(blocks * part / run->parts), end = (int)(blocks * (part + 1) / run->parts);
  for (int block = first; block < end; block++) backward_block(run, part, block, block == first);
}

/* Folds all parts' sums; called by a group of threads. */
static void fold_parts(const Run *run) {
  const CpuState *state = run->state;
  for (int l = 0; l < run->count; l++) {
    const OpsLayer *layer = &run->layers[l];
    if (!adds_up(run, l))
      cpu_fold_kernel(state->kernel_parts + kernel_offset(run, l), run->parts, run->kernels, kernel_size(layer),
                      layer->dw);
    if (layer->db == NULL) continue;
#pragma omp for schedule(static) nowait
    for (int c = 0; c < layer->out; c++) {
      const double *sums = state->bias_sums + bias_place(run, l) + c;
      double sum = 0;
      for (int part = 0; part < run->parts; part++) sum += sums[(size_t)part * run->biases];
      layer->db[c] = (float)sum;
    }
  }
}

static void backward_run(const Run *run) {
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(run->state->threads);
#pragma omp parallel
  {
    round_kernels(run);
    transpose_kernels(run);
#pragma omp for schedule(dynamic, 1)
    for (int part = 0; part < run->parts; part++) backward_part(run, part);
    fold_parts(run);
  }
  omp_set_num_threads(threads_before);
}

static double backward_flops(const OpsLayer *layer, int rows, bool has_dx) {
  return 2.0 * rows * layer->in * layer->out * (1 + has_dx + (layer->activation == OPS_SILU));
}

void cpu_chain_backward(Ops *ops, const float *x, const OpsLayer *layers, int count, float *dy, float *dx,
                        float *scratch, int rows, const OpsWatch *watch) {
  CpuState *state = cpu_state(ops);
  const int parts = most_parts(rows);
  int widest = 0;
  for (int l = 0; l < count; l++) widest = layers[l].out > widest ? layers[l].out : widest;
  CORE_CHECK(rows <= state->max_rows && layers[0].in <= state->max_width && widest <= state->max_width);

  for (int end = count, first; end > 0; end = first) {
    first = first_of_run(state, layers, end, parts);
    const bool is_too_large = first == end;
    if (is_too_large) first = end - 1;
    const OpsLayer *lowest = &layers[first];
    const float *below = first > 0 ? lowest[-1].y : x;
    float *target = first > 0 ? scratch + (size_t)(first % 2) * (size_t)rows * (size_t)widest : dx;

    Run run = {.state = state,
               .layers = lowest,
               .count = end - first,
               .rows = rows,
               .parts = parts,
               .x = below,
               .dy = dy,
               .dx = target};
    run.kernels = kernel_offset(&run, run.count);
    run.biases = bias_place(&run, run.count);
    look_for_zeros(x, &run);

    if (is_too_large) cpu_dense_backward_large(state, below, lowest, dy, target, rows);
    else backward_run(&run);
    for (int l = first; l < end; l++) ops->flops += backward_flops(&layers[l], rows, l > first || target != NULL);
    if (watch) watch->on_complete(watch->context, first);
    dy = target;
  }
}

void cpu_dense_backward(Ops *ops, const float *x, const float *w, const float *b, const float *y, float *dy, float *dx,
                        float *dw, float *db, int rows, int in, int out, OpsActivation activation) {
  const OpsLayer layer = {.in = in, .out = out, .activation = activation, .w = w, .b = b, .y = (float *)y, .dw = dw,
                          .db = db};
  cpu_chain_backward(ops, x, &layer, 1, dy, dx, NULL, rows, NULL);
}
