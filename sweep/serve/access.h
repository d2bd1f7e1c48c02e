/* Access checks: the token, where a request comes from, and files of a run's directory. */
#ifndef SWEEP_SERVE_ACCESS_H
#define SWEEP_SERVE_ACCESS_H
#include <stdbool.h>
#include <sys/types.h>

#include "core/error.h"

enum { SERVE_TOKEN = 65 /* bytes of the longest token with its NUL */, SERVE_TOKEN_MIN = 16 /* characters */ };

/* Creates a token of 32 random hexadecimal digits: 128 bits. */
int serve_token_create(char token[SERVE_TOKEN]);
/* Reads the token in the first line of `path`: 16 to 64 letters, digits, '-' and '_'. Creates the file, readable by its
 * owner only, if it does not exist. CORE_USAGE: the file can be read by others, or has no token. */
int serve_token_load(const char *path, char token[SERVE_TOKEN]);

/* Whether the token is in `authorization` ("Bearer TOKEN") or `argument` (?token=TOKEN), either of which may be NULL.
 * Takes the same time for all values. */
bool serve_token_is_valid(const char *token, const char *authorization, const char *argument);

/* Whether a Host header names the loopback interface: 127.0.0.1, localhost or [::1], with any port, since ssh forwards
 * any. Prevents DNS rebinding: a foreign page whose name resolves to this machine would have our origin. */
bool serve_host_is_loopback(const char *host);
/* Whether a request comes from our page or from a program that is not a browser. Browsers send Origin or
 * Sec-Fetch-Site. */
bool serve_origin_is_same(const char *origin, const char *fetch_site, const char *host);

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Files of a run's directory, opened as if a stranger had prepared the directory. Names are constants of this program;
 * of a request only a valid run id gets here. */

/* Opens `name` of run `id` for reading. The file must be regular; neither it nor a directory below runs/ may be a link.
 * SERVE_NOT_FOUND: it does not exist. CORE_FAIL: it is something else, and was not read. */
int serve_file_open(const char *root, const char *id, const char *name, int *fd, off_t *size);

#endif
