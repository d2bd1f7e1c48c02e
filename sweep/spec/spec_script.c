/* Reads the [program] of an experiment file: the settings that the file may use and, from the file's directory, the
 * files of its code and their hash. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/script.h"
#include "store/code/code.h"
#include "store/code/script.h"
#include "sweep/spec/spec_internal.h"

/* Whether the line is "program = no" of a grid. */
static bool is_switched_off(const CoreIniEntry *entry) {
  bool is_program;
  return strcmp(entry->key, "program") == 0 && strstr(entry->section, "grid ") &&
         core_text_to_bool(entry->value, &is_program) && !is_program;
}

int spec_script_read(SpecFile *file) {
  const CoreScript *program;
  TRY(core_script_read(&file->spec->ini, &program));
  core_script_attach(&file->spec->base, program);
  file->spec->trainer = core_config_default();
  if (!program) return CORE_OK;
  for (size_t i = 0; i < file->spec->ini.count; i++) {
    const CoreIniEntry *entry = &file->spec->ini.entries[i];
    if (entry->key && is_switched_off(entry)) file->spec->is_mixed = true;
  }
  return CORE_OK;
}

int spec_script_switch(SpecFile *file, const CoreIniEntry *entry, SweepBlock *block, bool *is_switch) {
  *is_switch = file->spec->base.program && strcmp(entry->key, "program") == 0;
  if (!*is_switch) return CORE_OK;
  bool is_program;
  if (!core_text_to_bool(entry->value, &is_program))
    return core_ini_error(&file->spec->ini, entry, "program = %.40s: expected no, for runs of the trainer, or yes",
                          entry->value);
  block->is_trainer = !is_program;
  return CORE_OK;
}

/* Returns a list that belongs to the other kind of run; NULL: none. */
static const SweepValueList *find_foreign(const SweepBlock *block) {
  for (size_t i = 0; i < block->count; i++)
    if (block->lists[i].row->is_program == block->is_trainer) return &block->lists[i];
  return NULL;
}

int spec_script_check_blocks(const SpecFile *file) {
  const SweepSpec *spec = file->spec;
  if (spec->is_mixed && spec->zip_count + spec->search_count > 0)
    return core_error(CORE_USAGE,
                      "%s: [zip] and [search] apply to every grid, so a file with grids of the trainer and of "
                      "a program cannot have them; split it into two files",
                      spec->ini.file);
  if (!spec->base.program) return CORE_OK;
  for (size_t g = 0; g < spec->grid_count; g++) {
    const SweepValueList *list = find_foreign(&spec->grids[g]);
    if (list)
      return core_ini_error_key(&spec->ini, list->entry, "%s is a setting of the %s, but [%s] is a grid of the %s",
                                list->row->name, list->row->is_program ? "program" : "trainer",
                                spec->grids[g].entry->section, spec->grids[g].is_trainer ? "trainer" : "program");
  }
  return CORE_OK;
}

bool spec_script_has(const SpecFile *file, const CoreConfigRow *row) {
  const CoreScript *program = file->spec->base.program;
  if (row->is_program) return program && core_script_find(program, row->name);
  return !program || file->spec->is_mixed || strcmp(row->name, "train.seed") == 0;
}

int spec_script_unknown(const SpecFile *file, const char *name) {
  const CoreConfigRow *row = core_config_find(name);
  CoreConfig scratch = file->spec->base;
  if (row && !row->is_program)
    return core_error(CORE_USAGE,
                      "%s is a setting of the trainer, but this file runs a [program]; define the "
                      "program's settings in [settings], and set the trainer's in a grid with program = no",
                      name);
  return core_config_set(&scratch, name, "");
}

/* ---- keys of [program] in profiles and --set --------------------------------------------------------------------- */

static const struct { const char *name; CoreScriptKey key; } keys[] = {
#define KEY(key) {"program." #key, CORE_SCRIPT_##key}
  KEY(name), KEY(command), KEY(setup), KEY(code), KEY(cwd),
  KEY(metrics), KEY(step), KEY(resume), KEY(grace), KEY(stall),
#undef KEY
};
enum { KEYS = sizeof keys / sizeof *keys };

const char *const *spec_script_keys(size_t *count) {
  static const char *names[KEYS];
  for (size_t i = 0; i < KEYS; i++) names[i] = keys[i].name;
  *count = KEYS;
  return names;
}

static size_t find_key(const char *name) {
  size_t index = 0;
  while (index < KEYS && strcmp(keys[index].name, name) != 0) index++;
  return index;
}

const char *spec_script_key(const SpecFile *file, const char *name) {
  const size_t index = find_key(name);
  return file->spec->base.program && index < KEYS ? keys[index].name : NULL;
}

/* Whether the recorded code of a submitted sweep follows from the key. */
static bool decides_code(CoreScriptKey key) {
  return key == CORE_SCRIPT_command || key == CORE_SCRIPT_code || key == CORE_SCRIPT_cwd;
}

int spec_script_check_key(const SpecFile *file, const char *name, const char *value) {
  const CoreScript *program = file->spec->base.program;
  const CoreScriptKey key = keys[find_key(name)].key;
  if (decides_code(key) && *core_script_text(program, CORE_SCRIPT_folder))
    return core_error(CORE_USAGE, "%s of a submitted sweep is fixed, as its code is; use --set with its experiment "
                      "file", name);
  return core_script_check(core_script_with(program, key, value));
}

void spec_script_set_key(SpecFile *file, const char *name, const char *value) {
  CoreConfig *base = &file->spec->base;
  core_script_attach(base, core_script_with(base->program, keys[find_key(name)].key, value));
}

int spec_script_goal(SpecFile *file, const SpecSetting *goal) {
  CoreConfig *base = &file->spec->base;
  if (!goal) return CORE_OK;
  core_script_attach(base, core_script_with(base->program, CORE_SCRIPT_goal, goal->entry.value));
  return CORE_OK;
}

int spec_script_check_goal(const SpecFile *file, const char *value) {
  if (!file->spec->base.program)
    return core_error(CORE_USAGE, "sweep.goal names the score of a [program], which this file does not have; the "
                                  "trainer's score is the solve rate or return");
  if ((strncmp(value, "max ", 4) == 0 || strncmp(value, "min ", 4) == 0) && value[4] && !strpbrk(value + 4, " \t") &&
      strlen(value + 4) < CORE_SCRIPT_NAME)
    return CORE_OK;
  return core_error(CORE_USAGE, "sweep.goal = %.80s: expected max METRIC or min METRIC, e.g. max episode_return",
                    value);
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

/* Whether our trainer has an algorithm of this name. */
static bool is_algorithm(const char *name, size_t length) {
  const char *choice = core_config_find("algo.name")->choices;
  for (; *choice; choice += strcspn(choice, "|"), choice += *choice == '|')
    if (strcspn(choice, "|") == length && strncmp(choice, name, length) == 0) return true;
  return false;
}

/* Names a program after the first file of its code, else after the first word of its command; without the extension,
 * unless that is the name of one of our algorithms ("ppo.py"). */
static void make_name(const CoreScript *program, CoreText *name) {
  const char *code = core_script_text(program, CORE_SCRIPT_code);
  const char *text = *code && strcmp(code, "none") != 0 ? code : core_script_text(program, CORE_SCRIPT_command);
  const size_t length = strcspn(text, " \t");
  const char *start = text;
  for (const char *c = text; c < text + length; c++)
    if (*c == '/') start = c + 1;
  const size_t tail = length - (size_t)(start - text), stem = strcspn(start, ".");
  const bool is_short = stem > 0 && stem < tail && !is_algorithm(start, stem);
  core_text_append_bytes(name, start, is_short ? stem : tail);
}

/* Sets the files of the code unless the user has listed them; `skipped` gets what is not among them. */
static int find_files(const CoreScript **program, CoreText *skipped, bool *is_unknown) {
  StoreScriptFiles found = {0};
  int code = CORE_OK;
  if (!*core_script_text(*program, CORE_SCRIPT_code)) {
    code = store_script_find(*program, &found);
    *is_unknown = found.files.length == 0;
    *program = core_script_with(*program, CORE_SCRIPT_code, found.files.length ? found.files.data : "none");
  }
  core_text_append(skipped, core_text_string(&found.skipped));
  store_script_free(&found);
  return code;
}

/* Adds a script that a grid's text names in the command to `skipped`: only choices are searched for scripts. */
static int skip_script(const CoreScript *program, const SweepValueList *list, size_t value, CoreText *skipped) {
  char directory[CORE_PATH_MAX], path[CORE_PATH_MAX], **words;
  size_t count;
  CoreConfig config = core_config_default();
  core_script_attach(&config, program);
  sweep_value_list_apply(list, value, &config);
  TRY(core_script_directory(program, directory));
  TRY(core_script_argv(config.program, core_script_text(program, CORE_SCRIPT_command), NULL, &words, &count));

  for (size_t i = 0; i < count; i++) {
    const size_t length = strlen(words[i]);
    const bool is_script = length > 3 && strcmp(words[i] + length - 3, ".py") == 0 &&
                           !store_script_lists(core_script_text(program, CORE_SCRIPT_code), words[i]);
    if (is_script && core_files_path_in(directory, words[i], path) == CORE_OK && core_files_exists(path))
      core_text_appendf(skipped, "%s\tonly some runs have it; make a choice of it: %s = FILE | FILE\n", words[i],
                        list->row->name);
  }

  core_script_argv_free(&words);
  core_error_clear();
  return CORE_OK;
}

static int skip_scripts(const SweepBlock *blocks, size_t count, const CoreScript *program, CoreText *skipped) {
  enum { VALUES_MAX = 64 };
  for (size_t b = 0; b < count; b++)
    for (size_t l = 0; l < blocks[b].count; l++) {
      const SweepValueList *list = &blocks[b].lists[l];
      for (size_t v = 0; list->row->is_program && list->row->kind == CORE_CONFIG_STRING && v < list->count; v++)
        if (v < VALUES_MAX) TRY(skip_script(program, list, v, skipped));
    }
  return CORE_OK;
}

static int set_code(const CoreScript **program, CoreText *skipped, bool *is_unknown) {
  char hash[STORE_CODE_HASH];
  CoreText text = {0};
  int code = find_files(program, skipped, is_unknown);
  if (code == CORE_OK) code = store_code_script_hash(*program, hash, &text);
  if (code == CORE_OK) {
    *program = core_script_with(*program, CORE_SCRIPT_code_hash, hash);
    *program = core_script_with(*program, CORE_SCRIPT_code_files, core_text_string(&text));
  }

  core_text_clear(&text);
  if (code == CORE_OK && !*core_script_text(*program, CORE_SCRIPT_name)) {
    make_name(*program, &text);
    *program = core_script_with(*program, CORE_SCRIPT_name, core_text_string(&text));
  }

  core_text_free(&text);
  return code;
}

int sweep_script_set_directory(const char *path, SweepSpec *spec) {
  char absolute[PATH_MAX];
  const CoreScript *program = spec->base.program;
  if (!program || *core_script_text(program, CORE_SCRIPT_folder)) return CORE_OK; /* a frozen file has it */
  if (!realpath(path, absolute)) return core_error_errno(CORE_FAIL, "%s", path);
  *strrchr(absolute, '/') = '\0';
  program = core_script_with(program, CORE_SCRIPT_folder, *absolute ? absolute : "/");
  const bool is_found = !*core_script_text(program, CORE_SCRIPT_code);
  int code = set_code(&program, &spec->code_skipped, &spec->is_code_unknown);
  if (code == CORE_OK && is_found) code = skip_scripts(spec->grids, spec->grid_count, program, &spec->code_skipped);
  if (code == CORE_OK && is_found) code = skip_scripts(spec->zips, spec->zip_count, program, &spec->code_skipped);
  if (code != CORE_OK) return core_error_context(code, "%s", path);
  core_script_attach(&spec->base, program);
  return CORE_OK;
}
