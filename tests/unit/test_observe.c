/* The padded and the entity observation: against the flat one (which golden tests compare with Kinetix), against
 * relations computed here, and equal from every way to step. */
#include "test.h"

#include <omp.h>

#include "core/device/arena.h"
#include "core/random.h"
#include "sim/batch/batch_internal.h"
#include "sim/device/batch_device.h"
#include "sim/levels/generate.h"
#include "sim/task/observe_entity.h"

enum { LEVELS = 8, WORLDS = 24, STEPS = 40 };
static const SimSize *const SIZES[] = {&SIM_SIZE_S, &SIM_SIZE_M, &SIM_SIZE_L};
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES };

/* ---- batches of random levels ------------------------------------------------------------------------------------ */

typedef struct Worlds {
  SimLevel level[LEVELS];
  SimBatch *batch;
  int length;
  float *row;               /* [WORLDS][length] */
  CoreArena *arena;         /* set if the worlds are on a device, as are the fields below */
  float *shown;             /* [WORLDS][length] */
  uint8_t *actions;
} Worlds;

/* Device of the next worlds; NULL: the CPU. */
static CoreDevice *device;

static void make_buffers(Worlds *w) {
  w->arena = core_arena_create("test");
  core_arena_set_device(w->arena, device);
  CORE_ARENA_DEVICE(w->arena, w->shown, (size_t)(WORLDS * w->length), "observations");
  CORE_ARENA_DEVICE(w->arena, w->actions, WORLDS * SIM_ACTIONS, "actions");
  assert_int_equal(core_arena_commit(w->arena), CORE_OK);
}

static void fetch_rows(Worlds *w) {
  core_device_to_host(device, w->row, w->shown, (size_t)(WORLDS * w->length) * sizeof *w->row);
}

static void make_worlds(Worlds *w, SimSize size, SimObservationKind kind) {
  const SimLevelSet set = {w->level, LEVELS, size};
  SimBatchOptions options = sim_batch_options_default();
  for (uint32_t i = 0; i < LEVELS; i++) assert_int_equal(sim_generate_level(size, 9, i, &w->level[i]), CORE_OK);
  options.worlds = WORLDS;
  options.max_steps = 30;
  options.observation = kind;
  options.backend = sim_device_backend(device);
  assert_int_equal(sim_batch_create(&options, &set, &w->batch), CORE_OK);
  w->length = sim_batch_observation_length(w->batch);
  w->row = calloc((size_t)(WORLDS * w->length), sizeof *w->row);
  make_buffers(w);
  sim_batch_reset(w->batch, w->shown);
  fetch_rows(w);
}

static void destroy_worlds(Worlds *w) {
  core_arena_destroy(&w->arena);
  sim_batch_destroy(&w->batch);
  free(w->row);
}

static void step(Worlds *w, uint32_t t) {
  uint8_t actions[WORLDS * SIM_ACTIONS];
  for (uint32_t i = 0; i < sizeof actions; i++)
    actions[i] = (uint8_t)core_random_below(core_random_4(2, CORE_RANDOM_TEST, t, i, 0).v[0], 2);
  core_device_to_device(device, w->actions, actions, sizeof actions);
  sim_batch_step(w->batch, w->actions, &(SimStepOut){.observations = w->shown});
  fetch_rows(w);
}

static const SimLevel *level_of(const Worlds *w, int world) { return &w->level[w->batch->worlds[world].level]; }

/* ---- padded ------------------------------------------------------------------------------------------------------ */

/* Every value of the flat observation is at its position, and padding is as defined. */
static void check_padded_row(SimSize size, const float *flat, const float *padded) {
  const int shapes = size.polygons + size.circles;
  const int count[4] = {size.polygons - 3, size.circles, size.joints, size.thrusters};
  const int width[4] = {26, 18, 22 + 2 * shapes, 8 + shapes};
  const SimPaddedLayout layout = sim_padded_layout(size);
  const float gravity = flat[sim_observe_length(size) - 1];
  int rows = 0;
  for (int kind = 0; kind < 4; kind++) {
    for (int i = 0; i < count[kind]; i++, rows++, flat += width[kind], padded += layout.width) {
      for (int k = 0; k < layout.width - 5; k++) assert_true(padded[k] == (k < width[kind] ? flat[k] : 0.0f));
      for (int k = 0; k < 4; k++) assert_true(padded[layout.width - 5 + k] == (k == kind ? 1.0f : 0.0f));
      assert_true(padded[layout.width - 1] == gravity);
    }
  }
  assert_int_equal(rows, layout.rows);
}

static void padded_rows_hold_the_flat_ones(void **state) {
  (void)state;
  const SimPaddedLayout s = sim_padded_layout(SIM_SIZE_S), m = sim_padded_layout(SIM_SIZE_M);
  const SimPaddedLayout l = sim_padded_layout(SIM_SIZE_L);
  assert_true(s.rows == 6 && s.width == 41 && m.rows == 10 && m.width == 45 && l.rows == 21 && l.width == 59);
  for (int i = 0; i < SIZE_COUNT; i++) {
    Worlds flat, padded;
    make_worlds(&flat, *SIZES[i], SIM_OBSERVATION_FLAT);
    make_worlds(&padded, *SIZES[i], SIM_OBSERVATION_PADDED);
    for (uint32_t t = 0; t < STEPS; t++) {
      for (int w = 0; w < WORLDS; w++)
        check_padded_row(*SIZES[i], flat.row + w * flat.length, padded.row + w * padded.length);
      step(&flat, t);
      step(&padded, t);
    }
    destroy_worlds(&flat), destroy_worlds(&padded);
  }
}

/* ---- entity: features -------------------------------------------------------------------------------------------- */

/* `entity` has the features of a row of the flat observation, which is clipped. */
static void check_features(const float *flat, const float *entity, int count) {
  for (int k = 0; k < count; k++) assert_true(flat[k] == fminf(fmaxf(entity[k], -10), 10));
}

static void check_zeros(const float *x, int count) {
  for (int k = 0; k < count; k++) assert_true(x[k] == 0);
}

static void check_shape_rows(const SimLevel *level, const SimEntityLayout *l, const float *flat, const float *row) {
  const float gravity = level->gravity_y / 10.0f;
  for (int k = 0; k < l->shapes; k++) {
    const bool circle = k >= l->size.polygons;
    const int i = circle ? k - l->size.polygons : k, n = circle ? SIM_ENTITY_CIRCLE : SIM_ENTITY_POLYGON;
    const bool active = circle ? level->circle[i].active : level->polygon[i].active;
    const float *entity = row + (circle ? l->circles : l->polygons) + i * n;
    assert_true(row[(circle ? l->circle_mask : l->polygon_mask) + i] == (active ? 1.0f : 0.0f));
    if (!active) {
      check_zeros(entity, n);
      continue;
    }
    if (sim_observe_offset(l->size, k) >= 0) check_features(flat + sim_observe_offset(l->size, k), entity, n - 1);
    assert_true(entity[n - 1] == gravity);
    if (k == 3) assert_true(entity[1] == level->polygon[3].y && entity[1] > 10); /* nothing is clipped */
  }
}

/* Both views of each joint; the flat observation shows the first. */
static void check_joint_rows(const SimLevel *level, const SimEntityLayout *l, const float *flat, const float *row) {
  const int joints = l->size.joints, width = 22 + 2 * l->shapes;
  const float *seen = flat + sim_observe_offset(l->size, l->shapes);
  for (int i = 0; i < joints; i++, seen += width) {
    const SimJoint *joint = &level->joint[i];
    const float *there = row + l->joints + i * SIM_ENTITY_JOINT, *back = there + joints * SIM_ENTITY_JOINT;
    const float *shapes = row + l->joint_shapes + 2 * i, *shapes_back = shapes + 2 * joints;
    assert_true(row[l->joint_mask + i] == row[l->joint_mask + joints + i]);
    assert_true(row[l->joint_mask + i] == (joint->active ? 1.0f : 0.0f));
    if (!joint->active) {
      check_zeros(there, SIM_ENTITY_JOINT), check_zeros(back, SIM_ENTITY_JOINT);
      check_zeros(shapes, 2), check_zeros(shapes_back, 2);
      continue;
    }
    check_features(seen, there, SIM_ENTITY_JOINT);
    for (int k = 0; k < SIM_ENTITY_JOINT; k++)
      assert_true(back[k] == there[k == 2 || k == 3 ? k + 2 : k == 4 || k == 5 ? k - 2 : k]);
    assert_true((int)shapes[0] == joint->b && (int)shapes[1] == joint->a);
    assert_true((int)shapes_back[0] == joint->a && (int)shapes_back[1] == joint->b);
  }
  for (int i = 0; i < l->size.thrusters; i++, seen += 8 + l->shapes) {
    const bool active = level->thruster[i].active;
    const float *entity = row + l->thrusters + i * SIM_ENTITY_THRUSTER;
    assert_true(row[l->thruster_mask + i] == (active ? 1.0f : 0.0f));
    assert_true((int)row[l->thruster_shapes + i] == (active ? level->thruster[i].shape : 0));
    if (active) check_features(seen, entity, SIM_ENTITY_THRUSTER);
    else check_zeros(entity, SIM_ENTITY_THRUSTER);
  }
}

static void entity_rows_hold_the_flat_ones(void **state) {
  (void)state;
  assert_int_equal(sim_entity_layout(SIM_SIZE_S).length, 289);
  assert_int_equal(sim_entity_layout(SIM_SIZE_M).length, 429);
  assert_int_equal(sim_entity_layout(SIM_SIZE_L).length, 992);
  for (int i = 0; i < SIZE_COUNT; i++) {
    Worlds flat, entity;
    const SimEntityLayout layout = sim_entity_layout(*SIZES[i]);
    make_worlds(&flat, *SIZES[i], SIM_OBSERVATION_FLAT);
    make_worlds(&entity, *SIZES[i], SIM_OBSERVATION_ENTITY);
    for (uint32_t t = 0; t < STEPS; t++) {
      for (int w = 0; w < WORLDS; w++) {
        const float *seen = flat.row + w * flat.length, *row = entity.row + w * entity.length;
        check_shape_rows(level_of(&entity, w), &layout, seen, row);
        check_joint_rows(level_of(&entity, w), &layout, seen, row);
      }
      step(&flat, t);
      step(&entity, t);
    }
    destroy_worlds(&flat), destroy_worlds(&entity);
  }
}

/* ---- entity: relations ------------------------------------------------------------------------------------------- */

static const SimShape *shape_of(const SimLevel *level, int k) {
  return k < level->size.polygons ? &level->polygon[k] : &level->circle[k - level->size.polygons];
}

/* Reachable over joints, found by walking on until nothing is new. */
static void find_component(const SimLevel *level, int from, bool reached[SIM_SHAPES_MAX]) {
  memset(reached, 0, SIM_SHAPES_MAX * sizeof *reached);
  reached[from] = true;
  for (int round = 0; round < level->size.joints; round++) {
    for (int i = 0; i < level->size.joints; i++) {
      const SimJoint *j = &level->joint[i];
      if (j->active && (reached[j->a] || reached[j->b])) reached[j->a] = reached[j->b] = true;
    }
  }
}

static bool are_neighbors(const SimLevel *level, int a, int b) {
  for (int i = 0; i < level->size.joints; i++) {
    const SimJoint *j = &level->joint[i];
    if (j->active && ((j->a == a && j->b == b) || (j->a == b && j->b == a))) return true;
  }
  return false;
}

/* The three relations that do not change; gives the number of touching pairs, which must be listed ones: a polygon
 * before a later one, a circle before any polygon or a later circle, never two statics. */
static int check_relations(const SimLevel *level, const SimEntityLayout *l, const float *row) {
  int overlap_pairs = 0;
  for (int a = 0; a < l->shapes; a++) {
    bool reached[SIM_SHAPES_MAX];
    find_component(level, a, reached);
    for (int b = 0; b < l->shapes; b++) {
      const float number = row[l->attention + a * l->shapes + b];
      const int bits = (int)number, both = shape_of(level, a)->active && shape_of(level, b)->active;
      assert_true(number == (float)bits && bits >= 0 && bits < 16);
      assert_int_equal(bits & 7, both ? SIM_ATTEND_ALL + reached[b] * SIM_ATTEND_COMPONENT +
                                            are_neighbors(level, a, b) * SIM_ATTEND_NEIGHBOR : 0);
      if (!(bits & SIM_ATTEND_TOUCHING)) continue;
      const bool a_circle = a >= l->size.polygons, b_circle = b >= l->size.polygons;
      overlap_pairs++;
      assert_true(both && (a_circle != b_circle ? a_circle : a < b));
      assert_false(a < SIM_STATIC_POLYGONS && b < SIM_STATIC_POLYGONS);
    }
  }
  return overlap_pairs;
}

static void relations_follow_from_the_level(void **state) {
  (void)state;
  for (int i = 0; i < SIZE_COUNT; i++) {
    Worlds worlds;
    int overlap_pairs = 0;
    const SimEntityLayout layout = sim_entity_layout(*SIZES[i]);
    make_worlds(&worlds, *SIZES[i], SIM_OBSERVATION_ENTITY);
    for (int w = 0; w < WORLDS; w++) /* no contact before the first step */
      assert_int_equal(check_relations(level_of(&worlds, w), &layout, worlds.row + w * worlds.length), 0);
    for (uint32_t t = 0; t < STEPS; t++) {
      step(&worlds, t);
      for (int w = 0; w < WORLDS; w++)
        overlap_pairs += check_relations(level_of(&worlds, w), &layout, worlds.row + w * worlds.length);
    }
    assert_true(overlap_pairs > 0);
    destroy_worlds(&worlds);
  }
}

static SimShape ball(float x, float y) {
  return (SimShape){.active = true, .x = x, .y = y, .radius = 0.3f, .inverse_mass = 1, .inverse_inertia = 1,
                    .density = 1, .collision_mode = 1, .friction = 1};
}

/* A ball on the floor, and one in the air that overlaps a box to which it is joined: those two never push each
 * other, but the observation shows them. */
static void touching_pairs_are_shown(void **state) {
  (void)state;
  SimLevel level = sim_level_empty(SIM_SIZE_S, true);
  const SimEntityLayout l = sim_entity_layout(level.size);
  const SimLevelSet set = {&level, 1, level.size};
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  float row[289];
  uint8_t still[SIM_ACTIONS] = {0};
  level.circle[0] = ball(1, 0.69f);
  level.circle[1] = ball(3, 3);
  level.polygon[4] = (SimShape){.active = true, .x = 3, .y = 3.2f, .inverse_mass = 1, .inverse_inertia = 1,
                                .density = 1, .collision_mode = 1, .friction = 1, .vertex_count = 4,
                                .vertex_x = {0.3f, 0.3f, -0.3f, -0.3f}, .vertex_y = {0.3f, -0.3f, -0.3f, 0.3f}};
  level.joint[0] = (SimJoint){.active = true, .a = 4, .b = 6, .fixed = true, .a_y = -0.1f, .b_y = 0.1f};
  options.observation = SIM_OBSERVATION_ENTITY;
  assert_int_equal(sim_batch_create(&options, &set, &batch), CORE_OK);
  sim_batch_step(batch, still, &(SimStepOut){.observations = row});
  for (int a = 0; a < l.shapes; a++)
    for (int b = 0; b < l.shapes; b++)
      assert_true(((int)row[l.attention + a * l.shapes + b] & SIM_ATTEND_TOUCHING) ==
                  ((a == 5 && b == 0) || (a == 6 && b == 4) ? SIM_ATTEND_TOUCHING : 0));
  sim_batch_destroy(&batch);
}

/* ---- the same from every way to step ----------------------------------------------------------------------------- */

static uint64_t hash_of_rows(SimSize size, SimObservationKind kind, const char *kernels, int threads) {
  Worlds worlds;
  uint64_t hash = 0;
  setenv("SIM_KERNELS", kernels, 1);
  omp_set_num_threads(threads);
  make_worlds(&worlds, size, kind);
  for (uint32_t t = 0; t < STEPS; t++) {
    step(&worlds, t);
    const unsigned char *bytes = (const unsigned char *)worlds.row;
    const size_t count = (size_t)(WORLDS * worlds.length) * sizeof(float);
    for (size_t i = 0; i < count; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
  }
  destroy_worlds(&worlds);
  omp_set_num_threads(1);
  unsetenv("SIM_KERNELS");
  return hash;
}

static void every_way_to_step_shows_the_same(void **state) {
  (void)state;
  static const SimObservationKind kinds[] = {SIM_OBSERVATION_PADDED, SIM_OBSERVATION_ENTITY};
  for (int i = 0; i < SIZE_COUNT; i++) {
    for (int k = 0; k < 2; k++) {
      const uint64_t alone = hash_of_rows(*SIZES[i], kinds[k], "scalar", 1);
      assert_true(hash_of_rows(*SIZES[i], kinds[k], "avx2", 1) == alone);
      assert_true(hash_of_rows(*SIZES[i], kinds[k], "avx512", 3) == alone);
    }
  }
}

/* On a device a thread writes a number, not a row. */
static void a_device_shows_the_same(void **state) {
  (void)state;
  static const SimObservationKind kinds[] = {SIM_OBSERVATION_PADDED, SIM_OBSERVATION_ENTITY};
  for (int i = 0; i < SIZE_COUNT; i++) {
    for (int k = 0; k < 2; k++) {
      const uint64_t alone = hash_of_rows(*SIZES[i], kinds[k], "scalar", 1);
      device = core_device_emulated((CoreDeviceOrder)k);
      const uint64_t there = hash_of_rows(*SIZES[i], kinds[k], "scalar", 1);
      core_device_close(&device);
      assert_true(there == alone);
    }
  }
}

/* Observations change nothing in the worlds, although entity observations list more pairs. */
static void worlds_do_not_depend_on_the_observation(void **state) {
  (void)state;
  for (int i = 0; i < SIZE_COUNT; i++) {
    Worlds flat, entity;
    make_worlds(&flat, *SIZES[i], SIM_OBSERVATION_FLAT);
    make_worlds(&entity, *SIZES[i], SIM_OBSERVATION_ENTITY);
    for (uint32_t t = 0; t < STEPS; t++) step(&flat, t), step(&entity, t);
    for (int w = 0; w < WORLDS; w++)
      assert_memory_equal(&flat.batch->worlds[w], &entity.batch->worlds[w], offsetof(SimWorld, overlap_pairs));
    destroy_worlds(&flat), destroy_worlds(&entity);
  }
}

/* A loaded batch has the observations of the saved one immediately. */
static void saved_worlds_are_observed_alike(void **state) {
  (void)state;
  Worlds first, second;
  make_worlds(&first, SIM_SIZE_L, SIM_OBSERVATION_ENTITY);
  make_worlds(&second, SIM_SIZE_L, SIM_OBSERVATION_ENTITY);
  for (uint32_t t = 0; t < 17; t++) step(&first, t);
  const size_t bytes = sim_batch_state_bytes(first.batch), row_bytes = (size_t)(WORLDS * first.length) * sizeof(float);
  void *saved = malloc(bytes);
  sim_batch_save(first.batch, saved);
  assert_int_equal(sim_batch_load(second.batch, saved, bytes), CORE_OK);
  assert_memory_not_equal(first.row, second.row, row_bytes);
  sim_batch_observe(second.batch, second.row);
  assert_memory_equal(first.row, second.row, row_bytes);
  free(saved);
  destroy_worlds(&first), destroy_worlds(&second);
}

static void only_flat_observations_can_be_compact(void **state) {
  (void)state;
  SimLevel level = sim_level_empty(SIM_SIZE_S, true);
  const SimLevelSet set = {&level, 1, level.size};
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  options.compact_observations = true;
  options.observation = SIM_OBSERVATION_ENTITY;
  assert_int_equal(sim_batch_create(&options, &set, &batch), CORE_USAGE);
  options.observation = SIM_OBSERVATION_PADDED;
  assert_int_equal(sim_batch_create(&options, &set, &batch), CORE_USAGE);
  options.observation = (SimObservationKind)7;
  options.compact_observations = false;
  assert_int_equal(sim_batch_create(&options, &set, &batch), CORE_USAGE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(padded_rows_hold_the_flat_ones),
    cmocka_unit_test(entity_rows_hold_the_flat_ones),
    cmocka_unit_test(relations_follow_from_the_level),
    cmocka_unit_test(touching_pairs_are_shown),
    cmocka_unit_test(every_way_to_step_shows_the_same),
    cmocka_unit_test(a_device_shows_the_same),
    cmocka_unit_test(worlds_do_not_depend_on_the_observation),
    cmocka_unit_test(saved_worlds_are_observed_alike),
    cmocka_unit_test(only_flat_observations_can_be_compact),
  };
  omp_set_num_threads(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
