/* Load of runs over time: intervals that stay few, attempts, damaged files, and the GPUs of a run's processes. */
#include "test.h"

#include "store_workspace.h"

#include <dlfcn.h>

#include "sweep/supervise/gpu_load.h"
#include "sweep/supervise/run_load.h"
#include "sweep/supervise/run_memory.h"

static const char id[] = "00000000000000aa";

static void make_directory(char path[CORE_PATH_MAX]) {
  char directory[CORE_PATH_MAX];
  assert_ok(store_path_run(root, id, NULL, directory));
  assert_ok(core_files_make_directories(directory));
  assert_ok(store_path_run(root, id, "load.tsv", path));
}

static SweepLoadSample sample_of(double cpu_s, double memory_mb) {
  return (SweepLoadSample){cpu_s, memory_mb, NAN, NAN, NAN};
}

/* Records an attempt of `seconds` from `start` on, which keeps two CPUs busy and needs most memory at its start and
 * end. */
static void record(double start, int seconds) {
  SweepLoadRecorder *recorder = NULL;
  for (int i = 0; i <= seconds; i++) {
    const SweepLoadSample sample = sample_of(2.0 * i, i == 1 || i == seconds ? 900 : 100);
    sweep_load_recorder_add(root, id, start + i, &sample, &recorder);
  }
  sweep_load_recorder_end(root, id, &recorder);
  assert_null(recorder);
}

static void long_runs_have_few_intervals(void **state) {
  (void)state;
  char path[CORE_PATH_MAX];
  SweepRunLoad load;
  make_directory(path);
  record(1000, 10000);
  assert_ok(sweep_run_load_read(root, id, &load));
  assert_true(load.count > SWEEP_LOAD_POINTS / 2 - 2 && load.count <= SWEEP_LOAD_POINTS);

  for (size_t i = 0; i < load.count; i++) {
    assert_float_equal(load.point[i].cpus, 2, 0.01);
    assert_true(isnan(load.point[i].gpu_percent) && isnan(load.point[i].gpu_memory_mb));
    assert_float_equal(load.point[i].memory_mb, i == 0 || i == load.count - 1 ? 900 : 100, 0);
  }
  assert_float_equal(load.point[load.count - 1].unix_s, 11000, 0.1);
  assert_true(load.machine_cpus >= 1 && load.machine_memory_mb > 100);
}

static void attempts_follow_each_other(void **state) {
  (void)state;
  char path[CORE_PATH_MAX];
  SweepRunLoad load;
  make_directory(path);
  record(1000, 20);
  record(5000, 20);
  assert_ok(sweep_run_load_read(root, id, &load));
  assert_float_equal(load.point[0].unix_s, 1001, 0.1);
  assert_float_equal(load.point[load.count - 1].unix_s, 5020, 0.1);
  for (size_t i = 0; i < load.count; i++) assert_float_equal(load.point[i].cpus, 2, 0.01);
}

static void ended_processes_count_once(void **state) {
  (void)state;
  static const double cpu_s[] = {0, 5, 10, 4, 11, 12}; /* 6 s are those of a child that its parent waits for later */
  char path[CORE_PATH_MAX];
  SweepRunLoad load;
  SweepLoadRecorder *recorder = NULL;
  double sum = 0;
  make_directory(path);
  for (int i = 0; i < 6; i++) {
    const SweepLoadSample sample = sample_of(cpu_s[i], 1);
    sweep_load_recorder_add(root, id, 100 + i, &sample, &recorder);
  }
  sweep_load_recorder_end(root, id, &recorder);

  assert_ok(sweep_run_load_read(root, id, &load));
  for (size_t i = 0; i < load.count; i++) sum += load.point[i].cpus;
  assert_int_equal(load.count, 5);
  assert_float_equal(sum, 12, 0.01);
}

static void damaged_lines_are_ignored(void **state) {
  (void)state;
  char path[CORE_PATH_MAX];
  SweepRunLoad load;
  make_directory(path);
  write_text(path, "machine_cpus=nan machine_memory_mb=-3\n"
                   "10.0\t1.5\t100\t-\t-\t-\n"
                   "9.0\t1\t1\t-\t-\t-\n"        /* not later */
                   "11.0\t-\t1\t-\t-\t-\n"       /* no CPUs */
                   "12.0\t1\n"                   /* cut */
                   "x\t1\t1\t1\t1\t1\n\n"
                   "13.0\t-1\t1\t-\t-\t-\n"
                   "14.0\t2\t200\t50\t3000\t81920\n");
  assert_ok(sweep_run_load_read(root, id, &load));
  assert_int_equal(load.count, 2);
  assert_float_equal(load.machine_cpus, 0, 0);
  assert_float_equal(load.machine_memory_mb, 0, 0);
  assert_float_equal(load.point[1].gpu_memory_mb, 3000, 0);
}

/* This process is the run. The library is found by its name because it is loaded already. */
static void gpus_are_those_of_the_run(void **state) {
  (void)state;
  char path[CORE_PATH_MAX], library[CORE_PATH_MAX], self[CORE_PATH_MAX] = "";
  SweepRunLoad load;
  SweepMemoryProbe probe;
  const char *const ids[] = {id};
  SweepMemoryProbe *const probes[] = {&probe};
  SweepGpuProcess list[8];

  assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  *strrchr(self, '/') = '\0';
  assert_ok(core_files_path(library, "%s/nvml/libnvidia-ml.so.1", self));
  assert_non_null(dlopen(library, RTLD_NOW));
  assert_int_equal(sweep_gpu_load_read(list, 8), 4);
  assert_int_equal(list[1].device, 1);

  make_directory(path);
  sweep_memory_probe_begin(root, id, &probe);
  for (int i = 0; i < 3; i++) {
    sweep_memory_probe_sample(root, ids, probes, 1);
    usleep(50 * 1000);
  }
  sweep_memory_probe_end(root, id, &probe, 0);
  assert_ok(sweep_run_load_read(root, id, &load));
  assert_true(load.count >= 1);
  assert_float_equal(load.point[0].gpu_percent, 37, 0);
  assert_float_equal(load.point[0].gpu_memory_mb, 3 * 1024, 0);
  assert_float_equal(load.point[0].gpu_total_mb, 81 * 1024, 0);
  assert_true(load.point[0].memory_mb > 0);
}

int main(int argc, char **argv) {
  (void)argc;
  if (!getenv("SWEEP_RUN")) { /* /proc/self/environ is that of the start */
    setenv("SWEEP_RUN", id, 1);
    execv("/proc/self/exe", argv);
  }
  const struct CMUnitTest tests[] = {WORKSPACE_TEST(long_runs_have_few_intervals),
                                     WORKSPACE_TEST(attempts_follow_each_other),
                                     WORKSPACE_TEST(ended_processes_count_once),
                                     WORKSPACE_TEST(damaged_lines_are_ignored),
                                     WORKSPACE_TEST(gpus_are_those_of_the_run)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
