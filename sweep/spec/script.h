/* The program of a sweep: where its code is, and what it was when it was submitted. */
#ifndef SWEEP_SPEC_SCRIPT_H
#define SWEEP_SPEC_SCRIPT_H
#include "sweep/spec/spec.h"

/* Records the directory of the experiment file `path`, the files of the code and their hash in the spec's program, and
 * whether the file is this user's own. Not of a frozen file, which has them. */
int sweep_script_take_folder(const char *path, SweepSpec *spec);

#endif
