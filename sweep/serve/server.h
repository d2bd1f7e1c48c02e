/* An HTTP server for this machine only, through libmicrohttpd. Listens on 127.0.0.1, limits the size and duration of
 * requests, and passes each to a handler in a thread of its own, so that a slow request delays no other. Knows neither
 * sweeps nor files.
 *
 * If libmicrohttpd was missing at build time or is missing at run time, starting a server fails with a message. */
#ifndef SWEEP_SERVE_SERVER_H
#define SWEEP_SERVE_SERVER_H
#include <stdbool.h>

#include "core/text.h"

enum {
  SERVE_CONNECTIONS_MAX = 400,    /* concurrent connections; further ones are refused */
  SERVE_STRANGERS_MAX = 200,      /* connections without a valid request yet; the oldest makes room for a new one */
  SERVE_IDLE_S = 15,              /* idle time after which a connection is closed */
  SERVE_HEADERS_MAX = 16 << 10,   /* bytes of a request line and its headers */
};

typedef struct ServeServer ServeServer;

/* Valid during the handler's call. All texts are chosen by the client. */
typedef struct ServeRequest {
  const char *method, *path;      /* "GET", "/api/status": decoded, without the query */
  const char *authorization, *origin, *fetch_site, *host; /* headers; NULL: missing */
  const void *connection;         /* private */
} ServeRequest;

/* Returns the decoded value of ?name=value; NULL: missing. Valid as long as the request. */
const char *serve_request_argument(const ServeRequest *request, const char *name);

/* Appends all arguments except one, in an unambiguous form. */
void serve_request_append_arguments(const ServeRequest *request, const char *except, CoreText *text);

typedef struct ServeResponse {
  int status;                     /* 200 ... */
  const char *type;               /* "application/json"; a constant */
  CoreText body;                  /* owned by the server once the handler returns */
} ServeResponse;

/* Fills a zero-initialized response. Called by many threads at once. */
typedef void (*ServeHandler)(void *context, const ServeRequest *request, ServeResponse *response);

typedef struct ServeServerOptions {
  int port;                       /* 0: any free one */
  const char *policy;             /* Content-Security-Policy of all responses; borrowed */
  ServeHandler handler;
  void *context;
} ServeServerOptions;

bool serve_server_is_built(void);
/* Starts to listen. *port: the actual port. CORE_FAIL: no libmicrohttpd, or the port is not available; the message
 * names the remedy. */
int serve_server_start(const ServeServerOptions *options, ServeServer **server, int *port);
/* Accepts no more requests, and waits for those that run. */
void serve_server_stop(ServeServer *server);
void serve_server_destroy(ServeServer **server);

#endif
