/* Which runs a figure is about: opens results.db (importing what is new) and applies --sweep and --where. Everything
 * later works on the runs chosen here; group.h makes configurations of them. */
#ifndef ANALYSIS_SELECT_H
#define ANALYSIS_SELECT_H
#include <stdbool.h>
#include <stddef.h>

#include "core/config/config.h"
#include "core/files.h"
#include "core/text.h"
#include "store/database/database.h"
#include "store/workspace/run.h"

/* Opens an existing results.db for reading. When a folder runs/ lies beside it, what is new there is imported first,
 * without waiting for another importer; damaged lines and a database that cannot be written are notes on stderr.
 * CORE_USAGE when there is no such file; the store's errors otherwise (another program's file, a newer version). */
int analysis_database_open(const char *path, StoreDatabase **database);

/* The database that a command line names, or without one that of the workspace: $SWEEP_ROOT/results.db, else results.db
 * here; a note on stderr says which. The text lives as long as the process or the operands. */
const char *analysis_database_choose(const char *const *operands, size_t count);

/* A folder runs/ lies beside the file: it is a workspace, whose run logs can be imported. */
bool analysis_database_in_workspace(const char *path, char root[CORE_PATH_MAX]);

typedef struct AnalysisRun {
  char id[CORE_RUN_ID];
  char cell[CORE_RUN_ID]; /* core_config_cell_id: what all seeds of its configuration have in common */
  CoreConfig config;      /* as it ran: with a scale.scheme, what it comes to; init.from names its parent in words */
  bool scaled;            /* by a scale.scheme: env.num and the like follow from scale.factor */
  int64_t transitions_per_iteration, iterations; /* N*K, and iterations of the whole budget, as it ran */
  StoreStatus status;
  int64_t iteration;      /* done so far */
  char commit[48];        /* of the trainer; "" when unknown */
  size_t code;            /* of the selection's, from 1: what it was trained on beside the trainer; 0: not known */
  char parent[CORE_RUN_ID]; /* the run whose checkpoint it began from; "" without one */
  size_t sweep;           /* number in the selection's sweeps, from 1; 0: none, or not known (sweep_cover.h) */
} AnalysisRun;

/* A run that was left out since it repeats another one: same seed, and differences that no run reads. */
typedef struct AnalysisCopy { char id[CORE_RUN_ID], of[CORE_RUN_ID]; } AnalysisCopy;

/* Code that runs were trained on (codes.h): a hash, and files and versions in words. */
typedef struct AnalysisCode { char *hash, *files; } AnalysisCode;

typedef struct AnalysisSelection {
  AnalysisRun *runs;      /* by seed, then by id */
  size_t count;
  size_t unreadable;      /* runs left out because their configuration cannot be read */
  AnalysisCopy *copy;     /* [copies] runs that are left out because they repeat another one */
  size_t copies;
  AnalysisCode *code;     /* [codes], each once; of all runs of the sweep, those that were left out too */
  size_t codes;
  char **sweep;           /* [sweeps] names of the fewest sweeps that have all runs (sweep_cover.h) */
  size_t sweeps;
  size_t repeats;         /* the last so many runs are earlier ones again (analysis_selection_repeat) */
  char *asked_sweeps;     /* names given with --sweep, with commas between; NULL: all */
  char *filter;           /* for people: "all runs", "sweep fig8; ppo.com=8 or ppo.com=16" */
  const char *sql;        /* the statement that chose them */
} AnalysisSelection;

/* sweep: a name, or several with commas; NULL = all sweeps. where: "key=value" each; the same key twice means either,
 * different keys mean both; a number's value may be max or min: of the sweep's runs that meet the conditions on other
 * keys; tag=NAME and pinned=yes are of what people said, code=HASH is of what a run was
 * trained on (annotated.h). Runs that are copies of one another are one run,
 * the one that got furthest: they would count as seeds, though they drew the same random numbers. CORE_USAGE: unknown
 * sweep, key (with the nearest) or value of the wrong type. CORE_FAIL: no run is left; the message says whether the
 * database is empty or which values the key has. */
int analysis_select_runs(StoreDatabase *database, const char *sweep, const char *const *where, size_t where_count,
                         AnalysisSelection *selection);
/* The same with all copies kept: for claims, each of which resolves the copies within its own data (cells.h). */
int analysis_select_with_copies(StoreDatabase *database, const char *sweep, const char *const *where,
                                size_t where_count, AnalysisSelection *selection);
/* The transitions of a budget rounded up to whole iterations of the run: the trainer evaluates at the end of the
 * iteration that reaches a budget, not at the round number. */
double analysis_run_whole_iterations(const AnalysisRun *run, double budget);
/* Whether a run has reached a budget, by its rows up to there, which end at `transitions`. Where rows stand for several
 * iterations (log.rows) the last of them ends up to STORE_AGGREGATE_MAX iterations before the budget. */
bool analysis_run_reaches(const AnalysisRun *run, double transitions, double budget);
/* Orders runs a and b of one cell and seed: below 0 where a is the one to keep, the one that got furthest; of equals
 * the one without scale.scheme, whose own settings are those that it ran with. */
int analysis_run_prefer(const AnalysisRun *a, const AnalysisRun *b);
void analysis_selection_free(AnalysisSelection *selection);

/* "key=value" of runs that belong to every group of the key: a reference of which a scheme's panel is a part. Each such
 * run takes the first other value of the key, and is added again at the end for each further one. Without other values
 * nothing changes. Once, before anything points at runs.
 * CORE_USAGE as --where. */
int analysis_selection_repeat(AnalysisSelection *selection, const char *pair);

/* What stands for a level set's name where each run takes its own: the first that it was not trained on. The SQL is the
 * name for the run ?1 when ?2 is asked. */
#define ANALYSIS_LEVELS_OTHER "other of each run"
#define ANALYSIS_LEVELS_SQL \
  "iif(?2 = '" ANALYSIS_LEVELS_OTHER "', (SELECT min(level_set) FROM evaluation WHERE run_id = ?1" \
  " AND level_set <> 'train'), ?2)"

/* "ppo.com", or "com" or a label's "eps" where that is unique. CORE_USAGE with the nearest key otherwise. */
int analysis_find_key(const char *name, const CoreConfigRow **row);
/* "com", "eps", "lr": what a key is called in labels. */
const char *analysis_key_name(const CoreConfigRow *row);
/* core_config_is_read: PPO has no centre of mass. */
bool analysis_key_applies(const CoreConfig *config, const CoreConfigRow *row);
/* The canonical text of a run's value; "" where the key does not apply. */
const char *analysis_key_value(const CoreConfig *config, const CoreConfigRow *row, CoreText *text);

#endif
