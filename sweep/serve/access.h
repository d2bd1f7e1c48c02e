/* Access checks: the token, and where a request comes from. */
#ifndef SWEEP_SERVE_ACCESS_H
#define SWEEP_SERVE_ACCESS_H
#include <stdbool.h>

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

#endif
