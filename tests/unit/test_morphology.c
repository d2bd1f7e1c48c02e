/* The locomotion families of loco512: structure of all 512 levels against the body plans of
 * docs/simulator.md#families, the same levels on every machine (pinned hashes), subsets, and the acceptance rules. */
#include "test.h"

#include "core/memory.h"
#include "sim/batch/batch.h"
#include "sim/levels/level_set.h"
#include "sim/levels/morphology.h"
#include "tests/level_hash.h"
#include "tests/instruments/morphologies.h"

static SimLevelSet all;

static int draw_all(void **state) { return sim_morphology_set("all", "all", SIM_MORPHOLOGY_LEVELS, &all); }

static int free_all(void **state) {
  sim_level_set_free(&all);
  return 0;
}

static bool is_part(const SimShape *shape) { return shape->active && shape->inverse_mass != 0; }

/* In double and with the library's sines: independent of the generator's arithmetic. */
static void world_point(const SimShape *shape, double x, double y, double *world_x, double *world_y) {
  double c = cos((double)shape->rotation), s = sin((double)shape->rotation);
  *world_x = (double)shape->x + c * x - s * y;
  *world_y = (double)shape->y + s * x + c * y;
}

/* ---- structure ------------------------------------------------------------------------------------------------- */

typedef struct Counts { int rects, wheels, joints, motors, fixed, thrusters; } Counts;

static Counts count_parts(const SimLevel *level) {
  Counts c = {0};
  for (int i = 0; i < level->size.polygons; i++) c.rects += is_part(&level->polygon[i]);
  for (int i = 0; i < level->size.circles; i++) c.wheels += is_part(&level->circle[i]);
  for (int i = 0; i < level->size.thrusters; i++) c.thrusters += level->thruster[i].active;
  for (int i = 0; i < level->size.joints; i++) {
    c.joints += level->joint[i].active;
    c.motors += level->joint[i].active && level->joint[i].motor_on;
    c.fixed += level->joint[i].active && level->joint[i].fixed;
  }
  return c;
}

/* Limits of each family: parts, and joints without a motor (a head, a trailer, a pole). */
static const struct { int rects_min, rects_max, wheels, passive_max, fixed_max; } plans[SIM_MORPHOLOGY_FAMILIES] = {
  {3, 6, 0, 0, 0}, {3, 5, 0, 0, 0}, {5, 6, 0, 1, 1}, {3, 5, 0, 0, 0},
  {1, 2, 2, 1, 0}, {1, 3, 1, 0, 0}, {3, 3, 2, 0, 0}, {3, 6, 0, 0, 0}};

static void test_parts(void **state) {
  int most[SIM_MORPHOLOGY_FAMILIES] = {0}, least[SIM_MORPHOLOGY_FAMILIES], thrusters = 0;
  for (int f = 0; f < SIM_MORPHOLOGY_FAMILIES; f++) least[f] = 99;
  assert_int_equal(all.count, 512);
  for (int i = 0; i < all.count; i++) {
    int f = i % 8;
    Counts c = count_parts(&all.level[i]);
    assert_in_range(c.rects, plans[f].rects_min, plans[f].rects_max);
    assert_int_equal(c.wheels, plans[f].wheels);
    assert_int_equal(c.joints, c.rects + c.wheels - 1); /* a tree of parts */
    assert_in_range(c.joints - c.motors, 0, plans[f].passive_max);
    assert_in_range(c.fixed, 0, plans[f].fixed_max);
    assert_true(c.thrusters == 0 || f == 7);
    thrusters += c.thrusters;
    if (c.rects > most[f]) most[f] = c.rects;
    if (c.rects < least[f]) least[f] = c.rects;
  }
  for (int f = 0; f < SIM_MORPHOLOGY_FAMILIES; f++) { /* every number of parts occurs among 64 levels */
    assert_int_equal(most[f], plans[f].rects_max);
    assert_int_equal(least[f], plans[f].rects_min);
  }
  assert_in_range(thrusters, 1, 16);
}

static void test_roles_and_modes(void **state) {
  for (int i = 0; i < all.count; i++) {
    const SimLevel *level = &all.level[i];
    const SimShape *goal = &level->circle[2];
    int green = 0;
    if (sim_level_check(level) != CORE_OK) fail_msg("%s", core_error_message());
    assert_memory_equal(&level->size, &SIM_SIZE_LOCO, sizeof(SimSize));
    assert_true(goal->active && goal->role == SIM_ROLE_BLUE && goal->collision_mode == 0 && goal->inverse_mass == 0);
    assert_true(goal->radius >= 0.12f && goal->radius <= 0.25f);
    for (int k = 0; k < level->size.polygons + level->size.circles; k++) {
      const SimShape *shape = level_shape_at(level, k);
      if (!shape->active || shape == goal) continue;
      if (k < SIM_STATIC_POLYGONS) assert_true(shape->role == SIM_ROLE_NORMAL && shape->inverse_mass == 0);
      else if (shape->role == SIM_ROLE_GREEN) assert_true(is_part(shape) && shape->collision_mode == 2 && ++green);
      else assert_true(shape->role == SIM_ROLE_NORMAL && shape->collision_mode == 1);
      if (is_part(shape)) assert_true(shape->density >= 0.7f && shape->density <= 1.3f && shape->friction == 1);
    }
    assert_int_equal(green, 1);
  }
}

static int root_of(const SimLevel *level) {
  for (int k = SIM_STATIC_POLYGONS; k < level->size.polygons; k++)
    if (level->polygon[k].active && level->polygon[k].role == SIM_ROLE_GREEN) return k;
  fail_msg("%s has no root", level->name);
  return -1;
}

static void test_joints(void **state) {
  int limited = 0, hinges = 0;
  for (int i = 0; i < all.count; i++) {
    const SimLevel *level = &all.level[i];
    float power = sim_morphology_class(i) == 3 ? 0.8f : 1;
    for (int k = 0; k < level->size.joints; k++) {
      const SimJoint *j = &level->joint[k];
      if (!j->active) continue;

      const SimShape *a = level_shape_at(level, j->a), *b = level_shape_at(level, j->b);
      double ax, ay, bx, by;
      world_point(a, j->a_x, j->a_y, &ax, &ay);
      world_point(b, j->b_x, j->b_y, &bx, &by);
      assert_true(fabs(ax - bx) < 1e-5 && fabs(ay - by) < 1e-5);
      assert_true(fabs(ax - (double)j->global_x) < 1e-5 && fabs(ay - (double)j->global_y) < 1e-5);
      assert_true(j->a < j->b && is_part(a) && is_part(b));

      bool wheel = j->b >= level->size.polygons;
      if (wheel) assert_true(j->motor_on && !j->has_limits && fabsf(j->motor_power - power) < 1e-6f);
      else assert_float_equal(j->rotation, b->rotation - a->rotation, 1e-6);
      if (j->motor_on) assert_true(j->motor_speed >= 1.5f && j->motor_speed <= 3);
      if (j->motor_on && !wheel)
        assert_true(j->motor_power >= 1.5f * power - 1e-6f && j->motor_power <= 3 * power + 1e-6f);

      if (!wheel && !j->fixed) hinges++, limited += j->has_limits;
      if (j->has_limits)
        assert_true(j->min_rotation >= -1.2f && j->min_rotation <= -0.4f && j->max_rotation >= 0.4f &&
                    j->max_rotation <= 1.2f);
    }
  }
  assert_float_equal((double)limited / hinges, 0.9, 4 * sqrt(0.09 / hinges));
}

static void test_bindings(void **state) {
  int shared = 0;
  for (int i = 0; i < all.count; i++) {
    const SimLevel *level = &all.level[i];
    bool car = i % 8 == 4;
    for (int k = 0; k < level->size.joints; k++) {
      const SimJoint *j = &level->joint[k];
      if (!j->active || !j->motor_on) continue;
      if (car && k == 1 && j->motor_binding == 0) shared++;
      else assert_int_equal(j->motor_binding, k % 4);
    }
  }
  assert_in_range(shared, 16, 48); /* half of 64 cars */
  const SimLevel *walker = &all.level[2];
  for (int k = 0; k < 4; k++) /* thighs hang from the torso, shins from the thighs */
    assert_int_equal(walker->joint[k].a, k < 2 ? SIM_STATIC_POLYGONS : SIM_STATIC_POLYGONS + k - 1);
  for (int i = 0; i < all.count; i += 8) { /* a chain's root is its middle link */
    Counts c = count_parts(&all.level[i]);
    assert_int_equal(root_of(&all.level[i]), SIM_STATIC_POLYGONS + c.rects / 2);
  }
}

static void grow(double box[4], double x, double y, double margin) {
  box[0] = fmin(box[0], x - margin);
  box[1] = fmax(box[1], x + margin);
  box[2] = fmin(box[2], y - margin);
  box[3] = fmax(box[3], y + margin);
}

static void bounds(const SimLevel *level, double box[4]) {
  box[0] = box[2] = INFINITY;
  box[1] = box[3] = -INFINITY;
  for (int k = 0; k < level->size.polygons + level->size.circles; k++) {
    const SimShape *shape = level_shape_at(level, k);
    double x, y;
    if (!is_part(shape)) continue;
    if (k >= level->size.polygons) grow(box, shape->x, shape->y, shape->radius);
    for (int v = 0; k < level->size.polygons && v < SIM_VERTICES; v++) {
      world_point(shape, shape->vertex_x[v], shape->vertex_y[v], &x, &y);
      grow(box, x, y, 0);
    }
  }
}

static void test_places(void **state) {
  static const float near[] = {0.8f, 1.4f, 2.2f, 2.8f}, far[] = {1.4f, 2.2f, 3.0f, 3.6f};
  int leftward = 0;
  for (int i = 0; i < all.count; i++) {
    const SimLevel *level = &all.level[i];
    const SimShape *root = &level->polygon[root_of(level)], *goal = &level->circle[2];
    int class = sim_morphology_class(i);
    double box[4], way = fabs((double)goal->x - (double)root->x);
    bounds(level, box);
    assert_float_equal(box[2], 0.42, 1e-5); /* 2 cm above the floor */
    assert_true(box[0] > 0.3 - 1e-5 && box[1] < 4.7 + 1e-5 && box[3] < 4.95);
    assert_true(goal->x >= 0.2f + goal->radius && goal->x <= 4.8f - goal->radius);
    assert_true(goal->y >= 0.4f + goal->radius && goal->y <= 2.0f);
    bool clamped = goal->x - goal->radius < 0.2001f || goal->x + goal->radius > 4.7999f;
    assert_true(way <= (double)far[class] + 1e-5 && (clamped || way >= (double)near[class] - 1e-5));
    if (goal->x < root->x) leftward++, assert_true(box[1] >= 4 - 1e-5);
    else assert_true(box[0] <= 1 + 1e-5);
  }
  assert_in_range(leftward, 200, 312); /* fair: 256 +- 4 sd 11.3 */
}

static void test_steps(void **state) {
  for (int i = 0; i < all.count; i++) {
    const SimLevel *level = &all.level[i];
    const SimShape *root = &level->polygon[root_of(level)], *goal = &level->circle[2];
    int class = sim_morphology_class(i), steps = 0;
    for (int k = SIM_STATIC_POLYGONS; k < level->size.polygons; k++) {
      const SimShape *step = &level->polygon[k];
      if (!step->active || is_part(step)) continue;
      float share = (step->x - root->x) / (goal->x - root->x), height = 2 * step->vertex_y[0];
      steps++;
      assert_float_equal(step->y - step->vertex_y[0], 0.4f, 1e-6); /* on the floor */
      assert_true(share >= 0.4f - 1e-4f && share <= 0.7f + 1e-4f);
      assert_true(height >= (class == 2 ? 0.03f : 0.06f) && height <= (class == 2 ? 0.08f : 0.14f));
    }
    bool room = count_parts(level).rects < SIM_SIZE_LOCO.polygons - SIM_STATIC_POLYGONS;
    assert_int_equal(steps, class >= 2 && room);
  }
}

/* ---- the same on every machine --------------------------------------------------------------------------------- */

static uint64_t hash_set(const char *morphologies) {
  uint64_t hash = LEVEL_HASH_START;
  SimLevelSet set;
  assert_int_equal(sim_morphology_set(morphologies, "all", SIM_MORPHOLOGY_LEVELS, &set), CORE_OK);
  assert_int_equal(set.count, SIM_MORPHOLOGY_LEVELS);
  for (int i = 0; i < set.count; i++) hash = level_hash(hash, &set.level[i]);
  sim_level_set_free(&set);
  return hash;
}

/* A change here changes every experiment on these levels: give the new levels a new name instead. */
static void test_pinned(void **state) {
  const uint64_t public_hash = hash_set("public"), family_hash = hash_set("all");
  if (public_hash != 0x0122b5570f8d1b06u) fail_msg("public: 0x%016llx", (unsigned long long)public_hash);
  if (family_hash != 0xa5c755ea6baa9db6u) fail_msg("families: 0x%016llx", (unsigned long long)family_hash);
}

/* ---- subsets --------------------------------------------------------------------------------------------------- */

static void expect_count(const char *morphologies, const char *difficulty, int count, int expected) {
  SimLevelSet set;
  if (sim_morphology_set(morphologies, difficulty, count, &set) != CORE_OK) fail_msg("%s", core_error_message());
  assert_int_equal(set.count, expected);
  sim_level_set_free(&set);
}

static void expect_error(const char *morphologies, const char *difficulty, int count, const char *message) {
  SimLevelSet set;
  assert_int_equal(sim_morphology_set(morphologies, difficulty, count, &set), CORE_USAGE);
  assert_message(message);
  assert_null(set.level);
  sim_level_set_free(&set);
}

static void test_subsets(void **state) {
  SimLevelSet set;
  expect_count("car", "all", 512, 64);
  expect_count("car+tree", "0+1", 512, 64);
  expect_count("tree+car+tree", "3", 512, 32);
  expect_count("all", "2", 1 << 20, 128);
  expect_count("all", "all", 10, 10);
  expect_count("public", "all", 7, 7);
  assert_int_equal(sim_morphology_set("unicycle+car", "2", 3, &set), CORE_OK);
  const char *const names[] = {"car-2-020", "unicycle-2-021", "car-2-052"};
  for (int i = 0; i < 3; i++) assert_string_equal(set.level[i].name, names[i]);
  assert_memory_equal(&set.level[1].polygon, &all.level[21].polygon, sizeof all.level[21].polygon);
  sim_level_set_free(&set);
  expect_error("cra", "all", 512, "env.morphologies: unknown 'cra', did you mean 'car'?");
  expect_error("car+hoper", "all", 512, "did you mean 'hopper'?");
  expect_error("elephant", "all", 512, "known: public, all, or chain hopper");
  expect_error("car+", "all", 512, "unknown ''");
  expect_error("", "all", 512, "env.morphologies");
  expect_error("car+public", "all", 512, "unknown 'public'");
  expect_error("car", "4", 512, "env.difficulty: unknown '4'");
  expect_error("public", "0", 512, "have no classes");
  expect_error("car", "all", 0, "env.level_count: 0");
  expect_error("car", "all", -5, "env.level_count: -5");
}

/* ---- acceptance ------------------------------------------------------------------------------------------------ */

static void test_fits(void **state) {
  const char *reason = NULL;
  for (int i = 0; i < all.count; i++)
    if (!sim_morphology_fits(&all.level[i], &reason)) fail_msg("%s: %s", all.level[i].name, reason);
  SimLevel level = all.level[0]; /* a flat chain */
  SimShape *root = &level.polygon[root_of(&level)];
  level.circle[2].x = root->x;
  level.circle[2].y = root->y + 0.15f;
  assert_false(sim_morphology_fits(&level, &reason));
  assert_string_equal(reason, "the root touches the goal");
  level = all.level[0];
  root = &level.polygon[root_of(&level)];
  root->y = 0.4f;
  assert_false(sim_morphology_fits(&level, &reason));
  assert_string_equal(reason, "a part is outside the arena");
  level = all.level[20]; /* a car with a step on its way */
  root = &level.polygon[root_of(&level)];
  SimShape *step = NULL;
  for (int k = SIM_STATIC_POLYGONS; k < level.size.polygons; k++)
    if (level.polygon[k].active && !is_part(&level.polygon[k])) step = &level.polygon[k];
  assert_non_null(step);
  step->x = root->x;
  step->y = root->y;
  assert_false(sim_morphology_fits(&level, &reason));
  assert_string_equal(reason, "a part is inside a static or the step");
}

static void test_noop_solves_nothing(void **state) {
  enum { LEVELS = 512, STEPS = 128 };
  static uint8_t actions[LEVELS * SIM_ACTIONS], done[LEVELS];
  static int32_t level[LEVELS];
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch = NULL;
  options.worlds = LEVELS;
  for (int w = 0; w < LEVELS; w++) level[w] = w;
  assert_int_equal(sim_batch_create(&options, &all, &batch), CORE_OK);
  sim_batch_reset_to(batch, level, NULL);
  for (int step = 0; step < STEPS; step++) {
    sim_batch_step(batch, actions, &(SimStepOut){.done = done});
    for (int w = 0; w < LEVELS; w++)
      if (done[w]) fail_msg("%s ended after %d steps of doing nothing", all.level[w].name, step + 1);
  }
  assert_int_equal(sim_batch_nonfinite(batch), 0);
  sim_batch_destroy(&batch);
}

/* With other random actions than the search's: rarely above its bound of 0.2, and far below on average. */
static void test_random_solves_little(void **state) {
  enum { LEVELS = 64, EPISODES = 16 };
  float rate[LEVELS];
  SimLevelSet sample = {all.level, LEVELS, all.size};
  double sum = 0;
  int above = 0;
  assert_int_equal(morphologies_play_randomly(&sample, EPISODES, 99, rate), CORE_OK);
  for (int i = 0; i < LEVELS; i++) {
    assert_true(rate[i] <= 0.2f + 4 * sqrtf(0.16f / EPISODES));
    sum += (double)rate[i];
    above += rate[i] > 0.25f;
  }
  assert_true(sum / LEVELS <= 0.1 && sum > 0);
  assert_true(above <= LEVELS / 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_parts), cmocka_unit_test(test_roles_and_modes), cmocka_unit_test(test_joints),
    cmocka_unit_test(test_bindings), cmocka_unit_test(test_places), cmocka_unit_test(test_steps),
    cmocka_unit_test(test_pinned), cmocka_unit_test(test_subsets), cmocka_unit_test(test_fits),
    cmocka_unit_test(test_noop_solves_nothing), cmocka_unit_test(test_random_solves_little)};
  return cmocka_run_group_tests_name("morphology", tests, draw_all, free_all);
}
