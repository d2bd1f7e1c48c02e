/* iteration_chunk: up to 256 iterations of a run as one row of the database, each column packed (pack_internal.h), and
 * the sums of 64 iterations that follow from it (iteration_bin). The only writer of both tables. */
#ifndef STORE_CHUNK_INTERNAL_H
#define STORE_CHUNK_INTERNAL_H
#include "store/database/database_internal.h"
#include "store/database/pack_internal.h"
#include "store/runlog/runlog_internal.h"

enum { STORE_CHUNK_KEY_COUNT = 3 }; /* columns of iteration_chunk before the measured ones: chunk, n, iteration */

/* chunk = run.key << 24 | iteration >> 8; place = iteration & 255; bin = run.key << 26 | iteration >> 6. */
typedef struct StoreChunk {
  int64_t key;
  bool present[STORE_PACK_PLACES];                            /* which iterations are there */
  double values[STORE_ITERATION_COUNT][STORE_PACK_PLACES];    /* in the order of the columns; NaN = not measured */
} StoreChunk;

typedef struct StoreChunks StoreChunks; /* the statements */
int store_chunks_create(StoreDatabase *database, StoreChunks **chunks);
void store_chunks_destroy(StoreChunks **chunks);

/* The chunk of this key as it is stored; one that is not there is empty. CORE_FAIL: it can not be read. */
int store_chunk_read(StoreChunks *chunks, int64_t key, StoreChunk *chunk);
/* Puts it in place of what is there, with its bins; inside a transaction. */
int store_chunk_write(StoreChunks *chunks, const StoreChunk *chunk);
/* The bins of this chunk anew. */
int store_chunk_write_bins(StoreChunks *chunks, const StoreChunk *chunk);

/* Calls `each` for all chunks by their keys, until it returns another code than CORE_OK. A chunk that can not be read
 * is NULL. */
int store_chunks_walk(StoreChunks *chunks, int (*each)(void *context, int64_t key, const StoreChunk *chunk),
                      void *context);

/* All of iteration_bin anew; inside a transaction. */
int store_bins_rebuild(StoreDatabase *database);
/* For a file of a version without iteration_bin that is only read: the same as a temporary table. */
int store_bins_imitate(StoreDatabase *database);

#endif
