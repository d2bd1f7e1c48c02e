/* libmicrohttpd. The library is loaded when a server is started, so that machines without it run everything else, and
 * array tasks do not load it. */
#include "sweep/serve/server.h"

#include <string.h>

#if CORE_HAS_MICROHTTPD
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/memory.h"

bool serve_server_is_built(void) { return true; }

/* ---- the library ------------------------------------------------------------------------------------------------- */

#define MHD_FUNCTIONS(X) \
  X(MHD_start_daemon) X(MHD_stop_daemon) X(MHD_lookup_connection_value) X(MHD_create_response_from_buffer) \
  X(MHD_add_response_header) X(MHD_queue_response) X(MHD_destroy_response) X(MHD_suspend_connection) \
  X(MHD_resume_connection) X(MHD_get_connection_values) X(MHD_get_connection_info)

#define MEMBER(name) __typeof__(&name) name;
static struct { MHD_FUNCTIONS(MEMBER) } library;
#undef MEMBER

static int load_library(void) {
  static const char name[] = "libmicrohttpd.so.12";
  void *file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!file)
    return core_error(CORE_FAIL, "cannot load libmicrohttpd (%s); install it (Debian: libmicrohttpd12, Fedora: "
                                 "libmicrohttpd)", dlerror());
#define LOAD(function)                                                                        \
  void *address_of_##function = dlsym(file, #function);                                       \
  if (!address_of_##function) return core_error(CORE_FAIL, "%s has no %s", name, #function); \
  memcpy(&library.function, &address_of_##function, sizeof library.function);
  MHD_FUNCTIONS(LOAD)
#undef LOAD
  return CORE_OK;
}

/* ---- responses --------------------------------------------------------------------------------------------------- */

/* A connection. Only libmicrohttpd's thread uses it. */
typedef struct Peer {
  int64_t number;                  /* in the order of arrival, from 1; 0: free */
  int fd;
  bool is_known;                   /* a request of it has been allowed */
} Peer;

struct ServeServer {
  ServeServerOptions options;
  Peer peers[SERVE_CONNECTIONS_MAX];
  int64_t arrivals;                /* number of connections until now */
  struct MHD_Daemon *daemon;
  pthread_mutex_t lock;            /* protects all below */
  pthread_cond_t ended;            /* a request has been answered */
  int running;                     /* number of threads that answer a request */
  bool is_stopping;
};

/* A request that a thread of its own answers, while libmicrohttpd's thread leaves its connection alone. */
typedef struct Job {
  ServeServer *server;
  ServeRequest request;
  ServeResponse response;
} Job;

enum {
  ETAG = 2 + 2 * 16 + 1,
  BODY_MAX = 1 << 20,    /* bytes of a request, which are discarded */
  STACK_BYTES = 1 << 20, /* stack of a request's thread */
};

/* Writes a hash of the body, so that clients can ask for changed bodies only. */
static void write_etag(const CoreText *body, char etag[ETAG]) {
  unsigned char hash[16];
  char digits[2 * sizeof hash + 1];
  crypto_generichash(hash, sizeof hash, (const unsigned char *)core_text_string(body), body->length, NULL, 0);
  sodium_bin2hex(digits, sizeof digits, hash, sizeof hash);
  snprintf(etag, ETAG, "\"%s\"", digits);
}

static enum MHD_Result send_response(const ServeServer *server, struct MHD_Connection *connection,
                                     ServeResponse *response) {
  char etag[ETAG];
  write_etag(&response->body, etag);
  const char *requested = library.MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "If-None-Match");
  const bool is_known = response->status == 200 && requested && strcmp(requested, etag) == 0;
  if (is_known) core_text_free(&response->body);

  struct MHD_Response *sent =
    library.MHD_create_response_from_buffer(response->body.length, response->body.data, MHD_RESPMEM_MUST_FREE);
  if (!sent) return MHD_NO;
  response->body = (CoreText){0}; /* freed with `sent` */

  const char *const headers[][2] = {{"Content-Type", response->type},
                                    {"Cache-Control", "private, no-cache"},
                                    {"Content-Security-Policy", server->options.policy},
                                    {"X-Content-Type-Options", "nosniff"},
                                    {"X-Frame-Options", "DENY"},
                                    {"Referrer-Policy", "no-referrer"},
                                    {"Cross-Origin-Resource-Policy", "same-origin"}};
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
    library.MHD_add_response_header(sent, headers[i][0], headers[i][1]);
  if (response->status == 200) library.MHD_add_response_header(sent, "ETag", etag);

  const enum MHD_Result result =
    library.MHD_queue_response(connection, is_known ? 304 : (unsigned)response->status, sent);
  library.MHD_destroy_response(sent);
  return result;
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

/* Ends the oldest connection without a valid request if there are too many. Any user of this machine can open
 * connections, and keep them by sending a byte now and then. */
static void limit_strangers(ServeServer *server) {
  Peer *oldest = NULL;
  int strangers = 0;
  for (int i = 0; i < SERVE_CONNECTIONS_MAX; i++) {
    Peer *peer = &server->peers[i];
    if (peer->number == 0 || peer->is_known) continue;
    strangers++;
    if (!oldest || peer->number < oldest->number) oldest = peer;
  }
  if (strangers > SERVE_STRANGERS_MAX) shutdown(oldest->fd, SHUT_RDWR); /* libmicrohttpd then closes it */
}

static void note_connection(void *context, struct MHD_Connection *connection, void **peer,
                            enum MHD_ConnectionNotificationCode code) {
  ServeServer *server = context;
  if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
    if (*peer) *(Peer *)*peer = (Peer){0};
    return;
  }
  const union MHD_ConnectionInfo *info = library.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (info) {
    for (int i = 0; i < SERVE_CONNECTIONS_MAX && !*peer; i++) {
      if (server->peers[i].number != 0) continue;
      server->peers[i] = (Peer){++server->arrivals, (int)info->connect_fd, false};
      *peer = &server->peers[i];
    }
  }
  limit_strangers(server);
}

static void mark_known(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
    library.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  if (info && info->socket_context) ((Peer *)info->socket_context)->is_known = true;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

const char *serve_request_argument(const ServeRequest *request, const char *name) {
  return library.MHD_lookup_connection_value((struct MHD_Connection *)request->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* Text with its length, so that no two lists give the same. */
static void append_counted(const char *value, CoreText *text) {
  core_text_appendf(text, " %zu:%s", value ? strlen(value) : 0, value ? value : "");
}

typedef struct Arguments { const char *except; CoreText *text; } Arguments;

static enum MHD_Result append_argument(void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
  const Arguments *arguments = context;
  (void)kind;
  if (strcmp(name, arguments->except) == 0) return MHD_YES;
  append_counted(name, arguments->text);
  append_counted(value, arguments->text);
  return MHD_YES;
}

void serve_request_append_arguments(const ServeRequest *request, const char *except, CoreText *text) {
  Arguments arguments = {except, text};
  library.MHD_get_connection_values((struct MHD_Connection *)request->connection, MHD_GET_ARGUMENT_KIND,
                                    append_argument, &arguments);
}

static const char *request_header(struct MHD_Connection *connection, const char *name) {
  return library.MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result send_error(const ServeServer *server, struct MHD_Connection *connection, int status,
                              const char *why) {
  ServeResponse response = {.status = status, .type = "application/json"};
  core_text_appendf(&response.body, "{\"error\": \"%s\"}\n", why);
  const enum MHD_Result result = send_response(server, connection, &response);
  core_text_free(&response.body);
  return result;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static char has_headers; /* marks a request that is not complete yet */

static void *answer(void *context) {
  Job *job = context;
  ServeServer *server = job->server;
  pthread_mutex_lock(&server->lock); /* until start_job has suspended the connection */
  pthread_mutex_unlock(&server->lock);
  struct MHD_Connection *connection = (struct MHD_Connection *)job->request.connection;
  server->options.handler(server->options.context, &job->request, &job->response);

  library.MHD_resume_connection(connection); /* handle_request is called again, and may free the job */
  pthread_mutex_lock(&server->lock);
  server->running--;
  pthread_cond_signal(&server->ended);
  pthread_mutex_unlock(&server->lock);
  return NULL;
}

/* Starts a thread that answers the request. false: not possible. */
static bool start_job(Job *job) {
  ServeServer *server = job->server;
  struct MHD_Connection *connection = (struct MHD_Connection *)job->request.connection;
  pthread_t thread;
  pthread_attr_t attributes;

  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);

  pthread_mutex_lock(&server->lock);
  const bool is_started = !server->is_stopping && pthread_create(&thread, &attributes, answer, job) == 0;
  if (is_started) {
    library.MHD_suspend_connection(connection);
    server->running++;
  }
  pthread_mutex_unlock(&server->lock);
  pthread_attr_destroy(&attributes);
  return is_started;
}

static void free_job(Job *job) {
  core_text_free(&job->response.body);
  free(job);
}

/* Called by libmicrohttpd after each request, also if its client has gone. */
static void end_request(void *context, struct MHD_Connection *connection, void **seen,
                        enum MHD_RequestTerminationCode code) {
  if (*seen && *seen != &has_headers) free_job(*seen);
  *seen = NULL;
}

/* Called by libmicrohttpd when the headers of a request have arrived, for each piece of its body, at its end, and again
 * once a thread has answered it. */
static enum MHD_Result handle_request(void *context, struct MHD_Connection *connection, const char *url,
                                      const char *method, const char *version, const char *data, size_t *bytes,
                                      void **seen) {
  ServeServer *server = context;
  int64_t length;
  if (*seen == NULL) {
    *seen = &has_headers;
    const char *text = request_header(connection, "Content-Length");
    if (text && (!core_text_to_int(text, &length) || length > BODY_MAX))
      return send_error(server, connection, 413, "a request must not have a body; arguments belong in the address");
    return MHD_YES;
  }
  if (*bytes > 0) { /* discarded: arguments are in the address */
    *bytes = 0;
    return MHD_YES;
  }

  /* The second call after a thread has made the answer. */
  if (*seen != &has_headers) {
    Job *job = *seen;
    if (job->response.status != 403) mark_known(connection);
    return send_response(server, connection, &job->response);
  }

  /* The end of the request: a thread answers it. */
  Job *job = core_memory_zero_allocate(1, sizeof *job);
  job->server = server;
  job->request = (ServeRequest){.method = method,
                                .path = url,
                                .authorization = request_header(connection, "Authorization"),
                                .origin = request_header(connection, "Origin"),
                                .fetch_site = request_header(connection, "Sec-Fetch-Site"),
                                .host = request_header(connection, "Host"),
                                .connection = connection};
  *seen = job;

  if (start_job(job)) return MHD_YES;
  *seen = &has_headers;
  free_job(job);
  return send_error(server, connection, 503, "the server is busy or stops; try again");
}

/* ---- the server -------------------------------------------------------------------------------------------------- */

static int listen_on(int requested_port, int *port, int *socket_fd) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)requested_port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
  if (fd < 0) return core_error_errno(CORE_FAIL, "cannot create a socket");

  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 256) == 0 &&
      getsockname(fd, (struct sockaddr *)&address, &length) == 0) {
    *port = ntohs(address.sin_port);
    *socket_fd = fd;
    return CORE_OK;
  }

  const int number = errno;
  close(fd);
  errno = number;
  if (number == EADDRINUSE)
    return core_error(CORE_FAIL, "port %d is in use, perhaps by another sweep serve; choose another one with --port, "
                                 "or any free one with --port 0", requested_port);
  return core_error_errno(CORE_FAIL, "cannot listen on port %d", requested_port);
}

int serve_server_start(const ServeServerOptions *options, ServeServer **server, int *port) {
  int fd = -1;
  *server = NULL;
  TRY(load_library());
  if (sodium_init() < 0) return core_error(CORE_FAIL, "cannot initialize libsodium");
  TRY(listen_on(options->port, port, &fd));

  ServeServer *created = core_memory_zero_allocate(1, sizeof *created);
  created->options = *options;
  pthread_mutex_init(&created->lock, NULL);
  pthread_cond_init(&created->ended, NULL);
  created->daemon = library.MHD_start_daemon(
    MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle_request, created,
    MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVE_CONNECTIONS_MAX,
    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SERVE_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
    (size_t)SERVE_HEADERS_MAX, MHD_OPTION_NOTIFY_COMPLETED, end_request, NULL, MHD_OPTION_NOTIFY_CONNECTION,
    note_connection, (void *)created, MHD_OPTION_END);

  if (created->daemon) {
    *server = created;
    return CORE_OK;
  }

  close(fd);
  pthread_mutex_destroy(&created->lock);
  pthread_cond_destroy(&created->ended);
  free(created);
  return core_error(CORE_FAIL, "libmicrohttpd cannot start a server on port %d", *port);
}

void serve_server_stop(ServeServer *server) {
  if (!server->daemon) return;
  pthread_mutex_lock(&server->lock);
  server->is_stopping = true;
  while (server->running > 0) pthread_cond_wait(&server->ended, &server->lock);
  pthread_mutex_unlock(&server->lock);
  library.MHD_stop_daemon(server->daemon);
  server->daemon = NULL;
}

void serve_server_destroy(ServeServer **server) {
  if (!*server) return;
  serve_server_stop(*server);
  pthread_mutex_destroy(&(*server)->lock);
  pthread_cond_destroy(&(*server)->ended);
  free(*server);
  *server = NULL;
}
#else
bool serve_server_is_built(void) { return false; }

const char *serve_request_argument(const ServeRequest *request, const char *name) { return NULL; }

void serve_request_append_arguments(const ServeRequest *request, const char *except, CoreText *text) {}

int serve_server_start(const ServeServerOptions *options, ServeServer **server, int *port) {
  *server = NULL;
  return core_error(CORE_FAIL, "this program was built without libmicrohttpd; install it (Debian: libmicrohttpd-dev, "
                               "Fedora: libmicrohttpd-devel) and build again");
}

void serve_server_stop(ServeServer *server) {}
void serve_server_destroy(ServeServer **server) { *server = NULL; }
#endif
