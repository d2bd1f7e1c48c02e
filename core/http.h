/* HTTP requests through libcurl, for slurmrestd, webhooks and MLflow. One request at a time, with a time-out and a
 * limit on the answer's size, whatever the server does. A program that was built without libcurl says so when asked.
 *
 *   CoreHttp *http;
 *   TRY(core_http_open(&http));
 *   CoreHttpAnswer answer = {0};
 *   int code = core_http_send(http, &(CoreHttpRequest){.method = "GET", .url = "http://localhost:6820/openapi/v3",
 * .timeout_s = 10}, &answer, &fault);
 *   ... answer.status, core_text_string(&answer.body) ...
 *   core_text_free(&answer.body);
 *   core_http_close(&http);
 *
 * Addresses may hold secrets in their path (webhooks do) and headers hold tokens: no message repeats more of a request
 * than its scheme and host. Redirects are not followed, so that no secret goes where it was not sent. */
#ifndef CORE_HTTP_H
#define CORE_HTTP_H
#include <stdbool.h>

#include "core/text.h"

enum { CORE_HTTP_SOCKET_MAX = 107 /* bytes of a UNIX socket's path: sun_path less its NUL */, CORE_HTTP_HOST = 300 };

typedef enum CoreHttpFault {
  CORE_HTTP_FINE,
  CORE_HTTP_UNBUILT,       /* this program has no libcurl */
  CORE_HTTP_UNREACHABLE,   /* no connection: the server has seen nothing of the request */
  CORE_HTTP_TIMED_OUT,     /* it may have been done */
  CORE_HTTP_BROKEN,        /* closed, cut short, too long, no HTTP: it may have been done */
} CoreHttpFault;

typedef struct CoreHttpRequest {
  const char *method;         /* "GET", "POST", "PUT", "DELETE" */
  const char *url;            /* http:// or https:// */
  const char *unix_socket;    /* path; NULL: TCP. The url's host then only names the server in messages */
  const char *const *headers; /* "Name: value", NULL at the end; may be NULL */
  const char *body;           /* NULL: none */
  int timeout_s;              /* for all of it */
  size_t answer_max;          /* bytes; 0: 64 MiB */
} CoreHttpRequest;

typedef struct CoreHttpAnswer { int status; CoreText body; } CoreHttpAnswer; /* status 200 ...; caller frees body */

typedef struct CoreHttp CoreHttp; /* keeps connections open between requests; of one thread */

bool core_http_is_built(void);
/* CORE_FAIL: built without libcurl, and how to change that. */
int core_http_open(CoreHttp **http);
void core_http_close(CoreHttp **http);

/* Sends and waits. CORE_OK for any HTTP answer, of whatever status; CORE_FAIL sets *fault (may be NULL) and leaves the
 * body empty. */
int core_http_send(CoreHttp *http, const CoreHttpRequest *request, CoreHttpAnswer *answer, CoreHttpFault *fault);

/* Is `url` one that may be asked: http or https, a host, no name and password in it, only printable ASCII? CORE_USAGE
 * names `what` and never repeats the address. */
int core_http_check_url(const char *url, const char *what);
/* "https://hooks.slack.com": scheme, host and port alone, for messages. buffer of CORE_HTTP_HOST bytes. */
const char *core_http_host(const char *url, char *buffer);

#endif
