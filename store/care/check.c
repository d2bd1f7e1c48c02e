/* `analyze check`: what can be wrong with results.db, and what of it can be mended (maintain.h). Each check is a
 * statement that finds subjects, with the words for them; those that need more than SQL (gaps, logs) are functions.
 * Repairs never invent rows: they delete what belongs to nothing, or have the importer read a run's logs again. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/origin.h"
#include "store/care/maintain.h"
#include "store/database/bulk_internal.h"
#include "store/database/database_internal.h"
#include "store/runlog/runlog_internal.h"
#include "store/workspace/paths.h"

enum { FORGOTTEN = 5 };
#define MERGED "coalesce(merged_iterations, 1)" /* iterations of a row */

typedef struct Checking {
  StoreDatabase *database;
  const char *root;          /* NULL: no logs to compare */
  bool repair;
  void (*tell)(void *, const StoreFinding *);
  void *context;
  StoreCheck *check;
  sqlite3_stmt *forget[FORGOTTEN]; /* deletes what the importer knows and has of a run */
} Checking;

static void tell(Checking *c, StoreSeverity severity, const char *subject, const char *text, StoreRemedy possible) {
  bool done = c->repair && possible != STORE_REMEDY_NONE;
  StoreFinding finding = {severity, subject, text, possible != STORE_REMEDY_NONE, done ? possible : STORE_REMEDY_NONE};
  c->check->findings[severity]++;
  c->check->repairable += finding.repairable;
  c->check->repaired += done;
  c->tell(c->context, &finding);
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static int check_file(Checking *c) {
  sqlite3_stmt *statement = NULL;
  int step;
  TRY(store_database_prepare(c->database, "PRAGMA integrity_check(20)", &statement));
  while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(statement, 0);
    char words[400];
    if (!text || strcmp(text, "ok") == 0) continue;
    snprintf(words, sizeof words, "%.300s; make it anew from the run logs with: sweep rebuild", text);
    tell(c, STORE_DAMAGE, "file", words, STORE_REMEDY_NONE);
  }
  int code = step == SQLITE_DONE ? CORE_OK : store_database_error(c->database, "check");
  sqlite3_finalize(statement);
  return code;
}

/* ---- rows that belong to nothing, impossible values -------------------------------------------------------------- */

/* count: the first column is the number of bad rows; remove: deletes them (NULL: no repair). */
typedef struct Rule { StoreSeverity severity; const char *subject, *text, *count, *remove; } Rule;

#define NO_RUN "run_id NOT IN (SELECT id FROM run)"
#define OF_NO_RUN(table) \
  {STORE_DAMAGE, table, "rows of runs that are not in `run`", "SELECT count(*) FROM " table " WHERE " NO_RUN, \
   "DELETE FROM " table " WHERE " NO_RUN}
static const Rule rules[] = {
  OF_NO_RUN("iteration"), OF_NO_RUN("iteration_bin"), OF_NO_RUN("evaluation"), OF_NO_RUN("layer"),
  OF_NO_RUN("metric"), OF_NO_RUN("attempt"), OF_NO_RUN("run_log"),
  {STORE_DAMAGE, "run_import", "rows of runs that are not in `run`",
   "SELECT count(*) FROM run_import WHERE run NOT IN (SELECT key FROM run)",
   "DELETE FROM run_import WHERE run NOT IN (SELECT key FROM run)"},
  {STORE_DAMAGE, "sweep_run", "members of sweeps that are not in `sweep`, or runs that are not in `run`",
   "SELECT count(*) FROM sweep_run WHERE " NO_RUN " OR sweep NOT IN (SELECT name FROM sweep)",
   "DELETE FROM sweep_run WHERE " NO_RUN " OR sweep NOT IN (SELECT name FROM sweep)"},
  {STORE_DAMAGE, "run", "settings that are no JSON; such runs stand in no figure",
   "SELECT count(*) FROM run WHERE config IS NOT NULL AND NOT json_valid(config)", NULL},
  {STORE_WARNING, "run", "without settings (config.ini was not readable); such runs stand in no figure",
   "SELECT count(*) FROM run WHERE config IS NULL", NULL},
  {STORE_NOTE, "run", "in no sweep (started by hand, or the sweep's folder is gone)",
   "SELECT count(*) FROM run WHERE id NOT IN (SELECT run_id FROM sweep_run)", NULL},
  {STORE_DAMAGE, "evaluation", "solve rates outside 0..1",
   "SELECT count(*) FROM evaluation WHERE solve_rate < 0 OR solve_rate > 1", NULL},
  {STORE_WARNING, "evaluation", "infinite values",
   "SELECT count(*) FROM evaluation WHERE abs(solve_rate) = 9e999 OR abs(episode_return) = 9e999"
   " OR abs(transitions) = 9e999", NULL},
  {STORE_WARNING, "run", "failed, diverged or lost; `analyze sql` their `message`",
   "SELECT count(*) FROM run WHERE status IN ('failed', 'diverged', 'lost')", NULL},
};

static int check_rules(Checking *c) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    int64_t count;
    char words[256];
    TRY(store_database_int(c->database, rules[i].count, &count));
    if (count == 0) continue;
    snprintf(words, sizeof words, "%" PRId64 " %s", count, rules[i].text);
    tell(c, rules[i].severity, rules[i].subject, words, rules[i].remove ? STORE_REMEDY_DELETED : STORE_REMEDY_NONE);
    if (c->repair && rules[i].remove) TRY(store_database_execute(c->database, rules[i].remove));
  }
  return CORE_OK;
}

/* ---- a run ------------------------------------------------------------------------------------------------------ */

/* begun: the iteration of another run that it goes on from; 0: none, -1: not known. */
typedef struct Run { int64_t progress, begun; char id[CORE_RUN_ID]; bool ended; } Run;

/* Has every log that was imported still its place in the workspace, so that it can be read again? */
typedef struct Logs { int64_t count, missing, differing, shorter, damaged_lines; char first[240]; } Logs;

static void look_at_log(Checking *c, Logs *logs, const char *file, int64_t offset, uint32_t mark, int64_t damage) {
  char path[CORE_PATH_MAX];
  int64_t size;
  uint32_t now;
  const char *fault = NULL;
  char words[160];
  logs->count++;
  logs->damaged_lines += damage;
  if (strstr(file, "..") || *file == '/' || core_files_path(path, "%s/%s", c->root, file) != CORE_OK ||
      store_runlog_mark(path, offset, &size, &now) != CORE_OK) {
    core_error_clear();
    logs->missing++;
    fault = "is gone or cannot be read";
  } else if (size < offset) {
    logs->shorter++;
    snprintf(words, sizeof words, "is %" PRId64 " bytes shorter than what was imported; its rows are kept here: "
             "restore it from a backup", offset - size);
    fault = words;
  } else if (now != mark) {
    logs->differing++;
    fault = "is not the file that was imported (checksum)";
  }
  if (fault && !*logs->first) snprintf(logs->first, sizeof logs->first, "%.100s %s", file, fault);
}

static int look_at_logs(Checking *c, sqlite3_stmt *statement, const Run *run, Logs *logs) {
  int step;
  *logs = (Logs){0};
  sqlite3_bind_text(statement, 1, run->id, -1, SQLITE_STATIC);
  while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
    const char *file = (const char *)sqlite3_column_text(statement, 0);
    if (c->root) {
      look_at_log(c, logs, file ? file : "", sqlite3_column_int64(statement, 1),
                  (uint32_t)sqlite3_column_int64(statement, 2), sqlite3_column_int64(statement, 3));
    } else {
      logs->damaged_lines += sqlite3_column_int64(statement, 3);
    }
  }
  sqlite3_reset(statement);
  c->check->logs += logs->count;
  return step == SQLITE_DONE ? CORE_OK : store_database_error(c->database, "check");
}

/* The next import finds the run as one that it never saw. */
static int forget_run(Checking *c, const Run *run) {
  static const char *const sql[FORGOTTEN] = {
    "DELETE FROM run_log WHERE run_id = ?1", "DELETE FROM iteration WHERE run_id = ?1",
    "DELETE FROM iteration_bin WHERE run_id = ?1", "DELETE FROM metric WHERE run_id = ?1",
    "DELETE FROM run_import WHERE run = (SELECT key FROM run WHERE id = ?1)"};
  for (int i = 0; i < FORGOTTEN; i++) {
    TRY(store_database_prepare(c->database, sql[i], &c->forget[i]));
    sqlite3_bind_text(c->forget[i], 1, run->id, -1, SQLITE_STATIC);
    TRY(store_database_run(c->database, c->forget[i]));
  }
  return CORE_OK;
}

typedef struct Rows { int64_t count, first, last, infinite; } Rows;

static int count_rows(Checking *c, sqlite3_stmt *statement, const Run *run, Rows *rows) {
  sqlite3_bind_text(statement, 1, run->id, -1, SQLITE_STATIC);
  int step = sqlite3_step(statement);
  if (step == SQLITE_ROW)
    *rows = (Rows){sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1),
                   sqlite3_column_int64(statement, 2), sqlite3_column_int64(statement, 3)};
  sqlite3_reset(statement);
  c->check->iterations += rows->count;
  return step == SQLITE_ROW ? CORE_OK : store_database_error(c->database, "check");
}

enum { COUNT_ROWS, FIRST_GAP, RUN_LOGS, RUN_STATEMENTS };
static const char *const run_sql[RUN_STATEMENTS] = {
  [COUNT_ROWS] = "SELECT sum(" MERGED "), min(iteration - " MERGED " + 1), max(iteration),"
                 " count(nullif(abs(kl) = 9e999, 0)) FROM iteration WHERE run_id = ?1",
  [FIRST_GAP] =
    "SELECT iteration + 1 FROM (SELECT iteration, lead(iteration - " MERGED ") OVER (ORDER BY iteration) AS before"
    " FROM iteration WHERE run_id = ?1) WHERE before > iteration ORDER BY iteration LIMIT 1",
  [RUN_LOGS] = "SELECT file, offset, mark, damage FROM run_log WHERE run_id = ?1 ORDER BY attempt, kind"};

static int check_run(Checking *c, sqlite3_stmt *const *statements, const Run *run) {
  char subject[40], words[320];
  Rows rows = {0};
  Logs logs;
  snprintf(subject, sizeof subject, "run %s", run->id);
  TRY(count_rows(c, statements[COUNT_ROWS], run, &rows));
  TRY(look_at_logs(c, statements[RUN_LOGS], run, &logs));
  bool again = c->root && logs.count > 0 && logs.missing + logs.shorter == 0, wanted = false;
  if (logs.missing + logs.differing + logs.shorter > 0) {
    c->check->shorter += logs.shorter;
    tell(c, logs.shorter ? STORE_DAMAGE : STORE_WARNING, subject, logs.first,
         again ? STORE_REMEDY_AGAIN : STORE_REMEDY_NONE);
    wanted = true;
  }
  if (logs.damaged_lines > 0) {
    snprintf(words, sizeof words, "%" PRId64 " damaged lines in its logs were passed over", logs.damaged_lines);
    tell(c, STORE_WARNING, subject, words, STORE_REMEDY_NONE);
  }
  const int64_t before = run->begun >= 0 ? run->begun : rows.first > 0 ? rows.first - 1 : 0;
  int64_t missing = rows.count ? rows.last - before - rows.count + (rows.first == 0) : 0;
  if (missing > 0) {
    int64_t gap = before + 1;
    sqlite3_bind_text(statements[FIRST_GAP], 1, run->id, -1, SQLITE_STATIC);
    if (rows.first <= gap && sqlite3_step(statements[FIRST_GAP]) == SQLITE_ROW)
      gap = sqlite3_column_int64(statements[FIRST_GAP], 0);
    sqlite3_reset(statements[FIRST_GAP]);
    snprintf(words, sizeof words, "%" PRId64 " of its %" PRId64 " iterations are missing, the first: %" PRId64 "%s",
             missing, rows.last - before, gap, logs.damaged_lines ? " (damaged lines)" : "");
    tell(c, STORE_WARNING, subject, words, again ? STORE_REMEDY_AGAIN : STORE_REMEDY_NONE);
    wanted = true;
  }
  if (run->ended && rows.last < run->progress) {
    snprintf(words, sizeof words, "its state says %" PRId64 " iterations, its rows end at %" PRId64, run->progress,
             rows.last);
    tell(c, STORE_WARNING, subject, words, again ? STORE_REMEDY_AGAIN : STORE_REMEDY_NONE);
    wanted = true;
  }
  if (rows.infinite > 0) {
    snprintf(words, sizeof words, "KL is infinite in %" PRId64 " iterations", rows.infinite);
    tell(c, STORE_WARNING, subject, words, STORE_REMEDY_NONE);
  }
  return c->repair && wanted && again ? forget_run(c, run) : CORE_OK;
}

/* init.from of a run that takes all over, its place in the budget too; NULL: of another. */
static int64_t begun_of(const char *from) {
  CoreOrigin origin;
  if (from == NULL || *from == '\0') return 0;
  return core_origin_parse(from, &origin) == CORE_OK && origin.is_run ? origin.iteration : -1;
}

static int check_runs(Checking *c) {
  sqlite3_stmt *list = NULL, *statements[RUN_STATEMENTS] = {NULL};
  int step = SQLITE_DONE;
  int code = store_database_prepare(c->database, "SELECT id, coalesce(iteration, 0), status = 'finished',"
                                    " CASE WHEN json_valid(config) AND json_extract(config, '$.init.restore') = 'all'"
                                    " THEN json_extract(config, '$.init.from') END FROM run ORDER BY id", &list);
  for (int i = 0; i < RUN_STATEMENTS && code == CORE_OK; i++)
    code = store_database_prepare(c->database, run_sql[i], &statements[i]);
  while (code == CORE_OK && (step = sqlite3_step(list)) == SQLITE_ROW) {
    Run run = {.progress = sqlite3_column_int64(list, 1), .ended = sqlite3_column_int(list, 2) != 0,
               .begun = begun_of((const char *)sqlite3_column_text(list, 3))};
    const char *id = (const char *)sqlite3_column_text(list, 0);
    c->check->runs++;
    if (!id || !store_is_run_id(id)) {
      tell(c, STORE_DAMAGE, "run", "an id that is none; its rows stand in no figure", STORE_REMEDY_NONE);
      continue;
    }
    memcpy(run.id, id, CORE_RUN_ID);
    code = check_run(c, statements, &run);
  }
  if (code == CORE_OK && step != SQLITE_DONE) code = store_database_error(c->database, "check");
  for (int i = 0; i < RUN_STATEMENTS; i++) sqlite3_finalize(statements[i]);
  sqlite3_finalize(list);
  return code;
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

/* Bins are sums of rows: their counts must be those of the rows. */
static int check_bins(Checking *c) {
  int64_t binned;
  TRY(store_database_int(c->database, "SELECT coalesce(sum(n), 0) FROM iteration_bin", &binned));
  int64_t rows;
  TRY(store_database_int(c->database, "SELECT coalesce(sum(" MERGED "), 0) FROM iteration", &rows));
  if (binned == rows) return CORE_OK;
  tell(c, STORE_DAMAGE, "iteration_bin", "the sums are not those of the rows", STORE_REMEDY_REBUILT);
  return c->repair ? store_bins_rebuild(c->database) : CORE_OK;
}

static int check_everything(Checking *c) {
  TRY(check_file(c));
  if (c->check->findings[STORE_DAMAGE]) return CORE_OK; /* what a damaged file says means nothing */
  TRY(check_rules(c));
  TRY(check_runs(c));
  TRY(check_bins(c));
  return store_database_int(c->database, "SELECT count(*) FROM evaluation", &c->check->evaluations);
}

int store_check(StoreDatabase *database, const char *root, bool repair,
                void (*tell_finding)(void *context, const StoreFinding *finding), void *context, StoreCheck *check) {
  Checking c = {.database = database, .root = root, .repair = repair, .tell = tell_finding, .context = context,
                .check = check};
  *check = (StoreCheck){0};
  if (repair && database->read_only)
    return core_error(CORE_USAGE, "%s is open for reading only: it cannot be repaired", database->path);
  if (repair) TRY(store_database_begin(database));
  int code = check_everything(&c);
  for (int i = 0; i < FORGOTTEN; i++) sqlite3_finalize(c.forget[i]);
  if (repair && code == CORE_OK) code = store_database_commit(database);
  if (repair && code != CORE_OK) store_database_rollback(database);
  return code;
}
