/* core/process.c, which runs Slurm's commands and notifiers: output is read, input is written, and every program
 * ends in time, even if it misbehaves. */
#include "test.h"

#include <signal.h>

#include "core/terminal.h"
#include "slurm/command_internal.h"

enum { LONG_S = 600 };

static void run(const char *script, const char *input, int timeout_s, CoreProcessOutput *output) {
  const char *const arguments[] = {"sh", "-c", script, NULL};
  assert_int_equal(slurm_process_run(arguments, input, timeout_s, output), CORE_OK);
}

static void it_is_fed_and_heard(void **state) {
  (void)state;
  CoreProcessOutput output;
  run("cat; echo sorry >&2; exit 3", "hello", LONG_S, &output);
  assert_string_equal(core_text_string(&output.out), "hello");
  assert_string_equal(core_text_string(&output.error), "sorry\n");
  assert_int_equal(output.exit_code, 3);
  assert_false(output.timed_out);
  core_process_output_free(&output);
}

/* Both ways to survive; child processes are ended, too. */
static void it_is_ended_in_time(void **state) {
  (void)state;
  static const char *const scripts[] = {"echo $$; sleep 600", "echo $$; exec >&- 2>&-; sleep 600",
                                        "echo $$; trap '' TERM HUP; exec >&- 2>&-; while :; do sleep 600; done"};
  for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
    CoreProcessOutput output;
    int group = 0;
    const double start_s = core_clock_s();
    run(scripts[i], NULL, 1, &output);
    assert_true(output.timed_out);
    assert_int_equal(output.exit_code, 128 + SIGKILL);
    assert_true(core_clock_s() - start_s < 300); /* not the 600 s of the sleeps */
    assert_int_equal(sscanf(core_text_string(&output.out), "%d", &group), 1);
    for (int tries = 0; kill(-group, 0) == 0 && tries < 3000; tries++) usleep(10000); /* until init has them */
    core_process_output_free(&output);
  }
}

/* One that closes its outputs and ends a little later is waited for. */
static void a_late_end_counts(void **state) {
  (void)state;
  CoreProcessOutput output;
  run("exec >&- 2>&-; sleep 0.2; exit 5", NULL, LONG_S, &output);
  assert_int_equal(output.exit_code, 5);
  assert_false(output.timed_out);
  core_process_output_free(&output);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_is_fed_and_heard),
    cmocka_unit_test(it_is_ended_in_time),
    cmocka_unit_test(a_late_end_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
