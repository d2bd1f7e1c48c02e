/* The code that the runs of a grid are trained on, beside the trainer's own: may it run, and were runs that are there
 * made by other code? store/code finds and trusts it; the runs' states say what they had. */
#ifndef SWEEP_CODE_H
#define SWEEP_CODE_H
#include "core/text.h"
#include "sweep/spec/grid.h"

/* Puts into `message` what of the grid's code is not trusted, and the way out; nothing: all of it is, from now on if
 * `grant`. Errors: code that is not there. */
int sweep_code_look_at_trust(const SweepGrid *grid, bool grant, CoreText *message);
/* The same, where untrusted code is an error, CORE_USAGE. */
int sweep_code_check_trust(const SweepGrid *grid, bool grant);

#endif
