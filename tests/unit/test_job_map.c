/* sweep/cluster/job_map: which rows of Slurm's queue belong to the arrays of a sweep, also after users or sites have
 * changed comments and names, and after job ids have started over. */
#include "test.h"

#include "sweep/cluster/job_map.h"

enum { TASKS = 3, REQUESTED = 1700000000 };
#define ACCEPTED_COMMENT "sweep=study batch=1.0123456789abcdef:0"
#define UNCONFIRMED_COMMENT "sweep=study batch=2.fedcba9876543210:0"

/* A sweep of ada with an accepted array, job 12, and one that Slurm has not confirmed. */
typedef struct Sweep {
  SweepArray arrays[2];
  const SlurmTask *rows[2][TASKS];
  const SlurmTask **tasks[2];
  SweepJobMap job_map;
} Sweep;

static char submitter[64] = "ada@login";

static void make_sweep(Sweep *sweep) {
  const SweepArray accepted = {.batch = 1, .hash = "0123456789abcdef", .tasks = TASKS, .job = 12,
                               .state = SWEEP_ARRAY_ACCEPTED, .requested_unix_s = REQUESTED};
  const SweepArray unconfirmed = {.batch = 2, .hash = "fedcba9876543210", .tasks = TASKS,
                                  .state = SWEEP_ARRAY_REQUESTED, .requested_unix_s = REQUESTED};
  *sweep = (Sweep){.arrays = {accepted, unconfirmed}};
  for (int i = 0; i < 2; i++)
    snprintf(sweep->arrays[i].submitted_by, sizeof sweep->arrays[i].submitted_by, "%s", submitter);
  for (int i = 0; i < 2; i++) sweep->tasks[i] = sweep->rows[i];
  sweep->job_map = (SweepJobMap){.journal = {.arrays = sweep->arrays, .count = 2}, .tasks = sweep->tasks};
}

/* A row as the accepted array was submitted. */
static SlurmTask make_row(void) {
  SlurmTask row = {.job = 12, .last = TASKS - 1, .step = 1, .submit_unix_s = REQUESTED, .is_in_directory = true};
  snprintf(row.user, sizeof row.user, "ada");
  snprintf(row.name, sizeof row.name, "study");
  snprintf(row.comment, sizeof row.comment, ACCEPTED_COMMENT);
  return row;
}

/* Returns the index of the array that the row belongs to; -1: none. */
static int find(const SlurmTask *row) {
  Sweep sweep;
  SlurmTask copy = *row;
  make_sweep(&sweep);
  sweep_job_map_join("study", &sweep.job_map, &(SlurmTasks){.rows = &copy, .count = 1});
  for (int i = 0; i < 2; i++)
    if (sweep.rows[i][0] == &copy) return i;
  return -1;
}

static int find_comment(SlurmTask row, const char *comment) {
  snprintf(row.comment, sizeof row.comment, "%s", comment);
  return find(&row);
}

static void test_changed(void **state) {
  static const char *const comments[] = {"", "(null)", "abc", "idle since 2026-01-31", ACCEPTED_COMMENT " project=x",
                                         "project=x;" ACCEPTED_COMMENT, "sweep=mine", "sweep=study",
                                         "line\nline | 12|0-2|CANCELLED"};
  SlurmTask row = make_row();
  for (size_t i = 0; i < sizeof comments / sizeof *comments; i++)
    if (find_comment(row, comments[i]) != 0) fail_msg("lost with the comment '%s'", comments[i]);
  row.submit_unix_s += 100000; /* requeued */
  assert_int_equal(find_comment(row, "abc"), 0);
  snprintf(row.name, sizeof row.name, "renamed");
  assert_int_equal(find_comment(row, "abc"), 0);
  snprintf(row.user, sizeof row.user, "root"); /* the journal has 0@login for it, below */
  assert_int_equal(find_comment(row, "abc"), -1);
  snprintf(submitter, sizeof submitter, "0@login");
  assert_int_equal(find_comment(row, "abc"), 0);
  snprintf(submitter, sizeof submitter, "ada@login");
  snprintf(row.user, sizeof row.user, "ada");
  row.is_in_directory = false; /* another name of the workspace */
  assert_int_equal(find_comment(row, ACCEPTED_COMMENT), 0);
}

static void test_foreign(void **state) {
  SlurmTask other_user = make_row(), elsewhere = make_row(), other_job = make_row(), no_array = make_row();
  snprintf(other_user.user, sizeof other_user.user, "adam");
  assert_int_equal(find_comment(other_user, "abc"), -1);
  snprintf(other_user.user, sizeof other_user.user, "ad");
  assert_int_equal(find_comment(other_user, "abc"), -1);
  elsewhere.is_in_directory = false;
  assert_int_equal(find_comment(elsewhere, "abc"), -1);
  assert_int_equal(find_comment(elsewhere, ""), -1);
  other_job.job = 13;
  assert_int_equal(find_comment(other_job, ACCEPTED_COMMENT), -1);
  no_array.first = no_array.last = -1;
  assert_int_equal(find_comment(no_array, "abc"), -1);
}

/* Job 12 of an array that was submitted later, after the ids have started over. */
static void test_other_array(void **state) {
  static const char *const comments[] = {
    "sweep=study batch=1.0123456789abcdee:0", "sweep=study batch=1.0123456789abcdef:01",
    "sweep=other batch=1.0123456789abcdef:0", "x sweep=study batch=7.0123456789abcdef:0"};
  for (size_t i = 0; i < sizeof comments / sizeof *comments; i++)
    if (find_comment(make_row(), comments[i]) != -1) fail_msg("'%s' is of another array", comments[i]);
}

static void test_unconfirmed(void **state) {
  SlurmTask row = make_row();
  row.job = 14;
  assert_int_equal(find_comment(row, UNCONFIRMED_COMMENT), 1);
  assert_int_equal(find_comment(row, "abc"), 1); /* a plugin of the site has replaced it */
  row.submit_unix_s = REQUESTED - 2 * 3600;
  assert_int_equal(find_comment(row, "abc"), -1);
  row.submit_unix_s = REQUESTED;
  snprintf(row.name, sizeof row.name, "other");
  assert_int_equal(find_comment(row, "abc"), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_changed), cmocka_unit_test(test_foreign),
                                     cmocka_unit_test(test_other_array), cmocka_unit_test(test_unconfirmed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
