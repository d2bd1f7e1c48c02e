/* Selection of runs by conditions: sweep plan --where and sweep submit --where, like analyze's --where. */
#ifndef SWEEP_WHERE_H
#define SWEEP_WHERE_H
#include "core/command/options.h"
#include "sweep/spec/grid.h"

#define SWEEP_OPTION_WHERE(where) \
  { \
    "where", 0, CORE_OPTION_LIST, &(where), "KEY=VALUE", \
        "only runs whose setting, grid, search, seed or run id has this value; repeat a key for alternatives" \
  }

/* Makes the grid of the runs that meet all conditions; it borrows from `grid`, which must outlive it. Without
 * conditions it has all runs. CORE_USAGE: no such key or value, or no run meets them. Caller calls sweep_where_free. */
int sweep_where_select(const SweepGrid *grid, const CoreOptionList *where, SweepGrid *part);
void sweep_where_free(SweepGrid *part);

/* Selections as text, for the queue of this machine: lines "where=KEY=VALUE", and "or" between selections. Without
 * lines it selects all runs. */
enum { SWEEP_WHERE_TEXT = 8192 };
/* CORE_USAGE: too long, or a condition has several lines. */
int sweep_where_format(const CoreOptionList *where, char text[SWEEP_WHERE_TEXT]);
/* Adds the runs of `more` to the selections. CORE_USAGE: too long. */
int sweep_where_join(char text[SWEEP_WHERE_TEXT], const char *more);
/* Sets is_selected[run]. Caller frees it. CORE_USAGE: no such key or value; it is NULL. */
int sweep_where_mark(const SweepGrid *grid, const char *text, bool **is_selected);

/* Checks whether the local executor can start a part of the sweep alone. CORE_USAGE: a run starts from one that is
 * neither in it nor done, or a search continues in waves. */
int sweep_where_check_here(const char *root, const SweepGrid *grid, const SweepGrid *part);

#endif
