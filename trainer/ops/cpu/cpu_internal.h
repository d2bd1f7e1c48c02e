/* Shared declarations of the CPU implementation: its state, the matrix-product library, the entries of its table.
 *
 * Every loop is divided into parts whose boundaries depend on the shapes alone, never on the number of threads, and
 * sums are folded in the order of the parts: a result has the same bits with 1 thread and with 64. */
#ifndef TRAINER_OPS_CPU_INTERNAL_H
#define TRAINER_OPS_CPU_INTERNAL_H
#include <omp.h>

#include "trainer/ops/bf16.h"
#include "trainer/ops/cpu/cpu_threads.h"
#include "trainer/ops/entity.h"

/* Computes one row-major product on the calling thread: C[m][n] = op(A) op(B) (+ C if accumulate); op transposes if
 * requested. lda, ldb, ldc: row lengths as stored. */
typedef void CpuProduct(int transpose_a, int transpose_b, int m, int n, int k, const float *a, int lda, const float *b,
                        int ldb, int accumulate, float *c, int ldc);
/* Computes a product of bf16 matrices, summed in float32. */
typedef void CpuProductBf16(int transpose_a, int transpose_b, int m, int n, int k, const uint16_t *a, int lda,
                            const uint16_t *b, int ldb, int accumulate, float *c, int ldc);
typedef struct CpuLibrary {
  const char *name;       /* "oneDNN", "OpenBLAS", "plain C" */
  CpuProduct *product;
  CpuProductBf16 *product_bf16; /* NULL where the library has none on this processor */
  bool has_small;         /* whether cpu_small_product computes the same bits as `product` on this processor */
} CpuLibrary;

/* Returns the libraries built in, the preferred first; the last one, plain C, is always available. */
const CpuLibrary *cpu_libraries(size_t *count);
/* Whether the processor has AMX tiles that the library uses; earlier versions chose by it. */
int cpu_library_has_tiles(const CpuLibrary *library);
/* Whether the library multiplies bf16 faster than float32 on this processor: with AMX, and with AVX512_BF16 on AMD's,
 * which multiply bf16 at twice the rate of float32. Intel's without AMX have half of that rate. */
bool cpu_library_is_faster_in_bf16(const CpuLibrary *library);
/* Formats version and kernels of a library on this processor: "oneDNN 2.6.3, avx2". buffer >= 128. */
const char *cpu_library_describe(const CpuLibrary *library, char *buffer);
/* cpu_library_bf16.c: returns oneDNN's product of bf16 matrices, or NULL: built without it, or no kernels for this
 * processor. */
CpuProductBf16 *cpu_library_dnnl_bf16_product(void);

enum {
  CPU_ROWS = 128,         /* rows of a matrix that one thread processes at a time */
  CPU_KERNEL_PARTS_FLOATS = 1 << 24, /* maximum floats of the copies of kernels for parts of the rows */
  CPU_SUM_PARTS = 256,    /* maximum parts in which a long vector is summed ... */
  CPU_SUM_MIN = 4096,   /* ... of at least this many elements */
};

/* Nonzero pattern of a block of rows (cpu_zeros.c). Lines are its rows or its columns; lines of a kind are processed
 * together. */
enum { CPU_ZEROS_COLUMNS = 384, CPU_ZEROS_LINES = 384, CPU_ZEROS_WORDS = CPU_ROWS * CPU_ZEROS_COLUMNS / 16 };
typedef struct CpuPatterns {
  int kinds, words;
  uint16_t line[CPU_ZEROS_LINES];  /* lines, kind after kind */
  uint16_t end[CPU_ZEROS_LINES];   /* [kinds] ends in `line` */
  uint16_t bits[CPU_ZEROS_WORDS];  /* [kinds][words] positions where any line of a kind is nonzero */
} CpuPatterns;
/* Patterns of rows gathered by gather_inputs: of each block those of rows and of columns. */
typedef struct CpuInputs {
  const float *x;         /* address of the rows; NULL: none */
  int rows, columns;
  bool has_zeros;
  CpuPatterns (*blocks)[2];
} CpuInputs;

typedef struct CpuState {
  int threads;            /* at most those of rows_scratch, fewer under contention */
  int max_rows, max_width;
  size_t max_kernel;      /* numbers of the largest kernel */
  CpuThreads look;
  const CpuLibrary *library;
  bool has_bf16;          /* whether there is scratch for rounded factors */
  OpsBf16Method method;   /* method of layers that bf16 does not list */
  OpsBf16 bf16;           /* methods of the other layers; no layers: nothing is chosen */
  float *kernel_parts;    /* [kernel_parts_capacity] gradients of kernels by row part, folded afterwards */
  size_t kernel_parts_capacity;
  float *kernels;         /* kernels of a chain, transposed */
  float *operands;        /* kernels of a chain, rounded; NULL in float32 */
  double *bias_sums;      /* gradients of a chain's biases by row part, folded afterwards */
  float *bias_parts;      /* gradients of one bias, in smaller parts */
  float *gain_parts;      /* gradients of a layer norm's gains, likewise */
  float *rows_scratch;    /* [threads][CPU_SCRATCHES][CPU_ROWS][max_width] */
  double *sum_parts;      /* [max_rows / CPU_ROWS][CPU_SUMS] */
  CpuInputs inputs;
} CpuState;
enum { CPU_SUMS = 8 };
/* Scratch blocks of rows per thread: a product, the gradients between layers, a sum of rows, and factors of
 * products. */
enum { CPU_PRODUCT_SCRATCH, CPU_EVEN_SCRATCH, CPU_ODD_SCRATCH, CPU_BIAS_SCRATCH, CPU_X_SCRATCH, CPU_DY_SCRATCH,
       CPU_SCRATCHES };

static inline CpuState *cpu_state(Ops *ops) { return ops->state; }
static inline float *cpu_thread_rows(CpuState *state, int scratch) {
  const size_t slot = (size_t)omp_get_thread_num() * CPU_SCRATCHES + (size_t)scratch;
  return state->rows_scratch + slot * CPU_ROWS * (size_t)state->max_width;
}
/* Returns the method of layers of this shape (cpu_product.c). */
static inline OpsBf16Method cpu_method(const CpuState *state, int in, int out) {
  for (const OpsBf16Layer *l = state->bf16.layer, *end = l + state->bf16.layers; l < end; l++)
    if (l->in == in && l->out == out) return (OpsBf16Method)l->method;
  return state->method;
}
static inline int cpu_blocks(int rows) { return (rows + CPU_ROWS - 1) / CPU_ROWS; }
static inline int cpu_block_rows(int rows, int block) {
  int left = rows - block * CPU_ROWS;
  return left < CPU_ROWS ? left : CPU_ROWS;
}

/* cpu_product.c */
typedef struct CpuOperand {
  const void *data;       /* float or, with OPS_BF16_LIBRARY, the upper halves of floats */
  int stride;             /* elements from row to row */
} CpuOperand;
/* Returns x [rows][columns], `stride` floats between rows, as a factor of products: itself, or rounded into
 * `scratch`. */
CpuOperand cpu_operand(OpsBf16Method method, const float *x, int rows, int columns, int stride, float *scratch);
void cpu_product(const CpuState *state, OpsBf16Method method, int transpose_a, int transpose_b, int m, int n, int k,
                 CpuOperand a, CpuOperand b, int accumulate, float *c, int ldc);
/* cpu_small.c: same result as a library's product, on processors with AVX-512. Returns false for unsupported shapes,
 * having done nothing. */
bool cpu_small_takes(int m, int n, int k);
bool cpu_small_product(int transpose_a, int transpose_b, int m, int n, int k, const float *a, int lda, const float *b,
                       int ldb, int accumulate, float *c, int ldc);
/* cpu_zeros.c: product of a block's rows x with many zeros, whose patterns are known. Returns false for unsupported
 * shapes. */
bool cpu_zeros_product(const CpuPatterns *patterns, int transposed, int m, int n, int k, const float *a, int lda,
                       const float *b, int ldb, int accumulate, float *c, int ldc);
/* transposed: patterns of columns, for the product of x transposed. rows <= CPU_ROWS, columns <= CPU_ZEROS_COLUMNS */
void cpu_zeros_find(const float *x, int rows, int columns, int transposed, CpuPatterns *patterns);
/* Whether rows of x [*][columns] have enough zeros for the two above to pay. index NULL: the first rows. */
bool cpu_zeros_are_many(const CpuState *state, const float *x, const uint32_t *index, int rows, int columns);
/* Whether enough of the lines share their zeros for cpu_zeros_product to pay. Inputs gathered in advance need no check:
 * their zeros are those of their levels. */
bool cpu_zeros_are_shared(const CpuPatterns *patterns, int lines);
/* cpu_bf16.c */
/* Parses TRAINER_BF16: *forced false if unset. CORE_USAGE: an unknown method, or one unavailable here. */
int cpu_bf16_forced(const CpuLibrary *library, bool *forced, OpsBf16Method *method);
/* Returns a layer's method. is_faster: whether the processor multiplies bf16 faster than float32. */
OpsBf16Method cpu_bf16_rule(bool is_faster, int in, int out);
/* Returns the method that earlier versions used for all layers. */
OpsBf16Method cpu_bf16_earlier(const CpuLibrary *library);
/* Rounds each value to the nearest bf16, ties to even; may work in place. */
void cpu_round_bf16(const float *x, int n, float *rounded);
/* cpu_half.c */
void cpu_floats_to_halves(const float *x, size_t n, uint16_t *halves);
void cpu_halves_to_floats(const uint16_t *halves, size_t n, float *x);
void cpu_store_halves(Ops *ops, const float *x, size_t n, uint16_t *halves);
void cpu_gather_halves(Ops *ops, const uint16_t *source, const uint32_t *index, float *target, int rows, int columns);
/* y[columns][..] = x[rows][..] transposed; rows are x_step and y_step floats apart. */
void cpu_transpose(const float *x, size_t x_step, int rows, int columns, float *y, size_t y_step);
/* cpu_dense.c */
enum { CPU_BIAS_ROWS = 32 }; /* rows of a bias's gradient summed in float32; above that in float64 */
static inline int cpu_bias_parts(int rows) { return (rows + CPU_BIAS_ROWS - 1) / CPU_BIAS_ROWS; }
/* y = activation(y + bias) for a block of rows. */
void cpu_activate(OpsActivation activation, float *y, const float *bias, int rows, int columns);
/* dy *= the derivative at y, db = column sums of dy, for a part of rows. For SILU, which cannot be inverted, y is the
 * activation's input without its bias. */
void cpu_activation_gradient(OpsActivation activation, const float *y, const float *bias, float *dy, float *db,
                             int rows, int columns);
/* target[columns] = the sums of the rows of parts [count][columns]; called by a group of threads. */
void cpu_fold_columns(const float *parts, int count, int columns, float *target);
/* dw[size] = the sum of `parts` copies that are `stride` apart; called by a group of threads. */
void cpu_fold_kernel(const float *copies, int parts, size_t stride, size_t size, float *dw);
size_t cpu_bias_parts_floats(int max_rows, int max_width);
void cpu_dense_backward_large(CpuState *state, const float *x, const OpsLayer *layer, float *dy, float *dx, int rows);
/* cpu_chain.c */
size_t cpu_chain_kernels_floats(const CpuState *state);
size_t cpu_chain_parts_floats(int max_rows, int max_width);
size_t cpu_chain_bias_sums(int max_width);
void cpu_chain_forward(Ops *ops, const float *x, const OpsLayer *layers, int count, int rows);
void cpu_chain_backward(Ops *ops, const float *x, const OpsLayer *layers, int count, float *dy, float *dx,
                        float *scratch, int rows, const OpsWatch *watch);
void cpu_dense_forward(Ops *ops, const float *x, const float *w, const float *b, float *y, int rows, int in, int out,
                       OpsActivation activation);
void cpu_dense_backward(Ops *ops, const float *x, const float *w, const float *b, const float *y, float *dy, float *dx,
                        float *dw, float *db, int rows, int in, int out, OpsActivation activation);
/* cpu_norm.c */
void cpu_norm_forward(Ops *ops, float *z, float *inverse, const float *gain, const float *offset, float *y, int rows,
                      int columns, double epsilon, OpsActivation activation);
void cpu_norm_backward(Ops *ops, const float *n, const float *inverse, const float *gain, const float *offset,
                       const float *y, float *dy, float *dgain, float *doffset, int rows, int columns,
                       OpsActivation activation);
/* Computes norm_backward for at most CPU_BIAS_ROWS rows on the calling thread; not for SILU. */
void cpu_norm_backward_rows(Ops *ops, const float *n, const float *inverse, const float *gain, const float *offset,
                            const float *y, float *dy, float *dgain, float *doffset, int rows, int columns,
                            OpsActivation activation);
/* cpu_policy.c */
void cpu_policy_sample(Ops *ops, const OpsHead *head, const float *logits, int rows, uint64_t seed, uint32_t purpose,
                       uint32_t first_world, uint32_t step, void *actions, float *logp);
void cpu_policy_logp(Ops *ops, const OpsHead *head, const float *logits, const void *actions, float *logp, int rows);
void cpu_policy_kl(Ops *ops, const OpsHead *head, const float *p, const float *q, int rows, double *kl,
                   double *kl_reverse);
void cpu_policy_loss(Ops *ops, const OpsHead *head, const float *logits, const void *actions,
                     const float *logp_behavior, const float *logp_proximal, const float *advantage, int rows,
                     double epsilon, double entropy_coef, float *dlogits, OpsPolicySums *sums);
void cpu_value_loss(Ops *ops, const float *value, const float *old_value, const float *target, int rows, int clip,
                    double epsilon, double value_coef, float *dvalue, OpsValueSums *sums);
/* cpu_gaussian.c: entries of the table, and the continuous heads' part of cpu_policy.c, for a few rows. */
void cpu_policy_sampled_entropy(Ops *ops, const OpsHead *head, const float *logits, const float *noise, int rows,
                                double entropy_coef, float *dlogits, double *entropy);
void cpu_controller_kl(Ops *ops, const OpsHead *head, const float *logits, const uint32_t *index, int rows,
                       float *reference, double *sum);
void cpu_cap(Ops *ops, const float *behavior, const float *logp, double log_cap, size_t n, float *capped);
void cpu_kl_penalty(Ops *ops, const float *logp, const float *ref_logp, double weight, int rows,
                    float *kl_penalty_weights, double *sum);
void cpu_exact_kl_penalty(Ops *ops, const OpsHead *head, const float *logits, const float *ref_logits, int rows,
                          double weight, float *dlogits, double *sum);
void cpu_normal_rows(Ops *ops, uint64_t seed, uint32_t purpose, const uint32_t *index, uint32_t step, int rows,
                     int columns, float *noise);
void cpu_gaussian_join(Ops *ops, const float *mean, const float *log_sigma, const int32_t *set, int rows, int factors,
                       float *logits);
void cpu_gaussian_split(Ops *ops, const float *dlogits, const int32_t *set, int rows, int factors, int sets,
                        float *dmean, float *dlog_sigma);
void cpu_gaussian_regularize(Ops *ops, const OpsHead *head, const float *logits, const int32_t *set,
                             const float *entropy_coef, double bound, double bounds_coef, int rows, float *dlogits,
                             OpsGaussianSums *sums);
void cpu_embed_forward(Ops *ops, const float *x, const float *embedding, int rows, int features, int width,
                       float *joined, int32_t *set);
void cpu_embed_backward(Ops *ops, const float *djoined, const int32_t *set, int rows, int features, int width, int sets,
                        float *dembedding);
void cpu_gaussian_sample(const OpsHead *head, const float *logits, uint64_t seed, uint32_t purpose, uint32_t world,
                         uint32_t step, float *action);
float cpu_gaussian_logp(const OpsHead *head, const float *logits, const float *action);
/* dlogits = slope * d logp - weight * d entropy; returns the entropy (TANH_AFFINE: 0, without that term). */
float cpu_gaussian_gradient(const OpsHead *head, const float *logits, const float *action, double slope, double weight,
                            float *dlogits);
void cpu_gaussian_kl(const OpsHead *head, const float *p, const float *q, double *kl, double *kl_reverse);
/* cpu_q.c */
void cpu_q_policy(Ops *ops, float *q, int rows, int columns, double epsilon);
void cpu_q_values(Ops *ops, const float *q, int rows, int columns, float *values);
void cpu_q_loss(Ops *ops, const float *q, const uint8_t *actions, const float *target, int rows, int columns, float *dq,
                OpsValueSums *sums);
/* cpu_entity.c: the sub-table of entity.h */
extern const OpsEntity CPU_ENTITY;
/* cpu_attention.c */
void cpu_attend(Ops *ops, OpsRows x, const OpsAttention *attention, const float *qkv, float *out);
void cpu_attend_backward(Ops *ops, OpsRows x, const OpsAttention *attention, const float *qkv, const float *dout,
                         float *dqkv);
/* cpu_lstm.c */
extern const struct OpsRecurrent CPU_RECURRENT;
/* cpu_vector.c */
void cpu_permute(Ops *ops, uint64_t seed, uint32_t purpose, uint32_t a, uint32_t b, uint32_t *order, uint32_t n,
                 uint32_t *scratch);
void cpu_world_rows(Ops *ops, const uint32_t *world, int count, int steps, int worlds, uint32_t *rows);
/* Gathers, and finds the rows' patterns for the chains that read them. */
void cpu_gather_inputs(Ops *ops, const float *source, const uint32_t *index, float *target, int rows, int columns);
void cpu_gather_rows(Ops *ops, const float *source, const uint32_t *index, float *target, int rows, int columns);
void cpu_gather_fields(Ops *ops, const OpsField *field, int fields, const uint32_t *index, int rows);
void cpu_add(Ops *ops, float *x, const float *y, size_t n);
double cpu_norm_squared(Ops *ops, const float *x, size_t n);
double cpu_distance_squared(Ops *ops, const float *x, const float *y, size_t n);
void cpu_moments(Ops *ops, const float *x, const float *y, size_t n, Moments *moments);
void cpu_normalize(Ops *ops, float *x, size_t n, double shift, double factor);
void cpu_normalize_within(Ops *ops, float *x, size_t n, double shift, double factor, double bound);
void cpu_denormalize_within(Ops *ops, float *x, size_t n, double shift, double factor, double bound);
void cpu_adam(Ops *ops, float *theta, const float *gradient, float *m, float *v, size_t n, double scale, double keep,
              double rate, double beta1, double beta2, double epsilon, int64_t t);
void cpu_radam(Ops *ops, float *theta, const float *gradient, float *m, float *v, size_t n, double scale, double rate,
               double beta1, double beta2, double epsilon, int64_t t);
void cpu_ewma(Ops *ops, float *proximal, const float *theta, size_t n, double keep);
void cpu_gae(Ops *ops, double gamma, double lambda, double reward_scale, const float *reward, const float *value,
             const uint8_t *done, const uint8_t *truncated, const float *bootstrap, int steps, int worlds,
             float *advantage, float *target);
size_t cpu_first_nonfinite(Ops *ops, const float *x, size_t n);
/* cpu_episodes.c */
void cpu_bound(Ops *ops, const float *values, size_t n, float low, float high, float *bounded);
void cpu_gather_bytes(Ops *ops, const void *source, const uint32_t *index, void *target, int rows, size_t bytes);
void cpu_count_episodes(Ops *ops, const OpsEpisodes *episodes, const OpsEpisodeStep *step);
void cpu_count_trials(Ops *ops, const uint8_t *done, const uint8_t *solved, int worlds, int64_t most, int64_t *episodes,
                      int64_t *solutions);

#endif
