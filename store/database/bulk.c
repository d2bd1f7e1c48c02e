/* Iteration rows into results.db: sorted, and then chunk by chunk of 256 iterations, so that a chunk is read, filled up
 * and written once however many rows it gets (chunk.c). */
#include "store/database/bulk_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "store/database/chunk_internal.h"

typedef struct BulkRow {
  int64_t key;            /* run.key << 32 | iteration */
  double values[STORE_ITERATION_COUNT];
} BulkRow;

struct StoreBulk {
  StoreChunks *chunks;
  StoreChunk *chunk;      /* being filled */
  size_t count;
  BulkRow *rows;          /* [STORE_BULK_ROWS] as added */
  uint32_t *order;        /* [STORE_BULK_ROWS] rows by key, equal ones as they were added */
};

int store_bulk_create(StoreDatabase *database, StoreBulk **result) {
  StoreBulk *bulk = core_memory_zero_allocate(1, sizeof *bulk);
  bulk->rows = core_memory_allocate(STORE_BULK_ROWS * sizeof *bulk->rows);
  bulk->order = core_memory_allocate(STORE_BULK_ROWS * sizeof *bulk->order);
  bulk->chunk = core_memory_allocate(sizeof *bulk->chunk);
  *result = bulk;
  int code = store_chunks_create(database, &bulk->chunks);
  if (code != CORE_OK) store_bulk_destroy(result);
  return code;
}

void store_bulk_destroy(StoreBulk **bulk) {
  if (!*bulk) return;
  store_chunks_destroy(&(*bulk)->chunks);
  free((*bulk)->rows);
  free((*bulk)->order);
  free((*bulk)->chunk);
  free(*bulk);
  *bulk = NULL;
}

void store_bulk_add(StoreBulk *bulk, int64_t run, const StoreIteration *row) {
  CORE_CHECK(bulk->count < STORE_BULK_ROWS && row->iteration >= 0 && row->iteration <= UINT32_MAX);
  BulkRow *target = &bulk->rows[bulk->count++];
  target->key = run << 32 | row->iteration;
  memcpy(target->values, store_iteration_values(row), sizeof target->values);
}

size_t store_bulk_count(const StoreBulk *bulk) { return bulk->count; }

void store_bulk_clear(StoreBulk *bulk) { bulk->count = 0; }

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
    ascending = ascending && (i == 0 || bulk->rows[i].key >= bulk->rows[i - 1].key);
  }
  if (!ascending) qsort_r(bulk->order, bulk->count, sizeof *bulk->order, by_key, bulk->rows);
}

/* Rows of one chunk, by columns; a later one overwrites an earlier one of its key. */
static void fill_chunk(StoreBulk *bulk, size_t begin, size_t end) {
  StoreChunk *chunk = bulk->chunk;
  for (size_t i = begin; i < end; i++) {
    const BulkRow *row = &bulk->rows[bulk->order[i]];
    const int place = (int)(row->key & (STORE_PACK_PLACES - 1));
    chunk->present[place] = true;
    for (int c = 0; c < STORE_ITERATION_COUNT; c++) chunk->values[c][place] = row->values[c];
  }
}

int store_bulk_insert(StoreBulk *bulk) {
  sort_rows(bulk);
  for (size_t begin = 0, end; begin < bulk->count; begin = end) {
    const int64_t key = bulk->rows[bulk->order[begin]].key >> 8;
    for (end = begin + 1; end < bulk->count && bulk->rows[bulk->order[end]].key >> 8 == key; end++) continue;
    TRY(store_chunk_read(bulk->chunks, key, bulk->chunk));
    fill_chunk(bulk, begin, end);
    TRY(store_chunk_write(bulk->chunks, bulk->chunk));
  }
  return CORE_OK;
}
