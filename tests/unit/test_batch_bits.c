/* Equal bits from every way to step a batch: sequentially or side by side in any kernel that this machine supports,
 * any number of threads, any division into batches and so into blocks. Two hashes are pinned, so other compilers, flags
 * and machines must reproduce them, too; a change of the physics must change them deliberately.
 *
 * Small: a few worlds, every observation, reward and final state. Large: 4096 worlds of sizes S, M and L after 1000
 * steps, final states only; here once, with the best kernels. TEST_BITS=brief omits the large one, all but one division
 * and all but one size of a device's warps (tests/long/test_compilers.sh); TEST_LONG runs the large one in every
 * way. Only on a GPU, which must exist: TEST_BITS=gpu runs the small one, gpu_brief in one
 * way only (for compute-sanitizer), gpu_large the large one. */
#include "test.h"

#include <omp.h>

#include "core/device/arena.h"
#include "core/device/emulated_threads.h"
#include "core/random.h"
#include "physics_step.h"
#include "sim/batch/batch_internal.h"
#include "sim/device/batch_device.h"
#include "sim/device/warp_step.h"
#include "sim/levels/generate.h"
#include "sim/levels/level_set.h"
#include "sim/simd/block.h"
#include "tests/device_tools.h"

enum { PILES = 40, RANDOM = 48, SETS = 3 };

typedef struct Extent {
  int worlds[SETS]; /* on levels of size S, M, L */
  uint32_t steps;
  int max_steps;
  bool observed;
  uint64_t expected;
} Extent;
static const Extent SMALL = {{48, 48, 140}, 75, 40, true, 0x0fc188da7742b8d0u};
static const Extent BRIEF = {{48, 48, 140}, 24, 14, true, 0}; /* not pinned: for slow steps */
static const Extent LARGE = {{1366, 1365, 1365}, 1000, 256, false, 0xf68b68049f348fc3u};

/* ---- levels: every loco512 family, and piles of what those lack -------------------------------------------------- */

static float draw(CoreRandomStream *stream, float low, float high) {
  return low + (high - low) * core_random_unit(core_random_next(stream));
}

static SimShape polygon(CoreRandomStream *stream, bool triangle) {
  SimShape s = {.active = true, .inverse_mass = 1, .inverse_inertia = 1, .density = 1, .collision_mode = 1,
                .vertex_count = triangle ? 3 : 4};
  s.x = draw(stream, 0.8f, 4.2f);
  s.y = draw(stream, 0.8f, 4.0f);
  s.rotation = draw(stream, -3, 3);
  s.vx = draw(stream, -2, 2);
  s.friction = draw(stream, 0, 1);
  s.restitution = draw(stream, 0, 0.5f);
  float hx = draw(stream, 0.1f, 0.5f), hy = 0.8f * hx;
  const float x[2][SIM_VERTICES] = {{hx, hx, -hx, -hx}, {0, hx, -hx, 0}};
  const float y[2][SIM_VERTICES] = {{hy, -hy, -hy, hy}, {hy, -hy, -hy, 0}};
  memcpy(s.vertex_x, x[triangle], sizeof s.vertex_x);
  memcpy(s.vertex_y, y[triangle], sizeof s.vertex_y);
  return s;
}

/* Boxes, triangles and circles on top of each other; some joined, rigidly or within limits; a thruster. */
static SimLevel pile(uint32_t number, SimSize size) {
  SimLevel level = sim_level_empty(size, true);
  CoreRandomStream stream = core_random_stream(5, CORE_RANDOM_TEST, number, 0);
  snprintf(level.name, sizeof level.name, "pile %u", (unsigned)number);
  for (int k = SIM_STATIC_POLYGONS; k < size.polygons; k++)
    level.polygon[k] = polygon(&stream, (number + (uint32_t)k) % 3 == 0);
  for (int k = 0; k < size.circles; k++) {
    level.circle[k] = polygon(&stream, false);
    level.circle[k].vertex_count = 0;
    level.circle[k].radius = draw(&stream, 0.1f, 0.5f);
  }
  level.polygon[4].role = number % 2 ? SIM_ROLE_GREEN : SIM_ROLE_NORMAL;
  level.circle[1].role = SIM_ROLE_BLUE;
  level.polygon[6].role = SIM_ROLE_RED;
  for (int i = 0; i < (int)number % 4; i++)
    level.joint[i] = (SimJoint){.active = true, .a = 4 + i, .b = size.polygons - 1 - i % 2, .a_x = 0.2f, .b_y = 0.1f,
                                .fixed = i == 1, .has_limits = i == 2, .min_rotation = -0.3f, .max_rotation = 0.4f,
                                .motor_on = true, .motor_speed = 2, .motor_power = 1.5f, .motor_binding = i};
  level.thruster[0] = (SimThruster){.active = true, .shape = 5, .x = 0.1f, .rotation = 1.2f, .power = 0.5f};
  sim_level_recompute_mass(&level);
  return level;
}

/* Random levels of a size. */
static void add_random(SimLevelSet *set) {
  for (uint32_t i = 0; i < RANDOM; i++)
    assert_int_equal(sim_generate_level(set->size, 11, i, &set->level[set->count++]), CORE_OK);
}

static void add_all(SimLevelSet *set, SimLevelSet *from) {
  for (int i = 0; i < from->count; i++) {
    set->level[set->count] = from->level[i];
    assert_int_equal(sim_level_expand(&set->level[set->count++], set->size), CORE_OK);
  }
  sim_level_set_free(from);
}

/* The random levels of size S, M or L; with L also walkers, every loco512 family, and piles. */
static SimLevelSet mixed_levels(int number) {
  const SimSize sizes[SETS] = {SIM_SIZE_S, SIM_SIZE_M, SIM_SIZE_L};
  SimLevelSet walkers, families, set = {.size = sizes[number]};
  set.level = calloc(RANDOM + 24 + 64 + PILES, sizeof *set.level);
  add_random(&set);
  if (number < SETS - 1) return set;
  assert_int_equal(sim_morphology_set("public", "all", 24, &walkers), CORE_OK);
  assert_int_equal(sim_morphology_set("all", "all", 64, &families), CORE_OK);
  add_all(&set, &walkers);
  add_all(&set, &families);
  for (uint32_t i = 0; i < PILES; i++) set.level[set.count++] = pile(i, set.size);
  return set;
}

/* ---- one way to step --------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *p = data;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ p[i]) * 1099511628211u;
  return hash;
}

/* All of a world's state, in an order that does not depend on how it lies in memory. */
static uint64_t mix_world(uint64_t hash, const SimWorld *world) {
  for (int k = 0; k < SIM_SHAPES_MAX; k++) {
    const SimBody *body = &world->body[k];
    hash = mix(hash, &body->position, sizeof body->position);
    hash = mix(hash, &body->velocity, sizeof body->velocity);
    hash = mix(hash, &body->angular_velocity, sizeof body->angular_velocity);
    hash = mix(hash, &body->rotation, sizeof body->rotation);
    hash = mix(hash, &body->sine, sizeof body->sine);
    hash = mix(hash, &body->cosine, sizeof body->cosine);
  }
  hash = mix(hash, world->joint_impulse, sizeof world->joint_impulse);
  hash = mix(hash, world->joint_spin_impulse, sizeof world->joint_spin_impulse);
  hash = mix(hash, world->contact_impulse, sizeof world->contact_impulse);
  hash = mix(hash, &world->last_distance, sizeof world->last_distance);
  hash = mix(hash, &world->level, sizeof world->level);
  hash = mix(hash, &world->timestep, sizeof world->timestep);
  return mix(hash, &world->episode, sizeof world->episode);
}

static void draw_actions(uint32_t first, int worlds, uint32_t t, uint8_t *actions) {
  for (int w = 0; w < worlds; w++) {
    CoreRandomStream stream = core_random_stream(6, CORE_RANDOM_TEST, first + (uint32_t)w, t);
    for (int i = 0; i < SIM_ACTIONS; i++)
      actions[w * SIM_ACTIONS + i] =
        (uint8_t)core_random_below(core_random_next(&stream), i < SIM_MOTOR_BINDINGS ? 3 : 2);
  }
}

/* Device of the worlds; NULL: the CPU. A device gets actions and gives results through these. */
static CoreDevice *device;
typedef struct DeviceBuffers { CoreArena *arena; uint8_t *actions; float *observations, *reward; } DeviceBuffers;

static DeviceBuffers make_buffers(int worlds, size_t length) {
  DeviceBuffers buffers = {.arena = core_arena_create("test")};
  core_arena_set_device(buffers.arena, device);
  CORE_ARENA_DEVICE(buffers.arena, buffers.actions, (size_t)worlds * SIM_ACTIONS, "actions");
  CORE_ARENA_DEVICE(buffers.arena, buffers.observations, (size_t)worlds * length, "observations");
  CORE_ARENA_DEVICE(buffers.arena, buffers.reward, (size_t)worlds, "reward");
  assert_int_equal(core_arena_commit(buffers.arena), CORE_OK);
  return buffers;
}

/* Steps worlds first..first+worlds-1 and adds up a hash of each one's every observation and reward (where they are
 * observed), and of its state at the end, so that the sum is the same however the worlds are divided. */
static uint64_t step_part(const SimLevelSet *set, const Extent *extent, uint32_t first, int worlds) {
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  uint64_t *hash = calloc((size_t)worlds, sizeof *hash), sum = 0;

  options.worlds = worlds;
  options.first_world = first;
  options.seed = 3;
  options.max_steps = extent->max_steps;
  options.pad_writes_zero = true;
  options.backend = sim_device_backend(device);
  assert_int_equal(sim_batch_create(&options, set, &batch), CORE_OK);

  const size_t length = (size_t)sim_batch_observation_length(batch);
  float *observations = calloc((size_t)worlds * length, sizeof *observations);
  float *reward = calloc((size_t)worlds, sizeof *reward);
  uint8_t *actions = calloc((size_t)worlds, SIM_ACTIONS);
  DeviceBuffers on = make_buffers(worlds, length);
  const SimStepOut out = {.observations = extent->observed ? on.observations : NULL, .reward = on.reward};

  for (uint32_t t = 0; t < extent->steps; t++) {
    draw_actions(first, worlds, t, actions);
    core_device_to_device(device, on.actions, actions, (size_t)worlds * SIM_ACTIONS);
    sim_batch_step(batch, on.actions, &out);
    core_device_to_host(device, reward, on.reward, (size_t)worlds * sizeof *reward);
    if (extent->observed)
      core_device_to_host(device, observations, on.observations, (size_t)worlds * length * sizeof *observations);
    for (int w = 0; w < worlds && extent->observed; w++) {
      hash[w] = mix(hash[w], observations + (size_t)w * length, length * sizeof *observations);
      hash[w] = mix(hash[w], &reward[w], sizeof reward[w]);
    }
  }

  if (device) batch->backend->fetch(batch);
  for (int w = 0; w < worlds; w++) sum += mix_world(hash[w], &batch->worlds[w]);

  core_arena_destroy(&on.arena);
  sim_batch_destroy(&batch);
  free(observations), free(reward), free(actions), free(hash);
  return sum;
}

/* Division of the worlds of each size, and number of threads. */
typedef struct Way { int parts, threads; } Way;

static uint64_t step_all(const Extent *extent, Way way) {
  uint64_t sum = 0;
  omp_set_num_threads(way.threads);
  for (int number = 0; number < SETS; number++) {
    SimLevelSet set = mixed_levels(number);
    for (int i = 0, begin = 0; i < way.parts; i++) {
      const int end = extent->worlds[number] * (i + 1) / way.parts;
      sum += (uint64_t)(number + 1) * step_part(&set, extent, (uint32_t)begin, end - begin);
      begin = end;
    }
    sim_level_set_free(&set);
  }
  omp_set_num_threads(1);
  return sum;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static bool asked_for(const char *what) {
  const char *bits = getenv("TEST_BITS");
  return bits && strcmp(bits, what) == 0;
}

static void check_way(const Extent *extent, const char *kernels, Way way) {
  const uint64_t hash = step_all(extent, way);
  if (hash != extent->expected)
    print_message("# %s, %u steps, %d batches, %d threads: 0x%016llx\n", kernels, extent->steps, way.parts, way.threads,
                  (unsigned long long)hash);
  assert_true(hash == extent->expected);
}

/* Everything with these kernels; skipped where the machine does not have them. */
static void check_kernels(const char *name) {
  static const Way WAY[] = {{1, 1}, {1, 2}, {1, 3}, {9, 1}, {30, 1}};
  setenv("SIM_KERNELS", name, 1);
  const SimLanesKernels *kernels = sim_block_kernels();
  const bool possible = strcmp(kernels ? kernels->name : "scalar", name) == 0;
  if (!possible) print_message("# this machine cannot run the kernels '%s'\n", name);
  for (size_t i = 0; possible && i < (asked_for("brief") ? 1 : sizeof WAY / sizeof WAY[0]); i++) {
    check_way(&SMALL, name, WAY[i]);
    if (getenv("TEST_LONG")) check_way(&LARGE, name, WAY[i]);
  }
  unsetenv("SIM_KERNELS");
  if (!possible) skip();
}

static void one_world_after_the_other(void **state) { (void)state, check_kernels("scalar"); }
static void side_by_side_with_avx2(void **state) { (void)state, check_kernels("avx2"); }
static void side_by_side_with_avx512(void **state) { (void)state, check_kernels("avx512"); }
/* Checks the code that runs on AVX-512, except for a few instructions, on AVX2. */
static void side_by_side_with_sixteen_lanes(void **state) { (void)state, check_kernels("avx2x2"); }

/* The GPU's kernels, run by the emulator; its threads in an order, with this many worlds per warp (NULL: as
 * batch_device.c chooses). */
static void check_device(CoreDeviceOrder order, const char *worlds, Way way) {
  device = core_device_emulated(order);
  if (worlds) setenv("SIM_WARP_WORLDS", worlds, 1);
  check_way(&SMALL, worlds ? worlds : "emulated device", way);
  unsetenv("SIM_WARP_WORLDS");
  core_device_close(&device);
}
static void on_a_device(void **state) { (void)state, check_device(CORE_DEVICE_FORWARD, NULL, (Way){1, 1}); }
static void on_a_device_backward(void **state) {
  (void)state;
  if (asked_for("brief")) skip();
  check_device(CORE_DEVICE_BACKWARD, NULL, (Way){3, 1});
}
static void on_a_device_in_isolation(void **state) {
  (void)state;
  if (asked_for("brief")) skip();
  if (getenv("TEST_LONG")) check_device(CORE_DEVICE_ISOLATED, NULL, (Way){1, 1});
  const uint64_t alone = step_all(&BRIEF, (Way){1, 1});
  device = core_device_emulated(CORE_DEVICE_ISOLATED);
  assert_true(step_all(&BRIEF, (Way){1, 1}) == alone);
  core_device_close(&device);
}
static void on_a_device_with_few_worlds_a_team(void **state) {
  (void)state;
  if (asked_for("brief")) skip();
  check_device(CORE_DEVICE_BACKWARD, "4", (Way){1, 1});
}
static void on_a_device_with_a_world_for_each_lane(void **state) {
  (void)state;
  if (asked_for("brief")) skip();
  check_device(CORE_DEVICE_BACKWARD, "32", (Way){1, 1});
}
static void on_a_device_with_a_thread_a_world(void **state) {
  (void)state;
  if (asked_for("brief")) skip();
  check_device(CORE_DEVICE_FORWARD, "alone", (Way){1, 1});
}

/* The GPU itself, where there is one (tests/gpu). */
static bool is_gpu_part_requested(void) { return asked_for("gpu") || asked_for("gpu_brief") || asked_for("gpu_large"); }
static void check_nonfinite(void);
static void on_a_gpu(void **state) {
  (void)state;
  device = open_gpu(is_gpu_part_requested());
  if (asked_for("gpu_large") || !is_gpu_part_requested()) check_way(&LARGE, "GPU", (Way){1, 1});
  if (!asked_for("gpu_large")) check_way(&SMALL, "GPU", (Way){1, 1});
  for (size_t i = 0; i < 4 && !asked_for("gpu_large") && !asked_for("gpu_brief"); i++) {
    setenv("SIM_WARP_WORLDS", (const char *[]){"alone", "4", "8", "32"}[i], 1);
    check_way(&SMALL, "GPU, chosen worlds a warp", (Way){3, 1});
    unsetenv("SIM_WARP_WORLDS");
  }
  check_nonfinite();
  core_device_close(&device);
}

static void many_worlds_for_long(void **state) {
  (void)state;
  const SimLanesKernels *kernels = sim_block_kernels();
  if (asked_for("brief")) skip();
  check_way(&LARGE, kernels ? kernels->name : "scalar", (Way){1, 2});
}

/* Everything nearly at one place. */
static SimLevel heap(uint32_t number) {
  SimLevel level = pile(number, SIM_SIZE_L);
  for (int k = SIM_STATIC_POLYGONS; k < level.size.polygons; k++) {
    level.polygon[k].x = 2.5f + 0.2f * (level.polygon[k].x - 2.5f);
    level.polygon[k].y = 1.5f + 0.2f * (level.polygon[k].y - 1.5f);
  }
  for (int k = 0; k < level.size.circles; k++) {
    level.circle[k].x = 2.5f + 0.2f * (level.circle[k].x - 2.5f);
    level.circle[k].y = 1.5f + 0.2f * (level.circle[k].y - 1.5f);
  }
  return level;
}

/* Only heaps: more pairs than a block holds, so that a second round is needed. */
static void crowded_worlds_side_by_side(void **state) {
  (void)state;
  enum { CROWD = SIM_BLOCK_WORLDS };
  SimLevel level[PILES];
  SimBatch *batch;
  int pairs = 0;

  for (int i = 0; i < PILES; i++) level[i] = heap((uint32_t)i);
  const SimLevelSet set = {level, PILES, SIM_SIZE_L};

  SimBatchOptions options = sim_batch_options_default();
  options.worlds = CROWD;
  assert_int_equal(sim_batch_create(&options, &set, &batch), CORE_OK);
  for (int w = 0; w < CROWD; w++) {
    SimScratch scratch;
    SimControl still = {0};
    sim_batch_physics_step(batch, w, &still, &scratch);
    pairs += scratch.overlap_pair_count;
  }

  sim_batch_destroy(&batch);
  assert_true(pairs > SIM_BLOCK_PAIRS);

  const Extent extent = {.steps = 12, .max_steps = 40, .observed = true};
  setenv("SIM_KERNELS", "scalar", 1);
  uint64_t alone = step_part(&set, &extent, 0, CROWD);
  unsetenv("SIM_KERNELS");
  assert_true(step_part(&set, &extent, 0, CROWD) == alone);
  setenv("SIM_KERNELS", "avx2x2", 1);
  assert_true(step_part(&set, &extent, 0, CROWD) == alone);
  unsetenv("SIM_KERNELS");
}

/* More contacts than a device's shared memory has room for, in worlds whose number is no multiple of anything. */
static void crowded_worlds_on_a_device(void **state) {
  (void)state;
  enum { CROWD = 37 };

  SimLevel level[PILES];
  for (int i = 0; i < PILES; i++) level[i] = heap((uint32_t)i);
  const SimLevelSet set = {level, PILES, SIM_SIZE_L};
  const Extent extent = {.steps = 4, .max_steps = 3, .observed = true}; /* a new episode, too; a step takes long */
  const char *worlds[] = {"8", "32", "alone"};

  SimBatchOptions options = sim_batch_options_default();
  SimScratch scratch;
  SimBatch *batch;
  int contacts = 0;

  options.worlds = CROWD;
  assert_int_equal(sim_batch_create(&options, &set, &batch), CORE_OK);
  for (int w = 0; w < CROWD; w++) {
    const SimControl still = {0};
    sim_batch_physics_step(batch, w, &still, &scratch);
    contacts += scratch.contact_count;
  }
  sim_batch_destroy(&batch);
  assert_true(contacts / CROWD * 8 > 2 * sim_warp_fit(SIM_SIZE_L, 8, CORE_EMULATED_SHARED_BYTES).capacity);

  const uint64_t alone = step_part(&set, &extent, 0, CROWD);
  for (size_t i = 0; i < (asked_for("brief") ? 1 : sizeof worlds / sizeof worlds[0]); i++) {
    device = core_device_emulated(CORE_DEVICE_ISOLATED);
    setenv("SIM_WARP_WORLDS", worlds[i], 1);
    assert_true(step_part(&set, &extent, 0, CROWD) == alone);
    unsetenv("SIM_WARP_WORLDS");
    core_device_close(&device);
  }
}

/* Continuous actions that are NaN here and there, which ends episodes: everything that the steps gave. */
static uint64_t step_into_nan(const SimLevelSet *set, int64_t *nonfinite) {
  enum { WORLDS = 45, STEPS = 24 };
  SimBatchOptions options = sim_batch_options_default();
  CoreArena *arena = core_arena_create("test");
  SimBatch *batch;
  float *action, actions[WORLDS * SIM_ACTIONS], *reward, rewards[WORLDS];
  uint8_t *done, dones[WORLDS];
  uint64_t hash = 0;

  options.worlds = WORLDS;
  options.actions = SIM_CONTINUOUS;
  options.backend = sim_device_backend(device);
  core_arena_set_device(arena, device);
  CORE_ARENA_DEVICE(arena, action, (size_t)WORLDS * SIM_ACTIONS, "actions");
  CORE_ARENA_DEVICE(arena, reward, WORLDS, "reward");
  CORE_ARENA_DEVICE(arena, done, WORLDS, "done");

  assert_int_equal(core_arena_commit(arena), CORE_OK);
  assert_int_equal(sim_batch_create(&options, set, &batch), CORE_OK);
  sim_batch_reset(batch, NULL);

  for (uint32_t t = 0; t < STEPS; t++) {
    const SimStepOut out = {.reward = reward, .done = done};
    CoreRandomStream stream = core_random_stream(8, CORE_RANDOM_TEST, t, 0);
    for (int i = 0; i < WORLDS * SIM_ACTIONS; i++)
      actions[i] = core_random_below(core_random_next(&stream), 60) == 0 ? NAN : draw(&stream, -1, 1);
    core_device_to_device(device, action, actions, sizeof actions);
    sim_batch_step(batch, action, &out);
    core_device_to_host(device, rewards, reward, sizeof rewards);
    core_device_to_host(device, dones, done, sizeof dones);
    if (device == NULL) memcpy(rewards, reward, sizeof rewards), memcpy(dones, done, sizeof dones);
    hash = mix(mix(hash, rewards, sizeof rewards), dones, sizeof dones);
  }

  *nonfinite = sim_batch_nonfinite(batch);
  if (device) batch->backend->fetch(batch);
  for (int w = 0; w < WORLDS; w++) hash = mix_world(hash, &batch->worlds[w]);
  sim_batch_destroy(&batch);
  core_arena_destroy(&arena);
  return hash;
}

/* On the device that is open against the CPU. */
static void check_nonfinite(void) {
  CoreDevice *const asked = device;
  SimLevel level[PILES];
  int64_t with_cpu, with_device;
  for (int i = 0; i < PILES; i++) level[i] = pile((uint32_t)i, SIM_SIZE_L);
  const SimLevelSet set = {level, PILES, SIM_SIZE_L};
  device = NULL;
  const uint64_t hash = step_into_nan(&set, &with_cpu);
  assert_true(with_cpu > 20);
  device = asked;
  assert_true(step_into_nan(&set, &with_device) == hash);
  assert_int_equal(with_device, with_cpu);
}

static void worlds_that_are_no_longer_finite(void **state) {
  (void)state;
  device = core_device_emulated(CORE_DEVICE_BACKWARD);
  check_nonfinite();
  core_device_close(&device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(one_world_after_the_other),
    cmocka_unit_test(side_by_side_with_avx2),
    cmocka_unit_test(side_by_side_with_avx512),
    cmocka_unit_test(side_by_side_with_sixteen_lanes),
    cmocka_unit_test(crowded_worlds_side_by_side),
    cmocka_unit_test(on_a_device),
    cmocka_unit_test(on_a_device_backward),
    cmocka_unit_test(on_a_device_in_isolation),
    cmocka_unit_test(on_a_device_with_few_worlds_a_team),
    cmocka_unit_test(on_a_device_with_a_world_for_each_lane),
    cmocka_unit_test(on_a_device_with_a_thread_a_world),
    cmocka_unit_test(crowded_worlds_on_a_device),
    cmocka_unit_test(worlds_that_are_no_longer_finite),
    cmocka_unit_test(on_a_gpu),
    cmocka_unit_test(many_worlds_for_long),
  };
  const struct CMUnitTest gpu[] = {cmocka_unit_test(on_a_gpu)};
  omp_set_num_threads(1);
  if (is_gpu_part_requested()) return cmocka_run_group_tests(gpu, NULL, NULL);
  if (getenv("TEST_ONLY")) cmocka_set_test_filter(getenv("TEST_ONLY"));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
