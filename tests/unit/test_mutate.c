/* Edits of levels (spec kinetix.md 5.8): thousands of random ones leave levels usable, each does what its name says and
 * nothing else, and the weights are the reference's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "core/files.h"
#include "sim/batch/batch.h"
#include "sim/levels/generate.h"
#include "sim/levels/level_set.h"
#include "sim/levels/mutate.h"
#include "tests/level_hash.h"

#define LEVELS "../shared/data/kinetix_levels"
enum { SIZES = 3 };
static const SimSize *const sizes[SIZES] = {&SIM_SIZE_S, &SIM_SIZE_M, &SIM_SIZE_L};

static SimLevel draw(SimSize size, uint32_t number) {
  SimLevel level;
  if (sim_generate_level(size, 100, number, &level) != CORE_OK) fail_msg("%s", core_error_message());
  return level;
}

static CoreRandomStream stream(uint32_t number) { return core_random_stream(0, CORE_RANDOM_TEST, number, 0); }

static int active_shapes(const SimLevel *level) {
  int count = 0;
  for (int k = 0; k < level->size.polygons + level->size.circles; k++) count += level_shape_at(level, k)->active;
  return count;
}

static int active_joints(const SimLevel *level) {
  int count = 0;
  for (int k = 0; k < level->size.joints; k++) count += level->joint[k].active;
  return count;
}

static int active_thrusters(const SimLevel *level) {
  int count = 0;
  for (int k = 0; k < level->size.thrusters; k++) count += level->thruster[k].active;
  return count;
}

static int shapes_with_role(const SimLevel *level, int role) {
  int count = 0;
  for (int k = 0; k < level->size.polygons + level->size.circles; k++) {
    const SimShape *s = level_shape_at(level, k);
    count += s->active && s->role == role;
  }
  return count;
}

/* ---- many edits ------------------------------------------------------------------------------------------------ */

static void assert_usable(const SimLevel *level) {
  if (sim_level_check(level) != CORE_OK) fail_msg("%s", core_error_message());
  assert_memory_equal(level->name, draw(level->size, 0).name, strlen("random_"));
  for (int k = 0; k < SIM_STATIC_POLYGONS; k++) assert_true(level->polygon[k].inverse_mass == 0);
  for (int k = 0; k < level->size.joints; k++) {
    const SimJoint *j = &level->joint[k];
    if (!j->active) continue;
    assert_true(level_shape_at(level, j->a)->active && level_shape_at(level, j->b)->active);
  }
  for (int k = 0; k < level->size.thrusters; k++)
    if (level->thruster[k].active) assert_true(level_shape_at(level, level->thruster[k].shape)->active);
}

/* All kinds of edits in turn, also those that are never drawn, one upon the other. */
static void test_long_histories(void **state) {
  int made[SIM_MUTATIONS] = {0};
  for (int s = 0; s < SIZES; s++)
    for (uint32_t i = 0; i < 40; i++) {
      SimLevel level = draw(*sizes[s], i);
      CoreRandomStream random = stream(i);
      for (int k = 0; k < 100; k++) {
        SimMutation edit = (SimMutation)core_random_below(core_random_next(&random), SIM_MUTATIONS);
        SimLevel before = level;
        bool changed = sim_mutate_apply(&level, edit, &random);
        made[edit] += changed;
        if (!changed) assert_memory_equal(&level, &before, sizeof level);
        assert_usable(&level);
      }
    }
  for (int e = 0; e < SIM_MUTATIONS; e++) assert_true(made[e] > 300);
}

/* What was edited can be played. After 20 edits a light body may hang between heavy ones on strong motors, which the
 * solver can not hold together: an episode in a hundred may end in NaN, and is counted. */
static void test_edited_levels_play(void **state) {
  enum { COUNT = 60, STEPS = 64 };
  for (int s = 0; s < SIZES; s++) {
    static SimLevel levels[COUNT];
    uint8_t actions[COUNT * SIM_ACTIONS];
    SimBatchOptions options = sim_batch_options_default();
    SimBatch *batch = NULL;
    for (uint32_t i = 0; i < COUNT; i++) {
      levels[i] = draw(*sizes[s], i);
      assert_int_equal(sim_mutate_level(&levels[i], 1, i, 20), CORE_OK);
    }
    options.worlds = COUNT;
    if (sim_batch_create(&options, &(SimLevelSet){levels, COUNT, *sizes[s]}, &batch) != CORE_OK)
      fail_msg("%s", core_error_message());
    for (int t = 0; t < STEPS; t++) {
      memset(actions, 1 + t / 20 % 2, sizeof actions);
      sim_batch_step(batch, actions, &(SimStepOut){0});
    }
    assert_in_range(sim_batch_nonfinite(batch), 0, COUNT / 20);
    sim_batch_destroy(&batch);
  }
}

static void test_published_levels(void **state) {
  SimLevelSet set;
  if (!core_files_exists(LEVELS)) {
    print_message("# %s is not here\n", LEVELS);
    skip();
  }
  if (sim_level_set_read(LEVELS, "", &set) != CORE_OK) fail_msg("%s", core_error_message());
  for (int i = 0; i < set.count; i++)
    for (uint32_t k = 0; k < 20; k++) {
      SimLevel level = set.level[i];
      if (sim_mutate_level(&level, 2, 1000 * k + (uint32_t)i, 5) != CORE_OK) fail_msg("%s", core_error_message());
      if (sim_level_check(&level) != CORE_OK) fail_msg("%s", core_error_message());
    }
  sim_level_set_free(&set);
}

static void test_determined_by_numbers(void **state) {
  SimLevel a = draw(SIM_SIZE_L, 5), b = a, c = a, d = a;
  assert_int_equal(sim_mutate_level(&a, 7, 3, 5), CORE_OK);
  assert_int_equal(sim_mutate_level(&b, 7, 3, 5), CORE_OK);
  assert_int_equal(sim_mutate_level(&c, 7, 4, 5), CORE_OK);
  assert_memory_equal(&a, &b, sizeof a);
  assert_memory_not_equal(&a, &c, sizeof a);
  SimLevel before = d;
  assert_int_equal(sim_mutate_level(&d, 7, 3, 0), CORE_OK);
  assert_memory_equal(&d, &before, sizeof d);
  d.polygon[4].x = (float)INFINITY;
  before = d;
  assert_int_equal(sim_mutate_level(&d, 7, 3, 5), CORE_USAGE);
  assert_memory_equal(&d, &before, sizeof d);
}

static void test_pinned(void **state) {
  uint64_t hash = LEVEL_HASH_START;
  for (uint32_t i = 0; i < 120; i++) {
    SimLevel level = draw(*sizes[i % SIZES], i);
    assert_int_equal(sim_mutate_level(&level, 0, i, 5), CORE_OK);
    hash = level_hash(hash, &level);
  }
  if (hash != 0x75e1367e007dc42au) fail_msg("0x%016llxu", (unsigned long long)hash);
}

/* ---- each edit ------------------------------------------------------------------------------------------------- */

static void test_weights(void **state) {
  float w[SIM_MUTATIONS];
  SimLevel level = sim_level_empty(SIM_SIZE_S, false);
  sim_mutate_weights(&level, w);
  assert_true(w[SIM_MUTATE_ADD_SHAPE] == 1 && w[SIM_MUTATE_ADD_CONNECTED] == 1 && w[SIM_MUTATE_ADD_THRUSTER] == 1);
  assert_true(w[SIM_MUTATE_REMOVE_THRUSTER] == 0 && w[SIM_MUTATE_REMOVE_JOINT] == 0 && w[SIM_MUTATE_REMOVE_SHAPE] == 0);
  assert_true(w[SIM_MUTATE_SWAP_ROLE] == 1 && w[SIM_MUTATE_TOGGLE_FIXTURE] == 0.1f && w[SIM_MUTATE_SIZE] == 1);
  assert_true(w[SIM_MUTATE_LOCATION] == 1 && w[SIM_MUTATE_ROTATION] == 1 && w[SIM_MUTATE_GRAVITY] == 0);
  level.thruster[0].active = level.joint[0].active = true;
  sim_mutate_weights(&level, w);
  assert_true(w[SIM_MUTATE_ADD_SHAPE] == 1 && w[SIM_MUTATE_ADD_CONNECTED] == 0);
  assert_true(w[SIM_MUTATE_ADD_THRUSTER] == 0 && w[SIM_MUTATE_REMOVE_THRUSTER] == 1);
  level = draw(SIM_SIZE_S, 0); /* every shape slot in use */
  sim_mutate_weights(&level, w);
  assert_true(w[SIM_MUTATE_ADD_SHAPE] == 0 && w[SIM_MUTATE_ADD_CONNECTED] == 0);
}

static void test_nothing_to_edit(void **state) {
  for (int e = 0; e < SIM_MUTATIONS; e++) {
    bool possible = e == SIM_MUTATE_ADD_SHAPE || e == SIM_MUTATE_GRAVITY;
    SimLevel level = sim_level_empty(SIM_SIZE_L, false), before = level;
    CoreRandomStream random = stream(0);
    assert_true(sim_mutate_apply(&level, (SimMutation)e, &random) == possible);
    if (!possible) assert_memory_equal(&level, &before, sizeof level);
  }
}

static void test_adding_and_removing(void **state) {
  static const struct { SimMutation edit; int shapes, joints, thrusters; } cases[] = {
    {SIM_MUTATE_ADD_SHAPE, 1, 0, 0}, {SIM_MUTATE_ADD_CONNECTED, 1, 1, 0}, {SIM_MUTATE_ADD_THRUSTER, 0, 0, 1},
    {SIM_MUTATE_REMOVE_JOINT, 0, -1, 0}, {SIM_MUTATE_REMOVE_THRUSTER, 0, 0, -1}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (uint32_t i = 0; i < 200; i++) {
      SimLevel level = draw(SIM_SIZE_L, i), before = level;
      CoreRandomStream random = stream(i);
      if (!sim_mutate_apply(&level, cases[c].edit, &random)) continue;
      assert_int_equal(active_shapes(&level) - active_shapes(&before), cases[c].shapes);
      assert_int_equal(active_joints(&level) - active_joints(&before), cases[c].joints);
      assert_int_equal(active_thrusters(&level) - active_thrusters(&before), cases[c].thrusters);
    }
  for (uint32_t i = 0; i < 200; i++) { /* a shape takes its joints and thrusters along */
    SimLevel level = draw(SIM_SIZE_L, i), before = level;
    CoreRandomStream random = stream(i);
    assert_true(sim_mutate_apply(&level, SIM_MUTATE_REMOVE_SHAPE, &random));
    assert_int_equal(active_shapes(&level), active_shapes(&before) - 1);
    assert_usable(&level);
  }
}

static void test_roles_and_fixtures(void **state) {
  int swapped = 0;
  for (uint32_t i = 0; i < 200; i++) {
    SimLevel level = draw(SIM_SIZE_L, i), before = level;
    CoreRandomStream random = stream(i);
    int different = 0, toggled = 0;
    swapped += sim_mutate_apply(&level, SIM_MUTATE_SWAP_ROLE, &random);
    for (int r = 0; r < 4; r++) assert_int_equal(shapes_with_role(&level, r), shapes_with_role(&before, r));
    for (int k = 0; k < 16; k++) different += level_shape_at(&level, k)->role != level_shape_at(&before, k)->role;
    assert_true(different == 0 || different == 2);
    level = before;
    assert_true(sim_mutate_apply(&level, SIM_MUTATE_TOGGLE_FIXTURE, &random));
    for (int k = 0; k < 16; k++) {
      const SimShape *now = level_shape_at(&level, k), *then = level_shape_at(&before, k);
      bool changed = (now->inverse_mass == 0) != (then->inverse_mass == 0);
      toggled += changed;
      if (changed) assert_true((now->inverse_inertia == 0) == (now->inverse_mass == 0) && k >= SIM_STATIC_POLYGONS);
      if (changed && now->inverse_mass != 0 && k >= level.size.polygons)
        assert_float_equal(1 / (double)now->inverse_mass, 3.14159265 * (double)(now->radius * now->radius), 1e-5);
    }
    assert_int_equal(toggled, 1);
  }
  assert_true(swapped > 190);
}

/* A free rectangle takes the drawn size at its place; a joint's anchor stays at the same share of the sides. */
static void test_size(void **state) {
  int shares = 0;
  for (uint32_t i = 0; i < 300; i++) {
    SimLevel level = draw(SIM_SIZE_M, i), before = level;
    CoreRandomStream random = stream(i);
    int changed = 0;
    assert_true(sim_mutate_apply(&level, SIM_MUTATE_SIZE, &random));
    for (int k = SIM_STATIC_POLYGONS; k < level.size.polygons + level.size.circles; k++) {
      const SimShape *now = level_shape_at(&level, k), *then = level_shape_at(&before, k);
      bool circle = k >= level.size.polygons;
      changed += circle ? now->radius != then->radius : now->vertex_x[0] != then->vertex_x[0];
      if (!now->active || now->inverse_mass == 0) continue;
      double area = circle ? 3.14159265 * (double)(now->radius * now->radius)
                           : 4 * (double)(now->vertex_x[0] * now->vertex_y[0]);
      assert_float_equal(1 / (double)now->inverse_mass, area, 1e-5);
      assert_true(now->vx == 0 && now->vy == 0 && now->angular_velocity == 0);
    }
    for (int k = 0; k < level.size.joints; k++) {
      const SimJoint *now = &level.joint[k], *then = &before.joint[k];
      if (!now->active) continue;
      const SimShape *a = level_shape_at(&level, now->a), *old = level_shape_at(&before, now->a);
      assert_float_equal(now->a_x / a->vertex_x[0], then->a_x / old->vertex_x[0], 1e-5);
      assert_float_equal(now->a_y / a->vertex_y[0], then->a_y / old->vertex_y[0], 1e-5);
      shares += now->a_x != then->a_x;
    }
    assert_int_equal(changed, 1);
  }
  assert_true(shares > 30);
}

/* Joined shapes move together, and end inside of the arena. */
static void test_location(void **state) {
  int moved_sets = 0;
  for (uint32_t i = 0; i < 300; i++) {
    SimLevel level = draw(SIM_SIZE_L, i), before = level;
    CoreRandomStream random = stream(i);
    double dx[SIM_MAX_SHAPES];
    assert_true(sim_mutate_apply(&level, SIM_MUTATE_LOCATION, &random));
    for (int k = 0; k < 16; k++) {
      const SimShape *now = level_shape_at(&level, k), *then = level_shape_at(&before, k);
      dx[k] = (double)now->x - (double)then->x;
      assert_true(now->rotation == then->rotation && now->inverse_mass == then->inverse_mass);
      if (k < SIM_STATIC_POLYGONS) assert_true(now->x == then->x && now->y == then->y);
      else if (dx[k] != 0) moved_sets++;
    }
    for (int k = 0; k < level.size.joints; k++) {
      const SimJoint *j = &level.joint[k];
      if (j->active && j->a >= SIM_STATIC_POLYGONS) assert_float_equal(dx[j->a], dx[j->b], 1e-5);
      if (j->active) assert_float_equal((double)(j->global_x - before.joint[k].global_x), dx[j->a], 1e-4);
    }
  }
  assert_true(moved_sets > 300);
  SimLevel corner = sim_level_empty(SIM_SIZE_S, false);
  corner.circle[0] = (SimShape){.x = 4.9f, .y = 0.5f, .radius = 0.3f, .inverse_mass = 1, .inverse_inertia = 1,
                                .density = 1, .friction = 1, .collision_mode = 1, .active = true};
  for (uint32_t i = 0; i < 50; i++) {
    SimLevel level = corner;
    CoreRandomStream random = stream(i);
    assert_true(sim_mutate_apply(&level, SIM_MUTATE_LOCATION, &random));
    assert_true(level.circle[0].x <= 4.7001f && level.circle[0].y >= 0.6999f);
  }
}

/* A turned shape's fixed joints keep it turned; what hangs on it stays attached. */
static void test_rotation(void **state) {
  int fixed = 0;
  for (uint32_t i = 0; i < 300; i++) {
    SimLevel level = draw(SIM_SIZE_L, i), before = level;
    CoreRandomStream random = stream(i);
    assert_true(sim_mutate_apply(&level, SIM_MUTATE_ROTATION, &random));
    for (int k = 0; k < level.size.joints; k++) {
      const SimJoint *now = &level.joint[k], *then = &before.joint[k];
      if (!now->active || now->rotation == then->rotation) continue;
      assert_true(now->fixed && fabsf(now->rotation - then->rotation) <= 1.5709f);
      const SimShape *a = level_shape_at(&level, now->a), *b = level_shape_at(&level, now->b);
      if (a->inverse_mass == 0 && b->inverse_mass == 0) continue;
      assert_float_equal(b->rotation - a->rotation, now->rotation, 0.1);
      fixed++;
    }
  }
  assert_true(fixed > 30);
}

static void test_gravity(void **state) {
  int full = 0;
  for (uint32_t i = 0; i < 400; i++) {
    SimLevel level = draw(SIM_SIZE_S, 0);
    CoreRandomStream random = stream(i);
    assert_true(sim_mutate_apply(&level, SIM_MUTATE_GRAVITY, &random));
    assert_true(level.gravity_x == 0 && level.gravity_y >= -9.8f && level.gravity_y <= 0);
    full += level.gravity_y == -9.8f;
  }
  assert_in_range(full, 160, 240); /* half: 200 +- 4 sd 10 */
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_long_histories), cmocka_unit_test(test_edited_levels_play),
    cmocka_unit_test(test_published_levels), cmocka_unit_test(test_determined_by_numbers),
    cmocka_unit_test(test_pinned), cmocka_unit_test(test_weights), cmocka_unit_test(test_nothing_to_edit),
    cmocka_unit_test(test_adding_and_removing), cmocka_unit_test(test_roles_and_fixtures), cmocka_unit_test(test_size),
    cmocka_unit_test(test_location), cmocka_unit_test(test_rotation), cmocka_unit_test(test_gravity),
  };
  return cmocka_run_group_tests_name("mutate", tests, NULL, NULL);
}
