/* The conversation: configurations are written a few ahead of the answers, both ends without blocking. */
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
#include "sweep/local/trainer.h"

enum { AHEAD = 16 /* configurations in the pipe */, ANSWER_MAX = 16384, TICK_MS = 200 };
static const double GREETING_S = 60, SHOWN_AFTER_S = 1, REMARKS_S = 30;
static const char greeting[] = "check-configs 1", remark[] = "remark\t";

typedef struct Talk {
  const SweepChecker *checker;
  size_t count, asked, answered;
  SweepVerdict *verdicts;
  pid_t child;
  int in, out;              /* our ends; -1: closed */
  CoreText question;        /* what is written next */
  size_t written;           /* of it */
  char answer[ANSWER_MAX];  /* a line that is not whole yet */
  size_t length;
  bool greeted;
  double began_s;
  CoreLive live;
} Talk;

/* ---- the process ------------------------------------------------------------------------------------------------ */

static _Noreturn void become(const SweepChecker *checker, const char *program, int in, int out, pid_t parent) {
  char elsewhere[] = "--elsewhere", command[] = "check-configs", root[] = "--root";
  char *arguments[] = {(char *)program, command, root, (char *)checker->root, checker->elsewhere ? elsewhere : NULL,
                       NULL};
  sigset_t none;
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* it writes nothing, so nothing is lost */
  if (getppid() != parent) _exit(127);
  dup2(in, 0), dup2(out, 1), dup2(null, 2);
  if (checker->folder && chdir(checker->folder) != 0) _exit(126);
  execvp(program, arguments);
  _exit(127);
}

static int start(Talk *talk) {
  char program[CORE_PATH_MAX];
  int in[2], out[2];
  TRY(sweep_trainer_program(program));
  if (strchr(program, '/') && access(program, X_OK) != 0)
    return core_error_errno(CORE_FAIL, "%s cannot be started", program);
  /* No pipe: what is sent to a process that is gone must not end this one (MSG_NOSIGNAL). */
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0)
    return core_error_errno(CORE_FAIL, "cannot make a pipe");
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]), close(in[1]);
    return core_error_errno(CORE_FAIL, "cannot make a pipe");
  }
  fflush(NULL);
  const pid_t parent = getpid();
  talk->child = fork();
  if (talk->child == 0) become(talk->checker, program, in[0], out[1], parent);
  close(in[0]), close(out[1]);
  talk->in = in[1], talk->out = out[0];
  if (talk->child > 0) {
    fcntl(talk->in, F_SETFL, O_NONBLOCK);
    fcntl(talk->out, F_SETFL, O_NONBLOCK);
    return CORE_OK;
  }
  close(talk->in), close(talk->out);
  return core_error_errno(CORE_FAIL, "cannot start a process");
}

static void close_end(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* Its end, killed when it has answered enough; the exit status. */
static int finish(Talk *talk, bool kill_it) {
  int status = 0;
  close_end(&talk->in), close_end(&talk->out);
  if (kill_it) kill(talk->child, SIGKILL);
  while (waitpid(talk->child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

/* ---- questions -------------------------------------------------------------------------------------------------- */

static void append_place(const SweepCheckPlace *place, CoreText *text) {
  if (place->ranks > 1) core_text_appendf(text, "@ranks=%lld\n", (long long)place->ranks);
  if (place->has_gpus) core_text_append(text, "@gpus=yes\n");
}

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

static void ask(Talk *talk) {
  if (talk->written == talk->question.length && talk->asked < talk->count && talk->asked < talk->answered + AHEAD) {
    CoreConfig config;
    core_text_clear(&talk->question);
    if (talk->checker->place) {
      const SweepCheckPlace place = talk->checker->place(talk->checker->context, talk->asked);
      append_place(&place, &talk->question);
    }
    talk->checker->config(talk->checker->context, talk->asked++, &config);
    talk->written = 0;
    append_question(&config, &talk->question);
  }
  if (talk->written == talk->question.length) return;
  const ssize_t put = send(talk->in, talk->question.data + talk->written, talk->question.length - talk->written,
                           MSG_NOSIGNAL);
  if (put > 0) talk->written += (size_t)put;
  else if (put < 0 && errno != EAGAIN && errno != EINTR) close_end(&talk->in); /* it is gone: its output says so too */
}

/* ---- answers ---------------------------------------------------------------------------------------------------- */

/* "ok <tab> bytes <tab> bytes here <tab> device bytes", "memory <tab> ... <tab> why", "bad <tab> why" */
static bool read_verdict(char *line, SweepVerdict *verdict) {
  char *rest = line;
  const char *word = strsep(&rest, "\t");
  *verdict = (SweepVerdict){.answer = strcmp(word, "ok") == 0       ? SWEEP_STARTS
                                      : strcmp(word, "memory") == 0 ? SWEEP_TOO_LARGE
                                      : strcmp(word, "bad") == 0    ? SWEEP_REFUSED
                                                                    : SWEEP_UNANSWERED};
  if (verdict->answer == SWEEP_UNANSWERED || !rest) return false;
  if (verdict->answer != SWEEP_REFUSED) {
    const char *bytes = strsep(&rest, "\t"), *here = rest ? strsep(&rest, "\t") : "";
    const char *device = rest ? strsep(&rest, "\t") : "";
    if (!core_text_to_real(bytes, &verdict->bytes) || !core_text_to_real(here, &verdict->bytes_here) ||
        !core_text_to_real(device, &verdict->device_bytes))
      return false;
  }
  if (verdict->answer != SWEEP_STARTS) verdict->message = core_text_duplicate(rest ? rest : "");
  return true;
}

static bool take_line(Talk *talk, char *line) {
  if (!talk->greeted) {
    talk->greeted = strcmp(line, greeting) == 0;
    return talk->greeted;
  }
  if (strncmp(line, remark, sizeof remark - 1) == 0) {
    if (talk->checker->remarks) core_text_appendf(talk->checker->remarks, "%s\n", line + sizeof remark - 1);
    return true;
  }
  return talk->answered < talk->asked && read_verdict(line, &talk->verdicts[talk->answered]) && ++talk->answered;
}

/* false: that is no checker. */
static bool take_lines(Talk *talk) {
  const ssize_t got = read(talk->out, talk->answer + talk->length, sizeof talk->answer - talk->length);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) {
    close_end(&talk->out);
    return true;
  }
  talk->length += (size_t)got;
  char *line = talk->answer, *end;
  while ((end = memchr(line, '\n', talk->length - (size_t)(line - talk->answer)))) {
    *end = '\0';
    if (!take_line(talk, line)) return false;
    line = end + 1;
  }
  talk->length -= (size_t)(line - talk->answer);
  memmove(talk->answer, line, talk->length);
  return talk->length < sizeof talk->answer;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static void show(Talk *talk, bool final) {
  char text[128] = "";
  if (!core_terminal_is_tty(stderr) || core_clock_s() - talk->began_s < SHOWN_AFTER_S) return;
  if (!final) snprintf(text, sizeof text, "checking configurations: %zu of %zu\n", talk->answered, talk->count);
  core_live_draw(&talk->live, text, final);
}

static bool is_late(const Talk *talk) {
  const double gone_s = core_clock_s() - talk->began_s;
  return (!talk->greeted && gone_s > GREETING_S) || (talk->checker->seconds > 0 && gone_s > talk->checker->seconds);
}

/* Until all is answered; false: it says something else. */
static bool converse(Talk *talk) {
  while (talk->answered < talk->count && talk->out >= 0 && !is_late(talk)) {
    const bool has_more = talk->written < talk->question.length ||
                          (talk->asked < talk->count && talk->asked < talk->answered + AHEAD);
    struct pollfd ends[2] = {{talk->out, POLLIN, 0}, {talk->greeted && has_more ? talk->in : -1, POLLOUT, 0}};
    if (poll(ends, 2, TICK_MS) > 0) {
      if (ends[1].revents && talk->in >= 0) ask(talk);
      if (ends[0].revents && !take_lines(talk)) return false;
    }
    show(talk, false);
  }
  return true;
}

/* Reads what the trainer says of environments at the end of its input; without it nothing is missing. */
static void hear_remarks(Talk *talk) {
  const double began_s = core_clock_s();
  close_end(&talk->in);
  while (talk->out >= 0 && !is_late(talk) && core_clock_s() - began_s < REMARKS_S) {
    struct pollfd end = {talk->out, POLLIN, 0};
    if (poll(&end, 1, TICK_MS) > 0 && !take_lines(talk)) return;
  }
}

static void explain(const Talk *talk, bool understood, int status, char problem[512]) {
  char program[CORE_PATH_MAX] = "the trainer";
  sweep_trainer_program(program);
  if (talk->checker->folder && WIFEXITED(status) && WEXITSTATUS(status) == 126)
    snprintf(problem, 512, "%.200s cannot be entered", talk->checker->folder);
  else if (!talk->greeted || !understood)
    snprintf(problem, 512, "%.300s does not answer as a trainer of this version does", program);
  else if (WIFSIGNALED(status)) snprintf(problem, 512, "%.300s was killed by signal %d", program, WTERMSIG(status));
  else snprintf(problem, 512, "%.300s ended with exit code %d", program, WEXITSTATUS(status));
}

void sweep_checker_run(const SweepChecker *checker, size_t count, SweepVerdict *verdicts, size_t *answered,
                       char problem[512]) {
  Talk talk = {.checker = checker, .count = count, .verdicts = verdicts, .in = -1, .out = -1,
               .began_s = core_clock_s(), .live = {.stream = stderr}};
  problem[0] = '\0', *answered = 0;
  if (count == 0) return;
  if (start(&talk) != CORE_OK) {
    snprintf(problem, 512, "%s", core_error_message());
    core_error_clear();
    return;
  }
  const bool understood = converse(&talk), late = is_late(&talk);
  show(&talk, true);
  if (understood && talk.answered == count && checker->remarks) hear_remarks(&talk);
  const bool ended = talk.out < 0;
  const int status = finish(&talk, !ended);
  *answered = talk.answered;
  if (talk.answered < count && !(late && talk.greeted && understood)) explain(&talk, understood, status, problem);
  core_text_free(&talk.question);
}
