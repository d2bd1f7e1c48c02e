/* Selects the [search NAME] blocks of an experiment file, checks them against grids, zips and settings, and samples the
 * trials that follow from them. core/search/search.c parses the lines of a block. */
#include <stdlib.h>
#include <string.h>

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
static int resolve_goal(const SpecFile *file, CoreSearch *space) {
  static const char *const measures[] = {
#define X(name, words, range) #name,
#include "core/config/measures.def"
#undef X
  };
  SweepMetric metric;
  if (!space->is_metric) return CORE_OK;
  if (sweep_metric_find("a measure of runs", space->measure, file->spec->base.program, measures,
                        sizeof measures / sizeof *measures, &metric) != CORE_OK)
    return core_ini_error(&file->spec->ini, space->goal, "goal: %s", core_error_message());
  return core_text_copy(space->measure, sizeof space->measure, metric.name, "goal");
}

/* Completes the space of each block, and checks that a profile's block replaces one of the top level. */
static int finish_all(SpecFile *file) {
  const CoreIni *ini = &file->spec->ini;
  for (size_t i = 0; i < file->search_count; i++) {
    SpecSearch *search = &file->searches[i];
    if (search->profile != SPEC_TOP && !find_search(file, SPEC_TOP, search->search.name))
      return core_ini_error(ini, search->search.entry, "[%s] replaces a block that does not exist: no [search %s]",
                            search->search.entry->section, search->search.name);
    TRY(core_search_finish(ini, search->search.entry, &search->search.space));
    TRY(resolve_goal(file, &search->search.space));
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
      {"goal = max final", "max or min, and a measure (analyze table --runs --help) or a metric (its mean at the end)"},
      {"seeds = N", "seeds per trial"},
      {"startup = N", "tpe: number of random trials at the start (default: 10)"},
      {"wave = N", "tpe: trials per wave (default: 8)"},
      {"SETTING = 1 .. 8", "range; log 1e-5 .. 1e-2: uniform in the logarithm"},
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
