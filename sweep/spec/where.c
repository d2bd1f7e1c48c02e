#include "sweep/spec/where.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

enum { KEY_MAX = 128 };

/* Parsed condition. */
typedef struct Condition {
  char key[KEY_MAX];
  const char *value;
  const CoreConfigRow *row; /* NULL: grid or search */
  CoreConfig expected;      /* with the required value */
} Condition;

static int read_condition(const char *pair, Condition *condition) {
  const char *equals = strchr(pair, '=');
  if (!equals || equals == pair || (size_t)(equals - pair) >= sizeof condition->key)
    return core_error(CORE_USAGE, "--where %.80s: expected KEY=VALUE", pair);
  snprintf(condition->key, sizeof condition->key, "%.*s", (int)(equals - pair), pair);
  condition->value = equals + 1;
  condition->row = NULL;
  if (strcmp(condition->key, "grid") == 0 || strcmp(condition->key, "search") == 0) return CORE_OK;
  if (strcmp(condition->key, "seed") == 0) snprintf(condition->key, sizeof condition->key, "train.seed");
  condition->row = core_config_find(condition->key);
  if (!condition->row)
    return core_error(CORE_USAGE,
                      "--where %.80s: %s is not a setting; expected grid, search, seed or the full name of a setting",
                      pair, condition->key);
  condition->expected = core_config_default();
  const int code = core_config_set(&condition->expected, condition->key, condition->value);
  return code == CORE_OK ? CORE_OK : core_error_context(code, "--where %.80s", pair);
}

static bool is_met(const Condition *condition, const SweepPart *part, const CoreConfig *config) {
  if (condition->row) return core_config_value_equals(&condition->expected, config, condition->row);
  if (strcmp(condition->key, "grid") == 0) return part->block && strcmp(part->block->name, condition->value) == 0;
  return part->search && strcmp(part->search->name, condition->value) == 0;
}

/* Whether all conditions are met. Conditions on the same key are alternatives. */
static bool are_met(const Condition *conditions, size_t count, const SweepPart *part, const CoreConfig *config) {
  for (size_t i = 0; i < count; i++) {
    bool has_match = false;
    for (size_t k = 0; k < count && !has_match; k++)
      has_match = strcmp(conditions[k].key, conditions[i].key) == 0 && is_met(&conditions[k], part, config);
    if (!has_match) return false;
  }
  return true;
}

static void select_runs(const SweepGrid *grid, const Condition *conditions, size_t count, SweepGrid *part) {
  part->runs = 0;
  for (size_t run = 0; run < grid->runs; run++) {
    CoreConfig config;
    if (count > 0) sweep_grid_config(grid, run, &config);
    if (count > 0 && !are_met(conditions, count, sweep_grid_part(grid, run), &config)) continue;
    memcpy(part->ids[part->runs], grid->ids[run], sizeof part->ids[0]);
    part->places[part->runs++] = grid->places[run];
  }
}

int sweep_where_select(const SweepGrid *grid, const CoreOptionList *where, SweepGrid *part) {
  Condition *conditions = core_memory_zero_allocate(where->count + 1, sizeof *conditions);
  int code = CORE_OK;
  *part = *grid;
  part->ids = core_memory_allocate((grid->runs + 1) * sizeof *part->ids);
  part->places = core_memory_allocate((grid->runs + 1) * sizeof *part->places);
  part->is_part = where->count > 0;
  for (size_t i = 0; i < where->count && code == CORE_OK; i++) code = read_condition(where->items[i], &conditions[i]);
  if (code == CORE_OK) select_runs(grid, conditions, where->count, part);
  if (code == CORE_OK && part->runs == 0 && where->count > 0)
    code = core_error(CORE_USAGE, "--where %s: no run of %s has that", where->items[0], grid->spec->name);
  free(conditions);
  if (code != CORE_OK) sweep_where_free(part);
  return code;
}

void sweep_where_free(SweepGrid *part) {
  free(part->ids);
  free(part->places);
  *part = (SweepGrid){0};
}

int sweep_where_check_here(const SweepGrid *part) {
  if (!part->is_part) return CORE_OK;
  return core_error(CORE_USAGE, "--where: the local executor runs all runs of a sweep; select blocks with --set "
                                "sweep.grids=NAME, or submit to Slurm");
}
