/* Taking runs and sweeps out of results.db: sweep rm, when their folders are gone. */
#ifndef STORE_FORGET_H
#define STORE_FORGET_H
#include <stdbool.h>
#include <stddef.h>

#include "core/config/config.h"

typedef struct StoreForget {
  const char (*runs)[CORE_RUN_ID];    /* all rows of these, and their places in sweeps */
  size_t run_count;
  const char *sweep;                  /* NULL: none */
  const char (*members)[CORE_RUN_ID]; /* the sweep's places from now on; NULL: the sweep goes too */
  size_t member_count;
} StoreForget;

/* In one transaction, with importers kept out. Rows that are not there are no error, nor is a workspace without
 * results.db, so that a removal that was cut short can be repeated. */
int store_forget(const char *root, const StoreForget *what);

#endif
