/* The controller of the data-to-divergence ratio (ddr_control.h). */
#include "trainer/learners/ddr_control.h"

#include <math.h>
#include <string.h>

static const double MOST_RATIO = 10;

DdrControlKind ddr_control_kind(const CoreConfig *config) {
  const bool ewma = strcmp(config->algo.name, "ppo_ewma") == 0;
  if (config->ppo.ddr_target == 0) return DDR_CONTROL_NONE;
  if (strcmp(config->ppo.ddr_by, "auto") == 0) return ewma ? DDR_CONTROL_COM : DDR_CONTROL_EPSILON;
  return strcmp(config->ppo.ddr_by, "com") == 0 ? DDR_CONTROL_COM : DDR_CONTROL_EPSILON;
}

/* What moves: its start and limits. */
typedef struct Range { const char *name; double start, low, high; } Range;

static Range range_of(const DdrControl *control) {
  const CoreConfig *config = control->config;
  if (control->kind == DDR_CONTROL_COM)
    return (Range){"com", config->ppo.com, config->ppo.com_min, config->ppo.com_max};
  return (Range){"epsilon", config->ppo.epsilon, config->ppo.epsilon_min, config->ppo.epsilon_max};
}

static double within(const Range *range, double value) { return fmin(fmax(value, range->low), range->high); }

int ddr_control_create(const CoreConfig *config, DdrControl *control) {
  *control = (DdrControl){.config = config, .kind = ddr_control_kind(config)};
  if (!ddr_control_is_on(control)) return CORE_OK;
  const Range range = range_of(control);
  if (control->kind == DDR_CONTROL_COM && strcmp(config->algo.name, "ppo_ewma") != 0)
    return core_error(CORE_USAGE, "ppo.ddr_by = com needs a COM, which algo.name = %s lacks; set ppo.ddr_by = epsilon",
                      config->algo.name);
  if (range.low > range.high)
    return core_error(CORE_USAGE, "ppo.%s_min = %g is above ppo.%s_max = %g", range.name, range.low, range.name,
                      range.high);
  ddr_control_start(control);
  return CORE_OK;
}

void ddr_control_start(DdrControl *control) {
  const Range range = range_of(control);
  control->value = within(&range, range.start);
}

void ddr_control_bound(DdrControl *control) {
  const Range range = range_of(control);
  if (ddr_control_is_on(control)) control->value = within(&range, control->value);
}

double ddr_control_target(const CoreConfig *config, double transitions) {
  const double target = config->ppo.ddr_target;
  if (strcmp(config->ppo.ddr_schedule, "power") != 0) return target;
  return target * pow(transitions / config->ppo.ddr_transitions, config->ppo.ddr_growth);
}

void ddr_control_follow(DdrControl *control, double transitions, double ddr) {
  if (!ddr_control_is_on(control) || !(ddr > 0)) return;
  const Range range = range_of(control);
  const double gain = control->config->ppo.ddr_gain;
  const double ratio = fmin(fmax(ddr_control_target(control->config, transitions) / ddr, 1 / MOST_RATIO), MOST_RATIO);
  control->value *= pow(ratio, control->kind == DDR_CONTROL_COM ? gain : -gain / 2);
  control->value = within(&range, control->value);
}

double ddr_control_com(const DdrControl *control) {
  return control->kind == DDR_CONTROL_COM ? control->value : control->config->ppo.com;
}

double ddr_control_epsilon(const DdrControl *control) {
  return control->kind == DDR_CONTROL_EPSILON ? control->value : control->config->ppo.epsilon;
}
