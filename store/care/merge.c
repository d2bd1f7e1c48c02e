/* The union of two databases, for runs of two clusters (maintain.h). A run moves as a whole: from where it got further.
 * Rows are read from one connection and written through another, so that the source is opened by the rules of all
 * reading (whose file, which version, read-only) and never attached. What the importer knows of a workspace's files
 * (run_log, run_import) stays behind: the merged database has other files, or none. */
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

/* The columns of a table that both have: a source of an earlier commit lacks the last ones. */
static int common_columns(StoreDatabase *target, StoreDatabase *source, const char *table, CoreText *list) {
  sqlite3_stmt *ours = NULL, *theirs = NULL;
  static const char sql[] = "SELECT name FROM pragma_table_info(?1) WHERE ?2 IS NULL OR name = ?2";
  int code = store_database_prepare(target, sql, &ours), step = SQLITE_DONE;
  if (code == CORE_OK) code = store_database_prepare(source, sql, &theirs);
  if (code == CORE_OK) {
    sqlite3_bind_text(ours, 1, table, -1, SQLITE_STATIC);
    sqlite3_bind_text(theirs, 1, table, -1, SQLITE_STATIC);
  }
  while (code == CORE_OK && (step = sqlite3_step(ours)) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(ours, 0); /* a column of the schema that this program made */
    sqlite3_bind_text(theirs, 2, name, -1, SQLITE_TRANSIENT);
    if (sqlite3_step(theirs) == SQLITE_ROW) core_text_appendf(list, "%s%s", list->length ? ", " : "", name);
    sqlite3_reset(theirs);
  }
  if (code == CORE_OK && step != SQLITE_DONE) code = store_database_error(target, "read");
  sqlite3_finalize(ours);
  sqlite3_finalize(theirs);
  return code;
}

/* "?, ?, ?" as many as the list has columns. */
static void append_places(CoreText *sql, const char *list) {
  core_text_append(sql, "?");
  for (const char *c = list; *c; c++) {
    if (*c == ',') core_text_append(sql, ", ?");
  }
}

/* Reads rows with one statement and writes each with another, value for value. */
typedef struct Copy { sqlite3_stmt *read, *write; } Copy;

static int copy_prepare(StoreDatabase *target, StoreDatabase *source, const char *read, const char *write, Copy *copy) {
  TRY(store_database_prepare(source, read, &copy->read));
  return store_database_prepare(target, write, &copy->write);
}

/* The statements' parameters are bound. skip: leading columns of `read` that are not written. */
static int copy_rows(StoreDatabase *target, StoreDatabase *source, Copy *copy, int place, int64_t *rows) {
  int step, columns = sqlite3_column_count(copy->read);
  while ((step = sqlite3_step(copy->read)) == SQLITE_ROW) {
    for (int c = 0; c < columns; c++) sqlite3_bind_value(copy->write, place + c, sqlite3_column_value(copy->read, c));
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

/* *name: as the sweep is to be called in the target; *present: it is there already. */
static int name_sweep(StoreDatabase *target, Sweeps *s, const char *name, const char *ini, char chosen[160],
                      bool *present) {
  snprintf(chosen, 160, "%s", name);
  for (int tries = 0; tries < 2; tries++) {
    sqlite3_bind_text(s->find, 1, chosen, -1, SQLITE_TRANSIENT);
    int step = sqlite3_step(s->find);
    const char *there = step == SQLITE_ROW ? (const char *)sqlite3_column_text(s->find, 0) : NULL;
    *present = step == SQLITE_ROW;
    bool same = *present && strcmp(there ? there : "", ini) == 0;
    sqlite3_reset(s->find);
    if (step != SQLITE_ROW && step != SQLITE_DONE) return store_database_error(target, "read");
    if (!*present || same) return CORE_OK;
    snprintf(chosen, 160, "%.100s.%08x", name, store_crc32(ini, strlen(ini)));
  }
  return core_error(CORE_FAIL, "%s holds another sweep under the names %s and %s", target->path, name, chosen);
}

/* What is said of a run or sweep, by its name in the source and in the target. Tags join; both notes and pins stay. */
static int merge_annotations(StoreDatabase *target, StoreDatabase *source, const char *subject, const char *name,
                             const char *chosen) {
  Copy copy = {NULL, NULL};
  int code = copy_prepare(target, source, "SELECT key, value FROM annotation WHERE subject = ?1 AND name = ?2",
                          "INSERT OR IGNORE INTO annotation(subject, name, key, value) VALUES(?1, ?2, ?3, ?4)", &copy);
  if (code == CORE_OK) {
    sqlite3_bind_text(copy.read, 1, subject, -1, SQLITE_STATIC);
    sqlite3_bind_text(copy.read, 2, name, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(copy.write, 1, subject, -1, SQLITE_STATIC);
    sqlite3_bind_text(copy.write, 2, chosen, -1, SQLITE_TRANSIENT);
    code = copy_rows(target, source, &copy, 3, NULL);
  }
  copy_close(&copy);
  return code;
}

static int merge_sweep(StoreDatabase *target, StoreDatabase *source, Sweeps *s, StoreMerge *merge) {
  const char *name = (const char *)sqlite3_column_text(s->read, 0),
             *ini = (const char *)sqlite3_column_text(s->read, 1);
  char chosen[160];
  bool present;
  TRY(core_text_check_name(name ? name : "", "a sweep's name"));
  TRY(name_sweep(target, s, name, ini ? ini : "", chosen, &present));
  if (!present) {
    sqlite3_bind_text(s->write, 1, chosen, -1, SQLITE_TRANSIENT);
    sqlite3_bind_value(s->write, 2, sqlite3_column_value(s->read, 1));
    sqlite3_bind_value(s->write, 3, sqlite3_column_value(s->read, 2));
    TRY(store_database_run(target, s->write));
    merge->sweeps++;
    merge->renamed_sweeps += strcmp(chosen, name) != 0;
  }
  Copy copy = {s->members, s->member};
  sqlite3_bind_text(s->members, 1, name, -1, SQLITE_TRANSIENT);
  sqlite3_bind_text(s->member, 1, chosen, -1, SQLITE_TRANSIENT);
  TRY(copy_rows(target, source, &copy, 2, NULL));
  return merge_annotations(target, source, "sweep", name, chosen);
}

/* Two places may have put other runs at one index (a search that saw other results): the later comes behind all. */
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
  while (code == CORE_OK && (step = sqlite3_step(s.read)) == SQLITE_ROW) code = merge_sweep(target, source, &s, merge);
  if (code == CORE_OK && step != SQLITE_DONE) code = store_database_error(source, "read");
  sqlite3_finalize(s.read);
  sqlite3_finalize(s.members);
  sqlite3_finalize(s.find);
  sqlite3_finalize(s.write);
  sqlite3_finalize(s.member);
  return code;
}

/* ---- runs ------------------------------------------------------------------------------------------------------- */

/* The tables of measured numbers, each with run_id as its first key. */
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
  sqlite3_stmt *list;    /* of the source */
  sqlite3_stmt *find;    /* in the target: key, and how far */
  sqlite3_stmt *remove[REMOVALS];
  Copy run, attempts, measured[MEASURED];
} Runs;

/* Prepares: SELECT the common columns of a run, INSERT them. */
static int prepare_measured(StoreDatabase *target, StoreDatabase *source, const char *table, const char *order,
                            Copy *copy) {
  CoreText list = {0}, read = {0}, write = {0};
  int code = common_columns(target, source, table, &list);
  const char *names = core_text_string(&list);
  core_text_appendf(&read, "SELECT %s FROM %s WHERE run_id = ?1 ORDER BY %s", names, table, order);
  core_text_appendf(&write, "INSERT INTO %s(%s) VALUES(", table, names);
  append_places(&write, names);
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
  CoreText places = {0};
  append_places(&places, run_columns);
  snprintf(read, sizeof read, "SELECT id, %s FROM run WHERE key = ?1", run_columns);
  snprintf(write, sizeof write, "INSERT OR REPLACE INTO run(key, id, %s) VALUES(?, ?, %s)", run_columns,
           core_text_string(&places));
  int code = copy_prepare(target, source, read, write, &r->run);
  core_text_clear(&places);
  append_places(&places, attempt_columns);
  snprintf(read, sizeof read, "SELECT %s FROM attempt WHERE run_id = ?1", attempt_columns);
  snprintf(write, sizeof write, "INSERT INTO attempt(%s) VALUES(%s)", attempt_columns, core_text_string(&places));
  if (code == CORE_OK) code = copy_prepare(target, source, read, write, &r->attempts);
  core_text_free(&places);
  for (int i = 0; i < MEASURED && code == CORE_OK; i++)
    code = prepare_measured(target, source, measured[i].name, measured[i].order, &r->measured[i]);
  return code;
}

/* *key: of the run in the target, 0 = it is not there; *further: the source got further. */
static int compare_run(StoreDatabase *target, Runs *r, const char *id, int64_t *key, bool *further) {
  sqlite3_bind_text(r->find, 1, id, -1, SQLITE_STATIC);
  for (int c = 2; c <= 4; c++) sqlite3_bind_value(r->find, c, sqlite3_column_value(r->list, c));
  int step = sqlite3_step(r->find);
  *key = step == SQLITE_ROW ? sqlite3_column_int64(r->find, 0) : 0;
  *further = step == SQLITE_ROW ? sqlite3_column_int(r->find, 1) != 0 : true;
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

/* The rows of its attempts and all that was measured. */
static int copy_measured(StoreDatabase *target, StoreDatabase *source, Runs *r, const char *id, StoreMerge *merge) {
  sqlite3_bind_text(r->attempts.read, 1, id, -1, SQLITE_STATIC);
  TRY(copy_rows(target, source, &r->attempts, 1, NULL));
  for (int i = 0; i < MEASURED; i++) {
    int64_t *rows = i == ITERATION ? &merge->iterations : i == EVALUATION ? &merge->evaluations : NULL;
    sqlite3_bind_text(r->measured[i].read, 1, id, -1, SQLITE_STATIC);
    TRY(copy_rows(target, source, &r->measured[i], 1, rows));
  }
  return CORE_OK;
}

static int merge_run(StoreDatabase *target, StoreDatabase *source, Runs *r, StoreMerge *merge) {
  char id[CORE_RUN_ID];
  const char *text = (const char *)sqlite3_column_text(r->list, 0);
  int64_t key, source_key = sqlite3_column_int64(r->list, 1);
  bool further;
  if (!text || !store_is_run_id(text)) return core_error(CORE_FAIL, "%s holds a run whose id is none", source->path);
  memcpy(id, text, CORE_RUN_ID);
  TRY(compare_run(target, r, id, &key, &further));
  *(key == 0 ? &merge->runs_added : further ? &merge->runs_replaced : &merge->runs_kept) += 1;
  TRY(merge_annotations(target, source, "run", id, id));
  if (!further) return CORE_OK;
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
  while (code == CORE_OK && (step = sqlite3_step(r.list)) == SQLITE_ROW) code = merge_run(target, source, &r, merge);
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

/* ---- what it is ------------------------------------------------------------------------------------------------- */

int store_merge_begin(StoreDatabase *target) {
  return store_database_execute(target, "CREATE TABLE IF NOT EXISTS merged(  -- this file was made by `analyze merge`: "
                                "nothing is imported into it\n  since REAL  -- unix time\n);"
                                "INSERT INTO merged SELECT unixepoch() WHERE NOT EXISTS (SELECT 1 FROM merged)");
}
