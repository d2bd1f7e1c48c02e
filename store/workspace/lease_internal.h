/* Leases as the state's reader sees them (taking one is in run.h). */
#ifndef STORE_LEASE_INTERNAL_H
#define STORE_LEASE_INTERNAL_H
#include <stdbool.h>

/* Is the file locked (core_files_lock) by a live process of this host, this one included? Never disturbs the lock. */
bool store_lease_is_held(const char *path);

/* This host's name, as state and lease have it. */
const char *store_lease_host(void);

#endif
