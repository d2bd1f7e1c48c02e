/* Who may ask: the token, and whether a request comes from where it should. Nothing here but checks of what a client
 * sent. */
#ifndef SWEEP_SERVE_ACCESS_H
#define SWEEP_SERVE_ACCESS_H
#include <stdbool.h>

#include "core/error.h"

enum { SERVE_TOKEN = 65 /* bytes of the longest, with its NUL */, SERVE_TOKEN_LEAST = 16 };

/* 32 random hexadecimal digits: 128 bits. */
int serve_token_make(char token[SERVE_TOKEN]);
/* The token that `path` keeps: its first line, of 16 to 64 letters, digits, '-' and '_'. Makes the file, readable by
 * its owner alone, when there is none. CORE_USAGE: others may read it, or it holds something else. */
int serve_token_keep(const char *path, char token[SERVE_TOKEN]);

/* Is it in `authorization` ("Bearer ...") or `argument` (?token=...)? Either may be NULL. Takes the same time whatever
 * was given, of any length. */
bool serve_token_is_given(const char *token, const char *authorization, const char *argument);

/* Does the Host header name this machine's loopback: 127.0.0.1, localhost or [::1], with any port, since ssh forwards
 * from any? Else a page of a stranger whose name was made to lead here would be of our origin. */
bool serve_host_is_loopback(const char *host);
/* Did a page of ours, or a program that is no browser, send it? A browser says in Origin or in Sec-Fetch-Site whose
 * page it was. */
bool serve_origin_is_own(const char *origin, const char *fetch_site, const char *host);

#endif
