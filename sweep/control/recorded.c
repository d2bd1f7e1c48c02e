/* What sweep submit writes into results.db: the sweep's text and its runs. */
#include "sweep/control/recorded.h"

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

enum { RECORD_AT_ONCE = 4096 }; /* runs a transaction: a tenth of a second, in which nobody else can write */

int sweep_record_runs(const char *root, const SweepSpec *spec, const SweepGrid *grid, const SweepManifest *manifest) {
  char path[CORE_PATH_MAX];
  TRY(store_path_database(root, path));
  StoreDatabase *database;
  TRY(store_database_open(path, false, &database));
  SweepIdSet places = {0};
  bool recorded;
  if (store_is_merged(database)) {
    store_database_close(&database);
    return core_error(CORE_USAGE, "%s was made by analyze merge, and takes in no runs; give it another name, and "
                      "submit again", path);
  }
  int code;
  CoreText text = {0};
  append_text(spec, &text);
  TRY_GOTO(code, close, is_recorded(database, spec, core_text_string(&text), manifest, &recorded));
  if (recorded && spec->set_count == 0 && !*spec->profile) goto close; /* those change what the text does not show */
  for (size_t i = 0; i < manifest->count; i++) sweep_id_set_add(&places, manifest->ids[i], NULL);
  TRY_GOTO(code, close, store_database_begin(database));
  TRY_GOTO(code, rollback, store_database_put_sweep(database, spec->name, core_text_string(&text)));
  for (size_t i = 0; i < grid->runs; i++) {
    CoreConfig config;
    sweep_grid_config(grid, i, &config);
    size_t index;
    if (i % RECORD_AT_ONCE == RECORD_AT_ONCE - 1) TRY_GOTO(code, rollback, store_database_breathe(database));
    CORE_CHECK(sweep_id_set_find(&places, grid->ids[i], &index)); /* the manifest has just been merged with this grid */
    TRY_GOTO(code, rollback, store_database_put_run(database, spec->name, (int64_t)index, &config, grid->ids[i]));
  }
  TRY_GOTO(code, rollback, store_database_commit(database));
  goto close;
rollback:
  store_database_rollback(database);
close:
  core_text_free(&text);
  sweep_id_set_free(&places);
  store_database_close(&database);
  return code;
}
