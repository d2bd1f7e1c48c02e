/* What sweep submit writes into results.db: the sweep's text and its runs. */
#include "sweep/control/register.h"

#include "core/files.h"
#include "core/text.h"
#include "store/care/maintain.h"
#include "store/database/database.h"
#include "store/database/query.h"
#include "store/workspace/paths.h"
#include "sweep/spec/freeze.h"
#include "sweep/spec/id_set.h"

/* Does results.db have all of this sweep, from this very text? Then there is nothing to record: submitting again is
 * what people do to go on. */
static int is_recorded(StoreDatabase *database, const SweepSpec *spec, const char *text, const SweepManifest *manifest,
                       bool *recorded) {
  StoreQuery *query;
  bool row;
  TRY(
    store_query_open(database,
                     "SELECT (SELECT count(*) FROM sweep_run AS s JOIN run AS r ON r.id = s.run_id WHERE s.sweep = ?1)"
                     " FROM sweep WHERE name = ?1 AND ini = ?2",
                     &query));
  store_query_bind_text(query, 1, spec->name);
  store_query_bind_text(query, 2, text);
  const int code = store_query_step(query, &row);
  *recorded = code == CORE_OK && row && store_query_int(query, 0) == (int64_t)manifest->count;
  store_query_close(&query);
  return code;
}

static void append_text(const SweepSpec *spec, CoreText *text) {
  if (spec->search_count > 0 && !spec->frozen) sweep_freeze_print(spec, text);
  else core_text_append(text, core_text_string(&spec->source));
}

/* Is there anything to write? Then nobody has to wait for a rebuild. */
static int needs_recording(const char *path, const SweepSpec *spec, const char *text, const SweepManifest *manifest,
                           bool *needed) {
  StoreDatabase *database;
  bool recorded = false;
  TRY(store_database_open(path, false, &database));
  int code;
  if (store_is_merged(database))
    code = core_error(CORE_USAGE, "%s was made by analyze merge, and takes in no runs; give it another name, and "
                      "submit again", path);
  else code = is_recorded(database, spec, text, manifest, &recorded);
  /* --set and profiles change what the text does not show. */
  *needed = code == CORE_OK && (!recorded || spec->set_count > 0 || *spec->profile);
  store_database_close(&database);
  return code;
}

enum { RECORD_AT_ONCE = 4096 }; /* runs a transaction: a tenth of a second, in which nobody else can write */

static int put_runs(StoreDatabase *database, const SweepGrid *grid, const SweepManifest *manifest) {
  SweepIdSet places = {0};
  int code = CORE_OK;
  for (size_t i = 0; i < manifest->count; i++) sweep_id_set_add(&places, manifest->ids[i], NULL);
  for (size_t i = 0; i < grid->runs && code == CORE_OK; i++) {
    CoreConfig config;
    size_t index;
    sweep_grid_config(grid, i, &config);
    if (i % RECORD_AT_ONCE == RECORD_AT_ONCE - 1) TRY_GOTO(code, out, store_database_yield(database));
    CORE_CHECK(sweep_id_set_find(&places, grid->ids[i], &index)); /* the manifest has just been merged with this grid */
    code = store_database_put_run(database, grid->spec->name, (int64_t)index, &config, grid->ids[i]);
  }
out:
  sweep_id_set_free(&places);
  return code;
}

static int record(const char *path, const SweepGrid *grid, const char *text, const SweepManifest *manifest) {
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

/* A rebuild at work has read the manifests already, and puts aside the file that there is. */
static int record_locked(const char *root, const char *path, const SweepGrid *grid, const char *text,
                         const SweepManifest *manifest) {
  int lock;
  int code = store_rebuild_lock(root, &lock);
  if (code != CORE_OK)
    return core_error_context(code, "the runs of %s could not be written into %s, and none was started; sweep submit "
                              "%s goes on", grid->spec->name, path, grid->spec->name);
  code = record(path, grid, text, manifest);
  core_files_unlock(&lock);
  return code;
}

int sweep_register_runs(const char *root, const SweepSpec *spec, const SweepGrid *grid, const SweepManifest *manifest) {
  char path[CORE_PATH_MAX];
  CoreText text = {0};
  bool needed;
  TRY(store_path_database(root, path));
  append_text(spec, &text);
  int code = needs_recording(path, spec, core_text_string(&text), manifest, &needed);
  if (code == CORE_OK && needed) code = record_locked(root, path, grid, core_text_string(&text), manifest);
  core_text_free(&text);
  return code;
}
