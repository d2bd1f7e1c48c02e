/* Is an open database still the file of its name? sweep rebuild exchanges it; who stays with the old one reads and
 * writes what nobody else sees. */
#include <sys/stat.h>

#include "store/database/database_internal.h"

void store_database_note_file(StoreDatabase *database) {
  struct stat status;
  if (stat(database->path, &status) < 0) return; /* SQLite has the words for it */
  database->device = status.st_dev;
  database->inode = status.st_ino;
}

bool store_database_is_replaced(const StoreDatabase *database) {
  struct stat status;
  return stat(database->path, &status) < 0 || status.st_dev != database->device || status.st_ino != database->inode;
}
