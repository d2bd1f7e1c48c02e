/* core/signals: thousands of signals while ops multiplies, with handlers that know no alternate stack, as those
 * of other libraries do not, and no number is wrong. Without the rules of core/signals.h this program crashes within a
 * second on a processor with AVX-512 (oneDNN 2.6). Stops of whole trainings: tests/fault/test_stops.sh. */
#include "test.h"

#include "tests/unit/ops_tools.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "core/signals.h"

enum { ROWS = 512, WIDE = 223, SIGNALS_MIN = 3000, THREADS = 2 };
static const int widths[][2] = {{WIDE, 64}, {64, 64}, {64, 10}, {64, 1}, {64, 128}, {65, 33}};

static atomic_int handled;
static atomic_bool off_stack; /* a handler ran elsewhere than on its thread's alternate stack */

/* A handler as other libraries install it. */
static void count(int number) {
  stack_t stack;
  char here;
  sigaltstack(NULL, &stack);
  const char *low = stack.ss_sp;
  if (number == SIGCONT && !(stack.ss_flags & SS_ONSTACK && &here >= low && &here < low + stack.ss_size))
    off_stack = true;
  handled++;
}

static void install(int number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

typedef struct Layer { int in, out; float *x, *w, *b, *y, *dy, *dx, *dw, *db; } Layer;

static Layer make_layer(int in, int out) {
  const size_t i = (size_t)in, o = (size_t)out;
  return (Layer){in, out, normals(1, ROWS * i, 1), normals(2, i * o, 0.1), normals(3, o, 1), normals(4, ROWS * o, 1),
                 normals(5, ROWS * o, 1), normals(6, ROWS * i, 1), normals(7, i * o, 1), normals(8, o, 1)};
}

static void free_layer(Layer *l) {
  free(l->x), free(l->w), free(l->b), free(l->y), free(l->dy), free(l->dx), free(l->dw), free(l->db);
}

static void multiply(Ops *ops, const Layer *l) {
  ops->dense_forward(ops, l->x, l->w, l->b, l->y, ROWS, l->in, l->out, OPS_LINEAR);
  ops->dense_backward(ops, l->x, l->w, l->b, l->y, l->dy, l->dx, l->dw, l->db, ROWS, l->in, l->out, OPS_LINEAR);
}

static bool is_same(const Layer *a, const Layer *b) {
  const size_t i = (size_t)a->in, o = (size_t)a->out, f = sizeof(float);
  return memcmp(a->y, b->y, ROWS * o * f) == 0 && memcmp(a->dx, b->dx, ROWS * i * f) == 0 &&
         memcmp(a->dw, b->dw, i * o * f) == 0;
}

/* Sends SIGCONT, which no thread blocks, to the computing thread until it is stopped. */
typedef struct Sender { pthread_t target; atomic_bool ending; } Sender;

static void *send(void *given) {
  Sender *sender = given;
  while (!sender->ending) {
    pthread_kill(sender->target, SIGCONT);
    usleep(200);
  }
  return NULL;
}

static void no_signal_makes_a_number_wrong(void **state) {
  Ops *ops = make_ops(THREADS);
  Layer want[sizeof widths / sizeof *widths];
  const size_t shapes = sizeof widths / sizeof *widths;
  Sender sender = {.target = pthread_self()};
  pthread_t thread;

  for (size_t s = 0; s < shapes; s++) {
    want[s] = make_layer(widths[s][0], widths[s][1]);
    multiply(ops, &want[s]);
  }

  install(SIGALRM, count); /* to the process: blocked where it could hurt */
  install(SIGCONT, count); /* to this thread: on its alternate stack */
  core_signals_guard();
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 300}, {0, 300}}, NULL);
  assert_int_equal(pthread_create(&thread, NULL, send, &sender), 0);

  int wrong = 0;
  while (handled < SIGNALS_MIN) {
    for (size_t s = 0; s < shapes; s++) {
      Layer got = make_layer(widths[s][0], widths[s][1]); /* again, so that the heap is in use */
      multiply(ops, &got);
      wrong += !is_same(&want[s], &got);
      free_layer(&got);
    }
  }

  sender.ending = true;
  pthread_join(thread, NULL);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
  assert_int_equal(wrong, 0);
  assert_false(off_stack);
  for (size_t s = 0; s < shapes; s++) free_layer(&want[s]);
  ops->destroy(ops);
}

static void every_thread_blocks_signals_and_has_an_alternate_stack(void **state) {
  char thread[96];
  atomic_int without = 0;
#pragma omp parallel num_threads(5)
  {
    stack_t stack;
    sigset_t blocked;
    sigaltstack(NULL, &stack);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (stack.ss_flags & SS_DISABLE || !sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGPROF)) without++;
  }
  assert_int_equal(without, 0);
  core_signals_check(thread, sizeof thread);
  assert_string_equal(thread, "");
}

static void *open_up(void *given) {
  sigset_t term;
  atomic_int *phase = given;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &term, NULL);
  *phase = 1;
  while (*phase != 2) usleep(1000);
  return NULL;
}

static void a_thread_that_takes_stops_is_found(void **state) {
  char name[96];
  pthread_t thread;
  atomic_int phase = 0;
  assert_int_equal(pthread_create(&thread, NULL, open_up, &phase), 0);
  while (phase != 1) usleep(1000);
  core_signals_check(name, sizeof name);
  assert_non_null(strstr(name, "thread "));
  phase = 2;
  pthread_join(thread, NULL);
}

/* Starts a child that begins as a program does and reports on a pipe when it is ready. */
static int end_of_child(bool expecting, const int *numbers, size_t count_of) {
  int ready[2], status;
  assert_int_equal(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (core_signals_begin() != CORE_OK) _exit(99);
    if (expecting) core_signals_expect_stop();
    (void)!write(ready[1], "", 1);
    int seen = 0;
    while (seen != SIGUSR2) { /* SIGUSR2 comes last where nothing ends it before */
      const int now = core_signals_stop();
      if (now != seen) (void)!write(ready[1], "", 1);
      seen = now;
      usleep(1000);
    }
    _exit(75);
  }
  char byte;
  for (size_t i = 0; i < count_of; i++) { /* each when the one before was seen */
    assert_int_equal(read(ready[0], &byte, 1), 1);
    kill(child, numbers[i]);
  }
  waitpid(child, &status, 0);
  close(ready[0]), close(ready[1]);
  return status;
}

static void a_signal_ends_a_program_that_expects_no_stop(void **state) {
  static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGALRM};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    const int status = end_of_child(false, &numbers[i], 1);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), numbers[i]);
  }
}

static void stops_are_told_and_a_second_interrupt_ends_at_once(void **state) {
  static const int kept[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2}, twice[] = {SIGINT, SIGINT};
  int status = end_of_child(true, kept, 4);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 75);
  status = end_of_child(true, twice, 2);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGINT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_signal_ends_a_program_that_expects_no_stop),
    cmocka_unit_test(stops_are_told_and_a_second_interrupt_ends_at_once),
    cmocka_unit_test(every_thread_blocks_signals_and_has_an_alternate_stack),
    cmocka_unit_test(a_thread_that_takes_stops_is_found),
    cmocka_unit_test(no_signal_makes_a_number_wrong),
  };
  if (core_signals_begin() != CORE_OK) return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
