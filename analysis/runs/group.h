/* Runs into configurations: all that differs among the chosen runs except the seed, with labels short enough for a
 * legend. Numbers sort as numbers. Knows nothing of databases or plots. */
#ifndef ANALYSIS_GROUP_H
#define ANALYSIS_GROUP_H
#include "analysis/runs/select.h"

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

/* Groups runs by the values of keys. keys: "key,key"; "task": what runs were trained on; "none": one group of all;
 * NULL: all keys that vary among the runs but the seed. Of scaled runs NULL means scale.scheme and scale.factor, not
 * the settings that follow from them. CORE_USAGE for an unknown key. The selection must outlive the grouping. The
 * caller frees it with analysis_grouping_free. */
int analysis_group_runs(const AnalysisSelection *selection, const char *keys, AnalysisGrouping *grouping);
/* The same; with keys NULL, all that vary but for the keys in `without` ("key,key"; NULL: none), which others show. */
int analysis_group_runs_without(const AnalysisSelection *selection, const char *keys, const char *without,
                                AnalysisGrouping *grouping);
void analysis_grouping_free(AnalysisGrouping *grouping);

#endif
