/* The user's list of what may run: lines "HASH <tab> description" in $XDG_CONFIG_HOME/sweep/trusted
 * (~/.config/sweep/trusted), which only this user may write. Nothing in a workspace or bundle grants trust. It has
 *
 * - records: bytes that this user wrote or accepted in a workspace (the text of a sweep, sweep/spec/trust.h; a batch;
 *   an environment);
 * - code that a trainer's configuration names (a module, a library, its own Python): the hash covers names and contents
 *   of the files, so that changed code needs trust again.
 *
 * What starts a run passes the hash of its configuration on, since others may write config.ini meanwhile. */
#ifndef STORE_TRUST_H
#define STORE_TRUST_H
#include <stdbool.h>
#include <stddef.h>

#include "core/config/config.h"
#include "store/code/code.h"

enum { STORE_TRUST_MESSAGE = 2048 };

/* Sets `message` to the untrusted code of a configuration with a remedy; "": all is trusted. `grant` trusts it. Fails
 * if the code cannot be found (code.h) or others may write the file `trusted`. */
int store_trust_examine(const CoreConfig *config, bool grant, char message[STORE_TRUST_MESSAGE]);
/* Checks only env.python, which must be started to find the code. */
int store_trust_examine_python(const CoreConfig *config, bool grant, char message[STORE_TRUST_MESSAGE]);

/* Hashes the config.ini that store_run_prepare writes. */
void store_trust_hash_config(const CoreConfig *config, char hash[STORE_CODE_HASH]);
/* Reads a config.ini, if it has this hash. CORE_FAIL: it was changed meanwhile. */
int store_trust_read_config(const char *path, const char *hash, CoreConfig *config);

/* Trusts bytes that this user has written in a workspace. `kind` and `name` say what they are. */
int store_trust_grant_record(const char *kind, const char *name, const void *bytes, size_t size);
/* Whether store_trust_grant_record has had them. Fails if others may write the file `trusted`. */
int store_trust_find_record(const char *kind, const char *name, const void *bytes, size_t size, bool *is_trusted);
/* Does the same as store_trust_examine, with CORE_USAGE for untrusted code. */
int store_trust_check(const CoreConfig *config, bool grant);

#endif
