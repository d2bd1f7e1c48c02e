/* Programs of other people that runs of a database are of ([program] of their experiment files). */
#ifndef ANALYSIS_PROGRAMS_H
#define ANALYSIS_PROGRAMS_H
#include "store/database/database.h"

/* Makes their settings known as keys, which --group, --where and --x take, and names of the table metric as columns,
 * which --y takes. */
int analysis_programs_know(StoreDatabase *database);
/* Makes the names of one run's metrics known as columns. */
int analysis_programs_know_run(StoreDatabase *database, const char *run);

#endif
