/* Sweeps of runs (table sweep_run): the names that --sweep accepts; the runs of each sweep, since claims count only
 * those of their own experiments; and one sweep for each run, since experiments share runs and a figure names each run
 * under one. */
#ifndef ANALYSIS_MEMBERSHIP_H
#define ANALYSIS_MEMBERSHIP_H
#include "analysis/runs/select.h"
#include "store/database/database.h"

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

/* Sets `sweep` of the selection and of its runs: few sweeps that contain all runs, the one with the most
 * configurations first. All runs of a configuration get the same sweep. sweeps: comma-separated candidates; NULL:
 * all. Call it once, before keeping pointers to runs. */
int analysis_selection_cover(StoreDatabase *database, const char *sweeps, AnalysisSelection *selection);

/* Checks comma-separated names of sweeps. CORE_USAGE: the database lacks one; the message names the nearest. */
int analysis_sweeps_check(StoreDatabase *database, const char *sweeps);

#endif
