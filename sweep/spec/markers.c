/* Reads and writes the small files of a sweep (markers.h). */
#include "sweep/spec/markers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/files.h"
#include "core/log.h"
#include "core/terminal.h"
#include "store/code/code.h"
#include "store/workspace/paths.h"
#include "sweep/spec/line_log.h"

/* ---- archived: one line with the date in UTC --------------------------------------------------------------------- */

enum { LINE_BYTES_MAX = 64 };

bool sweep_archived(const char *root, const char *name, char day[SWEEP_ARCHIVED_DAY]) {
  char path[CORE_PATH_MAX], *data;
  size_t size;
  int year, month, date;
  day[0] = '\0';
  if (store_path_sweep(root, name, "archived", path) != CORE_OK || !core_files_exists(path)) return false;
  if (core_files_read(path, LINE_BYTES_MAX, &data, &size) != CORE_OK) core_error_clear();
  else {
    if (sscanf(data, "%4d-%2d-%2d", &year, &month, &date) == 3)
      snprintf(day, SWEEP_ARCHIVED_DAY, "%04d-%02d-%02d", abs(year) % 10000, abs(month) % 100, abs(date) % 100);
    free(data);
  }
  if (!*day) snprintf(day, SWEEP_ARCHIVED_DAY, "an unknown day"); /* the marker exists, but is unreadable */
  return true;
}

int sweep_archived_begin(const char *root, const char *name) {
  char path[CORE_PATH_MAX], line[LINE_BYTES_MAX];
  const time_t now = (time_t)core_clock_unix_s();
  struct tm day;
  gmtime_r(&now, &day);
  const size_t length = strftime(line, sizeof line, "%Y-%m-%d\n", &day);
  TRY(store_path_sweep(root, name, "archived", path));
  return core_files_write_atomic(path, line, length);
}

void sweep_archived_end(const char *root, const char *name) {
  char path[CORE_PATH_MAX], day[SWEEP_ARCHIVED_DAY];
  if (!sweep_archived(root, name, day)) return;
  core_warn("%s was archived on %s, so its checkpoints are gone: unfinished runs start from the beginning, and runs "
            "with one of them as parent (init.from) cannot start",
            name, day);
  if (store_path_sweep(root, name, "archived", path) != CORE_OK || core_files_remove(path) != CORE_OK)
    core_warn("%s is still marked as archived: cannot remove sweeps/%s/archived", name, name);
}

/* ---- kept: lines of line_log.h ----------------------------------------------------------------------------------- */

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
