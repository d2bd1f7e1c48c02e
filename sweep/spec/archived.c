/* Reads and writes the marker of an archived sweep: one line with the date in UTC. */
#include "sweep/spec/archived.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/log.h"
#include "core/terminal.h"
#include "store/workspace/paths.h"

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
