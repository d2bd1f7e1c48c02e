/* What results.db consists of: the columns of its tables and views, each with its type, unit and meaning. From these
 * lists come the tables (schema.h), the schema beside exported files (analysis/commands/export.c) and the check that
 * nothing goes undescribed (tests/unit/test_tables.c). Columns of iterations, evaluations and layers are runlog.h's. */
#ifndef STORE_TABLES_H
#define STORE_TABLES_H
#include <stddef.h>

#include "store/runlog/runlog.h"

/* X(name, type, unit, comment): the type as SQL writes it; a comment of its own makes sense without the unit. */
#define STORE_VERSION_COLUMNS(X) \
  X(version, "INTEGER", "", "of the schema") \
  X(program, "TEXT", "", "version and commit of the program that made it so") \
  X(applied, "REAL", "s", "Unix time")

#define STORE_SWEEP_COLUMNS(X) \
  X(name, "TEXT NOT NULL", "", "of the sweep") \
  X(ini, "TEXT", "", "the experiment file") \
  X(created, "REAL", "s", "Unix time")

#define STORE_RUN_COLUMNS(X) \
  X(key, "INTEGER", "", "the run's number in this file") \
  X(id, "TEXT NOT NULL", "", "hash of the configuration; the folder runs/<id>") \
  X(seed, "INTEGER", "", "train.seed: what its random numbers begin with") \
  X(config, "TEXT", "", "all settings, JSON: json_extract(config, '$.ppo.com'); NULL when config.ini cannot be read") \
  X(status, "TEXT NOT NULL DEFAULT 'pending'", "", \
    "pending running finished failed stopped diverged lost, or stopped by rule: censored by its sweep's [stop]") \
  X(attempt, "INTEGER NOT NULL DEFAULT 0", "", "the latest; 0 = never started") \
  X(host, "TEXT", "", "machine of the latest attempt") \
  X(pid, "INTEGER", "", "process of the latest attempt") \
  X(device, "TEXT", "", "what it computed on") \
  X(git_commit, "TEXT", "", "of the trainer of the latest attempt") \
  X(started, "REAL", "s", "Unix time, of the latest attempt") \
  X(heartbeat, "REAL", "s", "Unix time: when the latest attempt last said that it is alive") \
  X(finished, "REAL", "s", "Unix time: when the latest attempt ended") \
  X(iteration, "INTEGER", "", "iterations done") \
  X(iterations, "INTEGER", "", "iterations planned") \
  X(transitions, "INTEGER", "transitions", "environment steps done") \
  X(transitions_total, "INTEGER", "transitions", "environment steps planned") \
  X(steps_per_second, "REAL", "transitions/s", "environment steps a second, latest") \
  X(solve_rate, "REAL", "", "share of training episodes that were solved, latest") \
  X(train_seconds, "REAL", "s", "time spent training, all attempts") \
  X(message, "TEXT", "", "the last error") \
  X(code, "TEXT", "", "hash of the code that it is trained on beside the trainer's; several, '+' between, when it " \
    "went on under other code; NULL: the trainer's alone, or not known") \
  X(code_files, "TEXT", "", "that code: files with the first 12 digits of their hashes, versions of packages")

#define STORE_MEMBER_COLUMNS(X) \
  X(sweep, "TEXT NOT NULL", "", "sweep.name") \
  X(idx, "INTEGER NOT NULL", "", "place in the sweep's manifest") \
  X(run_id, "TEXT NOT NULL", "", "run.id; a run may belong to several sweeps")

#define STORE_ATTEMPT_COLUMNS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(attempt, "INTEGER NOT NULL", "", "1, 2, ...") \
  X(status, "TEXT", "", "as in run; NULL when only its run log is known") \
  X(host, "TEXT", "", "machine") \
  X(pid, "INTEGER", "", "process") \
  X(device, "TEXT", "", "what it computed on") \
  X(git_commit, "TEXT", "", "of the trainer") \
  X(started, "REAL", "s", "Unix time") \
  X(heartbeat, "REAL", "s", "Unix time: when it last said that it is alive") \
  X(finished, "REAL", "s", "Unix time: when it ended") \
  X(message, "TEXT", "", "its error") \
  X(code, "TEXT", "", "hash of the code that it is trained on beside the trainer's; several, '+' between, when it " \
    "went on under other code; NULL: the trainer's alone, or not known") \
  X(code_files, "TEXT", "", "that code: files with the first 12 digits of their hashes, versions of packages")

#define STORE_LOG_FILE_COLUMNS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(attempt, "INTEGER NOT NULL", "", "which wrote the log") \
  X(kind, "TEXT NOT NULL", "", "stats, eval or layers") \
  X(file, "TEXT NOT NULL", "", "its path below the workspace") \
  X(offset, "INTEGER NOT NULL", "bytes", "how far it is imported") \
  X(mark, "INTEGER NOT NULL", "", "CRC-32 of the bytes before the offset: tells growth from replacement") \
  X(damage, "INTEGER NOT NULL", "", "lines that could not be read") \
  X(first_damage, "INTEGER", "", "the first one's number")

#define STORE_SEEN_COLUMNS(X) \
  X(run, "INTEGER", "", "run.key") \
  X(folder_time, "INTEGER NOT NULL", "ns", "modification time of runs/<id>; 0 = look again") \
  X(mark, "INTEGER NOT NULL", "", "CRC-32 of the state")

#define STORE_EVALUATION_KEYS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(iteration, "INTEGER NOT NULL", "", "after so many iterations; 0 = before training") \
  X(level_set, "TEXT NOT NULL", "", "which levels: train, or one of eval.levels")

#define STORE_LAYER_KEYS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(iteration, "INTEGER NOT NULL", "", "1, 2, ...; those measured") \
  X(network, "TEXT NOT NULL", "", "actor or critic") \
  X(layer, "INTEGER NOT NULL", "", "from 1; the last is the head")

#define STORE_ANNOTATION_COLUMNS(X) \
  X(subject, "TEXT NOT NULL", "", "sweep or run") \
  X(name, "TEXT NOT NULL", "", "sweep.name or run.id") \
  X(key, "TEXT NOT NULL", "", "tag, note or pinned (the best run of a sweep)") \
  X(value, "TEXT NOT NULL", "", "the tag, the text, or run.id")

#define STORE_ITERATION_KEYS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(iteration, "INTEGER NOT NULL", "", "1, 2, ...; the last of those that were merged into the row")

#define STORE_BIN_COLUMNS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(bin, "INTEGER NOT NULL", "", "iteration >> 6") \
  X(n, "INTEGER", "iterations", "how many there are") \
  X(transitions, "REAL", "transitions", "at the last of them") \
  X(kl_sum, "REAL", "nat", "sum of max(kl, 1e-12), where kl is known") \
  X(kl_transitions, "REAL", "transitions", "of those iterations")

#define STORE_METRIC_KEYS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(name, "TEXT NOT NULL", "", "as who measured it calls it") \
  X(iteration, "INTEGER NOT NULL", "", "the row of iteration that it belongs to")

/* Views. */
#define STORE_SETTING_COLUMNS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(name, "TEXT NOT NULL", "", "ppo.com") \
  X(value, "", "", "number, text, or 0 and 1 for false and true")

#define STORE_LAYER_METRIC_COLUMNS(X) \
  STORE_LAYER_KEYS(X) \
  X(metric, "TEXT NOT NULL", "", "name of a column of layer") \
  X(value, "REAL", "", "what stands in that column")

#define STORE_DDR_COLUMNS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(ddr, "REAL", "transitions/nat", "data-to-divergence ratio of the whole run")

#define STORE_BEST_COLUMNS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(level_set, "TEXT NOT NULL", "", "which levels: train, or one of eval.levels") \
  X(solve_rate, "REAL", "", "the best of the run's evaluations on these levels") \
  X(iteration, "INTEGER", "", "where it was first reached") \
  X(transitions, "REAL", "transitions", "where it was first reached") \
  X(ddr, "REAL", "transitions/nat", "of the whole run")

#define STORE_SUMMARY_COLUMNS(X) \
  X(run_id, "TEXT NOT NULL", "", "run.id") \
  X(status, "TEXT NOT NULL", "", "as in run") \
  X(seed, "INTEGER", "", "as in run") \
  X(sweeps, "TEXT", "", "names of the sweeps that it belongs to, a space between") \
  X(task, "TEXT", "", "env.task") \
  X(algorithm, "TEXT", "", "algo.name") \
  X(iteration, "INTEGER", "", "iterations done") \
  X(iterations, "INTEGER", "", "iterations planned") \
  X(transitions, "INTEGER", "transitions", "environment steps done") \
  X(best_solve_rate, "REAL", "", "the best evaluation on the training levels") \
  X(last_solve_rate, "REAL", "", "the last evaluation on the training levels") \
  X(best_return, "REAL", "", "the best mean return of an evaluation on the training levels") \
  X(last_return, "REAL", "", "that of the last evaluation on the training levels") \
  X(ddr, "REAL", "transitions/nat", "of the whole run") \
  X(steps_per_second, "REAL", "transitions/s", "environment steps a second, latest") \
  X(train_seconds, "REAL", "s", "time spent training, all attempts") \
  X(attempt, "INTEGER", "", "the latest; 0 = never started") \
  X(host, "TEXT", "", "machine of the latest attempt") \
  X(device, "TEXT", "", "what it computed on") \
  X(git_commit, "TEXT", "", "of the trainer of the latest attempt") \
  X(message, "TEXT", "", "the last error") \
  X(tags, "TEXT", "", "of the run itself, a space between") \
  X(note, "TEXT", "", "on the run itself") \
  X(code, "TEXT", "", "as in run") \
  X(code_files, "TEXT", "", "as in run")

typedef struct StoreTableColumn { const char *name, *type, *unit, *comment; } StoreTableColumn;

typedef struct StoreTable {
  const char *name;
  const char *key;        /* columns that no two rows share, in the order that makes the same file of the same rows */
  const char *of_sweep;   /* SQL: the rows of the sweep ?1; NULL where left_out is not */
  const char *left_out;   /* why it is not exported; NULL: it is */
  const StoreTableColumn *columns; /* ends with a NULL name */
} StoreTable;

/* All tables and views of a results.db. */
const StoreTable *store_tables(size_t *count);

#endif
