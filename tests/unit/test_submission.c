/* sweep/batch: locations of the files of a sweep's submissions, so that no directory gets a thousand; files of an
 * older version stay readable. */
#include "test.h"

#include <dirent.h>

#include "store/workspace/paths.h"
#include "sweep/cluster/batch.h"

static char root[] = "/tmp/test_submission.XXXXXX";

static void make_batch(const char *workspace, int64_t number, CoreText *text) {
  const SlurmSettings settings = slurm_settings_default();
  const CoreConfig config = core_config_default();
  char id[CORE_RUN_ID];
  core_config_id(&config, id);
  sweep_batch_append_head(workspace, "study", number, &settings, false, &config, text);
  sweep_batch_append_run(&config, 0, id, &config, text);
}

static void write_batch(int64_t number, char hash[SWEEP_HASH]) {
  CoreText text = {0};
  make_batch(root, number, &text);
  sweep_batch_hash(&text, hash);
  if (sweep_batch_write(root, "study", number, &text) != CORE_OK) fail_msg("%s", core_error_message());
  core_text_free(&text);
}

static void assert_reads(int64_t number, const char *hash) {
  SweepBatch batch;
  if (sweep_batch_read(root, "study", number, &batch) != CORE_OK) fail_msg("%s", core_error_message());
  assert_string_equal(batch.hash, hash);
  assert_int_equal(batch.count, 1);
  sweep_batch_free(&batch);
}

static size_t count_entries(const char *inner) {
  char path[CORE_PATH_MAX], **names;
  size_t count;
  assert_int_equal(core_files_path(path, "%s/sweeps/study/%s", root, inner), CORE_OK);
  assert_int_equal(core_files_list(path, &names, &count), CORE_OK);
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  return count;
}

static void test_directories(void **state) {
  (void)state;
  char hash[40][SWEEP_HASH], path[CORE_PATH_MAX];
  for (int number = 1; number < 40; number++) write_batch(number, hash[number]);
  for (int number = 1; number < 40; number++) assert_reads(number, hash[number]);
  assert_int_equal(count_entries("batches"), 8 + 4); /* 1 to 8, and directories 1 to 4 */
  assert_int_equal(count_entries("batches/1"), 9);
  assert_int_equal(sweep_batch_output(root, "study", 8, 105, path), CORE_OK);
  assert_non_null(strstr(path, "/sweeps/study/batches/000008.5.log"));
  assert_int_equal(sweep_batch_output(root, "study", 17, 105, path), CORE_OK);
  assert_non_null(strstr(path, "/sweeps/study/batches/1/000017.5.log"));
}

/* Batches that an older version put straight into batches/, whose jobs may still wait. */
static void test_older(void **state) {
  (void)state;
  char hash[SWEEP_HASH], from[CORE_PATH_MAX], to[CORE_PATH_MAX], path[CORE_PATH_MAX];
  write_batch(50, hash);
  assert_int_equal(core_files_path(from, "%s/sweeps/study/batches/5/000050.tsv", root), CORE_OK);
  assert_int_equal(core_files_path(to, "%s/sweeps/study/batches/000050.tsv", root), CORE_OK);
  assert_int_equal(rename(from, to), 0);
  assert_reads(50, hash);
  assert_int_equal(sweep_batch_output(root, "study", 50, 0, path), CORE_OK);
  assert_non_null(strstr(path, "/batches/000050.0.log"));
}

/* Jobs are known by their batch's hash: two people may submit one experiment, each in their own workspace. */
static void test_workspaces(void **state) {
  (void)state;
  static const char *const workspaces[] = {"/home/ada/study", "/home/ben/study", "/home/ada/study"};
  char hash[3][SWEEP_HASH];
  for (int i = 0; i < 3; i++) {
    CoreText text = {0};
    make_batch(workspaces[i], 1, &text);
    sweep_batch_hash(&text, hash[i]);
    core_text_free(&text);
  }
  assert_string_not_equal(hash[0], hash[1]);
  assert_string_equal(hash[0], hash[2]);
}

/* Batch file of a version that did not record the workspace. */
static void test_without_workspace(void **state) {
  (void)state;
  char hash[SWEEP_HASH];
  CoreText text = {0};
  make_batch(root, 60, &text);
  char *line = strstr(text.data, "root\t"), *next = strchr(line, '\n') + 1;
  text.length -= (size_t)(next - line);
  memmove(line, next, strlen(next) + 1);
  sweep_batch_hash(&text, hash);
  assert_int_equal(sweep_batch_write(root, "study", 60, &text), CORE_OK);
  core_text_free(&text);
  assert_reads(60, hash);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_directories), cmocka_unit_test(test_older),
                                     cmocka_unit_test(test_workspaces), cmocka_unit_test(test_without_workspace)};
  if (!mkdtemp(root)) return 1;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  if (core_files_remove_tree(root) != CORE_OK) return 1;
  return failed;
}
