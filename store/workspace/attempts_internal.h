/* runs/<id>/attempts.tsv: how each attempt of a run ended, one line per attempt, so that results.db can be rebuilt with
 * the reasons of earlier attempts, whose state has been overwritten. */
#ifndef STORE_ATTEMPTS_INTERNAL_H
#define STORE_ATTEMPTS_INTERNAL_H
#include "store/workspace/run.h"

/* Appends a line, before `state` is written, for the attempt that ends with it or for the one that it takes over. */
int store_attempts_record(const char *root, const char *id, const StoreState *state);

#endif
