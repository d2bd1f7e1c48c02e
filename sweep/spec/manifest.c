/* Reads and writes sweeps/<name>/manifest.tsv and sweep.ini. A manifest has run ids only; runs/<id>/config.ini has a
 * run's configuration. */
#include "sweep/spec/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "store/workspace/paths.h"
#include "store/workspace/run_name.h"
#include "sweep/spec/spec.h"
#include "sweep/spec/sweep.h"

enum { ID_DIGITS = CORE_RUN_ID - 1 };
static const size_t manifest_max_bytes = (size_t)SWEEP_RUNS_MAX * 40;

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* Splits the next line off *tail. NULL at the end; "" for a last line without newline, which means a truncated file. */
static char *next_line(char **tail) {
  char *line = *tail, *newline = strchr(line, '\n');
  if (!*line) return NULL;
  if (!newline) {
    *tail = line + strlen(line);
    return *tail;
  }
  *newline = '\0';
  *tail = newline + 1;
  return line;
}

static int check_header(const char *path, const char *line, const char *name) {
  int version = 0, end = 0;
  if (!line || sscanf(line, "# manifest %d %n", &version, &end) < 1 || end == 0)
    return core_error(CORE_FAIL, "%s:1: this is not a manifest; move it away and submit the experiment again", path);
  if (version != STORE_MANIFEST_VERSION)
    return core_error(CORE_FAIL, "%s:1: written by another version (%d, this program knows %d); update the program",
                      path,
                      version, STORE_MANIFEST_VERSION);
  if (strcmp(line + end, name) != 0)
    return core_error(CORE_FAIL, "%s:1: this is the manifest of %.64s; check whether a directory was renamed", path,
                      line + end);
  return CORE_OK;
}

/* Parses "12 <tab> 0123456789abcdef" with the next index. */
static int read_row(const char *path, size_t line_number, const char *line, SweepIdSet *ids) {
  char expected[32];
  int length = snprintf(expected, sizeof expected, "%zu\t", ids->count);
  bool is_valid = strncmp(line, expected, (size_t)length) == 0 && store_is_run_id(line + length) &&
                  sweep_id_set_add(ids, line + length, NULL);
  if (!is_valid)
    return core_error(CORE_FAIL, "%s:%zu: damaged: expected index %zu, a tab and a new run id of %d digits; restore "
                                 "the file, or move it away and submit the experiment again",
                      path, line_number, ids->count, ID_DIGITS);
  return CORE_OK;
}

static int parse(const char *path, char *text, size_t size, const char *name, SweepManifest *manifest) {
  SweepIdSet ids = {0};
  char *tail = text, *line;
  int code = CORE_OK;

  if (strlen(text) != size) code = core_error(CORE_FAIL, "%s: contains a NUL byte; restore the file", path);
  if (code == CORE_OK) code = check_header(path, next_line(&tail), name);
  if (code == CORE_OK && (!(line = next_line(&tail)) || strcmp(line, STORE_MANIFEST_COLUMNS) != 0))
    code = core_error(CORE_FAIL, "%s:2: damaged: expected the columns \"index\", \"run\"", path);

  for (size_t number = 3; code == CORE_OK; number++) {
    line = next_line(&tail);
    if (!line) break;
    code = read_row(path, number, line, &ids);
  }

  if (code == CORE_OK) {
    manifest->count = ids.count;
    manifest->ids = sweep_id_set_detach(&ids);
  }
  sweep_id_set_free(&ids);
  return code;
}

/* Reads a manifest; *exists = false and an empty one if there is none yet. */
static int read_manifest(const char *root, const char *name, SweepManifest *manifest, bool *exists) {
  char path[CORE_PATH_MAX], *text;
  size_t size;
  *manifest = (SweepManifest){0};
  TRY(core_text_copy(manifest->name, sizeof manifest->name, name, "sweep"));
  TRY(store_path_sweep(root, name, "manifest.tsv", path));
  *exists = core_files_exists(path);
  if (!*exists) return CORE_OK;
  TRY(core_files_read(path, manifest_max_bytes, &text, &size));
  int code = parse(path, text, size, name, manifest);
  free(text);
  return code;
}

int sweep_manifest_read(const char *root, const char *name, SweepManifest *manifest) {
  bool exists;
  TRY(read_manifest(root, name, manifest, &exists));
  return exists ? CORE_OK : sweep_common_unknown(root, name);
}

/* ---- merging and writing --------------------------------------------------------------------------------------- */

static size_t count_absent(const SweepManifest *manifest, const SweepGrid *grid) {
  SweepIdSet in_file = {0};
  size_t absent = 0;
  sweep_id_set_add_all(&in_file, (const char(*)[CORE_RUN_ID])grid->ids, grid->runs);
  for (size_t i = 0; i < manifest->count; i++) absent += !sweep_id_set_find(&in_file, manifest->ids[i], NULL);
  sweep_id_set_free(&in_file);
  return absent;
}

int sweep_manifest_merge(const char *root, const SweepGrid *grid, SweepManifest *manifest,
                         SweepManifestChange *change) {
  bool exists;
  TRY(read_manifest(root, grid->spec->name, manifest, &exists));
  SweepIdSet ids = {0};
  sweep_id_set_add_all(&ids, (const char(*)[CORE_RUN_ID])manifest->ids, manifest->count);
  *change = (SweepManifestChange){0};
  for (size_t i = 0; i < grid->runs; i++) {
    if (sweep_id_set_add(&ids, grid->ids[i], NULL)) change->added++;
    else change->kept++;
  }
  free(manifest->ids);
  manifest->count = ids.count;
  manifest->ids = sweep_id_set_detach(&ids);
  change->absent = count_absent(manifest, grid);
  return CORE_OK;
}

int sweep_manifest_write(const char *root, const SweepManifest *manifest) {
  return store_manifest_write(root, manifest->name, (const char(*)[CORE_RUN_ID])manifest->ids, manifest->count);
}

static int write_frozen(const char *root, const SweepSpec *spec) {
  char path[CORE_PATH_MAX];
  CoreText text = {0};
  TRY(store_path_sweep(root, spec->name, "sweep.ini", path));
  sweep_freeze_print(spec, &text);
  int code = core_files_write_atomic(path, core_text_string(&text), text.length);
  core_text_free(&text);
  return code;
}

int sweep_manifest_record(const char *root, const SweepGrid *grid, SweepManifest *manifest,
                          SweepManifestChange *change) {
  char path[CORE_PATH_MAX];
  int lock, code;
  const char *name = grid->spec->name;
  *manifest = (SweepManifest){0};

  TRY(store_path_sweep(root, name, NULL, path));
  TRY(core_files_make_directories(path));
  TRY(store_path_sweep(root, name, "manifest.lock", path));
  TRY(core_files_lock(path, true, &lock));

  TRY_GOTO(code, out, sweep_manifest_merge(root, grid, manifest, change));
  if (!grid->spec->frozen) TRY_GOTO(code, out, write_frozen(root, grid->spec));
  if (change->added) code = sweep_manifest_write(root, manifest);
out:
  if (code != CORE_OK) sweep_manifest_free(manifest);
  core_files_unlock(&lock);
  return code;
}

void sweep_manifest_free(SweepManifest *manifest) {
  free(manifest->ids);
  *manifest = (SweepManifest){0};
}

int sweep_manifest_add_ids(const char *root, const char *except, SweepIdSet *ids) {
  char **names;
  size_t count;
  int code = CORE_OK;
  TRY(sweep_common_list(root, &names, &count));
  for (size_t i = 0; i < count; i++) {
    SweepManifest manifest = {0};
    const bool is_included = !except || strcmp(names[i], except) != 0;
    if (code == CORE_OK && is_included)
      code = sweep_common_pass_over(root, names[i], sweep_manifest_read(root, names[i], &manifest));
    sweep_id_set_add_all(ids, (const char(*)[CORE_RUN_ID])manifest.ids, manifest.count);
    sweep_manifest_free(&manifest);
    free(names[i]);
  }
  free(names);
  return code;
}
