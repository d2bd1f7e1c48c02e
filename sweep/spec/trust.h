/* Whether the user trusts a sweep. One rule: nothing of a sweep runs for a user before that user has written or
 * accepted its whole text, sweeps/NAME/sweep.ini: commands, settings with their values and kinds, where metrics are
 * read, the hash of its code, Slurm's settings with their shell lines. A submission of an own file writes the text;
 * `sweep submit NAME --trust` accepts another's, and prints it. The user's list (store/code/trust.h) has the hash of
 * the text.
 *
 * All that starts runs keeps to what was accepted: the executor and Slurm's tasks check the text, or the batch that
 * was made of it, and pass the hash of each configuration on to the process that runs it. */
#ifndef SWEEP_TRUST_H
#define SWEEP_TRUST_H
#include <stdio.h>

#include "sweep/spec/spec.h"

/* Checks that this user trusts the sweep: its file is the user's own (SweepSpec.is_own_file), or its text was accepted
 * before. CORE_USAGE: it is not trusted; the message says whose it is, and what to do. */
int sweep_trust_check(const char *root, const SweepSpec *spec);
/* Accepts the text of the sweep as it is, or is going to be, in the workspace. */
int sweep_trust_accept(const char *root, const SweepSpec *spec);
/* Prints the text without its comments. */
void sweep_trust_print(const SweepSpec *spec, FILE *out);

#endif
