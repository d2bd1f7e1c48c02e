/* Finds and repairs inconsistencies of results.db for `analyze check` (maintain.h). Most checks are rows of a table (an
 * SQL count and a message); those that need more than SQL (gaps, logs) are functions. Repairs never invent rows: they
 * delete orphaned rows, or make the importer read a run's logs again. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "store/care/maintain.h"
#include "store/database/bulk_internal.h"
#include "store/database/database_internal.h"
#include "store/runlog/runlog_internal.h"
#include "store/workspace/paths.h"

enum { RESET_STATEMENTS = 5 };
#define MERGED "coalesce(merged_iterations, 1)" /* number of iterations in a row */

typedef struct Checker {
  StoreDatabase *database;
  const char *root;          /* workspace; NULL: logs are not compared */
  bool repair;
  void (*on_finding)(void *, const StoreFinding *);
  void *context;
  StoreCheck *check;
  sqlite3_stmt *reset[RESET_STATEMENTS]; /* delete the imported rows of a run and the importer's state */
} Checker;

/* Reports a finding and its possible remedy, which --repair applies. */
static void report(Checker *c, StoreSeverity severity, const char *subject, const char *text, StoreRemedy remedy) {
  const bool is_repairable = remedy != STORE_REMEDY_NONE, is_repaired = c->repair && is_repairable;
  const StoreFinding finding = {.severity = severity, .subject = subject, .text = text, .repairable = is_repairable,
                                .remedy = is_repaired ? remedy : STORE_REMEDY_NONE};
  c->check->findings[severity]++;
  c->check->repairable += is_repairable;
  c->check->repaired += is_repaired;
  c->on_finding(c->context, &finding);
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static int check_file(Checker *c) {
  sqlite3_stmt *statement = NULL;
  int step;
  TRY(store_database_prepare(c->database, "PRAGMA integrity_check(20)", &statement));
  while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
    const char *error = (const char *)sqlite3_column_text(statement, 0);
    char text[400];
    if (!error || strcmp(error, "ok") == 0) continue;
    snprintf(text, sizeof text, "%.300s; rebuild it from the run logs with: sweep collect --rebuild", error);
    report(c, STORE_DAMAGE, "file", text, STORE_REMEDY_NONE);
  }
  int code = step == SQLITE_DONE ? CORE_OK : store_database_error(c->database, "check");
  sqlite3_finalize(statement);
  return code;
}

/* ---- orphaned rows and invalid values ---------------------------------------------------------------------------- */

/* SQL that counts faulty rows, and SQL that deletes them (NULL: no repair). */
typedef struct Rule { StoreSeverity severity; const char *subject, *text, *count, *remove; } Rule;

#define OF_PROGRAM \
  "coalesce((SELECT iif(json_valid(config), json_type(config, '$.program') IS NOT NULL, 0)" \
  " FROM run WHERE id = run_id), 0)"
#define NO_RUN "run_id NOT IN (SELECT id FROM run)"
#define ORPHANS(table) \
  {STORE_DAMAGE, table, "rows of runs that are not in `run`", "SELECT count(*) FROM " table " WHERE " NO_RUN, \
   "DELETE FROM " table " WHERE " NO_RUN}
#define FOREIGN_RATES "values of a program's solve_rate are above 1, as of percent; log value / 100"
static const Rule rules[] = {
  ORPHANS("iteration"), ORPHANS("iteration_bin"), ORPHANS("evaluation"), ORPHANS("layer"),
  ORPHANS("metric"), ORPHANS("attempt"), ORPHANS("run_log"),
  {STORE_DAMAGE, "run_import", "rows of runs that are not in `run`",
   "SELECT count(*) FROM run_import WHERE run NOT IN (SELECT key FROM run)",
   "DELETE FROM run_import WHERE run NOT IN (SELECT key FROM run)"},
  {STORE_DAMAGE, "sweep_run", "members of sweeps that are not in `sweep`, or runs that are not in `run`",
   "SELECT count(*) FROM sweep_run WHERE " NO_RUN " OR sweep NOT IN (SELECT name FROM sweep)",
   "DELETE FROM sweep_run WHERE " NO_RUN " OR sweep NOT IN (SELECT name FROM sweep)"},
  {STORE_DAMAGE, "run", "with settings that are not JSON; no figure includes such runs",
   "SELECT count(*) FROM run WHERE config IS NOT NULL AND NOT json_valid(config)", NULL},
  {STORE_WARNING, "run", "without settings (config.ini was unreadable); no figure includes such runs",
   "SELECT count(*) FROM run WHERE config IS NULL", NULL},
  {STORE_NOTE, "run", "in no sweep (started by hand, or the sweep's directory was removed)",
   "SELECT count(*) FROM run WHERE id NOT IN (SELECT run_id FROM sweep_run)", NULL},
  {STORE_DAMAGE, "evaluation", "solve rates outside 0..1",
   "SELECT count(*) FROM evaluation WHERE (solve_rate < 0 OR solve_rate > 1) AND NOT " OF_PROGRAM, NULL},
  {STORE_WARNING, "evaluation", FOREIGN_RATES,
   "SELECT count(*) FROM evaluation WHERE solve_rate > 1 AND " OF_PROGRAM, NULL},
  {STORE_WARNING, "iteration", FOREIGN_RATES,
   "SELECT count(*) FROM iteration WHERE solve_rate > 1 AND " OF_PROGRAM, NULL},
  {STORE_WARNING, "evaluation", "values of a program's solve_rate are below 0",
   "SELECT count(*) FROM evaluation WHERE solve_rate < 0 AND " OF_PROGRAM, NULL},
  {STORE_WARNING, "evaluation", "infinite values",
   "SELECT count(*) FROM evaluation WHERE abs(solve_rate) = 9e999 OR abs(episode_return) = 9e999"
   " OR abs(transitions) = 9e999", NULL},
  {STORE_WARNING, "run", "failed, diverged or lost; the column `message` has the reason",
   "SELECT count(*) FROM run WHERE status IN ('failed', 'diverged', 'lost')", NULL},
};

static int check_rules(Checker *c) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    int64_t count;
    char text[256];
    TRY(store_database_int(c->database, rules[i].count, &count));
    if (count == 0) continue;
    snprintf(text, sizeof text, "%" PRId64 " %s", count, rules[i].text);
    report(c, rules[i].severity, rules[i].subject, text, rules[i].remove ? STORE_REMEDY_DELETED : STORE_REMEDY_NONE);
    if (c->repair && rules[i].remove) TRY(store_database_execute(c->database, rules[i].remove));
  }
  return CORE_OK;
}

/* ---- a run ------------------------------------------------------------------------------------------------------ */

typedef struct Run {
  char id[CORE_RUN_ID];
  int64_t progress;        /* iterations done according to its state */
  int64_t first_iteration; /* iteration of the run that it continues; 0: none, -1: unknown */
  bool is_finished;
} Run;

/* Result of comparing a run's logs with what was imported from them. */
typedef struct LogCheck {
  int64_t count, missing, changed, shorter, damaged_lines;
  char first_problem[240];
} LogCheck;

static void check_log(Checker *c, LogCheck *logs, const char *file, int64_t offset, uint32_t imported_crc,
                      int64_t damaged_lines) {
  char path[CORE_PATH_MAX], shorter[160];
  int64_t size;
  uint32_t crc;
  const char *problem = NULL;
  logs->count++;
  logs->damaged_lines += damaged_lines;

  if (strstr(file, "..") || *file == '/' || core_files_path(path, "%s/%s", c->root, file) != CORE_OK ||
      store_runlog_prefix_crc(path, offset, &size, &crc) != CORE_OK) {
    core_error_clear();
    logs->missing++;
    problem = "is missing or cannot be read";
  } else if (size < offset) {
    logs->shorter++;
    snprintf(shorter, sizeof shorter, "is %" PRId64 " bytes shorter than what was imported; its rows are kept here: "
             "restore it from a backup", offset - size);
    problem = shorter;
  } else if (crc != imported_crc) {
    logs->changed++;
    problem = "is not the file that was imported (checksum)";
  }

  if (problem && !*logs->first_problem)
    snprintf(logs->first_problem, sizeof logs->first_problem, "%.100s %s", file, problem);
}

static int check_logs(Checker *c, sqlite3_stmt *statement, const Run *run, LogCheck *logs) {
  int step;

  *logs = (LogCheck){0};
  sqlite3_bind_text(statement, 1, run->id, -1, SQLITE_STATIC);
  while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
    const char *file = (const char *)sqlite3_column_text(statement, 0);
    if (c->root) {
      check_log(c, logs, file ? file : "", sqlite3_column_int64(statement, 1),
                (uint32_t)sqlite3_column_int64(statement, 2), sqlite3_column_int64(statement, 3));
    } else {
      logs->damaged_lines += sqlite3_column_int64(statement, 3);
    }
  }

  sqlite3_reset(statement);
  c->check->logs += logs->count;
  return step == SQLITE_DONE ? CORE_OK : store_database_error(c->database, "check");
}

/* Deletes imported rows and the importer's state, so that the next import reads the run's logs from the start. */
static int reset_run(Checker *c, const Run *run) {
  static const char *const sql[RESET_STATEMENTS] = {
    "DELETE FROM run_log WHERE run_id = ?1", "DELETE FROM iteration WHERE run_id = ?1",
    "DELETE FROM iteration_bin WHERE run_id = ?1", "DELETE FROM metric WHERE run_id = ?1",
    "DELETE FROM run_import WHERE run = (SELECT key FROM run WHERE id = ?1)"};
  for (int i = 0; i < RESET_STATEMENTS; i++) {
    TRY(store_database_prepare(c->database, sql[i], &c->reset[i]));
    sqlite3_bind_text(c->reset[i], 1, run->id, -1, SQLITE_STATIC);
    TRY(store_database_run(c->database, c->reset[i]));
  }
  return CORE_OK;
}

typedef struct Rows { int64_t count, first, last, infinite; } Rows;

static int count_rows(Checker *c, sqlite3_stmt *statement, const Run *run, Rows *rows) {
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

/* Returns the iteration before the first row that the run should have. */
static int64_t find_start(const Run *run, const Rows *rows) {
  if (run->first_iteration >= 0) return run->first_iteration;
  return rows->first > 0 ? rows->first - 1 : 0;
}

/* Reports missing iterations. Returns whether there are any. */
static bool check_gaps(Checker *c, sqlite3_stmt *first_gap, const Run *run, const char *subject, const Rows *rows,
                       const LogCheck *logs, StoreRemedy remedy) {
  char text[320];
  const int64_t start = find_start(run, rows);
  const int64_t missing = rows->count ? rows->last - start - rows->count + (rows->first == 0) : 0;
  if (missing <= 0) return false;
  int64_t gap = start + 1;
  sqlite3_bind_text(first_gap, 1, run->id, -1, SQLITE_STATIC);
  if (rows->first <= gap && sqlite3_step(first_gap) == SQLITE_ROW) gap = sqlite3_column_int64(first_gap, 0);
  sqlite3_reset(first_gap);
  snprintf(text, sizeof text, "%" PRId64 " of its %" PRId64 " iterations are missing, the first: %" PRId64 "%s",
           missing, rows->last - start, gap, logs->damaged_lines ? " (damaged lines)" : "");
  report(c, STORE_WARNING, subject, text, remedy);
  return true;
}

static int check_run(Checker *c, sqlite3_stmt *const *statements, const Run *run) {
  char subject[40], text[320];
  Rows rows = {0};
  LogCheck logs;

  snprintf(subject, sizeof subject, "run %s", run->id);
  TRY(count_rows(c, statements[COUNT_ROWS], run, &rows));
  TRY(check_logs(c, statements[RUN_LOGS], run, &logs));
  const bool can_reimport = c->root && logs.count > 0 && logs.missing + logs.shorter == 0;
  const StoreRemedy remedy = can_reimport ? STORE_REMEDY_AGAIN : STORE_REMEDY_NONE;
  bool needs_reimport = false;

  if (logs.missing + logs.changed + logs.shorter > 0) {
    c->check->shorter += logs.shorter;
    report(c, logs.shorter ? STORE_DAMAGE : STORE_WARNING, subject, logs.first_problem, remedy);
    needs_reimport = true;
  }

  if (logs.damaged_lines > 0) {
    snprintf(text, sizeof text, "%" PRId64 " damaged lines in its logs were skipped", logs.damaged_lines);
    report(c, STORE_WARNING, subject, text, STORE_REMEDY_NONE);
  }
  if (check_gaps(c, statements[FIRST_GAP], run, subject, &rows, &logs, remedy)) needs_reimport = true;

  if (run->is_finished && rows.last < run->progress) {
    snprintf(text, sizeof text, "its state records %" PRId64 " iterations, but its rows end at %" PRId64,
             run->progress, rows.last);
    report(c, STORE_WARNING, subject, text, remedy);
    needs_reimport = true;
  }
  if (rows.infinite > 0) {
    snprintf(text, sizeof text, "KL is infinite in %" PRId64 " iterations", rows.infinite);
    report(c, STORE_WARNING, subject, text, STORE_REMEDY_NONE);
  }

  return c->repair && needs_reimport && can_reimport ? reset_run(c, run) : CORE_OK;
}

/* Returns the iteration that init.from names; 0 for NULL or "", -1 if it is not an iteration of a run. */
static int64_t parse_first_iteration(const char *from) {
  CoreOrigin origin;
  if (from == NULL || *from == '\0') return 0;
  return core_origin_parse(from, &origin) == CORE_OK && origin.is_run ? origin.iteration : -1;
}

static int check_runs(Checker *c) {
  sqlite3_stmt *list = NULL, *statements[RUN_STATEMENTS] = {NULL};
  int step = SQLITE_DONE;

  int code = store_database_prepare(c->database, "SELECT id, coalesce(iteration, 0), status = 'finished',"
                                    " CASE WHEN json_valid(config) AND json_extract(config, '$.init.restore') = 'all'"
                                    " THEN json_extract(config, '$.init.from') END FROM run ORDER BY id", &list);
  for (int i = 0; i < RUN_STATEMENTS; i++) {
    if (code != CORE_OK) break;
    code = store_database_prepare(c->database, run_sql[i], &statements[i]);
  }

  while (code == CORE_OK) {
    step = sqlite3_step(list);
    if (step != SQLITE_ROW) break;

    Run run = {.progress = sqlite3_column_int64(list, 1), .is_finished = sqlite3_column_int(list, 2) != 0,
               .first_iteration = parse_first_iteration((const char *)sqlite3_column_text(list, 3))};
    const char *id = (const char *)sqlite3_column_text(list, 0);
    c->check->runs++;
    if (!id || !store_is_run_id(id)) {
      report(c, STORE_DAMAGE, "run", "an invalid run id; no figure includes its rows", STORE_REMEDY_NONE);
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

/* Compares the counts of the bins, which are sums of rows, with those of the rows. */
static int check_bins(Checker *c) {
  int64_t binned;
  TRY(store_database_int(c->database, "SELECT coalesce(sum(n), 0) FROM iteration_bin", &binned));
  int64_t rows;
  TRY(store_database_int(c->database, "SELECT coalesce(sum(" MERGED "), 0) FROM iteration", &rows));
  if (binned == rows) return CORE_OK;
  report(c, STORE_DAMAGE, "iteration_bin", "the sums differ from those of the rows", STORE_REMEDY_REBUILT);
  return c->repair ? store_bins_rebuild(c->database) : CORE_OK;
}

static int check_everything(Checker *c) {
  TRY(check_file(c));
  if (c->check->findings[STORE_DAMAGE]) return CORE_OK; /* further findings in a damaged file would be meaningless */
  TRY(check_rules(c));
  TRY(check_runs(c));
  TRY(check_bins(c));
  return store_database_int(c->database, "SELECT count(*) FROM evaluation", &c->check->evaluations);
}

int store_check(StoreDatabase *database, const char *root, bool repair,
                void (*on_finding)(void *context, const StoreFinding *finding), void *context, StoreCheck *check) {
  Checker c = {.database = database, .root = root, .repair = repair, .on_finding = on_finding, .context = context,
               .check = check};
  *check = (StoreCheck){0};
  if (repair && database->read_only)
    return core_error(CORE_USAGE, "%s is open read-only: it cannot be repaired", database->path);
  if (repair) TRY(store_database_begin(database));
  int code = check_everything(&c);
  for (int i = 0; i < RESET_STATEMENTS; i++) sqlite3_finalize(c.reset[i]);
  if (repair && code == CORE_OK) code = store_database_commit(database);
  if (repair && code != CORE_OK) store_database_rollback(database);
  return code;
}
