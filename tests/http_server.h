/* A small web server for tests, in a thread of the test: it listens on a port of 127.0.0.1 or on a UNIX socket, records
 * requests, and responds or misbehaves as configured. One connection at a time, one request per connection. Include
 * it in one file of a program.
 *
 *   static void answer(HttpServer *server, const HttpCall *call, HttpReply *reply) { reply->body = "{}"; }
 *   HttpServer server = {.answer = answer};
 *   http_server_start(&server, NULL);      ... server.url is "http://127.0.0.1:41234" ...
 *   http_server_stop(&server);             ... server.calls[0 .. server.count-1] may be read after it */
#ifndef TESTS_HTTP_SERVER_H
#define TESTS_HTTP_SERVER_H
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/error.h"
#include "core/text.h"

enum { HTTP_CALLS = 512 };

typedef enum HttpManner {
  HTTP_ANSWER,  /* status and body */
  HTTP_GARBAGE, /* bytes that are no HTTP */
  HTTP_CLOSE,   /* closes without a response */
  HTTP_CUT,     /* promises more than it sends, then closes */
  HTTP_STALL,   /* accepts the request and sends nothing until the server is stopped */
  HTTP_ENDLESS, /* a body that does not end */
} HttpManner;

typedef struct HttpCall { char method[16], path[512]; char *headers, *body; } HttpCall;
typedef struct HttpReply {
  HttpManner manner;
  int status;
  const char *body;
  size_t length;
} HttpReply; /* length 0: strlen */

typedef struct HttpServer {
  void (*answer)(struct HttpServer *server, const HttpCall *call, HttpReply *reply);
  void *context;
  char url[256];
  HttpCall calls[HTTP_CALLS];
  size_t count;
  int listener;
  atomic_bool stop;
  pthread_t thread;
} HttpServer;

static bool http_server_wait(HttpServer *server, int fd, short events) {
  while (!atomic_load(&server->stop)) {
    struct pollfd end = {fd, events, 0};
    if (poll(&end, 1, 20) > 0) return true;
  }
  return false;
}

/* Reads headers and as much body as Content-Length says. */
static bool http_server_read(HttpServer *server, int fd, HttpCall *call) {
  CoreText text = {0};
  size_t wanted = 0, head = 0;
  char buffer[65536];
  while (wanted == 0 || text.length < wanted) {
    if (!http_server_wait(server, fd, POLLIN)) break;
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got <= 0) break;
    core_text_append_bytes(&text, buffer, (size_t)got);
    const char *end = strstr(text.data, "\r\n\r\n");
    if (!end || wanted) continue;
    const char *length = strcasestr(text.data, "\r\nContent-Length:");
    head = (size_t)(end - text.data) + 4;
    wanted = head + (length && length < end ? strtoul(length + 17, NULL, 10) : 0);
  }
  const bool good =
    wanted > 0 && text.length >= wanted && sscanf(text.data, "%15s %511s", call->method, call->path) == 2;
  if (good) {
    call->body = core_text_duplicate(text.data + head);
    text.data[head] = '\0';
    call->headers = core_text_duplicate(text.data);
  }
  core_text_free(&text);
  return good;
}

static void http_server_send(HttpServer *server, int fd, const void *bytes, size_t size) {
  const char *at = bytes;
  while (size > 0 && http_server_wait(server, fd, POLLOUT)) {
    const ssize_t put = send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0) return;
    at += put, size -= (size_t)put;
  }
}

static void http_server_reply(HttpServer *server, int fd, const HttpReply *reply) {
  static const char garbage[] = "\x16\x03\x01\x02garbage \x01\xff\xfe no protocol at all\r\n\r\n\0more";
  const char *body = reply->body ? reply->body : "";
  const size_t length = reply->length ? reply->length : strlen(body);
  char head[256], chunk[4096];
  struct pollfd end = {fd, 0, 0};
  snprintf(head, sizeof head,
           "HTTP/1.1 %d Words\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
           reply->status ? reply->status : 200, length + (reply->manner == HTTP_CUT ? 1000 : 0));
  switch (reply->manner) {
    case HTTP_GARBAGE: http_server_send(server, fd, garbage, sizeof garbage); break;
    case HTTP_CLOSE: break;
    case HTTP_STALL:
      while (!atomic_load(&server->stop) && !(poll(&end, 1, 20) > 0)) continue;
      break;
    case HTTP_ENDLESS:
      snprintf(head, sizeof head, "HTTP/1.1 200 Words\r\nContent-Type: application/json\r\n\r\n{\"jobs\":[");
      http_server_send(server, fd, head, strlen(head));
      memset(chunk, ' ', sizeof chunk);
      while (!atomic_load(&server->stop) && send(fd, chunk, sizeof chunk, MSG_NOSIGNAL) > 0) continue;
      break;
    default:
      http_server_send(server, fd, head, strlen(head));
      http_server_send(server, fd, body, length);
  }
}

static void *http_server_run(void *context) {
  HttpServer *server = context;
  while (http_server_wait(server, server->listener, POLLIN)) {
    const int fd = accept(server->listener, NULL, NULL);
    HttpCall *call = &server->calls[server->count];
    if (fd < 0) continue;
    *call = (HttpCall){0};
    if (http_server_read(server, fd, call)) {
      HttpReply reply = {0};
      CORE_CHECK(server->count < HTTP_CALLS - 1);
      server->count++;
      server->answer(server, call, &reply);
      http_server_reply(server, fd, &reply);
    }
    close(fd);
  }
  return NULL;
}

/* path NULL: TCP on a free port. */
static void http_server_start(HttpServer *server, const char *path) {
  struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_un local = {.sun_family = AF_UNIX};
  socklen_t size = sizeof tcp;
  server->listener = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (path) snprintf(local.sun_path, sizeof local.sun_path, "%s", path);
  CORE_CHECK(bind(server->listener, path ? (struct sockaddr *)&local : (struct sockaddr *)&tcp,
                  path ? sizeof local : sizeof tcp) == 0);
  CORE_CHECK(listen(server->listener, 16) == 0);
  if (path) snprintf(server->url, sizeof server->url, "unix:%s", path);
  else if (getsockname(server->listener, (struct sockaddr *)&tcp, &size) == 0)
    snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d", ntohs(tcp.sin_port));
  CORE_CHECK(pthread_create(&server->thread, NULL, http_server_run, server) == 0);
}

static void http_server_stop(HttpServer *server) {
  atomic_store(&server->stop, true);
  pthread_join(server->thread, NULL);
  close(server->listener);
}

/* Forgets the calls: after http_server_stop, or while nothing asks. */
static inline void http_server_forget(HttpServer *server) {
  for (size_t i = 0; i < server->count; i++) free(server->calls[i].headers), free(server->calls[i].body);
  server->count = 0;
}
#endif
