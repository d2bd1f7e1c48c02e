/* results.db's schema, as rows of SQL that database.c executes. The comments inside the SQL stay in the database, so
 * that `sqlite3 results.db .schema` explains it. The columns of iterations and evaluations come from runlog.h.
 *
 * Iterations are kept in chunks of 256, their columns packed (pack_internal.h); the view `iteration` makes rows of them
 * again in plain SQL, for any program that reads SQLite. Our own connections have a virtual table `iteration_row`
 * (rows.c) that does the same many times faster, and a temporary view `iteration` over it in the place of the other. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H
#include "store/runlog.h"

enum {
  /* PRAGMA user_version; 2: more columns; 3: more, and views by level set; 4: more; 5: bins; 6: iterations in chunks;
   * 7: layers */
  STORE_SCHEMA_VERSION = 7,
  STORE_SCHEMA_LAYERS = 7,  /* the first with the table layer */
  STORE_SCHEMA_CHUNKS = 6,  /* the first with iteration_chunk; before it, iteration_row was a table */
  STORE_SCHEMA_BINS = 5,    /* the first with iteration_bin */
  STORE_SCHEMA_APPLICATION = 0x53574250,  /* PRAGMA application_id: "SWBP" */
  STORE_SCHEMA_PAGE_BYTES = 4096,   /* a chunk is some 40 KB: what it leaves of its last page is lost */
};

#define STORE_SQL_COLUMN(name, unit, comment) "  " #name " REAL,  -- " unit "; " comment "\n"
#define STORE_SQL_PACKED_COLUMN(name, unit, comment) "  , " #name "  -- " unit "; " comment "\n"
#define STORE_SQL_NOTHING(name, unit, comment) ", NULL AS " #name
#define STORE_SQL_FROM_DATA(name, unit, comment) ", data." #name " AS " #name

static const char store_schema_tables[] =
  "CREATE TABLE schema_version(  -- one row for each version this file has had\n"
  "  version INTEGER PRIMARY KEY,\n"
  "  program TEXT,     -- version and commit of the program that made it so\n"
  "  applied REAL      -- unix time\n"
  ");\n"
  "CREATE TABLE sweep(\n"
  "  name TEXT PRIMARY KEY,\n"
  "  ini TEXT,         -- the experiment file\n"
  "  created REAL      -- unix time\n"
  ") WITHOUT ROWID;\n"
  "CREATE TABLE run(\n"
  "  key INTEGER PRIMARY KEY,\n"
  "  id TEXT NOT NULL UNIQUE,   -- hash of the configuration; the folder runs/<id>\n"
  "  seed INTEGER,\n"
  "  config TEXT,               -- JSON: json_extract(config, '$.ppo.com'); NULL when config.ini can not be read\n"
  "  status TEXT NOT NULL DEFAULT 'pending',  -- pending running finished failed stopped diverged lost\n"
  "  attempt INTEGER NOT NULL DEFAULT 0,      -- the latest; 0 = never started\n"
  "  host TEXT, pid INTEGER, device TEXT, git_commit TEXT,\n"
  "  started REAL, heartbeat REAL, finished REAL,   -- unix time; of the latest attempt\n"
  "  iteration INTEGER, iterations INTEGER,         -- done, planned\n"
  "  transitions INTEGER, transitions_total INTEGER,\n"
  "  steps_per_second REAL, solve_rate REAL,        -- latest\n"
  "  train_seconds REAL,                            -- of all attempts\n"
  "  message TEXT                                   -- the last error\n"
  ");\n"
  "CREATE TABLE sweep_run(  -- the members of a sweep: its manifest; a run may belong to several\n"
  "  sweep TEXT NOT NULL, idx INTEGER NOT NULL, run_id TEXT NOT NULL,\n"
  "  PRIMARY KEY(sweep, idx)\n"
  ") WITHOUT ROWID;\n"
  "CREATE INDEX sweep_run_by_run ON sweep_run(run_id);\n"
  "CREATE TABLE attempt(  -- one start of the trainer; columns as in run\n"
  "  run_id TEXT NOT NULL, attempt INTEGER NOT NULL,\n"
  "  status TEXT,       -- NULL when only its run log is known\n"
  "  host TEXT, pid INTEGER, device TEXT, git_commit TEXT, started REAL, heartbeat REAL, finished REAL, message TEXT,\n"
  "  PRIMARY KEY(run_id, attempt)\n"
  ") WITHOUT ROWID;\n"
  "CREATE TABLE evaluation(\n"
  "  run_id TEXT NOT NULL,\n"
  "  iteration INTEGER NOT NULL,  -- after so many iterations\n"
  "  level_set TEXT NOT NULL,     -- which levels\n"
  STORE_EVALUATION_COLUMNS(STORE_SQL_COLUMN)
  "  PRIMARY KEY(run_id, iteration, level_set)\n"
  ") WITHOUT ROWID;\n"
  "CREATE TABLE run_log(  -- how far each run log is imported; committed together with its rows\n"
  "  run_id TEXT NOT NULL, attempt INTEGER NOT NULL, kind TEXT NOT NULL,\n"
  "  file TEXT NOT NULL,          -- below the workspace\n"
  "  offset INTEGER NOT NULL,     -- bytes\n"
  "  mark INTEGER NOT NULL,       -- CRC-32 of the bytes before the offset: tells growth from replacement\n"
  "  damage INTEGER NOT NULL,     -- lines that could not be read\n"
  "  first_damage INTEGER,        -- the first one's number\n"
  "  PRIMARY KEY(run_id, attempt, kind)\n"
  ") WITHOUT ROWID;\n"
  "CREATE TABLE run_import(  -- what the importer saw last, to pass over runs where nothing can have changed\n"
  "  run INTEGER PRIMARY KEY,     -- run.key\n"
  "  folder_time INTEGER NOT NULL,  -- of runs/<id>, nanoseconds; 0 = look again\n"
  "  mark INTEGER NOT NULL        -- CRC-32 of the state\n"
  ");\n";

/* Iterations, and what chunk.c derives from them. */
static const char store_schema_iterations[] =
  "CREATE TABLE IF NOT EXISTS iteration_chunk(  -- up to 256 iterations of a run; read them in the view `iteration`\n"
  "  chunk INTEGER PRIMARY KEY  -- run.key << 24 | iteration >> 8\n"
  "  , n INTEGER  -- how many\n"
  "  , iteration  -- this and the following columns are packed: docs/results.md says how\n" STORE_ITERATION_COLUMNS(
    STORE_SQL_PACKED_COLUMN) ");\n"
                             "CREATE TABLE IF NOT EXISTS iteration_place(place INTEGER PRIMARY KEY);  -- 0 to 255, for "
                             "the view `iteration`\n"
                             "INSERT OR IGNORE INTO iteration_place\n"
                             "  WITH RECURSIVE counted(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM counted WHERE i < "
                             "255) SELECT i FROM counted;\n"
                             "CREATE TABLE IF NOT EXISTS iteration_bin(  -- sums over 64 iterations of a run: KL and "
                             "DDR without reading all rows\n"
                             "  bin INTEGER PRIMARY KEY,  -- run.key << 26 | iteration >> 6\n"
                             "  n INTEGER,                -- iterations\n"
                             "  transitions REAL,         -- at the last of them\n"
                             "  kl_sum REAL,              -- of max(kl, 1e-12), where it is known\n"
                             "  kl_transitions REAL       -- of those iterations\n"
                             ");\n";

/* Layers of networks: few and only where they were asked for. */
static const char store_schema_layers[] =
  "CREATE TABLE IF NOT EXISTS layer(  -- at measured iterations, with metrics.layers\n"
  "  run_id TEXT NOT NULL,\n"
  "  iteration INTEGER NOT NULL,\n"
  "  network TEXT NOT NULL,       -- actor critic\n"
  "  layer INTEGER NOT NULL,      -- from 1; the last is the head\n"
  STORE_LAYER_COLUMNS(STORE_SQL_COLUMN)
  "  PRIMARY KEY(run_id, iteration, network, layer)\n"
  ") WITHOUT ROWID;\n";

/* For a file of a version before it that is only read. */
static const char store_schema_no_layers[] =
  "CREATE TEMP VIEW layer AS SELECT '' AS run_id, 0 AS iteration, '' AS network, 0 AS layer"
  STORE_LAYER_COLUMNS(STORE_SQL_NOTHING) " WHERE 0;\n";

#define STORE_SQL_METRIC(name, unit, comment) \
  " UNION ALL SELECT run_id, iteration, network, layer, '" #name "', " #name " FROM layer WHERE " #name " IS NOT NULL\n"

/* Made anew with every version of the schema, and `iteration` with them (database.c). DDR of a run: transitions of the
 * iterations whose KL is known / the sum of their KL. */
static const char store_schema_views[] =
  "DROP VIEW IF EXISTS best_solve_rate; DROP VIEW IF EXISTS run_summary; DROP VIEW IF EXISTS run_ddr;\n"
  "DROP VIEW IF EXISTS iteration; DROP VIEW IF EXISTS layer_metric;\n"
  "CREATE VIEW layer_metric AS  -- the table layer, a row for each value\n"
  "SELECT run_id, iteration, network, layer, '' AS metric, NULL AS value FROM layer WHERE 0\n"
  STORE_LAYER_COLUMNS(STORE_SQL_METRIC) ";\n"
  "CREATE VIEW run_ddr AS  -- by a subquery a run, so that asking for one run reads one run\n"
  "SELECT id AS run_id,\n"
  "  (SELECT sum(kl_transitions) / sum(kl_sum) FROM iteration_bin\n"
  "   WHERE bin BETWEEN run.key << 26 AND run.key << 26 | 67108863) AS ddr\n"
  "FROM run;\n"
  "CREATE VIEW best_solve_rate AS  -- of the evaluations, by level set, and where it was reached\n"
  "SELECT e.run_id, e.level_set, max(e.solve_rate) AS solve_rate, e.iteration, e.transitions,\n"
  "  (SELECT ddr FROM run_ddr WHERE run_ddr.run_id = e.run_id) AS ddr\n"
  "FROM evaluation AS e WHERE e.solve_rate IS NOT NULL GROUP BY e.run_id, e.level_set;\n"
  "CREATE VIEW run_summary AS\n"
  "SELECT run.id AS run_id, run.status, run.seed,\n"
  "  (SELECT group_concat(sweep, ' ') FROM (SELECT DISTINCT sweep FROM sweep_run WHERE run_id = run.id)) AS sweeps,\n"
  "  json_extract(config, '$.env.task') AS task, json_extract(config, '$.algo.name') AS algorithm,\n"
  "  run.iteration, run.iterations, run.transitions,\n"
  "  -- on the levels trained on; best_solve_rate has those of all level sets\n"
  "  (SELECT max(solve_rate) FROM evaluation WHERE run_id = run.id AND level_set = 'train') AS best_solve_rate,\n"
  "  (SELECT solve_rate FROM evaluation WHERE run_id = run.id AND level_set = 'train'\n"
  "   ORDER BY iteration DESC LIMIT 1) AS last_solve_rate,\n"
  "  (SELECT ddr FROM run_ddr WHERE run_id = run.id) AS ddr,\n"
  "  run.steps_per_second, run.train_seconds, run.attempt, run.host, run.device, run.git_commit, run.message\n"
  "FROM run;\n";

/* The rows of `iteration` in our own connections; `iteration_row` is rows.c's. */
static const char store_schema_fast_view[] =
  "CREATE TEMP VIEW iteration AS SELECT run.id AS run_id, data.row & 4294967295 AS iteration"
  STORE_ITERATION_COLUMNS(STORE_SQL_FROM_DATA)
  " FROM main.run CROSS JOIN iteration_row AS data ON data.row BETWEEN run.key << 32 AND run.key << 32 | 4294967295;\n";

#endif
