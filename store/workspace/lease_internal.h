/* Leases for the reader of states (run.h acquires them). */
#ifndef STORE_LEASE_INTERNAL_H
#define STORE_LEASE_INTERNAL_H
#include <stdbool.h>

/* Whether the file is locked (core_files_lock) by a live process of this host, including this one. Never disturbs the
 * lock. */
bool store_lease_is_held(const char *path);

/* Returns this host's name as in state and lease. */
const char *store_lease_host(void);

#endif
