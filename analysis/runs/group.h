/* Runs into configurations: all that differs among the chosen runs except the seed, with labels short enough for a
 * legend. Numbers sort as numbers. Knows nothing of databases or plots. */
#ifndef ANALYSIS_GROUP_H
#define ANALYSIS_GROUP_H
#include "analysis/runs/select.h"

typedef struct AnalysisGroup {
  char *label;             /* short and unique: "com 16"; "eps 0.2, epochs 8"; "demo: PPO, eps 0.2" */
  char *within;            /* without the family's name: unique in the family */
  size_t family, sweep;    /* sweep: of the selection's, from 1; 0: not by sweep */
  const CoreConfig *config; /* of one of its runs */
  size_t run_count;
} AnalysisGroup;

/* Groups that share the algorithm, and the sweep where they are by sweep; one family of all when the algorithm is not
 * among the keys. */
typedef struct AnalysisFamily {
  char *name;              /* "PPO-EWMA"; "demo: PPO-EWMA"; "demo"; "" for the only family */
  const CoreConfigRow **keys; /* that vary inside the family: its labels are made of them */
  const CoreConfigRow **averaged; /* that its groups are averaged over (analysis_grouping_merge) */
  size_t key_count, averaged_count, group_count;
} AnalysisFamily;

typedef struct AnalysisGrouping {
  const CoreConfigRow **keys; /* that make the groups */
  size_t key_count;
  bool by_sweep;           /* sweeps differ in more than their runs do: each has families, and labels, of its own */
  AnalysisFamily *families;
  size_t family_count;
  AnalysisGroup *groups;   /* by family, then by value: numbers as numbers */
  size_t count;
  size_t *group_of;        /* [run of the selection] */
} AnalysisGrouping;

/* Groups runs by the values of keys. keys: "key,key"; "task": what runs were trained on; "none": one group of all;
 * NULL: all keys that vary among the runs but the seed. Of scaled runs NULL means scale.scheme and scale.factor, not
 * the settings that follow from them. Of a selection with sweeps (sweep_cover.h) NULL also means by sweep, where the
 * sweeps have different tasks, or differ in more settings than the runs of one of them. CORE_USAGE for an unknown key.
 * The selection must outlive the grouping. The caller frees it with analysis_grouping_free. */
int analysis_group_runs(const AnalysisSelection *selection, const char *keys, AnalysisGrouping *grouping);
/* The same; with keys NULL, all that vary but for the keys in `without` ("key,key"; NULL: none), which others show. */
int analysis_group_runs_without(const AnalysisSelection *selection, const char *keys, const char *without,
                                AnalysisGrouping *grouping);

/* Puts together the family's groups that are alike in `keys` [key_count], in the order of the values; the other keys
 * are averaged over. Of numbers with more than `most` values neighbouring ones are put together ("lr 0.0001 to 0.001").
 * The groups before stay alive for no one: keep no pointers to them. */
void analysis_grouping_merge(const AnalysisSelection *selection, AnalysisGrouping *grouping, size_t family,
                             const CoreConfigRow *const *keys, size_t key_count, size_t most);
/* Compares values of a key: numbers as numbers, choices in the order of their list, all else as text; a run that does
 * not use the key comes before those that do. */
int analysis_group_compare(const CoreConfig *a, const CoreConfig *b, const CoreConfigRow *row);
/* "PPO-EWMA" of ppo_ewma; free it. */
char *analysis_algorithm_name(const CoreConfig *config);
void analysis_grouping_free(AnalysisGrouping *grouping);

#endif
