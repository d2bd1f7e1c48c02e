/* Iteration rows into results.db, several times faster than by INSERT.
 *
 * Binding 32 values and running the statement's bytecode costs SQLite some 2 to 3 microseconds a row, more than
 * reading the log. But rows that already stand in a table of the same shape it copies as they are ("transfer
 * optimization": INSERT INTO x SELECT * FROM y, insert.c in SQLite; VACUUM rests on it). So the rows are written as
 * the table of a small database in memory, in SQLite's file format (sqlite.org/fileformat2.html, stable by promise),
 * which sqlite3_deserialize lends to the connection. Should SQLite ever not take its short cut, the same statement
 * does the same, slower. */
#include "store/bulk_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "store/bins_internal.h"
#include "store/runlog_internal.h"
#include "store/schema.h"

/* File format: page sizes and offsets. */
enum {
  PAGE = STORE_SCHEMA_PAGE_BYTES,
  TABLE_LEAF = 13, TABLE_INTERIOR = 5,     /* page types */
  LEAF_HEADER = 8, INTERIOR_HEADER = 12,
  PAGE_COUNT_AT = 28,                      /* in the file's header */
  TEMPLATE_PAGES = 2,                      /* schema; the table's root */
  RECORD_HEADER = 2 + STORE_ITERATION_COUNT,   /* its length, the key's NULL, a type a column */
  RECORD_MAX = RECORD_HEADER + 8 * STORE_ITERATION_COUNT,
  CELL_MAX = 2 + 9 + RECORD_MAX,           /* length, rowid, record */
  ROWS_A_LEAF = (PAGE - LEAF_HEADER) / (CELL_MAX + 2),
  LEAVES_MAX = STORE_BULK_ROWS / ROWS_A_LEAF + 1,
};
_Static_assert(RECORD_HEADER < 128, "lengths below 128 take one byte");
_Static_assert(LEAVES_MAX * (4 + 9 + 2) + INTERIOR_HEADER <= PAGE, "one root page points to all leaves");

typedef struct BulkRow {
  int64_t key;
  double values[STORE_ITERATION_COUNT];
} BulkRow;

struct StoreBulk {
  StoreDatabase *database;
  sqlite3_stmt *overlaps, *bins;
  size_t count;
  BulkRow *rows;          /* [STORE_BULK_ROWS] as added */
  uint32_t *order;        /* [STORE_BULK_ROWS] rows by key, each key once */
  size_t ordered;
  uint8_t *image;         /* [TEMPLATE_PAGES + LEAVES_MAX][PAGE] */
};

/* ---- the file format -------------------------------------------------------------------------------------------- */

static inline void put_big_endian(uint8_t *target, uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; i--, value >>= 8) target[i] = (uint8_t)value;
}

/* Seven bits a byte, the highest first; keys here are below 2^63, which 9 bytes hold. */
static size_t put_varint(uint8_t *target, uint64_t value) {
  if (value >> 56) { /* the ninth byte has eight bits */
    target[8] = (uint8_t)value;
    value >>= 8;
    for (int i = 7; i >= 0; i--, value >>= 7) target[i] = (uint8_t)(value | 0x80);
    return 9;
  }
  size_t length = 1;
  for (uint64_t rest = value >> 7; rest; rest >>= 7) length++;
  for (size_t i = length; i-- > 0; value >>= 7) target[i] = (uint8_t)((value & 0x7f) | (i + 1 < length ? 0x80 : 0));
  return length;
}

/* A number's serial type and bytes; returns how many. Whole numbers take fewer, as SQLite does in REAL columns
 * itself. */
static inline size_t put_value(double value, uint8_t *type, uint8_t *body) {
  static const uint8_t types[] = {0, 1, 2, 3, 4, 5, 5}, sizes[] = {0, 1, 2, 3, 4, 6, 6};
  if (isnan(value)) {
    *type = 0;
    return 0;
  }
  if (fabs(value) < 140737488355328.0 /* 2^47 */ && value == (double)(int64_t)value) {
    int64_t whole = (int64_t)value;
    if (whole == 0 || whole == 1) {
      *type = (uint8_t)(8 + whole);
      return 0;
    }
    int bits = 65 - __builtin_clzll((uint64_t)(whole < 0 ? ~whole : whole) | 1); /* with the sign's */
    int bytes = (bits + 7) / 8;
    *type = types[bytes];
    put_big_endian(body, (uint64_t)whole, sizes[bytes]);
    return sizes[bytes];
  }
  uint64_t word;
  memcpy(&word, &value, sizeof word);
  *type = 7;
  put_big_endian(body, word, 8);
  return 8;
}

/* The record of a row. Its first column is the rowid, which the cell holds: NULL. */
static size_t put_record(uint8_t *target, const BulkRow *row) {
  size_t length = RECORD_HEADER;
  target[0] = RECORD_HEADER;
  target[1] = 0;
  for (int i = 0; i < STORE_ITERATION_COUNT; i++)
    length += put_value(row->values[i], target + 2 + i, target + length);
  return length;
}

/* A page being filled: pointers grow from the front, cells from the back. */
typedef struct Page {
  uint8_t *bytes;
  size_t header, cells, content;
} Page;

static Page begin_page(uint8_t *bytes, uint8_t type) {
  size_t header = type == TABLE_LEAF ? LEAF_HEADER : INTERIOR_HEADER;
  memset(bytes, 0, header);
  bytes[0] = type;
  return (Page){bytes, header, 0, PAGE};
}

static bool page_has_room(const Page *page, size_t bytes) {
  return page->header + 2 * (page->cells + 1) + bytes <= page->content;
}

static uint8_t *add_cell(Page *page, size_t bytes) {
  page->content -= bytes;
  put_big_endian(page->bytes + page->header + 2 * page->cells++, page->content, 2);
  return page->bytes + page->content;
}

static void end_page(Page *page) {
  put_big_endian(page->bytes + 3, page->cells, 2);
  put_big_endian(page->bytes + 5, page->content, 2);
}

/* Leaves behind the template's pages, then the root over them. Returns the number of pages. */
static size_t build_image(StoreBulk *bulk) {
  uint8_t record[RECORD_MAX], head[18];
  uint8_t *root_bytes = bulk->image + PAGE;
  size_t pages = TEMPLATE_PAGES;
  int64_t last_key = 0;
  Page root = begin_page(root_bytes, TABLE_INTERIOR);
  Page leaf = begin_page(bulk->image + PAGE * pages++, TABLE_LEAF);
  for (size_t i = 0; i < bulk->ordered; i++) {
    const BulkRow *row = &bulk->rows[bulk->order[i]];
    size_t length = put_record(record, row), head_length = put_varint(head, length);
    head_length += put_varint(head + head_length, (uint64_t)row->key);
    if (!page_has_room(&leaf, head_length + length)) {
      /* The root's cell: the leaf's page number, counted from 1, and its greatest key. */
      uint8_t pointer[4 + 9];
      put_big_endian(pointer, pages, 4);
      size_t pointer_length = 4 + put_varint(pointer + 4, (uint64_t)last_key);
      memcpy(add_cell(&root, pointer_length), pointer, pointer_length);
      end_page(&leaf);
      leaf = begin_page(bulk->image + PAGE * pages++, TABLE_LEAF);
    }
    uint8_t *cell = add_cell(&leaf, head_length + length);
    memcpy(cell, head, head_length);
    memcpy(cell + head_length, record, length);
    last_key = row->key;
  }
  end_page(&leaf);
  put_big_endian(root_bytes + 8, pages, 4); /* the last leaf */
  end_page(&root);
  if (root.cells == 0) { /* a root over a single leaf is that leaf */
    memcpy(root_bytes, leaf.bytes, PAGE);
    pages--;
  }
  put_big_endian(bulk->image + PAGE_COUNT_AT, pages, 4);
  return pages;
}

/* ---- create and destroy ----------------------------------------------------------------------------------------- */

/* The first pages as SQLite itself writes them for an empty table of this shape. */
static int make_template(StoreBulk *bulk) {
  sqlite3 *memory = NULL;
  sqlite3_int64 size = 0;
  char pragma[48];
  CoreText sql = {0};
  snprintf(pragma, sizeof pragma, "PRAGMA page_size = %d;", PAGE);
  core_text_appendf(&sql, "%sCREATE TABLE main.iteration_row%s", pragma, store_schema_iteration_row);
  unsigned char *bytes = NULL;
  if (sqlite3_open(":memory:", &memory) == SQLITE_OK && sqlite3_exec(memory, sql.data, NULL, NULL, NULL) == SQLITE_OK)
    bytes = sqlite3_serialize(memory, "main", &size, 0);
  bool good = bytes && size == TEMPLATE_PAGES * PAGE;
  if (good) memcpy(bulk->image, bytes, (size_t)size);
  sqlite3_free(bytes);
  sqlite3_close(memory);
  core_text_free(&sql);
  return good ? CORE_OK : core_error(CORE_FAIL, "SQLite %s can not prepare the import", sqlite3_libversion());
}

int store_bulk_create(StoreDatabase *database, StoreBulk **result) {
  StoreBulk *bulk = core_memory_zero_allocate(1, sizeof *bulk);
  bulk->database = database;
  bulk->rows = core_memory_allocate(STORE_BULK_ROWS * sizeof *bulk->rows);
  bulk->order = core_memory_allocate(STORE_BULK_ROWS * sizeof *bulk->order);
  bulk->image = core_memory_allocate((size_t)PAGE * (TEMPLATE_PAGES + LEAVES_MAX));
  int code = make_template(bulk);
  if (code == CORE_OK) code = store_database_execute(database, "ATTACH ':memory:' AS bulk");
  if (code == CORE_OK)
    code = store_database_prepare(database, "SELECT 1 FROM main.iteration_row WHERE row BETWEEN ?1 AND ?2 LIMIT 1",
                                  &bulk->overlaps);
  *result = bulk;
  if (code != CORE_OK) store_bulk_destroy(result);
  return code;
}

void store_bulk_destroy(StoreBulk **bulk) {
  if (!*bulk) return;
  sqlite3_finalize((*bulk)->overlaps);
  sqlite3_finalize((*bulk)->bins);
  sqlite3_exec((*bulk)->database->handle, "DETACH bulk", NULL, NULL, NULL); /* before the image is freed */
  free((*bulk)->rows);
  free((*bulk)->order);
  free((*bulk)->image);
  free(*bulk);
  *bulk = NULL;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

void store_bulk_add(StoreBulk *bulk, int64_t run, const StoreIteration *row) {
  CORE_CHECK(bulk->count < STORE_BULK_ROWS && row->iteration >= 0 && row->iteration <= UINT32_MAX);
  BulkRow *target = &bulk->rows[bulk->count++];
  target->key = run << 32 | row->iteration;
  memcpy(target->values, store_iteration_values(row), sizeof target->values);
}

size_t store_bulk_count(const StoreBulk *bulk) { return bulk->count; }

static int by_key(const void *a, const void *b, void *context) {
  const BulkRow *rows = context;
  uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
  if (rows[i].key != rows[j].key) return rows[i].key < rows[j].key ? -1 : 1;
  return i < j ? -1 : i > j;
}

static void sort_rows(StoreBulk *bulk) {
  bool ascending = true;
  for (size_t i = 0; i < bulk->count; i++) {
    bulk->order[i] = (uint32_t)i;
    if (i && bulk->rows[i].key <= bulk->rows[i - 1].key) ascending = false;
  }
  bulk->ordered = bulk->count;
  if (ascending) return;
  qsort_r(bulk->order, bulk->count, sizeof *bulk->order, by_key, bulk->rows);
  bulk->ordered = 0;
  for (size_t i = 0; i < bulk->count; i++) {
    bool last = i + 1 == bulk->count || bulk->rows[bulk->order[i]].key != bulk->rows[bulk->order[i + 1]].key;
    if (last) bulk->order[bulk->ordered++] = bulk->order[i];
  }
}

int store_bulk_stage(StoreBulk *bulk) {
  sort_rows(bulk);
  sqlite3_int64 bytes = (sqlite3_int64)build_image(bulk) * PAGE;
  if (sqlite3_deserialize(bulk->database->handle, "bulk", bulk->image, bytes, bytes, 0) == SQLITE_OK) return CORE_OK;
  return store_database_error(bulk->database, "prepare the import into");
}

/* Does a run of the staged rows have rows between their first and last iteration already? */
static int find_overlap(StoreBulk *bulk, bool *found) {
  int code = CORE_OK;
  *found = false;
  for (size_t first = 0, next; first < bulk->ordered && !*found && code == CORE_OK; first = next) {
    int64_t low = bulk->rows[bulk->order[first]].key, high = low;
    for (next = first + 1; next < bulk->ordered && bulk->rows[bulk->order[next]].key >> 32 == low >> 32; next++)
      high = bulk->rows[bulk->order[next]].key;
    sqlite3_bind_int64(bulk->overlaps, 1, low);
    sqlite3_bind_int64(bulk->overlaps, 2, high);
    int step = sqlite3_step(bulk->overlaps);
    *found = step == SQLITE_ROW;
    if (step != SQLITE_ROW && step != SQLITE_DONE) code = store_database_error(bulk->database, "read");
    sqlite3_reset(bulk->overlaps);
  }
  return code;
}

/* The sums of the rows just inserted, a statement for each stretch of neighbouring bins. */
static int update_bins(StoreBulk *bulk) {
  for (size_t begin = 0, end; begin < bulk->ordered; begin = end) {
    int64_t first = bulk->rows[bulk->order[begin]].key, last = first;
    for (end = begin + 1; end < bulk->ordered; end++) {
      int64_t key = bulk->rows[bulk->order[end]].key;
      if ((key >> 6) - (last >> 6) > 1) break;
      last = key;
    }
    TRY(store_bins_update(bulk->database, &bulk->bins, first, last));
  }
  return CORE_OK;
}

int store_bulk_insert(StoreBulk *bulk) {
  bool overlap;
  if (bulk->ordered == 0) return CORE_OK;
  TRY(find_overlap(bulk, &overlap));
  if (overlap)
    TRY(store_database_execute(bulk->database,
                               "DELETE FROM main.iteration_row WHERE row IN (SELECT row FROM bulk.iteration_row)"));
  TRY(store_database_execute(bulk->database, "INSERT INTO main.iteration_row SELECT * FROM bulk.iteration_row"));
  return update_bins(bulk);
}

void store_bulk_clear(StoreBulk *bulk) { bulk->count = bulk->ordered = 0; }
