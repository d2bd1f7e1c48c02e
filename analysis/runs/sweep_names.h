/* Check of the names in --sweep. */
#ifndef ANALYSIS_SWEEP_NAMES_H
#define ANALYSIS_SWEEP_NAMES_H
#include "store/database/database.h"

/* Checks comma-separated names of sweeps. CORE_USAGE: the database lacks one; the message names the nearest. */
int analysis_sweeps_check(StoreDatabase *database, const char *sweeps);

#endif
