/* Which runs a figure is about: opens results.db (importing what is new), applies --sweep and --where, and groups the
 * runs into configurations (all that differs except the seed). Everything later works on what is chosen here. */
#ifndef ANALYSIS_SELECT_H
#define ANALYSIS_SELECT_H
#include <stdbool.h>
#include <stddef.h>

#include "core/config.h"
#include "core/text.h"
#include "store/database.h"
#include "store/run.h"

/* Opens an existing results.db for reading. When a folder runs/ lies beside it, what is new there is imported first,
 * without waiting for another importer; damaged lines and a database that can not be written are notes on stderr.
 * CORE_USAGE when there is no such file; the store's errors otherwise (another program's file, a newer version). */
int analysis_database_open(const char *path, StoreDatabase **database);

typedef struct AnalysisRun {
  char id[CORE_RUN_ID];
  CoreConfig config;
  StoreStatus status;
  char commit[48];        /* of the trainer; "" when unknown */
} AnalysisRun;

typedef struct AnalysisSelection {
  AnalysisRun *runs;      /* in the order of their ids */
  size_t count;
  char *filter;           /* for people: "all runs", "sweep fig8; ppo.com=8 or ppo.com=16" */
  const char *sql;        /* the statement that chose them */
} AnalysisSelection;

/* sweep NULL = all sweeps. where: "key=value" each; the same key twice means either, different keys mean both.
 * CORE_USAGE: unknown sweep, key (with the nearest) or value of the wrong type. CORE_FAIL: no run is left; the message
 * says whether the database is empty or which values the key has. */
int analysis_select_runs(StoreDatabase *database, const char *sweep, const char *const *where, size_t where_count,
                         AnalysisSelection *selection);
void analysis_selection_free(AnalysisSelection *selection);

/* "ppo.com", or "com" where that is unique. CORE_USAGE with the nearest key otherwise. */
int analysis_find_key(const char *name, const CoreConfigRow **row);
/* "com", "eps", "lr": what a key is called in labels. */
const char *analysis_key_name(const CoreConfigRow *row);
/* The canonical text of a run's value; "" where the run's algorithm does not use the key. */
const char *analysis_key_value(const CoreConfig *config, const CoreConfigRow *row, CoreText *text);

typedef struct AnalysisGroup {
  char *label;             /* short and unique: "com 16"; "eps 0.2, epochs 8" */
  size_t family;
  const CoreConfig *config; /* of one of its runs */
  size_t run_count;
} AnalysisGroup;

/* Groups that share the algorithm; one family of all when the algorithm is not among the keys. */
typedef struct AnalysisFamily {
  char *name;              /* "PPO-EWMA"; "" for the only family */
  const CoreConfigRow **keys; /* that vary inside the family: its labels are made of them */
  size_t key_count, group_count;
} AnalysisFamily;

typedef struct AnalysisGrouping {
  const CoreConfigRow **keys; /* that make the groups */
  size_t key_count;
  AnalysisFamily *families;
  size_t family_count;
  AnalysisGroup *groups;   /* by family, then by value: numbers as numbers */
  size_t count;
  size_t *group_of;        /* [run of the selection] */
} AnalysisGrouping;

/* keys: "key,key", or NULL for all that vary among the runs other than the seed. CORE_USAGE for an unknown key.
 * The selection must outlive the grouping. */
int analysis_group_runs(const AnalysisSelection *selection, const char *keys, AnalysisGrouping *grouping);
void analysis_grouping_free(AnalysisGrouping *grouping);

#endif
