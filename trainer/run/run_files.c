/* Resolution of a name to files, in order: a file, a directory, a run of the workspace. */
#include "trainer/run/run_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/workspace/paths.h"
#include "store/workspace/run_name.h"
#include "trainer/checkpoint/best.h"
#include "trainer/envs/tasks/tasks.h"

static bool is_kind(const char *path, mode_t kind) {
  struct stat status;
  return stat(path, &status) == 0 && (status.st_mode & S_IFMT) == kind;
}

int run_files_check_trainer(const char *config_path) {
  CoreConfig config = core_config_default();
  const bool is_read = core_config_read(config_path, &config) == CORE_OK;
  core_error_clear(); /* the caller reports an unreadable file, if it needs it */
  return !is_read || !config.program ? CORE_OK
           : core_error(CORE_USAGE, "%s: a run of a program has no policy of the trainer, and no checkpoint; "
                        "sweep logs RUN prints its output", config_path);
}

/* A checkpoint is two directories below its run's. */
static int of_file(const char *path, bool best, RunFiles *files) {
  if (best) return core_error(CORE_USAGE, "--best applies to a run, but %.200s is a file; omit it", path);
  const char *slash = strrchr(path, '/');
  TRY(core_files_path(files->checkpoint, "%s", path));
  return core_files_path(files->config, "%.*s/../config.ini", slash ? (int)(slash - path) : 1, slash ? path : ".");
}

static int of_directory(const char *path, bool best, RunFiles *files) {
  char directory[CORE_PATH_MAX];
  TRY(core_files_path(files->config, "%s/config.ini", path));
  TRY(run_files_check_trainer(files->config));
  TRY(core_files_path(directory, "%s/ckpt", path));
  return (best ? checkpoint_best_path : checkpoint_newest_path)(directory, files->checkpoint);
}

static int of_run(const char *text, const char *root_option, bool best, RunFiles *files) {
  char root[CORE_PATH_MAX], directory[CORE_PATH_MAX], id[CORE_RUN_ID];
  TRY(store_root(root_option, root));
  const int code = store_run_find(root, text, id);
  if (code != CORE_OK) return core_error(code, "%s; or a checkpoint's file (--root DIR: another workspace)",
                                         core_error_message());
  TRY(store_path_run(root, id, NULL, directory));
  return of_directory(directory, best, files);
}

int run_files_find(const char *text, const char *root_option, bool best, RunFiles *files) {
  char config[CORE_PATH_MAX];
  const size_t length = strlen(text);
  if (is_kind(text, S_IFREG)) return of_file(text, best, files);
  if (length > 5 && strcmp(text + length - 5, ".ckpt") == 0) {
    if (access(text, F_OK) == 0) return of_file(text, best, files); /* a pipe: its reader reports the error */
    return core_error(CORE_USAGE, "no checkpoint %.200s", text);
  }
  if (core_files_path(config, "%s/config.ini", text) == CORE_OK && is_kind(config, S_IFREG))
    return of_directory(text, best, files);
  return of_run(text, root_option, best, files);
}

/* ---- the environment's spaces ------------------------------------------------------------------------------------ */

static const char SPACES[] = "spaces.json";

int run_files_write_spaces(const char *root, const char *id, const Env *env) {
  char path[CORE_PATH_MAX];
  if (!env || !env->spaces) return CORE_OK;
  TRY(store_path_run(root, id, SPACES, path));
  return core_files_write_atomic(path, env->spaces, strlen(env->spaces));
}

int run_files_create_env(const RunFiles *files, const CoreConfig *config, Env **env) {
  char path[CORE_PATH_MAX], *text;
  size_t size;
  const char *slash = strrchr(files->config, '/');
  TRY(core_files_path(path, "%.*s%s", slash ? (int)(slash + 1 - files->config) : 0, files->config, SPACES));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(core_files_read(path, 1 << 20, &text, &size));
  const int code = env_create_from_spaces(config, text, env);
  free(text);
  return code == CORE_OK ? CORE_OK : core_error_context(code, "%s", path);
}
