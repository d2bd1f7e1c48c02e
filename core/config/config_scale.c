/* The scaling schemes: a reference configuration and a factor to the N, M, B and learning rate that are run (spec
 * ppo.md 4). The one place where [scale] is understood: whoever runs a configuration resolves it first, whoever names
 * it (id, files, the database) keeps it as the user wrote it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/config/config.h"

/* What a scheme multiplies the reference's M and learning rate by; N by the factor itself. */
typedef struct Scaling { double minibatches, rate, com; } Scaling;

/* 2^k for a factor that is one, else CORE_USAGE. */
static int power_of_two(double factor, int *exponent) {
  if (frexp(factor, exponent) != 0.5)
    return core_error(CORE_USAGE, "scale.factor = %g: scale.scheme = hybrid needs a power of two", factor);
  --*exponent;
  return CORE_OK;
}

/* hybrid shares 2^k between the number of minibatches (2^ceil(k/2)) and their size (2^floor(k/2)): 512 = 32 * 16. */
static int scaling_of(const char *scheme, double factor, Scaling *scaling) {
  int exponent;
  *scaling = (Scaling){1, 1, 1};
  if (strcmp(scheme, "more_minibatches") == 0) {
    scaling->minibatches = factor;
  } else if (strcmp(scheme, "larger_minibatches_sqrt") == 0) {
    scaling->rate = sqrt(factor);
  } else if (strcmp(scheme, "batch_size_invariant") == 0) {
    scaling->rate = sqrt(factor);
    scaling->com = 1 / factor;
  } else if (strcmp(scheme, "hybrid") == 0) {
    TRY(power_of_two(factor, &exponent));
    double larger = ldexp(1, (int)floor(exponent / 2.0));
    scaling->minibatches = factor / larger;
    scaling->rate = sqrt(larger);
  } else if (strcmp(scheme, "none") == 0 && factor != 1) {
    return core_error(CORE_USAGE, "scale.factor = %g needs a scale.scheme", factor);
  }
  return CORE_OK;
}

static int out_of_range(const CoreConfigRow *row, double value) {
  return core_error(CORE_USAGE, "%s comes to %.17g, possible is %g to %g", row->name, value, row->lowest, row->highest);
}

/* *value times factor, which must be a whole number that the setting may have. */
static int scale_count(const char *name, int64_t *value, double factor) {
  const CoreConfigRow *row = core_config_find(name);
  double product = (double)*value * factor, whole = round(product);
  if (fabs(product - whole) > 1e-9 * product)
    return core_error(CORE_USAGE, "%s = %" PRId64 " times %g is not a whole number", name, *value, factor);
  if (whole < row->lowest || whole > row->highest) return out_of_range(row, whole);
  *value = (int64_t)whole;
  return CORE_OK;
}

static int scale_rate(const char *name, double *value, double factor) {
  const CoreConfigRow *row = core_config_find(name);
  double product = *value * factor;
  if (product > row->highest) return out_of_range(row, product);
  *value = product;
  return CORE_OK;
}

/* Scales the centers of mass of the two averages: decay d has COM d / (1 - d). */
static int scale_averages(CoreConfig *config, double factor) {
  const double decay = config->ppo.adv_ewma_decay, com = decay / (1 - decay) * factor;
  TRY(scale_rate("ppo.com", &config->ppo.com, factor));
  if (factor == 1) return CORE_OK;
  const double scaled = com / (1 + com);
  const CoreConfigRow *row = core_config_find("ppo.adv_ewma_decay");
  if (scaled > row->highest) return out_of_range(row, scaled);
  config->ppo.adv_ewma_decay = scaled;
  return CORE_OK;
}

static int scale(CoreConfig *config) {
  Scaling scaling;
  TRY(scaling_of(config->scale.scheme, config->scale.factor, &scaling));
  TRY(scale_count("env.num", &config->env.num, config->scale.factor));
  TRY(scale_count("ppo.num_minibatches", &config->ppo.num_minibatches, scaling.minibatches));
  TRY(scale_averages(config, scaling.com));
  TRY(scale_rate("ppo.learning_rate", &config->ppo.learning_rate, scaling.rate));
  return scale_rate("pqn.learning_rate", &config->pqn.learning_rate, scaling.rate);
}

bool core_config_has_no_worlds(const CoreConfig *config) {
  return !config->program && strcmp(config->algo.name, "noisy_sgd") == 0;
}

bool core_config_has_curriculum(const CoreConfig *config) { return strcmp(config->env.curriculum, "none") != 0; }

bool core_config_is_scaled(const CoreConfig *config) { return strcmp(config->scale.scheme, "none") != 0; }

int core_config_resolve(const CoreConfig *config, CoreConfig *resolved) {
  CoreConfig made = *config;
  int code = scale(&made);
  if (code != CORE_OK && core_config_is_scaled(config))
    return core_error_context(code, "scale.scheme = %s, scale.factor = %g", config->scale.scheme, config->scale.factor);
  TRY(code);
  snprintf(made.scale.scheme, sizeof made.scale.scheme, "none");
  made.scale.factor = 1;
  *resolved = made;
  return CORE_OK;
}

int64_t core_config_transitions_per_iteration(const CoreConfig *config) {
  if (core_config_has_no_worlds(config) || config->program) return 1; /* a step is an iteration */
  double worlds = (double)config->env.num * (core_config_is_scaled(config) ? config->scale.factor : 1);
  return (int64_t)fmax(1, round(worlds)) * config->ppo.num_steps;
}

int64_t core_config_iterations(const CoreConfig *config) {
  int64_t each = core_config_transitions_per_iteration(config);
  return (config->train.total_steps + each - 1) / each;
}
