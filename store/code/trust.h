/* Trust in an experiment's own code (a module, a library, its own Python), which the author of the experiment has
 * chosen. It runs only after this user has allowed it by --trust: a line "HASH <tab> description" in
 * $XDG_CONFIG_HOME/sweep/trusted (~/.config/sweep/trusted), which only this user may write. Nothing in a workspace or
 * bundle grants trust. The hash covers names and contents of the files, so that changed code needs trust again. */
#ifndef STORE_TRUST_H
#define STORE_TRUST_H
#include <stdbool.h>
#include <stddef.h>

#include "core/config/config.h"

enum { STORE_TRUST_MESSAGE = 2048 };

/* Sets `message` to the untrusted code of a configuration with a remedy; "": all is trusted. `grant` trusts it. Fails
 * if the code cannot be found (code.h) or others may write the file `trusted`. */
int store_trust_examine(const CoreConfig *config, bool grant, char message[STORE_TRUST_MESSAGE]);
/* Checks only env.python, which must be started to find the code. */
int store_trust_examine_python(const CoreConfig *config, bool grant, char message[STORE_TRUST_MESSAGE]);
/* Checks shell text that `setting` has, and that runs in `directory`, without links. CORE_USAGE: it is not trusted. */
int store_trust_check_shell(const char *setting, const char *text, const char *directory, bool grant);
/* Trusts bytes that this user has written in a workspace. `kind` and `name` say what they are. */
int store_trust_grant_record(const char *kind, const char *name, const void *bytes, size_t size);
/* Whether store_trust_grant_record has had them. Fails if others may write the file `trusted`. */
int store_trust_find_record(const char *kind, const char *name, const void *bytes, size_t size, bool *is_trusted);
/* Does the same as store_trust_examine, with CORE_USAGE for untrusted code. */
int store_trust_check(const CoreConfig *config, bool grant);

#endif
