/* Columns of the tables and views of results.db, each with type, unit and meaning. These lists generate the tables
 * (schema.h) and the schema.json of exports (analysis/commands/export.c); tests/unit/test_tables.c checks that every
 * column is described. runlog.h has the columns of iterations, evaluations and layers. */
#ifndef STORE_TABLES_H
#define STORE_TABLES_H
#include <stddef.h>

#include "store/runlog/runlog.h"

/* X(name, type, unit, comment): SQL type; comment that makes sense without the unit. */
#define STORE_VERSION_COLUMNS(X) \
  X(version, "INTEGER", "", "schema version") \
  X(program, "TEXT", "", "version and commit of the program that applied it") \
  X(applied, "REAL", "s", "Unix time")

#define STORE_SWEEP_COLUMNS(X) \
  X(name, "TEXT NOT NULL", "", "name of the sweep") \
  X(ini, "TEXT", "", "the experiment as it was submitted, as in sweeps/NAME/sweep.ini") \
  X(created, "REAL", "s", "Unix time")

#define STORE_RUN_COLUMNS(X) \
  X(key, "INTEGER", "", "the run's number in this file") \
  X(id, "TEXT NOT NULL", "", "hash of the configuration; name of the directory runs/<id>") \
  X(seed, "INTEGER", "", "train.seed: seed of the random number generators") \
  X(config, "TEXT", "", "all settings as JSON: json_extract(config, '$.ppo.com'); NULL if config.ini is unreadable") \
  X(status, "TEXT NOT NULL DEFAULT 'pending'", "", \
    "pending running finished failed stopped diverged lost, or stopped by rule: censored by its sweep's [stop]") \
  X(attempt, "INTEGER NOT NULL DEFAULT 0", "", "number of the latest attempt; 0 = never started") \
  X(host, "TEXT", "", "host of the latest attempt") \
  X(pid, "INTEGER", "", "process id of the latest attempt") \
  X(device, "TEXT", "", "device that it computed on") \
  X(git_commit, "TEXT", "", "commit of the latest attempt's trainer") \
  X(started, "REAL", "s", "Unix time when the latest attempt started") \
  X(heartbeat, "REAL", "s", "Unix time of the latest attempt's last heartbeat") \
  X(finished, "REAL", "s", "Unix time when the latest attempt ended") \
  X(iteration, "INTEGER", "", "iterations done") \
  X(iterations, "INTEGER", "", "iterations planned") \
  X(transitions, "INTEGER", "transitions", "environment steps done") \
  X(transitions_total, "INTEGER", "transitions", "environment steps planned") \
  X(steps_per_second, "REAL", "transitions/s", "latest environment steps per second") \
  X(solve_rate, "REAL", "", "latest share of solved training episodes") \
  X(train_seconds, "REAL", "s", "training time of all attempts") \
  X(message, "TEXT", "", "last error") \
  X(code, "TEXT", "", "hash of the external code (environments, programs); several joined by '+' if the run was " \
    "resumed with other code; NULL: none, or unknown") \
  X(code_files, "TEXT", "", "external code: files with the first 12 digits of their hashes, versions of packages")

#define STORE_MEMBER_COLUMNS(X) \
  X(sweep, "TEXT NOT NULL", "", "sweep.name") \
  X(idx, "INTEGER NOT NULL", "", "index in the sweep's manifest") \
  X(run_id, "TEXT NOT NULL", "", "run.id; a run may belong to several sweeps")

#define STORE_ATTEMPT_COLUMNS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(attempt, "INTEGER NOT NULL", "", "1, 2, ...") \
  X(status, "TEXT", "", "as in run; NULL if only its run log is known") \
  X(host, "TEXT", "", "host that it ran on") \
  X(pid, "INTEGER", "", "process id") \
  X(device, "TEXT", "", "device that it computed on") \
  X(git_commit, "TEXT", "", "commit of the trainer") \
  X(started, "REAL", "s", "Unix time when it started") \
  X(heartbeat, "REAL", "s", "Unix time of its last heartbeat") \
  X(finished, "REAL", "s", "Unix time when it ended") \
  X(message, "TEXT", "", "error that ended it") \
  X(code, "TEXT", "", "hash of the external code (environments, programs); several joined by '+' if the run was " \
    "resumed with other code; NULL: none, or unknown") \
  X(code_files, "TEXT", "", "external code: files with the first 12 digits of their hashes, versions of packages")

#define STORE_LOG_FILE_COLUMNS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(attempt, "INTEGER NOT NULL", "", "attempt that wrote the log") \
  X(kind, "TEXT NOT NULL", "", "stats, eval or layers") \
  X(file, "TEXT NOT NULL", "", "path of the log, relative to the workspace") \
  X(offset, "INTEGER NOT NULL", "bytes", "end of the imported part") \
  X(mark, "INTEGER NOT NULL", "", "CRC-32 of the last bytes before the offset: distinguishes growth from replacement") \
  X(damage, "INTEGER NOT NULL", "", "number of unreadable lines") \
  X(first_damage, "INTEGER", "", "number of the first unreadable line")

#define STORE_RUN_IMPORT_COLUMNS(X) \
  X(run, "INTEGER", "", "run.key") \
  X(folder_time, "INTEGER NOT NULL", "ns", "modification time of runs/<id>; 0 = check again") \
  X(mark, "INTEGER NOT NULL", "", "CRC-32 of the state")

#define STORE_EVALUATION_KEYS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(iteration, "INTEGER NOT NULL", "", "iterations done before the evaluation; 0 = before training") \
  X(level_set, "TEXT NOT NULL", "", "level set: train, or one of eval.levels")

#define STORE_LAYER_KEYS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(iteration, "INTEGER NOT NULL", "", "measured iteration, from 1") \
  X(network, "TEXT NOT NULL", "", "actor or critic") \
  X(layer, "INTEGER NOT NULL", "", "index from 1; the last is the head")

#define STORE_ANNOTATION_COLUMNS(X) \
  X(subject, "TEXT NOT NULL", "", "sweep or run") \
  X(name, "TEXT NOT NULL", "", "sweep.name or run.id") \
  X(key, "TEXT NOT NULL", "", "tag, note or pinned (the best run of a sweep)") \
  X(value, "TEXT NOT NULL", "", "tag, text of the note, or run.id")

#define STORE_ITERATION_KEYS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(iteration, "INTEGER NOT NULL", "", "index from 1; the last of those merged into the row")

#define STORE_BIN_COLUMNS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(bin, "INTEGER NOT NULL", "", "iteration >> 6") \
  X(n, "INTEGER", "iterations", "number of iterations in the bin") \
  X(transitions, "REAL", "transitions", "environment steps done at its last iteration") \
  X(kl_sum, "REAL", "nat", "sum of max(kl, 1e-12) over iterations with a known KL") \
  X(kl_transitions, "REAL", "transitions", "transitions of iterations with a known KL")

#define STORE_METRIC_KEYS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(name, "TEXT NOT NULL", "", "name given by the program or plug-in") \
  X(iteration, "INTEGER NOT NULL", "", "iteration that it belongs to")

/* Views. */
#define STORE_SETTING_COLUMNS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(name, "TEXT NOT NULL", "", "section.key, for example ppo.com") \
  X(value, "", "", "number (Inf without a limit), text, or 0 and 1 for false and true")

#define STORE_LAYER_METRIC_COLUMNS(X) \
  STORE_LAYER_KEYS(X) \
  X(metric, "TEXT NOT NULL", "", "name of a column of layer") \
  X(value, "REAL", "", "value of that column")

#define STORE_DDR_COLUMNS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(ddr, "REAL", "transitions/nat", "data-to-divergence ratio of the whole run")

#define STORE_BEST_COLUMNS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(level_set, "TEXT NOT NULL", "", "level set: train, or one of eval.levels") \
  X(solve_rate, "REAL", "", "best of the run's evaluations on this level set") \
  X(iteration, "INTEGER", "", "iteration where it was first reached") \
  X(transitions, "REAL", "transitions", "environment steps where it was first reached") \
  X(ddr, "REAL", "transitions/nat", "data-to-divergence ratio of the whole run")

#define STORE_SUMMARY_COLUMNS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(status, "TEXT NOT NULL", "", "as in run") \
  X(seed, "INTEGER", "", "as in run") \
  X(sweeps, "TEXT", "", "names of its sweeps, separated by spaces") \
  X(task, "TEXT", "", "env.task") \
  X(algorithm, "TEXT", "", "algo.name") \
  X(iteration, "INTEGER", "", "iterations done") \
  X(iterations, "INTEGER", "", "iterations planned") \
  X(transitions, "INTEGER", "transitions", "environment steps done") \
  X(best_solve_rate, "REAL", "", "best evaluation on the training levels") \
  X(last_solve_rate, "REAL", "", "last evaluation on the training levels") \
  X(best_return, "REAL", "", "best mean return of an evaluation on the training levels") \
  X(last_return, "REAL", "", "mean return of the last evaluation on the training levels") \
  X(ddr, "REAL", "transitions/nat", "data-to-divergence ratio of the whole run") \
  X(steps_per_second, "REAL", "transitions/s", "latest environment steps per second") \
  X(train_seconds, "REAL", "s", "training time of all attempts") \
  X(attempt, "INTEGER", "", "number of the latest attempt; 0 = never started") \
  X(host, "TEXT", "", "host of the latest attempt") \
  X(device, "TEXT", "", "device that it computed on") \
  X(git_commit, "TEXT", "", "commit of the latest attempt's trainer") \
  X(message, "TEXT", "", "last error") \
  X(tags, "TEXT", "", "tags of the run itself, separated by spaces") \
  X(note, "TEXT", "", "note on the run itself") \
  X(code, "TEXT", "", "as in run") \
  X(code_files, "TEXT", "", "as in run")

typedef struct StoreTableColumn { const char *name, *type, *unit, *comment; } StoreTableColumn;

typedef struct StoreTable {
  const char *name;
  const char *key;                 /* unique columns, which also sort an export so that equal rows give equal files */
  const char *sweep_filter;        /* SQL condition for the rows of sweep ?1; NULL if not exported */
  const char *exclusion_reason;    /* reason for not exporting it; NULL if exported */
  const StoreTableColumn *columns; /* terminated by a NULL name */
} StoreTable;

/* Lists all tables and views of a results.db. */
const StoreTable *store_tables(size_t *count);

#endif
