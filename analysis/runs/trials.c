/* Reads the space of a search from a sweep's text, and its trials from runs (trials.h). */
#include "analysis/runs/trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/importance.h"
#include "core/memory.h"
#include "store/database/query.h"

/* ---- the space --------------------------------------------------------------------------------------------------- */

static int read_text(StoreDatabase *database, const char *sweep, AnalysisTrials *trials) {
  StoreQuery *query;
  bool row;
  TRY(store_query_open(database, "SELECT ini FROM sweep WHERE name = ?1", &query));
  store_query_bind_text(query, 1, sweep);
  int code = store_query_step(query, &row);
  const char *text = code == CORE_OK && row ? store_query_text(query, 0) : NULL;
  if (code == CORE_OK && !text) code = core_error(CORE_USAGE, "no sweep %s in this database", sweep);
  if (code == CORE_OK) code = core_ini_parse("sweep.ini", text, &trials->ini);
  if (code != CORE_OK) trials->ini = (CoreIni){0};
  store_query_close(&query);
  return code;
}

/* Returns the name in "[search NAME]"; NULL: another section. */
static const char *search_of(const CoreIniEntry *entry) {
  static const char prefix[] = "search ";
  return strncmp(entry->section, prefix, sizeof prefix - 1) == 0 ? entry->section + sizeof prefix - 1 : NULL;
}

static int choose(const CoreIni *ini, const char *sweep, const char *wanted, const CoreIniEntry **section) {
  CoreText names = {0};
  size_t count = 0;
  *section = NULL;

  for (size_t i = 0; i < ini->count; i++) {
    const char *name = search_of(&ini->entries[i]);
    if (!name || ini->entries[i].key) continue;
    core_text_appendf(&names, "%s%s", count++ ? ", " : "", name);
    if (!wanted || strcmp(wanted, name) == 0) *section = &ini->entries[i];
  }

  int code = CORE_OK;
  if (count == 0) code = core_error(CORE_USAGE, "%s has no search: its experiment has no [search NAME] block", sweep);
  else if (!*section)
    code = core_error(CORE_USAGE, "%s has no search %s; it has: %s", sweep, wanted, core_text_string(&names));
  else if (!wanted && count > 1)
    code = core_error(CORE_USAGE, "%s has several searches; choose one with --search: %s", sweep,
                      core_text_string(&names));

  core_text_free(&names);
  return code;
}

static bool has_axis(const CoreSearch *space, const CoreConfigRow *row) {
  for (size_t i = 0; i < space->count; i++)
    if (space->axes[i].row == row) return true;
  return false;
}

/* Returns the value of a setting in the file, from its sections or by default, as text; free() it. */
static char *base_of(const CoreIni *ini, const CoreConfigRow *row) {
  CoreConfig scratch = core_config_default();
  CoreText text = {0};
  for (size_t i = 0; i < ini->count; i++) {
    const CoreIniEntry *entry = &ini->entries[i];
    if (entry->key && strcmp(entry->section, row->section) == 0 && strcmp(entry->key, row->key) == 0)
      (void)core_config_set(&scratch, row->name, entry->value); /* valid, because the sweep was submitted */
  }
  char *base = core_text_duplicate(core_config_get(&scratch, row, &text));
  core_text_free(&text);
  return base;
}

static void read_others(AnalysisTrials *trials) {
  for (size_t i = 0; i < trials->ini.count; i++) {
    const CoreIniEntry *entry = &trials->ini.entries[i];
    const CoreConfigRow *row = entry->key && search_of(entry) ? core_config_find(entry->key) : NULL;
    if (!row || has_axis(&trials->space, row)) continue;
    trials->others = core_memory_resize(trials->others, (trials->other_count + 1) * sizeof *trials->others);
    trials->others[trials->other_count++] = (AnalysisTrialsOther){row, base_of(&trials->ini, row)};
  }
  core_error_clear();
}

static int read_space(AnalysisTrials *trials, const CoreIniEntry *section) {
  TRY(core_text_copy(trials->name, sizeof trials->name, search_of(section), "search"));
  for (size_t i = 0; i < trials->ini.count; i++) {
    const CoreIniEntry *entry = &trials->ini.entries[i];
    if (!entry->key || strcmp(entry->section, section->section) != 0 || strcmp(entry->key, "seeds") == 0) continue;
    TRY(core_search_line(&trials->ini, entry, &trials->space));
  }
  read_others(trials);
  return core_search_finish(&trials->ini, section, &trials->space);
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

/* Whether settings varied only by other searches of the sweep have the file's values, as in runs of this one. */
static bool is_of_others(const AnalysisTrials *trials, const AnalysisConfig *config) {
  CoreText value = {0};
  bool others = false;
  for (size_t i = 0; i < trials->other_count && !others; i++) {
    const AnalysisTrialsOther *other = &trials->others[i];
    others = strcmp(analysis_config_get(config, other->row, &value), other->base) != 0;
  }
  core_text_free(&value);
  return others;
}

/* Computes a run's coordinates; false: its settings are outside the space. */
static bool coordinates_of(const AnalysisTrials *trials, const AnalysisConfig *config, double *coordinate) {
  const CoreSearch *space = &trials->space;
  CoreText value = {0};
  bool good = !is_of_others(trials, config);
  for (size_t i = 0; i < space->count && good; i++) {
    const size_t axis = space->order[i];
    coordinate[axis] = NAN;
    if (!core_search_is_active(space, axis, coordinate)) continue;
    coordinate[axis] =
      core_search_coordinate(&space->axes[axis], analysis_config_get(config, space->axes[axis].row, &value));
    good = !isnan(coordinate[axis]);
  }
  core_text_free(&value);
  return good;
}

static bool is_same(const double *a, const double *b, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i]))) return false;
  return true;
}

static AnalysisTrial *find_trial(AnalysisTrials *trials, const double *coordinate) {
  const size_t axes = trials->space.count;
  for (size_t t = 0; t < trials->count; t++)
    if (is_same(trials->trials[t].coordinate, coordinate, axes)) return &trials->trials[t];
  trials->trials = core_memory_resize(trials->trials, (trials->count + 1) * sizeof *trials->trials);
  AnalysisTrial *added = &trials->trials[trials->count++];
  *added = (AnalysisTrial){.coordinate = core_memory_allocate(axes * sizeof(double)), .place = SIZE_MAX};
  memcpy(added->coordinate, coordinate, axes * sizeof(double));
  return added;
}

static int place_of(StoreQuery *query, const char *run, size_t *place) {
  bool row;
  store_query_reset(query);
  store_query_bind_text(query, 2, run);
  TRY(store_query_step(query, &row));
  *place = row ? (size_t)store_query_int(query, 0) : SIZE_MAX;
  return CORE_OK;
}

static int add_run(AnalysisTrials *trials, const AnalysisSelection *selection, size_t run, StoreQuery *query) {
  double coordinate[CORE_SEARCH_AXES_MAX];
  size_t place;
  if (!coordinates_of(trials, &selection->runs[run].config, coordinate)) {
    trials->elsewhere++;
    return CORE_OK;
  }
  TRY(place_of(query, selection->runs[run].id, &place));
  AnalysisTrial *trial = find_trial(trials, coordinate);
  trial->runs = core_memory_resize(trial->runs, (trial->count + 1) * sizeof *trial->runs);
  trial->runs[trial->count++] = run;
  if (place < trial->place) trial->place = place;
  return CORE_OK;
}

static int by_place(const void *left, const void *right) {
  const AnalysisTrial *a = left, *b = right;
  return (a->place > b->place) - (a->place < b->place);
}

void analysis_trials_sort(AnalysisTrials *trials) {
  qsort(trials->trials, trials->count, sizeof *trials->trials, by_place);
}

int analysis_trials_only_sweep(const char *path, char name[128], const char **sweep) {
  StoreDatabase *database;
  StoreQuery *query = NULL;
  bool row = false;
  if (*sweep) return CORE_OK;
  TRY(analysis_database_open(path, &database));
  analysis_database_keep();
  int code = store_query_open(database, "SELECT min(name) FROM sweep HAVING count(*) = 1", &query);
  if (code == CORE_OK) code = store_query_step(query, &row);
  if (code == CORE_OK && row) code = core_text_copy(name, 128, store_query_text(query, 0), "sweep");
  store_query_close(&query);
  store_database_close(&database);
  *sweep = name;
  if (code != CORE_OK || row) return code;
  return core_error(CORE_USAGE, "%s: name the sweep with --sweep NAME; sweep status lists them", path);
}

int analysis_trials_find_search(StoreDatabase *database, const char *sweep, bool *has) {
  AnalysisTrials trials = {0};
  *has = false;
  const int code = read_text(database, sweep, &trials);
  if (code == CORE_OK) {
    for (size_t i = 0; i < trials.ini.count; i++) *has = *has || search_of(&trials.ini.entries[i]);
  }
  analysis_trials_free(&trials);
  return code;
}

int analysis_trials_read(StoreDatabase *database, const AnalysisSelection *selection, const char *sweep,
                         const char *search, AnalysisTrials *trials) {
  const CoreIniEntry *section;
  StoreQuery *query;
  *trials = (AnalysisTrials){0};
  TRY(read_text(database, sweep, trials));
  TRY(choose(&trials->ini, sweep, search, &section));
  TRY(read_space(trials, section));
  TRY(store_query_open(database, "SELECT min(idx) FROM sweep_run WHERE sweep = ?1 AND run_id = ?2 HAVING count(*) > 0",
                       &query));
  store_query_bind_text(query, 1, sweep);
  int code = CORE_OK;
  for (size_t r = 0; r < selection->count; r++) {
    code = add_run(trials, selection, r, query);
    if (code != CORE_OK) break;
  }
  store_query_close(&query);
  analysis_trials_sort(trials);
  return code;
}

double analysis_trials_importance(const AnalysisTrials *trials, const size_t *list, const double *score, size_t n,
                                  size_t pairs, double *main, double *pair) {
  enum { FOREST_SEED = 12 };
  const CoreSearch *space = &trials->space;
  double *x = core_memory_allocate((n * space->count + 1) * sizeof *x);
  for (size_t i = 0; i < n; i++) {
    const double *coordinate = trials->trials[list[i]].coordinate;
    for (size_t a = 0; a < space->count; a++)
      x[i * space->count + a] = isnan(coordinate[a]) ? 0.5 : core_search_unit(&space->axes[a], coordinate[a]);
  }
  const double explained = analysis_importance(x, score, n, space->count, FOREST_SEED, pairs, main, pair);
  free(x);
  return explained;
}

void analysis_trials_free(AnalysisTrials *trials) {
  for (size_t t = 0; t < trials->count; t++) {
    free(trials->trials[t].coordinate);
    free(trials->trials[t].runs);
  }
  for (size_t i = 0; i < trials->other_count; i++) free(trials->others[i].base);
  free(trials->trials);
  free(trials->others);
  core_search_free(&trials->space);
  if (trials->ini.file) core_ini_free(&trials->ini);
  *trials = (AnalysisTrials){0};
}
