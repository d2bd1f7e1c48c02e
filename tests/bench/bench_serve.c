/* Measures `sweep serve` with 10 000 runs and 50 clients: the latency of the page's requests, with all clients
 * requesting at once, and the server's processor time with and without clients. Prints CSV rows. `bench_serve make
 * FOLDER RUNS` writes the workspace and measures nothing, `bench_serve look FOLDER` measures with such a workspace. */
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis_workspace.h"
#include "bench/bench.h"
#include "core/json.h"

enum { RUNS = 10000, ITERATIONS = 40, CLIENTS = 50, ROUNDS = 3, LOOK_S = 20, POLL_S = 3, EPSILONS = 10 };

/* ---- the workspace ----------------------------------------------------------------------------------------------- */

static CoreConfig config_of(int run) {
  CoreConfig config = core_config_default();
  config.ppo.epsilon = 5 * (1 + run % EPSILONS) / 100.0; /* as the file has it, to the last bit */
  config.train.seed = run / EPSILONS;
  config.train.total_steps = (int64_t)ITERATIONS * WORKSPACE_NK;
  config.env.num = 128;
  config.ppo.num_steps = WORKSPACE_NK / 128;
  return config;
}

static int write_logs(const char *root, const CoreConfig *config, const char *id, int iterations) {
  const Workspace shape = {root, ITERATIONS, 4, 1};
  StoreRunlog *stats, *evaluations;
  TRY(store_runlog_open(root, id, 1, STORE_LOG_STATS, &stats));
  TRY(store_runlog_open(root, id, 1, STORE_LOG_EVAL, &evaluations));
  for (int i = 1; i <= iterations; i++) {
    const StoreIteration row = workspace_iteration(&shape, config, i);
    StoreEvaluation evaluation = {.iteration = i, .transitions = row.transitions, .solve_rate = row.solve_rate,
                                  .solve_rate_se = NAN, .episodes = 64, .level_set = "train"};
    store_runlog_iteration(stats, &row);
    if (i % 10 == 0) store_runlog_evaluation(evaluations, &evaluation);
  }
  TRY(store_runlog_close(&stats));
  return store_runlog_close(&evaluations);
}

/* Most have finished, some failed, some seem to run on another machine. */
static int write_run(const char *root, int run, FILE *manifest) {
  const CoreConfig config = config_of(run);
  char id[CORE_RUN_ID];
  TRY(store_run_prepare(root, &config, id));
  fprintf(manifest, "%d\t%s\n", run, id);
  const StoreStatus status = run % 20 == 7 ? STORE_FAILED : run % 20 == 8 ? STORE_RUNNING : STORE_FINISHED;
  const int iterations = status == STORE_FINISHED ? ITERATIONS : ITERATIONS / 2;
  TRY(write_logs(root, &config, id, iterations));
  StoreState state = {.status = status, .attempt = 1, .host = "elsewhere", .iteration = iterations,
                      .iterations = ITERATIONS, .transitions = (int64_t)iterations * WORKSPACE_NK,
                      .transitions_total = (int64_t)ITERATIONS * WORKSPACE_NK, .steps_per_second = 40000,
                      .solve_rate = 0.5, .episode_return = NAN, .train_seconds = 60};
  if (status == STORE_FAILED) snprintf(state.message, sizeof state.message, "out of memory at iteration %d", run);
  return store_run_state_write(root, id, &state);
}

static int write_workspace(const char *root, int runs) {
  char path[CORE_PATH_MAX];
  CoreText ini = {0};
  TRY(core_files_path(path, "%s/sweeps/large", root));
  TRY(core_files_make_directories(path));
  core_text_appendf(&ini, "[sweep]\nname = large\nseeds = %d\n[train]\ntotal_steps = %d\n[env]\nnum = 128\n[ppo]\n"
                    "num_steps = %d\n[grid all]\nppo.epsilon = ", (runs + EPSILONS - 1) / EPSILONS,
                    ITERATIONS * WORKSPACE_NK, WORKSPACE_NK / 128);
  for (int e = 1; e <= EPSILONS; e++) core_text_appendf(&ini, "%s%g", e > 1 ? ", " : "", 5 * e / 100.0);
  core_text_append(&ini, "\n");
  TRY(core_files_path(path, "%s/sweeps/large/sweep.ini", root));
  int code = core_files_write_atomic(path, ini.data, ini.length);
  core_text_free(&ini);
  TRY(code);
  TRY(core_files_path(path, "%s/sweeps/large/manifest.tsv", root));
  FILE *manifest = fopen(path, "w");
  if (!manifest) return core_error_errno(CORE_FAIL, "cannot write %s", path);
  fprintf(manifest, "# manifest 1 large\nindex\trun\n");
  for (int run = 0; run < runs && code == CORE_OK; run++) code = write_run(root, run, manifest);
  fclose(manifest);
  StoreImport result;
  return code == CORE_OK ? store_rebuild(root, &result) : code;
}

/* ---- the server -------------------------------------------------------------------------------------------------- */

typedef struct Server { pid_t process; int port; char token[80]; } Server;

static int start_server(const char *root, Server *server) {
  int ends[2];
  char text[2048];
  ssize_t got;
  size_t length = 0;
  if (pipe(ends) != 0) return core_error_errno(CORE_FAIL, "pipe");
  server->process = fork();
  if (server->process == 0) {
    dup2(ends[1], 1);
    close(ends[0]), close(ends[1]);
    execlp("sweep", "sweep", "serve", "--json", "--port", "0", "--root", root, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  while (length < sizeof text - 1 && !memchr(text, '}', length) &&
         (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0)
    length += (size_t)got;
  text[length] = '\0';
  json_t *said = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
  if (!said) return core_error(CORE_FAIL, "sweep serve does not say where it is: is build/bin in PATH?");
  server->port = (int)json_integer_value(json_object_get(said, "port"));
  snprintf(server->token, sizeof server->token, "%s", json_string_value(json_object_get(said, "token")));
  json_decref(said);
  return CORE_OK;
}

/* Ticks of all its threads so far, as seconds. */
static double processor_s(pid_t process) {
  char path[64], text[1024];
  unsigned long user = 0, system = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  if (fgets(text, sizeof text, file)) {
    const char *rest = strrchr(text, ')');
    sscanf(rest ? rest + 2 : "", "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
  }
  fclose(file);
  return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* ---- clients ----------------------------------------------------------------------------------------------------- */

enum { PATHS = 9, ETAG = 64 };
typedef struct Client {
  const Server *server;
  char etag[PATHS][ETAG];      /* entity tags of cached responses, as in a browser */
  double longest_s, until_s;
  size_t bytes;
  int failures;
} Client;

/* Sends one request over a connection of its own and reads the response to its end. */
static bool ask(Client *client, int which) {
  static const char *const paths[PATHS] = {"/",
                                           "/api/overview",
                                           "/api/runs?sweep=large&limit=50",
                                           "/api/columns?sweep=large",
                                           "/api/curves?sweep=large&column=score&x=transitions",
                                           "/api/curves?sweep=large&column=kl&x=transitions",
                                           "/api/curves?sweep=large&column=entropy&x=transitions",
                                           "/api/curves?sweep=large&column=explained_variance&x=transitions",
                                           "/api/scatter?sweep=large"};
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)client->server->port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  char request[2048], head[1024] = "", buffer[65536];
  size_t length = 0;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: "
           "Bearer %s\r\n%s%s%s\r\n", paths[which], client->server->token,
           client->etag[which][0] ? "If-None-Match: " : "", client->etag[which], client->etag[which][0] ? "\r\n" : "");
  bool good = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
              write(fd, request, strlen(request)) == (ssize_t)strlen(request);
  for (ssize_t got; good && (got = read(fd, buffer, sizeof buffer)) > 0; length += (size_t)got) {
    if (length < sizeof head - 1) {
      const size_t room = sizeof head - 1 - length, part = (size_t)got < room ? (size_t)got : room;
      memcpy(head + length, buffer, part);
      head[length + part] = '\0';
    }
  }
  close(fd);
  const char *etag = strcasestr(head, "\r\nETag: ");
  if (etag) snprintf(client->etag[which], ETAG, "%.*s", (int)strcspn(etag + 8, "\r"), etag + 8);
  client->bytes += length;
  return good && (strstr(head, " 200 ") || strstr(head, " 304 "));
}

/* The page, and what it asks for at a time. */
static void *look_once(void *given) {
  Client *client = given;
  const double start = bench_seconds();
  for (int i = 0; i < PATHS; i++) client->failures += !ask(client, i);
  client->longest_s = fmax(client->longest_s, bench_seconds() - start);
  return NULL;
}

static void *look_on(void *given) {
  Client *client = given;
  while (bench_seconds() < client->until_s) {
    look_once(client);
    usleep(POLL_S * 1000000);
  }
  return NULL;
}

static void all_clients(Client *client, void *(*what)(void *)) {
  pthread_t thread[CLIENTS];
  for (int i = 0; i < CLIENTS; i++) pthread_create(&thread[i], NULL, what, &client[i]);
  for (int i = 0; i < CLIENTS; i++) pthread_join(thread[i], NULL);
}

static void row(const char *what, const char *metric, double value, const char *unit) {
  bench_row("serve", what, metric, value, unit, CLIENTS);
}

static void measure(Server *server) {
  Client client[CLIENTS];
  double longest = 0, bytes = 0, first_s = 0, later_s = INFINITY;
  int failures = 0;
  for (int round = 0; round < ROUNDS; round++) {
    const double before = processor_s(server->process);
    for (int i = 0; i < CLIENTS; i++) client[i] = (Client){.server = server};
    all_clients(client, look_once);
    const double used_s = processor_s(server->process) - before;
    if (round == 0) first_s = used_s;
    else later_s = fmin(later_s, used_s);
    for (int i = 0; i < CLIENTS; i++) {
      longest = fmax(longest, client[i].longest_s);
      failures += client[i].failures;
      bytes = (double)client[i].bytes;
    }
    sleep(POLL_S); /* so that the next round's response is new */
  }
  row("page of 10000 runs, 50 clients at once", "longest", longest, "s");
  row("page of 10000 runs, 50 clients at once", "processor time of the first round", first_s, "s");
  row("page of 10000 runs, 50 clients at once", "processor time of a later round", later_s, "s");
  row("page of 10000 runs", "a client", bytes / 1024, "KiB");
  for (int i = 0; i < CLIENTS; i++) client[i].until_s = bench_seconds() + LOOK_S;
  double start = bench_seconds(), processor = processor_s(server->process);
  all_clients(client, look_on);
  row("50 clients look, nothing changes", "of a core", 100 * (processor_s(server->process) - processor) /
      (bench_seconds() - start), "%");
  for (int i = 0; i < CLIENTS; i++) failures += client[i].failures;
  sleep(25); /* until no client counts as active */
  start = bench_seconds(), processor = processor_s(server->process);
  sleep(LOOK_S);
  row("no clients", "of a core", 100 * (processor_s(server->process) - processor) / (bench_seconds() - start), "%");
  row("requests", "failed", failures, "");
}

int main(int argc, char **argv) {
  char root[CORE_PATH_MAX];
  Server server = {0};
  int code;
  if (argc == 4 && strcmp(argv[1], "make") == 0) {
    code = write_workspace(argv[2], atoi(argv[3]));
  } else {
    const bool made = argc != 3 || strcmp(argv[1], "look") != 0; /* look FOLDER: one that `make` has written */
    const bool has_memory = access("/dev/shm", W_OK) == 0; /* forty thousand small files take minutes on some disks */
    snprintf(root, sizeof root, "%s%s", !made ? argv[2] : has_memory ? "/dev/shm" : "/tmp",
             made ? "/bench-serve-XXXXXX" : "");
    code = made && !mkdtemp(root) ? core_error_errno(CORE_FAIL, "%s", root) : CORE_OK;
    if (code == CORE_OK && made) code = write_workspace(root, RUNS);
    if (code == CORE_OK) code = start_server(root, &server);
    if (code == CORE_OK) measure(&server);
    if (server.process > 0) kill(server.process, SIGTERM), waitpid(server.process, NULL, 0);
    if (made) core_files_remove_tree(root);
  }
  if (code != CORE_OK) fprintf(stderr, "bench_serve: %s\n", core_error_message());
  return code;
}
