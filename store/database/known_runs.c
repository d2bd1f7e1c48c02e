/* Run folders beside the database's table of runs (known_runs_internal.h). */
#include "store/database/known_runs_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "store/workspace/paths.h"

enum { ADOPT_AT_ONCE = 256 }; /* new runs a transaction */

/* The runs in the database, by id; those of a sweep when it is not NULL. */
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
    if (!id || !store_is_run_id(id)) continue; /* it is to become a path */
    if (*count == capacity) {
      capacity = capacity ? 2 * capacity : 256;
      *list = core_memory_resize(*list, capacity * sizeof **list);
    }
    StoreKnownRun *known = &(*list)[(*count)++];
    *known = (StoreKnownRun){.run = sqlite3_column_int64(query, 0), .folder_time = sqlite3_column_int64(query, 2),
                     .mark = (uint32_t)sqlite3_column_int64(query, 3), .adopt = sqlite3_column_int(query, 4)};
    memcpy(known->id, id, CORE_RUN_ID);
  }
  int code = step == SQLITE_DONE ? CORE_OK : store_database_error(database, "read");
  sqlite3_finalize(query);
  return code;
}

/* A folder that no sweep has recorded here: a run that was started by hand, or a database made anew. */
static int adopt_run(StoreDatabase *database, const char *root, const char *id, StoreImport *result) {
  char path[CORE_PATH_MAX], found_id[CORE_RUN_ID], text[512];
  CoreConfig config = core_config_default();
  TRY(store_path_run(root, id, "config.ini", path));
  const char *shown = path + strlen(root) + 1;
  const CoreConfig *known = NULL;
  if (!core_files_exists(path)) {
    snprintf(text, sizeof text, "%s is not there; the run's settings are not known", shown);
  } else if (core_config_read(path, &config) != CORE_OK) {
    snprintf(text, sizeof text, "%s", core_error_message());
  } else {
    core_config_id(&config, found_id);
    if (strcmp(found_id, id) == 0) known = &config;
    else snprintf(text, sizeof text, "%s describes run %s; its settings are not taken", shown, found_id);
  }
  if (!known) store_import_note_fault(result, text);
  return store_database_put_config(database, known, id);
}

static int adopt_runs(StoreDatabase *database, const char *root, const char *const *ids, size_t count,
                      StoreImport *result) {
  for (size_t first = 0; first < count; first += ADOPT_AT_ONCE) {
    TRY(store_database_begin(database));
    int code = CORE_OK;
    for (size_t i = first; i < count && i < first + ADOPT_AT_ONCE && code == CORE_OK; i++)
      code = adopt_run(database, root, ids[i], result);
    if (code == CORE_OK) code = store_database_commit(database);
    if (code != CORE_OK) {
      store_database_rollback(database);
      return code;
    }
  }
  return CORE_OK;
}

/* Both lists are sorted: `known` keeps the runs that have a folder, `strange` gets the folders to adopt. */
static size_t match_folders(StoreKnownRun *known, size_t known_count, char (*ids)[CORE_RUN_ID], size_t id_count,
                            const char **strange, size_t *strange_count) {
  size_t kept = 0, k = 0;
  *strange_count = 0;
  for (size_t n = 0; n < id_count; n++) {
    while (k < known_count && strcmp(known[k].id, ids[n]) < 0) k++;
    bool is_known = k < known_count && strcmp(known[k].id, ids[n]) == 0;
    if (!is_known || known[k].adopt) strange[(*strange_count)++] = ids[n];
    if (is_known) known[kept++] = known[k++];
  }
  return kept;
}

int store_known_runs(StoreDatabase *database, const char *root, const char *sweep, StoreImport *result,
                     StoreKnownRun **known, size_t *count) {
  char (*ids)[CORE_RUN_ID];
  size_t id_count, all, strange_count;
  *known = NULL;
  *count = 0;
  TRY(store_path_list_runs(root, NULL, &ids, &id_count));
  if (id_count == 0) return CORE_OK;
  const char **strange = core_memory_allocate((id_count + 1) * sizeof *strange);
  int code = load_known(database, sweep, known, &all);
  if (code == CORE_OK) *count = match_folders(*known, all, ids, id_count, strange, &strange_count);
  if (code == CORE_OK && !sweep && strange_count > 0) {
    free(*known);
    *known = NULL;
    code = adopt_runs(database, root, strange, strange_count, result);
    if (code == CORE_OK) code = load_known(database, sweep, known, &all);
    if (code == CORE_OK) *count = match_folders(*known, all, ids, id_count, strange, &strange_count);
  }
  free(ids);
  free(strange);
  return code;
}
