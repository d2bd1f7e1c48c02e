/* Selects the [search NAME] blocks of an experiment file, checks them against grids, zips and settings, and samples the
 * trials that follow from them. core/search/search.c parses the lines of a block. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "sweep/spec/search.h"
#include "sweep/spec/spec_internal.h"

static SweepSearch *find_search(const SpecFile *file, int profile, const char *name) {
  for (size_t i = 0; i < file->search_count; i++)
    if (file->searches[i].profile == profile && strcmp(file->searches[i].search.name, name) == 0)
      return &file->searches[i].search;
  return NULL;
}

int spec_search_open(SpecFile *file, const CoreIniEntry *entry, int profile, const char *name, size_t *index) {
  const CoreIni *ini = &file->spec->ini;
  if (core_text_check_name(name, "search") != CORE_OK) return core_ini_error(ini, entry, "%s", core_error_message());
  const SweepSearch *other = find_search(file, profile, name);
  if (other)
    return core_ini_error(ini, entry, "[%s] is already defined in line %d; give this one another name", entry->section,
                          other->entry->line);
  file->searches = core_memory_resize(file->searches, (file->search_count + 1) * sizeof *file->searches);
  *index = file->search_count++;
  SpecSearch *added = &file->searches[*index];
  *added = (SpecSearch){.profile = profile, .search = {.entry = entry}};
  return core_text_copy(added->search.name, sizeof added->search.name, name, "search");
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* Resolves a goal that is no measure: a column of results.db, or a metric by name. */
static int resolve_goal(const SpecFile *file, const CoreIniEntry *entry, CoreSearchGoal *goal) {
  static const char *const measures[] = {
#define X(name, words, range) #name,
#include "core/config/measures.def"
#undef X
  };
  SweepMetric metric;
  if (!goal->is_metric) return CORE_OK;
  if (sweep_metric_find("a measure of runs", goal->measure, file->spec->base.program, measures,
                        sizeof measures / sizeof *measures, &metric) != CORE_OK)
    return core_ini_error(&file->spec->ini, entry, "goal: %s", core_error_message());
  return core_text_copy(goal->measure, sizeof goal->measure, metric.name, "goal");
}

/* Makes the path of a program absolute and notes its hash, unless the file is a submitted sweep's and has it. */
static int resolve_program(const SpecFile *file, const CoreIniEntry *entry, CoreSearch *space) {
  char directory[CORE_PATH_MAX], path[CORE_PATH_MAX];
  if (space->method != CORE_SEARCH_COMMAND || *space->program_hash) return CORE_OK;
  TRY(spec_directory(file, directory));
  TRY(core_files_path_in(directory, space->program, path));

  int code = core_sha256_file(path, space->program_hash, NULL);
  if (code == CORE_OK && access(path, X_OK) != 0)
    code = core_error(CORE_USAGE, "%s is not executable; make it so with chmod +x, and let it begin with #!", path);
  if (code != CORE_OK) return core_ini_error(&file->spec->ini, entry, "method: %s", core_error_message());
  free(space->program);
  space->program = core_text_duplicate(path);
  return CORE_OK;
}

/* Completes the space of each block, and checks that a profile's block replaces one of the top level. */
static int finish_all(SpecFile *file) {
  const CoreIni *ini = &file->spec->ini;
  for (size_t i = 0; i < file->search_count; i++) {
    SpecSearch *search = &file->searches[i];
    CoreSearch *space = &search->search.space;
    if (search->profile != SPEC_TOP && !find_search(file, SPEC_TOP, search->search.name))
      return core_ini_error(ini, search->search.entry, "[%s] replaces a block that does not exist: no [search %s]",
                            search->search.entry->section, search->search.name);
    TRY(core_search_finish(ini, search->search.entry, space));
    for (size_t g = 0; g < space->goal_count; g++) TRY(resolve_goal(file, space->goal, &space->goals[g]));
    TRY(resolve_program(file, space->method_entry, space));
  }
  return CORE_OK;
}

static const CoreSearchAxis *find_axis(const SweepSearch *search, const CoreConfigRow *row) {
  for (size_t i = 0; i < search->space.count; i++)
    if (search->space.axes[i].row == row) return &search->space.axes[i];
  return NULL;
}

/* Checks that no list of a grid or zip sets a setting that the search samples. */
static int check_disjoint(const CoreIni *ini, const SweepSearch *search, const SweepBlock *block) {
  for (size_t i = 0; i < block->count; i++) {
    const CoreSearchAxis *axis = find_axis(search, block->lists[i].row);
    if (axis)
      return core_ini_error_key(ini, axis->entry, "%s is searched by [%s] and set by [%s] (line %d); a search is "
                                "multiplied into every grid, so keep one of the two", axis->row->name,
                                search->entry->section, block->entry->section, block->lists[i].entry->line);
  }
  return CORE_OK;
}

/* Checks that --set and profiles set no setting that the search samples in every trial. */
static int check_settings(const SpecFile *file, const SweepSearch *search, int profile) {
  for (size_t i = 0; i < file->setting_count; i++) {
    const SpecSetting *setting = &file->settings[i];
    const CoreSearchAxis *axis = setting->row ? find_axis(search, setting->row) : NULL;
    const bool is_applied = setting->pair || (profile != SPEC_TOP && setting->profile == profile);
    if (!axis || !is_applied || axis->parent != CORE_SEARCH_NO_PARENT) continue;
    core_error(CORE_USAGE,
               "%s has no effect here: [%s] (line %d) samples it in every trial; repeat the block in a "
               "profile, as [profile NAME search %s]",
               setting->name, search->entry->section, axis->entry->line, search->name);
    return spec_setting_error(file, setting, true);
  }
  return CORE_OK;
}

static int check(const SpecFile *file, const SweepSearch *search, int profile) {
  const SweepSpec *spec = file->spec;
  for (size_t i = 0; i < spec->grid_count; i++) TRY(check_disjoint(&spec->ini, search, &spec->grids[i]));
  for (size_t i = 0; i < spec->zip_count; i++) TRY(check_disjoint(&spec->ini, search, &spec->zips[i]));
  return check_settings(file, search, profile);
}

/* ---- help -------------------------------------------------------------------------------------------------------- */

void sweep_search_help(CoreHelp *help) {
  static const struct {
    const char *term, *help;
  } rows[] = {
      {"trials = N", "number of trials"},
      {"method = random", "independent samples (default)"},
      {"method = sobol", "Sobol' points, which cover spaces of few settings more evenly"},
      {"method = tpe", "tree-structured Parzen estimator: waves of trials proposed from finished ones"},
      {"method = optuna:SAMPLER", "proposed by a sampler of Optuna, in the Python of SWEEP_PYTHON, or else python3"},
      {"method = command:FILE", "proposed by a program"},
      {"goal = max final", "max or min, and a measure (analyze table --runs --help) or a metric (its mean at the end)"},
      {"goal = max A, min B", "two goals: the trials that no other beats in both (analyze search)"},
      {"seeds = N", "seeds per trial"},
      {"startup = N", "tpe, optuna, command: number of random trials at the start (default: 10)"},
      {"wave = N", "tpe, optuna, command: trials per wave (default: 8)"},
      {"timeout = N", "optuna, command: seconds that a wave's proposals may take (default: 600)"},
      {"SETTING = 1 .. 8", "range; log 1e-5 .. 1e-2: uniform in the logarithm"},
      {"SETTING = pow2 16 .. 1024", "powers of two"},
      {"SETTING = logit 0.9 .. 0.999", "uniform in log(x / (1 - x))"},
      {"SETTING = choice A, B", "one of these values"},
      {"VALUES when SETTING = A", "only in trials in which that choice has this value"},
  };

  core_help_heading(help, "Searching: [search NAME] in FILE");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) core_help_row(help, rows[i].term, rows[i].help, 25);
}

/* ---- selection --------------------------------------------------------------------------------------------------- */

int spec_search_resolve(SpecFile *file, int profile) {
  SweepSpec *spec = file->spec;
  TRY(finish_all(file));
  spec->searches = core_memory_zero_allocate(file->search_count + 1, sizeof *spec->searches);

  for (size_t i = 0; i < file->search_count; i++) {
    if (file->searches[i].profile != SPEC_TOP) continue;
    SweepSearch *top = &file->searches[i].search;
    SweepSearch *override = profile == SPEC_TOP ? NULL : find_search(file, profile, top->name);
    SweepSearch *source = override ? override : top, *selected = &spec->searches[spec->search_count++];

    /* The spec takes over the space; the file keeps the name and the location, for error messages. */
    *selected = *source;
    *source = (SweepSearch){.entry = source->entry};
    memcpy(source->name, selected->name, sizeof source->name);
    TRY(check(file, selected, profile));
    sweep_search_draw(spec, selected);
  }
  return CORE_OK;
}
