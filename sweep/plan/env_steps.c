/* Steps of searches and evaluations (env_steps.h). */
#include "sweep/plan/env_steps.h"

#include <math.h>
#include <string.h>

/* Returns the steps of all searches: one before the first iteration and then before each sfl.period iterations. */
static double search_steps(const CoreConfig *config) {
  if (!core_config_has_curriculum(config) || config->sfl.sampled_ratio == 0) return 0;
  const double searches = ceil((double)core_config_iterations(config) / (double)config->sfl.period);
  return searches * (double)config->sfl.num_batches * (double)config->sfl.batch_size *
         (double)config->sfl.rollout_steps;
}

/* Returns how many level sets an evaluation is on: the training levels and those of eval.levels. */
static double level_sets(const CoreConfig *config) {
  double sets = 1 + (*config->eval.levels != '\0');
  for (const char *c = config->eval.levels; *c; c++) sets += *c == '+';
  return sets;
}

static double evaluation_steps(const CoreConfig *config) {
  if (strchr(config->env.task, '/')) return 0; /* its own time limit */
  const double evaluations = (double)config->eval.count + (config->eval.count > 0); /* one before training */
  return evaluations * level_sets(config) * (double)config->eval.episodes * (double)config->env.max_steps;
}

SweepEnvSteps sweep_env_steps_left(const CoreConfig *config, double left) {
  if (config->program || core_config_has_no_envs(config)) return (SweepEnvSteps){0};
  const double total = (double)core_config_iterations(config) * (double)core_config_transitions_per_iteration(config);
  const double share = total > 0 ? left / total : 0;
  return (SweepEnvSteps){share * search_steps(config), share * evaluation_steps(config)};
}
