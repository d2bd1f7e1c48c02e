/* Chunks of iterations in the database (chunk_internal.h). */
#include "store/database/chunk_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

enum { BINS = 4, BIN_PLACES = STORE_PACK_PLACES / BINS };

enum Statement { READ, WRITE, WRITE_BIN, WALK, STATEMENT_COUNT };

#define COMMA_NAME(name, unit, comment) ", " #name
#define COMMA_MARK(name, unit, comment) ", ?"
#define COLUMNS "chunk, n, iteration" STORE_ITERATION_COLUMNS(COMMA_NAME)
enum { KEYS = STORE_CHUNK_KEY_COUNT };
static const char *const statement_sql[STATEMENT_COUNT] = {
  [READ] = "SELECT " COLUMNS " FROM iteration_chunk WHERE chunk = ?1",
  [WRITE] =
    "INSERT OR REPLACE INTO iteration_chunk(" COLUMNS ") VALUES(?, ?, ?" STORE_ITERATION_COLUMNS(COMMA_MARK) ")",
  [WRITE_BIN] =
    "INSERT OR REPLACE INTO iteration_bin(bin, n, transitions, kl_sum, kl_transitions) VALUES(?, ?, ?, ?, ?)",
  [WALK] = "SELECT " COLUMNS " FROM iteration_chunk ORDER BY chunk",
};

struct StoreChunks {
  StoreDatabase *database;
  sqlite3_stmt *statements[STATEMENT_COUNT];
  StorePack packs[STORE_ITERATION_COUNT + 1]; /* bound to WRITE while it runs; the last is `iteration` */
  StoreChunk walked;
};

int store_chunks_create(StoreDatabase *database, StoreChunks **result) {
  StoreChunks *chunks = core_memory_zero_allocate(1, sizeof *chunks);
  chunks->database = database;
  int code = CORE_OK;
  for (int i = 0; i < STATEMENT_COUNT && code == CORE_OK; i++)
    code = store_database_prepare(database, statement_sql[i], &chunks->statements[i]);
  *result = chunks;
  if (code != CORE_OK) store_chunks_destroy(result);
  return code;
}

void store_chunks_destroy(StoreChunks **chunks) {
  if (!*chunks) return;
  for (int i = 0; i < STATEMENT_COUNT; i++) sqlite3_finalize((*chunks)->statements[i]);
  free(*chunks);
  *chunks = NULL;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* The statement's row. False: the bytes are none of ours. */
static bool take_chunk(sqlite3_stmt *statement, StoreChunk *chunk) {
  double iterations[STORE_PACK_PLACES];
  chunk->key = sqlite3_column_int64(statement, 0);
  if (!store_unpack(sqlite3_column_value(statement, 2), iterations)) return false;
  int64_t count = 0;
  for (int place = 0; place < STORE_PACK_PLACES; place++) {
    chunk->present[place] = !isnan(iterations[place]);
    count += chunk->present[place];
    if (chunk->present[place] && iterations[place] != (double)((chunk->key & 0xffffff) << 8 | place)) return false;
  }
  for (int c = 0; c < STORE_ITERATION_COUNT; c++) {
    if (!store_unpack(sqlite3_column_value(statement, KEYS + c), chunk->values[c])) return false;
    for (int place = 0; place < STORE_PACK_PLACES; place++)
      if (!chunk->present[place]) chunk->values[c][place] = NAN;
  }
  return count == sqlite3_column_int64(statement, 1);
}

int store_chunk_read(StoreChunks *chunks, int64_t key, StoreChunk *chunk) {
  sqlite3_stmt *read = chunks->statements[READ];
  sqlite3_bind_int64(read, 1, key);
  int step = sqlite3_step(read), code = CORE_OK;
  if (step == SQLITE_ROW) {
    if (!take_chunk(read, chunk))
      code =
        core_error(CORE_FAIL, "%s: iterations of a run can not be read (chunk %lld); make it anew with: sweep rebuild",
                   chunks->database->path, (long long)key);
  } else if (step == SQLITE_DONE) {
    *chunk = (StoreChunk){.key = key};
    for (int c = 0; c < STORE_ITERATION_COUNT; c++)
      for (int place = 0; place < STORE_PACK_PLACES; place++) chunk->values[c][place] = NAN;
  } else {
    code = store_database_error(chunks->database, "read");
  }
  sqlite3_reset(read);
  return code;
}

int store_chunks_walk(StoreChunks *chunks, int (*each)(void *, int64_t, const StoreChunk *), void *context) {
  sqlite3_stmt *walk = chunks->statements[WALK];
  int step = SQLITE_DONE, code = CORE_OK;
  while (code == CORE_OK && (step = sqlite3_step(walk)) == SQLITE_ROW)
    code = each(context, sqlite3_column_int64(walk, 0), take_chunk(walk, &chunks->walked) ? &chunks->walked : NULL);
  if (code == CORE_OK && step != SQLITE_DONE) code = store_database_error(chunks->database, "read");
  sqlite3_reset(walk);
  return code;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

int store_chunk_write(StoreChunks *chunks, const StoreChunk *chunk) {
  sqlite3_stmt *write = chunks->statements[WRITE];
  double iterations[STORE_PACK_PLACES];
  int64_t count = 0;
  for (int place = 0; place < STORE_PACK_PLACES; place++) {
    iterations[place] = chunk->present[place] ? (double)((chunk->key & 0xffffff) << 8 | place) : NAN;
    count += chunk->present[place];
  }
  sqlite3_bind_int64(write, 1, chunk->key);
  sqlite3_bind_int64(write, 2, count);
  StorePack *pack = &chunks->packs[STORE_ITERATION_COUNT];
  store_pack(iterations, NULL, pack);
  store_pack_bind(write, 3, pack);
  for (int c = 0; c < STORE_ITERATION_COUNT; c++) {
    store_pack(chunk->values[c], chunk->present, &chunks->packs[c]);
    store_pack_bind(write, KEYS + 1 + c, &chunks->packs[c]);
  }
  TRY(store_database_run(chunks->database, write));
  return store_chunk_write_bins(chunks, chunk);
}

/* ---- bins ------------------------------------------------------------------------------------------------------- */

/* DDR = transitions of the iterations whose KL is known / the sum of their KL (schema.h). */
typedef struct Bin { int64_t n; double transitions, kl_sum, kl_transitions; } Bin;

static Bin sum_bin(const StoreChunk *chunk, int first) {
  enum {
#define X(name, unit, comment) AT_##name,
    STORE_ITERATION_COLUMNS(X)
#undef X
  };
  Bin bin = {0, NAN, NAN, NAN};
  for (int place = first; place < first + BIN_PLACES; place++) {
    if (!chunk->present[place]) continue;
    double iteration = (double)((chunk->key & 0xffffff) << 8 | place);
    double transitions = chunk->values[AT_transitions][place], kl = chunk->values[AT_kl][place];
    bin.n++;
    if (!isnan(transitions))
      bin.transitions = isnan(bin.transitions) ? transitions : fmax(bin.transitions, transitions);
    if (isnan(kl)) continue;
    bin.kl_sum = (isnan(bin.kl_sum) ? 0 : bin.kl_sum) + fmax(kl, 1e-12);
    if (iteration > 0 && !isnan(transitions))
      bin.kl_transitions = (isnan(bin.kl_transitions) ? 0 : bin.kl_transitions) + transitions / iteration;
  }
  return bin;
}

int store_chunk_write_bins(StoreChunks *chunks, const StoreChunk *chunk) {
  sqlite3_stmt *put = chunks->statements[WRITE_BIN];
  for (int b = 0; b < BINS; b++) {
    Bin bin = sum_bin(chunk, b * BIN_PLACES);
    if (bin.n == 0) continue;
    sqlite3_bind_int64(put, 1, chunk->key << 2 | b);
    sqlite3_bind_int64(put, 2, bin.n);
    sqlite3_bind_double(put, 3, bin.transitions); /* SQLite makes NaN NULL */
    sqlite3_bind_double(put, 4, bin.kl_sum);
    sqlite3_bind_double(put, 5, bin.kl_transitions);
    TRY(store_database_run(chunks->database, put));
  }
  return CORE_OK;
}

static int rebuild_chunk(void *context, int64_t key, const StoreChunk *chunk) {
  (void)key;
  return chunk ? store_chunk_write_bins(context, chunk) : CORE_OK;
}

int store_bins_rebuild(StoreDatabase *database) {
  StoreChunks *chunks;
  TRY(store_chunks_create(database, &chunks));
  int code = store_database_execute(database, "DELETE FROM iteration_bin");
  if (code == CORE_OK) code = store_chunks_walk(chunks, rebuild_chunk, chunks);
  store_chunks_destroy(&chunks);
  return code;
}

int store_bins_imitate(StoreDatabase *database) {
  return store_database_execute(
    database, "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE iteration_bin"
    "(bin INTEGER PRIMARY KEY, n INTEGER, transitions REAL, kl_sum REAL, kl_transitions REAL);"
    "INSERT INTO temp.iteration_bin SELECT row >> 6 AS bin, count(*), max(transitions), sum(max(kl, 1e-12)),"
    " sum(CASE WHEN kl IS NOT NULL AND row & 4294967295 > 0 THEN transitions / (row & 4294967295) END)"
    " FROM main.iteration_row GROUP BY row >> 6");
}
