/* What sweeps/<name>/sweep.ini holds: the experiment as it was submitted. */
#ifndef SWEEP_FREEZE_H
#define SWEEP_FREEZE_H
#include "core/text.h"
#include "sweep/spec/spec.h"

/* Appends comments that say where it came from (file, profile, --set), the resolved experiment, which sweep_spec_parse
 * reads back to the same runs in the same order, and the original text as comments. */
void sweep_freeze_print(const SweepSpec *spec, CoreText *text);

#endif
