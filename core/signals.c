/* Signal handling (signals.h): the waiting thread, alternate stacks, and a pthread_create that precedes glibc's,
 * through which threads of OpenMP, MPI, CUDA and BLAS libraries get a blocked mask and an alternate stack. */
#include "core/signals.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"

/* Sanitizers interpose pthread_create themselves and must come first. Threads still inherit the mask there. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

enum { HANDLER_BYTES = 64 << 10, SIGNALS = 64 };

static const int stops[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2};
static atomic_int stop_signal;
static atomic_bool stop_is_expected;
static atomic_int waiting_thread; /* thread id; 0: none */

/* ---- signal sets ------------------------------------------------------------------------------------------------ */

/* Fills the set of external signals: all except synchronous ones (faults, aborts, closed pipes) and job control. */
static void fill_blocked(sigset_t *set) {
  static const int kept[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP, SIGSYS, SIGABRT,
                             SIGPIPE, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGKILL};
  sigfillset(set);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) sigdelset(set, kept[i]);
}

static bool is_stop(int number) {
  for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
    if (stops[i] == number) return true;
  return false;
}

/* ---- alternate stacks ------------------------------------------------------------------------------------------- */

/* Returns the size of an alternate stack: a frame with all registers of this processor (8 KB for AMX, which the kernel
 * refuses to a process with smaller alternate stacks) and a handler, above a guard page. */
static size_t stack_bytes(void) {
  const long frame = sysconf(_SC_MINSIGSTKSZ);
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return ((frame > 0 ? (size_t)frame : 16 << 10) + HANDLER_BYTES + page - 1) / page * page;
}

/* Installs an alternate stack for this thread unless it has one. Returns NULL if memory is exhausted. */
static void *take_stack(void) {
  const size_t bytes = stack_bytes(), page = (size_t)sysconf(_SC_PAGESIZE);
  stack_t present;
  if (sigaltstack(NULL, &present) == 0 && !(present.ss_flags & SS_DISABLE) && present.ss_size >= bytes) return NULL;
  char *memory =
    mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  mprotect(memory, page, PROT_NONE);
  const stack_t stack = {.ss_sp = memory + page, .ss_size = bytes};
  if (sigaltstack(&stack, NULL) == 0) return memory;
  munmap(memory, bytes + page);
  return NULL;
}

static void give_stack_back(void *memory) {
  const stack_t none = {.ss_flags = SS_DISABLE};
  if (!memory) return;
  sigaltstack(&none, NULL);
  munmap(memory, stack_bytes() + (size_t)sysconf(_SC_PAGESIZE));
}

/* The kernel's struct sigaction, since glibc's sigaction hides the two signals that it uses itself. */
typedef struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)(void);
  uint64_t mask;
} KernelAction;

void core_signals_guard(void) {
  for (int number = 1; number <= SIGNALS; number++) {
    KernelAction action;
    if (syscall(SYS_rt_sigaction, number, NULL, &action, sizeof action.mask) != 0) continue;
    if (action.handler == SIG_DFL || action.handler == SIG_IGN || action.flags & SA_ONSTACK) continue;
    action.flags |= SA_ONSTACK;
    syscall(SYS_rt_sigaction, number, &action, NULL, sizeof action.mask);
  }
}

/* ---- thread creation -------------------------------------------------------------------------------------------- */

#if !IS_SANITIZED

typedef struct Birth { void *(*start)(void *); void *argument; } Birth;
typedef int Create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static void *live(void *given) {
  const Birth birth = *(Birth *)given;
  void *result, *stack = take_stack();
  free(given);
  pthread_cleanup_push(give_stack_back, stack); /* also on pthread_exit and cancellation */
  result = birth.start(birth.argument);
  pthread_cleanup_pop(1);
  return result;
}

/* Interposes pthread_create so that every thread starts with signals blocked and an alternate stack. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
  static Create *_Atomic next;
  sigset_t blocked, before;
  if (!next) next = (Create *)dlsym(RTLD_NEXT, "pthread_create");
  Birth *birth = malloc(sizeof *birth);
  if (!birth) return EAGAIN;
  *birth = (Birth){start, argument};
  fill_blocked(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const int failure = next(thread, attributes, live, birth);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failure) free(birth);
  return failure;
}

#endif

/* ---- waiting thread --------------------------------------------------------------------------------------------- */

/* Handler for a stop signal that a library's thread accepts: it must not end the program. */
static void on_stray_stop(int number) { stop_signal = number; }

/* Gives a signal its usual effect. */
static void suffer(int number) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  pthread_sigmask(SIG_UNBLOCK, &one, NULL);
  raise(number);
  pthread_sigmask(SIG_BLOCK, &one, NULL);
}

static void *wait_for_signals(void *unused) {
  sigset_t all;
  (void)unused;
  fill_blocked(&all);
  waiting_thread = (int)syscall(SYS_gettid);

  for (;;) {
    const int number = sigwaitinfo(&all, NULL);
    if (number < 0) continue; /* interrupted */
    if (!stop_is_expected || !is_stop(number)) {
      suffer(number);
    } else if (number == SIGINT && stop_signal == SIGINT) { /* second Ctrl-C */
      signal(SIGINT, SIG_DFL);
      suffer(number);
    } else {
      stop_signal = number;
    }
  }
  return NULL;
}

int core_signals_begin(void) {
  sigset_t blocked;
  pthread_t thread;
  pthread_attr_t detached;
  fill_blocked(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, NULL);
  take_stack(); /* for the main thread, until exit */
  core_signals_guard();
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  const int failure = pthread_create(&thread, &detached, wait_for_signals, NULL);
  pthread_attr_destroy(&detached);
  if (failure == 0) return CORE_OK;
  errno = failure;
  return core_error_errno(CORE_FAIL, "the thread that waits for signals cannot be started");
}

void core_signals_expect_stop(void) {
  stop_is_expected = true; /* before any handler: an observer of one may send the next signal */
  for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
    struct sigaction action = {.sa_handler = on_stray_stop, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(stops[i], &action, NULL);
  }
}

int core_signals_stop(void) { return stop_signal; }

/* ---- check ------------------------------------------------------------------------------------------------------- */

/* Whether this thread accepts any stop signal. */
static bool is_open(const char *task, char *name, size_t capacity) {
  char path[CORE_PATH_MAX], *text;
  size_t size;
  unsigned long long blocked = 0;
  if (core_files_path(path, "/proc/self/task/%s/status", task) != CORE_OK) return false;
  if (core_files_read(path, 65536, &text, &size) != CORE_OK) return false; /* the thread has ended */
  const char *mask = strstr(text, "SigBlk:"), *line = strstr(text, "Name:");
  const bool known = mask && sscanf(mask, "SigBlk: %llx", &blocked) == 1;
  snprintf(name, capacity, "thread %s (%.*s)", task, line ? (int)strcspn(line + 6, "\n") : 1, line ? line + 6 : "?");
  free(text);
  if (!known) return false;
  for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
    if (!(blocked >> (stops[i] - 1) & 1)) return true;
  return false;
}

void core_signals_check(char *text, size_t capacity) {
  char name[64];
  struct dirent *task;
  DIR *tasks = opendir("/proc/self/task");
  *text = '\0';
  while (tasks && !*text && (task = readdir(tasks)))
    if (task->d_name[0] != '.' && atoi(task->d_name) != waiting_thread && is_open(task->d_name, name, sizeof name))
      snprintf(text, capacity, "%s", name);
  if (tasks) closedir(tasks);
}
