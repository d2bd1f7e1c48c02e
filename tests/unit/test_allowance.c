/* slurm/allowance: an account's limits, parsed from the output of scontrol 22.05 on the test cluster and from
 * invalid text. */
#include "test.h"

#include "slurm/command_internal.h"

static const char answer[] =
    "Current Association Manager state\n\nAssociation Records\n\n"
    "ClusterName=test Account=lab UserName= Partition= Priority=0 ID=3\n"
    "    ParentAccount=root(1) Lft=2 DefAssoc=No\n"
    "    GrpSubmitJobs=N(5) GrpWall=N(0.00)\n"
    "    GrpTRESMins=cpu=60(12),mem=N(0),node=N(0),gres/gpu=30(31)\n"
    "    MaxJobs= MaxJobsAccrue= MaxSubmitJobs= MaxWallPJ=\n    MaxTRESMinsPJ=\n"
    "ClusterName=test Account=lab UserName=eve(7) Partition= Priority=0 ID=5\n"
    "    ParentAccount= Lft=4 DefAssoc=Yes\n    GrpSubmitJobs=N(0) GrpWall=N(0.00)\n"
    "    MaxJobs= MaxJobsAccrue= MaxSubmitJobs=1(1) MaxWallPJ=\n"
    "ClusterName=test Account=lab UserName=ada(8) Partition= Priority=0 ID=4\n"
    "    ParentAccount= Lft=3 DefAssoc=Yes\n    GrpSubmitJobs=N(5) GrpWall=N(0.00)\n"
    "    GrpTRESMins=cpu=N(0),mem=N(0)\n"
    "    MaxJobs= MaxJobsAccrue= MaxSubmitJobs=7(5) MaxWallPJ=90\n    MaxTRESMinsPJ=cpu=600\n"
    "ClusterName=test Account=other UserName=ada(8) Partition= Priority=0 ID=6\n"
    "    ParentAccount= Lft=9 DefAssoc=No\n    MaxJobs= MaxSubmitJobs=2(2) MaxWallPJ=1\n";

static SlurmAllowance none(void) {
  return (SlurmAllowance){.submit_room = -1,
                          .cpu_minutes = INFINITY,
                          .gpu_minutes = INFINITY,
                          .task_cpu_minutes = INFINITY,
                          .task_minutes = INFINITY};
}

static void test_default_account(void **state) {
  (void)state;
  SlurmAllowance allowance = none();
  slurm_allowance_parse(answer, "ada", &allowance);
  assert_string_equal(allowance.account, "lab");
  memset(allowance.account, 0, sizeof allowance.account);
  memcpy(allowance.account, "lab", 4);
  slurm_allowance_parse(answer, "ada", &allowance); /* as for a named account: its own record comes first */
  assert_int_equal(allowance.submit_max, 7);
  assert_int_equal(allowance.submit_room, 2);
  assert_true(allowance.cpu_minutes == 48);
  assert_true(allowance.gpu_minutes == 0); /* used up */
  assert_true(allowance.task_cpu_minutes == 600);
  assert_true(allowance.task_minutes == 90);
}

static void test_another_account(void **state) {
  (void)state;
  SlurmAllowance allowance = none();
  memcpy(allowance.account, "other", 6);
  slurm_allowance_parse(answer, "ada", &allowance);
  assert_int_equal(allowance.submit_room, 0);
  assert_true(isinf(allowance.cpu_minutes));
  assert_true(allowance.task_minutes == 1);
}

static void test_quality_of_service(void **state) {
  (void)state;
  SlurmAllowance allowance = none();
  slurm_allowance_parse("QOS=small(2)\n    GrpJobs=N(0) GrpSubmitJobs=N(0)\n    MaxWallPJ=20\n    "
                        "MaxTRESMinsPJ=cpu=30\n    User Limits\n      8\n"
                        "        MaxJobsPU=N(0) MaxSubmitJobsPU=3(1)\n",
                        "ada", &allowance);
  assert_int_equal(allowance.submit_room, 2);
  assert_true(allowance.task_minutes == 20);
  assert_true(allowance.task_cpu_minutes == 30);
}

static void test_nonsense(void **state) {
  (void)state;
  static const char *const texts[] = {
    "",
    "\n\n",
    "Account",
    "ClusterName=t Account= UserName=ada(",
    "ClusterName=t Account=lab UserName=ada(8) MaxSubmitJobs=(",
    "ClusterName=t Account=lab UserName=ada(8) DefAssoc=Yes MaxSubmitJobs=x(1) GrpTRESMins=cpu=,=,cpu=(1)",
    "QOS=\n MaxWallPJ="};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    SlurmAllowance allowance = none();
    slurm_allowance_parse(texts[i], "ada", &allowance);
    assert_int_equal(allowance.submit_room, -1);
    assert_true(isinf(allowance.cpu_minutes) && isinf(allowance.task_minutes));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_default_account), cmocka_unit_test(test_another_account),
                                     cmocka_unit_test(test_quality_of_service), cmocka_unit_test(test_nonsense)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
