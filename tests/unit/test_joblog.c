/* sweep/joblog: messages of Slurm's daemon about a job's end in the job's own output, as 22.05.8, 24.11.7 and
 * 26.05.3 wrote them on the test cluster (those of the kernel's out-of-memory killer: as in their sources). */
#include "test.h"

#include "sweep/cluster/joblog.h"

static void test_verdicts(void **state) {
  (void)state;
  static const struct { const char *text; SweepCause verdict;
  } cases[] = {
    {"", SWEEP_CAUSE_NONE},
    {"slurmstepd-n2: error: *** JOB 5 ON n2 CANCELLED AT 2026-11-22T01:17:08 ***\n", SWEEP_CAUSE_CANCELLED},
    {"slurmstepd: error: *** STEP 5.0 ON n2 CANCELLED AT 2026-11-22T01:17:08 ***", SWEEP_CAUSE_CANCELLED},
    {"slurmstepd: error: *** JOB 5 ON n2 CANCELLED AT 2026-11-22T01:17:08 DUE TO PREEMPTION ***",
     SWEEP_CAUSE_PREEMPTED},
    {"slurmstepd: error: *** JOB 5 ON n2 CANCELLED AT 2026-11-22T01:17:08 DUE TO TIME LIMIT ***",
     SWEEP_CAUSE_TIME_LIMIT},
    {"slurmstepd: error: *** JOB 5 ON n2 CANCELLED AT 2026-11-22T01:17:08 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR "
     "DETAILS ***",
     SWEEP_CAUSE_NONE},
    {"slurmstepd-n1: error: StepId=5.batch exceeded memory limit (32636928 > 8388608), being killed\n"
     "slurmstepd-n1: error: *** JOB 5 ON n1 CANCELLED AT 2026-11-22T01:11:32 ***\n",
     SWEEP_CAUSE_OUT_OF_MEMORY},
    {"slurmstepd: error: Detected 1 oom_kill event in StepId=5.0. Some of the step tasks have been OOM Killed.\n",
     SWEEP_CAUSE_OUT_OF_MEMORY},
    {"slurmstepd: error: Detected 1 oom-kill event(s) in StepId=5.batch. Some of your processes may have been killed\n",
     SWEEP_CAUSE_OUT_OF_MEMORY},
    /* 26.05 */
    {"[2026-11-22T05:10:11.148] error: *** JOB 5 ON n1 CANCELLED AT 2026-11-22T05:10:11 DUE to SIGNAL Terminated ***\n",
     SWEEP_CAUSE_CANCELLED},
    {"[2026-11-22T05:10:21.571] error: *** JOB 5 ON n1 CANCELLED AT 2026-11-22T05:10:21 DUE TO PREEMPTION ***\n",
     SWEEP_CAUSE_PREEMPTED},
    {"[2026-11-22T05:10:11.195] error: *** JOB 5 ON n2 CANCELLED AT 2026-11-22T05:10:11 DUE TO JOB REQUEUE ***\n",
     SWEEP_CAUSE_NONE},
    {"[2026-11-22T05:11:52.930] error: StepId=5.batch exceeded memory limit (41717760 > 31457280), being killed\n"
     "[2026-11-22T05:11:52.972] error: Exceeded job memory limit\n"
     "[2026-11-22T05:11:52.983] error: *** JOB 5 ON n1 CANCELLED AT 2026-11-22T05:11:52 DUE to SIGNAL Killed ***\n",
     SWEEP_CAUSE_OUT_OF_MEMORY},
    {"[2026-11-22T05:11:52.930] error: StepId=55.batch exceeded memory limit (41717760 > 31457280), being killed\n",
     SWEEP_CAUSE_NONE},
    /* another task of the same array writes into the same file */
    {"slurmstepd-n1: error: StepId=55.batch exceeded memory limit (32636928 > 8388608), being killed\n"
     "slurmstepd-n1: error: *** JOB 15 ON n1 CANCELLED AT 2026-11-22T01:11:32 ***\n",
     SWEEP_CAUSE_NONE},
    /* a program's own words */
    {"JOB 5 was CANCELLED AT noon\n", SWEEP_CAUSE_NONE},
    {"[1] error: *** JOB 5 ON n1 CANCELLED AT noon ***\n", SWEEP_CAUSE_NONE}};

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (sweep_joblog_parse_cause(cases[i].text, 5) != cases[i].verdict) fail_msg("%s", cases[i].text);
}

static void test_part_of_a_file(void **state) {
  (void)state;
  char path[] = "/tmp/test_joblog.XXXXXX", line[64];
  static const char first[] = "slurmstepd: error: *** JOB 5 ON n2 CANCELLED AT 2026-11-22T01:17:08 ***\n",
                    second[] = "module: not found\n";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, first, sizeof first - 1), sizeof first - 1);
  const int64_t end = sweep_joblog_size(path);
  assert_int_equal(end, sizeof first - 1);
  assert_int_equal(write(fd, second, sizeof second - 1), sizeof second - 1);
  assert_int_equal(sweep_joblog_read_cause(path, 0, 5), SWEEP_CAUSE_CANCELLED);
  assert_int_equal(sweep_joblog_read_cause(path, end, 5), SWEEP_CAUSE_NONE); /* belongs to the previous start */
  assert_int_equal(sweep_joblog_read_cause(path, end + 1000, 5), SWEEP_CAUSE_NONE);
  sweep_end_read_last_line(path, line, sizeof line);
  assert_string_equal(line, "module: not found");
  close(fd);
  unlink(path);
  assert_int_equal(sweep_joblog_size(path), 0);
  assert_int_equal(sweep_joblog_read_cause(path, 0, 5), SWEEP_CAUSE_NONE);
  sweep_end_read_last_line(path, line, sizeof line);
  assert_string_equal(line, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_verdicts), cmocka_unit_test(test_part_of_a_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
