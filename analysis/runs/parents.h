/* Runs that start from another run (init.from = run:<id>@<iteration>): describes the parent in the same way for all
 * seeds, "com 8 at 1430", so that it groups and labels like any other setting. */
#ifndef ANALYSIS_PARENTS_H
#define ANALYSIS_PARENTS_H
#include "analysis/runs/select.h"

/* Parses a configuration of results.db, {"env":{"num":2048,...},...}; missing settings have their defaults.
 * CORE_FAIL: invalid JSON. */
int analysis_config_from_json(const char *text, CoreConfig *config);

/* Records the parents' ids (AnalysisRun.parent), and replaces config.init.from of the selection's runs by the
 * settings in which the parent differs and the iteration. Leaves it unchanged if the parent is not in the database. */
int analysis_parents_name(StoreDatabase *database, AnalysisSelection *selection);

#endif
