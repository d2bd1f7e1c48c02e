/* Users' programs whose runs are in the database ([program] of their experiment files). */
#ifndef ANALYSIS_PROGRAMS_H
#define ANALYSIS_PROGRAMS_H
#include "analysis/runs/select.h"
#include "store/database/database.h"

/* Registers their settings as keys, which --group, --where and --x accept, and names of the table metric as columns,
 * which --y accepts. */
int analysis_programs_know(StoreDatabase *database);
/* Registers the names of one run's metrics as columns. */
int analysis_programs_know_run(StoreDatabase *database, const char *run);

/* Sets *reached to whether a run has reached a budget, with `transitions` done (analysis_run_reaches). A program that
 * diverges may go on without a score: it has reached what it had a score at. */
int analysis_programs_reach(StoreDatabase *database, const AnalysisRun *run, double transitions, double budget,
                            bool *reached);

#endif
