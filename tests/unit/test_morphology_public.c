/* The public locomotion generator against the reference's own: 4000 levels each, every row of the reference's table of
 * means and standard deviations (tests/../shared/data/golden/loco_stats.tsv; skipped where it is absent). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/files.h"
#include "core/text.h"
#include "sim/batch.h"
#include "sim/morphology.h"

#define TABLE "../shared/data/golden/loco_stats.tsv"
enum { SAMPLES = 4000, PLAYED = 250, NOOP_STEPS = 64, QUANTITIES_MAX = 200 };

/* ---- our own table --------------------------------------------------------------------------------------------- */

typedef struct Quantity { char name[40]; int n; double sum, squares; } Quantity;
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
  quantity->n++;
  quantity->sum += value;
  quantity->squares += value * value;
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

/* One row: n, mean, sd of the reference. Samples of one level are correlated, so rows of shapes and joints count half. */
static bool compare(const char *name, int n, double mean, double sd) {
  const Quantity *ours = find(name);
  if (n == 0 && !ours) return true;
  if (!ours || ours->n != n) {
    print_error("%s: %d samples instead of %d\n", name, ours ? ours->n : 0, n);
    return false;
  }
  double our_mean = ours->sum / n, variance = fmax(0, (ours->squares - ours->sum * our_mean) / (n - 1));
  double effective = n > SAMPLES ? n / 2 : n, our_sd = sqrt(variance);
  double error = sqrt(variance / effective + sd * sd / effective);
  /* 1e-6: the reference's anchors carry rounding where ours are exact */
  bool same_mean = fabs(our_mean - mean) <= 4 * error + 1e-6 * fmax(1, fabs(mean));
  bool same_sd = fabs(our_sd - sd) <= 5 * sd * sqrt(2 / effective) + 1e-6;
  if (!same_mean || !same_sd)
    print_error("%s: mean %.6g, sd %.6g instead of %.6g, %.6g (z %.1f)\n", name, our_mean, our_sd, mean, sd,
                error > 0 ? (our_mean - mean) / error : INFINITY);
  return same_mean && same_sd;
}

static void test_distribution(void **state) {
  static SimLevel played[PLAYED];
  char *data = NULL, *rest, *line, name[64], size[8], stage[16];
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
    int n;
    double mean, sd;
    if (sscanf(line, "%7s %15s %63s %d %lf %lf", size, stage, name, &n, &mean, &sd) != 6) continue;
    rows++;
    wrong += !compare(name, n, mean, sd);
  }
  free(data);
  assert_true(rows > 100);
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_distribution)};
  return cmocka_run_group_tests_name("morphology_public", tests, NULL, NULL);
}
