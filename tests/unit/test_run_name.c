/* store/run_name: every way to name a run gives its id; names of no run, of several runs, or of a run of another
 * workspace are rejected with the name. */
#include "test.h"

#include "store_workspace.h"

#include "store/workspace/run_name.h"

static const char *const ids[] = {"0123456789abcdef", "0123aaaaaaaaaaaa", "4567456745674567"};
static const char *const waiting = "0123bbbbbbbbbbbb"; /* in a manifest only */

static void make_directory(const char *where, const char *name) {
  char path[CORE_PATH_MAX];
  assert_ok(core_files_path(path, "%s/%s", where, name));
  assert_ok(core_files_make_directories(path));
}

static void make_workspace(const char *where) {
  char directory[CORE_PATH_MAX], path[CORE_PATH_MAX], name[64], text[256];
  for (size_t i = 0; i < 3; i++) {
    snprintf(name, sizeof name, "runs/%.2s/%s", ids[i], ids[i]);
    make_directory(where, name);
  }
  make_directory(where, "sweeps/study");
  make_directory(where, "runs/45/not-a-run");
  assert_ok(core_files_path(directory, "%s/sweeps/study", where));
  assert_ok(core_files_path(path, "%s/manifest.tsv", directory));
  snprintf(text, sizeof text, "# manifest 1 study\nindex\trun\n0\t%s\n1\t%s\nnonsense\n", ids[2], waiting);
  write_text(path, text);
}

static void assert_finds(const char *text, const char *id) {
  char found[CORE_RUN_ID];
  if (store_run_find(root, text, found) != CORE_OK) fail_msg("%s: %s", text, core_error_message());
  assert_string_equal(found, id);
}

static void assert_refuses(const char *text, const char *words) {
  char found[CORE_RUN_ID];
  if (store_run_find(root, text, found) != CORE_USAGE) fail_msg("'%s' was taken for a run", text);
  assert_message(words);
}

static void test_ids(void **state) {
  (void)state;
  make_workspace(root);
  assert_finds("0123456789abcdef", ids[0]);
  assert_finds("01234", ids[0]);
  assert_finds("4567", ids[2]);
  assert_finds("0123b", waiting);
  assert_refuses("0123", "3 runs of ");
  assert_message("begin with '0123': 0123456789abcdef, 0123aaaaaaaaaaaa, 0123bbbbbbbbbbbb; give more digits");
  assert_refuses("012", "at least 4 of its first digits");
  assert_refuses("ffff", "has an id that begins with 'ffff'");
  assert_message(root);
  assert_refuses("0123456789abcdef0", "is not a run");
  assert_refuses("zzz", "'zzz' is not a run of ");
  assert_refuses("", "is not a run");
}

static void test_indices(void **state) {
  (void)state;
  make_workspace(root);
  assert_finds("study/0", ids[2]);
  assert_finds("study/1", waiting);
  assert_refuses("study/2", "study has the indices 0 to 1");
  assert_refuses("study/-1", "is not a run");
  assert_refuses("study/x", "is not a run");
  assert_refuses("other/0", "expected SWEEP/INDEX of a sweep there, or a run's directory");
  assert_refuses("/0", "is not a run");
  assert_refuses("../../etc", "is not a run");
}

static void test_directories(void **state) {
  (void)state;
  char path[CORE_PATH_MAX], before[CORE_PATH_MAX], other[CORE_PATH_MAX];
  make_workspace(root);
  assert_ok(core_files_path(path, "%s/runs/01/%s", root, ids[0]));
  assert_finds(path, ids[0]);
  assert_finds("runs/01/0123456789abcdef", ids[0]);
  assert_finds("runs/01/0123456789abcdef/", ids[0]);
  assert_finds("runs/01/01234", ids[0]);
  assert_finds("runs/0123bbbb", waiting);
  assert_refuses("runs/45/not-a-run", "is not a run");
  assert_refuses("runs/45/01234567", "is not a run"); /* another shard */
  assert_refuses("xruns/45/4567", "is not a run");
  assert_refuses("runs/01/0123", "give more digits");
  /* From within, as the shell completes it; and of another workspace. */
  assert_non_null(getcwd(before, sizeof before));
  assert_ok(core_files_path(path, "%s/runs/01", root));
  assert_int_equal(chdir(path), 0);
  assert_finds("./0123456789abcdef/", ids[0]);
  assert_int_equal(chdir(before), 0);
  assert_ok(core_files_path(other, "%s/other", root));
  make_workspace(other);
  assert_ok(core_files_path(path, "%s/runs/45/%s/", other, ids[2]));
  assert_refuses(path, "is a run of the workspace ");
  assert_message("add --root ");
}

static void test_pick(void **state) {
  (void)state;
  static const char known[][CORE_RUN_ID] = {"0123456789abcdef", "0123aaaaaaaaaaaa"};
  size_t index;
  assert_ok(store_run_pick(known, 2, "0123a", "sweep s", &index));
  assert_int_equal(index, 1);
  assert_int_equal(store_run_pick(known, 2, "0", "sweep s", &index), CORE_USAGE);
  assert_message("2 runs of sweep s begin with '0'");
  assert_int_equal(store_run_pick(known, 2, "5", "sweep s", &index), CORE_USAGE);
  assert_message("no run of sweep s has an id that begins with '5'");
}

static void test_origin(void **state) {
  (void)state;
  make_workspace(root);
  assert_ok(store_run_check_origin(root, ""));
  assert_ok(store_run_check_origin(root, "runs/01/0123456789abcdef/ckpt/x.ckpt"));
  assert_ok(store_run_check_origin(root, "run:0123456789abcdef@7"));
  assert_ok(store_run_check_origin(root, "run:{ppo.com=8}"));
  assert_int_equal(store_run_check_origin(root, "run:4567@12"), CORE_USAGE);
  assert_message("the whole id has to stand there: run:4567456745674567@12");
  assert_int_equal(store_run_check_origin(root, "run:0123"), CORE_USAGE);
  assert_message("init.from = run:0123: 3 runs of ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    WORKSPACE_TEST(test_ids), WORKSPACE_TEST(test_indices), WORKSPACE_TEST(test_directories),
    WORKSPACE_TEST(test_pick), WORKSPACE_TEST(test_origin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
