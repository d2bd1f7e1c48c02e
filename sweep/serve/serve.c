/* `sweep serve`: starts the server and the thread that reads the workspace, prints the address, waits for a signal. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/json.h"
#include "core/memory.h"
#include "sweep/commands.h"
#include "sweep/serve/routes.h"
#include "sweep/spec/sweep.h"

enum { PORT_DEFAULT = 8321, ADDRESS = 128, STOP_MS = 700, ARENAS = 4 };

typedef struct ServeOptions {
  SweepCommon common;
  const char *token_file;
  int64_t port;
  bool control, json;
} ServeOptions;

typedef struct Ending { sigset_t signals; sem_t is_asked; } Ending;

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
           address, serve->control ? "read all results in this workspace, save views, stop runs and retry them"
                                   : "read all results in this workspace and save views",
           port, port, host);
  }
  fflush(stdout);
}

/* Waits for a signal. Then it ends queries, and the program itself if a request, a read or an import takes longer.
 * Nothing is lost: the server keeps no data, and an import is a transaction. */
static void *end_in_time(void *context) {
  Ending *ending = context;
  int number;
  do number = sigwaitinfo(&ending->signals, NULL);
  while (number < 0);
  store_database_stop_queries();
  sem_post(&ending->is_asked);
  nanosleep(&(struct timespec){.tv_nsec = STOP_MS * 1000000L}, NULL);
  _exit(0);
}

/* Starts the thread that waits for the signals that end the program, and blocks all others in all threads. It lives
 * until the program ends. */
static int watch_signals(Ending *ending) {
  pthread_t thread;
  sigset_t all;
  sigfillset(&all);
  sigemptyset(&ending->signals);
  sigaddset(&ending->signals, SIGINT);
  sigaddset(&ending->signals, SIGTERM);
  sigaddset(&ending->signals, SIGHUP);
  sem_init(&ending->is_asked, 0, 0);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  errno = pthread_create(&thread, NULL, end_in_time, ending);
  if (errno) return core_error_errno(CORE_FAIL, "cannot start the thread that waits for signals");
  pthread_detach(thread);
  return CORE_OK;
}

static int run_server(const ServeOptions *options, Serve *serve, const char *policy) {
  static Ending ending; /* its thread outlives this call */
  ServeServer *server = NULL;
  int port = 0;
  TRY(watch_signals(&ending));
  TRY(serve_watch_start(options->common.root, &serve->watch));
  const int code = serve_server_start(&(ServeServerOptions){(int)options->port, policy, serve_route, serve}, &server,
                                      &port);
  if (code == CORE_OK) {
    print_address(options, serve, port);
    while (sem_wait(&ending.is_asked) < 0 && errno == EINTR) continue;
  }
  serve_server_destroy(&server);
  serve_watch_stop(&serve->watch);
  return code;
}

static int serve_workspace(void *context, const char **operands, size_t count) {
  ServeOptions *options = context;
  char policy[SERVE_POLICY], database[CORE_PATH_MAX];
  if (options->port < 0 || options->port > 65535)
    return core_error(CORE_USAGE, "--port %lld: expected 0 (any free port) to 65535", (long long)options->port);
  TRY(sweep_common_open(&options->common));
  TRY(store_path_database(options->common.root, database));

  mallopt(M_ARENA_MAX, ARENAS); /* each request has a thread, but may not keep memory of its own */
  Serve *serve = core_memory_zero_allocate(1, sizeof *serve);
  serve_init(serve, database);
  serve->root = options->common.root;
  serve->control = options->control;

  int code = options->token_file ? serve_token_load(options->token_file, serve->token)
                                 : serve_token_create(serve->token);
  serve_page_build(&serve->page, policy);
  json_object_seed(0); /* before threads start */

  if (code == CORE_OK) code = run_server(options, serve, policy);
  serve_free(serve);
  free(serve);
  return code;
}

int sweep_serve(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep serve [options]",
    .about = "Serves a live page of the workspace to a browser on this machine, or on another one through ssh: status "
             "of all sweeps, curves with intervals over seeds, searches, logs and reasons of failures, videos, DDR "
             "against scores, comparisons of runs. Prints the address, which includes a random token, and runs until "
             "Ctrl-C. Listens on 127.0.0.1 only and changes no run unless --control is given. Scripts get the same "
             "data as JSON (docs/serve.md)."};

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
