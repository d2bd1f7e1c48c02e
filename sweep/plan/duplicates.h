/* Does a grid hold runs that are duplicates of one another? That happens when a swept setting is one that the algorithm
 * does not read: each run then has an id of its own, and the results are the same bit for bit. Plan and submit ask
 * after the grid is made (grid.h). */
#ifndef SWEEP_DUPLICATES_H
#define SWEEP_DUPLICATES_H
#include "sweep/spec/grid.h"

/* CORE_USAGE: it does; names file, line, the setting, why it is not read, how many runs are duplicates, and the way
 * out. Only a warning for a sweep that was submitted so before (a frozen file). CORE_OK where [sweep] unread = allow.
 */
int sweep_duplicates_check(const SweepGrid *grid);

#endif
