/* Two blocks, one filled while the other is committed (ingest_internal.h). Each submitted block, about 16 000 rows,
 * gets its own thread; a smaller import starts none. */
#include "store/database/ingest_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"

struct StoreCommitter {
  StoreDatabase *database;
  StoreBlock *blocks[2];  /* the second is created on demand */
  int filling;            /* index of the block to fill */
  bool is_running;        /* whether the thread is committing the other block */
  pthread_t thread;
  int code;               /* result of the thread's commit */
  char message[1024];     /* its error message, copied because messages are thread-local */
};

int store_committer_create(StoreDatabase *database, StoreCommitter **result) {
  StoreCommitter *committer = core_memory_zero_allocate(1, sizeof *committer);
  committer->database = database;
  *result = committer;
  int code = store_block_create(database, &committer->blocks[0]);
  if (code != CORE_OK) store_committer_destroy(result);
  return code;
}

static int wait_for_thread(StoreCommitter *committer) {
  if (!committer->is_running) return CORE_OK;
  pthread_join(committer->thread, NULL);
  committer->is_running = false;
  return committer->code == CORE_OK ? CORE_OK : core_error(committer->code, "%s", committer->message);
}

void store_committer_destroy(StoreCommitter **committer) {
  if (!*committer) return;
  if ((*committer)->is_running) pthread_join((*committer)->thread, NULL);
  for (int i = 0; i < 2; i++) store_block_destroy(&(*committer)->blocks[i]);
  free(*committer);
  *committer = NULL;
}

StoreBlock *store_committer_block(StoreCommitter *committer) { return committer->blocks[committer->filling]; }

static void *commit(void *context) {
  StoreCommitter *committer = context;
  committer->code = store_block_commit(committer->blocks[!committer->filling]);
  if (committer->code != CORE_OK) snprintf(committer->message, sizeof committer->message, "%s", core_error_message());
  return NULL;
}

int store_committer_submit(StoreCommitter *committer) {
  TRY(wait_for_thread(committer));
  StoreBlock **other = &committer->blocks[!committer->filling];
  if (!*other) TRY(store_block_create(committer->database, other));
  committer->filling = !committer->filling;
  committer->is_running = pthread_create(&committer->thread, NULL, commit, committer) == 0;
  if (committer->is_running) return CORE_OK;
  return store_block_commit(committer->blocks[!committer->filling]); /* without a thread, if none can be created */
}

int store_committer_finish(StoreCommitter *committer) {
  TRY(wait_for_thread(committer));
  return store_block_commit(store_committer_block(committer));
}
