/* Memory of a run over all of its processes, and the limits that sweep status --cost advises of it. */
#include "test.h"

#include <signal.h>
#include <sys/wait.h>

#include "core/files.h"
#include "store/workspace/paths.h"
#include "sweep/supervise/run_memory.h"
#include "sweep/status/usage.h"

static const char *const id = "00000000000000aa", *const other = "00000000000000bb";
static char root[] = "/tmp/test_run_memory.XXXXXX";

static void make_directory(const char *run) {
  char path[CORE_PATH_MAX], *end;
  assert_int_equal(store_path_run(root, run, "memory", path), CORE_OK);
  end = strrchr(path, '/');
  *end = '\0';
  assert_int_equal(core_files_make_directories(path), CORE_OK);
}

/* Starts a shell with `workers` waiting child processes. */
static pid_t start_tree(const char *run, int workers) {
  const pid_t child = fork();
  if (child == 0) {
    char variable[64];
    CoreText script = {0};
    for (int i = 0; i < workers; i++) core_text_append(&script, "sleep 60 & ");
    core_text_append(&script, "wait");
    snprintf(variable, sizeof variable, "SWEEP_RUN=%s", run);
    char *const arguments[] = {"sh", "-c", script.data, NULL};
    char *const variables[] = {variable, "PATH=/usr/bin:/bin", NULL};
    setpgid(0, 0);
    execve("/bin/sh", arguments, variables);
    _exit(127);
  }
  return child;
}

static void end_tree(pid_t tree) {
  kill(-tree, SIGKILL);
  waitpid(tree, NULL, 0);
}

static void processes_of_a_run_are_added_up(void **state) {
  (void)state;
  make_directory(id), make_directory(other);
  const pid_t small = start_tree(id, 1), large = start_tree(other, 12);
  SweepMemoryProbe one = {0}, many = {0};
  const char *const ids[] = {id, other};
  SweepMemoryProbe *const probes[] = {&one, &many};
  for (int i = 0; i < 50 && many.run.summed_mb < 3 * one.run.summed_mb + 3; i++) {
    usleep(100 * 1000);
    sweep_memory_probe_sample(root, ids, probes, 2);
  }
  end_tree(small), end_tree(large);
  assert_int_equal(one.run.source, SWEEP_MEMORY_PROCESSES);
  assert_true(one.run.peak_mb > 0 && one.run.summed_mb >= one.run.peak_mb);
  assert_true(many.run.summed_mb >= 3 * one.run.summed_mb); /* 13 processes against 2 */
  assert_true(many.run.peak_mb < many.run.summed_mb);       /* the C library counts once */
  assert_true(many.run.samples >= 1);
}

static void a_file_keeps_peak_and_exceeded_limit(void **state) {
  (void)state;
  SweepRunMemory memory;
  SweepMemoryProbe probe;
  make_directory(id);
  sweep_memory_probe_begin(root, id, &probe);
  sweep_memory_probe_end(root, id, &probe, 700 * 1024);
  assert_int_equal(sweep_run_memory_record_oom(root, id, 900), CORE_OK);
  assert_int_equal(sweep_run_memory_record_oom(root, id, 400), CORE_OK);
  sweep_memory_probe_begin(root, id, &probe); /* another attempt */
  sweep_memory_probe_end(root, id, &probe, 100 * 1024);
  assert_int_equal(sweep_run_memory_read(root, id, &memory), CORE_OK);
  assert_int_equal(memory.peak_mb, 700);
  assert_int_equal(memory.exceeded_mb, 900);
}

/* ---- advice ------------------------------------------------------------------------------------------------------ */

static SweepRunUsage finished(SweepRunMemory memory) {
  return (SweepRunUsage){.status = STORE_FINISHED, .starts = 1, .spent_s = 100, .useful_s = 100, .memory = memory};
}

/* Usage of Slurm runs at slurm.mem = `mem`. */
static SweepUsage usage_of(SweepRunUsage *runs, size_t count, int64_t mem) {
  SweepUsage usage = {.run = runs, .count = count, .is_slurm = true, .settings = slurm_settings_default(),
                      .spent_s = 100, .useful_s = 100, .finished_max_s = 100};
  usage.settings.mem = mem;
  usage.settings.time = 86400;
  for (size_t i = 0; i < count; i++) sweep_run_memory_merge(&usage.most, &runs[i].memory);
  return usage;
}

static bool advises(const SweepUsage *usage, const char *words) {
  CoreText lines = {0};
  sweep_usage_advise(usage, "s", &lines);
  const bool is_said = strstr(core_text_string(&lines), words) != NULL;
  core_text_free(&lines);
  return is_said;
}

static const SweepRunMemory measured = {.source = SWEEP_MEMORY_PROCESSES, .peak_mb = 110, .summed_mb = 158,
                                        .samples = 9};

static void a_lower_limit_rests_on_all_processes(void **state) {
  (void)state;
  SweepRunUsage runs[2] = {finished(measured), finished(measured)};
  SweepUsage usage = usage_of(runs, 2, 900);
  assert_true(advises(&usage, "slurm.mem = 300M is enough")); /* 1.3 * 158 */
  runs[1].memory = (SweepRunMemory){.source = SWEEP_MEMORY_LARGEST_PROCESS, .peak_mb = 39};
  assert_false(advises(&usage, "slurm.mem"));
  runs[1].memory = (SweepRunMemory){0};
  assert_false(advises(&usage, "slurm.mem"));
  runs[1].memory = measured, runs[1].memory.samples = 1;
  assert_false(advises(&usage, "slurm.mem"));
  runs[1].memory.source = SWEEP_MEMORY_CGROUP;
  assert_true(advises(&usage, "slurm.mem"));
}

static void an_exceeded_limit_is_never_advised(void **state) {
  (void)state;
  for (int64_t exceeded = 50; exceeded <= 2000; exceeded += 50) {
    SweepRunUsage runs[2] = {finished(measured), finished(measured)};
    runs[0].memory.exceeded_mb = exceeded;
    const SweepUsage usage = usage_of(runs, 2, 100000);
    assert_true(sweep_run_memory_needed(&usage.most) > exceeded);
  }
  SweepRunUsage runs[1] = {finished(measured)};
  runs[0].status = STORE_FAILED, runs[0].out_of_memory = true, runs[0].memory.exceeded_mb = 300;
  const SweepUsage usage = usage_of(runs, 1, 300);
  assert_true(advises(&usage, "sweep submit s --failed --mem 500M")); /* 1.5 * 300 */
}

static void limits_are_lowered_only_when_all_runs_have_ended(void **state) {
  (void)state;
  static const StoreStatus open[] = {STORE_PENDING, STORE_RUNNING, STORE_FAILED, STORE_STOPPED, STORE_LOST};
  for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
    SweepRunUsage runs[2] = {finished(measured), finished(measured)};
    runs[1].status = open[i];
    const SweepUsage usage = usage_of(runs, 2, 5000);
    assert_false(advises(&usage, "is enough"));
  }
  SweepRunUsage runs[2] = {finished(measured), finished(measured)};
  runs[1].status = STORE_STOPPED_BY_RULE;
  const SweepUsage usage = usage_of(runs, 2, 5000);
  assert_true(advises(&usage, "slurm.mem") && advises(&usage, "slurm.time"));
}

/* Checkpoints more often help against work that is lost, not against runs that fail. */
static void waste_is_advised_on_by_its_cause(void **state) {
  (void)state;
  static const char failed[] = "60 % of the time was spent by failed runs; sweep status s --failed shows why",
                    repeated[] = "30 % of the time was spent on repeating lost work; a smaller checkpoint.every";
  SweepRunUsage runs[1] = {finished(measured)};
  SweepUsage usage = usage_of(runs, 1, 300);
  usage.useful_s = 40, usage.wasted_s = usage.failed_s = 60;
  assert_true(advises(&usage, failed));
  assert_false(advises(&usage, "checkpoint.every"));
  usage.useful_s = 70, usage.wasted_s = 30, usage.failed_s = 0;
  assert_true(advises(&usage, repeated));
  assert_false(advises(&usage, "failed"));
  usage.useful_s = 10, usage.wasted_s = 90, usage.failed_s = 60;
  assert_true(advises(&usage, failed) && advises(&usage, repeated));
  usage.useful_s = 85, usage.wasted_s = 15, usage.failed_s = 15;
  assert_false(advises(&usage, "failed"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(processes_of_a_run_are_added_up),
    cmocka_unit_test(a_file_keeps_peak_and_exceeded_limit),
    cmocka_unit_test(a_lower_limit_rests_on_all_processes),
    cmocka_unit_test(an_exceeded_limit_is_never_advised),
    cmocka_unit_test(limits_are_lowered_only_when_all_runs_have_ended),
    cmocka_unit_test(waste_is_advised_on_by_its_cause),
  };
  if (!mkdtemp(root)) return 1;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  core_files_remove_tree(root);
  return failed;
}
