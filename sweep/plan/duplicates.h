/* Finds runs of a grid that are duplicates of one another. They arise when a swept setting is not read by the
 * algorithm: each run then has its own id, but results are bit-identical. For plan and submit, after grid.h. */
#ifndef SWEEP_DUPLICATES_H
#define SWEEP_DUPLICATES_H
#include "sweep/spec/grid.h"

/* Checks the grid. CORE_USAGE: it has duplicates; the message has file, line, the setting, why it is not read, the
 * number of runs and a remedy. Only a warning for a sweep that was already submitted (a frozen file). Does nothing if
 * [sweep] unread = allow. */
int sweep_duplicates_check(const SweepGrid *grid);

#endif
