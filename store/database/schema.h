/* Schema of results.db, as SQL that database.c executes. SQLite keeps the comments inside it, so that
 * `sqlite3 results.db .schema` explains the tables. The columns come from tables.h and runlog.h. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H
#include "store/database/tables.h"

enum {
  STORE_SCHEMA_VERSION = 12,              /* PRAGMA user_version; sweep collect --rebuild recreates older files */
  STORE_SCHEMA_APPLICATION = 0x53574250,  /* PRAGMA application_id: "SWBP" */
  STORE_SCHEMA_PAGE_BYTES = 8192,         /* about 18 rows of iterations (docs/architecture.md) */
};

#define STORE_SQL_DECLARED(name, type, unit, comment) "  " #name " " type ",  -- " comment "\n"
#define STORE_SQL_COLUMN(name, unit, comment) "  " #name " REAL,  -- " unit "; " comment "\n"

static const char store_schema_tables[] =
  "CREATE TABLE schema_version(  -- one row for each version this file has had\n"
  STORE_VERSION_COLUMNS(STORE_SQL_DECLARED)
  "  PRIMARY KEY(version)\n"
  ");\n"
  "CREATE TABLE sweep(\n"
  STORE_SWEEP_COLUMNS(STORE_SQL_DECLARED)
  "  PRIMARY KEY(name)\n"
  ") WITHOUT ROWID;\n"
  "CREATE TABLE run(\n"
  STORE_RUN_COLUMNS(STORE_SQL_DECLARED)
  "  PRIMARY KEY(key), UNIQUE(id)\n"
  ");\n"
  "CREATE TABLE sweep_run(  -- the members of a sweep: its manifest\n"
  STORE_MEMBER_COLUMNS(STORE_SQL_DECLARED)
  "  PRIMARY KEY(sweep, idx)\n"
  ") WITHOUT ROWID;\n"
  "CREATE INDEX sweep_run_by_run ON sweep_run(run_id);\n"
  "CREATE TABLE attempt(  -- one start of the trainer\n"
  STORE_ATTEMPT_COLUMNS(STORE_SQL_DECLARED)
  "  PRIMARY KEY(run_id, attempt)\n"
  ") WITHOUT ROWID;\n"
  "CREATE TABLE iteration(  -- one rollout and its update\n"
  STORE_ITERATION_KEYS(STORE_SQL_DECLARED)
  STORE_ITERATION_COLUMNS(STORE_SQL_COLUMN)
  "  PRIMARY KEY(run_id, iteration)\n"
  ") WITHOUT ROWID;\n"
  "CREATE TABLE iteration_bin(  -- sums over 64 iterations of a run: gives KL and DDR without reading all rows\n"
  STORE_BIN_COLUMNS(STORE_SQL_DECLARED)
  "  PRIMARY KEY(run_id, bin)\n"
  ") WITHOUT ROWID;\n"
  "CREATE TABLE evaluation(\n"
  STORE_EVALUATION_KEYS(STORE_SQL_DECLARED)
  STORE_EVALUATION_COLUMNS(STORE_SQL_COLUMN)
  "  PRIMARY KEY(run_id, iteration, level_set)\n"
  ") WITHOUT ROWID;\n"
  "CREATE TABLE layer(  -- network layers at measured iterations, with metrics.layers\n"
  STORE_LAYER_KEYS(STORE_SQL_DECLARED)
  STORE_LAYER_COLUMNS(STORE_SQL_COLUMN)
  "  PRIMARY KEY(run_id, iteration, network, layer)\n"
  ") WITHOUT ROWID;\n"
  "CREATE TABLE metric(  -- metrics without a column above: those of programs and environments' info\n"
  STORE_METRIC_KEYS(STORE_SQL_DECLARED)
  STORE_METRIC_NUMBERS(STORE_SQL_COLUMN)
  "  PRIMARY KEY(run_id, name, iteration)\n"
  ") WITHOUT ROWID;\n"
  "CREATE TABLE annotation(  -- tags, notes and pins: copies of the workspace's annotation files\n"
  STORE_ANNOTATION_COLUMNS(STORE_SQL_DECLARED)
  "  PRIMARY KEY(subject, name, key, value)\n"
  ") WITHOUT ROWID;\n"
  "CREATE TABLE run_log(  -- import progress of each run log; committed together with its rows\n"
  STORE_LOG_FILE_COLUMNS(STORE_SQL_DECLARED)
  "  PRIMARY KEY(run_id, attempt, kind)\n"
  ") WITHOUT ROWID;\n"
  "CREATE TABLE run_import(  -- state at the last import, to skip runs where nothing can have changed\n"
  STORE_RUN_IMPORT_COLUMNS(STORE_SQL_DECLARED)
  "  PRIMARY KEY(run)\n"
  ");\n";

#define STORE_SQL_LAYER_METRIC(name, unit, comment) \
  " UNION ALL SELECT run_id, iteration, network, layer, '" #name "', " #name " FROM layer WHERE " #name " IS NOT NULL\n"

/* DDR of a run: transitions of the iterations with a known KL / the sum of their KL.
 *
 * DuckDB also runs these views, with its own functions and types. They use only SQL that means the same in both: every
 * column is grouped by or aggregated, CROSS JOIN has no ON, JSON text loses its quotes, and CAST gives the type of
 * expressions. DuckDB lacks iif, so that it leaves the view `setting` to SQLite: its own json_each would return text
 * as JSON in quotes. */
static const char store_schema_views[] =
  "CREATE VIEW layer_metric AS  -- the table layer, one row per value\n"
  "SELECT run_id, iteration, network, layer, '' AS metric, transitions AS value FROM layer WHERE 1 = 0\n"
  STORE_LAYER_COLUMNS(STORE_SQL_LAYER_METRIC) ";\n"
  "CREATE VIEW setting AS  -- one row per setting of a run\n"
  "SELECT run.id AS run_id, CAST(section.key || '.' || entry.key AS TEXT) AS name,\n"
  "  CASE  -- JSON has no infinity; a program's text may be 'inf'\n"
  "    WHEN entry.atom NOT IN ('inf', '-inf') OR section.key = 'program' THEN entry.atom\n"
  "    WHEN section.key = 'settings' AND NOT EXISTS (SELECT 1 FROM json_each(run.config, '$.infinite') AS infinite\n"
  "      WHERE infinite.value = entry.key) THEN entry.atom\n"
  "    WHEN entry.atom = 'inf' THEN 9e999\n"
  "    WHEN entry.atom = '-inf' THEN -9e999\n"
  "  END AS value\n"
  "FROM run, json_each(run.config) AS section, json_each(section.value) AS entry\n"
  "WHERE iif(section.type = 'object', 1, 0);\n"
  "CREATE VIEW run_ddr AS  -- a subquery per run, so that a query for one run reads only that run\n"
  "SELECT id AS run_id,\n"
  "  CAST((SELECT sum(kl_transitions) / sum(kl_sum)\n"
  "        FROM iteration_bin WHERE iteration_bin.run_id = run.id) AS DOUBLE)\n"
  "    AS ddr\n"
  "FROM run;\n"
  "CREATE VIEW best_solve_rate AS  -- best evaluation per level set, and where it was first reached\n"
  "SELECT e.run_id, e.level_set, e.solve_rate, e.iteration, e.transitions,\n"
  "  CAST((SELECT ddr FROM run_ddr WHERE run_ddr.run_id = e.run_id) AS DOUBLE) AS ddr\n"
  "FROM (SELECT run_id, level_set, solve_rate, iteration, transitions,\n"
  "        row_number() OVER (PARTITION BY run_id, level_set ORDER BY solve_rate DESC, iteration) AS place\n"
  "      FROM evaluation WHERE solve_rate IS NOT NULL) AS e WHERE e.place = 1;\n"
  "CREATE VIEW run_summary AS\n"
  "SELECT run.id AS run_id, run.status, run.seed,\n"
  "  CAST((SELECT group_concat(sweep, ' ')\n"
  "        FROM (SELECT DISTINCT sweep FROM sweep_run WHERE run_id = run.id)) AS TEXT) AS sweeps,\n"
  "  CAST(trim(json_extract(config, '$.env.task'), '\"') AS TEXT) AS task,\n"
  "  CAST(trim(json_extract(config, '$.algo.name'), '\"') AS TEXT) AS algorithm,\n"
  "  run.iteration, run.iterations, run.transitions,\n"
  "  -- on the training levels; see best_solve_rate for all level sets, and evaluation for returns\n"
  "  CAST((SELECT max(solve_rate) FROM evaluation WHERE run_id = run.id AND level_set = 'train') AS DOUBLE)\n"
  "    AS best_solve_rate,\n"
  "  CAST((SELECT solve_rate FROM evaluation WHERE run_id = run.id AND level_set = 'train'\n"
  "        ORDER BY iteration DESC LIMIT 1) AS DOUBLE) AS last_solve_rate,\n"
  "  CAST((SELECT max(episode_return) FROM evaluation WHERE run_id = run.id AND level_set = 'train') AS DOUBLE)\n"
  "    AS best_return,\n"
  "  CAST((SELECT episode_return FROM evaluation WHERE run_id = run.id AND level_set = 'train'\n"
  "        ORDER BY iteration DESC LIMIT 1) AS DOUBLE) AS last_return,\n"
  "  CAST((SELECT ddr FROM run_ddr WHERE run_id = run.id) AS DOUBLE) AS ddr,\n"
  "  run.steps_per_second, run.train_seconds, run.attempt, run.host, run.device, run.git_commit, run.message,\n"
  "  CAST((SELECT group_concat(value, ' ') FROM annotation\n"
  "        WHERE subject = 'run' AND name = run.id AND key = 'tag') AS TEXT) AS tags,\n"
  "  CAST((SELECT max(value) FROM annotation\n"
  "        WHERE subject = 'run' AND name = run.id AND key = 'note') AS TEXT) AS note,\n"
  "  run.code, run.code_files\n"
  "FROM run;\n";

#endif
