/* store/paths: only safe names become paths; the workspace is found and must be a directory. */
#include "test.h"

#include "store_workspace.h"

static void test_root(void **state) {
  (void)state;
  char found[CORE_PATH_MAX], path[CORE_PATH_MAX], real[CORE_PATH_MAX];
  assert_non_null(realpath(root, real));
  assert_ok(store_root(root, found));
  assert_string_equal(found, real);
  setenv("SWEEP_ROOT", root, 1);
  assert_ok(store_root(NULL, found));
  assert_string_equal(found, real);
  setenv("SWEEP_ROOT", "/does/not/exist", 1);
  assert_int_equal(store_root(NULL, found), CORE_FAIL);
  assert_message("/does/not/exist");
  assert_ok(store_root(root, found)); /* the option wins */
  unsetenv("SWEEP_ROOT");
  assert_ok(store_root(NULL, found));
  assert_int_equal(*found, '/');
  assert_ok(core_files_path(path, "%s/file", root));
  write_text(path, "x");
  assert_int_equal(store_root(path, found), CORE_FAIL);
  assert_message("not a directory");
  assert_int_equal(store_root("", found), CORE_FAIL);
}

static void test_paths(void **state) {
  (void)state;
  char path[CORE_PATH_MAX];
  assert_ok(store_path_database("/w", path));
  assert_string_equal(path, "/w/results.db");
  assert_ok(store_path_sweep("/w", "fig8_ddr", NULL, path));
  assert_string_equal(path, "/w/sweeps/fig8_ddr");
  assert_ok(store_path_sweep("/w", "fig8_ddr", "sweep.ini", path));
  assert_string_equal(path, "/w/sweeps/fig8_ddr/sweep.ini");
  assert_ok(store_path_run("/w", "0123456789abcdef", "state", path));
  assert_string_equal(path, "/w/runs/01/0123456789abcdef/state");
  assert_ok(store_path_run("/w", "0123456789abcdef", NULL, path));
  assert_string_equal(path, "/w/runs/01/0123456789abcdef");
  assert_ok(store_path_profile("/w", "0123456789abcdef", 999, path));
  assert_string_equal(path, "/w/runs/01/0123456789abcdef/profile.999.tsv");
  assert_ok(store_path_profile("/w", "0123456789abcdef", 12345, path));
  assert_string_equal(path, "/w/runs/01/0123456789abcdef/profile/12/profile.12345.tsv");
}

/* Only directories with a run id in the shard of its first digits are runs. */
static void test_list(void **state) {
  (void)state;
  static const char *const directories[] = {"runs/0123456789abcdef",   "runs/01/0123aaaaaaaaaaaa",
                                            "runs/01/0122000000000000",
                                            "runs/45/4567456745674567", "runs/01/4567000000000000",
                                            "runs/45/not-a-run",        "runs/xy/0123bbbbbbbbbbbb"};
  char path[CORE_PATH_MAX], expected[CORE_PATH_MAX], (*ids)[CORE_RUN_ID];
  size_t count;

  assert_ok(store_path_list_runs(root, NULL, &ids, &count));
  assert_int_equal(count, 0);
  free(ids);
  for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
    assert_ok(core_files_path(path, "%s/%s", root, directories[i]));
    assert_ok(core_files_make_directories(path));
  }

  assert_ok(store_path_list_runs(root, NULL, &ids, &count));
  assert_int_equal(count, 3);
  assert_string_equal(ids[0], "0122000000000000");
  assert_string_equal(ids[1], "0123aaaaaaaaaaaa");
  assert_string_equal(ids[2], "4567456745674567");
  free(ids);

  assert_ok(store_path_list_runs(root, "0123", &ids, &count));
  assert_int_equal(count, 1);
  free(ids);
  assert_ok(store_path_list_runs(root, "0", &ids, &count));
  assert_int_equal(count, 2);
  free(ids);

  assert_ok(store_path_run(root, "0123aaaaaaaaaaaa", NULL, path));
  assert_ok(core_files_path(expected, "%s/runs/01/0123aaaaaaaaaaaa", root));
  assert_string_equal(path, expected);
  assert_ok(store_path_run(root, "ffffffffffffffff", NULL, path));
  assert_ok(core_files_path(expected, "%s/runs/ff/ffffffffffffffff", root));
  assert_string_equal(path, expected);
}

static void test_hostile_names(void **state) {
  (void)state;
  static const char *const names[] = {"", ".", "..", "../x", "a/b", "/etc", "a\nb", "a b", "-rf",
                                      "'; DROP TABLE run; --"};
  static const char *const ids[] = {"", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "../../etc/passwd",
                                    "0123456789abcde/", "0123456789abcde\n"};
  char path[CORE_PATH_MAX];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    assert_int_equal(store_path_sweep("/w", names[i], NULL, path), CORE_USAGE);
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    assert_false(store_is_run_id(ids[i]));
    assert_int_equal(store_path_run("/w", ids[i], NULL, path), CORE_USAGE);
  }
  char longest[CORE_PATH_MAX];
  memset(longest, 'a', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  assert_int_equal(store_path_database(longest, path), CORE_USAGE);
}

static void test_filesystem(void **state) {
  (void)state;
  assert_false(store_is_network_filesystem("/proc/self/status")); /* local by nature */
  assert_false(store_is_network_filesystem("/proc/no/such/thing"));
  assert_false(store_is_network_filesystem("/dev/shm/no_such_file"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    WORKSPACE_TEST(test_root), cmocka_unit_test(test_paths), WORKSPACE_TEST(test_list),
    cmocka_unit_test(test_hostile_names),
    cmocka_unit_test(test_filesystem),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
