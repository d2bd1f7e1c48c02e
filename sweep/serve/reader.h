/* A read-only connection to results.db, for one thread. Statements are short, so that readers do not delay imports: on
 * a local disk the writer works concurrently (WAL), on a network file system it waits for one statement at most. */
#ifndef SWEEP_SERVE_READER_H
#define SWEEP_SERVE_READER_H
#include <pthread.h>
#include <sys/types.h>

#include "core/files.h"
#include "store/database/query.h"

/* Zero-initialize except for the path. */
typedef struct ServeReader {
  char path[CORE_PATH_MAX];
  StoreDatabase *database;
  dev_t device;               /* device and inode of the open file */
  ino_t inode;
  double queries_end_s;       /* time of core_clock_s at which queries end with an error; 0: never */
} ServeReader;

/* Opens the file that now has the name: `sweep collect --rebuild` replaces it. CORE_FAIL: it is absent or cannot be
 * read. */
int serve_reader_open(ServeReader *reader);
/* Returns a number that changes with each write (PRAGMA data_version); -1: there is no database. */
int64_t serve_reader_version(ServeReader *reader);
void serve_reader_close(ServeReader *reader);

/* ---- several threads --------------------------------------------------------------------------------------------- */

enum { SERVE_READERS_IDLE = 4 };

/* Connections that requests take and give back. */
typedef struct ServeReaders {
  char path[CORE_PATH_MAX];
  pthread_mutex_t lock;       /* protects `idle` */
  ServeReader *idle[SERVE_READERS_IDLE]; /* [idle_count] */
  size_t idle_count;
  pthread_mutex_t version_lock; /* protects `version`, whose numbers differ between connections */
  ServeReader version;
} ServeReaders;

void serve_readers_init(ServeReaders *readers, const char *path);
/* Takes a connection, which may not be open yet. Its queries end with an error after SERVE_QUERIES_S. */
enum { SERVE_QUERIES_S = 120 };
ServeReader *serve_readers_take(ServeReaders *readers);
void serve_readers_give(ServeReaders *readers, ServeReader **reader);
/* serve_reader_version for all threads. */
int64_t serve_readers_version(ServeReaders *readers);
void serve_readers_free(ServeReaders *readers);

#endif
