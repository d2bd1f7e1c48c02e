/* Reads and writes the record of accepted code. */
#include "sweep/spec/kept.h"

#include <string.h>

#include "core/files.h"
#include "store/code/code.h"
#include "store/workspace/paths.h"
#include "sweep/spec/line_log.h"

static bool add_hash(void *context, char **field, size_t count) {
  CoreText *hashes = context;
  if (count < 4 || strcmp(field[2], "keep") != 0 || strlen(field[3]) != STORE_CODE_HASH - 1 ||
      strspn(field[3], "0123456789abcdef") != STORE_CODE_HASH - 1)
    return false;
  core_text_appendf(hashes, "%s%s", hashes->length ? "," : "", field[3]);
  return true;
}

int sweep_kept_read(const char *root, const char *name, CoreText *hashes) {
  char path[CORE_PATH_MAX];
  TRY(store_path_sweep(root, name, "kept", path));
  return sweep_line_log_read(path, "remove that line; --keep writes it again", add_hash, hashes);
}

int sweep_kept_add(const char *root, const char *name, const char *hash, const char *files) {
  char path[CORE_PATH_MAX];
  CoreText line = {0};
  TRY(store_path_sweep(root, name, "kept", path));
  core_text_appendf(&line, "keep\t%s\t%s", hash, files);
  const int code = sweep_line_log_append(path, core_text_string(&line));
  core_text_free(&line);
  return code;
}
