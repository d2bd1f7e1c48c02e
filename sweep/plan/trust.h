/* An experiment file can name a shared library to run (env.task = library:FILE/NAME): code, which whoever sent the file
 * chose. It runs only after somebody has said once, in this workspace, that it may: sweep submit --trust. What was said
 * is in <root>/trusted, one line a file: the hash of its bytes, a tab, its path. So another file under the same name
 * must be trusted again. */
#ifndef SWEEP_TRUST_H
#define SWEEP_TRUST_H
#include <stdbool.h>

#include "sweep/spec/grid.h"

/* CORE_USAGE: a run's library is not trusted, or can not be read; the message names file, hash and the way out.
 * trust: it is from now on. */
int sweep_trust_check(const char *root, const SweepGrid *grid, bool trust);

#endif
