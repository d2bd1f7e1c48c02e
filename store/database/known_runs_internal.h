/* First step of the import: matching the workspace's run directories with the runs of the database. */
#ifndef STORE_KNOWN_RUNS_INTERNAL_H
#define STORE_KNOWN_RUNS_INTERNAL_H
#include "store/database/database_internal.h"

/* Run of the database that has a directory. */
typedef struct StoreKnownRun {
  int64_t run;                /* run.key */
  char id[CORE_RUN_ID];
  int64_t directory_time_ns;  /* modification time of the directory at the last import; 0: check again */
  uint32_t state_crc;         /* CRC of the state at the last import */
  bool needs_config;          /* whether its settings are unknown and it was never imported */
} StoreKnownRun;

/* Lists the runs of the database, or of a sweep if it is not NULL, that have a directory. They are sorted by id, as
 * their rows are stored. Without a sweep, first records the directories that no sweep has recorded: runs started by
 * hand, or all of them after a rebuild. Unreadable settings add a warning to `result`. Free *known, also after an
 * error. */
int store_known_runs(StoreDatabase *database, const char *root, const char *sweep, StoreImport *result,
                     StoreKnownRun **known, size_t *count);

/* Records a warning; users see the first one. */
void store_import_add_warning(StoreImport *result, const char *text);

#endif
