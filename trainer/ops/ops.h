/* Arithmetic as a table of functions. The CPU implementation (cpu.c) is the reference; device.c is the one for devices.
 * Learners and networks call ops, never a kernel. All matrices are row-major float32 on the ops' device; all sums that
 * become a statistic are float64. Nothing is allocated after the ops are made.
 *
 * Arrays are in the memory of ops->device (NULL: the host's); structs and results by value are the host's. Between
 * ops->update's begin and finish, pointers to sums may be NULL: the sums then stay in its statistics on the device. */
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

/* Sums over one minibatch of the PPO / PPO-EWMA actor loss and of what is measured beside it. */
typedef struct OpsPolicySums {
  double loss;            /* sum of -min(r A, clip(r) A) (per sample; without the entropy term) */
  double entropy;         /* sum over samples of the entropy, summed over factors */
  double k1, k3;          /* sums of -l and expm1(l)-l, l = logp - logp_behaviour */
  double clipped;         /* samples with the (proximal) ratio outside 1 +- epsilon */
} OpsPolicySums;
/* Sums over a minibatch of what gaussian_regularize adds to a loss. */
typedef struct OpsGaussianSums {
  double entropy;         /* of coefficient times entropy */
  double bounds;          /* of squares beyond the bound, without their coefficient */
} OpsGaussianSums;
typedef struct OpsValueSums {
  double loss; /* 0.5*max((V-T)^2, (Vclip-T)^2) or 0.5*(V-T)^2, summed; Q: (Q-T)^2 */
} OpsValueSums;

/* What a policy's outputs mean. An action has `factors` components; a state's policy is `logits` numbers, below called
 * its logits whatever they are:
 *   MULTI_DISCRETE  `factors` categoricals of size[i] logits, concatenated (Kinetix: 3,3,3,3,2,2). Action: uint8_t
 *   GAUSSIAN        `factors` means, then as many log standard deviations. Action: float, unbounded
 *   TANH_AFFINE     `factors` locations, then as many raw scales (scale = softplus(raw) + 1e-3) of a Gaussian whose
 * tanh                   is stretched to low..high (Stoix's NormalAffineTanh; spec ppo.md 1.7). Action: float in
 * low..high */
typedef enum OpsHeadKind { OPS_MULTI_DISCRETE, OPS_GAUSSIAN, OPS_TANH_AFFINE } OpsHeadKind;
enum { OPS_FACTORS_MAX = 32, OPS_LOGITS_MAX = 256 };
typedef struct OpsHead {
  int factors, logits, size[OPS_FACTORS_MAX];
  OpsHeadKind kind;
  float low, high;        /* bounds of a continuous action's components, as the environment takes them */
} OpsHead;

static inline int ops_head_is_continuous(const OpsHead *head) { return head->kind != OPS_MULTI_DISCRETE; }
/* Bytes of one action. */
static inline size_t ops_head_action_bytes(const OpsHead *head) {
  return (size_t)head->factors * (ops_head_is_continuous(head) ? sizeof(float) : sizeof(uint8_t));
}

/* The standard deviation of component k of a continuous head, from a row of logits. */
static inline double ops_head_std(const OpsHead *head, const float *logits, int k) {
  const double raw = (double)logits[head->factors + k];
  if (head->kind == OPS_GAUSSIAN) return exp(raw);
  return (raw > 0 ? raw + log1p(exp(-raw)) : log1p(exp(raw))) + 1e-3;
}

/* The precision of matrix products on a GPU. All else is float32, sums float64. TF32 and bf16 round their operands to
 * 10 and 7 bits; with bf16 a chain's hidden layers are bf16 in memory, too. */
typedef enum OpsPrecision { OPS_FLOAT32, OPS_TF32, OPS_BF16 } OpsPrecision;

/* Statistics of a rollout's episodes, on the device. The owner zeroes them before each rollout, but for `returns`. */
enum { OPS_EPISODE_COUNTS = 3 };
typedef struct OpsEpisodes {
  int worlds, first_reported;     /* worlds before it are not counted */
  double *returns;                /* [worlds] reward so far of the episode that runs */
  double *finished;               /* [worlds] returns of those that ended; on the CPU the first has the sum of all */
  int64_t *attempts, *solutions;  /* [levels] */
  int64_t *count;                 /* [OPS_EPISODE_COUNTS]: episodes that ended, their steps, and the goals in them */
  const int32_t *level_of_slot;  /* index in attempts and solutions of a step's level; NULL: the level itself */
} OpsEpisodes;
/* Results of a step, [worlds] each. */
typedef struct OpsEpisodeStep {
  const float *reward;
  const uint8_t *done, *solved; /* solved: goals of the episode that ended, as EnvStep has it */
  const int32_t *level, *length;
} OpsEpisodeStep;

/* A layer of a chain of dense layers: each one's output is the next one's input. */
typedef struct OpsLayer {
  int in, out;
  OpsActivation activation;
  const float *w, *b;     /* [in][out], [out] */
  float *y;               /* [rows][out] its output */
  float *dw, *db;         /* [in][out], [out]: set by a backward pass, unused otherwise */
} OpsLayer;

/* Called by a chain's backward pass when the gradients of its layers from `layer` on are complete. */
typedef struct OpsWatch {
  void (*on_complete)(void *context, int layer);
  void *context;
} OpsWatch;

/* One of several arrays whose rows, of so many bytes, are gathered by the same index: source [*] -> target [rows]. */
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
   * activation. dw[in][out], db[out] are set (not added to); dx[rows][in] is set unless NULL.
   * SILU can not be inverted from y: x W + b is recomputed there from x, w, b. */
  void (*dense_backward)(Ops *ops, const float *x, const float *w, const float *b, const float *y, float *dy, float *dx,
                         float *dw, float *db, int rows, int in, int out, OpsActivation activation);
  /* dense_forward and dense_backward of layers 0 .. count-1, x[rows][layers[0].in] the input of the first, dy at the
   * output of the last, which may be overwritten. A device may fuse layers, so gradients between them are not stored.
   * It may store outputs of all layers but the last in a format of its own, which chain_backward of the same rows and
   * read_hidden know. scratch: 2*rows*(widest output) floats. watch may be NULL. Both are NULL where one layer after
   * the other is as fast. */
  void (*chain_forward)(Ops *ops, const float *x, const OpsLayer *layers, int count, int rows);
  void (*chain_backward)(Ops *ops, const float *x, const OpsLayer *layers, int count, float *dy, float *dx,
                         float *scratch, int rows, const OpsWatch *watch);
  /* y[rows][columns] of a chain's layer before the last, as floats -> host memory. NULL: they are floats. */
  void (*read_hidden)(Ops *ops, const float *y, int rows, int columns, float *host);
  /* Layer norm and activation of each row: n = (z - mean z) / sqrt(variance z + epsilon), y = activation(gain n +
   * offset). z[rows][columns] becomes n, inverse[rows] what z - mean was multiplied by. */
  void (*norm_forward)(Ops *ops, float *z, float *inverse, const float *gain, const float *offset, float *y, int rows,
                       int columns, double epsilon, OpsActivation activation);
  /* dy[rows][columns], the gradient at y, is overwritten with that at z; dgain[columns], doffset[columns] are set. */
  void (*norm_backward)(Ops *ops, const float *n, const float *inverse, const float *gain, const float *offset,
                        const float *y, float *dy, float *dgain, float *doffset, int rows, int columns,
                        OpsActivation activation);
  /* order[n] = core_random_permutation(seed, purpose, a, b), the same on every device. scratch[2 n]; NULL
   * on the CPU. */
  void (*permute)(Ops *ops, uint64_t seed, uint32_t purpose, uint32_t a, uint32_t b, uint32_t *order, uint32_t n,
                  uint32_t *scratch);
  /* The rows of a rollout [steps][worlds] that `count` worlds went through, world after world -> rows[count*steps] */
  void (*world_rows)(Ops *ops, const uint32_t *world, int count, int steps, int worlds, uint32_t *rows);
  /* rows of `source` [*][columns] named by index -> target [rows][columns] */
  void (*gather_rows)(Ops *ops, const float *source, const uint32_t *index, float *target, int rows, int columns);
  /* gather_rows for rows that only chains read, as their input `target`. Ops may store them in a format of their own
   * and leave target unchanged; chains over target use them until the next call. index NULL: the rows are target's
   * (source = target). The function is NULL where there is no other format. */
  void (*gather_inputs)(Ops *ops, const float *source, const uint32_t *index, float *target, int rows, int columns);
  /* gather_rows of rows of so many bytes; and of several arrays by one index, at once. */
  void (*gather_bytes)(Ops *ops, const void *source, const uint32_t *index, void *target, int rows, size_t bytes);
  void (*gather_fields)(Ops *ops, const OpsField *field, int fields, const uint32_t *index, int rows);

  /* The same of half-precision numbers (IEEE binary16), exactly; and x[n] -> the nearest halves, ties to even, the
   * largest for what is larger and finite. */
  void (*gather_halves)(Ops *ops, const uint16_t *source, const uint32_t *index, float *target, int rows, int columns);
  void (*store_halves)(Ops *ops, const float *x, size_t n, uint16_t *halves);

  /* Samples one action a row (inverse CDF, or a Gaussian by Box-Muller; Philox numbers keyed by (seed; purpose,
   * first_world + row, step)), and the log-probability of the whole action. actions [rows][factors], of the head's
   * type. */
  void (*policy_sample)(Ops *ops, const OpsHead *head, const float *logits, int rows, uint64_t seed, uint32_t purpose,
                        uint32_t first_world, uint32_t step, void *actions, float *logp);
  /* policy_sample at step *clock + step. *clock is in device memory, so that the call can be recorded in a graph
   * (device.h). The upper half of the sum goes into unused bits of the seed, so that random numbers never repeat. NULL
   * on the CPU. */
  void (*policy_sample_at)(Ops *ops, const OpsHead *head, const float *logits, int rows, uint64_t seed,
                           uint32_t purpose, uint32_t first_world, const uint64_t *clock, uint32_t step, void *actions,
                           float *logp);
  /* logp[rows] of given actions. */
  void (*policy_logp)(Ops *ops, const OpsHead *head, const float *logits, const void *actions, float *logp, int rows);
  /* Exact KL(p||q) and KL(q||p), sums over rows; p, q logits. TANH_AFFINE: of the Gaussians. (metrics.md 2.2) */
  void (*policy_kl)(Ops *ops, const OpsHead *head, const float *p, const float *q, int rows, double *kl,
                    double *kl_reverse);

  /* PPO-clip (logp_proximal NULL) or PPO-EWMA actor loss (spec ppo.md 1.4, 2.1). dlogits[rows][logits] is set to the
   * gradient of mean(loss) - entropy_coef*mean(entropy) over the rows; sums are over the rows. epsilon in [0, inf].
   * TANH_AFFINE has no closed entropy: there it counts as 0, and policy_sampled_entropy comes after. */
  void (*policy_loss)(Ops *ops, const OpsHead *head, const float *logits, const void *actions,
                      const float *logp_behaviour, const float *logp_proximal, const float *advantage, int rows,
                      double epsilon, double entropy_coef, float *dlogits, OpsPolicySums *sums);
  /* TANH_AFFINE: the entropy estimated at location + scale noise, noise[rows][factors] ~ N(0,1). Adds the gradient of
   * -entropy_coef*mean(entropy), which goes through the sample too, to dlogits; *sum: of the entropy. */
  void (*policy_sampled_entropy)(Ops *ops, const OpsHead *head, const float *logits, const float *noise, int rows,
                                 double entropy_coef, float *dlogits, double *sum);
  /* noise[rows][columns]: N(0,1), row r keyed by (seed; purpose, index[r], step). */
  void (*normal_rows)(Ops *ops, uint64_t seed, uint32_t purpose, const uint32_t *index, uint32_t step, int rows,
                      int columns, float *noise);
  /* GAUSSIAN with free log standard deviations: mean[rows][factors], log_sigma[sets][factors] -> logits[rows][2
   * factors]. set[rows]: whose log_sigma a row takes; NULL: all take the first. */
  void (*gaussian_join)(Ops *ops, const float *mean, const float *log_sigma, const int32_t *set, int rows, int factors,
                        float *logits);
  /* Its transpose, for gradients: dmean[rows][factors] and dlog_sigma[sets][factors] are set. */
  void (*gaussian_split)(Ops *ops, const float *dlogits, const int32_t *set, int rows, int factors, int sets,
                         float *dmean, float *dlog_sigma);
  /* GAUSSIAN, rows of sets: adds to dlogits the gradient of bounds_coef*mean(sum over means of the square of what lies
   * beyond +-bound) - mean(entropy_coef[set]*entropy). */
  void (*gaussian_regularize)(Ops *ops, const OpsHead *head, const float *logits, const int32_t *set,
                              const float *entropy_coef, double bound, double bounds_coef, int rows, float *dlogits,
                              OpsGaussianSums *sums);
  /* Rows whose last column is the number of a set: x[rows][features + 1] -> joined[rows][features + width], the set's
   * embedding[sets][width] after the features, and set[rows]. */
  void (*embed_forward)(Ops *ops, const float *x, const float *embedding, int rows, int features, int width,
                        float *joined, int32_t *set);
  /* Its transpose: dembedding[sets][width] is set. */
  void (*embed_backward)(Ops *ops, const float *djoined, const int32_t *set, int rows, int features, int width,
                         int sets, float *dembedding);
  /* Value loss 0.5*mean max(...) times value_coef; dvalue[rows] set. clip: around old_value by epsilon. */
  void (*value_loss)(Ops *ops, const float *value, const float *old_value, const float *target, int rows, int clip,
                     double epsilon, double value_coef, float *dvalue, OpsValueSums *sums);

  /* Q values q[rows][columns] of one categorical action. The policy that takes the greatest but with probability
   * epsilon any, in place, as log-probabilities (what is impossible gets e^-69); the greatest values[rows]; and the
   * sum of (Q(s, a) - target)^2 with dq[rows][columns], the gradient of its mean. */
  void (*q_policy)(Ops *ops, float *q, int rows, int columns, double epsilon);
  void (*q_values)(Ops *ops, const float *q, int rows, int columns, float *values);
  void (*q_loss)(Ops *ops, const float *q, const uint8_t *actions, const float *target, int rows, int columns,
                 float *dq, OpsValueSums *sums);

  void (*add)(Ops *ops, float *x, const float *y, size_t n);                  /* x += y */
  double (*norm_squared)(Ops *ops, const float *x, size_t n);                 /* sum x^2 in float64, fixed order */
  double (*distance_squared)(Ops *ops, const float *x, const float *y, size_t n);
  /* Adam with bias correction, gradient times `scale` (from clipping); t counts from 1 (spec 1.6). */
  void (*adam)(Ops *ops, float *theta, const float *gradient, float *m, float *v, size_t n, double scale, double rate,
               double beta1, double beta2, double epsilon, int64_t t);
  /* RAdam, the same but rectified: no second moment until its variance is bounded (spec 8.2). */
  void (*radam)(Ops *ops, float *theta, const float *gradient, float *m, float *v, size_t n, double scale, double rate,
                double beta1, double beta2, double epsilon, int64_t t);
  /* proximal = keep*proximal + (1-keep)*theta, as proximal += (1-keep)*(theta - proximal). */
  void (*ewma)(Ops *ops, float *proximal, const float *theta, size_t n, double keep);
  /* Generalised advantage estimation; shapes and rules: trainer/update/advantage.h. */
  void (*gae)(Ops *ops, double gamma, double lambda, double reward_scale, const float *reward, const float *value,
              const uint8_t *done, const uint8_t *truncated, const float *bootstrap, int steps, int worlds,
              float *advantage, float *target);
  /* Moments of x[n] - y[n] (y NULL: of x), in float64 and a fixed order. */
  void (*moments)(Ops *ops, const float *x, const float *y, size_t n, Moments *moments);
  /* x = (x - shift) * factor, each element rounded once from double. */
  void (*normalize)(Ops *ops, float *x, size_t n, double shift, double factor);
  /* Index of the first element that is not finite, or n. */
  size_t (*first_nonfinite)(Ops *ops, const float *x, size_t n);

  /* bounded[n] = values within low..high; NaN stays. */
  void (*bound)(Ops *ops, const float *values, size_t n, float low, float high, float *bounded);
  void (*count_episodes)(Ops *ops, const OpsEpisodes *episodes, const OpsEpisodeStep *step);
  /* Where done, adds 1 to a world's episodes, up to `most`, and to its solutions where solved: all [worlds]. */
  void (*count_trials)(Ops *ops, const uint8_t *done, const uint8_t *solved, int worlds, int64_t most,
                       int64_t *episodes, int64_t *solutions);

  /* For the cap on the importance ratio and for ppo.kl_penalty (spec ppo.md 2.3): capped[n] = max(behaviour, logp -
   * log_cap); and with d = logp - around, pull[rows] = -weight d, returning the sum of d^2/2. */
  void (*cap)(Ops *ops, const float *behaviour, const float *logp, double log_cap, size_t n, float *capped);
  void (*kl_penalty_weights)(Ops *ops, const float *logp, const float *ref_logp, double weight, int rows,
                             float *kl_penalty_weights, double *sum);

  /* What SAPG needs (spec ppo.md 7.3). GAUSSIAN: *sum of KL(logits[r] || reference[index[r]]) over the rows as the
   * controller of the learning rate takes it (metrics.md 2.4); each of these rows of reference [*][logits], no two of
   * which are one, becomes logits[r]. And x[n] -> (x - shift)*factor within +-bound; and x within +-bound, times
   * factor, plus shift: both in double, rounded once. */
  void (*controller_kl)(Ops *ops, const OpsHead *head, const float *logits, const uint32_t *index, int rows,
                        float *reference, double *sum);
  void (*normalize_within)(Ops *ops, float *x, size_t n, double shift, double factor, double bound);
  void (*denormalize_within)(Ops *ops, float *x, size_t n, double shift, double factor, double bound);

  /* The actor's work beside the critic's. From enter to leave, operations go to CORE_STREAM_ACTOR of the device, with
   * scratch of their own, after what came before enter. Rows gathered for chains are visible there. join: later
   * operations wait for that stream. Until then neither may touch what the other writes. NULL: there is no such
   * stream. */
  void (*stream_push)(Ops *ops);
  void (*stream_pop)(Ops *ops);
  void (*stream_wait)(Ops *ops);

  const struct OpsUpdate *update; /* update.h: updates without the host; NULL: on the CPU */
  const struct OpsEntity *entity; /* entity.h: what entity encoders need; NULL: not made for this device */
  const struct OpsPicture *picture; /* picture.h: what encoders of pixels need; NULL: not made for this device */
  const struct OpsRecurrent *recurrent; /* recurrent.h: what an LSTM needs */

  void *state;                    /* the implementation's own: scratch, threads */
  double flops;                   /* matrix-product operations so far (2*m*n*k each) */
  void (*destroy)(Ops *ops);
};

/* The CPU's ops; the caller destroys them. threads: 0 = as many as this process may use. Results do not depend on it,
 * since sums are split and folded by shape alone. max_rows, max_width bound every later call (inputs count as a width).
 * Names the library and kernel in ops_cpu_description(). */
int ops_cpu_create(int threads, int max_rows, int max_width, Ops **ops);
/* The same with bf16 matrix products in dense layers and chains: both factors rounded to the nearest bf16 number (ties
 * to even), products and sums in float32. Which layers, and by whom, bf16.h chooses. Before that all are: by oneDNN
 * where there are AMX tiles, elsewhere by sgemm on rounded numbers. TRAINER_BF16=rounded|library in the environment
 * chooses for all layers (CORE_USAGE where the library can not). All else, attention too, stays as it is. */
int ops_cpu_create_bf16(int threads, int max_rows, int max_width, Ops **ops);
/* Upper bound of the bytes that either takes. */
double ops_cpu_bytes(int threads, int max_rows, int max_width);
/* x[n] in host memory -> the nearest numbers that halves hold, as store_halves would store them. */
void ops_round_to_halves(float *x, size_t n);
const char *ops_cpu_description(void); /* "oneDNN 2.6.3, avx2" */
/* Ops on a device, which must outlive them. beside: with enter, leave and join, and their scratch. CORE_USAGE: a GPU
 * without cuBLASLt; CORE_FAIL: out of its memory. */
int ops_device_create(CoreDevice *device, OpsPrecision precision, int max_rows, int max_width, bool beside, Ops **ops);
/* Bytes of the device's memory that they take, the matrix library's workspaces among them. */
double ops_device_bytes(CoreDevice *device, OpsPrecision precision, int max_rows, int max_width, bool beside);
void ops_destroy(Ops **ops);

#endif
