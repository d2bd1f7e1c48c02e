/* Groups runs into configurations by all settings that differ among the selected runs except the seed, with labels
 * short enough for a legend. Numbers sort numerically. Independent of databases and plots. */
#ifndef ANALYSIS_GROUP_H
#define ANALYSIS_GROUP_H
#include "analysis/runs/select.h"

typedef struct AnalysisGroup {
  char *label;             /* short and unique: "com 16"; "eps 0.2, epochs 8"; "demo: PPO, eps 0.2" */
  char *within;            /* label without the family's name: unique in the family */
  size_t family, sweep;    /* sweep: index in the selection, from 1; 0: not by sweep */
  const AnalysisConfig *config; /* configuration of one of its runs */
  size_t run_count;
} AnalysisGroup;

/* Groups that share the algorithm, and the sweep if grouped by sweep; a single family if the algorithm is not a key. */
typedef struct AnalysisFamily {
  char *name;              /* "PPO-EWMA"; "demo: PPO-EWMA"; "demo"; "" for the only family */
  const CoreConfigRow **keys; /* keys that vary inside the family and make its labels */
  const CoreConfigRow **averaged; /* keys that its groups are averaged over (analysis_grouping_merge) */
  size_t key_count, averaged_count, group_count;
} AnalysisFamily;

typedef struct AnalysisGrouping {
  const CoreConfigRow **keys; /* keys that define the groups */
  size_t key_count;
  bool by_sweep;           /* whether each sweep has its own families and labels */
  AnalysisFamily *families;
  size_t family_count;
  AnalysisGroup *groups;   /* sorted by family, then by value, numbers numerically */
  size_t count;
  size_t *group_of;        /* [runs of the selection] group index */
} AnalysisGrouping;

/* Groups runs by the values of keys. keys: "key,key"; "task": all settings of the task; "none": a single group;
 * NULL: all keys that vary among the runs except the seed. For scaled runs NULL means scale.scheme and scale.factor,
 * not the settings derived from them. For a selection with sweeps (membership.h) NULL also groups by sweep, if the
 * sweeps have different tasks or differ in more settings than the runs of one of them. CORE_USAGE: an unknown key.
 * The selection must outlive the grouping. Free it with analysis_grouping_free. */
int analysis_group_runs(const AnalysisSelection *selection, const char *keys, AnalysisGrouping *grouping);
/* Groups runs; with keys NULL by all varying keys except those in `without` ("key,key"; NULL: none). */
int analysis_group_runs_without(const AnalysisSelection *selection, const char *keys, const char *without,
                                AnalysisGrouping *grouping);

/* Merges the family's groups that are equal in `keys` [key_count], sorted by value, and averages over the other
 * keys. If a number has more than `most` values, adjacent ones are merged ("lr 0.0001 to 0.001"). Invalidates
 * pointers to the previous groups. */
void analysis_grouping_merge(const AnalysisSelection *selection, AnalysisGrouping *grouping, size_t family,
                             const CoreConfigRow *const *keys, size_t key_count, size_t most);
/* Runs by group: run[first[g]] .. run[first[g + 1] - 1] belong to group g, in the order of the selection. */
typedef struct AnalysisMembers { size_t *first, *run; } AnalysisMembers;

/* Lists the runs of each group, of the first `runs` of the selection. Free it with analysis_members_free. */
AnalysisMembers analysis_grouping_members(const AnalysisGrouping *grouping, size_t runs);
void analysis_members_free(AnalysisMembers *members);
/* Compares values of a key: numbers numerically, choices in the order of their list, others as text; runs that do
 * not use the key come first. */
int analysis_group_compare(const AnalysisConfig *a, const AnalysisConfig *b, const CoreConfigRow *row);
/* Returns "PPO-EWMA" for ppo_ewma; free() it. */
char *analysis_algorithm_name(const AnalysisConfig *config);
void analysis_grouping_free(AnalysisGrouping *grouping);

#endif
