/* Inserts and removes iteration rows (bulk_internal.h), and then sums each bin whose rows have changed. */
#include "store/database/bulk_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "store/runlog/runlog_internal.h"

enum { KEYS = 2, BIN_BITS = 6, BIN_ITERATIONS = 1 << BIN_BITS };

#define COMMA_NAME(name, unit, comment) ", " #name
#define COMMA_MARK(name, unit, comment) ", ?"
static const char insert_sql[] =
  "INSERT OR REPLACE INTO iteration(run_id, iteration" STORE_ITERATION_COLUMNS(COMMA_NAME) ")"
  " VALUES(?, ?" STORE_ITERATION_COLUMNS(COMMA_MARK) ")";
static const char remove_sql[] = "DELETE FROM iteration WHERE run_id = ?1 AND iteration = ?2";

/* Rows of a bin, or of all bins, in the order of the table. */
#define BIN_ROWS_SQL "SELECT run_id, iteration, transitions, kl, ddr, merged_iterations FROM iteration"
static const char bin_rows_sql[] = BIN_ROWS_SQL " WHERE run_id = ?1 AND iteration BETWEEN ?2 << 6 AND ?2 << 6 | 63";
static const char put_bin_sql[] =
  "INSERT OR REPLACE INTO iteration_bin(run_id, bin, n, transitions, kl_sum, kl_transitions)"
  " VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
static const char remove_bin_sql[] = "DELETE FROM iteration_bin WHERE run_id = ?1 AND bin = ?2";

typedef struct BulkRow { char id[CORE_RUN_ID]; StoreIteration row; } BulkRow;

struct StoreBulk {
  StoreDatabase *database;
  sqlite3_stmt *insert, *remove, *bin_rows, *put_bin, *remove_bin;
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
  if (code == CORE_OK) code = store_database_prepare(database, remove_sql, &bulk->remove);
  if (code == CORE_OK) code = store_database_prepare(database, bin_rows_sql, &bulk->bin_rows);
  if (code == CORE_OK) code = store_database_prepare(database, put_bin_sql, &bulk->put_bin);
  if (code == CORE_OK) code = store_database_prepare(database, remove_bin_sql, &bulk->remove_bin);
  if (code != CORE_OK) store_bulk_destroy(result);
  return code;
}

void store_bulk_destroy(StoreBulk **bulk) {
  if (!*bulk) return;
  sqlite3_finalize((*bulk)->insert);
  sqlite3_finalize((*bulk)->remove);
  sqlite3_finalize((*bulk)->bin_rows);
  sqlite3_finalize((*bulk)->put_bin);
  sqlite3_finalize((*bulk)->remove_bin);
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

static int remove_row(StoreBulk *bulk, const BulkRow *item) {
  sqlite3_bind_text(bulk->remove, 1, item->id, -1, SQLITE_STATIC);
  sqlite3_bind_int64(bulk->remove, 2, item->row.iteration);
  return store_database_run(bulk->database, bulk->remove);
}

/* Inserts a row, or removes it if it has no number. About half of the columns are NULL (other learners, metrics
 * measured at intervals), and those that already are NULL are not bound again. */
static int insert_row(StoreBulk *bulk, const BulkRow *item) {
  const double *values = store_iteration_values(&item->row);
  if (store_values_are_absent(values, STORE_ITERATION_COUNT)) return remove_row(bulk, item);

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

/* ---- bins ------------------------------------------------------------------------------------------------------- */

/* Sums over the rows of a bin, all NaN before the first row. DDR = kl_transitions / kl_sum (schema.h): transitions of
 * the iterations with a known KL / the sum of their KL. */
typedef struct Bin { double n, transitions, kl_sum, kl_transitions; } Bin;

static const Bin empty_bin = {NAN, NAN, NAN, NAN};

static void add_term(double *sum, double term) {
  if (!isnan(term)) *sum = isnan(*sum) ? term : *sum + term;
}

/* Columns of an iteration that bins are made of. */
typedef struct BinRow { int64_t iteration; double transitions, kl, ddr, merged; } BinRow;

/* Returns the transitions of an iteration. An unmerged row tells them by its DDR, which logs hold to 9 digits; whole
 * numbers are restored. Merged rows are the trainer's, whose iterations are equally long. */
static double iteration_transitions(const BinRow *row, double kl) {
  const double product = row->ddr * kl, whole = nearbyint(product);
  if (isnan(row->merged) && isfinite(product)) return fabs(product - whole) <= 1e-7 * fabs(whole) ? whole : product;
  return row->iteration > 0 ? row->transitions / (double)row->iteration : NAN;
}

static void bin_add(Bin *bin, const BinRow *row) {
  const double iterations = isnan(row->merged) ? 1 : row->merged, kl = fmax(row->kl, 1e-12);
  add_term(&bin->n, iterations);
  bin->transitions = fmax(bin->transitions, row->transitions);
  if (isnan(row->kl)) return;
  add_term(&bin->kl_sum, iterations * kl);
  add_term(&bin->kl_transitions, iterations * iteration_transitions(row, kl));
}

static int put_bin(StoreDatabase *database, sqlite3_stmt *put, const char *id, int64_t index, const Bin *bin) {
  const double sums[] = {bin->n, bin->transitions, bin->kl_sum, bin->kl_transitions};
  sqlite3_bind_text(put, 1, id, -1, SQLITE_TRANSIENT);
  sqlite3_bind_int64(put, 2, index);
  for (int i = 0; i < 4; i++) sqlite3_bind_double(put, 3 + i, sums[i]); /* SQLite stores NaN as NULL */
  return store_database_run(database, put);
}

static double column_number(sqlite3_stmt *query, int column) {
  return sqlite3_column_type(query, column) == SQLITE_NULL ? NAN : sqlite3_column_double(query, column);
}

/* Adds the current row of a query of BIN_ROWS_SQL. */
static void bin_add_stored(Bin *bin, sqlite3_stmt *query) {
  const BinRow row = {.iteration = sqlite3_column_int64(query, 1), .transitions = column_number(query, 2),
                      .kl = column_number(query, 3), .ddr = column_number(query, 4),
                      .merged = column_number(query, 5)};
  bin_add(bin, &row);
}

static int sum_stored_rows(StoreBulk *bulk, const char *id, int64_t index, Bin *bin) {
  int step;
  sqlite3_bind_text(bulk->bin_rows, 1, id, -1, SQLITE_STATIC);
  sqlite3_bind_int64(bulk->bin_rows, 2, index);
  while ((step = sqlite3_step(bulk->bin_rows)) == SQLITE_ROW) bin_add_stored(bin, bulk->bin_rows);
  const int code = step == SQLITE_DONE ? CORE_OK : store_database_error(bulk->database, "read");
  sqlite3_reset(bulk->bin_rows);
  return code;
}

/* Whether the rows are all that their bin can have, so that the stored ones need not be read again. */
static bool is_whole_bin(const BulkRow *rows, size_t count) {
  if (count != BIN_ITERATIONS) return false;
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && rows[i].row.iteration != rows[i - 1].row.iteration + 1) return false;
    if (store_values_are_absent(store_iteration_values(&rows[i].row), STORE_ITERATION_COUNT)) return false;
  }
  return true;
}

static int remove_bin(StoreBulk *bulk, const char *id, int64_t index) {
  sqlite3_bind_text(bulk->remove_bin, 1, id, -1, SQLITE_STATIC);
  sqlite3_bind_int64(bulk->remove_bin, 2, index);
  return store_database_run(bulk->database, bulk->remove_bin);
}

/* Writes the sums of the bin of `rows`, which have been inserted. */
static int sum_bin(StoreBulk *bulk, const BulkRow *rows, size_t count) {
  const int64_t index = rows->row.iteration >> BIN_BITS;
  Bin bin = empty_bin;
  if (is_whole_bin(rows, count)) {
    for (size_t i = 0; i < count; i++) {
      const StoreIteration *row = &rows[i].row;
      bin_add(&bin, &(BinRow){row->iteration, row->transitions, row->kl, row->ddr, row->merged_iterations});
    }
  } else {
    TRY(sum_stored_rows(bulk, rows->id, index, &bin));
  }
  if (isnan(bin.n)) return remove_bin(bulk, rows->id, index);
  return put_bin(bulk->database, bulk->put_bin, rows->id, index, &bin);
}

static bool is_same_bin(const BulkRow *a, const BulkRow *b) {
  return a->row.iteration >> BIN_BITS == b->row.iteration >> BIN_BITS && strcmp(a->id, b->id) == 0;
}

int store_bulk_insert(StoreBulk *bulk) {
  for (size_t i = 0; i < bulk->count; i++) TRY(insert_row(bulk, &bulk->rows[i]));
  for (size_t first = 0, end; first < bulk->count; first = end) {
    for (end = first + 1; end < bulk->count && is_same_bin(&bulk->rows[first], &bulk->rows[end]);) end++;
    TRY(sum_bin(bulk, &bulk->rows[first], end - first));
  }
  return CORE_OK;
}

/* Writes all bins from the rows that `query` returns. */
static int rebuild_bins(StoreDatabase *database, sqlite3_stmt *query, sqlite3_stmt *put) {
  char id[CORE_RUN_ID] = "";
  int64_t index = 0;
  Bin bin = empty_bin;
  int step;

  while ((step = sqlite3_step(query)) == SQLITE_ROW) {
    const char *row_id = (const char *)sqlite3_column_text(query, 0);
    const int64_t row_index = sqlite3_column_int64(query, 1) >> BIN_BITS;
    if (!row_id) continue;
    if (row_index != index || strcmp(row_id, id) != 0) {
      if (*id) TRY(put_bin(database, put, id, index, &bin));
      snprintf(id, sizeof id, "%s", row_id);
      index = row_index;
      bin = empty_bin;
    }
    bin_add_stored(&bin, query);
  }

  if (step != SQLITE_DONE) return store_database_error(database, "read");
  return *id ? put_bin(database, put, id, index, &bin) : CORE_OK;
}

int store_bins_rebuild(StoreDatabase *database) {
  sqlite3_stmt *query = NULL, *put = NULL;
  int code;
  TRY(store_database_execute(database, "DELETE FROM iteration_bin"));
  TRY_GOTO(code, out, store_database_prepare(database, BIN_ROWS_SQL " ORDER BY run_id, iteration", &query));
  TRY_GOTO(code, out, store_database_prepare(database, put_bin_sql, &put));
  code = rebuild_bins(database, query, put);
out:
  sqlite3_finalize(query);
  sqlite3_finalize(put);
  return code;
}
