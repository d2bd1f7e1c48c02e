/* Checks of a user's program before its runs start: that its program and script exist, and that no two runs write one
 * file of metrics. */
#ifndef SWEEP_PROGRAM_CHECK_H
#define SWEEP_PROGRAM_CHECK_H
#include "sweep/spec/grid.h"

/* Appends the first problem with a remedy to `problem`; nothing if there is none, or no program. is_remote: the runs
 * start on a cluster, whose nodes have another PATH. */
int sweep_program_check(const char *root, const SweepGrid *grid, bool is_remote, CoreText *problem);

#endif
