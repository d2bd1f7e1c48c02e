/* Membership of runs in sweeps (table sweep_run): claims count only the runs of their own experiments. */
#ifndef ANALYSIS_MEMBERSHIP_H
#define ANALYSIS_MEMBERSHIP_H
#include "analysis/runs/select.h"

typedef struct AnalysisMembership {
  char **sweep;            /* [sweeps] names, sorted */
  size_t sweeps, runs;
  bool *member;            /* [runs][sweeps] */
} AnalysisMembership;

/* Reads the membership of all runs of the selection in the requested sweeps. A run that replaces duplicates is in
 * their sweeps too. Free it, also after a failure. */
int analysis_membership_read(StoreDatabase *database, const AnalysisSelection *selection,
                             AnalysisMembership *membership);
void analysis_membership_free(AnalysisMembership *membership);

static inline bool analysis_membership_has(const AnalysisMembership *membership, size_t run, size_t sweep) {
  return membership->member[run * membership->sweeps + sweep];
}

#endif
