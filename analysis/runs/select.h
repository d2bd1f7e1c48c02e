/* Selection of runs for a figure: opens results.db (importing new results) and applies --sweep and --where. Later
 * steps use the runs selected here; group.h groups them into configurations. */
#ifndef ANALYSIS_SELECT_H
#define ANALYSIS_SELECT_H
#include <stdbool.h>
#include <stddef.h>

#include "analysis/runs/configs.h"
#include "core/config/script.h"
#include "core/files.h"
#include "core/text.h"
#include "store/database/database.h"
#include "store/workspace/run.h"

/* Opens an existing results.db for reading. If it is in a workspace (next to runs/), imports new results first,
 * without waiting for another importer; damaged lines and a write-protected database are notes on stderr.
 * CORE_USAGE: there is no such file; otherwise the errors of the store (another program's file, a newer version). */
int analysis_database_open(const char *path, StoreDatabase **database);
/* Lets later calls of analysis_database_open import nothing more, so that all figures of a report show the same
 * results. */
void analysis_database_keep(void);

/* Returns the database named on the command line, or that of the workspace: $SWEEP_ROOT/results.db, else
 * ./results.db, with a note on stderr. The text lives as long as the process or the operands. */
const char *analysis_database_path(const char *const *operands, size_t count);

/* Whether the file is in a workspace (next to runs/), whose run logs can be imported. */
bool analysis_database_in_workspace(const char *path, char root[CORE_PATH_MAX]);

typedef struct AnalysisRun {
  char id[CORE_RUN_ID];
  char cell[CORE_RUN_ID]; /* core_config_cell_id: shared by all seeds of its configuration */
  AnalysisConfig config;  /* effective configuration, with scale.scheme applied; init.from describes the parent */
  bool scaled;            /* by a scale.scheme: env.num and others follow from scale.factor */
  int64_t transitions_per_iteration, iterations; /* effective N*K (budget.h), and iterations of the full budget */
  StoreStatus status;
  int64_t iteration;      /* iterations done; of a program: records */
  double transitions;     /* transitions done; of a program: its largest step, or 0 */
  char commit[48];        /* commit of the trainer; "" if unknown */
  size_t code;            /* index in the selection's codes, from 1; 0: none or unknown */
  char parent[CORE_RUN_ID]; /* run whose checkpoint it started from; "" if none */
  size_t sweep;           /* index in the selection's sweeps, from 1; 0: none or unknown (membership.h) */
} AnalysisRun;

/* Run excluded because it duplicates another one: same seed, and only differences that no run reads. */
typedef struct AnalysisCopy { char id[CORE_RUN_ID], of[CORE_RUN_ID]; } AnalysisCopy;

/* Code that runs were trained on (codes.h): hash, and description of files and versions. */
typedef struct AnalysisCode { char *hash, *files; } AnalysisCode;

typedef struct AnalysisSelection {
  AnalysisRun *runs;      /* sorted by seed, then by id */
  size_t count;
  AnalysisConfigs *configs; /* configurations of the runs */
  size_t unreadable;      /* runs excluded because their configuration cannot be read */
  AnalysisCopy *copy;     /* [copies] runs excluded as duplicates */
  size_t copies;
  AnalysisCode *code;     /* [codes] distinct codes of all runs of the sweep, including excluded ones */
  size_t codes;
  char **sweep;           /* [sweeps] names of the fewest sweeps that contain all runs (membership.h) */
  size_t sweeps;
  size_t repeats;         /* number of trailing runs that repeat earlier ones (analysis_selection_repeat) */
  char *asked_sweeps;     /* names given with --sweep, comma-separated; NULL: all */
  char return_name[CORE_SCRIPT_NAME + 8]; /* name of evaluation.episode_return: "return"; if all runs are programs of
                             one goal, its metric, with "-" if its negative is maximized */
  char *filter;           /* description: "all runs", "sweep fig8; ppo.com=8 or ppo.com=16" */
  const char *sql;        /* statement that selected them */
} AnalysisSelection;

/* Selects runs. sweep: comma-separated names; NULL: all sweeps. where: conditions "key=value"; those on the same key
 * are alternatives, those on different keys must all hold; the value of a number may be max, min or mode, of
 * the sweep's runs that meet the conditions on other keys. tag=NAME, pinned=yes and code=HASH: see annotated.c. Of
 * duplicate runs the one with the most progress is kept, since they use the same random numbers and are not
 * independent seeds. CORE_USAGE: an unknown sweep or key (with the nearest), or an invalid value. CORE_FAIL: no run
 * is left; the message says whether the database is empty or which values the key has. */
int analysis_select_runs(StoreDatabase *database, const char *sweep, const char *const *where, size_t where_count,
                         AnalysisSelection *selection);
/* Selects runs with all duplicates, for claims, which resolve them within their own data (cells.h). */
int analysis_select_with_copies(StoreDatabase *database, const char *sweep, const char *const *where,
                                size_t where_count, AnalysisSelection *selection);
/* Orders duplicates a and b, the preferred one first: the one with the most progress, then the one without
 * scale.scheme, whose settings are the effective ones. */
int analysis_run_prefer(const AnalysisRun *a, const AnalysisRun *b);
void analysis_selection_free(AnalysisSelection *selection);

/* Repeats the runs with "key=value" in every group of the key, as a reference common to all panels. Each such run
 * gets the first other value of the key, and is appended again for each further one. Without other values nothing
 * changes. Call it once, before keeping pointers to runs. CORE_USAGE as for --where. */
int analysis_selection_repeat(AnalysisSelection *selection, const char *pair);

/* Level set placeholder for the first set that each run was not trained on. The SQL resolves it for run ?1 and level
 * set ?2. */
#define ANALYSIS_LEVELS_OTHER "other of each run"
#define ANALYSIS_LEVELS_SQL \
  "iif(?2 = '" ANALYSIS_LEVELS_OTHER "', (SELECT min(level_set) FROM evaluation WHERE run_id = ?1" \
  " AND level_set <> 'train'), ?2)"

/* Finds a key: "ppo.com", or "com", or a label's "eps" if unique. CORE_USAGE: the message names the nearest key. */
int analysis_find_key(const char *name, const CoreConfigRow **row);
/* Returns the name of a key in labels: "com", "eps", "lr". */
const char *analysis_key_name(const CoreConfigRow *row);
/* Returns the row of a configuration for a key: the key's own if the configuration reads it, else that of a setting
 * with the same meaning: env.num for num_envs of a program, and the reverse. NULL: none. */
const CoreConfigRow *analysis_key_row(const AnalysisConfig *config, const CoreConfigRow *row);
/* Whether another of keys[count] names the same setting of the run better than keys[key]: the trainer's name, else the
 * run's own. */
bool analysis_key_is_shadowed(const AnalysisConfig *config, const CoreConfigRow *const *keys, size_t count,
                              size_t key);
/* Whether the run has the setting: PPO has no center of mass. */
bool analysis_key_applies(const AnalysisConfig *config, const CoreConfigRow *row);
/* Returns the canonical text of a run's value; "" if the key does not apply. */
const char *analysis_key_value(const AnalysisConfig *config, const CoreConfigRow *row, CoreText *text);
/* Returns the value of the run's own setting only, for code that visits all settings; "" if it has none. */
const char *analysis_key_own_value(const AnalysisConfig *config, const CoreConfigRow *row, CoreText *text);
/* Returns a run's value of a numeric key; NaN if the key does not apply. */
double analysis_key_number(const AnalysisConfig *config, const CoreConfigRow *row);

/* ---- annotated.c ------------------------------------------------------------------------------------------------- */

/* Conditions on annotations, --where tag=NAME and --where pinned=yes, and on code, --where code=HASH. */

/* Whether "key=value" is such a condition. No setting has these names. */
bool analysis_is_annotation(const char *pair);

/* Keeps the runs that meet these conditions among where[count]; ignores others. A run has its own tags and those of
 * its sweeps, it is pinned if a sweep has pinned it, and its code is given by the first digits of the hash.
 * Conditions on the same key are alternatives. Appends "; tag=paper" to `filter`. CORE_USAGE: an invalid value.
 * CORE_FAIL: no run is left; the message lists the existing tags. */
int analysis_filter_annotated(StoreDatabase *database, const char *const *where, size_t count,
                            AnalysisSelection *selection, CoreText *filter);

/* ---- parents.c --------------------------------------------------------------------------------------------------- */

/* Runs that start from another run (init.from = run:<id>@<iteration>): describes the parent in the same way for all
 * seeds, "com 8 at 1430", so that it groups and labels like any other setting. */

/* Parses a configuration of results.db, {"env":{"num":2048,...},...}; missing settings have their defaults.
 * CORE_FAIL: invalid JSON. */
int analysis_config_from_json(const char *text, CoreConfig *config);

/* Records the parents' ids (AnalysisRun.parent), and replaces config.init.from of the selection's runs by the
 * settings in which the parent differs and the iteration. Leaves it unchanged if the parent is not in the database. */
int analysis_parents_name(StoreDatabase *database, AnalysisSelection *selection);

#endif
