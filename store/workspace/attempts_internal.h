/* runs/<id>/attempts.tsv: how each attempt of a run ended, one line an attempt, so that results.db can be made anew
 * with the reasons of those whose state has been written over since. */
#ifndef STORE_ATTEMPTS_INTERNAL_H
#define STORE_ATTEMPTS_INTERNAL_H
#include "store/workspace/run.h"

/* Before `state` is written: a line for the attempt that ends with it, or for the one that it takes over from. */
int store_attempts_note(const char *root, const char *id, const StoreState *state);

/* The attempts that have ended; of several lines about one the last holds. Lines that are damaged are passed over. A
 * file that is not there gives none. free(*attempts). */
int store_attempts_read(const char *root, const char *id, StoreState **attempts, size_t *count);

#endif
