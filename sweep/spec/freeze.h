/* Contents of sweeps/<name>/sweep.ini: the experiment as it was submitted. */
#ifndef SWEEP_FREEZE_H
#define SWEEP_FREEZE_H
#include "core/text.h"
#include "sweep/spec/spec.h"

/* Appends comments on its origin (file, profile, --set), the resolved experiment, which sweep_spec_parse parses to the
 * same runs in the same order, and the original text as comments. */
void sweep_freeze_print(const SweepSpec *spec, CoreText *text);

#endif
