/* Budgets of transitions: what they mean for a run. The trainer's rows come at multiples of its batch. A program writes
 * records at any step: its batch need not divide a budget, and its last record may lie before its end or after it. */
#ifndef ANALYSIS_BUDGET_H
#define ANALYSIS_BUDGET_H
#include "analysis/runs/select.h"

/* Sets the transitions_per_iteration of programs to those of their second update with a KL (before the first, there may
 * be records without one), or without two of them to the mean distance between records; 0: no records. */
int analysis_budget_read_batches(StoreDatabase *database, AnalysisSelection *selection);

/* Returns the transitions of a run's full budget; of a program without a known end: those that it has done. */
double analysis_run_total(const AnalysisRun *run);
/* Returns the transitions up to which a run's rows belong to a budget. The trainer evaluates at the end of the
 * iteration that reaches the budget. Of a program, the last record at or before the budget is the last that counts; at
 * the end of its full budget all records count. */
double analysis_run_limit(const AnalysisRun *run, double budget);
/* Whether a run has reached a budget, according to its rows up to there, which end at `transitions` (NaN: no rows).
 *
 * Of the trainer, a row with several iterations (log.rows) ends up to STORE_AGGREGATE_MAX iterations before the
 * budget. A program has reached a budget if it has finished its full one, whatever its last step, if it has a record at
 * or after the budget, or if its next update would end after it (for a finished one without a known end, at it). */
bool analysis_run_reaches(const AnalysisRun *run, double transitions, double budget);

/* Sets *reached as analysis_run_reaches does, and for programs that diverge: they may go on without a score, and have
 * reached what they had a score at. */
int analysis_budget_reach(StoreDatabase *database, const AnalysisRun *run, double transitions, double budget,
                          bool *reached);

#endif
