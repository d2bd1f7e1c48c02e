/* results.db's schema, as rows of SQL that database.c executes. The comments inside the SQL stay in the database, so
 * that `sqlite3 results.db .schema` explains it. The columns come from tables.h and runlog.h.
 *
 * Iterations are kept in chunks of 256, their columns packed (pack_internal.h); the view `iteration` makes rows of them
 * again in plain SQL, for any program that reads SQLite. Our own connections have a virtual table `iteration_row`
 * (rows.c) that does the same many times faster, and a temporary view `iteration` over it in the place of the other;
 * other programs can load both (extension.c). */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H
#include "store/database/tables.h"

enum {
  /* PRAGMA user_version; 2: more columns; 3: more, and views by level set; 4: more; 5: bins; 6: iterations in chunks;
   * 7: layers; 8: views that DuckDB reads too; 9: annotations;
   * 10: the code of runs */
  STORE_SCHEMA_VERSION = 10,
  STORE_SCHEMA_CODE = 10,   /* the first with the columns code and code_files */
  STORE_SCHEMA_ANNOTATIONS = 9, /* the first with the table annotation */
  STORE_SCHEMA_LAYERS = 7,  /* the first with the table layer */
  STORE_SCHEMA_CHUNKS = 6,  /* the first with iteration_chunk; before it, iteration_row was a table */
  STORE_SCHEMA_BINS = 5,    /* the first with iteration_bin */
  STORE_SCHEMA_APPLICATION = 0x53574250,  /* PRAGMA application_id: "SWBP" */
  STORE_SCHEMA_PAGE_BYTES = 4096,   /* a chunk is some 40 KB: what it leaves of its last page is lost */
};

#define STORE_SQL_DECLARED(name, type, unit, comment) "  " #name " " type ",  -- " comment "\n"
#define STORE_SQL_COLUMN(name, unit, comment) "  " #name " REAL,  -- " unit "; " comment "\n"
#define STORE_SQL_PACKED_COLUMN(name, unit, comment) "  " #name ",  -- " unit "; " comment "\n"
#define STORE_SQL_NOTHING(name, unit, comment) ", NULL AS " #name
#define STORE_SQL_FROM_DATA(name, unit, comment) ", data." #name " AS " #name

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
  "CREATE TABLE evaluation(\n"
  STORE_EVALUATION_KEYS(STORE_SQL_DECLARED)
  STORE_EVALUATION_COLUMNS(STORE_SQL_COLUMN)
  "  PRIMARY KEY(run_id, iteration, level_set)\n"
  ") WITHOUT ROWID;\n"
  "CREATE TABLE run_log(  -- how far each run log is imported; committed together with its rows\n"
  STORE_LOG_FILE_COLUMNS(STORE_SQL_DECLARED)
  "  PRIMARY KEY(run_id, attempt, kind)\n"
  ") WITHOUT ROWID;\n"
  "CREATE TABLE run_import(  -- what the importer saw last, to pass over runs where nothing can have changed\n"
  STORE_SEEN_COLUMNS(STORE_SQL_DECLARED)
  "  PRIMARY KEY(run)\n"
  ");\n";

/* Iterations, and what chunk.c derives from them. */
static const char store_schema_iterations[] =
  "CREATE TABLE IF NOT EXISTS iteration_chunk(  -- up to 256 iterations of a run; read them in the view `iteration`\n"
  STORE_CHUNK_KEYS(STORE_SQL_DECLARED)
  STORE_ITERATION_COLUMNS(STORE_SQL_PACKED_COLUMN)
  "  PRIMARY KEY(chunk)\n"
  ");\n"
  "CREATE TABLE IF NOT EXISTS iteration_place(place INTEGER PRIMARY KEY);  -- 0 to 255, for the view `iteration`\n"
  "INSERT OR IGNORE INTO iteration_place\n"
  "  WITH RECURSIVE counted(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM counted WHERE i < 255)"
  " SELECT i FROM counted;\n"
  "CREATE TABLE IF NOT EXISTS iteration_bin("
  "  -- sums over 64 iterations of a run: KL and DDR without reading all rows\n"
  STORE_BIN_COLUMNS(STORE_SQL_DECLARED)
  "  PRIMARY KEY(bin)\n"
  ");\n";

/* Layers of networks: few and only where they were asked for. */
static const char store_schema_layers[] =
  "CREATE TABLE IF NOT EXISTS layer(  -- at measured iterations, with metrics.layers\n"
  STORE_LAYER_KEYS(STORE_SQL_DECLARED)
  STORE_LAYER_COLUMNS(STORE_SQL_COLUMN)
  "  PRIMARY KEY(run_id, iteration, network, layer)\n"
  ") WITHOUT ROWID;\n";

/* For a file of a version before it that is only read. */
static const char store_schema_no_layers[] =
  "CREATE TEMP VIEW layer AS SELECT '' AS run_id, 0 AS iteration, '' AS network, 0 AS layer"
  STORE_LAYER_COLUMNS(STORE_SQL_NOTHING) " WHERE 0;\n";

/* Tags, notes and pinned runs: copies of the workspace's files. */
static const char store_schema_annotations[] =
  "CREATE TABLE IF NOT EXISTS annotation(  -- sweep tag, sweep note and sweep pin\n"
  STORE_ANNOTATION_COLUMNS(STORE_SQL_DECLARED)
  "  PRIMARY KEY(subject, name, key, value)\n"
  ") WITHOUT ROWID;\n";

/* Comes to a file of a version before it. */
static const char store_schema_code[] =
  "ALTER TABLE run ADD COLUMN code TEXT; ALTER TABLE run ADD COLUMN code_files TEXT;"
  "ALTER TABLE attempt ADD COLUMN code TEXT; ALTER TABLE attempt ADD COLUMN code_files TEXT;";

/* For a file of a version before it that is only read. */
static const char store_schema_no_code[] =
  "CREATE TEMP VIEW run AS SELECT *, NULL AS code, NULL AS code_files FROM main.run;"
  "CREATE TEMP VIEW attempt AS SELECT *, NULL AS code, NULL AS code_files FROM main.attempt;";

/* For a file of a version before it that is only read. */
static const char store_schema_no_annotations[] =
  "CREATE TEMP VIEW annotation AS SELECT '' AS subject, '' AS name, '' AS key, '' AS value WHERE 0;\n";

#define STORE_SQL_METRIC(name, unit, comment) \
  " UNION ALL SELECT run_id, iteration, network, layer, '" #name "', " #name " FROM layer WHERE " #name " IS NOT NULL\n"

/* Made anew with every version of the schema, and `iteration` with them (database.c). */
static const char store_schema_drop_views[] =
  "DROP VIEW IF EXISTS best_solve_rate; DROP VIEW IF EXISTS run_summary; DROP VIEW IF EXISTS run_ddr;\n"
  "DROP VIEW IF EXISTS iteration; DROP VIEW IF EXISTS layer_metric;\n";

/* DDR of a run: transitions of the iterations whose KL is known / the sum of their KL.
 *
 * Other programs read these texts too: DuckDB runs what it can bind itself, with its own functions and types. So they
 * are of the SQL that both read alike: every column grouped by or summed up, no ON behind CROSS JOIN, text that JSON
 * holds without its quotes; and CAST says the type of what no table declares. */
static const char store_schema_views[] =
  "CREATE VIEW layer_metric AS  -- the table layer, a row for each value\n"
  "SELECT run_id, iteration, network, layer, '' AS metric, transitions AS value FROM layer WHERE 1 = 0\n"
  STORE_LAYER_COLUMNS(STORE_SQL_METRIC) ";\n"
  "CREATE VIEW run_ddr AS  -- by a subquery a run, so that asking for one run reads one run\n"
  "SELECT id AS run_id,\n"
  "  CAST((SELECT sum(kl_transitions) / sum(kl_sum) FROM iteration_bin\n"
  "   WHERE bin BETWEEN run.key << 26 AND (run.key << 26) + 67108863) AS DOUBLE) AS ddr\n"
  "FROM run;\n"
  "CREATE VIEW best_solve_rate AS  -- of the evaluations, by level set, and where it was first reached\n"
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
  "  -- on the levels trained on; best_solve_rate has those of all level sets\n"
  "  CAST((SELECT max(solve_rate) FROM evaluation WHERE run_id = run.id AND level_set = 'train') AS DOUBLE)\n"
  "    AS best_solve_rate,\n"
  "  CAST((SELECT solve_rate FROM evaluation WHERE run_id = run.id AND level_set = 'train'\n"
  "        ORDER BY iteration DESC LIMIT 1) AS DOUBLE) AS last_solve_rate,\n"
  "  CAST((SELECT ddr FROM run_ddr WHERE run_id = run.id) AS DOUBLE) AS ddr,\n"
  "  run.steps_per_second, run.train_seconds, run.attempt, run.host, run.device, run.git_commit, run.message,\n"
  "  CAST((SELECT group_concat(value, ' ') FROM annotation\n"
  "        WHERE subject = 'run' AND name = run.id AND key = 'tag') AS TEXT) AS tags,\n"
  "  CAST((SELECT max(value) FROM annotation\n"
  "        WHERE subject = 'run' AND name = run.id AND key = 'note') AS TEXT) AS note,\n"
  "  run.code, run.code_files\n"
  "FROM run;\n";

/* The rows of `iteration` in connections that have rows.c's `iteration_row`: ours, and those that load extension.c. */
static const char store_schema_fast_view[] =
  "CREATE TEMP VIEW IF NOT EXISTS iteration AS SELECT run.id AS run_id, data.row & 4294967295 AS iteration"
  STORE_ITERATION_COLUMNS(STORE_SQL_FROM_DATA)
  " FROM main.run CROSS JOIN iteration_row AS data ON data.row BETWEEN run.key << 32 AND run.key << 32 | 4294967295;\n";

#endif
