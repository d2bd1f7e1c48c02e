/* Read-only connections that follow their file. */
#include "sweep/serve/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/memory.h"
#include "core/terminal.h"

int serve_reader_open(ServeReader *reader) {
  struct stat status;
  if (stat(reader->path, &status) != 0) {
    serve_reader_close(reader);
    return core_error(CORE_FAIL, "results.db does not exist yet; the first run creates it");
  }
  if (!reader->database || reader->device != status.st_dev || reader->inode != status.st_ino) {
    serve_reader_close(reader);
    TRY(store_database_open(reader->path, true, &reader->database));
    reader->device = status.st_dev;
    reader->inode = status.st_ino;
  }
  store_database_end_queries_at(reader->database, reader->queries_end_s);
  return CORE_OK;
}

int64_t serve_reader_version(ServeReader *reader) {
  StoreQuery *query = NULL;
  bool row = false;
  int64_t version = -1;
  if (serve_reader_open(reader) == CORE_OK &&
      store_query_open(reader->database, "PRAGMA data_version", &query) == CORE_OK &&
      store_query_step(query, &row) == CORE_OK && row)
    version = store_query_int(query, 0) + (int64_t)(reader->inode % 1000003) * 1000003;
  store_query_close(&query);
  core_error_clear();
  return version;
}

void serve_reader_close(ServeReader *reader) { store_database_close(&reader->database); }

/* ---- several threads --------------------------------------------------------------------------------------------- */

void serve_readers_init(ServeReaders *readers, const char *path) {
  *readers = (ServeReaders){.lock = PTHREAD_MUTEX_INITIALIZER, .version_lock = PTHREAD_MUTEX_INITIALIZER};
  snprintf(readers->path, sizeof readers->path, "%s", path);
  snprintf(readers->version.path, sizeof readers->version.path, "%s", path);
}

ServeReader *serve_readers_take(ServeReaders *readers) {
  ServeReader *reader = NULL;
  pthread_mutex_lock(&readers->lock);
  if (readers->idle_count > 0) reader = readers->idle[--readers->idle_count];
  pthread_mutex_unlock(&readers->lock);
  if (!reader) {
    reader = core_memory_zero_allocate(1, sizeof *reader);
    snprintf(reader->path, sizeof reader->path, "%s", readers->path);
  }
  reader->queries_end_s = core_clock_s() + SERVE_QUERIES_S;
  return reader;
}

void serve_readers_give(ServeReaders *readers, ServeReader **reader) {
  pthread_mutex_lock(&readers->lock);
  const bool is_kept = readers->idle_count < SERVE_READERS_IDLE;
  if (is_kept) readers->idle[readers->idle_count++] = *reader;
  pthread_mutex_unlock(&readers->lock);
  if (!is_kept) {
    serve_reader_close(*reader);
    free(*reader);
  }
  *reader = NULL;
}

int64_t serve_readers_version(ServeReaders *readers) {
  pthread_mutex_lock(&readers->version_lock);
  const int64_t version = serve_reader_version(&readers->version);
  pthread_mutex_unlock(&readers->version_lock);
  return version;
}

void serve_readers_free(ServeReaders *readers) {
  for (size_t i = 0; i < readers->idle_count; i++) {
    serve_reader_close(readers->idle[i]);
    free(readers->idle[i]);
  }
  serve_reader_close(&readers->version);
  pthread_mutex_destroy(&readers->lock);
  pthread_mutex_destroy(&readers->version_lock);
}
