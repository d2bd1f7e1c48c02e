/* The user's list of trusted code (trust.h). */
#include "store/code/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "store/code/code.h"

/* ---- list -------------------------------------------------------------------------------------------------------- */

/* Finds the list. $XDG_CONFIG_HOME must be absolute, as its specification says; without $HOME the password database is
 * used. */
static int find_directory(char directory[CORE_PATH_MAX]) {
  const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
  if (config && *config == '/') return core_files_path(directory, "%s/sweep", config);
  if (!home || *home != '/') {
    const struct passwd *user = getpwuid(geteuid());
    home = user ? user->pw_dir : NULL;
  }
  if (home && *home == '/') return core_files_path(directory, "%s/.config/sweep", home);
  return core_error(CORE_FAIL, "cannot find this user's list of trusted code; set HOME or XDG_CONFIG_HOME");
}

static int check_owner(const char *path, const struct stat *status, mode_t kind) {
  if ((status->st_mode & S_IFMT) == kind && status->st_uid == geteuid() && !(status->st_mode & (S_IWGRP | S_IWOTH)))
    return CORE_OK;
  return core_error(CORE_FAIL, "%s: must be a %s owned by this user and writable by no other; fix it with chmod go-w, "
                    "or remove it", path, kind == S_IFDIR ? "directory" : "regular file");
}

/* Appends a way out to the error: homes in containers are often read-only or another user's. */
static int explain_home(int code) {
  return core_error(code, "%s; XDG_CONFIG_HOME=DIR selects a directory of yours in place of ~/.config",
                    core_error_message());
}

/* Opens the list; *file < 0: none. append: creates it. */
static int open_list(bool append, int *file, char path[CORE_PATH_MAX]) {
  char directory[CORE_PATH_MAX];
  struct stat status;
  *file = -1;
  TRY(find_directory(directory));

  if (append) {
    char *slash = strrchr(directory, '/');
    *slash = '\0';
    const int made = core_files_make_directories(directory);
    *slash = '/';
    if (made != CORE_OK) return explain_home(core_error_context(made, "the list of trusted code"));
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
      return explain_home(core_error_errno(CORE_FAIL, "cannot create directory %s", directory));
  }

  if (lstat(directory, &status) != 0)
    return errno == ENOENT && !append ? CORE_OK : explain_home(core_error_errno(CORE_FAIL, "%s", directory));
  TRY(check_owner(directory, &status, S_IFDIR));

  TRY(core_files_path(path, "%s/trusted", directory));
  const int flags = append ? O_WRONLY | O_APPEND | O_CREAT : O_RDONLY;
  *file = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (*file < 0) return errno == ENOENT ? CORE_OK : core_error_errno(CORE_FAIL, "%s", path);

  int code = fstat(*file, &status) == 0 ? check_owner(path, &status, S_IFREG) : core_error_errno(CORE_FAIL, "%s", path);
  if (code == CORE_OK) return CORE_OK;
  close(*file);
  *file = -1;
  return code;
}

/* Whether a line begins with the hash. */
static int is_listed(const char *hash, bool *listed) {
  char path[CORE_PATH_MAX], *line = NULL;
  size_t capacity = 0;
  int file;
  *listed = false;

  TRY(open_list(false, &file, path));
  if (file < 0) return CORE_OK;
  FILE *stream = fdopen(file, "r");
  if (!stream) {
    close(file);
    return core_error_errno(CORE_FAIL, "%s", path);
  }

  while (!*listed && getline(&line, &capacity, stream) > 0)
    *listed = strncmp(line, hash, STORE_CODE_HASH - 1) == 0 && line[STORE_CODE_HASH - 1] == '\t';
  free(line);
  fclose(stream);
  return CORE_OK;
}

static int append_line(const char *hash, const char *description) {
  char path[CORE_PATH_MAX];
  CoreText line = {0};
  int file;
  TRY(open_list(true, &file, path));
  core_text_appendf(&line, "%s\t%s\n", hash, description);
  for (size_t i = STORE_CODE_HASH; i + 1 < line.length; i++)
    if ((unsigned char)line.data[i] < ' ') line.data[i] = ' ';
  const bool written = write(file, line.data, line.length) == (ssize_t)line.length && fsync(file) == 0;
  core_text_free(&line);
  close(file);
  return written ? CORE_OK : core_error_errno(CORE_FAIL, "%s", path);
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* Checks one hash; untrusted code is added to the list if `grant`, else described in `message`. */
static int check_hash(const char *setting, const char *value, const char *description, const char *hash, bool grant,
                      char message[STORE_TRUST_MESSAGE]) {
  bool listed;
  TRY(is_listed(hash, &listed));
  if (listed) return CORE_OK;
  if (grant) {
    core_info("trusted from now on: %s", description);
    return append_line(hash, description);
  }
  snprintf(message, STORE_TRUST_MESSAGE, "%s = %.200s brings code that you have not trusted: %.1500s; review it, then "
           "pass --trust once", setting, value, description);
  return CORE_OK;
}

/* Checks a Python other than the user's own. The hash includes its path: a virtual environment's program is a link to
 * the system's, and its modules are next to it. */
int store_trust_examine_python(const CoreConfig *config, bool grant, char message[STORE_TRUST_MESSAGE]) {
  char path[CORE_PATH_MAX], usual[CORE_PATH_MAX], named[CORE_PATH_MAX], hash[STORE_CODE_HASH];
  CoreText text = {0};
  *message = '\0';

  if (config->program || !*config->env.python || !store_code_needs_python(config->env.task)) return CORE_OK;
  const char *program = store_code_python(config->env.python, named);
  if (!store_code_find_program(program, path)) {
    if (program == named)
      return core_error(CORE_USAGE, "env.python = %.200s: %.500s is not a program", config->env.python, named);
    return core_error(CORE_USAGE, "env.python = %.200s: no such program", config->env.python);
  }
  if (store_code_find_program(store_code_python("", named), usual) && strcmp(path, usual) == 0) return CORE_OK;

  TRY(store_code_hash_file(path, hash));
  core_text_appendf(&text, "program\t%s\t%s", path, hash);
  char *slash = strrchr(path, '/'), venv[CORE_PATH_MAX], sum[STORE_CODE_HASH];
  if (core_files_path(venv, "%.*s/../pyvenv.cfg", slash ? (int)(slash - path) : 1, slash ? path : ".") == CORE_OK &&
      core_files_exists(venv) && store_code_hash_file(venv, sum) == CORE_OK)
    core_text_appendf(&text, "\t%s", sum);
  core_error_clear();

  store_code_hash_bytes(text.data, text.length, hash);
  core_text_clear(&text);
  core_text_appendf(&text, "the program %s (BLAKE2b %s of its path and bytes)", path, hash);
  const int code = check_hash("env.python", config->env.python, core_text_string(&text), hash, grant, message);
  core_text_free(&text);
  return code;
}

int store_trust_examine(const CoreConfig *config, bool grant, char message[STORE_TRUST_MESSAGE]) {
  const StoreCode *code;
  TRY(store_trust_examine_python(config, grant, message));
  if (*message) return CORE_OK; /* it would be started to find the module */
  TRY(store_code_find(config, &code));
  if (!*code->brought) return CORE_OK;
  return check_hash("env.task", config->env.task, code->files, code->brought, grant, message);
}

int store_trust_check(const CoreConfig *config, bool grant) {
  char message[STORE_TRUST_MESSAGE];
  TRY(store_trust_examine(config, grant, message));
  return *message ? core_error(CORE_USAGE, "%s", message) : CORE_OK;
}

/* ---- configurations of runs -------------------------------------------------------------------------------------- */

void store_trust_hash_config(const CoreConfig *config, char hash[STORE_CODE_HASH]) {
  CoreText text = {0};
  core_config_to_ini(config, &text);
  store_code_hash_bytes(text.data, text.length, hash);
  core_text_free(&text);
}

int store_trust_read_config(const char *path, const char *hash, CoreConfig *config) {
  char *text, found[STORE_CODE_HASH];
  size_t size;
  TRY(core_files_read(path, 0, &text, &size));
  store_code_hash_bytes(text, size, found);
  const int code = strcmp(found, hash) == 0
                     ? core_config_parse(path, text, config)
                     : core_error(CORE_FAIL, "%s: changed since its run was started, so the run is not; submit its "
                                  "sweep again", path);
  free(text);
  return code;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static void hash_record(const char *kind, const char *name, const void *bytes, size_t size,
                        char hash[STORE_CODE_HASH]) {
  CoreText text = {0};
  core_text_appendf(&text, "%s\t%s\t", kind, name);
  core_text_append_bytes(&text, bytes, size);
  store_code_hash_bytes(text.data, text.length, hash);
  core_text_free(&text);
}

int store_trust_grant_record(const char *kind, const char *name, const void *bytes, size_t size) {
  char hash[STORE_CODE_HASH];
  CoreText description = {0};
  bool listed;
  hash_record(kind, name, bytes, size, hash);
  TRY(is_listed(hash, &listed));
  if (listed) return CORE_OK;
  core_text_appendf(&description, "the %s of the sweep %s", kind, name);
  const int code = append_line(hash, core_text_string(&description));
  core_text_free(&description);
  return code;
}

int store_trust_find_record(const char *kind, const char *name, const void *bytes, size_t size, bool *is_trusted) {
  char hash[STORE_CODE_HASH];
  hash_record(kind, name, bytes, size, hash);
  return is_listed(hash, is_trusted);
}
