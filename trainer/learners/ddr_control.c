/* DDR controller (ddr_control.h). */
#include "trainer/learners/ddr_control.h"

#include <math.h>
#include <string.h>

static const double RATIO_MAX = 10;

DdrControlKind ddr_control_kind(const CoreConfig *config) {
  const bool ewma = strcmp(config->algo.name, "ppo_ewma") == 0;
  if (config->ppo.ddr_target == 0) return DDR_CONTROL_NONE;
  if (strcmp(config->ppo.ddr_by, "auto") == 0) return ewma ? DDR_CONTROL_COM : DDR_CONTROL_EPSILON;
  return strcmp(config->ppo.ddr_by, "com") == 0 ? DDR_CONTROL_COM : DDR_CONTROL_EPSILON;
}

/* The controlled setting: its start and limits. */
typedef struct Range { const char *name; double start, low, high; } Range;

static Range get_range(const DdrControl *control) {
  const CoreConfig *config = control->config;
  if (control->kind == DDR_CONTROL_COM)
    return (Range){"com", config->ppo.com, config->ppo.com_min, config->ppo.com_max};
  return (Range){"epsilon", config->ppo.epsilon, config->ppo.epsilon_min, config->ppo.epsilon_max};
}

static double clamp(const Range *range, double value) { return fmin(fmax(value, range->low), range->high); }

int ddr_control_create(const CoreConfig *config, DdrControl *control) {
  *control = (DdrControl){.config = config, .kind = ddr_control_kind(config)};
  if (!ddr_control_is_on(control)) return CORE_OK;
  const Range range = get_range(control);
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
  const Range range = get_range(control);
  control->value = clamp(&range, range.start);
}

void ddr_control_bound(DdrControl *control) {
  const Range range = get_range(control);
  if (ddr_control_is_on(control)) control->value = clamp(&range, control->value);
}

double ddr_control_target(const CoreConfig *config, double transitions) {
  const double target = config->ppo.ddr_target;
  if (strcmp(config->ppo.ddr_schedule, "power") != 0) return target;
  return target * pow(transitions / config->ppo.ddr_transitions, config->ppo.ddr_growth);
}

void ddr_control_update(DdrControl *control, double transitions, double ddr) {
  if (!ddr_control_is_on(control) || !(ddr > 0)) return;
  const Range range = get_range(control);
  const double gain = control->config->ppo.ddr_gain;
  const double ratio = fmin(fmax(ddr_control_target(control->config, transitions) / ddr, 1 / RATIO_MAX), RATIO_MAX);
  control->value *= pow(ratio, control->kind == DDR_CONTROL_COM ? gain : -gain / 2);
  control->value = clamp(&range, control->value);
}

double ddr_control_com(const DdrControl *control) {
  return control->kind == DDR_CONTROL_COM ? control->value : control->config->ppo.com;
}

double ddr_control_epsilon(const DdrControl *control) {
  return control->kind == DDR_CONTROL_EPSILON ? control->value : control->config->ppo.epsilon;
}
