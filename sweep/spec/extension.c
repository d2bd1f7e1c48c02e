/* Reads and writes the record of added seeds, in the format of an experiment's seeds. */
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
  const size_t old_count = *count;
  int64_t *sorted = core_memory_allocate((old_count + 1) * sizeof *sorted);
  if (old_count > 0) memcpy(sorted, *seeds, old_count * sizeof *sorted);
  qsort(sorted, old_count, sizeof *sorted, by_value);
  *seeds = core_memory_resize(*seeds, (old_count + more_count + 1) * sizeof **seeds);
  for (size_t i = 0; i < more_count; i++)
    if (!bsearch(&more[i], sorted, old_count, sizeof *sorted, by_value)) (*seeds)[(*count)++] = more[i];
  *added = *count - old_count;
  free(sorted);
}

void sweep_extension_print(const int64_t *seeds, size_t count, CoreText *text) {
  for (size_t i = 0, end; i < count; i = end) {
    end = i + 1;
    while (end < count && seeds[end] == seeds[end - 1] + 1) end++;
    core_text_appendf(text, "%s%lld..%lld", i ? ", " : "", (long long)seeds[i], (long long)seeds[end - 1]);
  }
}

/* Reads the seeds of the line `key`; none if there is no such line. */
static int read_line(const CoreIni *ini, const char *key, int64_t **seeds, size_t *count) {
  for (size_t i = 0; i < ini->count; i++)
    if (ini->entries[i].key && strcmp(ini->entries[i].key, key) == 0)
      return sweep_value_list_seeds(ini, &ini->entries[i], seeds, count);
  return CORE_OK;
}

static int read_lines(const char *path, const CoreIni *ini, SweepExtension *extension) {
  TRY(read_line(ini, "seeds", &extension->seeds, &extension->count));
  if (extension->count == 0)
    return core_error(
        CORE_USAGE, "%s: the line \"seeds = ...\" is missing; restore it, or remove the file to drop its seeds", path);
  return read_line(ini, "unfinished", &extension->unfinished, &extension->unfinished_count);
}

int sweep_extension_read(const char *root, const char *name, SweepExtension *extension) {
  char path[CORE_PATH_MAX];
  CoreIni ini;
  *extension = (SweepExtension){0};
  TRY(store_path_sweep(root, name, "extended", path));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(core_ini_read(path, &ini));
  const int code = read_lines(path, &ini, extension);
  core_ini_free(&ini);
  if (code != CORE_OK) sweep_extension_free(extension);
  return code;
}

void sweep_extension_free(SweepExtension *extension) {
  free(extension->seeds);
  free(extension->unfinished);
  *extension = (SweepExtension){0};
}

static int write_record(const char *root, const char *name, const SweepExtension *extension) {
  char path[CORE_PATH_MAX];
  CoreText text = {0};
  TRY(store_path_sweep(root, name, "extended", path));

  core_text_append(&text, "; Seeds that sweep submit --seeds has added to those of the experiment's file. "
                          "Remove this file to drop them.\nseeds = ");
  sweep_extension_print(extension->seeds, extension->count, &text);
  core_text_append(&text, "\n");
  if (extension->unfinished_count > 0) {
    core_text_append(&text, "; Those of them whose runs are not submitted yet.\nunfinished = ");
    sweep_extension_print(extension->unfinished, extension->unfinished_count, &text);
    core_text_append(&text, "\n");
  }

  const int code = core_files_write_atomic(path, core_text_string(&text), text.length);
  core_text_free(&text);
  return code;
}

static int lock_record(const char *root, const char *name, int *lock) {
  char path[CORE_PATH_MAX];
  TRY(store_path_sweep(root, name, NULL, path));
  TRY(core_files_make_directories(path));
  TRY(store_path_sweep(root, name, "manifest.lock", path));
  return core_files_lock(path, true, lock);
}

int sweep_extension_begin(const char *root, const char *name, const int64_t *seeds, size_t count) {
  SweepExtension extension;
  size_t added;
  int lock;
  if (count == 0) return CORE_OK;
  TRY(lock_record(root, name, &lock));
  int code = sweep_extension_read(root, name, &extension);
  if (code == CORE_OK) {
    sweep_extension_join(&extension.seeds, &extension.count, seeds, count, &added);
    sweep_extension_join(&extension.unfinished, &extension.unfinished_count, seeds, count, &added);
    code = write_record(root, name, &extension);
    sweep_extension_free(&extension);
  }
  core_files_unlock(&lock);
  return code;
}

bool sweep_extension_is_unfinished(const SweepExtension *extension, const int64_t *seeds, size_t count) {
  for (size_t i = 0; i < extension->unfinished_count; i++)
    for (size_t k = 0; k < count; k++)
      if (extension->unfinished[i] == seeds[k]) return true;
  return false;
}

/* Removes `seeds` from the unfinished seeds. */
static void finish_seeds(SweepExtension *extension, const int64_t *seeds, size_t count) {
  size_t remaining = 0;
  for (size_t i = 0; i < extension->unfinished_count; i++) {
    bool is_finished = false;
    for (size_t k = 0; k < count && !is_finished; k++) is_finished = extension->unfinished[i] == seeds[k];
    if (!is_finished) extension->unfinished[remaining++] = extension->unfinished[i];
  }
  extension->unfinished_count = remaining;
}

static int end_locked(const char *root, const char *name, const int64_t *seeds, size_t count) {
  SweepExtension extension;
  TRY(sweep_extension_read(root, name, &extension));
  const size_t old_count = extension.unfinished_count;
  finish_seeds(&extension, seeds, count);
  const int code = extension.unfinished_count < old_count ? write_record(root, name, &extension) : CORE_OK;
  sweep_extension_free(&extension);
  return code;
}

int sweep_extension_end(const char *root, const char *name, const int64_t *seeds, size_t count) {
  char path[CORE_PATH_MAX];
  int lock;
  TRY(store_path_sweep(root, name, "extended", path));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(lock_record(root, name, &lock));
  const int code = end_locked(root, name, seeds, count);
  core_files_unlock(&lock);
  return code;
}
