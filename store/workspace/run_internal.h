/* Files of a run for the reader and writer of its state (run.c) and for imports: attempts, leases, and a clock for the
 * ages of files. */
#ifndef STORE_WORKSPACE_RUN_INTERNAL_H
#define STORE_WORKSPACE_RUN_INTERNAL_H
#include <stdbool.h>

#include "store/workspace/run.h"

/* ---- attempts.c -------------------------------------------------------------------------------------------------- */

/* runs/<id>/attempts.tsv: how each attempt of a run ended, one line per attempt, so that results.db can be rebuilt with
 * the reasons of earlier attempts, whose state has been overwritten. */

/* Appends a line, before `state` is written, for the attempt that ends with it or for the one that it takes over. */
int store_attempts_record(const char *root, const char *id, const StoreState *state);

/* ---- lease.c ----------------------------------------------------------------------------------------------------- */

/* Whether the file is locked (core_files_lock) by a live process of this host, including this one. Never disturbs the
 * lock. */
bool store_lease_is_held(const char *path);

/* Returns this host's name as in state and lease. */
const char *store_lease_host(void);

/* ---- clock.c ----------------------------------------------------------------------------------------------------- */

/* Returns the time, in seconds since 1970, with which files created in `directory` are stamped now: on a shared file
 * system usually its server's clock. Its difference to st_mtim is a file's age, even if this machine's clock is wrong.
 * Creates one temporary file per minute; in a read-only workspace it is this machine's clock. */
double store_clock_unix_s(const char *directory);

#endif
