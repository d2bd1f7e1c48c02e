/* Inserts iteration rows (bulk_internal.h): one prepared INSERT, then the sums of each bin that received rows. */
#include "store/database/bulk_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "store/runlog/runlog_internal.h"

enum { KEYS = 2, BIN_BITS = 6 };

#define COMMA_NAME(name, unit, comment) ", " #name
#define COMMA_MARK(name, unit, comment) ", ?"
static const char insert_sql[] =
  "INSERT OR REPLACE INTO iteration(run_id, iteration" STORE_ITERATION_COLUMNS(COMMA_NAME) ")"
  " VALUES(?, ?" STORE_ITERATION_COLUMNS(COMMA_MARK) ")";

/* DDR = transitions of the iterations with a known KL / the sum of their KL (schema.h). */
#define MERGED "coalesce(merged_iterations, 1)"
#define BIN_SUMS                                                                   \
  "sum(" MERGED "), max(transitions), sum(" MERGED " * max(kl, 1e-12)),"           \
  " sum(CASE WHEN kl IS NOT NULL AND iteration > 0 THEN " MERGED " * (transitions / iteration) END) FROM iteration"
static const char bin_sql[] =
  "INSERT OR REPLACE INTO iteration_bin(run_id, bin, n, transitions, kl_sum, kl_transitions)"
  " SELECT ?1, ?2, " BIN_SUMS " WHERE run_id = ?1 AND iteration BETWEEN ?2 << 6 AND ?2 << 6 | 63";
static const char bins_sql[] =
  "DELETE FROM iteration_bin;"
  "INSERT INTO iteration_bin(run_id, bin, n, transitions, kl_sum, kl_transitions)"
  " SELECT run_id, iteration >> 6, " BIN_SUMS " GROUP BY run_id, iteration >> 6";

typedef struct BulkRow { char id[CORE_RUN_ID]; StoreIteration row; } BulkRow;

struct StoreBulk {
  StoreDatabase *database;
  sqlite3_stmt *insert, *bin;
  bool is_bound[STORE_ITERATION_COUNT]; /* whether the previous row bound a number to the column */
  size_t count;
  BulkRow *rows;                        /* [STORE_BULK_ROWS] in the order of their addition */
};

int store_bulk_create(StoreDatabase *database, StoreBulk **result) {
  StoreBulk *bulk = core_memory_zero_allocate(1, sizeof *bulk);
  bulk->database = database;
  bulk->rows = core_memory_allocate(STORE_BULK_ROWS * sizeof *bulk->rows);
  *result = bulk;
  int code = store_database_prepare(database, insert_sql, &bulk->insert);
  if (code == CORE_OK) code = store_database_prepare(database, bin_sql, &bulk->bin);
  if (code != CORE_OK) store_bulk_destroy(result);
  return code;
}

void store_bulk_destroy(StoreBulk **bulk) {
  if (!*bulk) return;
  sqlite3_finalize((*bulk)->insert);
  sqlite3_finalize((*bulk)->bin);
  free((*bulk)->rows);
  free(*bulk);
  *bulk = NULL;
}

void store_bulk_add(StoreBulk *bulk, const char id[CORE_RUN_ID], const StoreIteration *row) {
  CORE_CHECK(bulk->count < STORE_BULK_ROWS);
  BulkRow *target = &bulk->rows[bulk->count++];
  memcpy(target->id, id, CORE_RUN_ID);
  target->row = *row;
}

size_t store_bulk_count(const StoreBulk *bulk) { return bulk->count; }

void store_bulk_clear(StoreBulk *bulk) { bulk->count = 0; }

/* Inserts a row. About half of the columns are NULL (other learners, metrics measured at intervals), and those that
 * already are NULL are not bound again. */
static int insert_row(StoreBulk *bulk, const BulkRow *item) {
  const double *values = store_iteration_values(&item->row);
  sqlite3_bind_text(bulk->insert, 1, item->id, -1, SQLITE_STATIC);
  sqlite3_bind_int64(bulk->insert, 2, item->row.iteration);
  for (int c = 0; c < STORE_ITERATION_COUNT; c++) {
    const bool is_number = !isnan(values[c]);
    if (is_number) sqlite3_bind_double(bulk->insert, KEYS + 1 + c, values[c]);
    else if (bulk->is_bound[c]) sqlite3_bind_null(bulk->insert, KEYS + 1 + c);
    bulk->is_bound[c] = is_number;
  }
  return store_database_run(bulk->database, bulk->insert);
}

static int sum_bin(StoreBulk *bulk, const BulkRow *item) {
  sqlite3_bind_text(bulk->bin, 1, item->id, -1, SQLITE_STATIC);
  sqlite3_bind_int64(bulk->bin, 2, item->row.iteration >> BIN_BITS);
  return store_database_run(bulk->database, bulk->bin);
}

static bool is_same_bin(const BulkRow *a, const BulkRow *b) {
  return a->row.iteration >> BIN_BITS == b->row.iteration >> BIN_BITS && strcmp(a->id, b->id) == 0;
}

int store_bulk_insert(StoreBulk *bulk) {
  for (size_t i = 0; i < bulk->count; i++) TRY(insert_row(bulk, &bulk->rows[i]));
  for (size_t i = 0; i < bulk->count; i++)
    if (i + 1 == bulk->count || !is_same_bin(&bulk->rows[i], &bulk->rows[i + 1])) TRY(sum_bin(bulk, &bulk->rows[i]));
  return CORE_OK;
}

int store_bins_rebuild(StoreDatabase *database) { return store_database_execute(database, bins_sql); }
