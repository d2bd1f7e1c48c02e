/* [search NAME] blocks of an experiment file: which count, whether they go with the grids, zips and settings, and the
 * trials that follow from them. Called by spec.c and spec_resolve.c; the text of a block is core/search/search.c's. */
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

int spec_search_open(SpecFile *file, const CoreIniEntry *entry, int profile, const char *name, size_t *number) {
  const CoreIni *ini = &file->spec->ini;
  if (core_text_check_name(name, "search") != CORE_OK) return core_ini_error(ini, entry, "%s", core_error_message());
  const SweepSearch *other = find_search(file, profile, name);
  if (other)
    return core_ini_error(ini, entry, "[%s] stands in line %d already; give this one another name", entry->section,
                          other->entry->line);
  file->searches = core_memory_resize(file->searches, (file->search_count + 1) * sizeof *file->searches);
  *number = file->search_count++;
  SpecSearch *added = &file->searches[*number];
  *added = (SpecSearch){.profile = profile, .search = {.entry = entry}};
  return core_text_copy(added->search.name, sizeof added->search.name, name, "search");
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static int finish_all(SpecFile *file) {
  const CoreIni *ini = &file->spec->ini;
  for (size_t i = 0; i < file->search_count; i++) {
    SpecSearch *search = &file->searches[i];
    if (search->profile != SPEC_TOP && !find_search(file, SPEC_TOP, search->search.name))
      return core_ini_error(ini, search->search.entry, "[%s] replaces a block that is not there: no [search %s]",
                            search->search.entry->section, search->search.name);
    TRY(core_search_finish(ini, search->search.entry, &search->search.space));
  }
  return CORE_OK;
}

static const CoreSearchAxis *find_axis(const SweepSearch *search, const CoreConfigRow *row) {
  for (size_t i = 0; i < search->space.count; i++)
    if (search->space.axes[i].row == row) return &search->space.axes[i];
  return NULL;
}

static int check_apart(const CoreIni *ini, const SweepSearch *search, const SweepBlock *block) {
  for (size_t i = 0; i < block->count; i++) {
    const CoreSearchAxis *axis = find_axis(search, block->lists[i].row);
    if (axis)
      return core_ini_error_key(ini, axis->entry, "%s is searched by [%s] and set by [%s] (line %d); a search is "
                                "multiplied into every grid, so keep one of the two", axis->row->name,
                                search->entry->section, block->entry->section, block->lists[i].entry->line);
  }
  return CORE_OK;
}

/* --set and profiles give one value; what a search draws in every run they cannot change. */
static int check_settings(const SpecFile *file, const SweepSearch *search, int profile) {
  for (size_t i = 0; i < file->setting_count; i++) {
    const SpecSetting *setting = &file->settings[i];
    const CoreSearchAxis *axis = setting->row ? find_axis(search, setting->row) : NULL;
    const bool counts = setting->pair || (profile != SPEC_TOP && setting->profile == profile);
    if (!axis || !counts || axis->parent != CORE_SEARCH_NO_PARENT) continue;
    core_error(CORE_USAGE, "%s has no effect here: [%s] (line %d) draws it for every trial; write the block anew in a "
               "profile, as [profile NAME search %s]", setting->name, search->entry->section, axis->entry->line,
               search->name);
    return spec_setting_error(file, setting, true);
  }
  return CORE_OK;
}

static int check(const SpecFile *file, const SweepSearch *search, int profile) {
  const SweepSpec *spec = file->spec;
  for (size_t i = 0; i < spec->grid_count; i++) TRY(check_apart(&spec->ini, search, &spec->grids[i]));
  for (size_t i = 0; i < spec->zip_count; i++) TRY(check_apart(&spec->ini, search, &spec->zips[i]));
  return check_settings(file, search, profile);
}

/* ---- help -------------------------------------------------------------------------------------------------------- */

void sweep_search_help(CoreHelp *help) {
  static const struct { const char *term, *words; } rows[] = {
    {"trials = N", "how many"},
    {"method = random", "each by itself (default)"},
    {"method = sobol", "Sobol' points, which cover few settings more evenly"},
    {"method = tpe", "proposed from what has ended, a wave at a time (tree-structured Parzen estimator)"},
    {"goal = max final", "max or min, and a measure (analyze measures --help)"},
    {"seeds = N", "of each trial"},
    {"startup = N", "tpe: random trials first (default: 10)"},
    {"wave = N", "tpe: trials proposed at once (default: 8)"},
    {"SETTING = 1 .. 8", "a range; log 1e-5 .. 1e-2: uniform in the logarithm"},
    {"SETTING = choice A, B", "one of these"},
    {"VALUES when SETTING = A", "only in trials where that choice has this value"},
  };
  core_help_heading(help, "Searching: [search NAME] in FILE");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) core_help_row(help, rows[i].term, rows[i].words, 25);
}

/* ---- what counts ------------------------------------------------------------------------------------------------- */

int spec_search_resolve(SpecFile *file, int profile) {
  SweepSpec *spec = file->spec;
  TRY(finish_all(file));
  spec->searches = core_memory_zero_allocate(file->search_count + 1, sizeof *spec->searches);
  for (size_t i = 0; i < file->search_count; i++) {
    if (file->searches[i].profile != SPEC_TOP) continue;
    SweepSearch *top = &file->searches[i].search;
    SweepSearch *own = profile == SPEC_TOP ? NULL : find_search(file, profile, top->name);
    SweepSearch *source = own ? own : top, *taken = &spec->searches[spec->search_count++];
    *taken = *source;
    *source = (SweepSearch){.entry = source->entry};
    memcpy(source->name, taken->name, sizeof source->name);
    TRY(check(file, taken, profile));
    sweep_search_draw(spec, taken);
  }
  return CORE_OK;
}
