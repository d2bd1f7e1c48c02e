#include "sweep/spec/where.h"

#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/memory.h"
#include "store/workspace/run.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/search.h"

enum { KEY_MAX = 128 };

/* Parsed condition. */
typedef struct Condition {
  char key[KEY_MAX];
  const char *value;
  const CoreConfigRow *row; /* NULL: grid, search or run */
  CoreConfig expected;      /* with the required value */
} Condition;

static int read_condition(const char *pair, Condition *condition) {
  const char *equals = strchr(pair, '=');
  if (!equals || equals == pair || (size_t)(equals - pair) >= sizeof condition->key)
    return core_error(CORE_USAGE, "--where %.80s: expected KEY=VALUE", pair);
  snprintf(condition->key, sizeof condition->key, "%.*s", (int)(equals - pair), pair);
  condition->value = equals + 1;
  condition->row = NULL;

  static const char *const others[] = {"grid", "search", "run"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(condition->key, others[i]) == 0) return CORE_OK;
  if (strcmp(condition->key, "seed") == 0) snprintf(condition->key, sizeof condition->key, "train.seed");
  condition->row = core_config_find(condition->key);
  if (!condition->row)
    return core_error(CORE_USAGE,
                      "--where %.80s: %s is not a setting; expected grid, search, seed, run or the full name of a "
                      "setting",
                      pair, condition->key);

  condition->expected = core_config_default();
  const int code = core_config_set(&condition->expected, condition->key, condition->value);
  return code == CORE_OK ? CORE_OK : core_error_context(code, "--where %.80s", pair);
}

static bool is_met(const Condition *condition, const SweepPart *part, const char *id, const CoreConfig *config) {
  if (strcmp(condition->key, "run") == 0) return strncmp(id, condition->value, strlen(condition->value)) == 0;
  if (condition->row) return core_config_value_equals(&condition->expected, config, condition->row);
  if (strcmp(condition->key, "grid") == 0) return part->block && strcmp(part->block->name, condition->value) == 0;
  return part->search && strcmp(part->search->name, condition->value) == 0;
}

/* Whether all conditions are met. Conditions on the same key are alternatives. */
static bool are_met(const Condition *conditions, size_t count, const SweepGrid *grid, size_t run) {
  CoreConfig config;
  sweep_grid_config(grid, run, &config);
  for (size_t i = 0; i < count; i++) {
    bool has_match = false, is_repeated = false;
    for (size_t k = 0; k < i && !is_repeated; k++) is_repeated = strcmp(conditions[k].key, conditions[i].key) == 0;
    for (size_t k = i; k < count && !has_match && !is_repeated; k++)
      has_match = strcmp(conditions[k].key, conditions[i].key) == 0 &&
                  is_met(&conditions[k], sweep_grid_part(grid, run), grid->ids[run], &config);
    if (!has_match && !is_repeated) return false;
  }
  return true;
}

static void select_runs(const SweepGrid *grid, const Condition *conditions, size_t count, SweepGrid *part) {
  part->runs = 0;
  for (size_t run = 0; run < grid->runs; run++) {
    if (count > 0 && !are_met(conditions, count, grid, run)) continue;
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
  for (size_t i = 0; i < where->count; i++) {
    code = read_condition(where->items[i], &conditions[i]);
    if (code != CORE_OK) break;
  }
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

/* ---- selections as text ------------------------------------------------------------------------------------------ */

static int report_long(void) {
  return core_error(CORE_USAGE, "--where: the conditions are too long for a queue; select fewer runs, or submit all");
}

int sweep_where_format(const CoreOptionList *where, char text[SWEEP_WHERE_TEXT]) {
  size_t length = 0;
  text[0] = '\0';
  for (size_t i = 0; i < where->count; i++) {
    if (strchr(where->items[i], '\n')) return core_error(CORE_USAGE, "--where: a condition has one line");
    const int written = snprintf(text + length, SWEEP_WHERE_TEXT - length, "where=%s\n", where->items[i]);
    length += (size_t)written;
    if (length >= SWEEP_WHERE_TEXT) return report_long();
  }
  return CORE_OK;
}

/* Whether the text has all selections of the part, as neighbors. */
static bool has_selections(const char *text, const char *clause) {
  char merged[SWEEP_WHERE_TEXT + 8], some[SWEEP_WHERE_TEXT + 8];
  snprintf(merged, sizeof merged, "or\n%sor\n", text);
  snprintf(some, sizeof some, "or\n%sor\n", clause);
  return strstr(merged, some) != NULL;
}

int sweep_where_join(char text[SWEEP_WHERE_TEXT], const char *more) {
  const size_t length = strlen(text);
  if (!*more) text[0] = '\0'; /* all runs */
  if (!*more || length == 0 || has_selections(text, more)) return CORE_OK;
  const bool is_contained = has_selections(more, text);
  char *end = is_contained ? text : text + length;
  const int written = snprintf(end, SWEEP_WHERE_TEXT - (size_t)(end - text), "%s%s", is_contained ? "" : "or\n", more);
  return (size_t)(end - text) + (size_t)written < SWEEP_WHERE_TEXT ? CORE_OK : report_long();
}

/* Marks the runs of one selection, and empties the list. */
static int mark_selection(const SweepGrid *grid, CoreOptionList *where, bool *is_selected) {
  Condition *conditions = core_memory_zero_allocate(where->count + 1, sizeof *conditions);
  int code = CORE_OK;
  for (size_t i = 0; i < where->count; i++) {
    code = read_condition(where->items[i], &conditions[i]);
    if (code != CORE_OK) break;
  }
  if (code == CORE_OK && where->count > 0) {
    for (size_t run = 0; run < grid->runs; run++)
      is_selected[run] |= are_met(conditions, where->count, grid, run);
  }
  where->count = 0;
  free(conditions);
  return code;
}

int sweep_where_mark(const SweepGrid *grid, const char *text, bool **is_selected) {
  static const char begins[] = "where=";
  char *copy = core_text_duplicate(text), *rest = copy;
  const char *items[SWEEP_WHERE_TEXT / sizeof begins];
  CoreOptionList where = {.items = items};
  int code = CORE_OK;
  *is_selected = core_memory_zero_allocate(grid->runs + 1, sizeof **is_selected);

  for (char *line; (line = strsep(&rest, "\n"));) {
    if (strncmp(line, begins, strlen(begins)) == 0) items[where.count++] = line + strlen(begins);
    else code = mark_selection(grid, &where, *is_selected);
    if (code != CORE_OK) break;
  }
  if (!*text) {
    for (size_t run = 0; run < grid->runs; run++) (*is_selected)[run] = true;
  }

  free(copy);
  if (code != CORE_OK) {
    free(*is_selected);
    *is_selected = NULL;
  }
  return code;
}

/* ---- this machine ------------------------------------------------------------------------------------------------ */

/* Checks that a run's parent is selected, done, or not one of this sweep. */
static int check_parent(const char *root, const SweepGrid *grid, const SweepIdSet *ids, const SweepIdSet *selected,
                        const char *id, const CoreConfig *config) {
  CoreOrigin origin;
  StoreState state;
  size_t index;
  if (core_origin_parse(config->init.from, &origin) != CORE_OK || !origin.is_run) return CORE_OK;
  if (!sweep_id_set_find(ids, origin.run, &index) || sweep_id_set_find(selected, origin.run, &index)) return CORE_OK;
  TRY(store_run_state_read(root, origin.run, true, &state));
  if (state.status == STORE_FINISHED) return CORE_OK;
  return core_error(CORE_USAGE, "run %s of %s starts from run %s, which is not done; select both", id,
                    grid->spec->name, origin.run);
}

int sweep_where_check_here(const char *root, const SweepGrid *grid, const SweepGrid *part) {
  SweepIdSet ids = {0}, selected = {0};
  int code = CORE_OK;
  if (!part->is_part) return CORE_OK;
  if (sweep_spec_is_open(grid->spec))
    return core_error(CORE_USAGE, "a search that continues in waves runs as a whole on this machine; submit it "
                      "without a choice of runs");

  sweep_id_set_add_all(&ids, (const char(*)[CORE_RUN_ID])grid->ids, grid->runs);
  sweep_id_set_add_all(&selected, (const char(*)[CORE_RUN_ID])part->ids, part->runs);
  for (size_t run = 0; run < part->runs; run++) {
    CoreConfig config;
    sweep_grid_config(part, run, &config);
    code = check_parent(root, grid, &ids, &selected, part->ids[run], &config);
    if (code != CORE_OK) break;
  }

  sweep_id_set_free(&ids);
  sweep_id_set_free(&selected);
  return code;
}
