/* Invalid level files, one file (tests/fuzz/corpus/level/bad-*.json, so that the fuzzer starts from them, too) or
 * directory per kind: each is rejected with its name, the position and the reason. And the writer, whose output
 * reads back to the same level. */
#include "test.h"

#include <sys/stat.h>

#include "core/files.h"
#include "sim/batch/filter.h"
#include "sim/levels/level_set.h"
#include "sim/physics/level.h"

#define CORPUS "tests/fuzz/corpus/level"

static void each_wrong_file_is_refused_with_its_place(void **state) {
  static const struct { const char *file, *message; } CASES[] = {
    {"bad-truncated", ":17:29: not valid JSON"},
    {"bad-missing-field", ": env_state.polygon[4].restitution: missing"},
    {"bad-wrong-type", ": env_state.circle[0].radius: expected a number, found a text"},
    {"bad-nan", ":19:104: not valid JSON: invalid token near 'NaN'"},
    {"bad-infinity", ":19:102: not valid JSON: invalid token"},
    {"bad-too-large", ": env_state.polygon[4].angular_velocity: 1e+39 is out of range"},
    {"bad-index", ": env_state.joint[0].b_index: 7 is not a shape, expected 0..6"},
    {"bad-thruster-index", ": env_state.thruster[0].object_index: -1 is not a shape, expected 0..6"},
    {"bad-more-entities", ": env_state.polygon: 5 entries, but static_env_params.num_polygons is 4"},
    {"bad-too-many", ": static_env_params.num_polygons: 13 is out of range, expected 4 to 12"},
    {"bad-counter-clockwise", ": env_state.polygon[4].vertices: not convex and clockwise"},
    {"bad-concave", ": env_state.polygon[4].vertices: not convex and clockwise at corner 2"},
    {"bad-zero-mass", ": env_state.polygon[4].density: 0 gives a moving body zero mass"},
    {"bad-half-fixated", ": env_state.polygon[4]: inverse_mass and inverse_inertia must be both 0"},
    {"bad-joint-to-itself", ": env_state.joint[0].b_index: the joint connects shape 4 to itself"},
    {"bad-newer-version", ": level_version: 2; this program reads version 1; a newer one is needed"},
    {"bad-newer-thing", ": env_state.spring: unknown field; the file is from a newer version"},
  };

  SimLevel level;
  if (sim_level_read(CORPUS "/good.json", &level) != CORE_OK) fail_msg("%s", core_error_message());

  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    char path[512];
    CoreText expected = {0};
    snprintf(path, sizeof path, CORPUS "/%s.json", CASES[i].file);
    if (sim_level_read(path, &level) != CORE_USAGE) fail_msg("%s was not refused", path);

    core_text_append(&expected, path);
    core_text_append(&expected, CASES[i].message);
    assert_message(expected.data);
    core_text_free(&expected);
  }
}

static void a_huge_file_is_refused_unread(void **state) {
  SimLevel level;
  char path[512];
  snprintf(path, sizeof path, "%s/huge.json", test_directory);
  assert_int_equal(core_files_write_atomic(path, "", 0), CORE_OK);
  assert_int_equal(truncate(path, (off_t)1 << 40), 0); /* takes no room on the disk */
  assert_int_equal(sim_level_read(path, &level), CORE_USAGE);
  assert_message("huge.json: 1048576.0 MiB; a level file has at most 8 MiB");
}

static void write_level(const SimLevel *level, const char *path) {
  CoreText json = {0};
  assert_int_equal(sim_level_write(level, &json), CORE_OK);
  assert_int_equal(core_files_write_atomic(path, json.data, json.length), CORE_OK);
  core_text_free(&json);
}

static void sets_of_nothing_and_of_one_name_twice_are_refused(void **state) {
  SimLevelSet set;
  SimLevel level;
  char path[512], list[1100];
  snprintf(path, sizeof path, "%s/empty", test_directory);
  assert_int_equal(core_files_make_directories(path), CORE_OK);
  assert_int_equal(sim_level_set_read(path, "", &set), CORE_USAGE);
  assert_message("/empty: no level files (*.json) in this directory");
  snprintf(path, sizeof path, "%s/good.json", test_directory);
  assert_int_equal(sim_level_read(CORPUS "/good.json", &level), CORE_OK);
  write_level(&level, path);
  snprintf(list, sizeof list, CORPUS "/good.json+%s", path);
  assert_int_equal(sim_level_set_read(list, "", &set), CORE_USAGE);
  assert_message("/good.json: a second level named 'good' in one set");
}

static void assert_reads_back(const SimLevel *level) {
  CoreText json = {0};
  SimLevel again;
  char name[128];
  if (sim_level_write(level, &json) != CORE_OK) fail_msg("%s", core_error_message());
  snprintf(name, sizeof name, "%s.json", level->name[0] ? level->name : "level");
  if (sim_level_parse(name, json.data, json.length, &again) != CORE_OK) fail_msg("%s", core_error_message());
  if (level->name[0]) assert_string_equal(again.name, level->name);
  assert_memory_equal(&again.size, &level->size, sizeof again.size);
  for (int i = 0; i < level->size.polygons; i++)
    assert_memory_equal(&again.polygon[i], &level->polygon[i], offsetof(SimShape, active));
  for (int i = 0; i < level->size.circles; i++)
    assert_memory_equal(&again.circle[i], &level->circle[i], offsetof(SimShape, active));
  for (int i = 0; i < level->size.joints; i++)
    assert_memory_equal(&again.joint[i], &level->joint[i], offsetof(SimJoint, active));
  for (int i = 0; i < level->size.thrusters; i++)
    assert_memory_equal(&again.thruster[i], &level->thruster[i], offsetof(SimThruster, active));
  core_text_free(&json);
}

static void what_is_written_reads_back_bit_for_bit(void **state) {
  SimLevelSet set;
  const SimSize sizes[] = {SIM_SIZE_S, SIM_SIZE_M, SIM_SIZE_L};
  assert_int_equal(sim_morphology_set("all", "all", 64, &set), CORE_OK);
  for (int i = 0; i < set.count; i++) assert_reads_back(&set.level[i]);
  sim_level_set_free(&set);
  for (int k = 0; k < 3; k++) {
    assert_int_equal(sim_generate_set(sizes[k], 16, &set), CORE_OK);
    for (int i = 0; i < set.count; i++) assert_reads_back(&set.level[i]);
    sim_level_set_free(&set);
  }
}

static void a_wrong_level_is_not_written(void **state) {
  CoreText json = {0};
  SimLevel level = sim_level_empty(SIM_SIZE_S, true);
  level.polygon[4].x = 1e30f;
  assert_int_equal(sim_level_write(&level, &json), CORE_USAGE);
  assert_message("polygon[4].position.0");
  assert_int_equal(json.length, 0);
  level = sim_level_empty(SIM_SIZE_S, true);
  level.polygon[4].rotation = -0.0f;
  assert_reads_back(&level); /* the sign of a zero too */
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_wrong_file_is_refused_with_its_place), cmocka_unit_test(a_huge_file_is_refused_unread),
    cmocka_unit_test(sets_of_nothing_and_of_one_name_twice_are_refused),
    cmocka_unit_test(what_is_written_reads_back_bit_for_bit), cmocka_unit_test(a_wrong_level_is_not_written)};
  return cmocka_run_group_tests_name("level_hostile", tests, test_directory_make, test_directory_remove);
}
