/* Shell completion of `sweep` beyond commands and options (core/command/completion.h): sweeps of the workspace,
 * profiles of the file on the line, and settings including those of [slurm], [stop] and [sweep]. Reads files only. */
#include <stdlib.h>
#include <string.h>

#include "core/command/completion.h"
#include "core/ini.h"
#include "slurm/settings.h"
#include "store/workspace/paths.h"
#include "sweep/commands.h"
#include "sweep/spec/sweep.h"

static void add_experiments(const CoreCompletionContext *typing, CoreText *values) {
  core_completion_add_files(values, "ini");
}

static void add_sweeps(const CoreCompletionContext *typing, CoreText *values) {
  char root[CORE_PATH_MAX], **names;
  size_t count;
  if (store_root(core_completion_option_value(typing, "root"), root) != CORE_OK) return;
  if (sweep_common_list(root, &names, &count) != CORE_OK) return;
  for (size_t i = 0; i < count; i++) {
    core_completion_add(values, names[i], NULL);
    free(names[i]);
  }
  free(names);
}

/* Adds each [profile NAME] of an experiment file, if it can be read. */
static void add_file_profiles(const char *path, CoreText *values) {
  static const char prefix[] = "profile ";
  CoreIni ini;
  if (core_ini_read(path, &ini) != CORE_OK) return;
  for (size_t i = 0; i < ini.count; i++) {
    const char *section = ini.entries[i].section, *name = section + strlen(prefix);
    if (ini.entries[i].key || strncmp(section, prefix, strlen(prefix)) != 0 || strchr(name, ' ')) continue;
    core_completion_add(values, name, NULL);
  }
  core_ini_free(&ini);
}

static void add_profiles(const CoreCompletionContext *typing, CoreText *values) {
  for (size_t i = 0; i < typing->count; i++) {
    const char *word = typing->words[i], *extension = strrchr(word, '.');
    if (*word != '-' && extension && strcmp(extension, ".ini") == 0) add_file_profiles(word, values);
  }
}

static void add_names(const char *const *names, size_t count, CoreText *values) {
  for (size_t i = 0; i < count; i++) {
    char name[64];
    snprintf(name, sizeof name, "%.60s=", names[i]);
    core_completion_add(values, name, NULL);
  }
}

static void add_slurm(const CoreCompletionContext *typing, CoreText *values) {
  size_t count;
  const char *const *names = slurm_settings_names(&count);
  add_names(names, count, values);
}

static void add_settings(const CoreCompletionContext *typing, CoreText *values) {
  size_t count;
  const char *const *rules = sweep_stop_names(&count);
  core_completion_settings(typing, values);
  core_completion_add(values, "sweep.name=", "name of the sweep");
  core_completion_add(values, "sweep.seeds=", "number of seeds, or a list");
  core_completion_add(values, "sweep.grids=", "grid blocks to include");
  add_slurm(typing, values);
  add_names(rules, count, values);
}

const CoreCompletion sweep_completions[] = {
  {"FILE", add_experiments}, {"NAME", add_sweeps}, {"SWEEP", add_sweeps}, {"--profile", add_profiles},
  {"KEY=VALUE", add_settings}, {"slurm.KEY=VALUE", add_slurm}, {0}};
