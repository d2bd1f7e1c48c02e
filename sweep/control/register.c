/* Writes the sweep's text and its runs to results.db (submit_internal.h). */
#include "sweep/control/submit_internal.h"

#include "core/files.h"
#include "core/text.h"
#include "store/care/maintain.h"
#include "store/database/database.h"
#include "store/database/query.h"
#include "store/workspace/paths.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/spec.h"

/* Whether results.db has all runs of the sweep, with this text. It often has: submitting again is the usual way to
 * resume. */
static int is_registered(StoreDatabase *database, const SweepSpec *spec, const char *text,
                         const SweepManifest *manifest, bool *registered) {
  StoreQuery *query;
  bool row;
  TRY(store_query_open(database,
                       "SELECT (SELECT count(*) FROM sweep_run AS s JOIN run AS r ON r.id = s.run_id"
                       " WHERE s.sweep = ?1) FROM sweep WHERE name = ?1 AND ini = ?2",
                       &query));
  store_query_bind_text(query, 1, spec->name);
  store_query_bind_text(query, 2, text);
  const int code = store_query_step(query, &row);
  *registered = code == CORE_OK && row && store_query_int(query, 0) == (int64_t)manifest->count;
  store_query_close(&query);
  return code;
}

/* Whether there is anything to write. If not, there is no need to wait for a rebuild. */
static int needs_registration(const char *path, const SweepSpec *spec, const char *text, const SweepManifest *manifest,
                           bool *needed) {
  StoreDatabase *database;
  bool registered = false;
  TRY(store_database_open(path, false, &database));
  int code;
  if (store_is_merged(database))
    code = core_error(CORE_USAGE, "%s was made by analyze merge and cannot take new runs; rename it and submit again",
                      path);
  else code = is_registered(database, spec, text, manifest, &registered);
  *needed = code == CORE_OK && !registered;
  store_database_close(&database);
  return code;
}

enum { RUNS_PER_TRANSACTION = 4096 }; /* about 0.1 s, during which no other process can write */

static int put_runs(StoreDatabase *database, const SweepGrid *grid, const SweepManifest *manifest) {
  SweepIdSet ids = {0};
  int code = CORE_OK;
  for (size_t i = 0; i < manifest->count; i++) sweep_id_set_add(&ids, manifest->ids[i], NULL);
  for (size_t i = 0; i < grid->runs && code == CORE_OK; i++) {
    CoreConfig config;
    size_t index;
    sweep_grid_config(grid, i, &config);
    if (i % RUNS_PER_TRANSACTION == RUNS_PER_TRANSACTION - 1) TRY_GOTO(code, out, store_database_yield(database));
    CORE_CHECK(sweep_id_set_find(&ids, grid->ids[i], &index)); /* the manifest was merged with this grid */
    code = store_database_put_run(database, grid->spec->name, (int64_t)index, &config, grid->ids[i]);
  }
out:
  sweep_id_set_free(&ids);
  return code;
}

static int write_sweep(const char *path, const SweepGrid *grid, const char *text, const SweepManifest *manifest) {
  StoreDatabase *database;
  TRY(store_database_open(path, false, &database));
  int code = store_database_begin(database);
  if (code == CORE_OK) {
    code = store_database_put_sweep(database, grid->spec->name, text);
    if (code == CORE_OK) code = put_runs(database, grid, manifest);
    if (code == CORE_OK) code = store_database_commit(database);
    if (code != CORE_OK) store_database_rollback(database);
  }
  store_database_close(&database);
  return code;
}

/* Holds the rebuild lock: a rebuild in progress has already read the manifests, and will replace the database file. */
static int write_locked(const char *root, const char *path, const SweepGrid *grid, const char *text,
                        const SweepManifest *manifest) {
  int lock;
  int code = store_rebuild_lock(root, &lock);
  if (code != CORE_OK)
    return core_error_context(code, "cannot write the runs of %s to %s, so none was started; run sweep submit %s again",
                              grid->spec->name, path, grid->spec->name);
  code = write_sweep(path, grid, text, manifest);
  core_files_unlock(&lock);
  return code;
}

int sweep_register_runs(const char *root, const SweepSpec *spec, const SweepGrid *grid, const SweepManifest *manifest) {
  char path[CORE_PATH_MAX];
  CoreText text = {0};
  bool needed;
  TRY(store_path_database(root, path));
  /* A sweep that is submitted again by its name has its text in sweeps/NAME/sweep.ini. */
  if (spec->frozen) core_text_append(&text, core_text_string(&spec->source));
  else sweep_freeze_print(spec, &text);
  int code = needs_registration(path, spec, core_text_string(&text), manifest, &needed);
  if (code == CORE_OK && needed) code = write_locked(root, path, grid, core_text_string(&text), manifest);
  core_text_free(&text);
  return code;
}
