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
    sweep->results = previous->results;
    atomic_fetch_add(&sweep->results->users, 1);
  } else {
    ServeResults *results = core_memory_allocate(sizeof *results + progress->runs * sizeof *results->run);
    atomic_init(&results->users, 1);
    for (size_t i = 0; i < progress->runs; i++) results->run[i] = (ServeResult){NAN, NAN, NAN};
    if (version >= 0 && read_results(reader->database, progress, results->run) != CORE_OK) {
      sweep->results_version = -1; /* busy: read again the next time */
      core_error_clear();
    }
    sweep->results = results;
  }

  sweep->result = sweep->results->run;
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
    sweep->labels = previous->labels;
    atomic_fetch_add(&sweep->labels->users, 1);
    sweep_members_reuse_differences(&sweep->view->members, &previous->view->members);
  } else {
    ServeLabels *labels = core_memory_allocate(sizeof *labels + progress->runs * sizeof *labels->run);
    atomic_init(&labels->users, 1);
    labels->runs = progress->runs;
    for (size_t i = 0; i < progress->runs; i++) labels->run[i] = make_label(&sweep->view->members, i);
    sweep->labels = labels;
  }

  sweep->label = sweep->labels->run;
  sweep_members_find_differences(&sweep->view->members); /* now, since requests of several threads read them */
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

static void free_sweep(ServeSweep *sweep) {
  if (atomic_fetch_sub(&sweep->results->users, 1) == 1) free(sweep->results);
  if (atomic_fetch_sub(&sweep->labels->users, 1) > 1) return;
  for (size_t i = 0; i < sweep->labels->runs; i++) free(sweep->labels->run[i]);
  free(sweep->labels);
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
  atomic_init(&snapshot->users, 1);
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

void serve_snapshot_hold(ServeSnapshot *snapshot) { atomic_fetch_add(&snapshot->users, 1); }

void serve_snapshot_release(ServeSnapshot **given) {
  ServeSnapshot *snapshot = *given;
  *given = NULL;
  if (!snapshot || atomic_fetch_sub(&snapshot->users, 1) > 1) return;
  for (size_t i = 0; i < snapshot->count; i++) free_sweep(&snapshot->sweep[i]);
  sweep_view_free(snapshot->view, snapshot->count);
  free(snapshot->view);
  free(snapshot->sweep);
  free(snapshot);
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
