/* Resolves a file: selects the profile and its blocks, applies --set, and checks them against each other. Second half
 * of sweep_spec_parse; spec.c has checked names and single values. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/config/script.h"
#include "core/files.h"
#include "core/memory.h"
#include "core/sha256.h"
#include "slurm/settings.h"
#include "sweep/spec/spec_internal.h"

/* ---- profile and values ---------------------------------------------------------------------------------------- */

static int find_profile(const SpecFile *file, const char *name, int *profile) {
  CoreText known = {0};
  *profile = SPEC_TOP;
  if (!name) return CORE_OK;

  const char **names = core_memory_allocate((file->profile_count + 1) * sizeof *names);
  for (size_t i = 0; i < file->profile_count; i++) {
    names[i] = file->profiles[i].name;
    core_text_appendf(&known, "%s%s", i ? ", " : "", names[i]);
    if (strcmp(names[i], name) == 0) *profile = (int)i;
  }

  int code = CORE_OK;
  if (*profile == SPEC_TOP) {
    const char *nearest = core_text_nearest(name, names, file->profile_count);
    if (nearest)
      code = core_error(CORE_USAGE, "%s has no [profile %s]; did you mean %s?", file->spec->ini.file, name, nearest);
    else if (file->profile_count)
      code = core_error(CORE_USAGE, "%s has no [profile %s]; it has: %s", file->spec->ini.file, name,
                        core_text_string(&known));
    else code = core_error(CORE_USAGE, "%s has no [profile %s]; it has no profiles", file->spec->ini.file, name);
  }

  free(names);
  core_text_free(&known);
  return code;
}

/* Returns the precedence: 0: sections, 1: profile, 2: --set; -1: another profile. */
static int precedence(const SpecSetting *setting, int profile) {
  if (setting->pair) return 2;
  if (setting->profile == SPEC_TOP) return 0;
  return setting->profile == profile ? 1 : -1;
}

/* Returns the setting of the highest precedence; of equal ones (only --set) the last; NULL: not set. */
static const SpecSetting *find_setting(const SpecFile *file, int profile, const char *name) {
  const SpecSetting *best = NULL;
  for (size_t i = 0; i < file->setting_count; i++) {
    const SpecSetting *setting = &file->settings[i];
    int rank = precedence(setting, profile);
    if (rank >= 0 && strcmp(setting->name, name) == 0 && (!best || rank >= precedence(best, profile))) best = setting;
  }
  return best;
}

/* Whether the setting belongs to grids with program = no. */
static bool is_trainer_setting(const SweepSpec *spec, const CoreConfigRow *row) {
  return spec->base.program && !row->is_program;
}

static int apply_settings(SpecFile *file, int profile) {
  for (int rank = 0; rank <= 2; rank++) {
    for (size_t i = 0; i < file->setting_count; i++) {
      const SpecSetting *setting = &file->settings[i];
      if (setting->row && precedence(setting, profile) == rank)
        TRY(core_config_set(is_trainer_setting(file->spec, setting->row) ? &file->spec->trainer : &file->spec->base,
                            setting->name, setting->entry.value));
    }
  }
  return CORE_OK;
}

static void set_resources(SpecFile *file, int profile) {
  SweepSpec *spec = file->spec;
  size_t count;
  const char *const *names = slurm_settings_names(&count);
  spec->resources = core_memory_allocate(count * sizeof *spec->resources);
  for (size_t i = 0; i < count; i++) {
    const SpecSetting *setting = find_setting(file, profile, names[i]);
    if (!setting) continue;
    const char *key = strchr(names[i], '.') + 1;
    spec->resources[spec->resource_count++] = (SweepResource){.key = key, .value = setting->entry.value};
  }
}

static int set_stop(SpecFile *file, int profile) {
  size_t count;
  const char *const *names = sweep_stop_names(&count);
  file->spec->stop = sweep_stop_default();
  for (size_t i = 0; i < count; i++) {
    const SpecSetting *setting = find_setting(file, profile, names[i]);
    if (!setting) continue;
    const SweepStopSource given = {.value = setting->entry.value, .pair = setting->pair, .entry = setting->entry};
    sweep_stop_set_given(&file->spec->stop, i, &given);
  }
  return sweep_stop_check(&file->spec->stop, &file->spec->ini, file->spec->base.program);
}

/* Sets the keys of [program] that the profile or --set changes. */
static void set_program(SpecFile *file, int profile) {
  size_t count;
  const char *const *names = spec_script_keys(&count);
  for (size_t i = 0; i < count; i++) {
    const SpecSetting *setting = find_setting(file, profile, names[i]);
    if (setting) spec_script_set_key(file, names[i], setting->entry.value);
  }
}

/* Gets the current directory with "." as the file's name in it. */
static int current_place(char path[CORE_PATH_MAX]) {
  char *current = get_current_dir_name();
  const int code = core_files_path(path, "%s/.", current ? current : ".");
  free(current);
  return code;
}

static int directory_of(const char *path, char directory[CORE_PATH_MAX]) {
  return core_files_path(directory, "%.*s", (int)(strrchr(path, '/') - path), path);
}

int spec_directory(const SpecFile *file, char directory[CORE_PATH_MAX]) {
  char current[CORE_PATH_MAX], path[CORE_PATH_MAX];
  TRY(current_place(path));
  TRY(directory_of(path, current));
  TRY(core_files_path_in(current, file->spec->ini.file, path));
  return directory_of(path, directory);
}

/* Gets the directory that a file's plan is relative to: that of the experiment file or, for --set, the current one. */
static int plan_directory(const SpecFile *file, const SpecSetting *plan, char directory[CORE_PATH_MAX]) {
  char path[CORE_PATH_MAX];
  if (!plan->pair) return spec_directory(file, directory);
  TRY(current_place(path));
  return directory_of(path, directory);
}

/* Sets the plan and its hash, that of the file unless the setting has it. */
static int set_plan(SpecFile *file, int profile) {
  SweepSpec *spec = file->spec;
  const SpecSetting *plan = find_setting(file, profile, "sweep.plan");
  char directory[CORE_PATH_MAX], name[CORE_PATH_MAX];
  size_t length;
  if (!plan) return CORE_OK;

  const char *hash = core_sha256_recorded(plan->entry.value, &length);
  TRY(core_files_path(name, "%.*s", hash ? (int)length : INT_MAX, plan->entry.value));
  TRY(plan_directory(file, plan, directory));
  TRY(core_files_path_in(directory, name, spec->plan));
  if (hash) snprintf(spec->plan_hash, sizeof spec->plan_hash, "%s", hash);
  else if (core_sha256_file(spec->plan, spec->plan_hash, NULL) != CORE_OK) {
    core_error(CORE_USAGE, "sweep.plan: %s", core_error_message());
    return spec_setting_error(file, plan, false);
  }

  core_script_set_plan(&spec->base, spec->plan_hash);
  if (spec->is_mixed) core_script_set_plan(&spec->trainer, spec->plan_hash);
  return CORE_OK;
}

static int set_name_and_seeds(SpecFile *file, int profile) {
  static const CoreIniEntry one_seed = {.value = "1"};
  SweepSpec *spec = file->spec;
  const SpecSetting *name = find_setting(file, profile, "sweep.name");
  const SpecSetting *seeds = find_setting(file, profile, "sweep.seeds");
  if (!name)
    return core_error(CORE_USAGE, "%s: the sweep has no name; add \"name = ...\" to its [sweep] section",
                      spec->ini.file);
  TRY(core_text_copy(spec->name, sizeof spec->name, name->entry.value, "sweep.name"));
  if (profile != SPEC_TOP)
    TRY(core_text_copy(spec->profile, sizeof spec->profile, file->profiles[profile].name, "profile"));
  return sweep_value_list_seeds(NULL, seeds ? &seeds->entry : &one_seed, &spec->seeds, &spec->seed_count);
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

static SpecBlock *find_block(const SpecFile *file, int profile, bool is_zip, const char *name) {
  for (size_t i = 0; i < file->block_count; i++) {
    SpecBlock *block = &file->blocks[i];
    if (block->profile == profile && block->is_zip == is_zip && strcmp(block->block.name, name) == 0) return block;
  }
  return NULL;
}

/* Appends "; did you mean com?" with the nearest top-level block of that kind, if there is one. */
static void append_nearest_block(const SpecFile *file, bool is_zip, const char *name, CoreText *text) {
  const char **names = core_memory_allocate((file->block_count + 1) * sizeof *names);
  size_t count = 0;
  for (size_t i = 0; i < file->block_count; i++)
    if (file->blocks[i].profile == SPEC_TOP && file->blocks[i].is_zip == is_zip)
      names[count++] = file->blocks[i].block.name;
  const char *nearest = core_text_nearest(name, names, count);
  if (nearest) core_text_appendf(text, "; did you mean %s?", nearest);
  free(names);
}

static int check_zip(const CoreIni *ini, const SweepBlock *zip) {
  for (size_t i = 1; i < zip->count; i++) {
    const SweepValueList *first = &zip->lists[0], *list = &zip->lists[i];
    if (list->count != first->count)
      return core_ini_error(ini, list->entry, "the lists of a zip advance together, but %s has %zu value%s and %s "
                            "(line %d) has %zu", list->row->name, list->count, list->count == 1 ? "" : "s",
                            first->row->name, first->entry->line, first->count);
  }
  return CORE_OK;
}

static int check_blocks(const SpecFile *file) {
  const CoreIni *ini = &file->spec->ini;
  for (size_t i = 0; i < file->block_count; i++) {
    const SpecBlock *block = &file->blocks[i];
    const char *kind = block->is_zip ? "zip" : "grid";
    if (block->block.count == 0)
      return core_ini_error(ini, block->block.entry, "empty %s: [%s] needs at least one \"section.key = value, value\"",
                            kind, block->block.entry->section);
    if (block->is_zip) TRY(check_zip(ini, &block->block));

    /* A profile's block replaces one of the file. */
    if (block->profile == SPEC_TOP || find_block(file, SPEC_TOP, block->is_zip, block->block.name)) continue;
    CoreText nearest = {0};
    append_nearest_block(file, block->is_zip, block->block.name, &nearest);
    int code = core_ini_error(ini, block->block.entry, "[%s] replaces a block that does not exist: no [%s %s]%s",
                              block->block.entry->section, kind, block->block.name, core_text_string(&nearest));
    core_text_free(&nearest);
    return code;
  }
  return CORE_OK;
}

/* Whether `name` is in the comma list. */
static bool is_listed(const char *list, const char *name) {
  CoreText item = {0};
  const char *start;
  bool found = false;
  while (!found && core_ini_next_item(&list, &item, &start)) found = strcmp(core_text_string(&item), name) == 0;
  core_text_free(&item);
  return found;
}

static int check_selected(const SpecFile *file, const SpecSetting *selected) {
  CoreText item = {0}, nearest = {0};
  const char *tail = selected->entry.value, *start;
  int code = CORE_OK;
  while (core_ini_next_item(&tail, &item, &start)) {
    const char *name = core_text_string(&item);
    if (find_block(file, SPEC_TOP, false, name)) continue;
    append_nearest_block(file, false, name, &nearest);
    core_error(CORE_USAGE, "sweep.grids: there is no [grid %s]%s", name, core_text_string(&nearest));
    code = spec_setting_error(file, selected, false);
    if (code != CORE_OK) break;
  }
  core_text_free(&item);
  core_text_free(&nearest);
  return code;
}

/* Moves the selected blocks out of `file`, in the file's order. A profile's block replaces the original. */
static int select_blocks(SpecFile *file, int profile) {
  SweepSpec *spec = file->spec;
  const SpecSetting *selected = find_setting(file, profile, "sweep.grids");
  if (selected) TRY(check_selected(file, selected));

  spec->grids = core_memory_allocate((file->block_count + 1) * sizeof *spec->grids);
  spec->zips = core_memory_allocate((file->block_count + 1) * sizeof *spec->zips);
  for (size_t i = 0; i < file->block_count; i++) {
    SpecBlock *block = &file->blocks[i];
    if (block->profile != SPEC_TOP) continue;
    if (!block->is_zip && selected && !is_listed(selected->entry.value, block->block.name)) continue;

    SpecBlock *override = profile == SPEC_TOP ? NULL : find_block(file, profile, block->is_zip, block->block.name);
    SpecBlock *source = override ? override : block;
    if (block->is_zip) spec->zips[spec->zip_count++] = source->block;
    else spec->grids[spec->grid_count++] = source->block;

    /* The spec owns the lists from here on. */
    source->block.lists = NULL;
    source->block.count = 0;
    source->block.resources = NULL;
    source->block.resource_count = 0;
  }
  return CORE_OK;
}

/* ---- checks between blocks and settings ------------------------------------------------------------------------ */

static SweepValueList *find_list(const SweepBlock *block, const CoreConfigRow *row) {
  for (size_t i = 0; i < block->count; i++)
    if (block->lists[i].row == row) return &block->lists[i];
  return NULL;
}

static int check_disjoint(const CoreIni *ini, const SweepBlock *zip, const SweepBlock *other) {
  for (size_t i = 0; i < other->count; i++) {
    const SweepValueList *list = &other->lists[i], *twin = find_list(zip, list->row);
    if (twin)
      return core_ini_error_key(ini, list->entry, "%s is set by [%s] and by [%s] (line %d); a zip is multiplied into "
                                "every grid, so keep one of the two", list->row->name, other->entry->section,
                                zip->entry->section, twin->entry->line);
  }
  return CORE_OK;
}

static int check_overlaps(const SweepSpec *spec) {
  for (size_t z = 0; z < spec->zip_count; z++) {
    for (size_t i = z + 1; i < spec->zip_count; i++) TRY(check_disjoint(&spec->ini, &spec->zips[z], &spec->zips[i]));
    for (size_t i = 0; i < spec->grid_count; i++) TRY(check_disjoint(&spec->ini, &spec->zips[z], &spec->grids[i]));
  }
  return CORE_OK;
}

/* Checks that a profile's values have an effect, i.e. that not every block overrides them. */
static int check_profile_effective(const SpecFile *file, int profile) {
  const SweepSpec *spec = file->spec;
  for (size_t i = 0; i < file->setting_count; i++) {
    const SpecSetting *setting = &file->settings[i];
    if (!setting->row || precedence(setting, profile) != 1) continue;

    const SweepBlock *over = NULL;
    size_t grids = 0;
    for (size_t g = 0; g < spec->grid_count; g++) {
      if (!find_list(&spec->grids[g], setting->row)) continue;
      over = &spec->grids[g];
      grids++;
    }
    if (grids < spec->grid_count) over = NULL;
    for (size_t z = 0; z < spec->zip_count && !over; z++)
      if (find_list(&spec->zips[z], setting->row)) over = &spec->zips[z];
    if (!over) continue;

    core_error(CORE_USAGE,
               "%s has no effect here: [%s] (line %d) sets it in every run; to change the list, repeat the "
               "block as [profile %s %s %s]",
               setting->name, over->entry->section, over->entry->line, spec->profile, grids ? "grid" : "zip",
               over->name);
    return spec_setting_error(file, setting, true);
  }
  return CORE_OK;
}

/* Applies --set to a block: it replaces a fixed value, but must not collapse an axis of several values. */
static int set_in_block(const SpecFile *file, const SpecSetting *setting, SweepBlock *block) {
  SweepValueList *list = find_list(block, setting->row);
  if (!list) return CORE_OK;

  if (list->count > 1) {
    core_error(CORE_USAGE, "[%s] (line %d of %s) sweeps %s over %zu values, and one value would collapse that axis; "
               "change the list, or use a profile", block->entry->section, list->entry->line, file->spec->ini.file,
               setting->name, list->count);
    return spec_setting_error(file, setting, false);
  }

  const CoreIniEntry *location = list->entry;
  sweep_value_list_free(list);
  if (sweep_value_list_parse(NULL, &setting->entry, setting->row, list) != CORE_OK)
    return spec_setting_error(file, setting, false);
  list->entry = location;
  if (list->count == 1) return CORE_OK;
  core_error(CORE_USAGE, "expected one value, not a list");
  return spec_setting_error(file, setting, false);
}

static int set_in_blocks(SpecFile *file) {
  SweepSpec *spec = file->spec;
  for (size_t i = 0; i < file->setting_count; i++) {
    const SpecSetting *setting = &file->settings[i];
    if (!setting->pair || !setting->row) continue;
    for (size_t g = 0; g < spec->grid_count; g++) TRY(set_in_block(file, setting, &spec->grids[g]));
    for (size_t z = 0; z < spec->zip_count; z++) TRY(set_in_block(file, setting, &spec->zips[z]));
  }
  return CORE_OK;
}

int spec_resolve(SpecFile *file, const char *profile_name) {
  int profile;
  TRY(find_profile(file, profile_name, &profile));
  TRY(check_blocks(file));
  TRY(set_name_and_seeds(file, profile));
  TRY(apply_settings(file, profile));

  set_program(file, profile);
  TRY(spec_script_goal(file, find_setting(file, profile, "sweep.goal")));
  set_resources(file, profile);
  const SpecSetting *unread = find_setting(file, profile, "sweep.unread");
  file->spec->unread_allowed = unread && strcmp(unread->entry.value, "allow") == 0;
  TRY(set_plan(file, profile));
  TRY(set_stop(file, profile));

  TRY(select_blocks(file, profile));
  TRY(spec_script_check_blocks(file));
  TRY(check_overlaps(file->spec));
  TRY(check_profile_effective(file, profile));

  TRY(set_in_blocks(file));
  TRY(spec_search_resolve(file, profile));
  return spec_resources_resolve(file, profile);
}
