/* The scaling schemes: compute N, M, B and learning rate from a reference configuration and a factor
 * (docs/experiments.md#scaling-a-reference). The only code that interprets [scale]: a configuration is resolved before
 * it is executed; its id, files and the database keep it as written. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/config/config.h"

/* Factors on the reference's M and learning rate, and on centers of mass; N is multiplied by scale.factor itself. */
typedef struct Scaling { double minibatches, lr, com; } Scaling;

/* Computes k of factor = 2^k. CORE_USAGE: the factor is not a power of two. */
static int binary_logarithm(double factor, int *exponent) {
  if (frexp(factor, exponent) != 0.5)
    return core_error(CORE_USAGE, "scale.factor = %g is not a power of two, as scale.scheme = hybrid requires", factor);
  --*exponent;
  return CORE_OK;
}

/* Computes the factors of a scheme. hybrid splits 2^k into the number of minibatches (2^ceil(k/2)) and their size
 * (2^floor(k/2)): 512 = 32 * 16. */
static int compute_scaling(const char *scheme, double factor, Scaling *scaling) {
  int exponent;
  *scaling = (Scaling){1, 1, 1};

  if (strcmp(scheme, "more_minibatches") == 0) {
    scaling->minibatches = factor;
  } else if (strcmp(scheme, "larger_minibatches_sqrt") == 0) {
    scaling->lr = sqrt(factor);
  } else if (strcmp(scheme, "batch_size_invariant") == 0) {
    scaling->lr = sqrt(factor);
    scaling->com = 1 / factor;
  } else if (strcmp(scheme, "hybrid") == 0) {
    TRY(binary_logarithm(factor, &exponent));
    double larger = ldexp(1, (int)floor(exponent / 2.0));
    scaling->minibatches = factor / larger;
    scaling->lr = sqrt(larger);
  } else if (strcmp(scheme, "none") == 0 && factor != 1) {
    return core_error(CORE_USAGE, "scale.factor = %g needs a scale.scheme", factor);
  }
  return CORE_OK;
}

static int out_of_range(const CoreConfigRow *row, double value) {
  return core_error(CORE_USAGE, "%s scales to %.17g, outside its range %g to %g", row->name, value, row->min, row->max);
}

/* Multiplies *value by factor. CORE_USAGE: the product is not an integer, or out of the setting's range. */
static int scale_count(const char *name, int64_t *value, double factor) {
  const CoreConfigRow *row = core_config_find(name);
  double product = (double)*value * factor, rounded = round(product);
  if (fabs(product - rounded) > 1e-9 * product)
    return core_error(CORE_USAGE, "%s = %" PRId64 " times %g is not a whole number", name, *value, factor);
  if (rounded < row->min || rounded > row->max) return out_of_range(row, rounded);
  *value = (int64_t)rounded;
  return CORE_OK;
}

/* Multiplies a real setting by factor. CORE_USAGE: the product is out of range. */
static int scale_real(const char *name, double *value, double factor) {
  const CoreConfigRow *row = core_config_find(name);
  double product = *value * factor;
  if (product > row->max) return out_of_range(row, product);
  *value = product;
  return CORE_OK;
}

/* Scales the centers of mass of the two averages: decay d has COM d / (1 - d). */
static int scale_averages(CoreConfig *config, double factor) {
  const double decay = config->ppo.adv_ewma_decay, com = decay / (1 - decay) * factor;
  TRY(scale_real("ppo.com", &config->ppo.com, factor));
  if (factor == 1) return CORE_OK;
  const double scaled = com / (1 + com);
  const CoreConfigRow *row = core_config_find("ppo.adv_ewma_decay");
  if (scaled > row->max) return out_of_range(row, scaled);
  config->ppo.adv_ewma_decay = scaled;
  return CORE_OK;
}

static int scale(CoreConfig *config) {
  Scaling scaling;
  TRY(compute_scaling(config->scale.scheme, config->scale.factor, &scaling));
  TRY(scale_count("env.num", &config->env.num, config->scale.factor));
  TRY(scale_count("ppo.num_minibatches", &config->ppo.num_minibatches, scaling.minibatches));
  TRY(scale_averages(config, scaling.com));
  TRY(scale_real("ppo.learning_rate", &config->ppo.learning_rate, scaling.lr));
  return scale_real("pqn.learning_rate", &config->pqn.learning_rate, scaling.lr);
}

bool core_config_has_no_envs(const CoreConfig *config) {
  return !config->program && strcmp(config->algo.name, "noisy_sgd") == 0;
}

bool core_config_has_curriculum(const CoreConfig *config) { return strcmp(config->env.curriculum, "none") != 0; }

bool core_config_is_scaled(const CoreConfig *config) { return strcmp(config->scale.scheme, "none") != 0; }

int core_config_resolve(const CoreConfig *config, CoreConfig *resolved) {
  CoreConfig scaled = *config;
  int code = scale(&scaled);
  if (code != CORE_OK && core_config_is_scaled(config))
    return core_error_context(code, "scale.scheme = %s, scale.factor = %g", config->scale.scheme, config->scale.factor);
  TRY(code);
  snprintf(scaled.scale.scheme, sizeof scaled.scale.scheme, "none");
  scaled.scale.factor = 1;
  *resolved = scaled;
  return CORE_OK;
}

int64_t core_config_transitions_per_iteration(const CoreConfig *config) {
  if (core_config_has_no_envs(config) || config->program) return 1; /* a step is an iteration */
  double envs = (double)config->env.num * (core_config_is_scaled(config) ? config->scale.factor : 1);
  return (int64_t)fmax(1, round(envs)) * config->ppo.num_steps;
}

int64_t core_config_iterations(const CoreConfig *config) {
  int64_t per_iteration = core_config_transitions_per_iteration(config);
  return (config->train.total_steps + per_iteration - 1) / per_iteration;
}
