/* Leads of runs that switched a setting over their parents, which went on without the switch. */
#ifndef ANALYSIS_SWITCH_LEADS_H
#define ANALYSIS_SWITCH_LEADS_H
#include "analysis/claims/cells.h"

/* Sets cells->x of runs with a parent in the selection to their score minus the parent's, both a tenth of the budget
 * after the switch, by linear interpolation between evaluations. Both began at the same policy, so this is what the
 * switch gained at once. NaN: the parent or the run was not evaluated until then. */
int analysis_switch_leads(StoreDatabase *database, const AnalysisSelection *selection, AnalysisCells *cells);

#endif
