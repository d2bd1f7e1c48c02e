/* Selection of runs by conditions: sweep plan --where and sweep submit --where, like analyze's --where. */
#ifndef SWEEP_WHERE_H
#define SWEEP_WHERE_H
#include "core/command/options.h"
#include "sweep/spec/grid.h"

#define SWEEP_OPTION_WHERE(where) \
  { \
    "where", 0, CORE_OPTION_LIST, &(where), "KEY=VALUE", \
        "only runs whose setting, grid, search or seed has this value; repeat a key for alternatives" \
  }

/* Makes the grid of the runs that meet all conditions; it borrows from `grid`, which must outlive it. Without
 * conditions it has all runs. CORE_USAGE: no such key or value, or no run meets them. Caller calls sweep_where_free. */
int sweep_where_select(const SweepGrid *grid, const CoreOptionList *where, SweepGrid *part);
void sweep_where_free(SweepGrid *part);
/* Returns CORE_USAGE for a part of a sweep, since the local executor starts all runs. */
int sweep_where_check_here(const SweepGrid *part);

#endif
