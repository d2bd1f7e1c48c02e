/* store/code: what runs is what was hashed, whatever happens to the file. */
#include "test.h"

#include "store_workspace.h"

#include "store/code/code.h"

static char library[CORE_PATH_MAX];

static void write_library(const char *text) {
  char directory[CORE_PATH_MAX];
  assert_ok(core_files_path(directory, "%s", root));
  assert_ok(core_files_path(library, "%s/env.so", directory));
  assert_ok(core_files_write_atomic(library, text, strlen(text)));
}

static const StoreCode *find(void) {
  const StoreCode *code;
  CoreConfig config = core_config_default();
  snprintf(config.env.task, sizeof config.env.task, "library:%.200s/x", library);
  assert_ok(store_code_find(&config, &code));
  return code;
}

static void test_copy(void **state) {
  (void)state;
  char bytes[16] = "";
  int fd;
  write_library("good");
  assert_ok(store_code_open(find(), library, &fd));
  FILE *file = fopen(library, "r+"); /* in place, as by a member of the group */
  assert_non_null(file);
  fputs("evil", file);
  fclose(file);
  assert_int_equal(pread(fd, bytes, sizeof bytes, 0), 4);
  assert_string_equal(bytes, "good");
  close(fd);
  store_code_clear_cache();
}

static void test_changed(void **state) {
  (void)state;
  int fd;
  write_library("good");
  const StoreCode *code = find();
  write_library("evil");
  assert_int_equal(store_code_open(code, library, &fd), CORE_FAIL);
  assert_message("env.so: changed after it was hashed");
  write_library("good");
  assert_ok(store_code_open(code, library, &fd));
  close(fd);
  store_code_clear_cache();
}

static void test_other_file(void **state) {
  (void)state;
  char other[CORE_PATH_MAX];
  int fd;
  write_library("good");
  const StoreCode *code = find();
  assert_ok(core_files_path(other, "%s/other.so", root));
  assert_ok(core_files_write_atomic(other, "good", 4)); /* equal bytes, not hashed */
  assert_int_equal(store_code_open(code, other, &fd), CORE_FAIL);
  store_code_clear_cache();
}

int main(void) {
  const struct CMUnitTest tests[] = {WORKSPACE_TEST(test_copy), WORKSPACE_TEST(test_changed),
                                     WORKSPACE_TEST(test_other_file)};
  return cmocka_run_group_tests_name("code_open", tests, NULL, NULL);
}
