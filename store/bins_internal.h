/* iteration_bin: sums over 64 iterations of a run, kept beside the rows so that the KL and DDR of a whole run, or of a
 * part, cost a look at few small rows instead of all wide ones. Derived data: can be made anew at any time. */
#ifndef STORE_BINS_INTERNAL_H
#define STORE_BINS_INTERNAL_H
#include "store/database_internal.h"

/* The bin of a row is row >> 6: a run's bins follow each other as its rows do, run.key << 26 | iteration >> 6. */
#define STORE_BIN_SELECT \
  "SELECT row >> 6 AS bin, count(*) AS n, max(transitions) AS transitions, sum(max(kl, 1e-12)) AS kl_sum," \
  " sum(CASE WHEN kl IS NOT NULL AND row & 4294967295 > 0 THEN transitions / (row & 4294967295) END) AS kl_transitions" \
  " FROM main.iteration_row"

/* All of them anew; inside a transaction. */
int store_bins_rebuild(StoreDatabase *database);
/* Those of the rows from `first` to `last` (keys of iteration_row), which are there already; inside a transaction. */
int store_bins_update(StoreDatabase *database, sqlite3_stmt **statement, int64_t first, int64_t last);
/* For a file of an older version that is only read: the same as a temporary table. */
int store_bins_imitate(StoreDatabase *database);

#endif
