/* sweep/manifest and the names of sweep/sweep: stable indices, damaged files, resolution of run names. */
#include "test.h"

#include <sys/stat.h>

#include "core/files.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/sweep.h"

static int record(const char *text, SweepManifest *manifest, SweepManifestChange *change) {
  SweepSpec spec;
  SweepGrid grid;
  assert_int_equal(sweep_spec_parse("f.ini", text, NULL, NULL, 0, &spec), CORE_OK);
  assert_int_equal(sweep_grid_expand(&spec, &grid), CORE_OK);
  int code = sweep_manifest_record(test_directory, &grid, manifest, change);
  sweep_grid_free(&grid);
  sweep_spec_free(&spec);
  return code;
}

static char *read_text(const char *file) {
  char path[CORE_PATH_MAX], *text;
  size_t size;
  assert_int_equal(store_path_sweep(test_directory, "s", file, path), CORE_OK);
  assert_int_equal(core_files_read(path, 0, &text, &size), CORE_OK);
  return text;
}

static void write_text(const char *file, const char *text) {
  char path[CORE_PATH_MAX];
  assert_int_equal(store_path_sweep(test_directory, "s", NULL, path), CORE_OK);
  assert_int_equal(core_files_make_directories(path), CORE_OK);
  assert_int_equal(store_path_sweep(test_directory, "s", file, path), CORE_OK);
  assert_int_equal(core_files_write_atomic(path, text, strlen(text)), CORE_OK);
}

#define TEXT_OF(epochs) "[sweep]\nname = s\n[grid g]\nppo.epochs = " epochs "\n"

/* ---- writing --------------------------------------------------------------------------------------------------- */

static void test_written_form(void **state) {
  (void)state;
  SweepManifest manifest, again;
  SweepManifestChange change;
  char expected[256];
  assert_int_equal(record(TEXT_OF("1, 2"), &manifest, &change), CORE_OK);
  assert_int_equal(change.added, 2);
  assert_int_equal(change.kept + change.absent, 0);
  snprintf(expected, sizeof expected, "# manifest 1 s\nindex\trun\n0\t%s\n1\t%s\n", manifest.ids[0], manifest.ids[1]);
  char *text = read_text("manifest.tsv");
  assert_string_equal(text, expected);
  free(text);
  assert_int_equal(sweep_manifest_read(test_directory, "s", &again), CORE_OK);
  assert_int_equal(again.count, 2);
  assert_memory_equal(again.ids, manifest.ids, 2 * sizeof *again.ids);
  sweep_manifest_free(&again);
  sweep_manifest_free(&manifest);
}

static void test_indices_never_change(void **state) {
  (void)state;
  SweepManifest first, second;
  SweepManifestChange change;
  assert_int_equal(record(TEXT_OF("1, 2, 4"), &first, &change), CORE_OK);
  assert_int_equal(record(TEXT_OF("8, 4, 2"), &second, &change), CORE_OK); /* 1 is gone, 8 is new, another order */
  assert_int_equal(change.kept, 2);
  assert_int_equal(change.added, 1);
  assert_int_equal(change.absent, 1);
  assert_int_equal(second.count, 4);
  assert_memory_equal(second.ids, first.ids, 3 * sizeof *first.ids);
  sweep_manifest_free(&first);
  sweep_manifest_free(&second);
}

static void test_same_file_twice_changes_nothing(void **state) {
  (void)state;
  SweepManifest manifest;
  SweepManifestChange change;
  assert_int_equal(record(TEXT_OF("1, 2"), &manifest, &change), CORE_OK);
  sweep_manifest_free(&manifest);
  char *manifest_text = read_text("manifest.tsv"), *ini_text = read_text("sweep.ini");
  assert_int_equal(record(TEXT_OF("1, 2"), &manifest, &change), CORE_OK);
  sweep_manifest_free(&manifest);
  assert_int_equal(change.added + change.absent, 0);
  char *manifest_again = read_text("manifest.tsv"), *ini_again = read_text("sweep.ini");
  assert_string_equal(manifest_text, manifest_again);
  assert_string_equal(ini_text, ini_again);
  free(manifest_text);
  free(manifest_again);
  free(ini_text);
  free(ini_again);
}

static void test_merge_writes_nothing(void **state) {
  (void)state;
  SweepSpec spec;
  SweepGrid grid;
  SweepManifest manifest;
  SweepManifestChange change;
  char path[CORE_PATH_MAX];
  assert_int_equal(sweep_spec_parse("f.ini", TEXT_OF("1"), NULL, NULL, 0, &spec), CORE_OK);
  assert_int_equal(sweep_grid_expand(&spec, &grid), CORE_OK);
  assert_int_equal(sweep_manifest_merge(test_directory, &grid, &manifest, &change), CORE_OK);
  assert_int_equal(manifest.count, 1);
  assert_int_equal(change.absent, 0);
  assert_int_equal(core_files_path(path, "%s/sweeps", test_directory), CORE_OK);
  assert_false(core_files_exists(path));
  sweep_manifest_free(&manifest);
  sweep_grid_free(&grid);
  sweep_spec_free(&spec);
}

/* ---- damage ---------------------------------------------------------------------------------------------------- */

#define ID "0123456789abcdef"

static void test_damaged_manifests(void **state) {
  (void)state;
  static const struct { const char *text, *message; } cases[] = {
    {"", "not a manifest"},
    {"hello\n", "not a manifest"},
    {"# manifest 2 s\nindex\trun\n", "another version"},
    {"# manifest 1 t\nindex\trun\n", "manifest of t"},
    {"# manifest 1 s\n", ":2: damaged"},
    {"# manifest 1 s\nindex,run\n", ":2: damaged"},
    {"# manifest 1 s\nindex\trun\n1\t" ID "\n", ":3: damaged"},
    {"# manifest 1 s\nindex\trun\n0\t" ID "\n0\tfedcba9876543210\n", ":4: damaged"},
    {"# manifest 1 s\nindex\trun\n0\t" ID "\n1\t" ID "\n", ":4: damaged"},
    {"# manifest 1 s\nindex\trun\n0\t" ID "\n1\tfedcba98", ":4: damaged"},
    {"# manifest 1 s\nindex\trun\n0\t" ID "\n1\tfedcba9876543210", ":4: damaged"}, /* no newline: perhaps cut */
    {"# manifest 1 s\nindex\trun\n0\t../../etc/passwd\n", ":3: damaged"},
    {"# manifest 1 s\nindex\trun\n0\t0123456789ABCDEF\n", ":3: damaged"},
    {"# manifest 1 s\nindex\trun\n0\t0123456789abcdef0\n", ":3: damaged"},
  };

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    SweepManifest manifest;
    SweepManifestChange change;
    write_text("manifest.tsv", cases[i].text);
    assert_int_equal(sweep_manifest_read(test_directory, "s", &manifest), CORE_FAIL);
    if (!strstr(core_error_message(), cases[i].message))
      fail_msg("\"%s\" is not in \"%s\"", cases[i].message, core_error_message());

    /* Recording must refuse too, and leave the damaged file for a person to look at. */
    assert_int_equal(record(TEXT_OF("1"), &manifest, &change), CORE_FAIL);
    char *text = read_text("manifest.tsv");
    assert_string_equal(text, cases[i].text);
    free(text);
  }
}

static void test_unwritable_directory(void **state) {
  (void)state;
  SweepManifest manifest;
  SweepManifestChange change;
  if (geteuid() == 0) skip(); /* root may write anywhere */
  assert_int_equal(chmod(test_directory, 0500), 0);
  assert_int_equal(record(TEXT_OF("1"), &manifest, &change), CORE_FAIL);
  assert_message(test_directory);
  assert_int_equal(chmod(test_directory, 0700), 0);
}

static void test_file_in_place_of_the_directory(void **state) {
  (void)state;
  SweepManifest manifest;
  SweepManifestChange change;
  char path[CORE_PATH_MAX];
  assert_int_equal(core_files_path(path, "%s/sweeps", test_directory), CORE_OK);
  assert_int_equal(core_files_write_atomic(path, "x", 1), CORE_OK);
  assert_int_equal(record(TEXT_OF("1"), &manifest, &change), CORE_FAIL);
  assert_message(path);
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

static void test_unknown_sweeps(void **state) {
  (void)state;
  SweepManifest manifest;
  SweepManifestChange change;
  assert_int_equal(sweep_manifest_read(test_directory, "fig8", &manifest), CORE_USAGE);
  assert_message("which has no sweeps");
  assert_int_equal(record("[sweep]\nname = fig8_ddr\n", &manifest, &change), CORE_OK);
  sweep_manifest_free(&manifest);
  assert_int_equal(sweep_manifest_read(test_directory, "fig8_dr", &manifest), CORE_USAGE);
  assert_message("did you mean fig8_ddr?");
  assert_int_equal(sweep_manifest_read(test_directory, "another", &manifest), CORE_USAGE);
  assert_message("it has: fig8_ddr");
  assert_int_equal(sweep_manifest_read(test_directory, "../x", &manifest), CORE_USAGE);
}

static void test_sweep_by_name(void **state) {
  (void)state;
  SweepCommon common = {0};
  SweepSpec spec;
  SweepManifest manifest;
  SweepManifestChange change;
  char name[SWEEP_NAME];
  snprintf(common.root, sizeof common.root, "%s", test_directory);
  assert_int_equal(record(TEXT_OF("1, 2"), &manifest, &change), CORE_OK);
  sweep_manifest_free(&manifest);
  assert_int_equal(sweep_common_spec(&common, "s", &spec), CORE_OK);
  assert_true(spec.frozen);
  assert_string_equal(spec.name, "s");
  sweep_spec_free(&spec);
  assert_int_equal(sweep_common_name(&common, "s", name), CORE_OK);
  assert_string_equal(name, "s");
  common.profile = "demo";
  assert_int_equal(sweep_common_spec(&common, "s", &spec), CORE_USAGE);
  assert_message("--profile demo");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_directory_make, test_directory_remove)
  const struct CMUnitTest tests[] = {
    TEST(test_written_form), TEST(test_indices_never_change), TEST(test_same_file_twice_changes_nothing),
    TEST(test_merge_writes_nothing), TEST(test_damaged_manifests), TEST(test_unwritable_directory),
    TEST(test_file_in_place_of_the_directory),
    TEST(test_unknown_sweeps),
    TEST(test_sweep_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
