/* Merges two databases, for runs of two clusters (maintain.h). A run is copied as a whole, from the database where it
 * has progressed further. Rows are read from one connection and written through another, so that the source passes the
 * usual checks (owner, version, read-only) and is never attached. The importer's state of a workspace (run_log,
 * run_import) is not copied, because the merged database has other files, or none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/care/maintain.h"
#include "store/database/database_internal.h"
#include "store/workspace/crc32_internal.h"
#include "store/workspace/paths.h"

static const char *const run_columns =
  "seed, config, status, attempt, host, pid, device, git_commit, started, heartbeat, finished, iteration, iterations,"
  " transitions, transitions_total, steps_per_second, solve_rate, train_seconds, message, code, code_files";
static const char *const attempt_columns =
  "run_id, attempt, status, host, pid, device, git_commit, started, heartbeat, finished, message, code, code_files";

/* Lists the columns of a table that both databases have: a source of an earlier commit lacks the last ones. */
static int list_common_columns(StoreDatabase *target, StoreDatabase *source, const char *table, CoreText *list) {
  sqlite3_stmt *in_target = NULL, *in_source = NULL;
  static const char sql[] = "SELECT name FROM pragma_table_info(?1) WHERE ?2 IS NULL OR name = ?2";

  int code = store_database_prepare(target, sql, &in_target), step = SQLITE_DONE;
  if (code == CORE_OK) code = store_database_prepare(source, sql, &in_source);
  if (code == CORE_OK) {
    sqlite3_bind_text(in_target, 1, table, -1, SQLITE_STATIC);
    sqlite3_bind_text(in_source, 1, table, -1, SQLITE_STATIC);
  }

  if (code == CORE_OK) {
    while ((step = sqlite3_step(in_target)) == SQLITE_ROW) {
      const char *name = (const char *)sqlite3_column_text(in_target, 0); /* trusted: this program created the schema */
      sqlite3_bind_text(in_source, 2, name, -1, SQLITE_TRANSIENT);
      if (sqlite3_step(in_source) == SQLITE_ROW) core_text_appendf(list, "%s%s", list->length ? ", " : "", name);
      sqlite3_reset(in_source);
    }
  }

  if (code == CORE_OK && step != SQLITE_DONE) code = store_database_error(target, "read");
  sqlite3_finalize(in_target);
  sqlite3_finalize(in_source);
  return code;
}

/* Appends "?, ?, ?", one placeholder per column of the list. */
static void append_placeholders(CoreText *sql, const char *list) {
  core_text_append(sql, "?");
  for (const char *c = list; *c; c++) {
    if (*c == ',') core_text_append(sql, ", ?");
  }
}

/* Pair of statements that copies rows value by value. */
typedef struct Copy { sqlite3_stmt *read, *write; } Copy;

static int copy_prepare(StoreDatabase *target, StoreDatabase *source, const char *read, const char *write, Copy *copy) {
  TRY(store_database_prepare(source, read, &copy->read));
  return store_database_prepare(target, write, &copy->write);
}

/* Copies all rows; the parameters of `read` are bound. Its columns go to the parameters of `write` from
 * first_parameter on, and the number of rows is added to *rows unless it is NULL. */
static int copy_rows(StoreDatabase *target, StoreDatabase *source, Copy *copy, int first_parameter, int64_t *rows) {
  int step, columns = sqlite3_column_count(copy->read);
  while ((step = sqlite3_step(copy->read)) == SQLITE_ROW) {
    for (int c = 0; c < columns; c++)
      sqlite3_bind_value(copy->write, first_parameter + c, sqlite3_column_value(copy->read, c));
    TRY(store_database_run(target, copy->write));
    if (rows) ++*rows;
  }
  sqlite3_reset(copy->read);
  return step == SQLITE_DONE ? CORE_OK : store_database_error(source, "read");
}

static void copy_close(Copy *copy) {
  sqlite3_finalize(copy->read);
  sqlite3_finalize(copy->write);
}

/* ---- sweeps ----------------------------------------------------------------------------------------------------- */

typedef struct Sweeps { sqlite3_stmt *read, *find, *write, *members, *member; } Sweeps;

/* Selects the name of a source's sweep in the target; *exists: whether the target already has it. */
static int name_sweep(StoreDatabase *target, Sweeps *s, const char *name, const char *ini, char target_name[160],
                      bool *exists) {
  snprintf(target_name, 160, "%s", name);
  for (int tries = 0; tries < 2; tries++) {
    sqlite3_bind_text(s->find, 1, target_name, -1, SQLITE_TRANSIENT);
    int step = sqlite3_step(s->find);
    const char *target_ini = step == SQLITE_ROW ? (const char *)sqlite3_column_text(s->find, 0) : NULL;
    *exists = step == SQLITE_ROW;
    const bool is_same = *exists && strcmp(target_ini ? target_ini : "", ini) == 0;
    sqlite3_reset(s->find);
    if (step != SQLITE_ROW && step != SQLITE_DONE) return store_database_error(target, "read");
    if (!*exists || is_same) return CORE_OK;
    snprintf(target_name, 160, "%.100s.%08x", name, store_crc32(ini, strlen(ini)));
  }
  return core_error(CORE_FAIL, "%s contains other sweeps named %s and %s", target->path, name, target_name);
}

/* Merges the annotations of a run or sweep: the union of tags, notes and pins. */
static int merge_annotations(StoreDatabase *target, StoreDatabase *source, const char *subject, const char *name,
                             const char *target_name) {
  Copy copy = {NULL, NULL};
  int code = copy_prepare(target, source, "SELECT key, value FROM annotation WHERE subject = ?1 AND name = ?2",
                          "INSERT OR IGNORE INTO annotation(subject, name, key, value) VALUES(?1, ?2, ?3, ?4)", &copy);
  if (code == CORE_OK) {
    sqlite3_bind_text(copy.read, 1, subject, -1, SQLITE_STATIC);
    sqlite3_bind_text(copy.read, 2, name, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(copy.write, 1, subject, -1, SQLITE_STATIC);
    sqlite3_bind_text(copy.write, 2, target_name, -1, SQLITE_TRANSIENT);
    code = copy_rows(target, source, &copy, 3, NULL);
  }
  copy_close(&copy);
  return code;
}

static int merge_sweep(StoreDatabase *target, StoreDatabase *source, Sweeps *s, StoreMerge *merge) {
  const char *name = (const char *)sqlite3_column_text(s->read, 0),
             *ini = (const char *)sqlite3_column_text(s->read, 1);
  char target_name[160];
  bool exists;

  TRY(core_text_check_name(name ? name : "", "a sweep's name"));
  TRY(name_sweep(target, s, name, ini ? ini : "", target_name, &exists));
  if (!exists) {
    sqlite3_bind_text(s->write, 1, target_name, -1, SQLITE_TRANSIENT);
    sqlite3_bind_value(s->write, 2, sqlite3_column_value(s->read, 1));
    sqlite3_bind_value(s->write, 3, sqlite3_column_value(s->read, 2));
    TRY(store_database_run(target, s->write));
    merge->sweeps++;
    merge->renamed_sweeps += strcmp(target_name, name) != 0;
  }

  Copy copy = {s->members, s->member};
  sqlite3_bind_text(s->members, 1, name, -1, SQLITE_TRANSIENT);
  sqlite3_bind_text(s->member, 1, target_name, -1, SQLITE_TRANSIENT);
  TRY(copy_rows(target, source, &copy, 2, NULL));
  return merge_annotations(target, source, "sweep", name, target_name);
}

/* Appends the run if its index is taken: two workspaces may have different runs at one index (a search that saw other
 * results). */
static const char member_sql[] =
  "INSERT INTO sweep_run SELECT ?1, iif(EXISTS(SELECT 1 FROM sweep_run WHERE sweep = ?1 AND idx = ?2),"
  " (SELECT max(idx) + 1 FROM sweep_run WHERE sweep = ?1), ?2), ?3"
  " WHERE NOT EXISTS(SELECT 1 FROM sweep_run WHERE sweep = ?1 AND run_id = ?3)";

static int merge_sweeps(StoreDatabase *target, StoreDatabase *source, StoreMerge *merge) {
  Sweeps s = {0};
  int step = SQLITE_DONE;

  int code = store_database_prepare(source, "SELECT name, ini, created FROM sweep ORDER BY name", &s.read);
  if (code == CORE_OK)
    code = store_database_prepare(source, "SELECT idx, run_id FROM sweep_run WHERE sweep = ?1 ORDER BY idx",
                                  &s.members);
  if (code == CORE_OK) code = store_database_prepare(target, "SELECT ini FROM sweep WHERE name = ?1", &s.find);
  if (code == CORE_OK) code = store_database_prepare(target, "INSERT INTO sweep VALUES(?1, ?2, ?3)", &s.write);
  if (code == CORE_OK) code = store_database_prepare(target, member_sql, &s.member);

  while (code == CORE_OK) {
    step = sqlite3_step(s.read);
    if (step != SQLITE_ROW) break;
    code = merge_sweep(target, source, &s, merge);
  }
  if (code == CORE_OK && step != SQLITE_DONE) code = store_database_error(source, "read");

  sqlite3_finalize(s.read);
  sqlite3_finalize(s.members);
  sqlite3_finalize(s.find);
  sqlite3_finalize(s.write);
  sqlite3_finalize(s.member);
  return code;
}

/* ---- runs ------------------------------------------------------------------------------------------------------- */

/* Tables of measurements; run_id is the first key of each. */
static const struct { const char *name, *order; } measured[] = {
  {"iteration", "iteration"},
  {"iteration_bin", "bin"},
  {"evaluation", "iteration, level_set"},
  {"layer", "iteration, network, layer"},
  {"metric", "name, iteration"},
};
enum { ITERATION, BIN, EVALUATION, MEASURED = sizeof measured / sizeof *measured };

static const char *const remove_sql[] = {
  "DELETE FROM iteration WHERE run_id = ?1", "DELETE FROM iteration_bin WHERE run_id = ?1",
  "DELETE FROM evaluation WHERE run_id = ?1", "DELETE FROM layer WHERE run_id = ?1",
  "DELETE FROM metric WHERE run_id = ?1", "DELETE FROM attempt WHERE run_id = ?1",
  "DELETE FROM run_log WHERE run_id = ?1",
  "DELETE FROM run_import WHERE run = (SELECT key FROM run WHERE id = ?1)"};
enum { REMOVALS = sizeof remove_sql / sizeof *remove_sql };

typedef struct Runs {
  sqlite3_stmt *list;    /* runs of the source */
  sqlite3_stmt *find;    /* key of a run in the target, and whether the source has progressed further */
  sqlite3_stmt *remove[REMOVALS];
  Copy run, attempts, measured[MEASURED];
} Runs;

/* Prepares the copy of a table's common columns for one run. */
static int prepare_measured(StoreDatabase *target, StoreDatabase *source, const char *table, const char *order,
                            Copy *copy) {
  CoreText list = {0}, read = {0}, write = {0};
  int code = list_common_columns(target, source, table, &list);
  const char *names = core_text_string(&list);
  core_text_appendf(&read, "SELECT %s FROM %s WHERE run_id = ?1 ORDER BY %s", names, table, order);
  core_text_appendf(&write, "INSERT INTO %s(%s) VALUES(", table, names);
  append_placeholders(&write, names);
  core_text_append(&write, ")");
  if (code == CORE_OK) code = copy_prepare(target, source, core_text_string(&read), core_text_string(&write), copy);
  core_text_free(&list);
  core_text_free(&read);
  core_text_free(&write);
  return code;
}

static int prepare_runs(StoreDatabase *target, StoreDatabase *source, Runs *r) {
  char read[512], write[768];

  TRY(store_database_prepare(source, "SELECT id, key, coalesce(iteration, 0), attempt, coalesce(heartbeat, 0)"
                             " FROM run ORDER BY id", &r->list));
  TRY(store_database_prepare(target,
                             "SELECT key, (coalesce(iteration, 0), attempt, coalesce(heartbeat, 0)) < (?2, ?3, ?4)"
                             " FROM run WHERE id = ?1",
                             &r->find));
  for (int i = 0; i < REMOVALS; i++) TRY(store_database_prepare(target, remove_sql[i], &r->remove[i]));

  CoreText placeholders = {0};
  append_placeholders(&placeholders, run_columns);
  snprintf(read, sizeof read, "SELECT id, %s FROM run WHERE key = ?1", run_columns);
  snprintf(write, sizeof write, "INSERT OR REPLACE INTO run(key, id, %s) VALUES(?, ?, %s)", run_columns,
           core_text_string(&placeholders));
  int code = copy_prepare(target, source, read, write, &r->run);

  core_text_clear(&placeholders);
  append_placeholders(&placeholders, attempt_columns);
  snprintf(read, sizeof read, "SELECT %s FROM attempt WHERE run_id = ?1", attempt_columns);
  snprintf(write, sizeof write, "INSERT INTO attempt(%s) VALUES(%s)", attempt_columns,
           core_text_string(&placeholders));
  if (code == CORE_OK) code = copy_prepare(target, source, read, write, &r->attempts);
  core_text_free(&placeholders);

  for (int i = 0; i < MEASURED; i++) {
    if (code != CORE_OK) break;
    code = prepare_measured(target, source, measured[i].name, measured[i].order, &r->measured[i]);
  }
  return code;
}

/* Looks up a run in the target. *key: its key, 0 if it does not exist; *is_behind: whether the source has progressed
 * further. */
static int compare_run(StoreDatabase *target, Runs *r, const char *id, int64_t *key, bool *is_behind) {
  sqlite3_bind_text(r->find, 1, id, -1, SQLITE_STATIC);
  for (int c = 2; c <= 4; c++) sqlite3_bind_value(r->find, c, sqlite3_column_value(r->list, c));
  int step = sqlite3_step(r->find);
  *key = step == SQLITE_ROW ? sqlite3_column_int64(r->find, 0) : 0;
  *is_behind = step == SQLITE_ROW ? sqlite3_column_int(r->find, 1) != 0 : true;
  sqlite3_reset(r->find);
  return step == SQLITE_ROW || step == SQLITE_DONE ? CORE_OK : store_database_error(target, "read");
}

static int remove_run(StoreDatabase *target, Runs *r, const char *id) {
  for (int i = 0; i < REMOVALS; i++) {
    sqlite3_bind_text(r->remove[i], 1, id, -1, SQLITE_STATIC);
    TRY(store_database_run(target, r->remove[i]));
  }
  return CORE_OK;
}

/* Copies the attempts and measurements of a run. */
static int copy_measured(StoreDatabase *target, StoreDatabase *source, Runs *r, const char *id, StoreMerge *merge) {
  sqlite3_bind_text(r->attempts.read, 1, id, -1, SQLITE_STATIC);
  TRY(copy_rows(target, source, &r->attempts, 1, NULL));
  for (int i = 0; i < MEASURED; i++) {
    int64_t *rows = i == ITERATION    ? &merge->iterations
                    : i == EVALUATION ? &merge->evaluations
                                      : NULL;
    sqlite3_bind_text(r->measured[i].read, 1, id, -1, SQLITE_STATIC);
    TRY(copy_rows(target, source, &r->measured[i], 1, rows));
  }
  return CORE_OK;
}

static int merge_run(StoreDatabase *target, StoreDatabase *source, Runs *r, StoreMerge *merge) {
  char id[CORE_RUN_ID];
  const char *text = (const char *)sqlite3_column_text(r->list, 0);
  int64_t key, source_key = sqlite3_column_int64(r->list, 1);
  bool is_behind;

  if (!text || !store_is_run_id(text))
    return core_error(CORE_FAIL, "%s contains a run with an invalid id", source->path);
  memcpy(id, text, CORE_RUN_ID);
  TRY(compare_run(target, r, id, &key, &is_behind));

  if (key == 0) merge->runs_added++;
  else if (is_behind) merge->runs_replaced++;
  else merge->runs_kept++;
  TRY(merge_annotations(target, source, "run", id, id));
  if (!is_behind) return CORE_OK;

  if (key) TRY(remove_run(target, r, id));
  sqlite3_bind_int64(r->run.read, 1, source_key);
  if (key) sqlite3_bind_int64(r->run.write, 1, key);
  else sqlite3_bind_null(r->run.write, 1);
  TRY(copy_rows(target, source, &r->run, 2, NULL));
  return copy_measured(target, source, r, id, merge);
}

static int merge_runs(StoreDatabase *target, StoreDatabase *source, StoreMerge *merge) {
  Runs r = {0};
  int code = prepare_runs(target, source, &r), step = SQLITE_DONE;
  while (code == CORE_OK) {
    step = sqlite3_step(r.list);
    if (step != SQLITE_ROW) break;
    code = merge_run(target, source, &r, merge);
  }
  if (code == CORE_OK && step != SQLITE_DONE) code = store_database_error(source, "read");
  sqlite3_finalize(r.list);
  sqlite3_finalize(r.find);
  for (int i = 0; i < REMOVALS; i++) sqlite3_finalize(r.remove[i]);
  copy_close(&r.run);
  copy_close(&r.attempts);
  for (int i = 0; i < MEASURED; i++) copy_close(&r.measured[i]);
  return code;
}

int store_merge(StoreDatabase *target, StoreDatabase *source, StoreMerge *merge) {
  *merge = (StoreMerge){0};
  TRY(store_database_begin(target));
  int code = merge_runs(target, source, merge);
  if (code == CORE_OK) code = merge_sweeps(target, source, merge);
  if (code == CORE_OK) code = store_database_commit(target);
  if (code != CORE_OK) store_database_rollback(target);
  return code;
}

/* ---- mark ------------------------------------------------------------------------------------------------------- */

int store_merge_begin(StoreDatabase *target) {
  return store_database_execute(target, "CREATE TABLE IF NOT EXISTS merged(  -- this file was made by `analyze merge`: "
                                "nothing is imported into it\n  since REAL  -- unix time\n);"
                                "INSERT INTO merged SELECT unixepoch() WHERE NOT EXISTS (SELECT 1 FROM merged)");
}
