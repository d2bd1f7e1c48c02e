/* Commits one block of an import in a separate thread while the next one is filled, since parsing logs and writing
 * their rows cost about the same. After a submit only the thread may use the database, until the next submit or the
 * finish. */
#ifndef STORE_COMMITTER_INTERNAL_H
#define STORE_COMMITTER_INTERNAL_H
#include "store/database/ingest_internal.h"

typedef struct StoreCommitter StoreCommitter;

int store_committer_create(StoreDatabase *database, StoreCommitter **committer);
/* Discards uncommitted rows. */
void store_committer_destroy(StoreCommitter **committer);

/* Returns the block to fill; a submit changes it. */
StoreBlock *store_committer_block(StoreCommitter *committer);

/* Waits for the previous block, then starts to commit the current one. After an error of the previous block, returns
 * that error and commits nothing. */
int store_committer_submit(StoreCommitter *committer);
/* Waits and commits the remaining rows; the caller may use the database again. */
int store_committer_finish(StoreCommitter *committer);

#endif
