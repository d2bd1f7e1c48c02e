/* Deletion of runs and sweeps from results.db, after `sweep rm` has removed their directories. */
#ifndef STORE_DELETE_H
#define STORE_DELETE_H
#include <stdbool.h>
#include <stddef.h>

#include "core/config/config.h"

typedef struct StoreDeletion {
  const char (*runs)[CORE_RUN_ID];    /* runs whose rows and memberships are deleted */
  size_t run_count;
  const char *sweep;                  /* sweep to change; NULL: none */
  const char (*members)[CORE_RUN_ID]; /* its remaining members, in order; NULL: the sweep is deleted too */
  size_t member_count;
} StoreDeletion;

/* Deletes in one transaction, with importers locked out. Missing rows are not an error, nor is a workspace without
 * results.db, so that an interrupted removal can be repeated. */
int store_delete(const char *root, const StoreDeletion *deletion);

#endif
