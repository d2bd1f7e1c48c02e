/* Published levels: Kinetix' lists of them, and masses as its files have them. The public levels and the reference's
 * own generated ones are read where the data directory is next to the repository. */
#include "test.h"

#include "core/files.h"
#include "core/memory.h"
#include "sim/levels/level_set.h"

#include "level_files.h"

#define PUBLIC_LEVELS "../shared/data/kinetix_levels"
#define GOLDEN_GENERATED "../shared/data/golden/gen"
#define GOLDEN_LOCO "../shared/data/golden/loco"

/* All load and pass the check, and for shapes in use our masses from outline and density are those in the files. */
static void check_masses(const char *path, int expected) {
  SimLevelSet set;
  if (!core_files_exists(path)) {
    print_message("# %s is not here\n", path);
    skip();
  }
  if (sim_level_set_read(path, "", &set) != CORE_OK) fail_msg("%s", core_error_message());
  assert_int_equal(set.count, expected);
  for (int i = 0; i < set.count; i++) {
    assert_int_equal(sim_level_check(&set.level[i]), CORE_OK);
    SimLevel again = set.level[i];
    sim_level_recompute_mass(&again);
    for (int k = 0; k < set.size.polygons + set.size.circles; k++) {
      bool polygon = k < set.size.polygons;
      const SimShape *was = polygon ? &set.level[i].polygon[k] : &set.level[i].circle[k - set.size.polygons];
      const SimShape *is = polygon ? &again.polygon[k] : &again.circle[k - set.size.polygons];
      if (!was->active) continue;
      assert_relative(is->inverse_mass, was->inverse_mass, 1e-5, "inverse mass", again.name, k);
      assert_relative(is->inverse_inertia, was->inverse_inertia, 1e-5, "inverse inertia", again.name, k);
    }
  }
  sim_level_set_free(&set);
}

/* The lists name every file, each once, in the published numbers. */
static void test_published_lists(void **state) {
  static const int counts[] = {10, 24, 40};
  SimLevelSet set;

  for (int i = 0; i < 3; i++) {
    int count = 0;
    while (sim_level_lists[i].files[count]) count++;
    assert_int_equal(count, counts[i]);
    assert_ptr_equal(sim_level_list_find(sim_level_lists[i].name), &sim_level_lists[i]);
  }

  assert_null(sim_level_list_find("kinetix"));
  assert_int_equal(sim_level_set_read("kinetix_s", "", &set), CORE_USAGE);
  assert_message("env.level_folder");
  assert_int_equal(sim_level_set_read("kinetix_s", test_directory, &set), CORE_USAGE);
  assert_message("h0_weak_thrust.json");

  assert_int_equal(sim_level_set_read("s/h0_weak_thrust", "", &set), CORE_USAGE);
  assert_message("env.level_folder");
  assert_int_equal(sim_level_set_read("s/h0_weak_trust", test_directory, &set), CORE_USAGE);
  assert_message("s/h0_weak_trust"); /* not in their list, so it is taken as a file */

  if (!core_files_exists(PUBLIC_LEVELS)) skip();

  assert_int_equal(sim_level_set_read("s/h0_weak_thrust+l/grasp_easy", PUBLIC_LEVELS, &set), CORE_OK);
  assert_int_equal(set.count, 2);
  assert_string_equal(set.level[1].name, "l/grasp_easy");
  sim_level_set_free(&set);

  if (sim_level_set_read("kinetix_s+kinetix_m+kinetix_l", PUBLIC_LEVELS, &set) != CORE_OK)
    fail_msg("%s", core_error_message());
  assert_int_equal(set.count, 74);
  assert_string_equal(set.level[10].name, "m/h0_unicycle");
  assert_int_equal(set.size.polygons, 12);
  sim_level_set_free(&set);
}

static void test_public_levels(void **state) { check_masses(PUBLIC_LEVELS, 74); }
static void test_generated_levels(void **state) { check_masses(GOLDEN_GENERATED, 12); }
static void test_loco_levels(void **state) { check_masses(GOLDEN_LOCO, 6); }

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_published_lists), cmocka_unit_test(test_public_levels),
    cmocka_unit_test(test_generated_levels), cmocka_unit_test(test_loco_levels)};
  return cmocka_run_group_tests_name("published levels", tests, test_directory_make, test_directory_remove);
}
