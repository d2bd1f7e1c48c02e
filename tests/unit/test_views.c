/* Named views of the live page: names and addresses of any kind, and a file that others have written or damaged. */
#include "test.h"

#include "store_workspace.h"

#include "store/workspace/views.h"

static void write_views(const char *text) {
  char path[CORE_PATH_MAX];
  assert_ok(core_files_path(path, "%s/annotations", root));
  assert_ok(core_files_make_directories(path));
  assert_ok(core_files_path(path, "%s/annotations/views.json", root));
  write_text(path, text);
}

static void views_are_kept_by_name(void **state) {
  (void)state;
  StoreViews views;
  static const char markup[] = "<img src=x onerror=\"hacked = 1\"> \xc3\xa9 '; DROP TABLE run; --";
  assert_ok(store_views_read(root, &views));
  assert_int_equal(views.count, 0);
  store_views_free(&views);

  assert_ok(store_views_save(root, "kl", "study&metrics=kl"));
  assert_ok(store_views_save(root, markup, "study"));
  assert_ok(store_views_save(root, "kl", "study&metrics=kl,score&filter=a%26b+c"));
  assert_ok(store_views_read(root, &views));
  assert_int_equal(views.count, 2);
  assert_string_equal(views.view[0].name, markup);
  assert_string_equal(views.view[1].address, "study&metrics=kl,score&filter=a%26b+c");
  store_views_free(&views);

  assert_ok(store_views_remove(root, "kl"));
  assert_int_equal(store_views_remove(root, "kl"), CORE_USAGE);
  assert_ok(store_views_read(root, &views));
  assert_int_equal(views.count, 1);
  store_views_free(&views);
}

static void bad_views_are_refused(void **state) {
  (void)state;
  char name[STORE_VIEW_NAME + 1], address[STORE_VIEW_ADDRESS + 1], other[16];
  StoreViews views;
  memset(name, 'n', sizeof name - 1);
  memset(address, 'a', sizeof address - 1);
  name[sizeof name - 1] = address[sizeof address - 1] = '\0';
  static const char *const names[] = {"", "a\nb", "\xff", "hidden \xe2\x80\xae text"};
  static const char *const addresses[] = {"", "study<script>", "study#kl", "a b", "a\"b", "javascript\n"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    assert_int_equal(store_views_save(root, names[i], "study"), CORE_USAGE);
  for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
    assert_int_equal(store_views_save(root, "x", addresses[i]), CORE_USAGE);
  assert_int_equal(store_views_save(root, name, "study"), CORE_USAGE);
  assert_int_equal(store_views_save(root, "x", address), CORE_USAGE);

  for (int i = 0; i < STORE_VIEWS_MAX; i++) {
    snprintf(other, sizeof other, "view %03d", i);
    assert_ok(store_views_save(root, other, "study"));
  }
  assert_int_equal(store_views_save(root, "one more", "study"), CORE_USAGE);
  assert_ok(store_views_save(root, "view 007", "other"));
  assert_ok(store_views_read(root, &views));
  assert_int_equal(views.count, STORE_VIEWS_MAX);
  store_views_free(&views);
}

static void foreign_files_are_no_danger(void **state) {
  (void)state;
  StoreViews views;
  static const char *const damaged[] = {"", "{", "[1, 2]", "null", "\"x\"", "{\"a\": \"b\""};
  for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
    write_views(damaged[i]);
    assert_int_equal(store_views_read(root, &views), CORE_FAIL);
    assert_int_equal(views.count, 0);
    assert_int_equal(store_views_save(root, "x", "study"), CORE_FAIL); /* it is not overwritten */
    store_views_free(&views);
  }

  write_views("{\"good\": \"study\", \"\": \"a\", \"number\": 3, \"list\": [\"a\"], \"bad address\": \"<script>\","
              " \"a\\nb\": \"x\", \"later\": null, \"also good\": \"study&log=x\"}");
  assert_ok(store_views_read(root, &views));
  assert_int_equal(views.count, 2);
  assert_string_equal(views.view[0].name, "also good");
  store_views_free(&views);
}

int main(void) {
  const struct CMUnitTest tests[] = {WORKSPACE_TEST(views_are_kept_by_name), WORKSPACE_TEST(bad_views_are_refused),
                                     WORKSPACE_TEST(foreign_files_are_no_danger)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
