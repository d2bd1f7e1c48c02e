/* The import's first step: which of the workspace's run folders the database knows. */
#ifndef STORE_KNOWN_RUNS_INTERNAL_H
#define STORE_KNOWN_RUNS_INTERNAL_H
#include "store/database/database_internal.h"

/* A run folder that the database knows. */
typedef struct StoreKnownRun {
  int64_t run;            /* run.key */
  char id[CORE_RUN_ID];
  int64_t folder_time;    /* of the last import, in nanoseconds; 0: look again */
  uint32_t mark;          /* of the state then */
  bool adopt;             /* its settings are not known, and it was never imported */
} StoreKnownRun;

/* The known runs that have a folder, in the order of their ids, which is the order that their rows lie in; those
 * of a sweep when it is not NULL. Without a sweep, folders that no sweep has recorded here are put into the database
 * before: runs started by hand, or a database made anew. One whose settings cannot be read is noted in `result`.
 * Free *known, also after an error. */
int store_known_runs(StoreDatabase *database, const char *root, const char *sweep, StoreImport *result,
                     StoreKnownRun **known, size_t *count);

/* The first fault found is told to the user; all are counted where they are lines. */
void store_import_note_fault(StoreImport *result, const char *text);

#endif
