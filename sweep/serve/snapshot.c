/* Reads sweeps and results. Results and labels of 10 000 runs take most of the time, so they are read again only when
 * results.db or the files of the sweep have changed. */
#include "sweep/serve/snapshot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/memory.h"
#include "store/workspace/paths.h"
#include "sweep/spec/sweep.h"

enum { QUEUE_AGE_S = 15 /* maximum age of the list of jobs, since a page may stay open for days */ };

/* ---- results ----------------------------------------------------------------------------------------------------- */

static const char results_sql[] =
  "SELECT s.idx, d.ddr,"
  " (SELECT max(coalesce(e.solve_rate, e.episode_return)) FROM evaluation AS e"
  "  WHERE e.run_id = s.run_id AND e.level_set = 'train'),"
  " (SELECT coalesce(e.solve_rate, e.episode_return) FROM evaluation AS e"
  "  WHERE e.run_id = s.run_id AND e.level_set = 'train' ORDER BY e.iteration DESC LIMIT 1)"
  " FROM sweep_run AS s JOIN run_ddr AS d ON d.run_id = s.run_id WHERE s.sweep = ?1";

static int read_results(StoreDatabase *database, const SweepProgress *progress, ServeResult *result) {
  StoreQuery *query;
  bool row;
  int code;
  TRY(store_query_open(database, results_sql, &query));
  store_query_bind_text(query, 1, progress->name);
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const int64_t index = store_query_int(query, 0);
    if (index < 0 || (size_t)index >= progress->runs) continue;
    result[index] = (ServeResult){store_query_real(query, 1), store_query_real(query, 2), store_query_real(query, 3)};
  }
  store_query_close(&query);
  return code;
}

/* Reads the results, or shares those of the previous snapshot. */
static void add_results(ServeReader *reader, int64_t version, ServeSweep *sweep, const ServeSweep *previous) {
  const SweepProgress *progress = &sweep->view->progress;
  sweep->results_version = version;
  if (previous && version >= 0 && previous->results_version == version &&
      previous->view->progress.runs == progress->runs) {
    sweep->result = previous->result;
    return;
  }
  sweep->result = core_memory_allocate((progress->runs + 1) * sizeof *sweep->result);
  for (size_t i = 0; i < progress->runs; i++) sweep->result[i] = (ServeResult){NAN, NAN, NAN};
  if (version >= 0 && read_results(reader->database, progress, sweep->result) != CORE_OK) {
    sweep->results_version = -1; /* busy: read again the next time */
    core_error_clear();
  }
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

/* Returns a number that changes with the files that labels depend on. */
static int64_t files_version(const char *root, const char *name) {
  static const char *const files[] = {"sweep.ini", "manifest.tsv", "extended"};
  uint64_t version = 1;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char path[CORE_PATH_MAX];
    struct stat status;
    if (store_path_sweep(root, name, files[i], path) != CORE_OK || stat(path, &status) != 0) continue;
    version = version * 1000003 + (uint64_t)status.st_mtim.tv_sec * 1000000007 + (uint64_t)status.st_mtim.tv_nsec +
              (uint64_t)status.st_size;
  }
  core_error_clear();
  return (int64_t)version;
}

static char *make_label(SweepMembers *members, size_t index) {
  const char *name;
  json_t *value, *settings = sweep_members_settings(members, index);
  CoreText text = {0};
  json_object_foreach(settings, name, value) {
    core_text_appendf(&text, "%s%s=", text.length ? " " : "", name);
    if (json_is_string(value)) core_text_append(&text, json_string_value(value));
    else core_json_append(value, 0, &text);
  }
  json_decref(settings);
  return text.data ? text.data : core_text_duplicate("");
}

/* Makes the labels, or shares those of the previous snapshot. */
static void add_labels(const char *root, ServeSweep *sweep, const ServeSweep *previous) {
  const SweepProgress *progress = &sweep->view->progress;
  sweep->label_version = files_version(root, progress->name);
  if (previous && previous->label_version == sweep->label_version && previous->view->progress.runs == progress->runs) {
    sweep->label = previous->label;
    sweep_members_reuse_differences(&sweep->view->members, &previous->view->members);
    return;
  }
  sweep->label = core_memory_zero_allocate(progress->runs + 1, sizeof *sweep->label);
  for (size_t i = 0; i < progress->runs; i++) sweep->label[i] = make_label(&sweep->view->members, i);
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

static void free_sweep(ServeSweep *sweep, const ServeSweep *next) {
  if (!next || next->label != sweep->label) {
    for (size_t i = 0; i < sweep->view->progress.runs; i++) free(sweep->label[i]);
    free(sweep->label);
  }
  if (!next || next->result != sweep->result) free(sweep->result);
}

static void read_sweeps(const char *root, StoreDatabase *database, ServeSnapshot *snapshot) {
  const SweepViewOptions options = {.root = root, .settings = true, .is_repeated = true, .queue_age_s = QUEUE_AGE_S};
  char **names = NULL;
  size_t named = 0;
  int code = sweep_common_list(root, &names, &named);
  snapshot->count = named;
  snapshot->view = core_memory_zero_allocate(named + 1, sizeof *snapshot->view);
  if (code == CORE_OK)
    code = sweep_view_read(&options, database, names, &snapshot->count, snapshot->view, snapshot->problem);
  if (code != CORE_OK) {
    snprintf(snapshot->problem, sizeof snapshot->problem, "%s", core_error_message());
    sweep_view_free(snapshot->view, snapshot->count);
    snapshot->count = 0;
  }
  core_error_clear();
  for (size_t i = 0; i < named; i++) free(names[i]);
  free(names);
}

ServeSnapshot *serve_snapshot_read(const char *root, StoreDatabase *database, ServeReader *reader,
                                   const ServeSnapshot *previous) {
  ServeSnapshot *snapshot = core_memory_zero_allocate(1, sizeof *snapshot);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snapshot->read_unix_s = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
  read_sweeps(root, database, snapshot);
  snapshot->sweep = core_memory_zero_allocate(snapshot->count + 1, sizeof *snapshot->sweep);
  const int64_t version = serve_reader_version(reader);
  for (size_t i = 0; i < snapshot->count; i++) {
    ServeSweep *sweep = &snapshot->sweep[i];
    sweep->view = &snapshot->view[i];
    const ServeSweep *same = previous ? serve_snapshot_find(previous, sweep->view->progress.name) : NULL;
    add_results(reader, version, sweep, same);
    add_labels(root, sweep, same);
  }
  return snapshot;
}

void serve_snapshot_free(ServeSnapshot **snapshot, const ServeSnapshot *next) {
  if (!*snapshot) return;
  for (size_t i = 0; i < (*snapshot)->count; i++) {
    const char *name = (*snapshot)->view[i].progress.name;
    free_sweep(&(*snapshot)->sweep[i], next ? serve_snapshot_find(next, name) : NULL);
  }
  sweep_view_free((*snapshot)->view, (*snapshot)->count);
  free((*snapshot)->view);
  free((*snapshot)->sweep);
  free(*snapshot);
  *snapshot = NULL;
}

const ServeSweep *serve_snapshot_find(const ServeSnapshot *snapshot, const char *name) {
  for (size_t i = 0; i < snapshot->count; i++)
    if (strcmp(snapshot->view[i].progress.name, name) == 0) return &snapshot->sweep[i];
  return NULL;
}

const ServeSweep *serve_snapshot_find_run(const ServeSnapshot *snapshot, const char *id, size_t *index) {
  for (size_t s = 0; s < snapshot->count; s++) {
    const SweepProgress *progress = &snapshot->view[s].progress;
    for (size_t i = 0; i < progress->runs; i++) {
      if (strcmp(progress->run[i].id, id) != 0) continue;
      *index = i;
      return &snapshot->sweep[s];
    }
  }
  return NULL;
}
