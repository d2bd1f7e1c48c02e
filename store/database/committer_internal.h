/* Commits one block of an import in a thread of its own while the next one is filled: parsing logs and packing and
 * writing their rows cost about the same. Between a handing over and the next (or the finish) the thread alone uses the
 * database. */
#ifndef STORE_COMMITTER_INTERNAL_H
#define STORE_COMMITTER_INTERNAL_H
#include "store/database/ingest_internal.h"

typedef struct StoreCommitter StoreCommitter;

/* destroy drops what was not committed. */
int store_committer_create(StoreDatabase *database, StoreCommitter **committer);
void store_committer_destroy(StoreCommitter **committer);

/* The block to fill; another one after each handing over. */
StoreBlock *store_committer_block(StoreCommitter *committer);

/* Waits for the block before, whose fault it returns (nothing after a fault is committed), and begins with this one. */
int store_committer_hand_over(StoreCommitter *committer);
/* Waits, commits what is left, and gives the database back. */
int store_committer_finish(StoreCommitter *committer);

#endif
