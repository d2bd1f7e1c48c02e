/* An experiment file can name a shared library to run (env.task = library:FILE/NAME) or a Python module to import
 * (gym/MODULE:ID): code, which whoever sent the file chose. It runs only after somebody has said once, in this
 * workspace, that it may: sweep submit --trust. What was said is in <root>/trusted, one line a file or module: a hash,
 * a tab, its path or name. The hash is of a library's bytes, so another file under the same name must be trusted again;
 * a module is found by Python alone, so its hash is of its name. */
#ifndef SWEEP_TRUST_H
#define SWEEP_TRUST_H
#include <stdbool.h>

#include "sweep/spec/grid.h"

/* CORE_USAGE: a run's library or module is not trusted, or a library can not be read; the message names it, its hash
 * and the way out. trust: it is from now on. */
int sweep_trust_check(const char *root, const SweepGrid *grid, bool trust);

#endif
