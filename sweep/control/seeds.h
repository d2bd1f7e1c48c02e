/* --seeds of `sweep submit`: adds seeds to a sweep. */
#ifndef SWEEP_SEEDS_H
#define SWEEP_SEEDS_H
#include "sweep/spec/sweep.h"

/* Parses a number of seeds ("10": 0 to 9) or a list ("0..9, 20") and sets common->extra_seeds to those that the sweep
 * does not have yet. None may be left only if an earlier extension by these seeds was interrupted, which is then
 * completed. CORE_USAGE: invalid, none is left, or --set sets seeds, too. Caller frees *seeds, also after an error. */
int sweep_seeds_add(SweepCommon *common, const char *operand, const char *text, int64_t **seeds);

#endif
