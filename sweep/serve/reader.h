/* A read-only connection to results.db, for one thread. Statements are short, so that readers do not delay imports: on
 * a local disk the writer works concurrently (WAL), on a network file system it waits for one statement at most. */
#ifndef SWEEP_SERVE_READER_H
#define SWEEP_SERVE_READER_H
#include <sys/types.h>

#include "core/files.h"
#include "store/database/query.h"

/* Zero-initialize except for the path. */
typedef struct ServeReader {
  char path[CORE_PATH_MAX];
  StoreDatabase *database;
  dev_t device;               /* device and inode of the open file */
  ino_t inode;
} ServeReader;

/* Opens the file that now has the name, since `sweep rebuild` replaces it. CORE_FAIL: it does not exist or cannot be
 * read. */
int serve_reader_open(ServeReader *reader);
/* Returns a number that changes with each write (PRAGMA data_version); -1: there is no database. */
int64_t serve_reader_version(ServeReader *reader);
void serve_reader_close(ServeReader *reader);

#endif
