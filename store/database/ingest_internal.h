/* The import's two halves: ingest.c finds what is new in the run folders and gathers it in a block; block.c commits a
 * block, rows and progress in one transaction. */
#ifndef STORE_INGEST_INTERNAL_H
#define STORE_INGEST_INTERNAL_H
#include "store/database/database_internal.h"
#include "store/runlog/runlog.h"
#include "store/workspace/run.h"

typedef struct StoreBlock StoreBlock;

/* How far a log was read. */
typedef struct StoreLogProgress {
  char id[CORE_RUN_ID];
  int attempt;
  StoreLogKind kind;
  int64_t offset;
  uint32_t mark;          /* store_runlog_mark at `offset` */
  StoreLogDamage damage;  /* of this step */
  char file[96];          /* in the workspace */
} StoreLogProgress;

/* A run's state as read, before its logs were. */
typedef struct StoreRunSeen {
  int64_t run;            /* run.key */
  char id[CORE_RUN_ID];
  StoreState state;
  int64_t folder_time;    /* 0 = look again next time */
  uint32_t mark;
} StoreRunSeen;

/* Are the rows of a log of iterations those that the database has (or new ones)? `later`: the run's logs of later
 * attempts, whose rows stand in the place of its own. The database must not be in another thread's hands. */
int store_log_holds(StoreDatabase *database, const char *id, const char *path, const char *const *later,
                    size_t later_count, bool *holds);

int store_block_create(StoreDatabase *database, StoreBlock **block);
void store_block_destroy(StoreBlock **block);

void store_block_add_iteration(StoreBlock *block, const char *id, const StoreIteration *row);
void store_block_add_evaluation(StoreBlock *block, const char *id, const StoreEvaluation *row);
void store_block_add_layer(StoreBlock *block, const char *id, const StoreLayer *row);
void store_block_add_metric(StoreBlock *block, const char *id, const StoreMetric *row);
void store_block_add_progress(StoreBlock *block, const StoreLogProgress *progress);
void store_block_add_seen(StoreBlock *block, const StoreRunSeen *seen);
/* One of a run's attempts that have ended; the state that is added as seen comes after. */
void store_block_add_attempt(StoreBlock *block, const StoreRunSeen *attempt);
/* Forgets a run's rows and progress before the block's rows are put in. */
void store_block_add_restart(StoreBlock *block, const char *id);

/* No room for another row: commit first. Progress, states and restarts always fit. */
bool store_block_is_full(const StoreBlock *block);
/* All of it in one transaction, and empties the block; nothing when it is empty. */
int store_block_commit(StoreBlock *block);

#endif
