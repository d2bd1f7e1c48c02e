/* Runs that went on from another run (init.from = run:<id>@<iteration>): their parent in words that are the same for
 * all seeds, "com 8 at 1430", so that they group and label like any other setting. */
#ifndef ANALYSIS_PARENTS_H
#define ANALYSIS_PARENTS_H
#include "analysis/runs/select.h"

/* {"env":{"num":2048,...},...} of results.db as a configuration; what the text lacks has its
 * default. CORE_FAIL: none. */
int analysis_config_from_json(const char *text, CoreConfig *config);

/* Notes the parents' ids (AnalysisRun.parent), and rewrites config.init.from of the selection's runs to what their
 * parent differs in and the iteration; leaves it alone where the parent is not in the database. Errors are the
 * store's. */
int analysis_parents_name(StoreDatabase *database, AnalysisSelection *selection);

#endif
