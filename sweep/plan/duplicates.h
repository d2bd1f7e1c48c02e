/* Does a grid hold runs that are copies of one another? A swept setting that the algorithm does not read gives each run
 * an id of its own and all of them the same results, bit for bit. Asked by plan and submit after grid.h. */
#ifndef SWEEP_DUPLICATES_H
#define SWEEP_DUPLICATES_H
#include "sweep/spec/grid.h"

/* CORE_USAGE: it does; names file, line, the setting, why it is not read, how many runs are copies, and the way out.
 * Only a warning for a sweep that was submitted so before (a frozen file). CORE_OK where [sweep] unread = allow. */
int sweep_duplicates_check(const SweepGrid *grid);

#endif
