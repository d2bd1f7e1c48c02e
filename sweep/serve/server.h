/* An HTTP server for this machine alone, through libmicrohttpd. It listens on 127.0.0.1, bounds what a client may send
 * and how long it may wait, and gives each request to one function, one at a time, in a thread of its own. It knows
 * nothing of sweeps, and of no file.
 *
 * A program that was built without libmicrohttpd, or finds none where it runs, says so when a server is started. */
#ifndef SWEEP_SERVE_SERVER_H
#define SWEEP_SERVE_SERVER_H
#include <stdbool.h>

#include "core/text.h"

enum {
  SERVE_CONNECTIONS_MAX = 400,    /* at a time; more are refused */
  SERVE_IDLE_S = 15,              /* a connection on which nothing moves so long is closed */
  SERVE_HEADERS_MAX = 16 << 10,   /* bytes of a request line and its headers */
};

typedef struct ServeServer ServeServer;

/* Borrowed, for the time of the handler's call. Texts of the client's choosing. */
typedef struct ServeRequest {
  const char *method, *path;      /* "GET", "/api/status": decoded, without the query */
  const char *authorization, *origin, *fetch_site, *host; /* headers; NULL: the request has none */
  const void *connection;         /* for serve_request_argument */
} ServeRequest;

/* The value of ?name=value, decoded; NULL: not given. Valid as long as the request. */
const char *serve_request_argument(const ServeRequest *request, const char *name);

/* What is sent. `body` is taken over. */
typedef struct ServeAnswer {
  int status;                     /* 200 ... */
  const char *type;               /* "application/json": a constant */
  CoreText body;
} ServeAnswer;

/* Fills *answer, zeroes before. false: cannot answer yet; it is asked again after serve_server_resume. */
typedef bool (*ServeHandler)(void *context, const ServeRequest *request, ServeAnswer *answer);

typedef struct ServeServerOptions {
  int port;                       /* 0: any free one */
  const char *policy;             /* the Content-Security-Policy of all answers; borrowed as long as the server */
  ServeHandler handler;
  void *context;
} ServeServerOptions;

bool serve_server_is_built(void);
/* CORE_FAIL: no libmicrohttpd, or the port cannot be had; says what to do. *port: the one that it listens on. */
int serve_server_start(const ServeServerOptions *options, ServeServer **server, int *port);
/* Whoever could not be answered is asked again. From any thread, until serve_server_destroy. */
void serve_server_resume(ServeServer *server);
/* No request is under way any more, and none comes. */
void serve_server_stop(ServeServer *server);
void serve_server_destroy(ServeServer **server);

#endif
