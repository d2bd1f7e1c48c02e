/* The public locomotion generator against the reference's own: 4000 levels each, every row of the reference's table
 * of means and quantiles. Skipped without that table. */
#include "test.h"

#include "core/files.h"
#include "sim/batch/batch.h"
#include "sim/levels/level_set.h"
#include "sim/levels/morphology.h"
#include "tests/level_statistics.h"

#define TABLE "../shared/data/golden/loco_stats.tsv"
#define LEVELS "../shared/data/golden/loco"
enum { SAMPLES = 4000, PLAYED = 250, NOOP_STEPS = 64 };

/* ---- properties of this generator only --------------------------------------------------------------------------- */

static void record_joint_slots(const SimLevel *level) {
  for (int k = 0; k < level->size.joints; k++) {
    const SimJoint *j = &level->joint[k];
    if (!j->active) continue;
    record_named(j->motor_binding, "joint%d_binding", k);
    record_named(j->a, "joint%d_parent", k);
    record_named(j->b, "joint%d_child", k);
  }
}

static void record_limbs(const SimLevel *level) {
  static const char *const names[] = {"body", "left_leg", "right_leg", "left_ankle", "right_ankle", "extra_leg"};
  for (int k = 0; k < 6; k++) {
    const SimShape *s = &level->polygon[SIM_STATIC_POLYGONS + k];
    record_named(s->x, "%s_x", names[k]);
    record_named(s->y, "%s_y", names[k]);
    record_named(s->vertex_x[1], "%s_half_x", names[k]);
    record_named(s->vertex_y[1], "%s_half_y", names[k]);
    record_named(s->rotation, "%s_rotation", names[k]);
  }
}

/* The first levels under the zero action: does anything end the episode? */
static void record_noop(const SimLevelSet *set) {
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch = NULL;
  uint8_t actions[PLAYED * SIM_ACTIONS] = {0}, done[PLAYED], solved[PLAYED], ended[PLAYED] = {0}, won[PLAYED] = {0};
  int32_t level[PLAYED];
  options.worlds = PLAYED;
  for (int w = 0; w < PLAYED; w++) level[w] = w;
  assert_int_equal(sim_batch_create(&options, set, &batch), CORE_OK);
  sim_batch_reset_to(batch, level, NULL);
  for (int step = 0; step < NOOP_STEPS; step++) {
    sim_batch_step(batch, actions, &(SimStepOut){.done = done, .solved = solved});
    for (int w = 0; w < PLAYED; w++) ended[w] |= done[w], won[w] |= solved[w];
  }
  for (int w = 0; w < PLAYED; w++) record(ended[w], "noop64_done"), record(won[w], "noop64_solved");
  sim_batch_destroy(&batch);
}

/* ---- the comparison -------------------------------------------------------------------------------------------- */

/* Samples of one level are correlated, so rows of shapes and joints count half. */
static bool compare(const StatisticsRow *row) {
  const Quantity *ours = statistics_find(row->name);
  double effective = row->n > SAMPLES ? row->n / 2 : row->n;
  if (row->n == 0 && !ours) return true;
  if (!ours || ours->n != row->n) {
    print_error("%s: %d samples instead of %d\n", row->name, ours ? ours->n : 0, row->n);
    return false;
  }
  double mean_z = statistics_mean_z(row, ours, effective, effective);
  double quantile_z = statistics_quantile_z(row, ours, effective, effective);
  if (mean_z <= 4 && quantile_z <= 4) return true;
  print_error("%s: mean %.6g instead of %.6g (z %.2f), quantiles z %.2f\n", row->name, statistics_mean(ours), row->mean,
              mean_z, quantile_z);
  return false;
}

static void test_distribution(void **state) {
  static SimLevel played[PLAYED];
  char *data = NULL, *rest, *line;
  size_t bytes = 0;
  int rows = 0, wrong = 0;

  if (!core_files_exists(TABLE)) {
    print_message("# %s is not here\n", TABLE);
    skip();
  }

  for (uint32_t i = 0; i < SAMPLES; i++) {
    SimLevel level = sim_morphology_public(SIM_MORPHOLOGY_LEVELS + i);
    assert_int_equal(sim_level_check(&level), CORE_OK);
    record_shapes(&level);
    record_joints_and_thrusters(&level);
    record_joint_slots(&level);
    record_limbs(&level);
    if (i < PLAYED) played[i] = level;
  }

  record_noop(&(SimLevelSet){played, PLAYED, SIM_SIZE_L});
  assert_int_equal(core_files_read(TABLE, 0, &data, &bytes), CORE_OK);
  for (rest = data; (line = strsep(&rest, "\n")) != NULL;) {
    StatisticsRow row;
    if (!statistics_read_row(line, &row)) continue;
    rows++;
    wrong += !compare(&row);
  }

  free(data);
  statistics_clear();
  assert_true(rows > 100);
  assert_int_equal(wrong, 0);
}

/* Fields that are not random equal those of the reference's levels in every slot, used or not. */
static void test_constants(void **state) {
  SimLevelSet set;
  SimLevel ours = sim_morphology_public(0);

  if (!core_files_exists(LEVELS)) {
    print_message("# %s is not here\n", LEVELS);
    skip();
  }

  if (sim_level_set_read(LEVELS, "", &set) != CORE_OK) fail_msg("%s", core_error_message());
  assert_memory_equal(&set.size, &SIM_SIZE_L, sizeof set.size);

  for (int i = 0; i < set.count; i++) {
    const SimLevel *theirs = &set.level[i];
    for (int k = 0; k < set.size.polygons + set.size.circles; k++) {
      const SimShape *a = level_shape_at(&ours, k), *b = level_shape_at(theirs, k);
      assert_true(a->active == b->active && (a->role == b->role || k == 0) && a->collision_mode == b->collision_mode);
      assert_true(a->vertex_count == b->vertex_count && (a->inverse_mass == 0) == (b->inverse_mass == 0));
      assert_true(a->friction == b->friction && a->restitution == b->restitution && a->density == b->density);
      assert_true(a->radius == b->radius && a->vx == 0 && a->vy == 0 && a->angular_velocity == 0);
      if (k < SIM_STATIC_POLYGONS) assert_memory_equal(a->vertex_x, b->vertex_x, sizeof a->vertex_x);
    }
    for (int k = 0; k < set.size.joints; k++) {
      const SimJoint *a = &ours.joint[k], *b = &theirs->joint[k];
      assert_true(a->active == b->active && a->fixed == b->fixed && a->rotation == b->rotation);
      assert_true(a->motor_on == b->motor_on && a->has_limits == b->has_limits && a->motor_speed == b->motor_speed);
      assert_true(a->motor_power == b->motor_power && a->min_rotation == b->min_rotation);
    }
  }
  sim_level_set_free(&set);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_distribution), cmocka_unit_test(test_constants)};
  return cmocka_run_group_tests_name("morphology_public", tests, NULL, NULL);
}
