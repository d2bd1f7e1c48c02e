/* The record of a sweep's further seeds (extension.h): a line that is read as an experiment's own. */
#include "sweep/spec/extension.h"

#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/ini.h"
#include "core/memory.h"
#include "store/workspace/paths.h"
#include "sweep/spec/value_list.h"

static int by_value(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

void sweep_extension_join(int64_t **seeds, size_t *count, const int64_t *more, size_t more_count, size_t *added) {
  const size_t before = *count;
  int64_t *sorted = core_memory_allocate((before + 1) * sizeof *sorted);
  if (before > 0) memcpy(sorted, *seeds, before * sizeof *sorted);
  qsort(sorted, before, sizeof *sorted, by_value);
  *seeds = core_memory_resize(*seeds, (before + more_count + 1) * sizeof **seeds);
  for (size_t i = 0; i < more_count; i++)
    if (!bsearch(&more[i], sorted, before, sizeof *sorted, by_value)) (*seeds)[(*count)++] = more[i];
  *added = *count - before;
  free(sorted);
}

void sweep_extension_print(const int64_t *seeds, size_t count, CoreText *text) {
  for (size_t i = 0, end; i < count; i = end) {
    end = i + 1;
    while (end < count && seeds[end] == seeds[end - 1] + 1) end++;
    core_text_appendf(text, "%s%lld..%lld", i ? ", " : "", (long long)seeds[i], (long long)seeds[end - 1]);
  }
}

static int take(const char *path, const CoreIni *ini, int64_t **seeds, size_t *count) {
  for (size_t i = 0; i < ini->count; i++)
    if (ini->entries[i].key && strcmp(ini->entries[i].key, "seeds") == 0)
      return sweep_value_list_seeds(ini, &ini->entries[i], seeds, count);
  return core_error(CORE_USAGE, "%s: has no line \"seeds = ...\"; remove the file to do without its seeds", path);
}

int sweep_extension_read(const char *root, const char *name, int64_t **seeds, size_t *count) {
  char path[CORE_PATH_MAX];
  CoreIni ini;
  *seeds = NULL, *count = 0;
  TRY(store_path_sweep(root, name, "extended", path));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(core_ini_read(path, &ini));
  const int code = take(path, &ini, seeds, count);
  core_ini_free(&ini);
  return code;
}

static int write_record(const char *root, const char *name, const int64_t *seeds, size_t count) {
  char path[CORE_PATH_MAX];
  CoreText text = {0};
  TRY(store_path_sweep(root, name, "extended", path));
  core_text_append(&text, "; Seeds that sweep extend has added. They count beside those of the experiment's file; "
                          "remove this file to do without them.\nseeds = ");
  sweep_extension_print(seeds, count, &text);
  core_text_append(&text, "\n");
  const int code = core_files_write_atomic(path, core_text_string(&text), text.length);
  core_text_free(&text);
  return code;
}

int sweep_extension_add(const char *root, const char *name, const int64_t *seeds, size_t count) {
  char path[CORE_PATH_MAX];
  int64_t *all = NULL;
  size_t all_count = 0, added;
  int lock;
  if (count == 0) return CORE_OK;
  TRY(store_path_sweep(root, name, NULL, path));
  TRY(core_files_make_directories(path));
  TRY(store_path_sweep(root, name, "manifest.lock", path));
  TRY(core_files_lock(path, true, &lock));
  int code = sweep_extension_read(root, name, &all, &all_count);
  if (code == CORE_OK) {
    sweep_extension_join(&all, &all_count, seeds, count, &added);
    if (added > 0) code = write_record(root, name, all, all_count);
  }
  free(all);
  core_files_unlock(&lock);
  return code;
}
