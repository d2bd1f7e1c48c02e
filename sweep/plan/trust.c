/* Which libraries and modules runs bring, and whether the workspace trusts them (trust.h). */
#include "sweep/plan/trust.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"

enum { HASH = 16, HASH_TEXT = 2 * HASH + 1, LIBRARY_MAX = 1 << 28, LIST_MAX = 1 << 24 };
static const char prefix[] = "library:", gym[] = "gym/";

/* The file of "library:FILE/NAME", as the trainer takes it. */
static int find_file(const char *task, char path[CORE_PATH_MAX]) {
  const char *whole = task + strlen(prefix), *slash = strrchr(whole, '/');
  if (slash == NULL || slash == whole)
    return core_error(CORE_USAGE, "env.task = %.200s: must be library:FILE/NAME, a shared library and an environment "
                      "of it", task);
  return core_files_path(path, "%.*s", (int)(slash - whole), whole);
}

static void hash_bytes(const char *bytes, size_t size, char text[HASH_TEXT]) {
  unsigned char hash[HASH];
  crypto_generichash(hash, sizeof hash, (const unsigned char *)bytes, size, NULL, 0);
  sodium_bin2hex(text, HASH_TEXT, hash, sizeof hash);
}

static int hash_file(const char *path, char text[HASH_TEXT]) {
  char *bytes = NULL;
  size_t size;
  TRY(core_files_read(path, LIBRARY_MAX, &bytes, &size));
  hash_bytes(bytes, size, text);
  free(bytes);
  return CORE_OK;
}

/* "Python module M" of "gym/M:ID" -> text; NULL: it names none. */
static const char *find_module(const char *task, char text[CORE_CONFIG_TEXT + 16]) {
  const char *name = task + strlen(gym), *end = strchr(task, ':');
  if (strncmp(task, gym, strlen(gym)) != 0 || end == NULL) return NULL;
  snprintf(text, CORE_CONFIG_TEXT + 16, "Python module %.*s", (int)(end - name), name);
  return text;
}

/* Is there a line that begins with the hash? */
static int is_listed(const char *list, const char *hash, bool *listed) {
  char *text = NULL;
  size_t size;
  *listed = false;
  if (!core_files_exists(list)) return CORE_OK;
  TRY(core_files_read(list, LIST_MAX, &text, &size));
  for (const char *line = text; line && *line && !*listed; line = strchr(line, '\n')) {
    line += *line == '\n';
    *listed = strncmp(line, hash, HASH_TEXT - 1) == 0 && line[HASH_TEXT - 1] == '\t';
  }
  free(text);
  return CORE_OK;
}

static int append(const char *list, const char *hash, const char *path) {
  CoreText line = {0};
  int file;
  TRY(core_files_open(list, CORE_FILES_APPEND, &file));
  core_text_appendf(&line, "%s\t%s\n", hash, path);
  const bool written = write(file, core_text_string(&line), line.length) == (ssize_t)line.length && fsync(file) == 0;
  core_text_free(&line);
  close(file);
  return written ? CORE_OK : core_error_errno(CORE_FAIL, "%s", list);
}

/* what: the file or the module. */
static int check_hash(const char *root, const char *task, const char *what, const char *hash, bool trust) {
  char list[CORE_PATH_MAX];
  bool listed;
  TRY(core_files_path(list, "%s/trusted", root));
  TRY(is_listed(list, hash, &listed));
  if (listed) return CORE_OK;
  if (!trust)
    return core_error(CORE_USAGE, "env.task = %.200s brings code: %.300s (BLAKE2b %s), which nobody has trusted in "
                      "this workspace; look at where it comes from, then give --trust to sweep submit once", task,
                      what, hash);
  core_info("trusted from now on: %s (BLAKE2b %s)", what, hash);
  return append(list, hash, what);
}

static int check_task(const char *root, const char *task, bool trust) {
  char path[CORE_PATH_MAX], module[CORE_CONFIG_TEXT + 16], hash[HASH_TEXT];
  if (find_module(task, module)) {
    hash_bytes(module, strlen(module), hash);
    return check_hash(root, task, module, hash, trust);
  }
  if (strncmp(task, prefix, strlen(prefix)) != 0) return CORE_OK;
  TRY(find_file(task, path));
  TRY(hash_file(path, hash));
  return check_hash(root, task, path, hash, trust);
}

int sweep_trust_check(const char *root, const SweepGrid *grid, bool trust) {
  char last[CORE_CONFIG_TEXT] = "";
  for (size_t run = 0; run < grid->runs; run++) {
    CoreConfig config;
    sweep_grid_config(grid, run, &config);
    const char *task = config.env.task;
    if (strcmp(task, last) == 0) continue;
    TRY(check_task(root, task, trust));
    memcpy(last, task, sizeof last);
  }
  return CORE_OK;
}
