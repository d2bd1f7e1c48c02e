/* `sweep serve`: starts the server and the thread that reads the workspace, prints the address, waits for a signal. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/json.h"
#include "core/memory.h"
#include "sweep/commands.h"
#include "sweep/serve/page.h"
#include "sweep/serve/routes.h"
#include "sweep/spec/sweep.h"

enum { PORT_DEFAULT = 8321, ADDRESS = 128, STOP_MS = 700 };

typedef struct ServeOptions {
  SweepCommon common;
  const char *token_file;
  int64_t port;
  bool control, json;
} ServeOptions;

/* The server for the thread that reads the workspace; NULL until it is started. */
typedef struct ServerLink { ServeServer *server; } ServerLink;

static void resume(void *context) {
  ServerLink *link = context;
  ServeServer *server = __atomic_load_n(&link->server, __ATOMIC_ACQUIRE);
  if (server) serve_server_resume(server);
}

static void print_address(const ServeOptions *options, const Serve *serve, int port) {
  char address[ADDRESS];
  snprintf(address, sizeof address, "http://127.0.0.1:%d/?token=%s", port, serve->token);
  if (options->json) {
    core_json_print(json_pack("{s:s, s:i, s:s, s:s, s:b}", "url", address, "port", port, "token", serve->token, "root",
                              serve->root, "control", serve->control));
  } else {
    char host[64] = "HOST";
    gethostname(host, sizeof host - 1);
    printf("%s\n"
           "Anyone with this URL can %s. Press Ctrl-C to stop the server.\n"
           "From another machine, first run\n"
           "  ssh -N -L %d:127.0.0.1:%d %s\n",
           address, serve->control ? "read all results in this workspace, stop runs and retry them"
                                   : "read all results in this workspace",
           port, port, host);
  }
  fflush(stdout);
}

static void wait_for_signal(const sigset_t *signals) {
  int number;
  do number = sigwaitinfo(signals, NULL);
  while (number < 0);
}

static void *end_late(void *context) {
  (void)context;
  nanosleep(&(struct timespec){.tv_nsec = STOP_MS * 1000000L}, NULL);
  _exit(0);
}

/* Ends queries, and the program itself if a request or an import takes longer. Nothing is lost: the server keeps
 * no data, and an import is a transaction. */
static void limit_stop(void) {
  pthread_t thread;
  store_database_stop_queries();
  if (pthread_create(&thread, NULL, end_late, NULL) == 0) pthread_detach(thread);
}

/* Blocks all signals before threads start, so that only this one receives those that end the program. */
static int run_server(const ServeOptions *options, Serve *serve, const char *policy) {
  sigset_t all, ends;
  ServerLink link = {NULL};
  ServeServer *server = NULL;
  int port = 0;
  sigfillset(&all);
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGHUP);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  TRY(serve_watch_start(&(ServeWatchOptions){options->common.root, resume, &link}, &serve->watch));
  const int code = serve_server_start(&(ServeServerOptions){(int)options->port, policy, serve_route, serve}, &server,
                                      &port);
  if (code == CORE_OK) {
    __atomic_store_n(&link.server, server, __ATOMIC_RELEASE);
    print_address(options, serve, port);
    wait_for_signal(&ends);
    limit_stop();
  }
  if (server) serve_server_stop(server);
  serve_watch_stop(&serve->watch); /* its thread may still use the server */
  serve_server_destroy(&server);
  return code;
}

static int serve_workspace(void *context, const char **operands, size_t count) {
  ServeOptions *options = context;
  char policy[SERVE_POLICY];
  if (options->port < 0 || options->port > 65535)
    return core_error(CORE_USAGE, "--port %lld: expected 0 (any free port) to 65535", (long long)options->port);
  TRY(sweep_common_open(&options->common));
  Serve *serve = core_memory_zero_allocate(1, sizeof *serve);
  serve->root = options->common.root;
  serve->control = options->control;
  int code = options->token_file ? serve_token_load(options->token_file, serve->token)
                                 : serve_token_create(serve->token);
  if (code == CORE_OK) code = store_path_database(serve->root, serve->reader.path);
  serve_page_build(&serve->page, policy);
  json_object_seed(0); /* before threads start */
  if (code == CORE_OK) code = run_server(options, serve, policy);
  serve_action_free(&serve->actions);
  serve_cache_free(&serve->cache);
  serve_groups_free(&serve->groups);
  serve_series_cache_free(&serve->series);
  serve_reader_close(&serve->reader);
  core_text_free(&serve->page);
  free(serve);
  return code;
}

int sweep_serve(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep serve [options]",
    .about = "Serves a live page of the workspace to a browser on this machine, or on another one through ssh: status "
             "of all sweeps, curves with intervals over seeds, searches, logs and reasons of failures, videos, DDR "
             "against scores, comparisons of runs. Prints the address, which includes a random token, and runs until "
             "Ctrl-C. Listens on 127.0.0.1 only and is read-only unless --control is values. Scripts get the same data "
             "as JSON (docs/serve.md)."};
  ServeOptions values = {.port = PORT_DEFAULT};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(values.common),
    {"port", 'p', CORE_OPTION_INT, &values.port, "N", "port to listen on; 0: any free one (default: 8321)"},
    {"control", 0, CORE_OPTION_FLAG, &values.control, NULL, "let the page stop and retry runs"},
    {"token-file", 0, CORE_OPTION_TEXT, &values.token_file, "FILE",
     "read the token from FILE, created if missing (default: a new token at each start)"},
    {"json", 0, CORE_OPTION_FLAG, &values.json, NULL, "print the address as JSON"},
    {0}};
  return core_options_run(&manual, options, argc, argv, serve_workspace, &values);
}
