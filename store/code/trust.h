/* Code that an experiment brings along (a module, a library, a Python of its own) was chosen by whoever wrote the
 * experiment. It runs only where this user has allowed it by --trust: a line "HASH <tab> what it is" in
 * $XDG_CONFIG_HOME/sweep/trusted (~/.config/sweep/trusted), which only this user may write. Nothing in a workspace or
 * a bundle grants trust. The hash is of the files' names and contents, so that changed code is asked about again. */
#ifndef STORE_TRUST_H
#define STORE_TRUST_H
#include <stdbool.h>

#include "core/config/config.h"

enum { STORE_TRUST_MESSAGE = 2048 };

/* Puts into `message` what of this configuration's code is not trusted, and the way out; "": all of it is. grant: it
 * is from now on. Errors are those of finding the code (code.h), and of a file `trusted` that others may write. */
int store_trust_look(const CoreConfig *config, bool grant, char message[STORE_TRUST_MESSAGE]);
/* The same of env.python alone: may it be started, so that the code can be found? */
int store_trust_look_at_python(const CoreConfig *config, bool grant, char message[STORE_TRUST_MESSAGE]);
/* The same, where untrusted code is an error, CORE_USAGE. */
int store_trust_check(const CoreConfig *config, bool grant);

#endif
