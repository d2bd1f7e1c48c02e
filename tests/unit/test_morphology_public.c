/* The public locomotion generator against the reference's own: 4000 levels each, every row of the reference's table of
 * means and quantiles. Skipped where that table is absent. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "core/text.h"
#include "sim/batch.h"
#include "sim/morphology.h"

#define TABLE "../shared/data/golden/loco_stats.tsv"
#define LEVELS "../shared/data/golden/loco"
enum { SAMPLES = 4000, PLAYED = 250, NOOP_STEPS = 64, QUANTITIES_MAX = 200 };

/* ---- our own table --------------------------------------------------------------------------------------------- */

typedef struct Quantity { char name[40]; int n, capacity; double *sample; } Quantity;
static Quantity quantities[QUANTITIES_MAX];
static int quantity_count;

static Quantity *find(const char *name) {
  for (int i = 0; i < quantity_count; i++)
    if (strcmp(quantities[i].name, name) == 0) return &quantities[i];
  return NULL;
}

static void record(double value, const char *name) {
  Quantity *quantity = find(name);
  if (!quantity) {
    assert_true(quantity_count < QUANTITIES_MAX);
    quantity = &quantities[quantity_count++];
    snprintf(quantity->name, sizeof quantity->name, "%s", name);
  }
  if (quantity->n == quantity->capacity) {
    quantity->capacity = quantity->capacity ? 2 * quantity->capacity : SAMPLES;
    quantity->sample = core_memory_resize(quantity->sample, (size_t)quantity->capacity * sizeof *quantity->sample);
  }
  quantity->sample[quantity->n++] = value;
}

static void CORE_PRINTF(2, 3) record_named(double value, const char *format, ...) {
  char name[40];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  record(value, name);
}

static const SimShape *shape_at(const SimLevel *level, int i) {
  return i < level->size.polygons ? &level->polygon[i] : &level->circle[i - level->size.polygons];
}

static void record_shapes(const SimLevel *level) {
  static const char *const roles[] = {"normal", "green", "blue", "red"};
  int degree[SIM_MAX_SHAPES] = {0}, by_role[4] = {0}, polygons = 0, circles = 0, fixated = 0;
  for (int k = 0; k < level->size.joints; k++)
    if (level->joint[k].active) degree[level->joint[k].a]++, degree[level->joint[k].b]++;
  for (int i = SIM_STATIC_POLYGONS; i < level->size.polygons + level->size.circles; i++) {
    const SimShape *s = shape_at(level, i);
    bool circle = i >= level->size.polygons, fixed = s->inverse_mass == 0;
    if (!s->active) continue;
    const char *role = roles[s->role];
    polygons += !circle, circles += circle, fixated += fixed, by_role[s->role]++;
    record_named(circle, "%s_is_circle", role);
    record_named(fixed, "%s_is_fixated", role);
    record_named(s->x, "%s_x", role);
    record_named(s->y, "%s_y", role);
    record(s->x, "x_all");
    record(s->y, "y_all");
    record(s->rotation, "rotation_all");
    record(degree[i], "joint_degree_all");
    if (fixed) record(s->x, "x_fixated"), record(s->y, "y_fixated");
    if (circle) record(s->radius, "circle_radius");
    if (circle && !fixed) record(1 / (double)s->inverse_mass, "circle_mass");
    if (circle) continue;
    record(s->vertex_x[1], "rect_half_x");
    record(s->vertex_y[1], "rect_half_y");
    if (!fixed) record(1 / (double)s->inverse_mass, "rect_mass");
  }
  for (int r = 0; r < 4; r++) {
    record_named(level->polygon[0].role == r, "floor_is_%s", roles[r]);
    record_named(by_role[r], "shapes_%s_per_level", roles[r]);
  }
  int blue = by_role[SIM_ROLE_BLUE] + (level->polygon[0].role == SIM_ROLE_BLUE), green = by_role[SIM_ROLE_GREEN];
  record(polygons, "polygons_per_level");
  record(circles, "circles_per_level");
  record(polygons + circles, "shapes_per_level");
  record(fixated, "fixated_per_level");
  record(green > 0 && blue > 0, "has_green_and_blue");
  record(green == 1, "exactly_one_green");
  record(blue == 1, "exactly_one_blue_or_floor");
}

static void record_joints(const SimLevel *level) {
  int joints = 0, fixed = 0, motors = 0, thrusters = 0;
  for (int k = 0; k < level->size.joints; k++) {
    const SimJoint *j = &level->joint[k];
    if (!j->active) continue;
    bool wheel = j->b >= level->size.polygons;
    joints++, fixed += j->fixed, motors += j->motor_on;
    for (int b = 0; b < SIM_MOTOR_BINDINGS; b++) record_named(j->motor_binding == b, "motor_binding_is_%d", b);
    record(fabs((double)j->a_x), "anchor_a_abs_x");
    record(fabs((double)j->a_y), "anchor_a_abs_y");
    record(fabs((double)j->b_x), "anchor_b_abs_x");
    record(fabs((double)j->b_y), "anchor_b_abs_y");
    record(shape_at(level, j->a)->inverse_mass == 0 || shape_at(level, j->b)->inverse_mass == 0, "joint_to_fixated");
    record_named(j->motor_binding, "joint%d_binding", k);
    record_named(j->a, "joint%d_parent", k);
    record_named(j->b, "joint%d_child", k);
    if (j->fixed) continue;
    record(j->motor_on, "revolute_motor_on");
    record(wheel, "revolute_is_wheel");
    record(j->motor_speed, "motor_speed");
    record(j->motor_power, wheel ? "motor_power_wheel" : "motor_power_rect");
    if (!wheel) record(j->has_limits, "revolute_has_limits");
    if (j->has_limits) record(j->min_rotation, "limit_min"), record(j->max_rotation, "limit_max");
  }
  for (int k = 0; k < level->size.thrusters; k++) thrusters += level->thruster[k].active;
  record(joints, "joints_per_level");
  record(fixed, "fixed_joints_per_level");
  record(joints - fixed, "revolute_joints_per_level");
  record(thrusters, "thrusters_per_level");
  record(motors > 0 || thrusters > 0, "has_motor_or_thruster");
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

enum { QUANTILES = 5 };
typedef struct Row { char name[40]; int n; double mean, sd, quantile[QUANTILES]; } Row;

static bool same_mean(const Row *row, const Quantity *ours, double effective) {
  double mean = 0, variance = 0;
  for (int i = 0; i < ours->n; i++) mean += ours->sample[i] / ours->n;
  for (int i = 0; i < ours->n; i++) variance += (ours->sample[i] - mean) * (ours->sample[i] - mean) / (ours->n - 1);
  /* 1e-6: the reference's anchors carry rounding where ours are exact */
  double error = sqrt((variance + row->sd * row->sd) / effective);
  double allowed = 4 * error + 1e-6 * fmax(1, fabs(row->mean));
  if (fabs(mean - row->mean) <= allowed) return true;
  print_error("%s: mean %.6g instead of %.6g (allowed %.2g)\n", row->name, mean, row->mean, allowed);
  return false;
}

/* As many of ours as of theirs lie below each quantile; for discrete quantities it lies between < and <=. */
static bool same_quantiles(const Row *row, const Quantity *ours, double effective) {
  static const double ranks[QUANTILES] = {0.05, 0.25, 0.5, 0.75, 0.95};
  bool same = true;
  for (int q = 0; q < QUANTILES; q++) {
    double slack = 1e-5 * fmax(1, fabs(row->quantile[q])), below = 0, up_to = 0;
    for (int i = 0; i < ours->n; i++) {
      below += (ours->sample[i] < row->quantile[q] - slack) / (double)ours->n;
      up_to += (ours->sample[i] <= row->quantile[q] + slack) / (double)ours->n;
    }
    double allowed = 4 * sqrt(ranks[q] * (1 - ranks[q]) * 2 / effective);
    if (below <= ranks[q] + allowed && up_to >= ranks[q] - allowed) continue;
    print_error("%s: quantile %.2f is %.6g; of ours %.4f are below, %.4f up to it\n", row->name, ranks[q],
                row->quantile[q], below, up_to);
    same = false;
  }
  return same;
}

/* Samples of one level are correlated, so rows of shapes and joints count half. */
static bool compare(const Row *row) {
  const Quantity *ours = find(row->name);
  double effective = row->n > SAMPLES ? row->n / 2 : row->n;
  if (row->n == 0 && !ours) return true;
  if (!ours || ours->n != row->n) {
    print_error("%s: %d samples instead of %d\n", row->name, ours ? ours->n : 0, row->n);
    return false;
  }
  bool mean = same_mean(row, ours, effective), quantiles = same_quantiles(row, ours, effective);
  return mean && quantiles;
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
    record_joints(&level);
    record_limbs(&level);
    if (i < PLAYED) played[i] = level;
  }
  record_noop(&(SimLevelSet){played, PLAYED, SIM_SIZE_L});
  assert_int_equal(core_files_read(TABLE, 0, &data, &bytes), CORE_OK);
  for (rest = data; (line = strsep(&rest, "\n")) != NULL;) {
    Row row;
    double *q = row.quantile;
    if (sscanf(line, "%*s %*s %39s %d %lf %lf %lf %lf %lf %lf %lf", row.name, &row.n, &row.mean, &row.sd, &q[0], &q[1],
               &q[2], &q[3], &q[4]) != 9)
      continue;
    rows++;
    wrong += !compare(&row);
  }
  free(data);
  for (int i = 0; i < quantity_count; i++) free(quantities[i].sample);
  assert_true(rows > 100);
  assert_int_equal(wrong, 0);
}

/* What no draw decides is the same in every slot, used or not, as in the reference's own levels. */
static void test_constants(void **state) {
  SimLevelSet set;
  SimLevel ours = sim_morphology_public(0);
  if (!core_files_exists(LEVELS)) {
    print_message("# %s is not here\n", LEVELS);
    skip();
  }
  if (sim_level_set_read(LEVELS, &set) != CORE_OK) fail_msg("%s", core_error_message());
  assert_memory_equal(&set.size, &SIM_SIZE_L, sizeof set.size);
  for (int i = 0; i < set.count; i++) {
    const SimLevel *theirs = &set.level[i];
    for (int k = 0; k < set.size.polygons + set.size.circles; k++) {
      const SimShape *a = shape_at(&ours, k), *b = shape_at(theirs, k);
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
