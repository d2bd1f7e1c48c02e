/* A read-only connection that follows its file. */
#include "sweep/serve/reader.h"

#include <sys/stat.h>

int serve_reader_open(ServeReader *reader) {
  struct stat status;
  if (stat(reader->path, &status) != 0) {
    serve_reader_close(reader);
    return core_error(CORE_FAIL, "results.db does not exist yet; the first run creates it");
  }
  if (reader->database && reader->device == status.st_dev && reader->inode == status.st_ino) return CORE_OK;
  serve_reader_close(reader);
  TRY(store_database_open(reader->path, true, &reader->database));
  reader->device = status.st_dev;
  reader->inode = status.st_ino;
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
