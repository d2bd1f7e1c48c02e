/* Holds the trials of a search: sampled by the file, or read from the record of proposals. */
#include "sweep/spec/search.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "store/workspace/paths.h"

enum { VERSION = 1, HASH_BYTES = 8, HASH = 2 * HASH_BYTES + 1 };
static const size_t file_max_bytes = (size_t)CORE_SEARCH_TRIALS_MAX * 1024;
static const char columns[] = "trial\twave\tsettings";

/* ---- trials ------------------------------------------------------------------------------------------------------ */

static void make_lists(SweepSearch *search) {
  const CoreSearch *space = &search->space;
  search->block.entry = search->entry;
  search->block.count = space->count;
  memcpy(search->block.name, search->name, sizeof search->block.name);
  search->block.lists = core_memory_zero_allocate(space->count + 1, sizeof *search->block.lists);
  for (size_t i = 0; i < space->count; i++)
    search->block.lists[i] = (SweepValueList){.row = space->axes[i].row, .entry = space->axes[i].entry};
}

void sweep_search_add(SweepSearch *search, const CoreConfig *base, const double *coordinate) {
  CoreText text = {0};
  if (!search->block.lists) make_lists(search);
  for (size_t i = 0; i < search->space.count; i++) {
    const bool is_absent = isnan(coordinate[i]);
    const CoreSearchAxis *axis = &search->space.axes[i];
    const char *value =
        is_absent ? core_config_get(base, axis->row, &text) : core_search_value_at(axis, coordinate[i], &text);
    sweep_value_list_add(&search->block.lists[i], value, is_absent);
  }
  core_text_free(&text);
  search->wave = core_memory_resize(search->wave, (search->trials + 1) * sizeof *search->wave);
  search->wave[search->trials++] = 0;
}

void sweep_search_drop(SweepSearch *search) {
  for (size_t i = 0; i < search->block.count; i++) sweep_value_list_drop(&search->block.lists[i]);
  search->trials--;
}

void sweep_search_draw(const SweepSpec *spec, SweepSearch *search) {
  double coordinate[CORE_SEARCH_AXES_MAX];
  const CoreSearch *space = &search->space;
  const bool is_known_in_part = core_search_is_adaptive(space) && space->startup < space->trials;
  const int64_t known = is_known_in_part ? space->startup : space->trials;
  for (int64_t trial = 0; trial < known; trial++) {
    core_search_draw(space, spec->name, search->name, trial, coordinate);
    sweep_search_add(search, &spec->base, coordinate);
  }
}

void sweep_search_trial(const SweepSearch *search, size_t trial, double *coordinate) {
  for (size_t i = 0; i < search->space.count; i++) {
    const SweepValue *value = &search->block.lists[i].values[trial];
    coordinate[i] = value->absent ? NAN : core_search_coordinate(&search->space.axes[i], value->text);
  }
}

bool sweep_search_find(const SweepSearch *search, const double *coordinate, size_t *trial) {
  double *known = core_memory_allocate((search->space.count + 1) * sizeof *known);
  bool is_equal = false;
  for (*trial = 0; *trial < search->trials; ++*trial) {
    sweep_search_trial(search, *trial, known);
    is_equal = true;
    for (size_t i = 0; i < search->space.count && is_equal; i++)
      is_equal = isnan(coordinate[i]) ? isnan(known[i]) : coordinate[i] == known[i];
    if (is_equal) break;
  }
  free(known);
  return is_equal;
}

void sweep_search_free(SweepSearch *search) {
  for (size_t i = 0; search->block.lists && i < search->block.count; i++)
    sweep_value_list_free(&search->block.lists[i]);
  free(search->block.lists);
  free(search->block.resources);
  free(search->wave);
  core_search_free(&search->space);
  search->block = (SweepBlock){0};
  search->wave = NULL;
  search->trials = 0;
}

bool sweep_search_is_open(const SweepSearch *search) { return search->trials < (size_t)search->space.trials; }

bool sweep_spec_is_open(const SweepSpec *spec) {
  for (size_t i = 0; i < spec->search_count; i++)
    if (sweep_search_is_open(&spec->searches[i])) return true;
  return false;
}

/* ---- proposals --------------------------------------------------------------------------------------------------- */

static int proposals_path(const char *root, const SweepSpec *spec, const SweepSearch *search,
                          char path[CORE_PATH_MAX]) {
  char file[SWEEP_NAME + 16];
  snprintf(file, sizeof file, "search.%s.tsv", search->name);
  return store_path_sweep(root, spec->name, file, path);
}

/* Hashes what proposals depend on: settings, bounds and startup. The number of trials, wave and goal may change. */
static void hash_space(const CoreSearch *space, char hash[HASH]) {
  unsigned char bytes[crypto_generichash_BYTES_MIN];
  CoreText text = {0};
  core_text_appendf(&text, "startup=%lld\n", (long long)space->startup);
  for (size_t i = 0; i < space->count; i++) {
    core_text_appendf(&text, "%s=", space->axes[i].row->name);
    core_search_axis_print(space, i, &text);
    core_text_append(&text, "\n");
  }
  CORE_CHECK(sodium_init() >= 0);
  crypto_generichash(bytes, sizeof bytes, (const unsigned char *)core_text_string(&text), text.length, NULL, 0);
  sodium_bin2hex(hash, HASH, bytes, HASH_BYTES);
  core_text_free(&text);
}

static void append_header(const SweepSpec *spec, const SweepSearch *search, CoreText *text) {
  char hash[HASH];
  hash_space(&search->space, hash);
  core_text_appendf(text, "# search %d %s %s %s\n", VERSION, spec->name, search->name, hash);
}

static void append_trial(const SweepSearch *search, size_t trial, CoreText *text) {
  core_text_appendf(text, "%zu\t%lld", trial, (long long)search->wave[trial]);
  for (size_t i = 0; i < search->space.count; i++) {
    const SweepValue *value = &search->block.lists[i].values[trial];
    if (!value->absent) core_text_appendf(text, "\t%s=%s", search->space.axes[i].row->name, value->text);
  }
  core_text_append(text, "\n");
}

int sweep_proposals_write(const char *root, const SweepSpec *spec, const SweepSearch *search) {
  char path[CORE_PATH_MAX];
  CoreText text = {0};
  TRY(proposals_path(root, spec, search, path));
  append_header(spec, search, &text);
  core_text_appendf(&text, "%s\n", columns);
  for (size_t trial = 0; trial < search->trials; trial++)
    if (search->wave[trial] > 0) append_trial(search, trial, &text);
  const int code = core_files_write_atomic(path, core_text_string(&text), text.length);
  core_text_free(&text);
  return code;
}

/* Parses "ppo.epochs=3" into its axis. */
static bool read_setting(const CoreSearch *space, char *field, double *coordinate) {
  char *equals = strchr(field, '=');
  if (!equals) return false;
  *equals = '\0';
  for (size_t i = 0; i < space->count; i++) {
    if (strcmp(space->axes[i].row->name, field) != 0) continue;
    coordinate[i] = core_search_coordinate(&space->axes[i], equals + 1);
    return !isnan(coordinate[i]);
  }
  return false;
}

/* Whether exactly the active axes have values. */
static bool is_complete(const CoreSearch *space, const double *coordinate) {
  for (size_t i = 0; i < space->count; i++)
    if (core_search_is_active(space, i, coordinate) == isnan(coordinate[i])) return false;
  return true;
}

static bool read_trial(const SweepSpec *spec, SweepSearch *search, char *line) {
  double coordinate[CORE_SEARCH_AXES_MAX];
  int64_t trial, wave;
  char *trial_text = strsep(&line, "\t"), *wave_text = line ? strsep(&line, "\t") : NULL;
  if (!wave_text || !core_text_to_int(trial_text, &trial) || !core_text_to_int(wave_text, &wave) || wave < 1 ||
      trial > (int64_t)search->trials)
    return false;
  if (trial < (int64_t)search->trials) return true; /* already in the spec */
  for (size_t i = 0; i < search->space.count; i++) coordinate[i] = NAN;
  while (line)
    if (!read_setting(&search->space, strsep(&line, "\t"), coordinate)) return false;
  if (!is_complete(&search->space, coordinate)) return false;
  sweep_search_add(search, &spec->base, coordinate);
  search->wave[search->trials - 1] = wave;
  return true;
}

static int check_header(const char *path, const char *line, const SweepSpec *spec, const SweepSearch *search) {
  CoreText expected = {0};
  append_header(spec, search, &expected);
  expected.data[expected.length - 1] = '\0'; /* without the newline */
  const bool is_equal = strcmp(line, core_text_string(&expected)) == 0;
  core_text_free(&expected);
  if (is_equal) return CORE_OK;
  return core_ini_error(&spec->ini, search->entry,
                        "the space of [%s] differs from that of the proposals in %s "
                        "(settings, bounds, conditions, startup); give the search another name, or restore the space",
                        search->entry->section, path);
}

static int parse(const char *path, char *text, const SweepSpec *spec, SweepSearch *search) {
  char *tail = text, *line = strsep(&tail, "\n");
  TRY(check_header(path, line, spec, search));
  line = tail ? strsep(&tail, "\n") : NULL;
  bool is_valid = line && strcmp(line, columns) == 0;
  for (size_t number = 3; is_valid && tail && *tail && sweep_search_is_open(search); number++) {
    line = strsep(&tail, "\n");
    if (!tail || !read_trial(spec, search, line))
      return core_error(CORE_FAIL,
                        "%s:%zu: damaged: expected trial %zu, its wave and its settings; restore the file, "
                        "or remove it and submit again: later trials are then proposed again",
                        path, number, search->trials);
  }
  return is_valid ? CORE_OK : core_error(CORE_FAIL, "%s:2: damaged: expected the columns trial, wave, settings", path);
}

static int read_proposals(const char *root, SweepSpec *spec, SweepSearch *search) {
  char path[CORE_PATH_MAX], *text;
  size_t size;
  if (!core_search_is_adaptive(&search->space)) return CORE_OK;
  TRY(proposals_path(root, spec, search, path));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(core_files_read(path, file_max_bytes, &text, &size));
  const int code = parse(path, text, spec, search);
  free(text);
  return code;
}

int sweep_proposals_read(const char *root, SweepSpec *spec) {
  for (size_t i = 0; i < spec->search_count; i++) TRY(read_proposals(root, spec, &spec->searches[i]));
  return CORE_OK;
}
