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
#include <sys/stat.h>

#include "core/text.h"
#include "sweep/spec/spec.h"

/* Checks that this user trusts the sweep: its file is the user's own (SweepSpec.is_own_file), or its text was accepted
 * before. CORE_USAGE: it is not trusted; the message says whose it is, and what to do. */
int sweep_trust_check(const char *root, const SweepSpec *spec);
/* Accepts the text of the sweep as it is, or is going to be, in the workspace. */
int sweep_trust_accept(const char *root, const SweepSpec *spec);
/* Prints the text without its comments. */
void sweep_trust_print(const SweepSpec *spec, FILE *out);

/* ---- who else can change a file ---------------------------------------------------------------------------------- */

/* Other owners, groups with other members, everybody, access control lists. */

/* Appends who else may write a file or directory, and what takes that away; nothing: no one. what: "it". */
void sweep_writers_of(const char *path, const char *what, const struct stat *status, CoreText *text);
/* Appends who may exchange files in the directory. */
void sweep_writers_of_directory(const char *directory, const char *what, CoreText *text);
/* Appends who else can change a file of a program's code, or exchange it; nothing: no one, or it is absent. */
void sweep_writers_of_code(const char *path, CoreText *text);
/* Appends the name of a user. */
void sweep_writers_owner(uid_t uid, CoreText *text);

#endif
