/* results.db for reading, of one thread. Statements are short and end at once, so that no reader holds up an import: on
 * a local disk it writes beside them (WAL), on a network file system it waits for no longer than one statement. */
#ifndef SWEEP_SERVE_READER_H
#define SWEEP_SERVE_READER_H
#include <sys/types.h>

#include "core/files.h"
#include "store/database/query.h"

/* Zero-initialise but for the path. */
typedef struct ServeReader {
  char path[CORE_PATH_MAX];
  StoreDatabase *database;
  dev_t device;               /* of the file that is open */
  ino_t inode;
} ServeReader;

/* reader->database is of the file that now has the name (sweep rebuild puts another one there). CORE_FAIL: there is
 * none, or it cannot be read. */
int serve_reader_open(ServeReader *reader);
/* Changes whenever somebody has written: PRAGMA data_version; -1: there is no database. */
int64_t serve_reader_version(ServeReader *reader);
void serve_reader_close(ServeReader *reader);

#endif
