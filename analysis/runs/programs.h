/* Users' programs whose runs are in the database ([program] of their experiment files). */
#ifndef ANALYSIS_PROGRAMS_H
#define ANALYSIS_PROGRAMS_H
#include "store/database/database.h"

/* Registers their settings as keys, which --group, --where and --x accept, and names of the table metric as columns,
 * which --y accepts. */
int analysis_programs_know(StoreDatabase *database);
/* Registers the names of one run's metrics as columns. */
int analysis_programs_know_run(StoreDatabase *database, const char *run);

#endif
