/* `iteration_row`: the chunks of iterations as rows again, for SQL of our own connections, and of other programs' that
 * load it (extension.c): a virtual table with the columns `row` (run.key << 32 | iteration) and one for each measured
 * value. It is what the file had as a table before schema 6, so the same SQL reads files of all versions.
 *
 * Rows come in their order, forwards or backwards, from any row on. Of a chunk only those columns are read and unpacked
 * that a statement asks for, and the last few chunks stay unpacked, since statements come back to them. */
#include "store/database/rows_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/database/chunk_internal.h"

enum { KEPT_CHUNKS = 8 };
/* idxNum; values come in this order. ABOVE and BELOW: without the bound itself. */
enum { WANTED_EXACT = 1, WANTED_FROM = 2, WANTED_TO = 4, WANTED_BACKWARDS = 8, WANTED_ABOVE = 16, WANTED_BELOW = 32 };

typedef struct Kept {
  int64_t chunk;                  /* -1: none */
  uint64_t used;
  bool known[STORE_ITERATION_COUNT];
  StoreChunk data;                /* columns that are known */
} Kept;

typedef struct Table {
  sqlite3_vtab base;
  sqlite3 *handle;
  sqlite3_stmt *after, *before, *columns[STORE_ITERATION_COUNT];
  uint64_t clock;
  unsigned version;               /* of the file, and of this connection's changes, when the chunks were read */
  int changes;
  int stored;                     /* columns that the file has; one of an older version lacks the last */
  Kept *kept[KEPT_CHUNKS];
} Table;

typedef struct Cursor {
  sqlite3_vtab_cursor base;
  int64_t first, last;            /* rows asked for */
  bool backwards, at_end;
  int64_t row;                    /* where it stands */
  Kept *kept;                     /* its chunk, when no other cursor has taken that room since; NULL: nowhere yet */
} Cursor;

static Table *table_of(sqlite3_vtab_cursor *cursor) { return (Table *)cursor->pVtab; }

static int fail(Table *table, int code, const char *text) {
  sqlite3_free(table->base.zErrMsg);
  table->base.zErrMsg = sqlite3_mprintf("%s", text);
  return code;
}

/* ---- chunks ----------------------------------------------------------------------------------------------------- */

/* Forgets what it has when the file may have changed. Inside an own transaction that writes nothing tells. */
static void keep_current(Table *table) {
  unsigned version = 0;
  int changes = sqlite3_total_changes(table->handle);
  bool writing = sqlite3_txn_state(table->handle, "main") == SQLITE_TXN_WRITE;
  sqlite3_file_control(table->handle, "main", SQLITE_FCNTL_DATA_VERSION, &version);
  if (!writing && version == table->version && changes == table->changes) return;
  for (int i = 0; i < KEPT_CHUNKS; i++)
    if (table->kept[i]) table->kept[i]->chunk = -1;
  table->version = writing ? 0 : version;
  table->changes = writing ? -1 : changes;
}

static Kept *find_kept(Table *table, int64_t chunk) {
  for (int i = 0; i < KEPT_CHUNKS; i++) {
    if (!table->kept[i] || table->kept[i]->chunk != chunk) continue;
    table->kept[i]->used = ++table->clock;
    return table->kept[i];
  }
  return NULL;
}

/* The place of the chunk that was not used for longest. NULL: no memory. */
static Kept *make_room(Table *table, int64_t chunk) {
  int oldest = 0;
  for (int i = 0; i < KEPT_CHUNKS; i++) {
    if (!table->kept[i]) {
      table->kept[i] = sqlite3_malloc(sizeof **table->kept);
      if (!table->kept[i]) return NULL;
      oldest = i;
      break;
    }
    if (table->kept[i]->used < table->kept[oldest]->used) oldest = i;
  }
  Kept *kept = table->kept[oldest];
  memset(kept->known, 0, sizeof kept->known);
  kept->chunk = chunk;
  kept->used = ++table->clock;
  return kept;
}

/* The first chunk from `first` to `last`, or the last one; *found NULL: there is none. */
static int seek_chunk(Table *table, int64_t first, int64_t last, bool backwards, Kept **found) {
  double iterations[STORE_PACK_PLACES];
  sqlite3_stmt *seek = backwards ? table->before : table->after;
  *found = find_kept(table, backwards ? last : first);
  if (*found) return SQLITE_OK;
  sqlite3_bind_int64(seek, 1, first);
  sqlite3_bind_int64(seek, 2, last);
  int step = sqlite3_step(seek), code = step == SQLITE_ROW || step == SQLITE_DONE ? SQLITE_OK : step;
  if (step == SQLITE_ROW) {
    int64_t chunk = sqlite3_column_int64(seek, 0);
    *found = find_kept(table, chunk);
    if (!*found) {
      if (store_unpack(sqlite3_column_value(seek, 1), iterations)) {
        *found = make_room(table, chunk);
        if (!*found) code = SQLITE_NOMEM;
        for (int place = 0; place < STORE_PACK_PLACES && *found; place++)
          (*found)->data.present[place] = !isnan(iterations[place]);
      } else {
        code = fail(table, SQLITE_CORRUPT_VTAB, "iteration_chunk: packed values that can not be read");
      }
    }
  }
  sqlite3_reset(seek);
  return code;
}

#define NAME(name, unit, comment) #name,
static int unpack_column(Table *table, Kept *kept, int column) {
  static const char *const names[] = {STORE_ITERATION_COLUMNS(NAME)};
  sqlite3_stmt **statement = &table->columns[column];
  int code = SQLITE_OK;
  if (column >= table->stored) {
    for (int place = 0; place < STORE_PACK_PLACES; place++) kept->data.values[column][place] = NAN;
    kept->known[column] = true;
    return SQLITE_OK;
  }
  if (!*statement) {
    char sql[160];
    snprintf(sql, sizeof sql, "SELECT %s FROM main.iteration_chunk WHERE chunk = ?1", names[column]);
    code = sqlite3_prepare_v3(table->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    if (code != SQLITE_OK) return fail(table, code, sqlite3_errmsg(table->handle));
  }
  sqlite3_bind_int64(*statement, 1, kept->chunk);
  int step = sqlite3_step(*statement);
  if (step != SQLITE_ROW) code = step == SQLITE_DONE ? SQLITE_CORRUPT_VTAB : step;
  else if (!store_unpack(sqlite3_column_value(*statement, 0), kept->data.values[column]))
    code = fail(table, SQLITE_CORRUPT_VTAB, "iteration_chunk: packed values that can not be read");
  kept->known[column] = code == SQLITE_OK;
  sqlite3_reset(*statement);
  return code;
}

/* ---- the virtual table ------------------------------------------------------------------------------------------ */

static int disconnect(sqlite3_vtab *base) {
  Table *table = (Table *)base;
  sqlite3_finalize(table->after);
  sqlite3_finalize(table->before);
  for (int c = 0; c < STORE_ITERATION_COUNT; c++) sqlite3_finalize(table->columns[c]);
  for (int i = 0; i < KEPT_CHUNKS; i++) sqlite3_free(table->kept[i]);
  sqlite3_free(table);
  return SQLITE_OK;
}

/* How many measured columns the file has: they come after the chunk's others, and only the last can be missing. */
static int count_columns(Table *table) {
  sqlite3_stmt *all = NULL;
  int code = sqlite3_prepare_v2(table->handle, "SELECT * FROM main.iteration_chunk", -1, &all, NULL);
  table->stored = sqlite3_column_count(all) - STORE_CHUNK_KEY_COUNT;
  sqlite3_finalize(all);
  return code;
}

#define DECLARED(name, unit, comment) ", " #name " REAL"
static int connect_table(sqlite3 *handle, void *context, int argc, const char *const *argv, sqlite3_vtab **result,
                         char **message) {
  (void)context, (void)argc, (void)argv;
  static const char chunk[] =
    "SELECT chunk, iteration FROM main.iteration_chunk WHERE chunk BETWEEN ?1 AND ?2 ORDER BY chunk";
  char backwards[160];
  int code = sqlite3_declare_vtab(handle, "CREATE TABLE iteration_row(row INTEGER"
                                  STORE_ITERATION_COLUMNS(DECLARED) ")");
  if (code != SQLITE_OK) return code;
  /* Not for views of the file: one in the place of iteration_chunk would call this table from within itself. */
  sqlite3_vtab_config(handle, SQLITE_VTAB_DIRECTONLY);
  Table *table = sqlite3_malloc(sizeof *table);
  if (!table) return SQLITE_NOMEM;
  memset(table, 0, sizeof *table);
  table->handle = handle;
  table->changes = -1;
  snprintf(backwards, sizeof backwards, "%s DESC LIMIT 1", chunk);
  code = sqlite3_prepare_v3(handle, backwards, -1, SQLITE_PREPARE_PERSISTENT, &table->before, NULL);
  if (code == SQLITE_OK) code = sqlite3_prepare_v3(handle, chunk, -1, SQLITE_PREPARE_PERSISTENT, &table->after, NULL);
  if (code == SQLITE_OK) code = count_columns(table);
  *result = &table->base;
  if (code == SQLITE_OK) return code;
  *message = sqlite3_mprintf("%s", sqlite3_errmsg(handle));
  disconnect(&table->base);
  *result = NULL;
  return code;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
  int exact = -1, from = -1, to = -1, values = 0;
  (void)base;
  for (int i = 0; i < info->nConstraint; i++) {
    if (!info->aConstraint[i].usable || info->aConstraint[i].iColumn > 0) continue;
    switch (info->aConstraint[i].op) {
      case SQLITE_INDEX_CONSTRAINT_EQ: exact = i; break;
      case SQLITE_INDEX_CONSTRAINT_GE:
      case SQLITE_INDEX_CONSTRAINT_GT: from = i; break;
      case SQLITE_INDEX_CONSTRAINT_LE:
      case SQLITE_INDEX_CONSTRAINT_LT: to = i; break;
      default: break;
    }
  }
  if (exact >= 0) from = to = -1;
  info->idxNum = exact >= 0 ? WANTED_EXACT : 0;
  info->idxFlags = exact >= 0 ? SQLITE_INDEX_SCAN_UNIQUE : 0;
  if (from >= 0) info->idxNum |= WANTED_FROM;
  if (from >= 0 && info->aConstraint[from].op == SQLITE_INDEX_CONSTRAINT_GT) info->idxNum |= WANTED_ABOVE;
  if (to >= 0) info->idxNum |= WANTED_TO;
  if (to >= 0 && info->aConstraint[to].op == SQLITE_INDEX_CONSTRAINT_LT) info->idxNum |= WANTED_BELOW;
  const int taken[] = {exact, from, to};
  for (int i = 0; i < 3; i++) {
    if (taken[i] < 0) continue;
    info->aConstraintUsage[taken[i]].argvIndex = ++values;
    info->aConstraintUsage[taken[i]].omit = 1; /* filter keeps to it: SQLite need not look again at each row */
  }
  info->estimatedRows = exact >= 0 ? 1 : values == 2 ? 1000 : values == 1 ? 1000000 : 10000000;
  info->estimatedCost = (double)info->estimatedRows;
  if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn <= 0) {
    info->orderByConsumed = 1;
    if (info->aOrderBy[0].desc) info->idxNum |= WANTED_BACKWARDS;
  }
  return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **result) {
  (void)base;
  Cursor *cursor = sqlite3_malloc(sizeof *cursor);
  if (!cursor) return SQLITE_NOMEM;
  memset(cursor, 0, sizeof *cursor);
  *result = &cursor->base;
  return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base) {
  sqlite3_free(base);
  return SQLITE_OK;
}

/* To the nearest row that is there, from `row` (itself included) on. */
static int move_to(Cursor *cursor, int64_t row) {
  Table *table = table_of(&cursor->base);
  const int way = cursor->backwards ? -1 : 1;
  while (row >= cursor->first && row <= cursor->last) {
    Kept *kept;
    int64_t first = (cursor->backwards ? cursor->first : row) >> 8;
    int64_t last = (cursor->backwards ? row : cursor->last) >> 8;
    int code = seek_chunk(table, first, last, cursor->backwards, &kept);
    if (code != SQLITE_OK) return code;
    if (!kept) break;
    cursor->kept = kept;
    if (kept->chunk != row >> 8) row = kept->chunk << 8 | (cursor->backwards ? STORE_PACK_PLACES - 1 : 0);
    for (; row >> 8 == kept->chunk && row >= cursor->first && row <= cursor->last; row += way) {
      cursor->row = row;
      if (kept->data.present[row & (STORE_PACK_PLACES - 1)]) return SQLITE_OK;
      cursor->at_end = row == (cursor->backwards ? cursor->first : cursor->last);
      if (cursor->at_end) return SQLITE_OK; /* before the greatest of all numbers is passed */
    }
  }
  cursor->at_end = true;
  return SQLITE_OK;
}

/* *row: the least whole number that is >= the value, > it when `beyond`. False: there is none. Numbers are less than
 * text, as everywhere in SQLite, and compare with NULL in no way. */
static bool least(sqlite3_value *value, bool beyond, int64_t *row) {
  int type = sqlite3_value_numeric_type(value);
  double real = sqlite3_value_double(value);
  *row = sqlite3_value_int64(value);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return false;
  if (type == SQLITE_FLOAT && real != floor(real))
    *row = (int64_t)ceil(real); /* it has a fraction, so it is below 2^53 */
  else if (beyond && *row == INT64_MAX) return false;
  else *row += beyond;
  return true;
}

/* *row: the greatest that is <= the value, < it when `beyond`. */
static bool greatest(sqlite3_value *value, bool beyond, int64_t *row) {
  int type = sqlite3_value_numeric_type(value);
  double real = sqlite3_value_double(value);
  *row = sqlite3_value_int64(value);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) *row = INT64_MAX;
  else if (type == SQLITE_FLOAT && real != floor(real)) *row = (int64_t)floor(real);
  else if (beyond && *row == INT64_MIN) return false;
  else *row -= beyond;
  return type != SQLITE_NULL;
}

static int filter(sqlite3_vtab_cursor *base, int wanted, const char *text, int argc, sqlite3_value **argv) {
  Cursor *cursor = (Cursor *)base;
  bool any = true;
  (void)text, (void)argc;
  keep_current(table_of(base));
  cursor->first = 0;
  cursor->last = INT64_MAX;
  if (wanted & WANTED_EXACT) any = least(*argv, false, &cursor->first) && greatest(*argv, false, &cursor->last);
  if (wanted & WANTED_FROM) any = least(*argv++, wanted & WANTED_ABOVE, &cursor->first);
  if (wanted & WANTED_TO) any = greatest(*argv, wanted & WANTED_BELOW, &cursor->last) && any;
  if (!any) cursor->last = -1;
  if (cursor->first < 0) cursor->first = 0;
  cursor->backwards = wanted & WANTED_BACKWARDS;
  cursor->at_end = false;
  return move_to(cursor, cursor->backwards ? cursor->last : cursor->first);
}

static int next(sqlite3_vtab_cursor *base) {
  Cursor *cursor = (Cursor *)base;
  const int64_t row = cursor->row + 1;
  if (!cursor->backwards && row <= cursor->last && cursor->kept->chunk == row >> 8 &&
      cursor->kept->data.present[row & (STORE_PACK_PLACES - 1)]) {
    cursor->row = row; /* the step of nearly every row */
    return SQLITE_OK;
  }
  cursor->at_end = cursor->row == (cursor->backwards ? cursor->first : cursor->last);
  return cursor->at_end ? SQLITE_OK : move_to(cursor, cursor->backwards ? cursor->row - 1 : cursor->row + 1);
}

static int at_end(sqlite3_vtab_cursor *base) { return ((Cursor *)base)->at_end; }

static int get_row(sqlite3_vtab_cursor *base, sqlite3_int64 *row) {
  *row = ((Cursor *)base)->row;
  return SQLITE_OK;
}

/* Another cursor has taken the room of the chunk, or the column is not unpacked yet. NULL: the chunk is gone. */
static __attribute__((noinline)) int find_column(Cursor *cursor, int column, Kept **kept) {
  Table *table = table_of(&cursor->base);
  const int64_t chunk = cursor->row >> 8;
  int code = seek_chunk(table, chunk, chunk, false, kept);
  if (code == SQLITE_OK && *kept && !(*kept)->known[column]) code = unpack_column(table, *kept, column);
  if (code == SQLITE_OK && *kept) cursor->kept = *kept;
  return code;
}

static int get_column(sqlite3_vtab_cursor *base, sqlite3_context *result, int column) {
  Cursor *cursor = (Cursor *)base;
  Kept *kept = cursor->kept;
  if (column == 0) {
    sqlite3_result_int64(result, cursor->row);
    return SQLITE_OK;
  }
  if (kept->chunk != cursor->row >> 8 || !kept->known[column - 1]) {
    int code = find_column(cursor, column - 1, &kept);
    if (code != SQLITE_OK || !kept) return code;
  }
  const double value = kept->data.values[column - 1][cursor->row & (STORE_PACK_PLACES - 1)];
  if (!isnan(value)) sqlite3_result_double(result, value); /* it is NULL as it is */
  return SQLITE_OK;
}

static const sqlite3_module module = {
  .iVersion = 1, .xConnect = connect_table, .xBestIndex = best_index, .xDisconnect = disconnect, .xOpen = open_cursor,
  .xClose = close_cursor, .xFilter = filter, .xNext = next, .xEof = at_end, .xColumn = get_column, .xRowid = get_row};

int store_rows_create_module(sqlite3 *handle) {
  return sqlite3_create_module(handle, "iteration_row", &module, NULL);
}
