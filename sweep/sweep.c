/* Which workspace, which sweep, which run: said on the command line, found on disk. Used by every subcommand. */
#include "sweep/sweep.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/files.h"
#include "core/text.h"
#include "sweep/manifest.h"

enum { PREFIX_LEAST = 4 /* digits of a run id that may stand for it */ };

int sweep_common_open(SweepCommon *common) { return store_root(common->root_option, common->root); }

/* ---- sweeps ---------------------------------------------------------------------------------------------------- */

static void free_names(char **names, size_t count) {
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
}

int sweep_common_list(const char *root, char ***names, size_t *count) {
  char folder[CORE_PATH_MAX], path[CORE_PATH_MAX];
  size_t kept = 0;
  *names = NULL;
  *count = 0;
  TRY(core_files_path(folder, "%s/sweeps", root));
  if (!core_files_exists(folder)) return CORE_OK;
  TRY(core_files_list(folder, names, count));
  for (size_t i = 0; i < *count; i++) {
    bool is_sweep = core_text_check_name((*names)[i], "sweep") == CORE_OK &&
                    store_path_sweep(root, (*names)[i], "manifest.tsv", path) == CORE_OK && core_files_exists(path);
    if (is_sweep) (*names)[kept++] = (*names)[i];
    else free((*names)[i]);
  }
  *count = kept;
  return CORE_OK;
}

int sweep_common_unknown(const char *root, const char *name) {
  char **names;
  size_t count;
  int code;
  TRY(sweep_common_list(root, &names, &count));
  const char *nearest = core_text_nearest(name, (const char *const *)names, count);
  if (nearest) {
    code = core_error(CORE_USAGE, "there is no sweep '%s' in %s; did you mean %s?", name, root, nearest);
  } else if (count) {
    CoreText all = {0};
    for (size_t i = 0; i < count; i++) core_text_appendf(&all, "%s%s", i ? ", " : "", names[i]);
    code = core_error(CORE_USAGE, "there is no sweep '%s' in %s; it has: %s", name, root, core_text_string(&all));
    core_text_free(&all);
  } else {
    code = core_error(CORE_USAGE, "there is no sweep '%s', nor any other, in %s; give an experiment file, or another "
                      "workspace with --root", name, root);
  }
  free_names(names, count);
  return code;
}

static bool is_file(const char *operand) {
  size_t length = strlen(operand);
  struct stat status;
  if (strchr(operand, '/') || (length > 4 && strcmp(operand + length - 4, ".ini") == 0)) return true;
  return stat(operand, &status) == 0 && S_ISREG(status.st_mode);
}

/* The frozen file of a sweep of the workspace. */
static int frozen_path(const SweepCommon *common, const char *name, char path[CORE_PATH_MAX]) {
  TRY(core_text_check_name(name, "sweep"));
  TRY(store_path_sweep(common->root, name, "sweep.ini", path));
  if (!core_files_exists(path)) return sweep_common_unknown(common->root, name);
  if (common->profile)
    return core_error(CORE_USAGE, "--profile %s: '%s' is a sweep whose profile was settled when it was submitted; "
                                  "give the experiment file to plan or submit another", common->profile, name);
  return CORE_OK;
}

int sweep_common_spec(const SweepCommon *common, const char *operand, SweepSpec *spec) {
  char path[CORE_PATH_MAX];
  bool frozen = !is_file(operand);
  if (frozen) TRY(frozen_path(common, operand, path));
  TRY(sweep_spec_read(frozen ? path : operand, common->profile, common->sets.items, common->sets.count, spec));
  /* With --set it is another experiment than the frozen one, and is recorded as such. */
  spec->frozen = frozen && common->sets.count == 0;
  return CORE_OK;
}

int sweep_common_name(const SweepCommon *common, const char *operand, char name[SWEEP_NAME]) {
  SweepSpec spec;
  if (!is_file(operand)) {
    char path[CORE_PATH_MAX];
    TRY(frozen_path(common, operand, path));
    return core_text_copy(name, SWEEP_NAME, operand, "sweep");
  }
  TRY(sweep_common_spec(common, operand, &spec));
  int code = core_text_copy(name, SWEEP_NAME, spec.name, "sweep");
  sweep_spec_free(&spec);
  return code;
}

/* ---- runs ------------------------------------------------------------------------------------------------------ */

static int run_by_index(const char *root, const char *text, const char *slash, char id[CORE_RUN_ID]) {
  char name[SWEEP_NAME];
  SweepManifest manifest;
  int64_t index;
  if ((size_t)(slash - text) >= sizeof name)
    return core_error(CORE_USAGE, "'%.80s' names no run: no sweep is called so", text);
  memcpy(name, text, (size_t)(slash - text));
  name[slash - text] = '\0';
  TRY(core_text_check_name(name, "sweep"));
  TRY(sweep_manifest_read(root, name, &manifest));
  bool known = core_text_to_int(slash + 1, &index) && index >= 0 && (uint64_t)index < manifest.count;
  if (known) memcpy(id, manifest.ids[index], CORE_RUN_ID);
  size_t count = manifest.count;
  sweep_manifest_free(&manifest);
  if (known) return CORE_OK;
  return core_error(CORE_USAGE, "'%s' names no run: %s has the indices 0 to %zu", text, name, count - 1);
}

static int run_by_prefix(const char *root, const char *prefix, char id[CORE_RUN_ID]) {
  char (*ids)[CORE_RUN_ID];
  size_t found;
  TRY(store_path_list_runs(root, prefix, &ids, &found));
  if (found == 1) memcpy(id, ids[0], CORE_RUN_ID);
  free(ids);
  if (found == 1) return CORE_OK;
  if (found) return core_error(CORE_USAGE, "%zu runs begin with '%s'; give more digits", found, prefix);
  return core_error(CORE_USAGE, "no run of %s has the id '%s'; sweep plan --runs and sweep status list them", root,
                    prefix);
}

int sweep_common_run(const char *root, const char *text, char id[CORE_RUN_ID]) {
  const char *slash = strchr(text, '/');
  size_t length = strlen(text);
  if (slash) return run_by_index(root, text, slash, id);
  if (length < PREFIX_LEAST || length >= CORE_RUN_ID || strspn(text, "0123456789abcdef") != length)
    return core_error(CORE_USAGE, "'%.80s' names no run; give a run id (or its first %d digits or more), or "
                                  "SWEEP/INDEX",
                      text, PREFIX_LEAST);
  return run_by_prefix(root, text, id);
}
