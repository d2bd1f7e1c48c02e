/* Settings as keys of figures: names and values (select.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/select.h"
#include "core/config/script.h"
#include "core/error.h"
#include "core/memory.h"

int analysis_find_key(const char *name, const CoreConfigRow **row) {
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  *row = core_config_find(name);
  const CoreConfigRow *second = NULL;
  if (*row && (*row)->is_program) return CORE_OK; /* a program's setting of that name */

  /* A name without its section, which two settings may share. */
  const size_t candidates = strchr(name, '.') ? 0 : count;
  for (size_t i = 0; i < candidates; i++) {
    bool match = strcmp(rows[i].key, name) == 0 || strcmp(analysis_key_name(&rows[i]), name) == 0;
    if (match && *row && !second) second = &rows[i];
    if (match && !*row) *row = &rows[i];
  }
  if (*row && second)
    return core_error(CORE_USAGE, "key %s can be %s or %s; give its full name", name, (*row)->name, second->name);

  const char *synonym = *row ? NULL : core_config_find_synonym(name);
  if (synonym) *row = core_config_find(synonym);
  if (*row) return CORE_OK;

  const char **names = core_memory_allocate(2 * count * sizeof *names);
  for (size_t i = 0; i < count; i++) {
    names[i] = rows[i].name;
    names[count + i] = rows[i].key;
  }

  const char *near = core_text_nearest(name, names, 2 * count);
  int code = near ? core_error(CORE_USAGE, "unknown key %s; did you mean %s?", name, near)
                  : core_error(CORE_USAGE, "unknown key %s; `trainer --help` lists them", name);
  free(names);
  return code;
}

const char *analysis_key_name(const CoreConfigRow *row) {
  static const struct { const char *name, *label; } shorter[] = {
    {"ppo.epsilon", "eps"},         {"env.num", "envs"},         {"ppo.num_steps", "steps"},
    {"ppo.learning_rate", "lr"},    {"ppo.gae_lambda", "lambda"}, {"ppo.num_minibatches", "minibatches"},
    {"ppo.entropy_coef", "entropy"}, {"algo.name", "algo"},        {"train.total_steps", "budget"}};
  for (size_t i = 0; i < sizeof shorter / sizeof *shorter; i++) {
    if (strcmp(row->name, shorter[i].name) == 0) return shorter[i].label;
  }
  return row->key;
}

const CoreConfigRow *analysis_key_row(const AnalysisConfig *config, const CoreConfigRow *row) {
  if (core_config_is_read(config->shared, row)) return row;
  const CoreConfigRow *meaning = row->is_program ? row->equivalent : row;
  if (!meaning) return NULL;
  if (core_config_is_read(config->shared, meaning)) return meaning;
  const CoreScriptDefinition *program = config->shared->program ? config->shared->program->definition : NULL;
  const CoreConfigRow *used = NULL;
  if (program) {
    for (size_t i = 0; i < program->setting_count; i++) {
      if (program->settings[i].row->equivalent != meaning) continue;
      if (used) return NULL; /* ambiguous, such as lr and actor_lr */
      used = program->settings[i].row;
    }
  }
  return used;
}

bool analysis_key_applies(const AnalysisConfig *config, const CoreConfigRow *row) {
  return analysis_key_row(config, row) != NULL;
}

const char *analysis_key_value(const AnalysisConfig *config, const CoreConfigRow *row, CoreText *text) {
  const CoreConfigRow *used = analysis_key_row(config, row);
  core_text_clear(text);
  return used ? analysis_config_get(config, used, text) : "";
}

const char *analysis_key_own_value(const AnalysisConfig *config, const CoreConfigRow *row, CoreText *text) {
  core_text_clear(text);
  return core_config_is_read(config->shared, row) ? analysis_config_get(config, row, text) : "";
}

double analysis_key_number(const AnalysisConfig *config, const CoreConfigRow *row) {
  const CoreConfigRow *used = analysis_key_row(config, row);
  if (!used) return NAN;
  const void *value = analysis_config_field(config, used);
  return used->kind == CORE_CONFIG_INT ? (double)*(const int64_t *)value : *(const double *)value;
}

/* Returns how well a key names the setting `used` of a run: the trainer's name, the run's own, another program's. */
static int name_rank(const CoreConfigRow *key, const CoreConfigRow *own) { return !key->is_program ? 2 : key == own; }

bool analysis_key_is_shadowed(const AnalysisConfig *config, const CoreConfigRow *const *keys, size_t count,
                              size_t key) {
  const CoreConfigRow *used = analysis_key_row(config, keys[key]);
  const int rank = name_rank(keys[key], used);
  for (size_t k = 0; k < count && used; k++) {
    if (k == key || analysis_key_row(config, keys[k]) != used) continue;
    const int other = name_rank(keys[k], used);
    if (other > rank || (other == rank && k < key)) return true;
  }
  return false;
}
