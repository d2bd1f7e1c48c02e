/* Environment variables that a sweep records, and their values in the process that starts its runs. */
#include "test.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "core/files.h"
#include "store/workspace/paths.h"
#include "sweep/supervise/environment.h"

static char root[] = "/tmp/test_environment.XXXXXX";

static void variables_of_programs_are_recorded(void **state) {
  (void)state;
  static const char *const programs[] = {
    "PATH=/bin", "LD_LIBRARY_PATH=", "LD_PRELOAD=x", "PYTHONPATH=/a", "PYTHONHOME=/a", "VIRTUAL_ENV=/v",
    "CONDA_PREFIX=/c",
    "SWEEP_PYTHON=python", "SWEEP_TRAINER=t", "MUJOCO_HOME=/m", "PROCGEN_HOME=/p", "CUDA_VISIBLE_DEVICES=1",
    "OMP_NUM_THREADS=2", "OPENBLAS_NUM_THREADS=1", "DNNL_VERBOSE=1", "TRAINER_BF16=rounded", "LANG=C", "TZ=UTC",
    "MY_DATA=/data", "HTTPS_PROXY=http://proxy:3128/", "MONKEY=1", "NUMEXPR_MAX_THREADS=1", "XLA_FLAGS=a=b", "EMPTY="};
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
    if (!sweep_environment_is_recorded(programs[i])) fail_msg("%s", programs[i]);
}

static void sessions_jobs_and_secrets_are_not(void **state) {
  (void)state;
  static const char *const others[] = {
    "HOME=/h", "PWD=/", "TMPDIR=/t", "DISPLAY=:0", "SSH_AUTH_SOCK=/s", "TERM=xterm", "TMUX=1", "XDG_RUNTIME_DIR=/r",
    "SLURM_JOB_ID=7", "SLURM_CONF=/e", "SBATCH_EXPORT=NONE", "PMI_RANK=1", "PMIX_RANK=1", "SWEEP_RUN=1", "_=x", "=x",
    "NOTHING",
    "GITHUB_TOKEN=x", "WANDB_API_KEY=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_ACCESS_KEY_ID=x", "db_password=x",
    "MY_PASSWD=x",
    "GOOGLE_APPLICATION_CREDENTIALS=x", "KEY=x", "SLURM_JWT=x", "PGPASSWORD=x", "token=x", "MYSQL_PASS=x",
    "HTTPS_PROXY=http://me:secret@proxy:3128/", "DATABASE_URL=postgres://a:b@h/d", "PIP_INDEX_URL=x https://a:b@c"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (sweep_environment_is_recorded(others[i])) fail_msg("%s", others[i]);
}

/* In a child: applies the record of sweep s over other variables, and checks with `check`. */
static void in_child(SweepEnvironmentMode how, int (*check)(void)) {
  int status;
  const pid_t child = fork();
  if (child == 0) {
    setenv("TEST_SAME", "other", 1), setenv("TEST_MINE", "mine", 1), setenv("SLURM_TEST", "job", 1);
    setenv("CUDA_VISIBLE_DEVICES", "5", 1), unsetenv("TEST_LINES");
    if (chdir("/") != 0) _exit(99);
    sweep_environment_apply(root, "s", how);
    _exit(check());
  }
  waitpid(child, &status, 0);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static bool is(const char *name, const char *value) {
  const char *has = getenv(name);
  return value ? has && strcmp(has, value) == 0 : !has;
}

static int check_exact(void) {
  char directory[CORE_PATH_MAX];
  if (!is("TEST_SAME", "recorded") || !is("TEST_LINES", "a\nb\\n\\")) return 1;
  if (!is("TEST_MINE", NULL) || !is("SLURM_TEST", "job")) return 2;
  if (!is("CUDA_VISIBLE_DEVICES", "3") || !is("TEST_TOKEN", "hush")) return 3; /* the token: this process's own */
  return getcwd(directory, sizeof directory) && strcmp(directory, root) == 0 ? 0 : 4;
}

static int check_over(void) {
  char directory[CORE_PATH_MAX];
  if (!is("TEST_SAME", "recorded") || !is("TEST_LINES", "a\nb\\n\\") || !is("TEST_MINE", "mine")) return 1;
  if (!is("CUDA_VISIBLE_DEVICES", "5") || !is("SLURM_TEST", "job")) return 2;
  return getcwd(directory, sizeof directory) && strcmp(directory, "/") == 0 ? 0 : 3;
}

static int check_under(void) { return is("TEST_SAME", "other") && is("TEST_LINES", "a\nb\\n\\") ? 0 : 1; }
static int check_nothing(void) { return is("TEST_SAME", "other") && is("TEST_LINES", NULL) ? 0 : 1; }

static void a_record_is_applied_as_asked(void **state) {
  (void)state;
  char path[CORE_PATH_MAX], *data;
  size_t size;
  struct stat file;
  assert_int_equal(store_path_sweep(root, "s", NULL, path), CORE_OK);
  assert_int_equal(core_files_make_directories(path), CORE_OK);
  setenv("TEST_SAME", "recorded", 1), setenv("TEST_LINES", "a\nb\\n\\", 1), setenv("TEST_TOKEN", "hush", 1);
  setenv("CUDA_VISIBLE_DEVICES", "3", 1), unsetenv("TEST_MINE");
  assert_int_equal(chdir(root), 0);
  assert_int_equal(sweep_environment_record(root, "s"), CORE_OK);
  assert_int_equal(store_path_sweep(root, "s", "environment", path), CORE_OK);
  assert_int_equal(stat(path, &file), 0);
  assert_int_equal(file.st_mode & 0777, 0600);
  assert_int_equal(core_files_read(path, 0, &data, &size), CORE_OK);
  assert_null(strstr(data, "hush"));
  free(data);
  in_child(SWEEP_ENVIRONMENT_REPLACE, check_exact);
  in_child(SWEEP_ENVIRONMENT_OVERRIDE, check_over);
  in_child(SWEEP_ENVIRONMENT_FILL, check_under);
}

/* Writes a record in place: its sweep's directory and inode stay the same. */
static void overwrite(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* A copy of the record in another workspace is applied; another text, or that of another sweep, is not. */
static void a_copy_is_applied_and_another_text_is_not(void **state) {
  (void)state;
  char path[CORE_PATH_MAX], other[CORE_PATH_MAX], list[CORE_PATH_MAX], *data;
  size_t size;
  CoreText text = {0};

  assert_int_equal(store_path_sweep(root, "s", "environment", path), CORE_OK);
  assert_int_equal(core_files_read(path, 0, &data, &size), CORE_OK);
  core_text_appendf(&text, "%sTEST_LINES=injected\n", data);
  overwrite(path, text.data);
  in_child(SWEEP_ENVIRONMENT_REPLACE, check_nothing);

  assert_int_equal(store_path_sweep(root, "s", NULL, path), CORE_OK);
  assert_int_equal(store_path_sweep(root, "other", NULL, other), CORE_OK);
  assert_int_equal(rename(path, other), 0);
  assert_int_equal(core_files_make_directories(path), CORE_OK); /* another inode */

  assert_int_equal(store_path_sweep(root, "s", "environment", path), CORE_OK);
  assert_int_equal(core_files_write_atomic(path, data, size), CORE_OK);
  assert_int_equal(chmod(path, 0600), 0);
  in_child(SWEEP_ENVIRONMENT_REPLACE, check_exact);

  assert_int_equal(setenv("TEST_MINE", "not recorded for s", 1), 0);
  assert_int_equal(sweep_environment_record(root, "other"), CORE_OK);
  assert_int_equal(store_path_sweep(root, "other", "environment", other), CORE_OK);
  assert_int_equal(rename(other, path), 0);
  in_child(SWEEP_ENVIRONMENT_REPLACE, check_nothing);
  unsetenv("TEST_MINE");

  assert_int_equal(core_files_path(list, "%s/config/sweep/trusted", root), CORE_OK);
  assert_int_equal(chmod(list, 0620), 0); /* a list that others may write: the record is kept, and not applied */
  assert_int_equal(sweep_environment_record(root, "s"), CORE_OK);
  in_child(SWEEP_ENVIRONMENT_REPLACE, check_nothing);
  assert_int_equal(chmod(list, 0600), 0);
  in_child(SWEEP_ENVIRONMENT_REPLACE, check_exact);

  core_text_free(&text);
  free(data);
}

static void what_others_could_have_written_is_not_taken(void **state) {
  (void)state;
  char path[CORE_PATH_MAX], aside[CORE_PATH_MAX];

  assert_int_equal(store_path_sweep(root, "s", "environment", path), CORE_OK);
  assert_int_equal(store_path_sweep(root, "s", "aside", aside), CORE_OK);
  assert_int_equal(chmod(path, 0620), 0); /* its group */
  in_child(SWEEP_ENVIRONMENT_REPLACE, check_nothing);
  assert_int_equal(chmod(path, 0600), 0);

  assert_int_equal(link(path, aside), 0); /* a second name */
  in_child(SWEEP_ENVIRONMENT_REPLACE, check_nothing);

  assert_int_equal(unlink(path), 0);
  assert_int_equal(symlink(aside, path), 0);
  in_child(SWEEP_ENVIRONMENT_REPLACE, check_nothing);

  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkfifo(path, 0600), 0);
  in_child(SWEEP_ENVIRONMENT_REPLACE, check_nothing);
  assert_int_equal(unlink(path), 0);

  in_child(SWEEP_ENVIRONMENT_REPLACE, check_nothing); /* there is none */
  assert_int_equal(core_files_write_atomic(path, "garbage", 7), CORE_OK);
  assert_int_equal(chmod(path, 0600), 0);
  in_child(SWEEP_ENVIRONMENT_REPLACE, check_nothing);

  if (geteuid() != 0) return;
  assert_int_equal(rename(aside, path), 0);
  assert_int_equal(chown(path, 12001, 12001), 0); /* another user's */
  in_child(SWEEP_ENVIRONMENT_REPLACE, check_nothing);
  assert_int_equal(chown(path, 0, 0), 0);
  in_child(SWEEP_ENVIRONMENT_OVERRIDE, check_over);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(variables_of_programs_are_recorded),
    cmocka_unit_test(sessions_jobs_and_secrets_are_not),
    cmocka_unit_test(a_record_is_applied_as_asked),
    cmocka_unit_test(a_copy_is_applied_and_another_text_is_not),
    cmocka_unit_test(what_others_could_have_written_is_not_taken),
  };
  char config[CORE_PATH_MAX];
  if (!mkdtemp(root) || core_files_path(config, "%s/config", root) != CORE_OK) return 1;
  setenv("XDG_CONFIG_HOME", config, 1); /* the list of trusted code */
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  core_files_remove_tree(root);
  return failed;
}
