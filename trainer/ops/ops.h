/* Arithmetic as a table of functions. The CPU implementation (cpu.c) is the reference; device.c implements it for
 * devices. Learners and networks call ops, never a kernel. All matrices are row-major float32 on the ops' device; all
 * sums that become a statistic are float64. Nothing is allocated after the ops are created.
 *
 * Arrays are in the memory of ops->device (NULL: the host's); structs and results by value are in host memory. Between
 * begin and finish of ops->update, pointers to sums may be NULL: the sums then stay in the device's statistics. */
#ifndef TRAINER_OPS_H
#define TRAINER_OPS_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/device/device.h"
#include "core/error.h"
#include "trainer/math/moments.h"

typedef enum OpsActivation { OPS_LINEAR, OPS_TANH, OPS_RELU, OPS_SILU, OPS_ELU } OpsActivation;

/* Sums over one minibatch of the PPO / PPO-EWMA actor loss and its diagnostics. */
typedef struct OpsPolicySums {
  double loss;            /* sum of -min(r A, clip(r) A) (per sample; without the entropy term) */
  double entropy;         /* sum over samples of the entropy, summed over factors */
  double k1, k3;          /* sums of -l and expm1(l)-l, l = logp - logp_behavior */
  double clipped;         /* samples with the (proximal) ratio outside 1 +- epsilon */
} OpsPolicySums;
/* Sums over a minibatch of the terms that gaussian_regularize adds to a loss. */
typedef struct OpsGaussianSums {
  double entropy;         /* sum of coefficient times entropy */
  double bounds;          /* sum of squares beyond the bound, without their coefficient */
} OpsGaussianSums;
typedef struct OpsValueSums {
  double loss; /* sum of 0.5*max((V-T)^2, (Vclip-T)^2) or 0.5*(V-T)^2; Q: (Q-T)^2 */
} OpsValueSums;

/* Meaning of a policy's outputs. An action has `factors` components; the policy in a state is a row of `logits` values,
 * called logits below whatever they are:
 *   MULTI_DISCRETE  `factors` categoricals of size[i] logits, concatenated (Kinetix: 3,3,3,3,2,2). Action: uint8_t
 *   GAUSSIAN        `factors` means, then as many log standard deviations. Action: float, unbounded
 *   TANH_AFFINE     `factors` locations, then as many raw scales (scale = softplus(raw) + 1e-3) of a Gaussian whose
 *                   tanh is stretched to low..high (docs/algorithms.md#policies). Action: float in low..high */
typedef enum OpsHeadKind { OPS_MULTI_DISCRETE, OPS_GAUSSIAN, OPS_TANH_AFFINE } OpsHeadKind;
enum { OPS_FACTORS_MAX = 64, OPS_LOGITS_MAX = 256 };
typedef struct OpsHead {
  int factors, logits, size[OPS_FACTORS_MAX];
  OpsHeadKind kind;
  float low, high;        /* bounds of a continuous action's components, as the environment expects them */
} OpsHead;

/* Number of the first step and world of a graph of steps. */
typedef struct OpsClock { uint64_t step, world; } OpsClock;

static inline int ops_head_is_continuous(const OpsHead *head) { return head->kind != OPS_MULTI_DISCRETE; }
/* Returns the bytes of one action. */
static inline size_t ops_head_action_bytes(const OpsHead *head) {
  return (size_t)head->factors * (ops_head_is_continuous(head) ? sizeof(float) : sizeof(uint8_t));
}

/* Returns the standard deviation of component k of a continuous head, from a row of logits. */
static inline double ops_head_std(const OpsHead *head, const float *logits, int k) {
  const double raw = (double)logits[head->factors + k];
  if (head->kind == OPS_GAUSSIAN) return exp(raw);
  return (raw > 0 ? raw + log1p(exp(-raw)) : log1p(exp(raw))) + 1e-3;
}

/* Precision of matrix products on a GPU. All else is float32, sums float64. TF32 and bf16 round their operands to 10
 * and 7 bits; with bf16 a chain's hidden layers are bf16 in memory, too. */
typedef enum OpsPrecision { OPS_FLOAT32, OPS_TF32, OPS_BF16 } OpsPrecision;

/* Statistics of a rollout's episodes, on the device. The owner zeroes them before each rollout, except `returns`. */
enum { OPS_EPISODE_COUNTS = 3 };
typedef struct OpsEpisodes {
  int worlds, first_reported;     /* worlds before first_reported are not counted */
  double *returns;                /* [worlds] reward so far of the running episode */
  double *finished;               /* [worlds] returns of the episodes that ended; on the CPU the first element has the
                                   * sum of all */
  int64_t *attempts, *solutions;  /* [levels] */
  int64_t *count;                 /* [OPS_EPISODE_COUNTS]: episodes that ended, their steps, and their goals */
  const int32_t *level_of_slot;   /* index in attempts and solutions of a step's level; NULL: the level itself */
} OpsEpisodes;
/* Results of a step, [worlds] each. */
typedef struct OpsEpisodeStep {
  const float *reward;
  const uint8_t *done, *solved; /* solved: goals of the episode that ended, as in EnvStep */
  const int32_t *level, *length;
} OpsEpisodeStep;

/* Layer of a chain of dense layers, in which each output is the next layer's input. */
typedef struct OpsLayer {
  int in, out;
  OpsActivation activation;
  const float *w, *b;     /* [in][out], [out] */
  float *y;               /* [rows][out] output */
  float *dw, *db;         /* [in][out], [out]: set by a backward pass, unused otherwise */
} OpsLayer;

/* Callback of a chain's backward pass: the gradients of the layers from `layer` on are complete. */
typedef struct OpsWatch {
  void (*on_complete)(void *context, int layer);
  void *context;
} OpsWatch;

/* One of several arrays whose rows, of `bytes` bytes, are gathered by the same index: source [*] -> target [rows]. */
typedef struct OpsField { const void *source; void *target; size_t bytes; } OpsField;
enum { OPS_FIELDS_MAX = 8 };

typedef struct Ops Ops;
struct Ops {
  const char *name;               /* "cpu", "cuda", "emulated" */
  CoreDevice *device;             /* NULL: the CPU */
  /* y[rows][out] = activation(x[rows][in] W[in][out] + b[out]) */
  void (*dense_forward)(Ops *ops, const float *x, const float *w, const float *b, float *y, int rows, int in, int out,
                        OpsActivation activation);
  /* dy[rows][out] is the gradient at the activation's output y; it is overwritten with the gradient before the
   * activation. dw[in][out], db[out] are set (not added to; db may be NULL with OPS_LINEAR); dx[rows][in]
   * is set unless NULL. SILU cannot be inverted from y, so x W + b is recomputed from x, w, b. */
  void (*dense_backward)(Ops *ops, const float *x, const float *w, const float *b, const float *y, float *dy, float *dx,
                         float *dw, float *db, int rows, int in, int out, OpsActivation activation);
  /* dense_forward and dense_backward of layers 0 .. count-1, x[rows][layers[0].in] the input of the first, dy at the
   * output of the last, which may be overwritten. A device may fuse layers, so gradients between them are not stored.
   * It may store outputs of all layers but the last as bf16 (stores_bf16), which chain_backward over the same rows
   * expects. scratch: 2*rows*(widest output) floats; with stores_bf16 half of it and 8. watch may be NULL. Both are
   * NULL where calling layer after layer is as fast. */
  void (*chain_forward)(Ops *ops, const float *x, const OpsLayer *layers, int count, int rows);
  void (*chain_backward)(Ops *ops, const float *x, const OpsLayer *layers, int count, float *dy, float *dx,
                         float *scratch, int rows, const OpsWatch *watch);
  /* Announces that only policy_loss or value_loss without sums reads the outputs of the next chain_forward, and that
   * its chain_backward follows: a device may postpone all of them and compute them in one launch. NULL: it cannot. */
  void (*expect_loss)(Ops *ops);
  bool stores_bf16;
  /* Measurements of a hidden layer h[rows][columns] of floats or bf16, in float64, on a device; NULL: the caller does
   * them (measure/representation.h). unit_sums merges the moments of each column (without m3 and m4) and adds sums of
   * |h|; gram adds h'h to gram[columns][columns], whose lower triangle counts. */
  void (*unit_sums)(Ops *ops, const void *h, bool is_bf16, int rows, int columns, Moments *moments, double *magnitude);
  void (*gram)(Ops *ops, const void *h, bool is_bf16, int rows, int columns, double *gram);
  /* Applies layer norm and activation to each row: n = (z - mean z) / sqrt(variance z + epsilon), y = activation(gain n
   * + offset). z[rows][columns] becomes n; inverse[rows] becomes the factor of z - mean. */
  void (*norm_forward)(Ops *ops, float *z, float *inverse, const float *gain, const float *offset, float *y, int rows,
                       int columns, double epsilon, OpsActivation activation);
  /* dy[rows][columns], the gradient at y, is overwritten with that at z; dgain[columns], doffset[columns] are set. */
  void (*norm_backward)(Ops *ops, const float *n, const float *inverse, const float *gain, const float *offset,
                        const float *y, float *dy, float *dgain, float *doffset, int rows, int columns,
                        OpsActivation activation);
  /* order[n] = core_random_permutation(seed, purpose, a, b), the same on every device. scratch[2 n]; NULL on the
   * CPU. */
  void (*permute)(Ops *ops, uint64_t seed, uint32_t purpose, uint32_t a, uint32_t b, uint32_t *order, uint32_t n,
                  uint32_t *scratch);
  /* Lists the rows of a rollout [steps][worlds] that belong to `count` worlds, world after world ->
   * rows[count*steps]. */
  void (*world_rows)(Ops *ops, const uint32_t *world, int count, int steps, int worlds, uint32_t *rows);
  /* Copies the rows of `source` [*][columns] named by index -> target [rows][columns]. */
  void (*gather_rows)(Ops *ops, const float *source, const uint32_t *index, float *target, int rows, int columns);
  /* gather_rows for rows that only chains read, as their input `target`. Ops may store them in a private format and
   * leave target unchanged; chains over target use them until the next call. index NULL: the rows are target's (source
   * = target). The function is NULL where there is no other format. */
  void (*gather_inputs)(Ops *ops, const float *source, const uint32_t *index, float *target, int rows, int columns);
  /* gather_rows of rows of `bytes` bytes; and of several arrays by one index, at once. */
  void (*gather_bytes)(Ops *ops, const void *source, const uint32_t *index, void *target, int rows, size_t bytes);
  void (*gather_fields)(Ops *ops, const OpsField *field, int fields, const uint32_t *index, int rows);

  /* gather_rows of half-precision values (IEEE binary16), exactly; and x[n] -> the nearest halves, ties to even, finite
   * values beyond the range to the largest half. */
  void (*gather_halves)(Ops *ops, const uint16_t *source, const uint32_t *index, float *target, int rows, int columns);
  void (*store_halves)(Ops *ops, const float *x, size_t n, uint16_t *halves);

  /* Samples one action per row (inverse CDF, or a Gaussian by Box-Muller; Philox keyed by (seed; purpose, first_world +
   * row, step)) and computes the log-prob of the whole action. actions [rows][factors], of the head's type. */
  void (*policy_sample)(Ops *ops, const OpsHead *head, const float *logits, int rows, uint64_t seed, uint32_t purpose,
                        uint32_t first_world, uint32_t step, void *actions, float *logp);
  /* policy_sample at step clock->step + step of world clock->world + first_world. *clock is in device memory, so that
   * the call can be captured in a graph (device.h). The upper half of the step goes into unused bits of the seed, so
   * that random numbers never repeat. NULL on the CPU. */
  void (*policy_sample_at)(Ops *ops, const OpsHead *head, const float *logits, int rows, uint64_t seed,
                           uint32_t purpose, uint32_t first_world, const OpsClock *clock, uint32_t step, void *actions,
                           float *logp);
  /* logp[rows] of given actions. */
  void (*policy_logp)(Ops *ops, const OpsHead *head, const float *logits, const void *actions, float *logp, int rows);
  /* Exact KL(p||q) and KL(q||p), sums over rows; p, q logits. TANH_AFFINE: of the Gaussians
   * (docs/algorithms.md#kl). */
  void (*policy_kl)(Ops *ops, const OpsHead *head, const float *p, const float *q, int rows, double *kl,
                    double *kl_reverse);

  /* PPO-clip (logp_proximal NULL) or PPO-EWMA actor loss (docs/algorithms.md#losses). dlogits[rows][logits] is set to
   * the gradient of mean(loss) - entropy_coef*mean(entropy) over the rows; sums are over the rows. epsilon in [0, inf].
   * TANH_AFFINE has no closed-form entropy: it counts as 0 here, and policy_sampled_entropy follows. */
  void (*policy_loss)(Ops *ops, const OpsHead *head, const float *logits, const void *actions,
                      const float *logp_behavior, const float *logp_proximal, const float *advantage, int rows,
                      double epsilon, double entropy_coef, float *dlogits, OpsPolicySums *sums);
  /* TANH_AFFINE: the entropy estimated at location + scale noise, noise[rows][factors] ~ N(0,1). Adds the gradient of
   * -entropy_coef*mean(entropy), through the sample too, to dlogits; *sum: sum of the entropy. */
  void (*policy_sampled_entropy)(Ops *ops, const OpsHead *head, const float *logits, const float *noise, int rows,
                                 double entropy_coef, float *dlogits, double *sum);
  /* noise[rows][columns]: N(0,1), row r keyed by (seed; purpose, index[r], step). */
  void (*normal_rows)(Ops *ops, uint64_t seed, uint32_t purpose, const uint32_t *index, uint32_t step, int rows,
                      int columns, float *noise);
  /* GAUSSIAN with free log standard deviations: mean[rows][factors], log_sigma[sets][factors] -> logits[rows][2
   * factors]. set[rows]: index of a row's log_sigma; NULL: 0 for all. */
  void (*gaussian_join)(Ops *ops, const float *mean, const float *log_sigma, const int32_t *set, int rows, int factors,
                        float *logits);
  /* Transpose of gaussian_join, for gradients: dmean[rows][factors] and dlog_sigma[sets][factors] are set. */
  void (*gaussian_split)(Ops *ops, const float *dlogits, const int32_t *set, int rows, int factors, int sets,
                         float *dmean, float *dlog_sigma);
  /* GAUSSIAN, rows of sets: adds to dlogits the gradient of bounds_coef*mean(sum over means of the squared excess
   * beyond +-bound) - mean(entropy_coef[set]*entropy). */
  void (*gaussian_regularize)(Ops *ops, const OpsHead *head, const float *logits, const int32_t *set,
                              const float *entropy_coef, double bound, double bounds_coef, int rows, float *dlogits,
                              OpsGaussianSums *sums);
  /* Replaces the last column, which holds a set's index, by the set's embedding: x[rows][features + 1] ->
   * joined[rows][features + width], with embedding[sets][width] after the features, and set[rows]. */
  void (*embed_forward)(Ops *ops, const float *x, const float *embedding, int rows, int features, int width,
                        float *joined, int32_t *set);
  /* Transpose of embed_forward: dembedding[sets][width] is set. */
  void (*embed_backward)(Ops *ops, const float *djoined, const int32_t *set, int rows, int features, int width,
                         int sets, float *dembedding);
  /* Value loss 0.5*mean max(...) times value_coef; dvalue[rows] is set. clip: clamp around old_value by epsilon. */
  void (*value_loss)(Ops *ops, const float *value, const float *old_value, const float *target, int rows, int clip,
                     double epsilon, double value_coef, float *dvalue, OpsValueSums *sums);

  /* Q values q[rows][columns] of one categorical action. q_policy: the epsilon-greedy policy, in place, as log-probs
   * (impossible actions get e^-69). q_values: the greatest Q, values[rows]. q_loss: the sum of (Q(s, a) - target)^2,
   * and dq[rows][columns], the gradient of its mean. */
  void (*q_policy)(Ops *ops, float *q, int rows, int columns, double epsilon);
  void (*q_values)(Ops *ops, const float *q, int rows, int columns, float *values);
  void (*q_loss)(Ops *ops, const float *q, const uint8_t *actions, const float *target, int rows, int columns,
                 float *dq, OpsValueSums *sums);

  void (*add)(Ops *ops, float *x, const float *y, size_t n);                  /* x += y */
  /* sum of x^2 in float64, in a fixed order */
  double (*norm_squared)(Ops *ops, const float *x, size_t n);
  double (*distance_squared)(Ops *ops, const float *x, const float *y, size_t n);
  /* Adam with bias correction, gradient times `scale` (from clipping); t counts from 1 (docs/algorithms.md#optimizers).
   * theta is first multiplied by `keep`: 1, or 1 - rate*(weight decay) for AdamW. */
  void (*adam)(Ops *ops, float *theta, const float *gradient, float *m, float *v, size_t n, double scale, double keep,
               double rate, double beta1, double beta2, double epsilon, int64_t t);
  /* RAdam, likewise but rectified: no second moment until its variance is bounded. */
  void (*radam)(Ops *ops, float *theta, const float *gradient, float *m, float *v, size_t n, double scale, double rate,
                double beta1, double beta2, double epsilon, int64_t t);
  /* proximal = keep*proximal + (1-keep)*theta, computed as proximal += (1-keep)*(theta - proximal). */
  void (*ewma)(Ops *ops, float *proximal, const float *theta, size_t n, double keep);
  /* Generalized advantage estimation; shapes and rules: trainer/update/advantage.h. */
  void (*gae)(Ops *ops, double gamma, double lambda, double reward_scale, const float *reward, const float *value,
              const uint8_t *done, const uint8_t *truncated, const float *bootstrap, int steps, int worlds,
              float *advantage, float *target);
  /* Moments of x[n] - y[n] (y NULL: of x), in float64 and a fixed order. */
  void (*moments)(Ops *ops, const float *x, const float *y, size_t n, Moments *moments);
  /* x = (x - shift) * factor, each element rounded once from double. */
  void (*normalize)(Ops *ops, float *x, size_t n, double shift, double factor);
  /* Returns the index of the first element that is not finite, or n. */
  size_t (*first_nonfinite)(Ops *ops, const float *x, size_t n);

  /* bounded[n] = values clamped to low..high; NaN stays. */
  void (*bound)(Ops *ops, const float *values, size_t n, float low, float high, float *bounded);
  void (*count_episodes)(Ops *ops, const OpsEpisodes *episodes, const OpsEpisodeStep *step);
  /* Adds, where done, 1 to a world's episodes, up to `most`, and to its solutions where solved: all [worlds]. */
  void (*count_trials)(Ops *ops, const uint8_t *done, const uint8_t *solved, int worlds, int64_t most,
                       int64_t *episodes, int64_t *solutions);

  /* Cap on the importance ratio and ppo.kl_penalty (openai/ppo-ewma's ppo_ewma/ppo.py, compute_losses): capped[n] =
   * max(behavior, logp - log_cap); and with d = logp - ref_logp, weights[rows] = -weight d, *sum = sum of d^2/2. */
  void (*cap)(Ops *ops, const float *behavior, const float *logp, double log_cap, size_t n, float *capped);
  void (*kl_penalty_weights)(Ops *ops, const float *logp, const float *ref_logp, double weight, int rows,
                             float *kl_penalty_weights, double *sum);
  /* Exact KL(ref || policy) as a penalty: *sum is its sum over the rows (policy_kl); adds the gradient of weight times
   * its mean to dlogits[rows][logits]. ref_logits[rows][logits]. */
  void (*exact_kl_penalty)(Ops *ops, const OpsHead *head, const float *logits, const float *ref_logits, int rows,
                           double weight, float *dlogits, double *sum);

  /* SAPG (docs/algorithms.md#sapg). controller_kl, GAUSSIAN: *sum of KL(logits[r] || reference[index[r]]) over the rows
   * in the form that the adaptive learning rate uses; each of these rows of reference [*][logits], all distinct,
   * becomes logits[r]. normalize_within: x[n] -> (x - shift)*factor clamped to +-bound; denormalize_within: x clamped
   * to +-bound, times factor, plus shift. Both in double, rounded once. */
  void (*controller_kl)(Ops *ops, const OpsHead *head, const float *logits, const uint32_t *index, int rows,
                        float *reference, double *sum);
  void (*normalize_within)(Ops *ops, float *x, size_t n, double shift, double factor, double bound);
  void (*denormalize_within)(Ops *ops, float *x, size_t n, double shift, double factor, double bound);

  /* Streams for overlapping actor and critic. From stream_push to stream_pop, operations go to the device's
   * CORE_STREAM_ACTOR, with separate scratch, after everything issued before stream_push. Rows gathered for chains are
   * visible there. stream_wait: later operations wait for that stream; until then neither side may access what the
   * other writes. NULL: no such stream. */
  void (*stream_push)(Ops *ops);
  void (*stream_pop)(Ops *ops);
  void (*stream_wait)(Ops *ops);

  const struct OpsUpdate *update; /* update.h: updates without the host; NULL: on the CPU */
  const struct OpsEntity *entity; /* entity.h: operations of entity encoders; NULL: unavailable on this device */
  const struct OpsImage *image; /* image.h: operations of image encoders; NULL: unavailable on this device */
  const struct OpsRecurrent *recurrent; /* recurrent.h: LSTM */

  void *state;                    /* implementation state: scratch, threads */
  double flops;                   /* floating-point operations of matrix products so far (2*m*n*k each) */
  void (*destroy)(Ops *ops);
};

/* Creates the CPU's ops; the caller destroys them. threads: 0 = as many as this process may use. Results do not depend
 * on it, since sums are split and folded by shape alone. max_rows, max_width bound every later call (inputs count as a
 * width). Names the library and kernel in ops_cpu_description(). */
int ops_cpu_create(int threads, int max_rows, int max_width, Ops **ops);
/* Creates the CPU's ops with bf16 matrix products in dense layers and chains: both factors rounded to the nearest bf16
 * value (ties to even), products and sums in float32. bf16.h chooses the layers and the method. Before a choice all
 * layers are rounded: by oneDNN where the CPU has AMX tiles, elsewhere by sgemm on rounded values.
 * TRAINER_BF16=rounded|library in the environment chooses for all layers (CORE_USAGE where the library cannot). All
 * else, including attention, stays float32. */
int ops_cpu_create_bf16(int threads, int max_rows, int max_width, Ops **ops);

/* Sizes that bound every later call. ops_cpu_create takes kernels of max_width x max_width, too large for inputs of
 * many numbers, such as images. */
typedef struct OpsCpuLimits {
  int rows, width;       /* max_rows, max_width */
  size_t kernel;         /* numbers of the largest kernel of a layer or an LSTM */
} OpsCpuLimits;
/* Creates the CPU's ops, with bf16 matrix products or without, within these limits. */
int ops_cpu_create_within(int threads, bool bf16, const OpsCpuLimits *limits, Ops **ops);
/* Returns an upper bound of the bytes that they allocate. */
double ops_cpu_bytes(int threads, const OpsCpuLimits *limits);
/* Rounds x[n] in host memory to half-precision values, as store_halves does. */
void ops_round_to_halves(float *x, size_t n);
const char *ops_cpu_description(void); /* "oneDNN 2.6.3, avx2" */
/* Checks that the device can compute, before a run relies on it: that the program has kernels for it, and with_library
 * that cuBLASLt can be opened and initialized, as ops_device_create does later. CORE_USAGE: it cannot. */
int ops_device_check(CoreDevice *device, OpsPrecision precision, bool with_library);
/* Creates ops on a device, which must outlive them. with_stream: with stream_push, stream_pop and stream_wait, and
 * their scratch. CORE_USAGE: a GPU without cuBLASLt; CORE_FAIL: out of device memory. */
int ops_device_create(CoreDevice *device, OpsPrecision precision, int max_rows, int max_width, bool with_stream,
                      Ops **ops);
/* Returns the device memory that they allocate, including the matrix library's workspaces. */
double ops_device_bytes(CoreDevice *device, OpsPrecision precision, int max_rows, int max_width, bool with_stream);
void ops_destroy(Ops **ops);

#endif
