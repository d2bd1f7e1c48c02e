/* Reads an experiment file: sections, lines, and the validity of each name and value. All profiles are checked,
 * selected or not, so that mistakes show at once. spec_resolve.c selects the profile and blocks and applies --set. */
#include "sweep/spec/spec.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/config/script.h"
#include "core/files.h"
#include "core/memory.h"
#include "core/unicode.h"
#include "slurm/settings.h"
#include "sweep/spec/search.h"
#include "sweep/spec/spec_internal.h"

enum { WORDS_MAX = 5, SECTION_MAX = 256 };

static const char *const sweep_names[] = {"sweep.name", "sweep.seeds", "sweep.grids", "sweep.unread", "sweep.goal",
                                          "sweep.plan"};
enum { SWEEP_NAME_COUNT = sizeof sweep_names / sizeof *sweep_names };

static const char seed_advice[] = "train.seed is given by seeds in [sweep]: seeds = 5, or a list such as seeds = 0, 7";

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* Calls core_config_suggest over the settings, sweep.*, slurm.* and stop.* (all full names). */
static const char *nearest_name(const char *name) {
  size_t row_count, resource_count, stop_count, key_count, count = 0;
  const CoreConfigRow *rows = core_config_trainer_rows(&row_count);
  const char *const *resources = slurm_settings_names(&resource_count), *const *stops = sweep_stop_names(&stop_count);
  const char *const *keys = spec_script_keys(&key_count);
  const char **names =
    core_memory_allocate((row_count + resource_count + stop_count + key_count + SWEEP_NAME_COUNT) * sizeof *names);
  for (size_t i = 0; i < SWEEP_NAME_COUNT; i++) names[count++] = sweep_names[i];
  for (size_t i = 0; i < resource_count; i++) names[count++] = resources[i];
  for (size_t i = 0; i < stop_count; i++) names[count++] = stops[i];
  for (size_t i = 0; i < key_count; i++) names[count++] = keys[i];
  for (size_t i = 0; i < row_count; i++) names[count++] = rows[i].name;
  const char *nearest = core_config_suggest(name, names, count);
  free(names);
  return nearest;
}

static int unknown_name(const SpecFile *file, const char *name) {
  if (file->spec->base.program && !strchr(name, '.')) return spec_script_unknown(file, name);
  if (strncmp(name, "program.", 8) == 0 && !file->spec->base.program)
    return core_error(CORE_USAGE, "%s is a key of [program], which this file does not have", name);
  const char *nearest = nearest_name(name);
  if (nearest) return core_error(CORE_USAGE, "%s is not a setting; did you mean %s?", name, nearest);
  CoreConfig scratch = core_config_default();
  return core_config_set(&scratch, name, ""); /* sets the message for an unknown name, with the nearest key */
}

static const char *known_name(const SpecFile *file, const char *name, const CoreConfigRow **row) {
  *row = core_config_find(name);
  if (*row && !spec_script_has(file, *row)) return NULL;
  if (*row) return (*row)->name;
  for (size_t i = 0; i < SWEEP_NAME_COUNT; i++)
    if (strcmp(sweep_names[i], name) == 0) return sweep_names[i];
  size_t count;
  const char *const *resources = slurm_settings_names(&count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(resources[i], name) == 0) return resources[i];
  const char *const *stops = sweep_stop_names(&count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(stops[i], name) == 0) return stops[i];
  return spec_script_key(file, name);
}

/* ---- settings -------------------------------------------------------------------------------------------------- */

int spec_setting_error(const SpecFile *file, const SpecSetting *setting, bool at_key) {
  const CoreIni *ini = &file->spec->ini;
  if (setting->pair) return core_error_context(CORE_USAGE, "--set %s", setting->pair);
  if (at_key) return core_ini_error_key(ini, &setting->entry, "%s", core_error_message());
  return core_ini_error(ini, &setting->entry, "%s", core_error_message());
}

/* Checks the value of a setting; on error sets the message without a location. */
static int check_value(const SpecFile *file, const SpecSetting *setting) {
  const char *value = setting->entry.value;
  if (setting->row) {
    CoreConfig scratch = setting->row->is_program ? file->spec->base : core_config_default();
    int code = core_config_set(&scratch, setting->name, value);
    bool is_list = strchr(value, ',') || strstr(value, "..");
    if (code != CORE_OK && is_list && !setting->pair)
      return core_error(code, "%s; lists are allowed in [grid NAME] sections", core_error_message());
    return code;
  }

  if (strncmp(setting->name, "program.", 8) == 0) return spec_script_check_key(file, setting->name, value);
  if (strcmp(setting->name, "sweep.goal") == 0) return spec_script_check_goal(file, value);
  if (strcmp(setting->name, "sweep.name") == 0) return core_text_check_name(value, "sweep.name");
  if (strcmp(setting->name, "sweep.grids") == 0)
    return *value ? CORE_OK : core_error(CORE_USAGE, "sweep.grids is empty; name grids, or remove it to select all");
  if (strcmp(setting->name, "sweep.unread") == 0)
    return strcmp(value, "allow") == 0 || strcmp(value, "refuse") == 0
               ? CORE_OK
               : core_error(CORE_USAGE, "sweep.unread = %.80s: expected refuse or allow", value);
  if (strcmp(setting->name, "sweep.plan") == 0)
    return *value ? CORE_OK : core_error(CORE_USAGE, "sweep.plan is empty; name the file, or remove it");

  if (strcmp(setting->name, "sweep.seeds") == 0) {
    int64_t *seeds;
    size_t count;
    TRY(sweep_value_list_seeds(NULL, &setting->entry, &seeds, &count));
    free(seeds);
    return CORE_OK;
  }
  if (strncmp(setting->name, "stop.", 5) == 0) {
    SweepStop scratch = sweep_stop_default();
    return sweep_stop_set(&scratch, setting->name, value);
  }

  SlurmSettings scratch = slurm_settings_default();
  return slurm_settings_set(&scratch, setting->name, value);
}

/* 50k and 50000 are. */
static bool is_same_value(const CoreConfigRow *row, const char *a, const char *b) {
  CoreConfig first = core_config_default(), second = first;
  if (strcmp(a, b) == 0) return true;
  return row && core_config_set(&first, row->name, a) == CORE_OK && core_config_set(&second, row->name, b) == CORE_OK &&
         core_config_value_equals(&first, &second, row);
}

/* Two sections of equal rank may repeat a value, never contradict each other. *repeats: it stands there already. */
static int check_contradiction(const SpecFile *file, const SpecSetting *setting, bool *repeats) {
  *repeats = false;
  for (size_t i = 0; i < file->setting_count; i++) {
    const SpecSetting *other = &file->settings[i];
    if (setting->pair || other->pair || other->name != setting->name || other->profile != setting->profile) continue;
    *repeats = true;
    if (is_same_value(setting->row, other->entry.value, setting->entry.value)) return CORE_OK;
    core_error(CORE_USAGE, "%s = %.80s contradicts line %d, which sets it to %.80s; remove one", setting->name,
               setting->entry.value, other->entry.line, other->entry.value);
    return spec_setting_error(file, setting, true);
  }
  return CORE_OK;
}

/* Checks one setting's name and value and adds it; the last --set of a key counts. */
static int add_setting(SpecFile *file, SpecSetting setting) {
  bool repeats;
  const char *given = setting.name;

  setting.name = known_name(file, given, &setting.row);
  if (!setting.name) {
    if (setting.row) spec_script_unknown(file, given);
    else unknown_name(file, given);
    return spec_setting_error(file, &setting, true);
  }

  if (strcmp(setting.name, "train.seed") == 0) {
    core_error(CORE_USAGE, "%s", seed_advice);
    return spec_setting_error(file, &setting, true);
  }
  if (check_value(file, &setting) != CORE_OK) return spec_setting_error(file, &setting, false);
  TRY(check_contradiction(file, &setting, &repeats));
  if (repeats) return CORE_OK;

  file->settings = core_memory_resize(file->settings, (file->setting_count + 1) * sizeof *file->settings);
  file->settings[file->setting_count++] = setting;
  return CORE_OK;
}

static int add_set(SpecFile *file, const char *pair) {
  char key[SECTION_MAX];
  const char *equals = strchr(pair, '=');
  if (!equals || equals == pair) return core_error(CORE_USAGE, "--set %s: expected KEY=VALUE", pair);
  if ((size_t)(equals - pair) >= sizeof key) return core_error(CORE_USAGE, "--set %.40s...: the key is too long", pair);
  memcpy(key, pair, (size_t)(equals - pair));
  key[equals - pair] = '\0';
  return add_setting(file, (SpecSetting){.name = key, .profile = SPEC_TOP, .pair = pair,
                                         .entry = {.value = equals + 1}});
}

/* ---- sections -------------------------------------------------------------------------------------------------- */

/* Meaning of the lines after a section line. */
typedef struct Section {
  int profile;
  const char *prefix; /* prefix of keys, for "[ppo]"; NULL: keys are full names */
  size_t block;       /* index in file->blocks plus 1; 0: settings */
  size_t search;      /* index in file->searches plus 1; 0: none */
  bool is_program;    /* lines are read by spec_script_read */
} Section;

static int section_error(const SpecFile *file, const CoreIniEntry *entry) {
  return core_ini_error(&file->spec->ini, entry, "%s", core_error_message());
}

static bool is_settings_section(const char *name) {
  size_t count;
  const CoreConfigRow *rows = core_config_trainer_rows(&count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(rows[i].section, name) == 0) return true;
  return strcmp(name, "sweep") == 0 || strcmp(name, "slurm") == 0 || strcmp(name, "stop") == 0;
}

static int unknown_section(const SpecFile *file, const CoreIniEntry *entry, const char *first) {
  if (strcmp(entry->section, "import") == 0) /* written by analyze import */
    return core_ini_error(&file->spec->ini, entry,
                          "the runs of this sweep were made by another tool (analyze import); they are read-only");

  size_t row_count, count = 0;
  const CoreConfigRow *rows = core_config_trainer_rows(&row_count);
  const char **names = core_memory_allocate((row_count + 10) * sizeof *names);

  for (size_t i = 0; i < row_count; i++) names[count++] = rows[i].section;
  names[count++] = "sweep";
  names[count++] = "slurm";
  names[count++] = "stop";
  names[count++] = "grid NAME";
  names[count++] = "zip NAME";
  names[count++] = "search NAME";
  names[count++] = "profile NAME";
  names[count++] = "program";
  names[count++] = "settings";
  names[count++] = "metric";

  const char *nearest = core_text_nearest(entry->section, names, count);
  if (!nearest) nearest = core_text_nearest(first, names, count);
  free(names);

  const char *forms = "sections are those of the settings (trainer --help), [sweep], [slurm], [stop], [grid NAME], "
                      "[zip NAME], [search NAME], [profile NAME], [profile NAME grid BLOCK] and, of a program of your "
                      "own, [program], [settings] and [metric]";
  if (nearest)
    return core_ini_error(&file->spec->ini, entry, "[%s] is not a section; did you mean [%s]?", entry->section,
                          nearest);
  return core_ini_error(&file->spec->ini, entry, "[%s] is not a section; %s", entry->section, forms);
}

static int find_profile(SpecFile *file, const CoreIniEntry *entry, const char *name, int *profile) {
  if (core_text_check_name(name, "profile") != CORE_OK) return section_error(file, entry);
  for (size_t i = 0; i < file->profile_count; i++) {
    *profile = (int)i;
    if (strcmp(file->profiles[i].name, name) == 0) return CORE_OK;
  }
  *profile = (int)file->profile_count;
  file->profiles = core_memory_resize(file->profiles, (file->profile_count + 1) * sizeof *file->profiles);
  SpecProfile *added = &file->profiles[file->profile_count++];
  *added = (SpecProfile){.entry = entry};
  return core_text_copy(added->name, sizeof added->name, name, "profile");
}

static int open_block(SpecFile *file, const CoreIniEntry *entry, bool is_zip, const char *name, Section *section) {
  if (core_text_check_name(name, is_zip ? "zip" : "grid") != CORE_OK) return section_error(file, entry);
  for (size_t i = 0; i < file->block_count; i++) {
    const SpecBlock *other = &file->blocks[i];
    if (other->profile == section->profile && other->is_zip == is_zip && strcmp(other->block.name, name) == 0)
      return core_ini_error(&file->spec->ini, entry, "[%s] is already defined in line %d; give this one another name",
                            entry->section, other->block.entry->line);
  }
  file->blocks = core_memory_resize(file->blocks, (file->block_count + 1) * sizeof *file->blocks);
  SpecBlock *added = &file->blocks[file->block_count++];
  *added = (SpecBlock){.profile = section->profile, .is_zip = is_zip, .block = {.entry = entry}};
  section->block = file->block_count;
  return core_text_copy(added->block.name, sizeof added->block.name, name, "block");
}

static int open_search(SpecFile *file, const CoreIniEntry *entry, const char *name, Section *section) {
  TRY(spec_search_open(file, entry, section->profile, name, &section->search));
  section->search++;
  return CORE_OK;
}

static bool is_block_word(const char *word) {
  return strcmp(word, "grid") == 0 || strcmp(word, "zip") == 0 || strcmp(word, "search") == 0;
}

static int open_named(SpecFile *file, const CoreIniEntry *entry, const char *word, const char *name, Section *section) {
  if (strcmp(word, "search") == 0) return open_search(file, entry, name, section);
  return open_block(file, entry, strcmp(word, "zip") == 0, name, section);
}

static int open_section(SpecFile *file, const CoreIniEntry *entry, Section *section) {
  char copy[SECTION_MAX], *words[WORDS_MAX] = {0}, *tail = copy;
  size_t count = 0;
  *section = (Section){.profile = SPEC_TOP};
  if (core_text_copy(copy, sizeof copy, entry->section, "the section") != CORE_OK) return section_error(file, entry);
  for (char *word; count < WORDS_MAX && (word = strsep(&tail, " "));) words[count++] = word;

  section->is_program = count == 1 && file->spec->base.program && core_script_is_section(words[0]);
  if (section->is_program) return CORE_OK;
  if (count == 1 && is_settings_section(words[0])) {
    section->prefix = entry->section;
    return CORE_OK;
  }

  if (count == 1 && (is_block_word(words[0]) || strcmp(words[0], "profile") == 0))
    return core_ini_error(&file->spec->ini, entry, "[%s] needs a name: [%s NAME]", words[0], words[0]);
  if (count == 2 && is_block_word(words[0]))
    return open_named(file, entry, words[0], words[1], section);

  bool has_block = count == 4 && is_block_word(words[2]);
  if (strcmp(words[0], "profile") != 0 || (count != 2 && !has_block)) return unknown_section(file, entry, words[0]);
  TRY(find_profile(file, entry, words[1], &section->profile));
  return has_block ? open_named(file, entry, words[2], words[3], section) : CORE_OK;
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

/* Checks a list that is a separate axis of a grid. In a zip only the rows need to differ. */
static int check_axis(const CoreIni *ini, const SweepValueList *list) {
  if (list->count > 1 && !list->row->identity)
    return core_ini_error_key(ini, list->entry,
                              "%s does not affect results, so its %zu values would be one "
                              "run; give it one value",
                              list->row->name, list->count);
  return sweep_value_list_check_different(ini, list);
}

static bool is_resource(const CoreIniEntry *entry) { return strncmp(entry->key, "slurm.", 6) == 0; }

static int read_list(SpecFile *file, const CoreIniEntry *entry, bool is_zip, SweepBlock *block) {
  const CoreIni *ini = &file->spec->ini;
  bool is_switch = false;
  if (!is_zip) TRY(spec_script_switch(file, entry, block, &is_switch));
  if (is_switch) return CORE_OK;

  if (is_resource(entry) && is_zip)
    return core_ini_error_key(ini, entry, "a zip cannot have resources; move %s into [slurm], a [grid] or a [search]",
                              entry->key);
  if (is_resource(entry)) return spec_resource_add(file, entry, block);

  const CoreConfigRow *row = core_config_find(entry->key);
  if (!row || !spec_script_has(file, row)) {
    if (file->spec->base.program) spec_script_unknown(file, entry->key);
    else unknown_name(file, entry->key);
    return core_ini_error_key(ini, entry, "%s", core_error_message());
  }
  if (strcmp(row->name, "train.seed") == 0) return core_ini_error_key(ini, entry, "%s", seed_advice);
  for (size_t i = 0; i < block->count; i++)
    if (block->lists[i].row == row)
      return core_ini_error_key(ini, entry, "%s is set twice in [%s], first in line %d; join the two lists", row->name,
                                block->entry->section, block->lists[i].entry->line);

  SweepValueList list;
  TRY(sweep_value_list_parse(ini, entry, row, &list));
  block->lists = core_memory_resize(block->lists, (block->count + 1) * sizeof *block->lists);
  block->lists[block->count++] = list;
  return is_zip ? CORE_OK : check_axis(ini, &list);
}

static int read_search_line(SpecFile *file, const CoreIniEntry *entry, CoreSearch *space) {
  const CoreConfigRow *row = core_config_find(entry->key);
  if (row && !spec_script_has(file, row)) {
    spec_script_unknown(file, entry->key);
    return core_ini_error_key(&file->spec->ini, entry, "%s", core_error_message());
  }
  return core_search_line(&file->spec->ini, entry, space);
}

static int read_line(SpecFile *file, const CoreIniEntry *entry, const Section *section) {
  char name[2 * SECTION_MAX];
  if (section->is_program) return CORE_OK;
  if (section->block) {
    SpecBlock *block = &file->blocks[section->block - 1];
    return read_list(file, entry, block->is_zip, &block->block);
  }

  if (section->search && strcmp(entry->key, "seeds") == 0)
    return add_setting(file, (SpecSetting){.name = "sweep.seeds", .profile = section->profile, .entry = *entry});
  if (section->search && is_resource(entry))
    return spec_resource_add(file, entry, &file->searches[section->search - 1].search.block);
  if (section->search) return read_search_line(file, entry, &file->searches[section->search - 1].search.space);

  if (!*entry->section)
    return core_ini_error_key(&file->spec->ini, entry, "%s is before the first [section]", entry->key);
  int length = snprintf(name, sizeof name, "%s%s%s", section->prefix ? section->prefix : "", section->prefix ? "." : "",
                        entry->key);
  if (length >= (int)sizeof name) return core_ini_error_key(&file->spec->ini, entry, "the key is too long");
  return add_setting(file, (SpecSetting){.name = name, .profile = section->profile, .entry = *entry});
}

static int read_file(SpecFile *file) {
  Section section = {.profile = SPEC_TOP};
  const CoreIni *ini = &file->spec->ini;
  TRY(spec_script_read(file));
  for (size_t i = 0; i < ini->count; i++) {
    const CoreIniEntry *entry = &ini->entries[i];
    if (entry->key) TRY(read_line(file, entry, &section));
    else TRY(open_section(file, entry, &section));
  }
  for (size_t i = 0; i < file->spec->set_count; i++) TRY(add_set(file, file->spec->sets[i]));
  return CORE_OK;
}

/* ---- file ------------------------------------------------------------------------------------------------------ */

static void block_free(SweepBlock *block) {
  for (size_t i = 0; i < block->count; i++) sweep_value_list_free(&block->lists[i]);
  free(block->lists);
  free(block->resources);
  block->lists = NULL;
  block->resources = NULL;
  block->count = 0;
  block->resource_count = 0;
}

static void free_file(SpecFile *file) {
  for (size_t i = 0; i < file->block_count; i++) block_free(&file->blocks[i].block);
  for (size_t i = 0; i < file->search_count; i++) sweep_search_free(&file->searches[i].search);
  free(file->blocks);
  free(file->searches);
  free(file->settings);
  free(file->profiles);
}

int sweep_spec_parse(const char *name, const char *text, const char *profile, const char *const *sets,
                     size_t set_count, SweepSpec *spec) {
  *spec = (SweepSpec){.base = core_config_default()};
  SpecFile file = {.spec = spec};
  int code = core_ini_parse(name, text, &spec->ini);
  if (code != CORE_OK) {
    spec->ini = (CoreIni){0}; /* nothing to free */
    return code;
  }

  core_text_append(&spec->source, text);
  if (set_count) spec->sets = core_memory_allocate(set_count * sizeof *spec->sets);
  for (; spec->set_count < set_count; spec->set_count++)
    spec->sets[spec->set_count] = core_text_normalize_pair(sets[spec->set_count]);

  code = read_file(&file);
  if (code == CORE_OK) code = spec_resolve(&file, profile);
  free_file(&file);
  if (code != CORE_OK) sweep_spec_free(spec);
  return code;
}

/* ---- location of code -------------------------------------------------------------------------------------------- */

/* Whether the task names a module or a library. */
static bool names_code(const char *task) {
  return strncmp(task, "library:", 8) == 0 || (strncmp(task, "gym/", 4) == 0 && strchr(task, ':'));
}

static bool blocks_name_code(const SweepBlock *blocks, size_t count) {
  for (size_t b = 0; b < count; b++)
    for (size_t l = 0; l < blocks[b].count; l++)
      for (size_t v = 0; v < blocks[b].lists[l].count; v++)
        if (strcmp(blocks[b].lists[l].row->name, "env.task") == 0 && names_code(blocks[b].lists[l].values[v].text))
          return true;
  return false;
}

/* Makes modules, libraries and env.code relative to the directory of the experiment file, wherever runs are started. If
 * its path is too long for a setting, they stay relative to the current directory. */
static void set_code_directory(const char *path, SweepSpec *spec) {
  CoreConfig *base = spec->is_mixed ? &spec->trainer : &spec->base;
  char absolute[PATH_MAX], directory[CORE_PATH_MAX];
  bool has_code = *base->env.folder || *base->env.code || names_code(base->env.task) ||
                  blocks_name_code(spec->grids, spec->grid_count) || blocks_name_code(spec->zips, spec->zip_count);
  for (size_t i = 0; i < spec->search_count && !has_code; i++) has_code = blocks_name_code(&spec->searches[i].block, 1);
  if (!has_code || *base->env.folder == '/' || !realpath(path, absolute)) return;
  *strrchr(absolute, '/') = '\0';
  if (core_files_path(directory, "%s%s%s", absolute, *base->env.folder ? "/" : "", base->env.folder) == CORE_OK &&
      strlen(directory) < sizeof base->env.folder)
    memcpy(base->env.folder, directory, strlen(directory) + 1);
}

/* Checks that a directory can be written into the frozen experiment, which is UTF-8 text. */
static int check_directory(const char *path, const char *directory) {
  CoreText odd = {0};
  int code = CORE_OK;
  if (core_unicode_find_odd(directory, &odd))
    code = core_error(CORE_USAGE, "%s: the path of its directory contains %s; rename the directory", path,
                      core_text_string(&odd));
  core_text_free(&odd);
  return code;
}

int sweep_spec_read(const char *path, const char *profile, const char *const *sets, size_t set_count, SweepSpec *spec) {
  char *text;
  size_t size;
  struct stat status;
  TRY(spec_own_read(path, &text, &size, &status));

  int code = strlen(text) == size
                 ? sweep_spec_parse(path, text, profile, sets, set_count, spec)
                 : core_error(CORE_USAGE, "%s: contains a NUL byte; check that it is an experiment file", path);
  free(text);
  if (code != CORE_OK) return code;

  set_code_directory(path, spec);
  code = check_directory(path, spec->is_mixed ? spec->trainer.env.folder : spec->base.env.folder);
  if (code == CORE_OK) code = check_directory(path, spec->plan);
  spec_own_judge(path, &status, spec);
  for (size_t i = 0; i < spec->search_count && code == CORE_OK; i++)
    if (spec->searches[i].space.method == CORE_SEARCH_COMMAND)
      code = check_directory(path, spec->searches[i].space.program);
  if (code == CORE_OK) code = sweep_script_set_directory(path, spec);
  if (code == CORE_OK) spec_own_judge_code(spec);
  if (code == CORE_OK && spec->base.program)
    code = check_directory(path, core_script_text(spec->base.program, CORE_SCRIPT_folder));
  if (code != CORE_OK) sweep_spec_free(spec);
  return code;
}

void sweep_spec_free(SweepSpec *spec) {
  for (size_t i = 0; i < spec->grid_count; i++) block_free(&spec->grids[i]);
  for (size_t i = 0; i < spec->zip_count; i++) block_free(&spec->zips[i]);
  for (size_t i = 0; i < spec->search_count; i++) sweep_search_free(&spec->searches[i]);
  for (size_t i = 0; i < spec->set_count; i++) free(spec->sets[i]);

  free(spec->grids);
  free(spec->zips);
  free(spec->searches);
  free(spec->seeds);
  free(spec->resources);
  free(spec->sets);

  core_ini_free(&spec->ini);
  core_text_free(&spec->source);
  core_text_free(&spec->code_skipped);
  core_text_free(&spec->doubt);
  *spec = (SweepSpec){0};
}
