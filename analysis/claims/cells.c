/* Selects and sorts the runs of a claim (cells.h). */
#include "analysis/claims/cells.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"

enum { CONDITIONS = 8, ALTERNATIVES = 8 };

static uint64_t hash_mix(uint64_t hash, uint64_t value) {
  hash ^= value + UINT64_C(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2);
  return hash * UINT64_C(1099511628211);
}

static size_t row_index(const CoreConfigRow *row) {
  size_t count;
  return (size_t)(row - core_config_rows(&count));
}

static int find_row(const char *name, size_t *index) {
  const CoreConfigRow *row = core_config_find(name);
  if (!row) return core_error(CORE_USAGE, "claims.def: there is no setting %s", name);
  *index = row_index(row);
  return CORE_OK;
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

typedef struct Key {
  size_t row;
  const char *names; /* "a<b", or NULL for numbers */
  bool used, descending;
} Key;

static int parse_key(const char *text, Key *key) {
  char name[64];
  const char *colon = strchr(text, ':');
  *key = (Key){.names = colon ? colon + 1 : NULL, .used = *text != '\0', .descending = *text == '-'};
  if (!key->used) return CORE_OK;
  text += key->descending;
  snprintf(name, sizeof name, "%.*s", (int)(colon ? colon - text : (ptrdiff_t)strlen(text)), text);
  return find_row(name, &key->row);
}

/* Returns the key's value as a number: its index in the list of names, or itself; NaN for schedules and other names. */
static double key_value(const Key *key, const AnalysisConfig *config, CoreText *text) {
  size_t count;
  double value;
  if (!key->used) return 0;
  const char *setting = analysis_key_own_value(config, &core_config_rows(&count)[key->row], text);
  if (!key->names) return core_text_to_real(setting, &value) ? (key->descending ? -value : value) : NAN;
  double index = 0;
  for (const char *name = key->names; name; index++) {
    const char *end = strchr(name, '<');
    size_t length = end ? (size_t)(end - name) : strlen(name);
    if (strlen(setting) == length && strncmp(setting, name, length) == 0) return index;
    name = end ? end + 1 : NULL;
  }
  return NAN;
}

/* ---- conditions ------------------------------------------------------------------------------------------------- */

typedef struct Condition {
  size_t row, count;
  uint64_t hash[ALTERNATIVES];
  int extreme;             /* -1: lowest value, 1: highest, 0: listed values */
} Condition;

static int parse_values(const char *name, char *values, Condition *condition) {
  char *save = NULL;
  CoreConfig config = core_config_default();
  CoreText text = {0};
  size_t rows;

  if (strcmp(values, "min") == 0 || strcmp(values, "max") == 0) {
    condition->extreme = values[1] == 'i' ? -1 : 1;
    return CORE_OK;
  }

  for (char *value = strtok_r(values, "|", &save); value; value = strtok_r(NULL, "|", &save)) {
    /* No run meets a condition with an invalid value ("none" for algo.name). */
    if (condition->count == ALTERNATIVES || core_config_set(&config, name, value) != CORE_OK) continue;
    condition->hash[condition->count++] =
      analysis_table_hash_text(core_config_get(&config, &core_config_rows(&rows)[condition->row], &text));
  }

  core_error_clear();
  core_text_free(&text);
  return CORE_OK;
}

static int parse_conditions(const char *where, Condition *list, size_t *count) {
  char *copy = core_text_duplicate(where), *save = NULL;
  int code = CORE_OK;
  *count = 0;
  for (char *pair = strtok_r(copy, ",", &save); pair; pair = strtok_r(NULL, ",", &save)) {
    if (code != CORE_OK || *count == CONDITIONS) break;

    char *equals = strchr(pair, '=');
    if (!equals) code = core_error(CORE_USAGE, "claims.def: expected KEY=VALUE, found %s", pair);
    else *equals = '\0';

    list[*count] = (Condition){0};
    if (code == CORE_OK) code = find_row(pair, &list[*count].row);
    if (code == CORE_OK) code = parse_values(pair, equals + 1, &list[(*count)++]);
  }
  free(copy);
  return code;
}

static bool meets_condition(const AnalysisTable *table, size_t run, const Condition *condition) {
  uint64_t hash = analysis_table_hash(table, run, condition->row);
  for (size_t i = 0; i < condition->count; i++) {
    if (condition->hash[i] == hash) return true;
  }
  return condition->extreme != 0;
}

/* Run with its group of comparable runs and the value to maximize. */
typedef struct Candidate { uint64_t group; double value; size_t run; } Candidate;

static int compare_candidates(const void *left, const void *right) {
  const Candidate *a = left, *b = right;
  if (a->group != b->group) return a->group < b->group ? -1 : 1;
  if (a->value != b->value) return a->value > b->value ? -1 : 1;
  return (a->run > b->run) - (a->run < b->run);
}

/* Selects the runs with the lowest (highest) value of a setting in their group[run]. */
static size_t select_extreme(const AnalysisTable *table, const Condition *condition, const uint64_t *group, size_t *run,
                             size_t count) {
  const Key key = {.row = condition->row, .used = true};
  Candidate *list = core_memory_allocate((count + 1) * sizeof *list);
  CoreText text = {0};
  double edge = NAN;
  size_t known = 0, kept = 0;

  for (size_t i = 0; i < count; i++) {
    const double value = key_value(&key, &table->selection->runs[run[i]].config, &text);
    if (!isnan(value)) list[known++] = (Candidate){group[run[i]], condition->extreme * value, run[i]};
  }

  qsort(list, known, sizeof *list, compare_candidates);
  for (size_t i = 0; i < known; i++) {
    if (i == 0 || list[i].group != list[i - 1].group) edge = list[i].value;
    if (list[i].value == edge) run[kept++] = list[i].run;
  }

  core_text_free(&text);
  free(list);
  return kept;
}

bool analysis_data_includes(const char *data, const char *sweep) {
  const size_t length = strlen(sweep);
  for (const char *found = strstr(data, sweep); found; found = strstr(found + 1, sweep))
    if ((found == data || found[-1] == ' ') && (found[length] == ' ' || !found[length])) return true;
  return false;
}

/* Computes is_member[runs]: whether a run belongs to one of the sweeps in `data`. */
static void mark_members(const AnalysisTable *table, const char *data, bool *is_member) {
  const AnalysisMembership *membership = table->membership;
  const bool uses_all = !membership || !*data;
  memset(is_member, uses_all, table->selection->count);
  if (uses_all) return;

  for (size_t s = 0; s < membership->sweeps; s++) {
    if (!analysis_data_includes(data, membership->sweep[s])) continue;
    for (size_t r = 0; r < membership->runs; r++) is_member[r] |= analysis_membership_has(membership, r, s);
  }
}

/* Hashes the effective values of settings that are not free: the results of a scale.scheme, not its name. Defaults are
 * ignored, so that a version with more settings uses the same random orders and gives the same verdicts. */
static uint64_t hash_settings(const AnalysisTable *table, size_t run, const bool *is_free) {
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  uint64_t hash = 1;
  for (size_t i = 0; i < table->rows; i++) {
    const uint64_t value = analysis_table_hash(table, run, i);
    const bool counts = rows[i].identity && !is_free[i] && strcmp(rows[i].section, "scale") != 0;
    if (counts && value != table->default_hash[i])
      hash = hash_mix(hash_mix(hash, table->name[i]), value);
  }
  return hash;
}

/* Adds the members that meet all conditions of one alternative to is_selected[runs]. min and max refer to runs that are
 * equal in all settings except the free ones and those with min or max, so that each profile and task has its own. */
static int select_alternative(const AnalysisTable *table, const char *where, const bool *is_free,
                              const bool *is_member, bool *is_selected) {
  Condition list[CONDITIONS];
  size_t conditions, count = 0;
  TRY(parse_conditions(where, list, &conditions));

  const size_t runs = table->selection->count;
  bool *may_differ = core_memory_allocate(table->rows * sizeof *may_differ);
  uint64_t *group = core_memory_zero_allocate(runs + 1, sizeof *group);
  size_t *run = core_memory_allocate((runs + 1) * sizeof *run);
  memcpy(may_differ, is_free, table->rows * sizeof *may_differ);
  for (size_t i = 0; i < conditions; i++) may_differ[list[i].row] |= list[i].extreme != 0;

  for (size_t r = 0; r < runs; r++) {
    bool meets_all = is_member[r];
    for (size_t i = 0; i < conditions && meets_all; i++) meets_all = meets_condition(table, r, &list[i]);
    if (!meets_all) continue;
    group[r] = hash_settings(table, r, may_differ);
    run[count++] = r;
  }

  for (size_t i = 0; i < conditions; i++)
    if (list[i].extreme) count = select_extreme(table, &list[i], group, run, count);
  for (size_t i = 0; i < count; i++) is_selected[run[i]] = true;

  free(may_differ);
  free(group);
  free(run);
  return CORE_OK;
}

static int select_runs(const AnalysisTable *table, const char *data, const char *where, const bool *is_free,
                       size_t *run, size_t *count) {
  bool *is_member = core_memory_allocate(table->selection->count + 1);
  bool *is_selected = core_memory_zero_allocate(table->selection->count + 1, sizeof *is_selected);
  char *copy = core_text_duplicate(where), *tail = copy, *alternative;
  int code = CORE_OK;

  mark_members(table, data, is_member);
  while ((alternative = strsep(&tail, ";"))) {
    code = select_alternative(table, alternative, is_free, is_member, is_selected);
    if (code != CORE_OK) break;
  }

  *count = 0;
  const size_t runs = code == CORE_OK ? table->selection->count : 0;
  for (size_t r = 0; r < runs; r++)
    if (is_selected[r]) run[(*count)++] = r;

  free(copy);
  free(is_member);
  free(is_selected);
  return code;
}

/* ---- cells ------------------------------------------------------------------------------------------------------ */

typedef struct Entry {
  uint64_t stratum, cell;
  double second, key;
  size_t run;                /* index in the selection */
  const AnalysisRun *data;
} Entry;

/* Sorts copies of a run next to each other, the preferred one first. */
static int compare_copies(const void *left, const void *right) {
  const Entry *a = left, *b = right;
  const int64_t seed_a = a->data->config.seed, seed_b = b->data->config.seed;
  if (a->second != b->second) return a->second < b->second ? -1 : 1;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  if (seed_a != seed_b) return seed_a < seed_b ? -1 : 1;
  const int order = strcmp(a->data->cell, b->data->cell);
  return order != 0 ? order : analysis_run_prefer(a->data, b->data);
}

static bool is_copy(const Entry *a, const Entry *b) {
  return a->second == b->second && a->key == b->key && a->data->config.seed == b->data->config.seed &&
         strcmp(a->data->cell, b->data->cell) == 0;
}

/* Keeps one of each set of copies, and records it for the others in same_as. */
static size_t drop_copies(Entry *entry, size_t count, size_t *same_as) {
  size_t kept = 0;
  qsort(entry, count, sizeof *entry, compare_copies);
  for (size_t i = 0; i < count; i++) {
    if (kept == 0 || !is_copy(&entry[kept - 1], &entry[i])) entry[kept++] = entry[i];
    same_as[entry[i].run] = entry[kept - 1].run;
  }
  return kept;
}

static int compare_entries(const void *left, const void *right) {
  const Entry *a = left, *b = right;
  if (a->stratum != b->stratum) return a->stratum < b->stratum ? -1 : 1;
  if (a->second != b->second) return a->second < b->second ? -1 : 1;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  if (a->cell != b->cell) return a->cell < b->cell ? -1 : 1;
  return (a->run > b->run) - (a->run < b->run);
}

/* Marks the settings that may differ within a stratum. */
static int parse_free(const AnalysisArrangement *arrangement, const Key *key, const Key *second, bool *is_free) {
  char *copy = core_text_duplicate(arrangement->free_settings), *save = NULL;
  int code = CORE_OK;
  size_t row = 0;
  for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
    code = find_row(name, &row);
    if (code != CORE_OK) break;
    is_free[row] = true;
  }
  free(copy);
  if (code == CORE_OK) code = find_row("train.seed", &row);
  if (code == CORE_OK) is_free[row] = true;
  if (key->used) is_free[key->row] = true;
  if (second->used) is_free[second->row] = true;
  return code;
}

static uint64_t hash_stratum(const AnalysisTable *table, size_t run, const bool *is_free, bool equal_data) {
  const uint64_t hash = hash_settings(table, run, is_free);
  const int64_t data = table->selection->runs[run].transitions_per_iteration;
  return equal_data ? hash_mix(hash, (uint64_t)data) : hash;
}

static bool same_key(const Entry *a, const Entry *b) {
  return a->stratum == b->stratum && a->second == b->second && a->key == b->key;
}

/* Removes cells that would contain several configurations. */
static size_t drop_mixed(Entry *entry, size_t count, AnalysisCells *cells) {
  size_t kept = 0;
  for (size_t begin = 0, end; begin < count; begin = end) {
    bool is_mixed = false;
    for (end = begin; end < count && same_key(&entry[begin], &entry[end]); end++)
      is_mixed |= entry[end].cell != entry[begin].cell;
    cells->mixed += is_mixed;
    for (size_t i = begin; i < end && !is_mixed; i++) entry[kept++] = entry[i];
  }
  return kept;
}

static void fill(AnalysisCells *cells, const AnalysisTable *table, const AnalysisArrangement *arrangement,
                 const Entry *entry, size_t count) {
  const size_t capacity = count + 1;
  cells->run = core_memory_allocate(capacity * sizeof *cells->run);
  cells->score = core_memory_allocate(capacity * sizeof *cells->score);
  cells->x = core_memory_allocate(capacity * sizeof *cells->x);
  cells->first = core_memory_zero_allocate(capacity, sizeof *cells->first);
  cells->key = core_memory_allocate(capacity * sizeof *cells->key);
  cells->second = core_memory_allocate(capacity * sizeof *cells->second);
  cells->stratum = core_memory_zero_allocate(capacity, sizeof *cells->stratum);
  cells->count = count;

  for (size_t i = 0; i < count; i++) {
    const AnalysisRunMetrics *metrics = &table->metrics[entry[i].run];
    bool new_stratum = i == 0 || entry[i].stratum != entry[i - 1].stratum;
    bool new_cell = new_stratum || !same_key(&entry[i], &entry[i - 1]) || entry[i].cell != entry[i - 1].cell;

    if (new_stratum) cells->stratum[cells->strata++] = cells->cells;
    if (new_cell) {
      cells->first[cells->cells] = i;
      cells->key[cells->cells] = entry[i].key;
      cells->second[cells->cells++] = entry[i].second;
    }

    cells->run[i] = entry[i].run;
    cells->score[i] = metrics->value[arrangement->measure];
    cells->x[i] = arrangement->x_measure < 0 ? NAN : metrics->value[arrangement->x_measure];
  }

  cells->first[cells->cells] = count;
  cells->stratum[cells->strata] = cells->cells;
}

/* Counts unfinished, censored and unmeasured runs, and keeps those that can be compared: runs that ended with a value,
 * diverged or failed. */
static size_t keep_measured(const AnalysisTable *table, const AnalysisArrangement *arrangement, Entry *entry,
                            size_t count, AnalysisCells *cells) {
  size_t kept = 0;
  cells->censored_at = NAN;
  for (size_t i = 0; i < count; i++) {
    const AnalysisRunMetrics *metrics = &table->metrics[entry[i].run];
    const bool gets_worst = metrics->broken && analysis_measure_is_score(arrangement->measure);
    const bool is_missing = (isnan(metrics->value[arrangement->measure]) && !gets_worst) ||
                            (arrangement->x_measure >= 0 && isnan(metrics->value[arrangement->x_measure]));
    cells->unfinished += !metrics->ended;
    cells->censored += metrics->censored;
    if (metrics->censored) cells->censored_at = fmin(cells->censored_at, metrics->transitions);
    cells->missing += metrics->ended && is_missing;
    if (metrics->ended && !is_missing) entry[kept++] = entry[i];
  }
  return kept;
}

/* Gives diverged and failed runs without a score the lowest score of their stratum, 0 for solve rates. */
static void fill_worst(AnalysisCells *cells, const AnalysisTable *table, AnalysisMeasure measure) {
  for (size_t s = 0; s < cells->strata; s++) {
    const size_t first = cells->first[cells->stratum[s]], end = cells->first[cells->stratum[s + 1]];
    const AnalysisRange range = analysis_measure_range(measure, table->metrics, cells->run + first, end - first);
    double worst = isfinite(range.low) ? range.low : NAN;
    for (size_t i = first; i < end && !isfinite(range.low); i++) worst = fmin(worst, cells->score[i]);
    for (size_t i = first; i < end; i++) {
      const AnalysisRun *run = &table->selection->runs[cells->run[i]];
      if (!table->metrics[cells->run[i]].broken) continue;
      cells->diverged += run->status == STORE_DIVERGED;
      cells->failed += run->status != STORE_DIVERGED;
      if (isnan(cells->score[i])) cells->score[i] = worst;
    }
  }
}

static size_t make_entries(const AnalysisTable *table, const AnalysisArrangement *arrangement, const Key *key,
                           const Key *second, const bool *is_free, const size_t *run, size_t count, Entry *entry,
                           AnalysisCells *cells) {
  const bool equal_data = strstr(arrangement->free_settings, "ppo.num_steps") != NULL;
  bool *seed_is_free = core_memory_zero_allocate(table->rows, sizeof *seed_is_free);
  CoreText text = {0};
  size_t used = 0;
  seed_is_free[row_index(core_config_find("train.seed"))] = true;

  for (size_t i = 0; i < count; i++) {
    const AnalysisRun *data = &table->selection->runs[run[i]];
    const Entry next = {.second = key_value(second, &data->config, &text), .key = key_value(key, &data->config, &text),
                        .run = run[i], .data = data};
    if (!isnan(next.key) && !isnan(next.second)) entry[used++] = next;
  }

  used = drop_copies(entry, used, cells->same_as);
  used = keep_measured(table, arrangement, entry, used, cells);
  for (size_t i = 0; i < used; i++) {
    entry[i].stratum = hash_stratum(table, entry[i].run, is_free, equal_data);
    entry[i].cell = hash_settings(table, entry[i].run, seed_is_free); /* all settings except the seed */
  }

  core_text_free(&text);
  free(seed_is_free);
  return used;
}

int analysis_cells_create(const AnalysisTable *table, const AnalysisArrangement *arrangement, AnalysisCells *cells) {
  const size_t runs = table->selection->count;
  Key key, second;
  size_t count = 0;
  *cells = (AnalysisCells){0};

  TRY(parse_key(arrangement->key, &key));
  TRY(parse_key(arrangement->second, &second));

  bool *is_free = core_memory_zero_allocate(table->rows, sizeof *is_free);
  size_t *run = core_memory_allocate((runs + 1) * sizeof *run);
  Entry *entry = core_memory_allocate((runs + 1) * sizeof *entry);
  cells->same_as = core_memory_allocate((runs + 1) * sizeof *cells->same_as);
  for (size_t r = 0; r < runs; r++) cells->same_as[r] = SIZE_MAX;

  int code = parse_free(arrangement, &key, &second, is_free);
  if (code == CORE_OK) code = select_runs(table, arrangement->data, arrangement->where, is_free, run, &count);

  if (code == CORE_OK) {
    size_t used = make_entries(table, arrangement, &key, &second, is_free, run, count, entry, cells);
    qsort(entry, used, sizeof *entry, compare_entries);
    if (key.used) used = drop_mixed(entry, used, cells);
    fill(cells, table, arrangement, entry, used);
    if (analysis_measure_is_score(arrangement->measure)) fill_worst(cells, table, arrangement->measure);
  }

  free(is_free);
  free(run);
  free(entry);
  return code;
}

void analysis_cells_free(AnalysisCells *cells) {
  free(cells->run);
  free(cells->same_as);
  free(cells->score);
  free(cells->x);
  free(cells->first);
  free(cells->key);
  free(cells->second);
  free(cells->stratum);
  free(cells->allowance);
  memset(cells, 0, sizeof *cells);
}

size_t analysis_cells_seeds_min(const AnalysisCells *cells) {
  size_t smallest = SIZE_MAX;
  for (size_t c = 0; c < cells->cells; c++)
    if (cells->first[c + 1] - cells->first[c] < smallest) smallest = cells->first[c + 1] - cells->first[c];
  return cells->cells > 0 ? smallest : 0;
}

bool analysis_cells_have_spread(const AnalysisCells *cells) {
  for (size_t c = 0; c < cells->cells; c++)
    for (size_t i = cells->first[c] + 1; i < cells->first[c + 1]; i++)
      if (cells->score[i] != cells->score[i - 1]) return true;
  return false;
}
