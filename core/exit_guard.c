/* Intercepts exit() by on_exit(3), _exit() by interposition, and pthread_exit() by a cleanup handler of the caller. The
 * handler of a fatal signal must not use a heap that may be damaged, so it wakes a thread that calls the guard, and
 * waits briefly for it. */
#include "core/exit_guard.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/error.h"

/* Sanitizers install their own functions and handlers. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static const int FATAL[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

static _Thread_local const char *code_name;

static struct {
  _Atomic(CoreExitGuard *) call;
  void *context;
  pid_t process;        /* process that set the guard */
  atomic_bool is_hearing; /* whether the signal thread runs */
  sem_t crashed, reported;
  const char *crashed_code; /* name of the crashed thread's code */
  atomic_int crash;     /* fatal signal; 0: none */
  atomic_int reporters; /* threads that have begun a report */
} guard;

/* Calls the guard; whether there was one. A second thread that ends, as all of a team may, waits for the first one,
 * which ends the process after its report. */
static bool report(const char *message) {
  static _Thread_local bool is_reporter;
  if (getpid() != guard.process) return false;
  if (!is_reporter && atomic_fetch_add(&guard.reporters, 1) > 0)
    for (;;) pause();
  is_reporter = true;

  CoreExitGuard *call = atomic_exchange(&guard.call, NULL);
  if (!call) return false;
  call(guard.context, message);
  return true;
}

static _Noreturn void end_process(int status) {
  for (;;) syscall(SYS_exit_group, status);
}

/* ---- exit() ------------------------------------------------------------------------------------------------------ */

static void on_program_exit(int status, void *unused) {
  char message[512];
  (void)unused;
  if (!code_name && !atomic_load(&guard.call)) return;
  if (getpid() != guard.process) return; /* forked process */
  snprintf(message, sizeof message, "%.300s called exit(%d)", code_name ? code_name : "a library", status);
  if (!report(message)) fprintf(stderr, "%s: %s\n", program_invocation_short_name, message);
  fflush(NULL);
  end_process(CORE_FAIL);
}

#if !IS_SANITIZED
/* Interposes glibc's _exit, also for loaded libraries. */
void _exit(int status) {
  if (code_name) on_program_exit(status, NULL);
  end_process(status);
}

void _Exit(int status) { _exit(status); }
#endif

/* ---- ends of threads --------------------------------------------------------------------------------------------- */

void core_exit_thread(void *unused) {
  char message[512];
  (void)unused;
  if (getpid() != guard.process) return;
  snprintf(message, sizeof message, "%.300s ended its thread (pthread_exit)", code_name ? code_name : "a library");
  if (!report(message)) fprintf(stderr, "%s: %s\n", program_invocation_short_name, message);
  fflush(NULL);
  end_process(CORE_FAIL);
}

static void begin(void) {
  guard.process = getpid();
  on_exit(on_program_exit, NULL);
}

static void begin_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, begin);
}

void core_exit_name(const char *code) {
  if (code && guard.process == 0) begin_once();
  code_name = code;
}

/* ---- fatal signals ----------------------------------------------------------------------------------------------- */

static void *tell_of_crash(void *unused) {
  char message[512];
  while (sem_wait(&guard.crashed) != 0) {}
  const int number = atomic_load(&guard.crash);
  snprintf(message, sizeof message, "signal %d (%s)%s%.300s", number, strsignal(number),
           guard.crashed_code ? " in " : "", guard.crashed_code ? guard.crashed_code : "");
  report(message);
  sem_post(&guard.reported);
  return unused;
}

/* Ends the process by the same signal on return, since the action has been reset to the default. */
static void on_fatal_signal(int number) {
  enum { PATIENCE_MS = 3000 };
  int none = 0;
  raise(number);
  if (!atomic_load(&guard.call) || getpid() != guard.process) return;
  if (!atomic_compare_exchange_strong(&guard.crash, &none, number)) return;
  guard.crashed_code = code_name;
  sem_post(&guard.crashed);
  for (int waited = 0; waited < PATIENCE_MS && sem_trywait(&guard.reported) != 0; waited += 10)
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static void hear_signals(void) {
  if (IS_SANITIZED) return; /* sanitizers report faults themselves */
  pthread_t thread;
  pthread_attr_t detached;
  if (atomic_exchange(&guard.is_hearing, true)) return;

  sem_init(&guard.crashed, 0, 0);
  sem_init(&guard.reported, 0, 0);
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  const bool has_thread = pthread_create(&thread, &detached, tell_of_crash, NULL) == 0;
  pthread_attr_destroy(&detached);
  if (!has_thread) return;

  for (size_t i = 0; i < sizeof FATAL / sizeof *FATAL; i++) {
    struct sigaction action = {.sa_handler = on_fatal_signal, .sa_flags = SA_ONSTACK | (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(FATAL[i], &action, NULL); /* also replaces MPI's handler */
  }
}

void core_exit_guard(CoreExitGuard *call, void *context) {
  begin_once();
  guard.context = context;
  atomic_store(&guard.call, call);
  if (call) hear_signals();
}
