/* Kinetix' random level generator and its no-op filter (generate.h, filter.h): distributions against the
 * reference's own table, the same levels everywhere (pinned hashes), structure, and invariants of the filter. */
#include "test.h"

#include <omp.h>

#include "core/files.h"
#include "core/memory.h"
#include "sim/batch/batch.h"
#include "sim/batch/filter.h"
#include "sim/levels/generate.h"
#include "sim/levels/level_set.h"
#include "sim/levels/morphology.h"
#include "tests/level_statistics.h"

#define TABLE "../shared/data/golden/generator_stats.tsv"
#define LEVELS "../shared/data/golden/gen"
enum { SAMPLES = 2000, INSPECTED = 1500, SIZES = 3 };
static const struct { const char *name; const SimSize *size; } sizes[SIZES] = {
  {"s", &SIM_SIZE_S}, {"m", &SIM_SIZE_M}, {"l", &SIM_SIZE_L}};

static SimLevel draw(SimSize size, uint64_t seed, uint32_t number) {
  SimLevel level;
  if (sim_generate_level(size, seed, number, &level) != CORE_OK) fail_msg("%s", core_error_message());
  return level;
}

static SimLevelSet draw_many(SimSize size, uint64_t seed, int count) {
  SimLevelSet set = {core_memory_allocate((size_t)count * sizeof *set.level), count, size};
  for (int i = 0; i < count; i++) set.level[i] = draw(size, seed, (uint32_t)i);
  return set;
}

static const SimShape *shape_at(const SimLevel *level, int i) { return level_shape_at(level, i); }

static bool is_circle(const SimLevel *level, int i) { return i >= level->size.polygons; }

/* ---- distributions --------------------------------------------------------------------------------------------- */

/* Every row of the reference's table, of means and of quantiles. Right levels pass a row's mean unless chance moves it
 * by 4 standard errors (6e-5, two-sided), its five quantiles unless it does so by 5 (3e-6 at most): over 441 rows, were
 * they independent, a right generator would fail with probability 0.03 for a seed drawn at random. Ours is fixed. */
enum { ROWS = 441 };

/* The first end of each level's first 64 steps without action, and the distance after the first step. */
static void record_noop(const SimLevelSet *set) {
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch = NULL;
  size_t count = (size_t)set->count;
  uint8_t *actions = core_memory_zero_allocate(count, SIM_ACTIONS), *done = core_memory_zero_allocate(count, 4);
  uint8_t *solved = done + count, *ended = solved + count, *won = ended + count;
  int32_t *level = core_memory_zero_allocate(count, sizeof *level);

  options.worlds = set->count;
  options.auto_reset = false;
  for (int w = 0; w < set->count; w++) level[w] = w;
  assert_int_equal(sim_batch_create(&options, set, &batch), CORE_OK);
  sim_batch_reset_to(batch, level, NULL);

  for (int step = 0; step < SIM_FILTER_STEPS; step++) {
    sim_batch_step(batch, actions, &(SimStepOut){.done = done, .solved = solved});
    for (int w = 0; w < set->count; w++) {
      if (done[w] && !ended[w]) won[w] = solved[w];
      ended[w] |= done[w];
      if (step > 0) continue;
      SimLevel now;
      sim_batch_get_world(batch, w, &now);
      record((double)sim_morphology_distance(&now), "distance_after_first_step");
      record(done[w], "noop1_done");
    }
  }

  for (int w = 0; w < set->count; w++) {
    record(ended[w], "noop64_done");
    record(won[w], "noop64_filter_solved");
    record(won[w], "noop64_first_done_is_goal");
    record(ended[w] && !won[w], "noop64_first_done_is_red");
  }

  sim_batch_destroy(&batch);
  free(actions);
  free(done);
  free(level);
}

/* Samples of one level are correlated: all but one a level count half. */
static double effective(int n, int levels) { return n == levels ? n : n / 2.0; }

typedef struct Worst { double z; char name[80]; int rows, wrong; } Worst;

static void compare(const StatisticsRow *row, int our_levels, int their_levels, Worst *worst) {
  const Quantity *ours = statistics_find(row->name);
  worst->rows++;
  if (row->n == 0 && !ours) return;
  if (row->n == 0 || !ours) {
    print_error("%s %s %s: %d samples against %d\n", row->size, row->stage, row->name, ours ? ours->n : 0, row->n);
    worst->wrong++;
    return;
  }
  double our_n = effective(ours->n, our_levels), their_n = effective(row->n, their_levels);
  double mean_z = statistics_mean_z(row, ours, their_n, our_n);
  double quantile_z = statistics_quantile_z(row, ours, their_n, our_n);
  if (mean_z > worst->z) {
    worst->z = mean_z;
    snprintf(worst->name, sizeof worst->name, "%s %s %s", row->size, row->stage, row->name);
  }
  if (mean_z < 4 && quantile_z < 5) return;
  print_error("%s %s %s: mean %.6g instead of %.6g (z %.2f), quantiles z %.2f\n", row->size, row->stage, row->name,
              statistics_mean(ours), row->mean, mean_z, quantile_z);
  worst->wrong++;
}

/* Compares every row of a size and stage with the recorded ones; the reference has 4000 and 2000 levels. */
static void compare_all(const char *table, const char *size, const char *stage, int our_levels, Worst *worst) {
  char *copy = core_memory_allocate(strlen(table) + 1), *rest = copy, *line;
  int their_levels = strcmp(stage, "unfiltered") == 0 ? 4000 : 2000;
  memcpy(copy, table, strlen(table) + 1);
  while ((line = strsep(&rest, "\n")) != NULL) {
    StatisticsRow row;
    if (!statistics_read_row(line, &row) || strcmp(row.size, size) != 0 || strcmp(row.stage, stage) != 0) continue;
    compare(&row, our_levels, their_levels, worst);
  }
  free(copy);
}

static void record_levels(const SimLevelSet *set) {
  for (int i = 0; i < set->count; i++) {
    record_shapes(&set->level[i]);
    record_joints_and_thrusters(&set->level[i]);
  }
  record_noop(set);
}

static void test_distribution(void **state) {
  char *table = NULL;
  size_t bytes = 0;
  Worst worst = {0};
  if (!core_files_exists(TABLE)) {
    print_message("# %s is not here\n", TABLE);
    skip();
  }
  assert_int_equal(core_files_read(TABLE, 0, &table, &bytes), CORE_OK);

  for (int s = 0; s < SIZES; s++) {
    SimLevelSet set = draw_many(*sizes[s].size, 1, SAMPLES);
    statistics_clear();
    record_levels(&set);
    compare_all(table, sizes[s].name, "unfiltered", SAMPLES, &worst);
    sim_level_set_free(&set);
    statistics_clear();
    assert_int_equal(sim_generate_filtered(*sizes[s].size, 2, 0, SAMPLES / 2, &set), CORE_OK);
    record_levels(&set);
    compare_all(table, sizes[s].name, "filtered", SAMPLES / 2, &worst);
    sim_level_set_free(&set);
  }

  statistics_clear();
  free(table);
  print_message("# %d rows, largest z of a mean %.2f (%s)\n", worst.rows, worst.z, worst.name);
  assert_int_equal(worst.rows, ROWS);
  assert_int_equal(worst.wrong, 0);
}

/* Fields that are not random equal those of the reference's levels in every slot. */
static void test_constants(void **state) {
  char directory[64];
  if (!core_files_exists(LEVELS)) {
    print_message("# %s is not here\n", LEVELS);
    skip();
  }
  for (int s = 0; s < SIZES; s++) {
    SimLevelSet set;
    SimLevel ours = draw(*sizes[s].size, 0, 0);
    snprintf(directory, sizeof directory, "%s/%s", LEVELS, sizes[s].name);
    if (sim_level_set_read(directory, "", &set) != CORE_OK) fail_msg("%s", core_error_message());
    assert_memory_equal(&set.size, sizes[s].size, sizeof set.size);
    for (int k = 0; k < set.size.polygons + set.size.circles; k++) {
      const SimShape *a = shape_at(&ours, k), *b = shape_at(&set.level[0], k);
      assert_true(a->collision_mode == b->collision_mode && a->restitution == b->restitution);
      assert_true(a->friction == b->friction && a->density == b->density);
      assert_true(a->vx == 0 && a->vy == 0 && a->angular_velocity == 0);
      if (k < SIM_STATIC_POLYGONS) assert_memory_equal(a->vertex_x, b->vertex_x, sizeof a->vertex_x);
      if (k < SIM_STATIC_POLYGONS) assert_memory_equal(a->vertex_y, b->vertex_y, sizeof a->vertex_y);
    }
    assert_true(ours.gravity_x == set.level[0].gravity_x && ours.gravity_y == set.level[0].gravity_y);
    sim_level_set_free(&set);
  }
}

/* ---- the same everywhere --------------------------------------------------------------------------------------- */

static uint64_t hash_set(const SimLevelSet *set) {
  uint64_t hash = LEVEL_HASH_START;
  for (int i = 0; i < set->count; i++) {
    hash = level_hash(hash, &set->level[i]);
    for (int k = 0; k < set->size.thrusters; k++) {
      const SimThruster *t = &set->level[i].thruster[k];
      hash = level_hash_value(level_hash_value(hash, (double)t->rotation), t->shape + 32 * t->binding);
    }
  }
  return hash;
}

/* A change here changes every experiment on these levels: give the new levels a new name instead. */
static void test_pinned(void **state) {
  static const uint64_t pinned[SIZES][2] = {
    {0x4f413801a3c0cc6du, 0xe9623d57a2e9d3a6u}, {0x2aac897bc92f7bc3u, 0x11233dd9ecd2667fu},
    {0x9a91e03bb8ed8467u, 0xe557d84a3e76a2dcu}};
  for (int s = 0; s < SIZES; s++) {
    SimLevelSet drawn = draw_many(*sizes[s].size, 0, 256), kept;
    assert_int_equal(sim_generate_set(*sizes[s].size, 96, &kept), CORE_OK);
    uint64_t hash[2] = {hash_set(&drawn), hash_set(&kept)};
    if (hash[0] != pinned[s][0] || hash[1] != pinned[s][1])
      fail_msg("%s: {0x%016llxu, 0x%016llxu}", sizes[s].name, (unsigned long long)hash[0],
               (unsigned long long)hash[1]);
    sim_level_set_free(&drawn);
    sim_level_set_free(&kept);
  }
}

static void test_numbers(void **state) {
  for (int s = 0; s < SIZES; s++) {
    SimLevel seven = draw(*sizes[s].size, 5, 7), eight = draw(*sizes[s].size, 5, 8), other = draw(*sizes[s].size, 6, 7);
    SimLevel again = draw(*sizes[s].size, 5, 7);
    uint64_t hash = level_hash(LEVEL_HASH_START, &seven);
    assert_memory_equal(&seven, &again, sizeof seven);
    assert_true(hash != level_hash(LEVEL_HASH_START, &eight) && hash != level_hash(LEVEL_HASH_START, &other));
    assert_true(strcmp(seven.name, eight.name) != 0 && strcmp(seven.name, other.name) != 0);
  }
  assert_string_equal(draw(SIM_SIZE_M, 3, 4294967295u).name, "random_m-3-4294967295");
}

/* ---- structure ------------------------------------------------------------------------------------------------- */

static void check_roles(const SimLevel *level, bool small) {
  int green = 0, blue = level->polygon[0].role == SIM_ROLE_BLUE, red = level->polygon[0].role == SIM_ROLE_RED;
  int fixated_special = 0;
  assert_true(level->polygon[0].role != SIM_ROLE_GREEN);
  for (int k = SIM_STATIC_POLYGONS; k < level->size.polygons + level->size.circles; k++) {
    const SimShape *s = shape_at(level, k);
    if (!s->active) continue;
    bool fixated = s->inverse_mass == 0, special = s->role == SIM_ROLE_GREEN || s->role == SIM_ROLE_BLUE;
    green += s->role == SIM_ROLE_GREEN, blue += s->role == SIM_ROLE_BLUE, red += s->role == SIM_ROLE_RED;
    fixated_special += fixated && special;
    assert_false(small && fixated);
    assert_true(s->density == 1 && s->friction == 1 && s->restitution == 0 && s->collision_mode == 1);
    if (is_circle(level, k)) assert_true(s->radius >= 0.1f && s->radius <= 0.4f && s->vertex_count == 0);
    else assert_true(s->vertex_count == 4 && s->vertex_x[0] >= 0.05f && s->vertex_x[0] <= 0.7072f);
  }
  for (int k = 1; k < SIM_STATIC_POLYGONS; k++) assert_int_equal(level->polygon[k].role, SIM_ROLE_NORMAL);
  assert_int_equal(green, 1);
  assert_int_equal(blue, 1);
  assert_in_range(red, 0, 1);
  assert_in_range(fixated_special, 0, 1); /* one of them can always move */
}

static void world_point(const SimShape *s, double x, double y, double *world_x, double *world_y) {
  double c = cos((double)s->rotation), n = sin((double)s->rotation);
  *world_x = (double)s->x + c * x - n * y;
  *world_y = (double)s->y + n * x + c * y;
}

static void check_joint(const SimLevel *level, const SimJoint *j) {
  const SimShape *a = shape_at(level, j->a), *b = shape_at(level, j->b);
  bool circle_a = is_circle(level, j->a), circle_b = is_circle(level, j->b);
  double ax, ay, bx, by;
  world_point(a, (double)j->a_x, (double)j->a_y, &ax, &ay);
  world_point(b, (double)j->b_x, (double)j->b_y, &bx, &by);
  assert_true(fabs(ax - bx) < 1e-5 && fabs(ay - by) < 1e-5);
  assert_true(fabs(ax - (double)j->global_x) < 1e-5 && fabs(ay - (double)j->global_y) < 1e-5);
  assert_true(a->active && b->active && !circle_a); /* never two discs, and rectangles come first */
  if (circle_b) assert_true(j->b_x == 0 && j->b_y == 0 && !j->has_limits);
  if (j->fixed) {
    assert_true(j->rotation == b->rotation - a->rotation && !j->motor_on && !j->has_limits);
    return;
  }
  assert_true(j->rotation == 0 && j->motor_speed >= 0.4f && j->motor_speed <= 3);
  assert_true(circle_b ? j->motor_power == 1 : j->motor_power >= 1 && j->motor_power <= 3);
  assert_true(j->min_rotation >= -3.1416f && j->min_rotation <= 0 && j->max_rotation >= 0 && j->max_rotation < 3.1416f);
}

static void check_joints(const SimLevel *level) {
  int degree[SIM_SHAPES_MAX] = {0}, fixed = 0, revolute = 0;
  for (int k = 0; k < level->size.joints; k++) {
    const SimJoint *j = &level->joint[k];
    if (!j->active) continue;
    degree[j->a]++, degree[j->b]++, fixed += j->fixed, revolute += !j->fixed;
    check_joint(level, j);
    int roles = shape_at(level, j->a)->role * shape_at(level, j->b)->role;
    bool to_static = j->a < SIM_STATIC_POLYGONS; /* the role of such a shape was drawn for the static one */
    assert_true(to_static || (roles != SIM_ROLE_GREEN * SIM_ROLE_BLUE && roles != SIM_ROLE_GREEN * SIM_ROLE_RED));
  }
  assert_true(fixed == 0 || revolute >= 2);
  for (int k = level->size.polygons; k < level->size.polygons + level->size.circles; k++)
    assert_in_range(degree[k], 0, 1);
}

static void check_thrusters(const SimLevel *level) {
  for (int k = 0; k < level->size.thrusters; k++) {
    const SimThruster *t = &level->thruster[k];
    if (!t->active) continue;
    const SimShape *s = shape_at(level, t->shape);
    float strength = t->power * s->inverse_mass;
    assert_true(s->active && s->inverse_mass > 0 && strength > 0.999f && strength < 4.001f);
    double x, y;
    world_point(s, (double)t->x, (double)t->y, &x, &y);
    assert_true(fabs(x - (double)t->global_x) < 1e-5 && fabs(y - (double)t->global_y) < 1e-5);
    if (is_circle(level, t->shape)) assert_true(t->x * t->x + t->y * t->y <= s->radius * s->radius * 1.00001f);
    else assert_true(fabsf(t->x) <= s->vertex_x[0] * 1.00001f && fabsf(t->y) <= s->vertex_y[0] * 1.00001f);
  }
}

static void test_structure(void **state) {
  for (int s = 0; s < SIZES + 1; s++) {
    SimSize size = s < SIZES ? *sizes[s].size : SIM_SIZE_LOCO;
    for (uint32_t i = 0; i < INSPECTED; i++) {
      SimLevel level = draw(size, 3, i);
      if (sim_level_check(&level) != CORE_OK) fail_msg("%s", core_error_message());
      check_roles(&level, s == 0);
      check_joints(&level);
      check_thrusters(&level);
    }
  }
}

static void test_sizes(void **state) {
  static const SimSize bad[] = {{13, 2, 1, 1}, {3, 2, 1, 1}, {5, 5, 1, 1}, {5, 2, 7, 1}, {5, 2, 1, 3}, {5, -1, 1, 1},
                                {5, 0, 1, 1}, {4, 1, 0, 0}};
  static const SimSize odd[] = {{6, 0, 0, 0}, {4, 2, 1, 1}, {4, 4, 6, 2}, {12, 0, 6, 0}, {5, 1, 0, 1}};
  SimLevel level;
  SimLevelSet set;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(sim_generate_level(bad[i], 0, 0, &level), CORE_USAGE);
    assert_int_equal(sim_generate_filtered(bad[i], 0, 0, 4, &set), CORE_USAGE);
    assert_null(set.level);
  }
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
    for (uint32_t k = 0; k < 200; k++) {
      level = draw(odd[i], 4, k);
      assert_int_equal(sim_level_check(&level), CORE_OK);
    }
  assert_int_equal(sim_generate_filtered(SIM_SIZE_S, 0, 0, 0, &set), CORE_USAGE);
  assert_int_equal(sim_generate_filtered(SIM_SIZE_S, 0, 0, -3, &set), CORE_USAGE);
  assert_int_equal(sim_generate_filtered(SIM_SIZE_S, 0, UINT32_MAX - 6, 4, &set), CORE_USAGE);
  assert_int_equal(sim_generate_filtered(SIM_SIZE_S, 0, UINT32_MAX - 7, 4, &set), CORE_OK);
  assert_int_equal(set.count, 4);
  sim_level_set_free(&set);
  assert_int_equal(sim_generate_set(SIM_SIZE_S, 0, &set), CORE_USAGE);
}

/* ---- the permutation ------------------------------------------------------------------------------------------- */

static uint64_t hash_ends(const SimLevel *level, const SimJoint *j) {
  uint64_t hash = level_hash_joint(LEVEL_HASH_START, j);
  return level_hash_shape(level_hash_shape(hash, shape_at(level, j->a)), shape_at(level, j->b));
}

/* Each shape, joint (with the shapes it joins) and thruster (with its shape) is still there, once. */
static void test_permutation(void **state) {
  int moved = 0;
  for (uint32_t i = 0; i < 200; i++) {
    const SimLevel old = draw(SIM_SIZE_L, 8, i);
    SimLevel level = old;
    uint64_t sum[2] = {0, 0};
    sim_generate_permute(&level, 9, i);
    assert_int_equal(sim_level_check(&level), CORE_OK);
    for (int side = 0; side < 2; side++) {
      const SimLevel *at = side ? &level : &old;
      for (int k = 0; k < 16; k++) sum[side] += level_hash_shape(LEVEL_HASH_START, shape_at(at, k));
      for (int k = 0; k < 6; k++) sum[side] += hash_ends(at, &at->joint[k]);
      for (int k = 0; k < 2; k++)
        sum[side] += level_hash_shape(level_hash_value(LEVEL_HASH_START, (double)at->thruster[k].x),
                                      shape_at(at, at->thruster[k].shape));
    }
    assert_true(sum[0] == sum[1]);
    assert_memory_equal(level.polygon, old.polygon, SIM_STATIC_POLYGONS * sizeof old.polygon[0]);
    moved += memcmp(&level, &old, sizeof old) != 0;
  }
  assert_true(moved > 190);
}

/* ---- the filter ------------------------------------------------------------------------------------------------ */

/* A level that the goal solves by falling, and one that it does not. */
static void test_noop(void **state) {
  SimLevelSet set = draw_many(SIM_SIZE_S, 10, 2);
  uint8_t solved[2];
  for (int i = 0; i < 2; i++) {
    SimLevel *level = &set.level[i];
    for (int k = 4; k < 7; k++) *(k < 5 ? &level->polygon[k] : &level->circle[k - 5]) = (SimShape){.density = 1};
    level->joint[0].active = level->thruster[0].active = false;
    level->polygon[0].role = SIM_ROLE_NORMAL;
    for (int k = 0; k < 2; k++) /* a green disc above or next to a blue one */
      level->circle[k] = (SimShape){.x = k == 0 || i == 0 ? 2 : 4, .y = k == 0 ? 2 : 0.7f, .radius = 0.3f, .density = 1,
                                    .inverse_mass = 1, .inverse_inertia = 1, .friction = 1, .collision_mode = 1,
                                    .role = k == 0 ? SIM_ROLE_GREEN : SIM_ROLE_BLUE, .active = true};
  }
  assert_int_equal(sim_filter_noop(&set, solved), CORE_OK);
  assert_true(solved[0] && !solved[1]);
  set.level[0].circle[1].role = SIM_ROLE_RED; /* an end that is no solution */
  assert_int_equal(sim_filter_noop(&set, solved), CORE_OK);
  assert_false(solved[0]);
  sim_level_set_free(&set);
}

/* Hardly any solved level stays while there are enough others; the others keep an even chance, and their order. */
static void test_filter(void **state) {
  enum { KEPT = 500 };
  for (int s = 0; s < SIZES; s++) {
    SimLevelSet drawn = draw_many(*sizes[s].size, 11, 2 * KEPT), kept;
    uint8_t before[2 * KEPT], after[KEPT];
    int solved_before = 0, solved_after = 0, from_first_half = 0, place = -1;

    assert_int_equal(sim_filter_noop(&drawn, before), CORE_OK);
    assert_int_equal(sim_generate_filtered(*sizes[s].size, 11, 0, KEPT, &kept), CORE_OK);
    assert_int_equal(kept.count, KEPT);
    assert_int_equal(sim_filter_noop(&kept, after), CORE_OK);

    for (int i = 0; i < 2 * KEPT; i++) solved_before += before[i];
    for (int i = 0; i < KEPT; i++) {
      int from = place + 1;
      while (from < 2 * KEPT && memcmp(&drawn.level[from], &kept.level[i], sizeof kept.level[i]) != 0) from++;
      assert_true(from < 2 * KEPT); /* one of the drawn, after the one before */
      assert_int_equal(after[i], before[from]);
      place = from;
      solved_after += after[i];
      from_first_half += from < KEPT;
    }

    assert_in_range(solved_before, 70, 220);
    assert_in_range(solved_after, 0, 2);
    assert_in_range(from_first_half, KEPT / 2 - 45, KEPT / 2 + 45); /* 4 sd of a draw without replacement */
    sim_level_set_free(&drawn);
    sim_level_set_free(&kept);
  }
}

/* Solved levels stay where there are not enough others. */
static void test_filter_is_never_short(void **state) {
  SimLevelSet kept;
  for (uint32_t first = 0; first < 400; first += 2) { /* sometimes both of two are solved */
    assert_int_equal(sim_generate_filtered(SIM_SIZE_S, 12, first, 1, &kept), CORE_OK);
    assert_int_equal(kept.count, 1);
    sim_level_set_free(&kept);
  }
}

static void test_sets_grow(void **state) {
  SimLevelSet few, many, single;
  omp_set_num_threads(3);
  assert_int_equal(sim_generate_set(SIM_SIZE_M, 10, &few), CORE_OK);
  assert_int_equal(sim_generate_set(SIM_SIZE_M, 70, &many), CORE_OK);
  omp_set_num_threads(1);
  assert_int_equal(sim_generate_set(SIM_SIZE_M, 70, &single), CORE_OK);
  assert_true(few.count == 10 && many.count == 70 && single.count == 70);
  assert_memory_equal(few.level, many.level, 10 * sizeof *few.level);
  assert_memory_equal(many.level, single.level, 70 * sizeof *many.level);
  sim_level_set_free(&few);
  sim_level_set_free(&many);
  sim_level_set_free(&single);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_distribution), cmocka_unit_test(test_constants), cmocka_unit_test(test_pinned),
    cmocka_unit_test(test_numbers), cmocka_unit_test(test_structure), cmocka_unit_test(test_sizes),
    cmocka_unit_test(test_permutation), cmocka_unit_test(test_noop), cmocka_unit_test(test_filter),
    cmocka_unit_test(test_filter_is_never_short), cmocka_unit_test(test_sets_grow),
  };
  omp_set_num_threads(1); /* small batches: waiting for each other would cost more than they gain */
  return cmocka_run_group_tests_name("generate", tests, NULL, NULL);
}
