/* Program of a sweep: location and hash of its code at submission. */
#ifndef SWEEP_SPEC_SCRIPT_H
#define SWEEP_SPEC_SCRIPT_H
#include "sweep/spec/spec.h"

/* Records the directory of the experiment file `path`, the files of the code and their hash in the spec's program, and
 * whether the user owns the file. Does nothing for a frozen file, which has them. */
int sweep_script_set_directory(const char *path, SweepSpec *spec);

#endif
