/* Worlds on the host with buffers on a device (trainer/wrappers/host_env.h): all data of the inner environment,
 * including levels, states and parts, arrive with the same bits, for any lag of the device's streams. */
#include "test.h"

#include "core/memory.h"
#include "core/random.h"
#define DEVICE_TESTS run_all
#include "device_tools.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/wrappers/host_env.h"
#include "training_tools.h"

enum { WORLDS = 7, SEED = 5, STEPS = 40 };

/* ---- operations -------------------------------------------------------------------------------------------------- */

enum { BYTES = 64 };

static void add_one(void *bytes) {
  for (int i = 0; i < BYTES; i++) ((uint8_t *)bytes)[i]++;
}

/* fetch, call and send run in stream order: each sees earlier results, and other streams see them after a join. */
static void check_operations(void) {
  void *x, *y, *z, *pinned;
  uint8_t seen[BYTES];
  assert_int_equal(device->allocate(device, BYTES, &x) + device->allocate(device, BYTES, &y), CORE_OK);
  assert_int_equal(device->allocate(device, BYTES, &z) + device->allocate_pinned(device, BYTES, &pinned), CORE_OK);
  for (int i = 0; i < BYTES; i++) assert_int_equal(((uint8_t *)pinned)[i], 0);
  device->fill(device, x, 5, BYTES);
  device->stream_push(device, CORE_STREAM_WORLDS);
  device->to_host_async(device, pinned, x, BYTES);
  device->call(device, add_one, pinned);
  device->to_device_async(device, y, pinned, BYTES);
  device->call(device, add_one, pinned);
  device->stream_pop(device);
  device->stream_wait(device, CORE_STREAM_WORLDS);
  device->copy(device, z, y, BYTES);
  device->to_host(device, seen, z, BYTES);
  for (int i = 0; i < BYTES; i++) assert_int_equal(seen[i], 6);
  device->stream_push(device, CORE_STREAM_WORLDS);
  device->synchronize(device);
  device->stream_pop(device);
  for (int i = 0; i < BYTES; i++) assert_int_equal(((uint8_t *)pinned)[i], 7);
  device->release_pinned(device, pinned);
  device->release(device, x), device->release(device, y), device->release(device, z);
}

/* ---- an environment of a few lines ------------------------------------------------------------------------------- */

enum { TOY_FEATURES = 3 };
typedef struct Toy { int32_t steps[WORLDS]; int broken; } Toy;

static void toy_show(int w, int steps, int action, float *observations) {
  const float seen[TOY_FEATURES] = {(float)w, (float)steps, (float)action};
  memcpy(observations + w * TOY_FEATURES, seen, sizeof seen);
}

static void toy_reset(Env *env, float *observations) {
  Toy *toy = env->state;
  for (int w = 0; w < WORLDS; w++) {
    toy->steps[w] = 0;
    toy_show(w, 0, 0, observations);
  }
}

/* Worlds of an odd number are cut by the time limit. */
static void toy_step_part(Env *env, int first, int count, const void *actions, const EnvStep *out) {
  Toy *toy = env->state;
  for (int w = first; w < first + count; w++) {
    const int action = ((const uint8_t *)actions)[w], steps = ++toy->steps[w];
    const bool done = steps == 3 + w;
    out->rewards[w] = (float)(action * 10 + steps);
    out->dones[w] = done;
    out->solved[w] = done && action == 1;
    out->episode_steps[w] = steps;
    if (out->levels) out->levels[w] = w % 2;
    if (out->truncated) out->truncated[w] = done && w % 2;
    if (out->ends) out->ends[w] = done && action == 2;
    if (done && out->final_observations) toy_show(w, steps, action, out->final_observations);
    if (done) toy->steps[w] = 0;
    toy_show(w, toy->steps[w], done ? 0 : action, out->observations);
  }
}
static void toy_step(Env *env, const void *actions, const EnvStep *out) {
  toy_step_part(env, 0, WORLDS, actions, out);
}
static const EnvParts toy_parts = {.step = toy_step_part};

static size_t toy_state_bytes(const Env *env) { return (void)env, sizeof(Toy); }
static void toy_save(const Env *env, void *state) { memcpy(state, env->state, sizeof(Toy)); }
static int toy_load(Env *env, const void *state, size_t bytes) {
  if (bytes != sizeof(Toy)) return core_error(CORE_USAGE, "no toy's");
  memcpy(env->state, state, bytes);
  return CORE_OK;
}
static size_t toy_bytes(const Env *env) { return (void)env, sizeof(Toy); }
static void toy_destroy(Env *env) { free(env->state), free(env); }
static int toy_check(const Env *env) {
  return ((const Toy *)env->state)->broken ? core_error(CORE_FAIL, "the toy is broken") : CORE_OK;
}
static const EnvRemote toy_remote = {.check = toy_check};

static Env *make_toy(void) {
  Env *env = core_memory_zero_allocate(1, sizeof *env);
  *env = (Env){.name = "toy", .worlds = WORLDS, .observation_length = TOY_FEATURES, .whole_length = TOY_FEATURES,
               .level_count = 2, .max_steps = 10, .head = {.factors = 1, .logits = 3, .size = {3}}, .truncates = true,
               .has_lives = true,
               .reset = toy_reset, .step = toy_step, .state_bytes = toy_state_bytes, .save = toy_save,
               .load = toy_load, .bytes = toy_bytes, .destroy = toy_destroy, .parts = &toy_parts,
               .remote = &toy_remote, .state = core_memory_zero_allocate(1, sizeof(Toy))};
  return env;
}

/* ---- two that must be the same ----------------------------------------------------------------------------------- */

/* An environment with buffers where it takes them. */
typedef struct Side {
  Env *env;
  CoreDevice *device;
  EnvStep out;
  uint8_t *actions;
} Side;

static void *buffer(CoreDevice *where, size_t bytes) {
  void *memory;
  if (where == NULL) return core_memory_zero_allocate(1, bytes);
  assert_int_equal(where->allocate(where, bytes, &memory), CORE_OK);
  return memory;
}

/* Takes the environment. */
static Side side_of(Env *env, CoreDevice *where) {
  const size_t n = (size_t)env->worlds, seen = n * (size_t)env->observation_length * sizeof(float);
  return (Side){.env = env, .device = where,
                .out = {.observations = buffer(where, seen), .rewards = buffer(where, n * sizeof(float)),
                        .dones = buffer(where, n), .solved = buffer(where, n),
                        .levels = buffer(where, n * sizeof(int32_t)),
                        .episode_steps = buffer(where, n * sizeof(int32_t)), .truncated = buffer(where, n),
                        .ends = buffer(where, n), .final_observations = buffer(where, seen)},
                .actions = buffer(where, n * (size_t)env->head.factors)};
}

static Env *wrapped(Env *host) {
  Env *env = NULL;
  assert_int_equal(host_env_create(host, device, &env), CORE_OK);
  return env;
}

static void close_side(Side *side) {
  void *const all[] = {side->out.observations, side->out.rewards, side->out.dones, side->out.solved, side->out.levels,
                       side->out.episode_steps, side->out.truncated, side->out.final_observations, side->out.ends,
                       side->actions};
  env_destroy(&side->env);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (side->device) side->device->release(side->device, all[i]);
    else free(all[i]);
  }
}

static void draw_actions(const Side *side, uint32_t step) {
  const int factors = side->env->head.factors;
  uint8_t actions[WORLDS * OPS_FACTORS_MAX];
  for (int w = 0; w < side->env->worlds; w++) {
    CoreRandomStream stream = core_random_stream(SEED, CORE_RANDOM_TEST, (uint32_t)w, step);
    for (int f = 0; f < factors; f++)
      actions[w * factors + f] = (uint8_t)(core_random_next(&stream) % (uint32_t)side->env->head.size[f]);
  }
  core_device_to_device(side->device, side->actions, actions, (size_t)(side->env->worlds * factors));
}

static void assert_array(const Side *a, const void *x, const Side *b, const void *y, size_t bytes) {
  void *first, *second;
  const void *of_a = core_device_view(a->device, x, bytes, &first);
  const void *of_b = core_device_view(b->device, y, bytes, &second);
  assert_memory_equal(of_a, of_b, bytes);
  free(first), free(second);
}

static void assert_same(const Side *a, const Side *b) {
  const size_t n = (size_t)a->env->worlds, seen = n * (size_t)a->env->observation_length * sizeof(float);
  assert_array(a, a->out.observations, b, b->out.observations, seen);
  assert_array(a, a->out.rewards, b, b->out.rewards, n * sizeof(float));
  assert_array(a, a->out.dones, b, b->out.dones, n);
  assert_array(a, a->out.solved, b, b->out.solved, n);
  assert_array(a, a->out.levels, b, b->out.levels, n * sizeof(int32_t));
  assert_array(a, a->out.episode_steps, b, b->out.episode_steps, n * sizeof(int32_t));
  assert_array(a, a->out.truncated, b, b->out.truncated, n);
  assert_array(a, a->out.ends, b, b->out.ends, n);
  assert_array(a, a->out.final_observations, b, b->out.final_observations, seen);
}

/* Returns the episodes that ended. */
static int step_both(Side *a, Side *b, uint32_t first, uint32_t steps) {
  int ended = 0;
  for (uint32_t t = first; t < first + steps; t++) {
    draw_actions(a, t), draw_actions(b, t);
    a->env->step(a->env, a->actions, &a->out);
    b->env->step(b->env, b->actions, &b->out);
    assert_same(a, b);
    for (int w = 0; w < a->env->worlds; w++) ended += a->out.dones[w];
  }
  return ended;
}

static void reset_both(Side *a, Side *b) {
  a->env->reset(a->env, a->out.observations);
  b->env->reset(b->env, b->out.observations);
  assert_same(a, b);
}

/* ---- steps, states, siblings ------------------------------------------------------------------------------------- */

/* The state of one is loaded by the other, which continues from it. */
static void check_states(Side *a, Side *b, uint32_t step) {
  const size_t bytes = a->env->state_bytes(a->env);
  assert_int_equal(bytes, b->env->state_bytes(b->env));
  char *of_a = core_memory_allocate(bytes), *of_b = core_memory_allocate(bytes);
  a->env->save(a->env, of_a), b->env->save(b->env, of_b);
  assert_memory_equal(of_a, of_b, bytes);
  step_both(a, b, step, 5);
  assert_int_equal(b->env->load(b->env, of_a, bytes), CORE_OK);
  assert_int_equal(a->env->load(a->env, of_b, bytes), CORE_OK);
  step_both(a, b, step, 5);
  assert_int_equal(b->env->load(b->env, of_a, bytes - 1), CORE_USAGE);
  free(of_a), free(of_b);
}

static CoreConfig kinetix(void) {
  return CONFIGURED("env.task=random_s", "env.level_count=5", "env.max_steps=11", "env.num=7");
}

static Env *make_kinetix(const CoreConfig *config) {
  Env *env = NULL;
  if (env_create(config, WORLDS, SEED, &env) != CORE_OK) fail_msg("%s", core_error_message());
  return env;
}

static void check_kinetix(void) {
  const CoreConfig config = kinetix();
  Env *plan = NULL, *sibling = NULL;
  assert_int_equal(host_env_create(make_kinetix(&config), NULL, &plan), CORE_OK); /* as a run is planned */
  assert_true(env_is_hosted(plan) && plan->compact == NULL && plan->physics && !plan->remote);
  assert_int_equal(plan->clone(plan, &(EnvBatch){WORLDS, 3, SEED, device}, &sibling), CORE_OK);
  env_destroy(&plan);
  Side direct = side_of(make_kinetix(&config), NULL), other = side_of(sibling, device);
  Env *third = NULL;
  assert_int_equal(direct.env->clone(direct.env, &(EnvBatch){WORLDS, 3, SEED, NULL}, &third), CORE_OK);
  env_destroy(&direct.env);
  direct.env = third;
  assert_true(other.env->bytes(other.env) > direct.env->bytes(direct.env));
  reset_both(&direct, &other);
  assert_true(step_both(&direct, &other, 0, STEPS) > WORLDS);
  check_states(&direct, &other, STEPS);
  assert_true(other.env->device->host_seconds(other.env) > 0);
  assert_true(other.env->device->host_seconds(other.env) == 0);
  assert_int_equal(other.env->physics->nonfinite(other.env), 0);
  assert_int_equal(other.env->device->scratch_bytes(other.env, device, 100), 0);
  const int32_t level[WORLDS] = {4, 3, 2, 1, 0, 4, 3};
  direct.env->levels->reset_to(direct.env, level, direct.out.observations);
  other.env->levels->reset_to(other.env, level, other.out.observations);
  step_both(&direct, &other, 100, STEPS);
  close_side(&direct), close_side(&other);
}

/* Levels of a curriculum, and a set that is evaluated. */
static void check_generator(void) {
  CoreConfig config = kinetix();
  set(&config, "env.curriculum=sfl"), set(&config, "eval.levels=random_s");
  const EnvBatch on_host = {.worlds = WORLDS, .seed = SEED}, on_device = {WORLDS, 0, SEED, device};
  Env *plain = make_kinetix(&config), *plan = wrapped(make_kinetix(&config)), *x = NULL, *y = NULL;
  uint32_t numbers[2][4];
  char name[2][ENV_SET_NAME];
  const int32_t level[WORLDS] = {0, 1, 2, 3, 0, 1, 2};

  assert_int_equal(plain->generator->create_slots(plain, &on_host, 4, &x), CORE_OK);
  assert_int_equal(plan->generator->create_slots(plan, &on_device, 4, &y), CORE_OK);
  Side a = side_of(x, NULL), b = side_of(y, device);

  x->generator->generate(x, 9, 3, 3, 0, numbers[0]), y->generator->generate(y, 9, 3, 3, 0, numbers[1]);
  assert_memory_equal(numbers[0], numbers[1], 3 * sizeof(uint32_t));
  x->generator->regenerate(x, 9, numbers[0], 1, 3), y->generator->regenerate(y, 9, numbers[1], 1, 3);
  x->levels->reset_to(x, level, a.out.observations), y->levels->reset_to(y, level, b.out.observations);
  assert_same(&a, &b);
  step_both(&a, &b, 0, STEPS);
  close_side(&a), close_side(&b);

  assert_int_equal(plain->levels->create_set(plain, &config, 0, &on_host, &x, name[0]), CORE_OK);
  assert_int_equal(plan->levels->create_set(plan, &config, 0, &on_device, &y, name[1]), CORE_OK);
  assert_string_equal(name[0], name[1]);
  a = side_of(x, NULL), b = side_of(y, device);
  reset_both(&a, &b);
  step_both(&a, &b, 0, STEPS);
  close_side(&a), close_side(&b);

  env_destroy(&plain), env_destroy(&plan);
}

/* ---- cut episodes, parts, failures ------------------------------------------------------------------------------- */

static void check_toy(void) {
  Side direct = side_of(make_toy(), NULL), other = side_of(wrapped(make_toy()), device);
  reset_both(&direct, &other);
  assert_true(step_both(&direct, &other, 0, STEPS) > 3 * WORLDS);
  check_states(&direct, &other, STEPS);
  /* Optional outputs that are not requested are not requested from the host's environment. */
  const EnvStep all[2] = {direct.out, other.out};
  direct.out.levels = other.out.levels = NULL, direct.out.truncated = other.out.truncated = NULL;
  direct.out.final_observations = other.out.final_observations = NULL, direct.out.ends = other.out.ends = NULL;
  draw_actions(&direct, 999), draw_actions(&other, 999);
  direct.env->step(direct.env, direct.actions, &direct.out), other.env->step(other.env, other.actions, &other.out);
  direct.out = all[0], other.out = all[1];
  assert_same(&direct, &other);
  assert_int_equal(env_check(other.env), CORE_OK);
  Toy broken;
  other.env->save(other.env, &broken);
  broken.broken = 1;
  assert_int_equal(other.env->load(other.env, &broken, sizeof broken), CORE_OK);
  assert_int_equal(env_check(other.env), CORE_FAIL);
  assert_string_equal(core_error_message(), "the toy is broken");
  close_side(&direct), close_side(&other);
}

/* Issues steps as a rollout in halves does: on a separate stream, many steps ahead of their execution. */
static void check_parts(void) {
  enum { CUT = 3, AHEAD = 9 };
  Side direct = side_of(make_toy(), NULL), other = side_of(wrapped(make_toy()), device);
  uint8_t *actions[AHEAD];
  float *rewards[AHEAD], expected[AHEAD][WORLDS];
  reset_both(&direct, &other);

  for (uint32_t t = 0; t < AHEAD; t++) {
    draw_actions(&direct, t), draw_actions(&other, t);
    actions[t] = buffer(device, WORLDS), rewards[t] = buffer(device, sizeof *expected);
    device->copy(device, actions[t], other.actions, WORLDS);
    direct.env->step(direct.env, direct.actions, &direct.out);
    memcpy(expected[t], direct.out.rewards, sizeof *expected);
  }

  for (int i = 0; i < 2 * AHEAD; i++) {
    EnvStep out = other.out;
    out.rewards = rewards[i / 2];
    if (i > 0) device->stream_wait(device, CORE_STREAM_WORLDS);
    device->stream_push(device, CORE_STREAM_WORLDS);
    other.env->parts->step(other.env, i % 2 ? CUT : 0, i % 2 ? WORLDS - CUT : CUT, actions[i / 2], &out);
    device->stream_pop(device);
  }

  device->stream_wait(device, CORE_STREAM_WORLDS);
  core_device_copy(device, other.out.rewards, rewards[AHEAD - 1], sizeof *expected);
  assert_same(&direct, &other);
  for (int t = 0; t < AHEAD; t++) {
    void *seen;
    core_device_view(device, rewards[t], sizeof *expected, &seen);
    assert_memory_equal(seen, expected[t], sizeof *expected);
    free(seen);
    device->release(device, actions[t]), device->release(device, rewards[t]);
  }

  env_synchronize(other.env);
  close_side(&direct), close_side(&other);
}

static void run_all(void) {
  check_operations();
  check_toy();
  check_parts();
  check_kinetix();
  check_generator();
  core_device_close(&device);
}

static void test_isolated(void **state) {
  (void)state;
  device = core_device_emulated(CORE_DEVICE_ISOLATED);
  run_all();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
                                     cmocka_unit_test(test_isolated), cmocka_unit_test(test_gpu)};
  choose_device_tests();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
