/* Exchanges questions and answers with the trainer: configurations are written a few ahead of the answers, and neither
 * end blocks. */
#include "sweep/plan/checker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/terminal.h"
#include "sweep/supervise/trainer.h"

enum { AHEAD = 16 /* configurations in the pipe */, ANSWER_MAX = 16384, TICK_MS = 200 };
static const double GREETING_S = 60, SHOWN_AFTER_S = 1, WARNINGS_S = 30;
static const char greeting[] = "check-configs 1", warning[] = "remark\t";

typedef struct Exchange {
  const SweepChecker *checker;
  size_t count, sent, answered;
  SweepCheckResult *results;
  pid_t child;
  int in, out;             /* our ends of its pipes; -1: closed */
  CoreText question;       /* configuration that is being written */
  size_t written;          /* bytes of it */
  char answer[ANSWER_MAX]; /* incomplete line */
  size_t length;
  bool is_greeted;
  double started_s;
  CoreLive live;
} Exchange;

/* ---- the process ------------------------------------------------------------------------------------------------ */

static _Noreturn void exec_trainer(const SweepChecker *checker, const char *program, int in, int out, pid_t parent) {
  char is_remote[] = "--elsewhere", command[] = "check-configs", root[] = "--root";
  char none_yet[] = "/"; /* for a workspace that does not exist yet, which has no parents of runs */
  char *workspace = core_files_exists(checker->root) ? (char *)checker->root : none_yet;
  char *arguments[] = {(char *)program, command, root, workspace, checker->is_remote ? is_remote : NULL, NULL};
  sigset_t none;
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* it writes no files, so nothing is lost */
  if (getppid() != parent) _exit(127);

  dup2(in, 0);
  dup2(out, 1);
  dup2(null, 2);
  if (checker->directory && chdir(checker->directory) != 0) _exit(126);
  setenv("OMP_WAIT_POLICY", "passive", 0); /* its loops are short: waiting threads used five sixths of the CPU time */
  execvp(program, arguments);
  _exit(127);
}

static int start(Exchange *exchange) {
  char program[CORE_PATH_MAX];
  int in[2], out[2];
  TRY(sweep_trainer_program(program));
  if (strchr(program, '/') && access(program, X_OK) != 0)
    return core_error_errno(CORE_FAIL, "cannot start %s", program);

  /* A socket instead of a pipe, for MSG_NOSIGNAL: writing to a process that has ended must not raise SIGPIPE. */
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0)
    return core_error_errno(CORE_FAIL, "cannot make a pipe");
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    return core_error_errno(CORE_FAIL, "cannot make a pipe");
  }

  fflush(NULL);
  const pid_t parent = getpid();
  exchange->child = fork();
  if (exchange->child == 0) exec_trainer(exchange->checker, program, in[0], out[1], parent);

  close(in[0]);
  close(out[1]);
  exchange->in = in[1];
  exchange->out = out[0];

  if (exchange->child > 0) {
    fcntl(exchange->in, F_SETFL, O_NONBLOCK);
    fcntl(exchange->out, F_SETFL, O_NONBLOCK);
    return CORE_OK;
  }
  close(exchange->in);
  close(exchange->out);
  return core_error_errno(CORE_FAIL, "cannot start a process");
}

static void close_end(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* Closes the pipes and waits for the process, killing it first if kill_it. Returns its wait status. */
static int finish(Exchange *exchange, bool kill_it) {
  int status = 0;
  close_end(&exchange->in);
  close_end(&exchange->out);
  if (kill_it) kill(exchange->child, SIGKILL);
  while (waitpid(exchange->child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

/* ---- questions -------------------------------------------------------------------------------------------------- */

static void append_question(const CoreConfig *config, CoreText *text) {
  const CoreConfig fresh = core_config_default();
  CoreText value = {0};
  size_t count;
  const CoreConfigRow *row = core_config_rows(&count);
  for (const CoreConfigRow *end = row + count; row < end; row++)
    if (!core_config_value_equals(config, &fresh, row))
      core_text_appendf(text, "%s=%s\n", row->name, core_config_get(config, row, &value));
  core_text_append(text, "\n");
  core_text_free(&value);
}

static void send_question(Exchange *exchange) {
  if (exchange->written == exchange->question.length && exchange->sent < exchange->count &&
      exchange->sent < exchange->answered + AHEAD) {
    CoreConfig config;
    core_text_clear(&exchange->question);
    if (exchange->checker->machine) {
      const SweepCheckMachine machine = exchange->checker->machine(exchange->checker->context, exchange->sent);
      if (machine.ranks > 1) core_text_appendf(&exchange->question, "@ranks=%lld\n", (long long)machine.ranks);
      if (machine.has_gpus) core_text_append(&exchange->question, "@gpus=yes\n");
    }
    exchange->checker->config(exchange->checker->context, exchange->sent++, &config);
    exchange->written = 0;
    append_question(&config, &exchange->question);
  }

  if (exchange->written == exchange->question.length) return;
  const ssize_t put = send(exchange->in, exchange->question.data + exchange->written,
                           exchange->question.length - exchange->written, MSG_NOSIGNAL);
  if (put > 0) exchange->written += (size_t)put;
  else if (put < 0 && errno != EAGAIN && errno != EINTR)
    close_end(&exchange->in); /* it has ended: reading notices it too */
}

/* ---- answers ---------------------------------------------------------------------------------------------------- */

/* Parses "ok <tab> bytes <tab> bytes here <tab> device bytes", "memory <tab> ... <tab> why", "bad <tab> why". */
static bool read_result(char *line, SweepCheckResult *result) {
  char *tail = line;
  const char *word = strsep(&tail, "\t");
  *result = (SweepCheckResult){.answer = strcmp(word, "ok") == 0       ? SWEEP_CHECK_OK
                                         : strcmp(word, "memory") == 0 ? SWEEP_CHECK_TOO_LARGE
                                         : strcmp(word, "bad") == 0    ? SWEEP_CHECK_REFUSED
                                                                       : SWEEP_CHECK_PENDING};

  if (result->answer == SWEEP_CHECK_PENDING || !tail) return false;
  if (result->answer != SWEEP_CHECK_REFUSED) {
    const char *bytes = strsep(&tail, "\t"), *here = tail ? strsep(&tail, "\t") : "";
    const char *device = tail ? strsep(&tail, "\t") : "";
    if (!core_text_to_real(bytes, &result->bytes) || !core_text_to_real(here, &result->bytes_here) ||
        !core_text_to_real(device, &result->device_bytes))
      return false;
  }

  if (result->answer != SWEEP_CHECK_OK) result->message = core_text_duplicate(tail ? tail : "");
  return true;
}

static bool read_line(Exchange *exchange, char *line) {
  if (!exchange->is_greeted) {
    exchange->is_greeted = strcmp(line, greeting) == 0;
    return exchange->is_greeted;
  }
  if (strncmp(line, warning, sizeof warning - 1) == 0) {
    if (exchange->checker->warnings) core_text_appendf(exchange->checker->warnings, "%s\n", line + sizeof warning - 1);
    return true;
  }
  return exchange->answered < exchange->sent && read_result(line, &exchange->results[exchange->answered]) &&
         ++exchange->answered;
}

/* Returns false if the program does not follow the protocol. */
static bool read_lines(Exchange *exchange) {
  const ssize_t got =
      read(exchange->out, exchange->answer + exchange->length, sizeof exchange->answer - exchange->length);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) {
    close_end(&exchange->out);
    return true;
  }

  exchange->length += (size_t)got;
  char *line = exchange->answer, *end;
  while ((end = memchr(line, '\n', exchange->length - (size_t)(line - exchange->answer)))) {
    *end = '\0';
    if (!read_line(exchange, line)) return false;
    line = end + 1;
  }

  exchange->length -= (size_t)(line - exchange->answer);
  memmove(exchange->answer, line, exchange->length);
  return exchange->length < sizeof exchange->answer;
}

/* ---- run -------------------------------------------------------------------------------------------------------- */

static void draw_progress(Exchange *exchange, bool final) {
  char text[128] = "";
  if (!core_terminal_is_tty(stderr) || core_clock_s() - exchange->started_s < SHOWN_AFTER_S) return;
  if (!final) snprintf(text, sizeof text, "checking configurations: %zu of %zu\n", exchange->answered, exchange->count);
  core_live_draw(&exchange->live, text, final);
}

static bool is_late(const Exchange *exchange) {
  const double elapsed_s = core_clock_s() - exchange->started_s;
  return (!exchange->is_greeted && elapsed_s > GREETING_S) ||
         (exchange->checker->seconds > 0 && elapsed_s > exchange->checker->seconds);
}

/* Exchanges until all configurations are answered. Returns false if the program does not follow the protocol. */
static bool exchange_all(Exchange *exchange) {
  while (exchange->answered < exchange->count && exchange->out >= 0 && !is_late(exchange)) {
    const bool has_more = exchange->written < exchange->question.length ||
                          (exchange->sent < exchange->count && exchange->sent < exchange->answered + AHEAD);
    struct pollfd ends[2] = {{exchange->out, POLLIN, 0},
                             {exchange->is_greeted && has_more ? exchange->in : -1, POLLOUT, 0}};
    if (poll(ends, 2, TICK_MS) > 0) {
      if (ends[1].revents && exchange->in >= 0) send_question(exchange);
      if (ends[0].revents && !read_lines(exchange)) return false;
    }
    draw_progress(exchange, false);
  }
  return true;
}

/* Reads the warnings about environments that the trainer prints at the end of its input. They are optional. */
static void read_warnings(Exchange *exchange) {
  const double started_s = core_clock_s();
  close_end(&exchange->in);
  while (exchange->out >= 0 && !is_late(exchange) && core_clock_s() - started_s < WARNINGS_S) {
    struct pollfd end = {exchange->out, POLLIN, 0};
    if (poll(&end, 1, TICK_MS) > 0 && !read_lines(exchange)) return;
  }
}

static void describe_failure(const Exchange *exchange, bool is_valid, int status, char problem[512]) {
  char program[CORE_PATH_MAX] = "the trainer";
  sweep_trainer_program(program);
  if (exchange->checker->directory && WIFEXITED(status) && WEXITSTATUS(status) == 126)
    snprintf(problem, 512, "cannot enter %.200s", exchange->checker->directory);
  else if (!exchange->is_greeted || !is_valid)
    snprintf(problem, 512, "%.300s does not answer like a trainer of this version", program);
  else if (WIFSIGNALED(status)) snprintf(problem, 512, "%.300s was killed by signal %d", program, WTERMSIG(status));
  else snprintf(problem, 512, "%.300s ended with exit code %d", program, WEXITSTATUS(status));
}

void sweep_checker_run(const SweepChecker *checker, size_t count, SweepCheckResult *results, size_t *answered,
                       char problem[512]) {
  Exchange exchange = {.checker = checker,
                       .count = count,
                       .results = results,
                       .in = -1,
                       .out = -1,
                       .started_s = core_clock_s(),
                       .live = {.stream = stderr}};

  problem[0] = '\0';
  *answered = 0;
  if (count == 0) return;
  if (start(&exchange) != CORE_OK) {
    snprintf(problem, 512, "%s", core_error_message());
    core_error_clear();
    return;
  }

  const bool is_valid = exchange_all(&exchange), has_timed_out = is_late(&exchange);
  draw_progress(&exchange, true);
  if (is_valid && exchange.answered == count && checker->warnings) read_warnings(&exchange);
  const bool has_ended = exchange.out < 0;
  const int status = finish(&exchange, !has_ended);

  *answered = exchange.answered;
  if (exchange.answered < count && !(has_timed_out && exchange.is_greeted && is_valid))
    describe_failure(&exchange, is_valid, status, problem);
  core_text_free(&exchange.question);
}
