/* Supervision of runs: causes of ends, and processes that end in each of these ways. */
#include "test.h"

#include <signal.h>
#include <sys/stat.h>

#include "core/files.h"
#include "store/workspace/paths.h"
#include "sweep/supervise/process.h"
#include "sweep/supervise/supervisor.h"

enum { REQUEUE = CORE_REQUEUE << 8 }; /* wait status of exit code 75 */

static char root[] = "/tmp/test_supervisor.XXXXXX";

/* ---- causes ------------------------------------------------------------------------------------------------------ */

typedef struct Case {
  int status;                 /* wait status: a signal, or an exit code times 256 */
  SweepCause requested;
  bool is_below_srun;
  StoreStatus after;          /* state of the run after the end */
  SweepCause cause;
  bool is_done, can_restart, has_other_owner;
  int signal;
  const char *reason;
} Case;

static const Case cases[] = {
  {.status = 0, .after = STORE_FINISHED, .is_done = true, .reason = ""},
  {.status = 0, .after = STORE_LOST, .reason = "ended with exit code 0 before the run had finished"},
  {.status = 0, .requested = SWEEP_CAUSE_RULE, .after = STORE_FINISHED, .is_done = true, .reason = ""},
  {.status = REQUEUE, .after = STORE_STOPPED, .cause = SWEEP_CAUSE_STOPPED, .reason = ""},
  {.status = REQUEUE, .requested = SWEEP_CAUSE_RULE, .after = STORE_STOPPED, .cause = SWEEP_CAUSE_RULE, .reason = ""},
  {.status = SIGTERM, .requested = SWEEP_CAUSE_RULE, .cause = SWEEP_CAUSE_RULE, .signal = SIGTERM, .reason = ""},
  {.status = SIGTERM, .requested = SWEEP_CAUSE_STOPPED, .cause = SWEEP_CAUSE_STOPPED, .signal = SIGTERM, .reason = ""},
  {.status = SIGTERM, .cause = SWEEP_CAUSE_KILLED, .signal = SIGTERM, .can_restart = true,
   .reason = "killed by signal 15 (Terminated)"},
  {.status = SIGKILL, .requested = SWEEP_CAUSE_RULE, .cause = SWEEP_CAUSE_KILLED, .signal = SIGKILL,
   .can_restart = true, .reason = "killed (SIGKILL), possibly out of memory"},
  {.status = SIGXCPU, .cause = SWEEP_CAUSE_KILLED, .signal = SIGXCPU,
   .reason = "killed at its limit of CPU time (ulimit -t)"},
  {.status = SIGXFSZ, .cause = SWEEP_CAUSE_KILLED, .signal = SIGXFSZ,
   .reason = "killed at its limit of file size (ulimit -f)"},
  {.status = 127 << 8, .cause = SWEEP_CAUSE_NOT_STARTED, .reason = "the trainer cannot be started"},
  {.status = 2 << 8, .after = STORE_FAILED, .reason = "exit code 2"},
  {.status = 1 << 8, .after = STORE_RUNNING, .has_other_owner = true, .reason = "exit code 1"},
  {.status = (128 + SIGKILL) << 8, .after = STORE_FAILED, .reason = "exit code 137"},
  {.status = (128 + SIGKILL) << 8, .is_below_srun = true, .cause = SWEEP_CAUSE_KILLED, .signal = SIGKILL,
   .can_restart = true, .reason = "killed (SIGKILL), possibly out of memory"}};

static void an_end_has_one_cause(void **unused) {
  (void)unused;
  const struct rusage usage = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const Case *expected = &cases[i];
    const SweepChild child = {.process = 5, .requested = expected->requested, .is_below_srun = expected->is_below_srun};
    const StoreState state = {.status = expected->after, .pid = 6};
    const SweepEnd end = sweep_end_judge(&child, expected->status, &usage, &state);
    const bool is_same = end.cause == expected->cause && end.is_done == expected->is_done &&
                         end.can_restart == expected->can_restart && end.signal == expected->signal &&
                         end.has_other_owner == expected->has_other_owner && strcmp(end.reason, expected->reason) == 0;
    if (!is_same) fail_msg("case %zu: cause %d, signal %d, '%s'", i, (int)end.cause, end.signal, end.reason);
  }
}

static void memory_and_owners_belong_to_the_run(void **unused) {
  (void)unused;
  const struct rusage usage = {0};
  const SweepChild child = {.process = 5, .memory.run.peak_mb = 512};
  const StoreState own = {.status = STORE_RUNNING, .pid = 5};
  assert_string_equal(sweep_end_judge(&child, SIGKILL, &usage, &own).reason,
                      "killed (SIGKILL), possibly out of memory (its processes had 512 MB)");
  assert_false(sweep_end_judge(&child, 1 << 8, &usage, &own).has_other_owner);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static void write_run_state(const char *id, StoreStatus status, int attempt) {
  StoreState state = {.status = status, .attempt = attempt};
  assert_int_equal(store_run_state_write(root, id, &state), CORE_OK);
}

static StoreState fail_run(const char *id, int64_t restarted_attempt) {
  StoreState state;
  sweep_end_record_failure(root, id, restarted_attempt, "exit code 2", true);
  assert_int_equal(store_run_state_read(root, id, false, &state), CORE_OK);
  return state;
}

static void make_run(CoreConfig *config, int seed, char id[CORE_RUN_ID]) {
  *config = core_config_default();
  config->train.seed = seed;
  assert_int_equal(store_run_prepare(root, config, id), CORE_OK);
}

static void a_failure_does_not_replace_an_end(void **unused) {
  (void)unused;
  CoreConfig config;
  char id[CORE_RUN_ID], path[CORE_PATH_MAX];
  static const char log[] = "first\ntrainer: no such task\n\n";
  make_run(&config, 1, id);

  write_run_state(id, STORE_DIVERGED, 1);
  assert_int_equal(fail_run(id, -1).status, STORE_DIVERGED);
  write_run_state(id, STORE_FINISHED, 2);
  assert_int_equal(fail_run(id, -1).status, STORE_FINISHED);
  assert_int_equal(fail_run(id, 1).status, STORE_FINISHED); /* by the restart itself */

  assert_int_equal(store_path_run(root, id, "log.txt", path), CORE_OK);
  assert_int_equal(core_files_write_unsynced(path, log, sizeof log - 1), CORE_OK);
  const StoreState state = fail_run(id, 2);
  assert_int_equal(state.status, STORE_FAILED);
  assert_string_equal(state.message, "exit code 2; last message: no such task");
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static SweepSupervisor supervisor;

/* Starts a run whose trainer is the shell script `body`. */
static SweepChild *start(int seed, const char *body) {
  static CoreConfig config;
  static char id[CORE_RUN_ID];
  char path[CORE_PATH_MAX];
  CoreText script = {0};
  SweepChild *child = NULL;
  make_run(&config, seed, id);
  assert_int_equal(core_files_path(path, "%s/trainer.%d", root, seed), CORE_OK);
  core_text_appendf(&script, "#!/bin/sh\n%s\n", body);
  assert_int_equal(core_files_write_unsynced(path, script.data, script.length), CORE_OK);
  core_text_free(&script);
  assert_int_equal(chmod(path, 0700), 0);
  setenv("SWEEP_TRAINER", path, 1);

  const SweepTrainer trainer = {.root = root, .id = id, .sweep = "s", .config = &config, .threads = 1, .slot = -1};
  assert_int_equal(sweep_supervisor_start(&supervisor, &trainer, &child), CORE_OK);
  return child;
}

/* Waits for the end of one run. */
static SweepEnd end_of(const SweepChild *expected) {
  SweepEnd end = {0};
  SweepChild *child = NULL;
  for (int i = 0; i < 600 && !child; i++) {
    sweep_supervisor_sample_memory(&supervisor);
    if (!(child = sweep_supervisor_reap(&supervisor, &end))) sweep_supervisor_wait(&supervisor, 100);
  }
  assert_ptr_equal(child, expected);
  free(child);
  return end;
}

static void wait_for_file(const char *name) {
  char path[CORE_PATH_MAX];
  assert_int_equal(core_files_path(path, "%s/%s", root, name), CORE_OK);
  for (int i = 0; i < 600 && !core_files_exists(path); i++) usleep(100 * 1000);
  assert_true(core_files_exists(path));
}

static void processes_are_started_watched_and_ended(void **unused) {
  (void)unused;
  SweepEnd end = end_of(start(10, "exit 0"));
  assert_true(end.is_done);
  end = end_of(start(11, "exit 3"));
  assert_string_equal(end.reason, "exit code 3");
  end = end_of(start(12, "kill -9 $$"));
  assert_true(end.signal == SIGKILL && end.can_restart && strstr(end.reason, "out of memory"));

  SweepChild *child = start(13, "trap 'exit 75' TERM; touch \"${0%/*}/ready\"; while :; do sleep 0.1; done");
  wait_for_file("ready");
  sweep_supervisor_stop(child, SWEEP_CAUSE_RULE);
  assert_int_equal(end_of(child).cause, SWEEP_CAUSE_RULE);

  int ends[2]; /* as input of this process */
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(write(ends[1], "x\n", 2), 2);
  assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  SweepChild *first = start(14, "read line; [ -z \"$line\" ] || exit 1; exec sleep 60"); /* its input is /dev/null */
  SweepChild *second = start(15, "exit 4");
  assert_string_equal(end_of(second).reason, "exit code 4");
  assert_int_equal(supervisor.count, 1);
  sweep_supervisor_stop(first, SWEEP_CAUSE_STOPPED);
  assert_int_equal(end_of(first).cause, SWEEP_CAUSE_STOPPED);
  assert_int_equal(supervisor.count, 0);
}

static void what_cannot_be_executed_explains_itself(void **unused) {
  (void)unused;
  static const char script[] = "#!/no/such/interpreter\n";
  char path[CORE_PATH_MAX], message[512];
  assert_int_equal(core_files_path(path, "%s/broken", root), CORE_OK);
  assert_int_equal(core_files_write_unsynced(path, script, sizeof script - 1), CORE_OK);
  assert_string_equal(sweep_process_explain(path, message, sizeof message),
                      "its interpreter '/no/such/interpreter' is missing (first line of the script)");
  SweepChild *child = start(16, "exit 0");
  assert_true(end_of(child).is_done);

  setenv("SWEEP_TRAINER", path, 1);
  assert_int_equal(chmod(path, 0700), 0);
  static CoreConfig config;
  static char id[CORE_RUN_ID];
  make_run(&config, 17, id);
  const SweepTrainer trainer = {.root = root, .id = id, .sweep = "s", .config = &config, .threads = 1, .slot = -1};
  assert_int_equal(sweep_supervisor_start(&supervisor, &trainer, &child), CORE_OK);
  const SweepEnd end = end_of(child);
  assert_int_equal(end.cause, SWEEP_CAUSE_NOT_STARTED);
  sweep_end_record_failure(root, id, -1, end.reason, true);
  StoreState state;
  assert_int_equal(store_run_state_read(root, id, false, &state), CORE_OK);
  assert_non_null(strstr(state.message, "the trainer cannot be started; last message: cannot start "));
  assert_non_null(strstr(state.message, "its interpreter '/no/such/interpreter' is missing"));
}

int main(void) {
  static const int signals[] = {SIGTERM, SIGCHLD};
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_end_has_one_cause), cmocka_unit_test(memory_and_owners_belong_to_the_run),
    cmocka_unit_test(a_failure_does_not_replace_an_end), cmocka_unit_test(processes_are_started_watched_and_ended),
    cmocka_unit_test(what_cannot_be_executed_explains_itself)};
  if (!mkdtemp(root)) return 1;
  if (sweep_supervisor_open(root, signals, sizeof signals / sizeof *signals, &supervisor) != CORE_OK) return 1;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  sweep_supervisor_close(&supervisor);
  return core_files_remove_tree(root) != CORE_OK || failed;
}
