/* Matches run directories with the table `run` (known_runs_internal.h). */
#include "store/database/known_runs_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "store/workspace/paths.h"

enum { RUNS_PER_TRANSACTION = 256 };

/* Loads the runs of the database, or of a sweep if it is not NULL, sorted by id. */
static int load_known(StoreDatabase *database, const char *sweep, StoreKnownRun **list, size_t *count) {
  sqlite3_stmt *query = NULL;
  size_t capacity = 0;
  *list = NULL;
  *count = 0;

  TRY(store_database_prepare(database,
                             "SELECT key, id, folder_time, mark, config IS NULL AND folder_time IS NULL"
                             " FROM run LEFT JOIN run_import ON run = key"
                             " WHERE ?1 IS NULL OR id IN (SELECT run_id FROM sweep_run WHERE sweep = ?1) ORDER BY id",
                             &query));

  sqlite3_bind_text(query, 1, sweep, -1, SQLITE_STATIC);
  int step;
  while ((step = sqlite3_step(query)) == SQLITE_ROW) {
    const char *id = (const char *)sqlite3_column_text(query, 1);
    if (!id || !store_is_run_id(id)) continue; /* ids become paths */
    if (*count == capacity) {
      capacity = capacity ? 2 * capacity : 256;
      *list = core_memory_resize(*list, capacity * sizeof **list);
    }

    StoreKnownRun *known = &(*list)[(*count)++];
    *known = (StoreKnownRun){.run = sqlite3_column_int64(query, 0),
                             .directory_time_ns = sqlite3_column_int64(query, 2),
                             .state_crc = (uint32_t)sqlite3_column_int64(query, 3),
                             .needs_config = sqlite3_column_int(query, 4)};
    memcpy(known->id, id, CORE_RUN_ID);
  }

  int code = step == SQLITE_DONE ? CORE_OK : store_database_error(database, "read");
  sqlite3_finalize(query);
  return code;
}

/* Records a run directory that no sweep has recorded: a run started by hand, or any run after a rebuild. */
static int adopt_run(StoreDatabase *database, const char *root, const char *id, StoreImport *result) {
  char path[CORE_PATH_MAX], found_id[CORE_RUN_ID], warning[512];
  CoreConfig config = core_config_default();

  TRY(store_path_run(root, id, "config.ini", path));
  const char *relative_path = path + strlen(root) + 1;
  const CoreConfig *known = NULL;

  if (!core_files_exists(path)) {
    snprintf(warning, sizeof warning, "%s does not exist; the run's settings are unknown", relative_path);
  } else if (core_config_read(path, &config) != CORE_OK) {
    snprintf(warning, sizeof warning, "%s", core_error_message());
  } else {
    core_config_id(&config, found_id);
    if (strcmp(found_id, id) == 0) known = &config;
    else snprintf(warning, sizeof warning, "%s describes run %s; its settings are ignored", relative_path, found_id);
  }

  if (!known) store_import_add_warning(result, warning);
  return store_database_put_config(database, known, id);
}

static int adopt_runs(StoreDatabase *database, const char *root, const char *const *ids, size_t count,
                      StoreImport *result) {
  for (size_t first = 0; first < count; first += RUNS_PER_TRANSACTION) {
    TRY(store_database_begin(database));
    int code = CORE_OK;
    for (size_t i = first; i < count && i < first + RUNS_PER_TRANSACTION && code == CORE_OK; i++)
      code = adopt_run(database, root, ids[i], result);
    if (code == CORE_OK) code = store_database_commit(database);
    if (code != CORE_OK) {
      store_database_rollback(database);
      return code;
    }
  }
  return CORE_OK;
}

/* Merges two sorted lists: reduces `known` to the runs that have a directory and returns their number; lists in
 * `unknown` the directories to record. */
static size_t match_directories(StoreKnownRun *known, size_t known_count, char (*ids)[CORE_RUN_ID], size_t id_count,
                                const char **unknown, size_t *unknown_count) {
  size_t matched = 0, k = 0;
  *unknown_count = 0;
  for (size_t n = 0; n < id_count; n++) {
    while (k < known_count && strcmp(known[k].id, ids[n]) < 0) k++;
    bool is_known = k < known_count && strcmp(known[k].id, ids[n]) == 0;
    if (!is_known || known[k].needs_config) unknown[(*unknown_count)++] = ids[n];
    if (is_known) known[matched++] = known[k++];
  }
  return matched;
}

int store_known_runs(StoreDatabase *database, const char *root, const char *sweep, StoreImport *result,
                     StoreKnownRun **known, size_t *count) {
  char (*ids)[CORE_RUN_ID];
  size_t id_count, known_count, unknown_count;
  *known = NULL;
  *count = 0;

  TRY(store_path_list_runs(root, NULL, &ids, &id_count));
  if (id_count == 0) return CORE_OK;
  const char **unknown = core_memory_allocate((id_count + 1) * sizeof *unknown);

  int code = load_known(database, sweep, known, &known_count);
  if (code == CORE_OK) *count = match_directories(*known, known_count, ids, id_count, unknown, &unknown_count);
  if (code == CORE_OK && !sweep && unknown_count > 0) {
    free(*known);
    *known = NULL;
    code = adopt_runs(database, root, unknown, unknown_count, result);
    if (code == CORE_OK) code = load_known(database, sweep, known, &known_count);
    if (code == CORE_OK) *count = match_directories(*known, known_count, ids, id_count, unknown, &unknown_count);
  }

  free(ids);
  free(unknown);
  return code;
}
