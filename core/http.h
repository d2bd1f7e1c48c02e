/* HTTP requests through libcurl, for slurmrestd, webhooks and MLflow. One request at a time, with a timeout and a limit
 * on the size of the answer. A build without libcurl fails in core_http_open.
 *
 *   CoreHttp *http;
 *   TRY(core_http_open(&http));
 *   CoreHttpAnswer answer = {0};
 *   CoreHttpRequest request = {.method = "GET", .url = "http://localhost:6820/openapi/v3", .timeout_s = 10};
 *   int code = core_http_send(http, &request, &answer, &fault);
 *   ... answer.status, core_text_string(&answer.body) ...
 *   core_text_free(&answer.body);
 *   core_http_close(&http);
 *
 * URLs may contain secrets in their path (webhooks do) and headers contain tokens: messages contain only a request's
 * scheme and host. Redirects are not followed, so that no secret is sent to another host. */
#ifndef CORE_HTTP_H
#define CORE_HTTP_H
#include <stdbool.h>

#include "core/text.h"

enum { CORE_HTTP_SOCKET_MAX = 107 /* bytes of a UNIX socket's path: sun_path without its NUL */, CORE_HTTP_HOST = 300 };

typedef enum CoreHttpFault {
  CORE_HTTP_FINE,
  CORE_HTTP_UNBUILT,       /* built without libcurl */
  CORE_HTTP_UNREACHABLE,   /* no connection: the server has not seen the request */
  CORE_HTTP_TIMED_OUT,     /* the request may have been executed */
  CORE_HTTP_BROKEN,        /* closed, truncated, too long, not HTTP: the request may have been executed */
} CoreHttpFault;

typedef struct CoreHttpRequest {
  const char *method;         /* "GET", "POST", "PUT", "DELETE" */
  const char *url;            /* http:// or https:// */
  const char *unix_socket;    /* path of a socket, with the url's host for messages only; NULL: TCP */
  const char *const *headers; /* "Name: value", terminated by NULL; may be NULL */
  const char *body;           /* NULL: none */
  int timeout_s;              /* timeout of the request */
  size_t answer_max;          /* bytes; 0: 64 MiB */
} CoreHttpRequest;

typedef struct CoreHttpAnswer { int status; CoreText body; } CoreHttpAnswer; /* HTTP status; the caller frees body */

typedef struct CoreHttp CoreHttp; /* keeps connections alive; for use by one thread */

bool core_http_is_built(void);
/* Opens a client. CORE_FAIL: built without libcurl; the message says how to add it. */
int core_http_open(CoreHttp **http);
void core_http_close(CoreHttp **http);

/* Sends a request and waits for the answer. CORE_OK for any HTTP status; CORE_FAIL sets *fault (may be NULL) and leaves
 * the body empty. */
int core_http_send(CoreHttp *http, const CoreHttpRequest *request, CoreHttpAnswer *answer, CoreHttpFault *fault);

/* Checks that `url` is http or https with a host, without user or password, in printable ASCII. CORE_USAGE: the message
 * names `what` and never contains the URL. */
int core_http_check_url(const char *url, const char *what);
/* Copies scheme, host and port ("https://hooks.slack.com") for messages into a buffer of CORE_HTTP_HOST bytes. */
const char *core_http_host(const char *url, char *buffer);

#endif
