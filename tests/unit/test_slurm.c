/* Slurm settings (above all rejected values, because they become parts of scripts and arguments), time formats,
 * array expressions, scripts. */
#include "test.h"

#include "core/files.h"
#include "slurm/cluster.h"

static void refused(const char *name, const char *value) {
  SlurmSettings settings = slurm_settings_default(), before = settings;
  if (slurm_settings_set(&settings, name, value) == CORE_OK) fail_msg("%s = %s was taken", name, value);
  assert_memory_equal(&settings, &before, sizeof settings);
}

static void taken(SlurmSettings *settings, const char *name, const char *value) {
  if (slurm_settings_set(settings, name, value) != CORE_OK) fail_msg("%s", core_error_message());
}

static void test_values(void **state) {
  SlurmSettings s = slurm_settings_default();
  taken(&s, "slurm.time", "1-12");
  assert_int_equal(s.time, 36 * 3600);
  taken(&s, "time", "90");
  assert_int_equal(s.time, 5400);
  taken(&s, "mem", "8G");
  assert_int_equal(s.mem, 8192);
  taken(&s, "mem", "1500K");
  assert_int_equal(s.mem, 2);
  taken(&s, "gpus_per_run", "0.25");
  assert_true(s.gpus_per_run == 0.25);
  taken(&s, "gpus_per_run", "0.333");
  assert_true(s.gpus_per_run == 1 / 3.0);
  taken(&s, "partition", "gpu,gpu-long_2");
  taken(&s, "constraint", "[a100|h100]&ib");
  taken(&s, "modules", "gcc/12.2 openmpi/4.1.4+cuda");
  taken(&s, "extra", "--exclude=n[1-3] --exclusive");
  taken(&s, "after", "fig5,fig6");
  taken(&s, "requeue", "no");
  assert_false(s.requeue);
}

/* Nothing that a shell, an option parser or a script line takes for more than a value. */
static void test_refused_values(void **state) {
  static const char *const words[] = {"slurm.partition",   "slurm.account",  "slurm.qos",
                                      "slurm.reservation", "slurm.gpu_type", "slurm.constraint",
                                      "slurm.modules",     "slurm.after",    "slurm.extra"};
  static const char *const hostile[] = {"-x",  "--wrap=true", "a;b", "a$(b)", "`b`", "a\nb", "a'b", "a\"b",
                                        "a>b", "a\\b",        "a#b", "\t",    "a{b", "a~",   "a!"};

  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    for (size_t k = 0; k < sizeof hostile / sizeof *hostile; k++) refused(words[i], hostile[k]);

  refused("slurm.partition", "a b");
  refused("slurm.modules", "gcc -t");
  refused("slurm.after", "../x");
  refused("slurm.setup", "a\nb"); /* the only shell text, but one line */
  refused("slurm.setup", "a\x1b[2J");
  refused("slurm.setup", "\xff");
  refused("slurm.after", "a,,b");
  refused("slurm.extra", "--output=/etc/passwd");
  refused("slurm.extra", "--uid=0");
  refused("slurm.extra", "true");

  refused("slurm.time", "soon");
  refused("slurm.time", "1:2:3:4");
  refused("slurm.time", "-1");
  refused("slurm.time", "1--2");
  refused("slurm.time", "999999999999999999999");

  refused("slurm.mem", "8Gb");
  refused("slurm.mem", "9999999999T");
  refused("slurm.gpus_per_run", "1.5");
  refused("slurm.gpus_per_run", "0.3");
  refused("slurm.gpus_per_run", "nan");
  refused("slurm.cpus_per_run", "0");

  refused("slurm.signal", "KILL");
  refused("slurm.api", "http");
  refused("slurm.mpi", "pmix;x");
  refused("slurm.tme", "1");
  assert_message("did you mean slurm.time?");
}

static void together(const char *const *pairs, const char *message) {
  SlurmSettings s = slurm_settings_default();
  for (; pairs[0]; pairs += 2) taken(&s, pairs[0], pairs[1]);
  if (!message) {
    assert_int_equal(slurm_settings_check(&s), CORE_OK);
    return;
  }
  assert_int_equal(slurm_settings_check(&s), CORE_USAGE);
  assert_message(message);
}

static void test_together(void **state) {
  together((const char *[]){"gpus_per_run", "0.5", "runs_per_task", "4", NULL}, NULL);
  together((const char *[]){"gpus_per_run", "0.5", "runs_per_task", "3", NULL}, "no whole number");
  together((const char *[]){"nodes", "2", "ranks_per_run", "4", "gpus_per_run", "4", NULL}, NULL);
  together((const char *[]){"nodes", "2", "ranks_per_run", "3", NULL}, "is not a multiple of slurm.nodes");
  together((const char *[]){"nodes", "2", NULL}, "slurm.ranks_per_run = 2 or more");
  together((const char *[]){"nodes", "2", "ranks_per_run", "2", "runs_per_task", "2", NULL}, "one node only");
  together((const char *[]){"time", "1", "signal_lead", "2", NULL}, "not shorter");
}

static void test_times(void **state) {
  char text[32];
  assert_int_equal(slurm_time_parse("02:00:00"), 7200);
  assert_int_equal(slurm_time_parse("05:30"), 330);
  assert_int_equal(slurm_time_parse("1-0:30"), 86400 + 1800);
  assert_int_equal(slurm_time_parse("UNLIMITED"), -1);
  assert_int_equal(slurm_time_parse(""), -1);
  static const int64_t seconds[] = {0, 59, 3600, 86399, 86400, 90061};
  for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
    assert_int_equal(slurm_time_parse(slurm_time_format(seconds[i], text)), seconds[i]);
}

static size_t indices(const char *expression, int64_t *sum) {
  SlurmTasks tasks = {0};
  SlurmTask pattern = {.job = 3};
  size_t count = 0;
  *sum = 0;
  if (!slurm_tasks_add(&tasks, &pattern, expression)) {
    assert_int_equal(tasks.count, 0);
    return (size_t)-1;
  }
  for (size_t i = 0; i < tasks.count; i++)
    for (int64_t k = tasks.rows[i].first; k <= tasks.rows[i].last; k += tasks.rows[i].step, count++) *sum += k;
  slurm_tasks_free(&tasks);
  return count;
}

static void test_expressions(void **state) {
  int64_t sum;
  assert_int_equal(indices("7", &sum), 1);
  assert_int_equal(sum, 7);
  assert_int_equal(indices("[0-3,8%2]", &sum), 5);
  assert_int_equal(sum, 14);
  assert_int_equal(indices("0-10:5,20", &sum), 4);
  assert_int_equal(sum, 35);
  assert_int_equal(indices("4-49,52-99%3", &sum), 94);
  assert_int_equal(indices("N/A", &sum), 1);
  assert_int_equal(sum, -1);
  static const char *const bad[] = {"x", "1-", "-1", "3-1", "1,,2", "1-3:0", "[1", "1...", "1-3%", "99999999999", "1 "};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (strcmp(bad[i], "[1") != 0) assert_int_equal(indices(bad[i], &sum), -1);
}

static void test_states(void **state) {
  assert_int_equal(slurm_state_from_name("CANCELLED by 1000"), SLURM_CANCELLED);
  assert_int_equal(slurm_state_from_name("OUT_OF_MEMORY"), SLURM_OUT_OF_MEMORY);
  assert_int_equal(slurm_state_from_name("REQUEUE_HOLD"), SLURM_PENDING);
  assert_int_equal(slurm_state_from_name("SOMETHING_NEW"), SLURM_UNKNOWN_STATE);
  assert_true(slurm_state_is_over(SLURM_NODE_FAIL) && slurm_state_is_over(SLURM_COMPLETED));
  assert_false(slurm_state_is_over(SLURM_RUNNING) || slurm_state_is_over(SLURM_UNKNOWN_STATE) ||
               slurm_state_is_over(SLURM_REQUEUED));
}

/* Slurm's words, as squeue and sacct print them. */
static void test_reasons(void **state) {
  static const struct { const char *words, *text; bool held, stuck; } cases[] = {
    {"None", "waits to be scheduled", false, false},
    {"NonZeroExitCode", "ended with an error", false, false},
    {"JobHeldUser", "held", true, true},
    {"launch failed requeued held", "could not be launched and is held", true, true},
    {"launch_failed_requeued_held", "could not be launched and is held", true, true},
    {"user env retrieval failed requeued held", "could not be launched and is held", true, true},
    {"job requeued in held state", "requeued and held", true, true},
    {"JobHoldMaxRequeue", "was requeued too often and is held", true, true},
    {"Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
     "requested nodes are down, drained or reserved", false, false},
    {"Nodes_required_for_job_are_DOWN,_DRAINED", "requested nodes are down, drained or reserved", false, false},
    {"ReqNodeNotAvail, UnavailableNodes:n[3-4]", "requested nodes are down, drained or reserved", false, false},
    {"Reservation", "waits for its reservation to begin", false, false},
    {"ReservationDeleted", "its reservation was deleted", false, true},
    {"DependencyNeverSatisfied", "its dependency can never be satisfied", false, true},
    {"AssocGrpCpuLimit", "waits for a limit of your account", false, false},
    {"AssocGrpCPURunMinutesLimit", "waits for a limit of your account", false, false},
    {"AssocGrpCPUMinutesLimit", "its account has used up its time", false, true},
    {"AssocMaxWallDurationPerJobLimit", "requests more than a job of its account may", false, true},
    {"QOSMaxJobsPerUserLimit", "waits for a limit of its QOS", false, false},
    {"QOSMaxCpuPerJobLimit", "requests more than a job of its QOS may", false, true},
    {"QOSGrpBillingMinutes", "its QOS has used up its time", false, true},
    {"JobArrayTaskLimit,JobHeldUser", "waits for others of its sweep (slurm.max_running)", false, false},
    {"SomethingNew", "SomethingNew", false, false},
    {"", "", false, false}};

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_string_equal(slurm_reason_text(cases[i].words), cases[i].text);
    if (slurm_reason_is_held(cases[i].words) != cases[i].held) fail_msg("%s", cases[i].words);
    if (slurm_reason_is_stuck(cases[i].words) != cases[i].stuck) fail_msg("%s", cases[i].words);
    if (cases[i].stuck) assert_true(*slurm_reason_advice(cases[i].words));
  }
}

static void test_script(void **state) {
  static const char *const command[] = {"/opt/it's/sweep", "task", "$(rm)", NULL};
  SlurmSettings s = slurm_settings_default();
  CoreText text = {0};

  taken(&s, "time", "02:00:00");
  taken(&s, "gpus_per_run", "1");
  taken(&s, "gpu_type", "a100");
  taken(&s, "runs_per_task", "2");
  taken(&s, "mem", "4G");
  taken(&s, "extra", "--exclude=n3 --exclusive");

  const SlurmId after[] = {{12, -1}, {13, 4}};
  SlurmJob job = {.name = "fig8",
                  .comment = "sweep=fig8 manifest=ab:0",
                  .directory = "/w \"x\"",
                  .tasks = 10,
                  .running_max = 4,
                  .settings = &s,
                  .after = after,
                  .after_count = 2,
                  .after_each = 15};

  slurm_script_print(&job, command, &text);
  assert_string_equal(
    core_text_string(&text),
    "#!/bin/bash\n#SBATCH --job-name=\"fig8\"\n#SBATCH --comment=\"sweep=fig8 manifest=ab:0\"\n#SBATCH --array=0-9%4\n"
    "#SBATCH --dependency=afterany:12:13_4,aftercorr:15\n#SBATCH --kill-on-invalid-dep=yes\n#SBATCH "
    "--time=02:00:00\n#SBATCH --nodes=1\n#SBATCH --ntasks=1\n"
    "#SBATCH --cpus-per-task=2\n#SBATCH --mem=8192M\n#SBATCH --gres=gpu:a100:2\n#SBATCH --signal=B:USR2@120\n"
    "#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --exclude=n3\n#SBATCH --exclusive\n"
    "#SBATCH --chdir=\"/w \\\"x\\\"\"\n#SBATCH --output=\"/dev/null\"\n"
    "exec '/opt/it'\\''s/sweep' 'task' '$(rm)'\n");

  core_text_clear(&text);
  taken(&s, "modules", "gcc/12");
  taken(&s, "setup", "source ~/venv/bin/activate && ulimit -n 4096");
  slurm_script_print(&job, command, &text);
  assert_non_null(strstr(core_text_string(&text), "#!/bin/bash -l\n"));
  assert_non_null(strstr(core_text_string(&text),
                         "module load gcc/12 || { echo 'module load failed' >&2; exit 1; }\n"
                         "source ~/venv/bin/activate && ulimit -n 4096\nstatus=$?\n[ $status -eq 0 ] || { echo "
                         "\"slurm.setup failed with exit code $status\" >&2; exit 1; }\nexec "));

  core_text_free(&text);
}

static void row(CoreText *text, const char *key, const char *def, const char *kind, const char *help) {
  core_text_appendf(text, "| `%s` | %s | %s | ", key, *def ? def : "-", kind);
  for (; *help; help++) { /* a bar would end the cell */
    if (*help == '|') core_text_append(text, "\\");
    core_text_append_bytes(text, help, 1);
  }
  core_text_append(text, " |\n");
}

/* docs/cluster.md agrees with settings.def. */
static void test_document(void **state) {
  char buffer[32];
  CoreText table = {0};
  char *document;
  size_t size;
  core_text_append(&table, "| key | default | kind | meaning |\n|---|---|---|---|\n");
#define COUNT(key, def, lowest, help) row(&table, #key, #def, "number", help);
#define TIME(key, def, help) row(&table, #key, slurm_time_format(def, buffer), "time", help);
#define SIZE(key, def, help) row(&table, #key, #def, "memory", help);
#define SHARE(key, def, help) row(&table, #key, #def, "number", help);
#define FLAG(key, def, help) row(&table, #key, def ? "yes" : "no", "yes, no", help);
#define ENUM(key, def, choices, help) row(&table, #key, def, "choice", help " (" choices ")");
#define WORD(key, check, help) row(&table, #key, "", "text", help);
#include "slurm/settings.def"
  assert_int_equal(core_files_read("docs/cluster.md", 0, &document, &size), CORE_OK);
  if (!strstr(document, core_text_string(&table)))
    fail_msg("docs/cluster.md should hold this table:\n%s", core_text_string(&table));
  free(document);
  core_text_free(&table);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),      cmocka_unit_test(test_refused_values),
                                     cmocka_unit_test(test_together),    cmocka_unit_test(test_times),
                                     cmocka_unit_test(test_expressions), cmocka_unit_test(test_states),
                                     cmocka_unit_test(test_reasons),
                                     cmocka_unit_test(test_script),      cmocka_unit_test(test_document)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
