/* Levels: the empty scene, masses, expansion, the check, and level files good and bad. */
#include "test.h"

#include <sys/stat.h>

#include "core/files.h"
#include "core/memory.h"
#include "sim/levels/level_set.h"
#include "sim/physics/level.h"

#include "level_files.h"

/* ---- a small level file that the tests damage ------------------------------------------------------------------ */

static void write_shape(CoreText *text, const SimShape *s, bool last) {
  core_text_appendf(text, "{\"position\": {\"0\": %.9g, \"1\": %.9g}, \"rotation\": %.9g, \"velocity\": {\"0\": %.9g, "
                    "\"1\": %.9g}, \"angular_velocity\": %.9g, \"inverse_mass\": %.9g, \"inverse_inertia\": %.9g, "
                    "\"friction\": %.9g, \"restitution\": %.9g, \"collision_mode\": %d, \"active\": %s, "
                    "\"n_vertices\": %d, \"vertices\": {", s->x, s->y, s->rotation, s->vx, s->vy, s->angular_velocity,
                    s->inverse_mass, s->inverse_inertia, s->friction, s->restitution, s->collision_mode,
                    s->active ? "true" : "false", s->vertex_count);
  for (int i = 0; i < SIM_VERTICES; i++)
    core_text_appendf(text, "\"%d\": {\"0\": %.9g, \"1\": %.9g}%s", i, s->vertex_x[i], s->vertex_y[i],
                      i < 3 ? ", " : "");
  core_text_appendf(text, "}, \"radius\": %.9g, \"role\": %d, \"density\": %.9g, \"highlighted\": false}%s\n",
                    s->radius, s->role, s->density, last ? "" : ",");
}

static void write_level(CoreText *text, const SimLevel *l) {
  core_text_append(text, "{\"env_state\": {\"polygon\": [\n");
  for (int i = 0; i < l->size.polygons; i++) write_shape(text, &l->polygon[i], i == l->size.polygons - 1);
  core_text_append(text, "], \"circle\": [\n");
  for (int i = 0; i < l->size.circles; i++) write_shape(text, &l->circle[i], i == l->size.circles - 1);
  core_text_append(text, "], \"joint\": [\n");
  for (int i = 0; i < l->size.joints; i++) {
    const SimJoint *j = &l->joint[i];
    core_text_appendf(text, "{\"a_index\": %d, \"b_index\": %d, \"a_relative_pos\": {\"0\": %.9g, \"1\": %.9g}, "
                      "\"b_relative_pos\": {\"0\": %.9g, \"1\": %.9g}, \"global_position\": {\"0\": 0.0, \"1\": 0.0}, "
                      "\"active\": %s, \"motor_speed\": %.9g, \"motor_power\": %.9g, \"motor_on\": %s, "
                      "\"motor_has_joint_limits\": %s, \"min_rotation\": %.9g, \"max_rotation\": %.9g, "
                      "\"is_fixed_joint\": %s, \"rotation\": %.9g, \"motor_binding\": %d}%s\n", j->a, j->b, j->a_x,
                      j->a_y, j->b_x, j->b_y, j->active ? "true" : "false", j->motor_speed, j->motor_power,
                      j->motor_on ? "true" : "false", j->has_limits ? "true" : "false", j->min_rotation,
                      j->max_rotation, j->fixed ? "true" : "false", j->rotation, j->motor_binding,
                      i < l->size.joints - 1 ? "," : "");
  }
  core_text_append(text, "], \"thruster\": [\n");
  for (int i = 0; i < l->size.thrusters; i++) {
    const SimThruster *t = &l->thruster[i];
    core_text_appendf(text, "{\"object_index\": %d, \"relative_position\": {\"0\": %.9g, \"1\": %.9g}, "
                      "\"rotation\": %.9g, \"power\": %.9g, \"global_position\": {\"0\": 0.0, \"1\": 0.0}, "
                      "\"active\": %s, "
                      "\"thruster_binding\": %d}%s\n", t->shape, t->x, t->y, t->rotation, t->power,
                      t->active ? "true" : "false", t->binding, i < l->size.thrusters - 1 ? "," : "");
  }
  core_text_appendf(text, "]}, \"static_env_params\": {\"num_polygons\": %d, \"num_circles\": %d, \"num_joints\": %d, "
                    "\"num_thrusters\": %d, \"max_polygon_vertices\": 4, \"num_static_fixated_polys\": 4, "
                    "\"num_motor_bindings\": 4, \"num_thruster_bindings\": 2}}\n", l->size.polygons, l->size.circles,
                    l->size.joints, l->size.thrusters);
}

/* A body with a wheel, a motor, a thruster and a goal, size M. */
static SimLevel small_level(void) {
  SimLevel level = sim_level_empty(SIM_SIZE_M, true);
  SimShape *body = &level.polygon[4], *wheel = &level.circle[0], *goal = &level.circle[1];
  const float x[] = {-0.3f, 0.3f, 0.3f, -0.3f}, y[] = {0.1f, 0.1f, -0.1f, -0.1f};
  for (int i = 0; i < SIM_VERTICES; i++) body->vertex_x[i] = x[i], body->vertex_y[i] = y[i];
  body->x = 1;
  body->y = 1;
  body->role = SIM_ROLE_GREEN;
  wheel->radius = 0.2f;
  wheel->x = 1;
  wheel->y = 0.9f;
  goal->radius = 0.3f;
  goal->x = 4;
  goal->y = 1;
  goal->role = SIM_ROLE_BLUE;
  body->active = wheel->active = goal->active = true;
  body->inverse_mass = body->inverse_inertia = wheel->inverse_mass = wheel->inverse_inertia = 1;
  level.joint[0] = (SimJoint){.a = 4, .b = 6, .b_y = 0.1f, .motor_speed = 2, .motor_power = 1, .min_rotation = -0.5f,
                              .max_rotation = 0.25f, .motor_binding = 3, .active = true, .motor_on = true};
  level.thruster[1] = (SimThruster){.shape = 6, .power = 0.5f, .rotation = 1, .binding = 1, .active = true};
  sim_level_recompute_mass(&level);
  return level;
}

static void store(const char *name, const char *data, size_t size, char path[512]) {
  snprintf(path, 512, "%s/%s", test_directory, name);
  assert_int_equal(core_files_write_atomic(path, data, size), CORE_OK);
}

static void store_level(const char *name, const SimLevel *level, char path[512]) {
  CoreText text = {0};
  write_level(&text, level);
  store(name, text.data, text.length, path);
  core_text_free(&text);
}

/* The small level's text with the first `from` after `after` replaced by `to`. */
static void store_edited(const char *after, const char *from, const char *to, char path[512]) {
  SimLevel level = small_level();
  CoreText text = {0}, edited = {0};
  write_level(&text, &level);
  char *start = strstr(text.data, after);
  assert_non_null(start);
  start = strstr(start, from);
  if (!start) fail_msg("nothing like %s", from);
  core_text_append_bytes(&edited, text.data, (size_t)(start - text.data));
  core_text_append(&edited, to);
  core_text_append(&edited, start + strlen(from));
  store("edited.json", edited.data, edited.length, path);
  core_text_free(&text);
  core_text_free(&edited);
}

/* ---- structs --------------------------------------------------------------------------------------------------- */

static void test_empty_scene(void **state) {
  SimLevel level = sim_level_empty(SIM_SIZE_L, false), corrected = sim_level_empty(SIM_SIZE_L, true);
  assert_int_equal(sim_level_check(&level), CORE_OK);
  assert_float_equal(level.polygon[0].y + level.polygon[0].vertex_y[0], 0.4f, 1e-6f);
  assert_float_equal(level.polygon[2].vertex_x[0], 5, 0);
  assert_float_equal(level.polygon[3].vertex_x[0], 5, 0);
  assert_float_equal(corrected.polygon[3].vertex_x[0], 2.5f, 0);
  for (int i = 0; i < SIM_STATIC_POLYGONS; i++) {
    assert_true(level.polygon[i].active);
    assert_int_equal(level.polygon[i].collision_mode, 2);
    assert_float_equal(level.polygon[i].inverse_mass, 0, 0);
  }
  assert_false(level.polygon[4].active);
  assert_int_equal(level.polygon[4].collision_mode, 1);
  assert_float_equal(level.gravity_y, -9.81f, 0);
}

static void test_mass(void **state) {
  SimLevel level = small_level();
  double mass = 0.6 * 0.2, radius = 0.2;
  assert_relative(level.polygon[4].inverse_mass, 1 / mass, 1e-6, "mass", "small", 4);
  assert_relative(level.polygon[4].inverse_inertia, 12 / (mass * (0.6 * 0.6 + 0.2 * 0.2)), 1e-6, "inertia", "small", 4);
  assert_relative(level.circle[0].inverse_mass, 1 / (M_PI * radius * radius), 1e-6, "mass", "small", 6);
  assert_relative(level.circle[0].inverse_inertia, 4 / (M_PI * pow(radius, 4)), 1e-6, "inertia", "small", 6);
  assert_float_equal(level.circle[1].inverse_mass, 0, 0); /* fixated stays fixated */
  for (int i = 0; i < SIM_VERTICES; i++) level.polygon[4].vertex_x[i] += 0.5f;
  level.polygon[4].density = 2;
  sim_level_recompute_mass(&level);
  assert_float_equal(level.polygon[4].x, 1.5f, 1e-6f); /* outline and position are re-centered */
  assert_float_equal(level.polygon[4].vertex_x[0], -0.3f, 1e-6f);
  assert_relative(level.polygon[4].inverse_mass, 0.5 / mass, 1e-6, "mass", "small", 4);
}

static void test_expand(void **state) {
  SimLevel level = small_level();
  assert_int_equal(sim_level_expand(&level, SIM_SIZE_L), CORE_OK);
  assert_int_equal(level.size.polygons, 12);
  assert_int_equal(level.joint[0].a, 4);
  assert_int_equal(level.joint[0].b, 12);
  assert_int_equal(level.thruster[1].shape, 12);
  assert_int_equal(level.thruster[0].shape, 0);
  assert_int_equal(level.polygon[11].vertex_count, 0);
  assert_int_equal(level.polygon[11].collision_mode, 0);
  assert_float_equal(level.circle[0].radius, 0.2f, 0);
  assert_int_equal(sim_level_check(&level), CORE_OK);
  assert_int_equal(sim_level_expand(&level, SIM_SIZE_M), CORE_USAGE);
  assert_message("does not fit");
  assert_int_equal(sim_level_expand(&level, (SimSize){99, 4, 6, 2}), CORE_USAGE);
  assert_message("at most 12 polygons");
}

static void expect_refused(const SimLevel *level, const char *message) {
  assert_int_equal(sim_level_check(level), CORE_USAGE);
  assert_message(message);
}

static void test_check(void **state) {
  const SimLevel good = small_level();
  SimLevel bad;

  assert_int_equal(sim_level_check(&good), CORE_OK);
  bad = good, bad.polygon[4].x = NAN, expect_refused(&bad, "polygon[4].position.0: nan");
  bad = good, bad.circle[0].vy = INFINITY, expect_refused(&bad, "circle[0].velocity.1: inf");
  bad = good, bad.polygon[5].rotation = NAN, expect_refused(&bad, "polygon[5].rotation");

  bad = good, bad.polygon[4].vertex_x[0] = 0.9f, bad.polygon[4].vertex_y[0] = -0.5f;
  expect_refused(&bad, "polygon[4].vertices: not convex and clockwise");
  bad = good, bad.polygon[4].vertex_x[1] = -0.3f, expect_refused(&bad, "polygon[4].vertices: corners 0 and 1 coincide");
  bad = good, bad.polygon[4].vertex_count = 2,
    expect_refused(&bad, "polygon[4].n_vertices: 2 is out of range, expected 3..4");

  bad = good, bad.polygon[4].inverse_mass = 0, expect_refused(&bad, "polygon[4]: inverse_mass and inverse_inertia");
  bad = good, bad.circle[0].inverse_mass = -1, expect_refused(&bad, "circle[0].inverse_mass: negative");
  bad = good, bad.polygon[4].density = 0, expect_refused(&bad, "polygon[4].density: 0 gives a moving body zero mass");
  bad = good, bad.circle[1].radius = 0, expect_refused(&bad, "circle[1].radius");
  bad = good, bad.polygon[2].inverse_mass = bad.polygon[2].inverse_inertia = 1;
  expect_refused(&bad, "polygon[2].inverse_mass: floor, walls and ceiling");

  bad = good, bad.polygon[4].role = 4, expect_refused(&bad, "polygon[4].role: 4 is out of range, expected 0..3");
  bad = good, bad.circle[2].collision_mode = -1, expect_refused(&bad, "circle[2].collision_mode");

  bad = good, bad.joint[0].b = 9, expect_refused(&bad, "joint[0].b_index: 9 is not a shape, expected 0..8");
  bad = good, bad.joint[0].b = 4, expect_refused(&bad, "joint[0].b_index: the joint connects shape 4 to itself");
  bad = good, bad.joint[0].motor_binding = 4, expect_refused(&bad, "joint[0].motor_binding");
  bad = good, bad.joint[0].has_limits = true, bad.joint[0].min_rotation = 1;
  expect_refused(&bad, "joint[0].min_rotation: 1 is above max_rotation");

  bad = good, bad.thruster[1].shape = -1, expect_refused(&bad, "thruster[1].object_index: -1 is not a shape");
  bad = good, bad.thruster[1].power = NAN, expect_refused(&bad, "thruster[1].power");

  bad = good, bad.size.polygons = 13, expect_refused(&bad, "polygon: 13 slots");
  bad = good, bad.size.joints = -1, expect_refused(&bad, "joint: -1 slots");
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static void test_read_what_was_written(void **state) {
  char path[512];
  SimLevel level = small_level(), read;
  store_level("car.json", &level, path);
  if (sim_level_read(path, &read) != CORE_OK) fail_msg("%s", core_error_message());
  assert_string_equal(read.name, "car");
  for (int i = 0; i < level.size.polygons; i++)
    assert_memory_equal(&read.polygon[i], &level.polygon[i], sizeof(SimShape));
  assert_memory_equal(read.circle, level.circle, sizeof level.circle);
  assert_int_equal(read.joint[0].b, 6);
  assert_float_equal(read.joint[0].min_rotation, -0.5f, 0);
  assert_int_equal(read.joint[0].motor_binding, 3);
  assert_true(read.joint[0].motor_on && !read.joint[0].has_limits && !read.joint[0].fixed);
  assert_float_equal(read.thruster[1].power, 0.5f, 0);
  assert_int_equal(read.thruster[1].binding, 1);
}

typedef struct Damage { const char *after, *from, *to, *message; } Damage;

static void test_damaged_files(void **state) {
  static const Damage cases[] = {
    {"\"joint\"", "\"b_index\": 6", "\"b_index\": 99", "env_state.joint[0].b_index: 99 is not a shape, expected 0..8"},
    {"\"joint\"", "\"a_index\": 4", "\"a_index\": -1", "env_state.joint[0].a_index: -1 is not a shape"},
    {"\"joint\"", "\"a_index\": 4", "\"a_index\": 6",
     "env_state.joint[0].b_index: the joint connects shape 6 to itself"},
    {"\"joint\"", "\"a_index\": 4", "\"a_index\": 4.5", "env_state.joint[0].a_index: expected a whole number"},
    {"\"joint\"", "\"a_index\": 4", "\"a_index\": 4000000000",
     "env_state.joint[0].a_index: 4000000000 is out of range"},
    {"\"joint\"", "\"motor_binding\": 3", "\"motor_binding\": 4",
     "env_state.joint[0].motor_binding: 4 is out of range, expected 0..3"},
    {"\"joint\"", "\"is_fixed_joint\": false", "\"is_fixed_joint\": 0",
     "env_state.joint[0].is_fixed_joint: expected true or false"},
    {"\"joint\"", "\"motor_on\": true, ", "", "env_state.joint[0].motor_on: missing"},
    {"\"thruster\"", "\"object_index\": 6", "\"object_index\": 77",
     "env_state.thruster[1].object_index: 77 is not a shape"},
    {"\"polygon\"", "\"rotation\": 0", "\"rotation\": \"north\"",
     "env_state.polygon[0].rotation: expected a number, found a text"},
    {"\"polygon\"", "\"rotation\": 0", "\"rotation\": NaN", "not valid JSON"},
    {"\"polygon\"", "\"rotation\": 0", "\"rotation\": 1e999", "not valid JSON"},
    {"\"polygon\"", "\"rotation\": 0", "\"rotation\": 1e300", "env_state.polygon[0].rotation: 1e+300 is out of range"},
    {"\"polygon\"", "\"rotation\": 0", "\"rotation\": 1e20",
     "env_state.polygon[0].rotation: 1e+20 is not a valid number"},
    {"\"polygon\"", "\"rotation\": 0", "\"rotation\": 0, \"rotation\": 1", "not valid JSON: duplicate"},
    {"\"polygon\"", "{\"0\": 2.5", "{\"x\": 2.5", "env_state.polygon[0].position.0: missing"},
    {"\"polygon\"", "{\"0\": 2.5, \"1\": -4.80000019}", "[2.5, -4.8]",
     "env_state.polygon[0].position: expected an object"},
    {"\"vertices\"", "\"1\": {", "\"7\": {", "env_state.polygon[0].vertices.1: missing"},
    {"\"circle\"", "\"radius\": 0.200000003", "\"radius\": 0", "env_state.circle[0].radius: 0 must be above 0"},
    {"\"env_state\"", "\"polygon\"", "\"polygons\"", "env_state.polygon: missing"},
    {"\"env_state\"", "\"env_state\"", "\"state\"", "env_state: missing"},
    {"\"static_env_params\"", "\"static_env_params\"", "\"params\"", "static_env_params: missing"},
    {"\"static_env_params\"", "\"num_polygons\": 6", "\"num_polygons\": 400000000",
     "static_env_params.num_polygons: 400000000 is out of range, expected 4 to 12"},
    {"\"static_env_params\"", "\"num_polygons\": 6", "\"num_polygons\": 7",
     "env_state.polygon: 6 entries, but static_env_params.num_polygons is 7"},
    {"\"static_env_params\"", "\"num_joints\": 2", "\"num_joints\": -2", "static_env_params.num_joints: -2"},
    {"\"static_env_params\"", "\"max_polygon_vertices\": 4", "\"max_polygon_vertices\": 8",
     "static_env_params.max_polygon_vertices: 8"},
  };

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char path[512];
    SimLevel level;
    store_edited(cases[i].after, cases[i].from, cases[i].to, path);
    if (sim_level_read(path, &level) != CORE_USAGE) fail_msg("case %zu was not refused: %s", i, cases[i].to);
    assert_message(path);
    assert_message(cases[i].message);
  }
}

/* Every shorter version of a good file is refused with a message, none crashes. */
static void test_truncated(void **state) {
  SimLevel level = small_level(), read;
  CoreText text = {0};
  char path[512];
  write_level(&text, &level);
  for (size_t size = 0; size + 2 < text.length; size += 37) {
    store("cut.json", text.data, size, path);
    assert_int_equal(sim_level_read(path, &read), CORE_USAGE);
    assert_message("cut.json:");
    assert_message("not valid JSON");
  }
  core_text_free(&text);
}

static void test_odd_files(void **state) {
  SimLevel level;
  char path[512];

  store("list.json", "[1, 2]", 6, path);
  assert_int_equal(sim_level_read(path, &level), CORE_USAGE);
  assert_message("expected an object, found a list");

  store("two words.json", "{}", 2, path);
  assert_int_equal(sim_level_read(path, &level), CORE_USAGE);
  assert_message("level name");

  assert_int_equal(sim_level_read(test_directory, &level), CORE_USAGE);
  snprintf(path, sizeof path, "%s/none.json", test_directory);
  assert_int_equal(sim_level_read(path, &level), CORE_USAGE);
  assert_message("none.json: No such file");

  size_t size = (8 << 20) + 1;
  char *blanks = core_memory_allocate(size);
  memset(blanks, ' ', size);
  store("huge.json", blanks, size, path);
  free(blanks);
  assert_int_equal(sim_level_read(path, &level), CORE_USAGE);
  assert_message("at most 8 MiB");

  CoreText deep = {0};
  for (int i = 0; i < 100000; i++) core_text_append(&deep, "{\"a\":");
  store("deep.json", deep.data, deep.length, path);
  core_text_free(&deep);
  assert_int_equal(sim_level_read(path, &level), CORE_USAGE);
  assert_message("not valid JSON");

  char name[128];
  memset(name, 'n', 80);
  memcpy(name + 80, ".json", 6);
  store(name, "{}", 2, path);
  assert_int_equal(sim_level_read(path, &level), CORE_USAGE);
  assert_message("longer than");
}

/* Leftovers in unused slots, as published files have them, are no error and become harmless indices. */
static void test_leftovers(void **state) {
  SimLevel level = small_level(), read;
  char path[512];
  level.joint[1].a = level.joint[1].b = 55;
  level.thruster[0].binding = 3;
  level.circle[2].inverse_mass = 7;
  store_level("leftovers.json", &level, path);
  if (sim_level_read(path, &read) != CORE_OK) fail_msg("%s", core_error_message());
  assert_int_equal(read.joint[1].a, 0);
  assert_int_equal(read.thruster[0].binding, 0);
  assert_float_equal(read.circle[2].inverse_mass, 7, 0);
}

/* ---- sets ------------------------------------------------------------------------------------------------------ */

static void test_sets(void **state) {
  SimLevel level = small_level();
  SimLevelSet set;
  char path[512], list[1200], base[512];

  snprintf(base, sizeof base, "%s/set", test_directory);
  const char *const subs[] = {"set", "set/l", "set/m", "set/other", "set/empty"};
  for (int i = 0; i < 5; i++) {
    snprintf(path, sizeof path, "%s/%s", test_directory, subs[i]);
    assert_int_equal(mkdir(path, 0777), 0);
  }

  store_level("set/b.json", &level, path);
  store_level("set/a.json", &level, path);
  store_level("set/m/a.json", &level, path);
  store_level("set/other/a.json", &level, path);
  store("set/notes.txt", "no level", 8, path);
  SimLevel large = level;
  assert_int_equal(sim_level_expand(&large, SIM_SIZE_L), CORE_OK);
  store_level("set/l/a.json", &large, path);

  if (sim_level_set_read(base, "", &set) != CORE_OK) fail_msg("%s", core_error_message());
  const char *const names[] = {"a", "b", "l/a", "m/a"};
  assert_int_equal(set.count, 4);
  assert_int_equal(set.size.polygons, 12);
  for (int i = 0; i < 4; i++) {
    assert_string_equal(set.level[i].name, names[i]);
    assert_int_equal(set.level[i].joint[0].b, 12);
    assert_int_equal(set.level[i].size.circles, 4);
  }
  sim_level_set_free(&set);

  snprintf(list, sizeof list, "%s/b.json+%s/m", base, base);
  assert_int_equal(sim_level_set_read(list, "", &set), CORE_OK);
  assert_int_equal(set.count, 2);
  assert_int_equal(set.size.polygons, 6);
  sim_level_set_free(&set);

  snprintf(list, sizeof list, "%s/a.json+%s/other/a.json", base, base);
  assert_int_equal(sim_level_set_read(list, "", &set), CORE_USAGE);
  assert_message("a second level named 'a'");
  assert_int_equal(set.count, 0);

  snprintf(list, sizeof list, "%s/empty", base);
  assert_int_equal(sim_level_set_read(list, "", &set), CORE_USAGE);
  assert_message("no level files");

  snprintf(list, sizeof list, "%s/a.json++", base);
  assert_int_equal(sim_level_set_read(list, "", &set), CORE_USAGE);
  assert_message("empty name");

  assert_int_equal(sim_level_set_read("", "", &set), CORE_USAGE);
  assert_message("env.levels is empty");
}

/* Checks levels with shuffled slots, by name and number. */
static void test_shuffled_files(void **state) {
  static const char *const good[] = {"x.permute3.json", "x.json.permute3", "x.permute3"};
  static const char *const bad[] = {"x.permute.json", "x.permute4294967296.json", "x.permute3x.json",
                                    "y.permute3.json"};
  SimLevel level = small_level(), shuffled[2];
  SimLevelSet set;
  char path[512], list[1100];

  store_level("x.json", &level, path);
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", test_directory, good[i]);
    if (sim_level_set_read(path, "", &set) != CORE_OK) fail_msg("%s", core_error_message());
    assert_int_equal(set.count, 1);
    assert_string_equal(set.level[0].name, "x.permute3");
    shuffled[i > 0] = set.level[0];
    assert_memory_equal(&shuffled[0], &set.level[0], sizeof set.level[0]);
    sim_level_set_free(&set);
  }

  int moved = 0;
  for (int k = 0; k < 20; k++) {
    snprintf(list, sizeof list, "%s/x.json+%s/x.permute%d.json", test_directory, test_directory, k);
    assert_int_equal(sim_level_set_read(list, "", &set), CORE_OK);
    const SimLevel *now = &set.level[1];
    const SimJoint *joint = &now->joint[now->joint[0].active ? 0 : 1];
    assert_int_equal(sim_level_check(now), CORE_OK);
    assert_true(now->polygon[joint->a].role == SIM_ROLE_GREEN && now->circle[joint->b - 6].radius == 0.2f);
    moved += joint->b != set.level[0].joint[0].b || joint->a != set.level[0].joint[0].a;
    sim_level_set_free(&set);
  }
  assert_in_range(moved, 10, 19); /* with five slots for both bodies one in six keeps its slot */

  for (int i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "%s/%s", test_directory, bad[i]);
    assert_int_equal(sim_level_set_read(path, "", &set), CORE_USAGE);
  }

  char *long_name = calloc(1, 600);
  snprintf(long_name, 600, "%s/%.58s.json", test_directory,
           "a23456789012345678901234567890123456789012345678901234567890");
  store_level(long_name + strlen(test_directory) + 1, &level, path);
  snprintf(list, sizeof list, "%.*s.permute1", (int)strlen(path), path);
  assert_int_equal(sim_level_set_read(list, "", &set), CORE_USAGE);
  assert_message("longer than 63");
  free(long_name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_empty_scene), cmocka_unit_test(test_mass), cmocka_unit_test(test_expand),
    cmocka_unit_test(test_check), cmocka_unit_test(test_read_what_was_written), cmocka_unit_test(test_damaged_files),
    cmocka_unit_test(test_truncated), cmocka_unit_test(test_odd_files), cmocka_unit_test(test_leftovers),
    cmocka_unit_test(test_sets), cmocka_unit_test(test_shuffled_files)};
  return cmocka_run_group_tests_name("level", tests, test_directory_make, test_directory_remove);
}
