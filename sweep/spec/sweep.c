/* Resolves the workspace and the sweep of a command line. Used by every subcommand. */
#include "sweep/spec/sweep.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "core/log.h"
#include "core/files.h"
#include "core/text.h"
#include "store/workspace/run_name.h"
#include "sweep/spec/extension.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/search.h"

int sweep_common_open(SweepCommon *common) { return store_root(common->root_option, common->root); }

int sweep_common_make(SweepCommon *common) {
  return store_root_create(common->root_option, common->root, &common->is_new);
}

/* ---- sweeps ---------------------------------------------------------------------------------------------------- */

int sweep_common_list(const char *root, char ***names, size_t *count) {
  char directory[CORE_PATH_MAX], path[CORE_PATH_MAX];
  size_t sweeps = 0;
  *names = NULL;
  *count = 0;

  TRY(core_files_path(directory, "%s/sweeps", root));
  if (!core_files_exists(directory)) return CORE_OK;
  TRY(core_files_list(directory, names, count));

  for (size_t i = 0; i < *count; i++) {
    bool is_sweep = core_text_check_name((*names)[i], "sweep") == CORE_OK &&
                    store_path_sweep(root, (*names)[i], "manifest.tsv", path) == CORE_OK && core_files_exists(path);
    if (is_sweep) (*names)[sweeps++] = (*names)[i];
    else free((*names)[i]);
  }
  *count = sweeps;
  return CORE_OK;
}

int sweep_common_pass_over(const char *root, const char *name, int code) {
  char path[CORE_PATH_MAX], message[1024];
  struct stat status;
  if (code == CORE_OK) return CORE_OK;
  snprintf(message, sizeof message, "%s", core_error_message());
  const bool is_found = store_path_sweep(root, name, NULL, path) == CORE_OK && lstat(path, &status) == 0;
  if (!is_found || status.st_uid == geteuid()) return core_error(code, "%s", message);
  core_error_clear();
  core_warn("%s; the sweep %s of another user is left out", message, name);
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
    CoreText known = {0};
    for (size_t i = 0; i < count; i++) core_text_appendf(&known, "%s%s", i ? ", " : "", names[i]);
    code = core_error(CORE_USAGE, "there is no sweep '%s' in %s; it has: %s", name, root, core_text_string(&known));
    core_text_free(&known);
  } else {
    code = core_error(CORE_USAGE,
                      "there is no sweep '%s' in %s, which has no sweeps; name an experiment file, or another "
                      "workspace with --root",
                      name, root);
  }

  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  return code;
}

int sweep_common_find(const char *root, const char *operand, SweepTarget *named) {
  char path[CORE_PATH_MAX];
  *named = (SweepTarget){.is_sweep = false};
  named->is_sweep = core_text_check_name(operand, "sweep") == CORE_OK &&
                    store_path_sweep(root, operand, "manifest.tsv", path) == CORE_OK && core_files_exists(path);
  core_error_clear();
  if (named->is_sweep) return core_text_copy(named->name, sizeof named->name, operand, "sweep");
  if (!strchr(operand, '/') && strspn(operand, "0123456789abcdef") != strlen(operand))
    return sweep_common_unknown(root, operand);
  return store_run_find(root, operand, named->id);
}

/* Whether an operand names an experiment file. A sweep of the workspace takes precedence over a file of its name. */
static bool is_file(const SweepCommon *common, const char *operand) {
  char path[CORE_PATH_MAX];
  size_t length = strlen(operand);
  struct stat status;
  if (strchr(operand, '/') || (length > 4 && strcmp(operand + length - 4, ".ini") == 0)) return true;
  if (stat(operand, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const bool is_sweep = core_text_check_name(operand, "sweep") == CORE_OK &&
                        store_path_sweep(common->root, operand, NULL, path) == CORE_OK && lstat(path, &status) == 0;
  core_error_clear();
  return !is_sweep;
}

/* Gets the frozen file of a sweep of the workspace. */
static int frozen_path(const SweepCommon *common, const char *name, char path[CORE_PATH_MAX]) {
  TRY(core_text_check_name(name, "sweep"));
  TRY(store_path_sweep(common->root, name, "sweep.ini", path));
  if (!core_files_exists(path)) return sweep_common_unknown(common->root, name);
  if (common->profile)
    return core_error(CORE_USAGE,
                      "--profile %s: '%s' is a submitted sweep, whose profile is fixed; "
                      "use the experiment file to plan or submit another profile",
                      common->profile, name);
  return CORE_OK;
}

static int check_lists(const char *root, const SweepBlock *blocks, size_t count) {
  for (size_t b = 0; b < count; b++)
    for (size_t l = 0; l < blocks[b].count; l++)
      for (size_t v = 0; v < blocks[b].lists[l].count; v++)
        if (strcmp(blocks[b].lists[l].row->name, "init.from") == 0)
          TRY(store_run_check_origin(root, blocks[b].lists[l].values[v].text));
  return CORE_OK;
}

/* Checks that ids of parents are complete. */
static int check_origins(const char *root, const SweepSpec *spec) {
  TRY(store_run_check_origin(root, spec->base.init.from));
  TRY(check_lists(root, spec->grids, spec->grid_count));
  for (size_t i = 0; i < spec->search_count; i++) TRY(check_lists(root, &spec->searches[i].block, 1));
  return check_lists(root, spec->zips, spec->zip_count);
}

/* Appends the recorded seeds and those of `common` to the file's. */
static int extend_seeds(const SweepCommon *common, SweepSpec *spec) {
  SweepExtension recorded;
  size_t added, more;
  for (size_t i = 0; i < spec->set_count; i++)
    if (strncmp(spec->sets[i], "sweep.seeds=", 12) == 0) return CORE_OK; /* explicit seeds are not extended */
  TRY(sweep_extension_read(common->root, spec->name, &recorded));
  sweep_extension_join(&spec->seeds, &spec->seed_count, recorded.seeds, recorded.count, &added);
  sweep_extension_join(&spec->seeds, &spec->seed_count, common->extra_seeds, common->extra_seed_count, &more);
  sweep_extension_free(&recorded);
  spec->extended_seeds = added + more;
  return CORE_OK;
}

/* Withdraws the trust in the user's own file: others may have written the files of a workspace. */
static void distrust(SweepSpec *spec) {
  if (spec->is_own_file)
    core_text_append(&spec->doubt, "it is not the text that you submitted or accepted in this workspace");
  spec->is_own_file = false;
}

int sweep_common_spec(const SweepCommon *common, const char *operand, SweepSpec *spec) {
  char path[CORE_PATH_MAX];
  bool is_frozen = !is_file(common, operand);
  if (is_frozen) TRY(frozen_path(common, operand, path));
  TRY(sweep_spec_read(is_frozen ? path : operand, common->profile, common->sets.items, common->sets.count, spec));
  if (is_frozen) distrust(spec);

  int code = check_origins(common->root, spec);
  if (code != CORE_OK) core_error_context(code, "%s", is_frozen ? path : operand);
  else code = extend_seeds(common, spec);
  if (code == CORE_OK) code = sweep_proposals_read(common->root, spec);
  if (code != CORE_OK) {
    sweep_spec_free(spec);
    return code;
  }

  /* With --set or new seeds it differs from the frozen experiment, and is recorded again. */
  spec->frozen = is_frozen && common->sets.count == 0 && spec->extended_seeds == 0;
  return CORE_OK;
}

int sweep_common_frozen(const char *root, const char *name, SweepSpec *spec) {
  char path[CORE_PATH_MAX];
  TRY(store_path_sweep(root, name, "sweep.ini", path));
  TRY(sweep_spec_read(path, NULL, NULL, 0, spec));
  distrust(spec);
  spec->frozen = true;
  const int code = sweep_proposals_read(root, spec);
  if (code != CORE_OK) sweep_spec_free(spec);
  return code;
}

int sweep_common_name(const SweepCommon *common, const char *operand, char name[SWEEP_NAME]) {
  SweepSpec spec;
  if (!is_file(common, operand)) {
    char path[CORE_PATH_MAX];
    TRY(frozen_path(common, operand, path));
    return core_text_copy(name, SWEEP_NAME, operand, "sweep");
  }
  TRY(sweep_common_spec(common, operand, &spec));
  int code = core_text_copy(name, SWEEP_NAME, spec.name, "sweep");
  sweep_spec_free(&spec);
  return code;
}
