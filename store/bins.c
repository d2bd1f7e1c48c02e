/* Sums of 64 iterations (bins_internal.h). */
#include "store/bins_internal.h"

int store_bins_rebuild(StoreDatabase *database) {
  return store_database_execute(database, "DELETE FROM iteration_bin;"
                                "INSERT INTO iteration_bin " STORE_BIN_SELECT " GROUP BY row >> 6");
}

int store_bins_update(StoreDatabase *database, sqlite3_stmt **statement, int64_t first, int64_t last) {
  TRY(store_database_prepare(database, "INSERT OR REPLACE INTO iteration_bin " STORE_BIN_SELECT
                             " WHERE row BETWEEN ?1 AND ?2 GROUP BY row >> 6", statement));
  sqlite3_bind_int64(*statement, 1, first & ~(int64_t)63);
  sqlite3_bind_int64(*statement, 2, last | 63);
  return store_database_run(database, *statement);
}

int store_bins_imitate(StoreDatabase *database) {
  return store_database_execute(database, "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE iteration_bin"
                                "(bin INTEGER PRIMARY KEY, n INTEGER, transitions REAL, kl_sum REAL, kl_transitions REAL);"
                                "INSERT INTO temp.iteration_bin " STORE_BIN_SELECT " GROUP BY row >> 6");
}
