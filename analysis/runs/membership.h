/* Which sweeps a run belongs to (results.db's sweep_run): claims count only the runs of their own experiments. */
#ifndef ANALYSIS_MEMBERSHIP_H
#define ANALYSIS_MEMBERSHIP_H
#include "analysis/runs/select.h"

typedef struct AnalysisMembership {
  char **sweep;            /* [sweeps] names, sorted */
  size_t sweeps, runs;
  bool *member;            /* [runs][sweeps] */
} AnalysisMembership;

/* Of all runs of the selection, in the sweeps that were asked for. A run that stands for its duplicates is in their
 * sweeps too. Free it, also after a
 * failure. The errors are the store's. */
int analysis_membership_read(StoreDatabase *database, const AnalysisSelection *selection,
                             AnalysisMembership *membership);
void analysis_membership_free(AnalysisMembership *membership);

static inline bool analysis_membership_has(const AnalysisMembership *membership, size_t run, size_t sweep) {
  return membership->member[run * membership->sweeps + sweep];
}

#endif
