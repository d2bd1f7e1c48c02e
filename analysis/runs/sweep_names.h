/* --sweep: are there sweeps of these names? */
#ifndef ANALYSIS_SWEEP_NAMES_H
#define ANALYSIS_SWEEP_NAMES_H
#include "store/database/database.h"

/* sweeps: a name, or several with commas. CORE_USAGE: one that the database does not have, with the nearest. */
int analysis_sweeps_check(StoreDatabase *database, const char *sweeps);

#endif
