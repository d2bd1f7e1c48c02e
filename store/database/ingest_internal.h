/* Interface between the halves of the import: ingest.c finds new rows in the run directories and adds them to a block;
 * block.c commits rows and progress of a block in one transaction. */
#ifndef STORE_INGEST_INTERNAL_H
#define STORE_INGEST_INTERNAL_H
#include "store/database/database_internal.h"
#include "store/runlog/runlog.h"
#include "store/workspace/run.h"

typedef struct StoreBlock StoreBlock;

/* Import progress of a log. */
typedef struct StoreLogProgress {
  char id[CORE_RUN_ID];
  int attempt;
  StoreLogKind kind;
  int64_t offset;
  uint32_t prefix_crc;    /* store_runlog_prefix_crc up to `offset` */
  StoreLogDamage damage;  /* damaged lines found in this step */
  char file[96];          /* path relative to the workspace */
} StoreLogProgress;

/* State of a run, read before its logs. */
typedef struct StoreRunSnapshot {
  int64_t run;                /* run.key */
  char id[CORE_RUN_ID];
  StoreState state;
  int64_t directory_time_ns;  /* modification time of the run directory; 0: check again at the next import */
  uint32_t state_crc;
} StoreRunSnapshot;

/* Checks whether the rows of a log of iterations equal those of the database, or are new. `later`: the run's logs of
 * later attempts, whose rows replace its own. No other thread may be using the database. */
int store_log_matches_rows(StoreDatabase *database, const char *id, const char *path, const char *const *later,
                           size_t later_count, bool *matches);

/* Makes the table `annotation` equal to the workspace's annotation files. An unreadable file adds a warning to
 * `result`, and its previous rows are deleted. */
int store_import_annotations(StoreDatabase *database, const char *root, StoreImport *result);

int store_block_create(StoreDatabase *database, StoreBlock **block);
void store_block_destroy(StoreBlock **block);

void store_block_add_iteration(StoreBlock *block, const char *id, const StoreIteration *row);
void store_block_add_evaluation(StoreBlock *block, const char *id, const StoreEvaluation *row);
void store_block_add_layer(StoreBlock *block, const char *id, const StoreLayer *row);
void store_block_add_metric(StoreBlock *block, const char *id, const StoreMetric *row);
void store_block_add_progress(StoreBlock *block, const StoreLogProgress *progress);
void store_block_add_run(StoreBlock *block, const StoreRunSnapshot *run);
/* Adds an ended attempt of a run; commits write it before the run's latest state. */
void store_block_add_attempt(StoreBlock *block, const StoreRunSnapshot *attempt);
/* Makes the commit delete the run's rows and progress before it inserts those of the block. */
void store_block_add_restart(StoreBlock *block, const char *id);

/* Whether the block must be committed before another row is added. Progress, states and restarts always fit. */
bool store_block_is_full(const StoreBlock *block);
/* Commits the block in one transaction and empties it; does nothing if it is empty. */
int store_block_commit(StoreBlock *block);

/* ---- committer.c ------------------------------------------------------------------------------------------------- */

/* Commits one block of an import in a separate thread while the next one is filled, since parsing logs and writing
 * their rows cost about the same. After a submit only the thread may use the database, until the next submit or the
 * finish. */

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
