/* The [slurm] keys of an experiment file: which exist and what they may be. Only checked in this version; the local
 * executor does not use them. */
#ifndef SWEEP_RESOURCE_H
#define SWEEP_RESOURCE_H
#include <stddef.h>

#include "core/error.h"

/* Full names, "slurm.time" ... */
const char *const *sweep_resource_names(size_t *count);

/* CORE_USAGE with what the key expects. `name` is one of sweep_resource_names. */
int sweep_resource_check(const char *name, const char *value);

#endif
