/* Recurrent policies: an LSTM's passes (trainer/ops/recurrent.h) against double precision and finite differences, on
 * the CPU and on a device; a complete agent, step by step and by sequences; trainings whose passes over gathered
 * sequences must reproduce the acting policy. */
#include "test.h"

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/nets/recurrent.h"
#include "trainer/learners/sapg.h"
#include "trainer/rollout/rollout.h"

#include "ops_tools.h"
#define DEVICE_TESTS run_all
#include "tests/device_tools.h"
#include "training_tools.h"

enum { SEQUENCES = 3, LENGTH = 5, ROWS = SEQUENCES * LENGTH, WIDTH = 4, IN = 3, STATES = 2 * WIDTH, GATES = 4 * WIDTH };

/* ---- an LSTM with its layer norm in double ----------------------------------------------------------------------- */

static const uint8_t BEGINS[ROWS] = {1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1}; /* [LENGTH][SEQUENCES] */

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double column(const double *theta, const RecurrentShape *shape, const double *x, const double *h, int k) {
  double z = theta[shape->bx + (size_t)k] + theta[shape->bh + (size_t)k];
  for (int i = 0; i < IN; i++) z += x[i] * theta[shape->wx + (size_t)(i * GATES + k)];
  for (int i = 0; i < WIDTH; i++) z += h[i] * theta[shape->wh + (size_t)(i * GATES + k)];
  return z;
}

/* Computes one step of one sequence; h and c are updated. */
static void step(const double *theta, const RecurrentShape *shape, const double *x, double *h, double *c) {
  double next[WIDTH];
  for (int u = 0; u < WIDTH; u++) {
    double z[4];
    for (int gate = 0; gate < 4; gate++) z[gate] = column(theta, shape, x, h, gate * WIDTH + u);
    c[u] = sigmoid(z[1]) * c[u] + sigmoid(z[0]) * tanh(z[2]);
    next[u] = sigmoid(z[3]) * tanh(c[u]);
  }
  memcpy(h, next, sizeof next);
}

static double normalized(const double *theta, const RecurrentShape *shape, const double *h, int u) {
  double mean = 0, variance = 0;
  for (int i = 0; i < WIDTH; i++) mean += h[i] / WIDTH;
  for (int i = 0; i < WIDTH; i++) variance += (h[i] - mean) * (h[i] - mean) / WIDTH;
  return theta[shape->gain + (size_t)u] * (h[u] - mean) / sqrt(variance + NETWORK_NORM_EPSILON) +
         theta[shape->offset + (size_t)u];
}

/* All sequences: the sum of outputs times their weights, outputs and last states unless NULL. */
static double oracle(const double *theta, const RecurrentShape *shape, const double *x, const double *start,
                     const float *weight, double *output, double *end) {
  double sum = 0;
  for (int s = 0; s < SEQUENCES; s++) {
    double h[WIDTH], c[WIDTH];
    memcpy(h, start + s * STATES, sizeof h);
    memcpy(c, start + s * STATES + WIDTH, sizeof c);
    for (int t = 0; t < LENGTH; t++) {
      const int row = t * SEQUENCES + s;
      if (BEGINS[row]) memset(h, 0, sizeof h), memset(c, 0, sizeof c);
      step(theta, shape, x + row * IN, h, c);
      for (int u = 0; u < WIDTH; u++) {
        const double y = normalized(theta, shape, h, u);
        sum += (double)weight[row * WIDTH + u] * y;
        if (output) output[row * WIDTH + u] = y;
      }
    }
    if (end) memcpy(end + s * STATES, h, sizeof h), memcpy(end + s * STATES + WIDTH, c, sizeof c);
  }
  return sum;
}

/* ---- our passes -------------------------------------------------------------------------------------------------- */

typedef struct Fixture {
  Ops *ops;
  CoreArena *arena;
  Recurrent recurrent;
  float *theta, *x, *start, *end, *doutput, *dx, *gradient; /* in the memory of the ops */
  uint8_t *begins;
  size_t n;
  float *host_theta, *host_x, *host_start, *weight;
} Fixture;

static Fixture make_fixture(CoreDevice *on) {
  Fixture f = {.arena = core_arena_create("test")};
  const RecurrentShape shape = recurrent_shape(IN, WIDTH);
  f.n = shape.parameters;
  if (on) {
    core_arena_set_device(f.arena, on);
    assert_int_equal(ops_device_create(on, OPS_FLOAT32, ROWS, 2 * GATES, false, &f.ops), CORE_OK);
  } else {
    f.ops = make_ops(2);
  }
  recurrent_register(&f.recurrent, &shape, 1, ROWS, f.arena);
  CORE_ARENA_DEVICE(f.arena, f.theta, f.n, "weights");
  CORE_ARENA_DEVICE(f.arena, f.gradient, f.n, "gradient");
  CORE_ARENA_DEVICE(f.arena, f.x, ROWS * IN, "x");
  CORE_ARENA_DEVICE(f.arena, f.dx, ROWS * IN, "dx");
  CORE_ARENA_DEVICE(f.arena, f.doutput, ROWS * WIDTH, "doutput");
  CORE_ARENA_DEVICE(f.arena, f.start, SEQUENCES * STATES, "start");
  CORE_ARENA_DEVICE(f.arena, f.end, SEQUENCES * STATES, "end");
  CORE_ARENA_DEVICE(f.arena, f.begins, ROWS, "begins");
  assert_int_equal(core_arena_commit(f.arena), CORE_OK);
  f.host_theta = normals(1, f.n, 0.6);
  f.host_x = normals(2, ROWS * IN, 1);
  f.host_start = normals(3, SEQUENCES * STATES, 0.5);
  f.weight = normals(4, ROWS * WIDTH, 1);
  core_device_to_device(on, f.theta, f.host_theta, f.n * sizeof *f.theta);
  core_device_to_device(on, f.x, f.host_x, ROWS * IN * sizeof *f.x);
  core_device_to_device(on, f.start, f.host_start, SEQUENCES * STATES * sizeof *f.start);
  core_device_to_device(on, f.doutput, f.weight, ROWS * WIDTH * sizeof *f.weight);
  core_device_to_device(on, f.begins, BEGINS, ROWS);
  return f;
}

static void destroy_fixture(Fixture *f) {
  ops_destroy(&f->ops);
  core_arena_destroy(&f->arena);
  free(f->host_theta), free(f->host_x), free(f->host_start), free(f->weight);
}

static float *fetched(const Fixture *f, const float *x, size_t n) {
  float *host = core_memory_allocate(n * sizeof *host);
  core_device_to_host(f->ops->device, host, x, n * sizeof *host);
  return host;
}

static void assert_all_near(const Fixture *f, const float *x, const double *want, size_t n) {
  float *got = fetched(f, x, n);
  for (size_t i = 0; i < n; i++) assert_near((double)got[i], want[i], 1e-5);
  free(got);
}

/* The numbers of `got` against central differences of the loss in *vector. */
static void assert_differences(const Fixture *f, double *theta, double *x, double *start, double *vector,
                               const float *where, size_t n, bool is_start) {
  float *got = fetched(f, where, n);
  for (size_t i = 0; i < n; i++) {
    const double at = vector[i], h = 1e-6;
    vector[i] = at + h;
    double want = oracle(theta, &f->recurrent.shape, x, start, f->weight, NULL, NULL);
    vector[i] = at - h;
    want = (want - oracle(theta, &f->recurrent.shape, x, start, f->weight, NULL, NULL)) / (2 * h);
    vector[i] = at;
    /* dstate has all h, then all c: the gradient of the initial state, which is 0 at the start of an episode */
    const size_t s = i / STATES, u = i % WIDTH, block = i % STATES / WIDTH;
    double ours = (double)got[is_start ? (block * SEQUENCES + s) * WIDTH + u : i];
    if (is_start && BEGINS[s]) ours = 0;
    assert_near(ours, want, 2e-5 * (1 + fabs(want)));
  }
  free(got);
}

static void check_passes(CoreDevice *on) {
  Fixture f = make_fixture(on);
  const RecurrentSequences sequences = {.length = LENGTH, .start = f.start, .begins = f.begins, .end = f.end};
  double *theta = doubles(f.host_theta, f.n), *x = doubles(f.host_x, ROWS * IN);
  double *start = doubles(f.host_start, SEQUENCES * STATES), output[ROWS * WIDTH], end[SEQUENCES * STATES];
  recurrent_forward(&f.recurrent, f.ops, f.theta, f.x, ROWS, &sequences, 0, 0);
  oracle(theta, &f.recurrent.shape, x, start, f.weight, output, end);
  assert_all_near(&f, f.recurrent.output, output, ROWS * WIDTH);
  assert_all_near(&f, f.end, end, SEQUENCES * STATES);
  recurrent_backward(&f.recurrent, f.ops, f.theta, f.x, ROWS, &sequences, f.doutput, f.dx, f.gradient);
  assert_differences(&f, theta, x, start, theta, f.gradient, f.n, false);
  assert_differences(&f, theta, x, start, x, f.dx, ROWS * IN, false);
  assert_differences(&f, theta, x, start, start, f.recurrent.dstate, SEQUENCES * STATES, true);
  free(theta), free(x), free(start);
  destroy_fixture(&f);
}

/* Step by step, the states carried in place, as worlds are acted in: the outputs of whole sequences. */
static void check_steps(CoreDevice *on) {
  Fixture f = make_fixture(on);
  const RecurrentSequences whole = {.length = LENGTH, .start = f.start, .begins = f.begins};
  recurrent_forward(&f.recurrent, f.ops, f.theta, f.x, ROWS, &whole, 0, 0);
  float *want = fetched(&f, f.recurrent.output, ROWS * WIDTH);
  for (int t = 0; t < LENGTH; t++) {
    const RecurrentSequences one = {.length = 1, .start = f.start, .begins = f.begins + t * SEQUENCES, .end = f.start};
    recurrent_forward(&f.recurrent, f.ops, f.theta, f.x + (size_t)(t * SEQUENCES * IN), SEQUENCES, &one, 0, 0);
    float *got = fetched(&f, f.recurrent.output, SEQUENCES * WIDTH);
    for (int i = 0; i < SEQUENCES * WIDTH; i++)
      assert_near((double)got[i], (double)want[t * SEQUENCES * WIDTH + i], 1e-6);
    free(got);
  }
  free(want);
  destroy_fixture(&f);
}

static void test_passes(void **state) {
  (void)state;
  check_passes(NULL);
  check_steps(NULL);
}

static void run_all(void) {
  check_passes(device);
  check_steps(device);
  core_device_close(&device);
}

/* More sequences than a block has, by any number of threads: the same bits. */
static void test_threads(void **state) {
  (void)state;
  enum { MANY = 300, STEPS = 3, UNITS = 20 };
  const size_t w = UNITS, rows = MANY * STEPS;
  float *wh = normals(1, w * 4 * w, 0.3), *bh = normals(2, 4 * w, 0.3), *start = normals(3, MANY * 2 * w, 1);
  float *dh = normals(4, rows * w, 1), *kept[2] = {NULL, NULL};

  for (int threads = 1; threads <= 3; threads += 2) {
    Ops *ops = make_ops(threads);
    float *gates = normals(5, rows * 4 * w, 1), *buffer = core_memory_zero_allocate(5 * rows * w, sizeof *buffer);
    float *gradient = buffer + 3 * rows * w; /* dwx, dwh, dbx, dbh, dstate */

    const OpsLstm lstm = {.in = UNITS, .width = UNITS, .sequences = MANY, .length = STEPS, .wx = wh, .bx = bh,
                          .wh = wh, .bh = bh, .x = dh, .start = start, .stride = 2 * w, .gates = gates, .h_in = buffer,
                          .c_in = buffer + rows * w, .h = buffer + 2 * rows * w};
    const OpsLstmGradients to = {.dwx = gradient, .dwh = gradient + 4 * w * w, .dbx = gradient + 8 * w * w,
                                 .dbh = gradient + 8 * w * w + 4 * w, .dstate = gradient + rows * w};

    ops->recurrent->lstm_forward(ops, &lstm);
    ops->recurrent->lstm_backward(ops, &lstm, dh, &to);

    assert_memory_equal(to.dbx, to.dbh, 4 * w * sizeof *to.dbx);
    for (size_t i = 0; i < rows * 4 * w; i++) assert_true(isfinite(gates[i]));
    if (kept[0]) assert_memory_equal(gates, kept[0], rows * 4 * w * sizeof *gates);
    if (kept[1]) assert_memory_equal(buffer, kept[1], 5 * rows * w * sizeof *buffer);

    free(kept[0]), free(kept[1]);
    kept[0] = gates, kept[1] = buffer;
    ops_destroy(&ops);
  }

  free(kept[0]), free(kept[1]);
  free(wh), free(bh), free(start), free(dh);
}

/* ---- trainings --------------------------------------------------------------------------------------------------- */

static CoreConfig small_config(const char *algorithm, const char *sharing) {
  CoreConfig config = CONFIGURED_SMALL("env.max_steps=11", "net.memory=lstm", "net.memory_width=12",
                                       "ppo.sequence_length=8", "metrics.states=128");
  set(&config, algorithm);
  set(&config, sharing);
  if (strcmp(config.algo.name, "sapg") != 0) return config;
  set(&config, "env.actions=continuous");
  set(&config, "sapg.blocks=4");
  set(&config, "sapg.sequence_length=8");
  return config;
}

/* Constant weights: running the policy over gathered sequences must reproduce the acting policy, through episodes
 * that end inside of sequences and from states that are carried over rollouts. */
static void check_acting(CoreConfig config) {
  set(&config, "ppo.learning_rate=0");
  set(&config, "sapg.kl_threshold=0");
  set(&config, "metrics.every=1");
  set(&config, "metrics.representation_every=1");
  set(&config, "metrics.profile_every=1");
  Training *training = make(&config);
  for (int i = 0; i < 3; i++) {
    const StoreIteration row = iterate(training, 1);
    assert_near(row.kl, 0, 1e-9);
    assert_near(row.kl_k3, 0, 1e-9);
    assert_near(row.clip_fraction, 0, 0);
    assert_near(row.ess_percent, 100, 1e-3);
    assert_true(row.episodes > 0);
  }
  training_destroy(&training);
}

static void test_acting(void **state) {
  (void)state;
  const char *const algorithms[] = {"algo.name=ppo", "algo.name=ppo_ewma", "algo.name=sapg"};
  for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
    check_acting(small_config(algorithms[i], "net.sharing=shared"));
    check_acting(small_config(algorithms[i], "net.sharing=separate"));
  }
  CoreConfig config = small_config("algo.name=ppo", "net.sharing=joint");
  set(&config, "ppo.minibatch_by=environments");
  check_acting(config);
  config = small_config("algo.name=ppo", "net.sharing=shared");
  set(&config, "comm.deterministic=yes");
  set(&config, "comm.shards=4");
  check_acting(config);
  config = small_config("algo.name=sapg", "net.sharing=shared");
  set(&config, "comm.deterministic=yes");
  set(&config, "comm.shards=4");
  check_acting(config);
}

/* A policy with equal observations but another memory has a nonzero KL; so has one whose states are lost. */
static void test_states_count(void **state) {
  (void)state;
  CoreConfig config = small_config("algo.name=ppo", "net.sharing=shared");
  set(&config, "ppo.learning_rate=0");
  Training *training = make(&config);
  iterate(training, 1);
  const RolloutStates *states = &training->rollout.states;
  double sum = 0;
  for (int i = 0; i < states->worlds * states->state_size; i++) sum += fabs((double)states->current[i]);
  assert_true(sum > 0);
  states_clear(states);
  for (int s = 0; s < states->steps / states->length; s++) /* sequences gathered by metrics */
    memset(states->starts + (size_t)s * (size_t)(states->worlds * states->state_size), 0,
           (size_t)(states->worlds * states->state_size) * sizeof *states->starts);
  MetricsPolicyChange change;
  metrics_policy_change(&training->metrics, training->ops, &training->agent, &training->rollout, 0, 1, &change);
  assert_true(change.kl > 1e-7);
  training_destroy(&training);
}

/* Returns the leader's value of a state in a follower's world, one step after `memory`, which is updated. */
static double lead_value(Training *training, int t, int world, float *memory) {
  const Rollout *rollout = &training->rollout;
  const RolloutStates *states = &rollout->states;
  const size_t row = (size_t)(t * rollout->worlds + world), features = (size_t)rollout->features;
  float seen[512], value;
  assert_true(features <= 512);
  memcpy(seen, rollout->observations + row * features, features * sizeof *seen);
  obs_set_leader_block(&rollout->pipeline, seen, 1);
  const RecurrentSequences one = {.length = 1, .start = memory, .begins = states->begins + row, .end = memory};
  agent_bind_sequences(&training->agent, &one);
  agent_values(&training->agent, training->ops, seen, 1, &value);
  return (double)value;
}

/* The leader's off-policy samples are evaluated with the follower's states, sequence by sequence. */
static void check_leader(const char *sharded) {
  CoreConfig config = small_config("algo.name=sapg", "net.sharing=shared");
  set(&config, "ppo.learning_rate=0");
  set(&config, "sapg.kl_threshold=0");
  set(&config, "sapg.normalize_value=no");
  set(&config, sharded);
  Training *training = make(&config);
  iterate(training, 2);
  const SapgData *data = &((const Sapg *)training->learner.state)->data;
  const RolloutStates *states = &training->rollout.states;
  const int worlds = training->rollout.worlds, steps = training->rollout.steps;
  const float *values = data->values + (size_t)(steps * worlds);
  assert_int_equal(data->columns, worlds / 4); /* one follower of four blocks */
  for (int column = 0; column < data->columns; column++) {
    const int world = (int)data->follower[0] * data->columns + column;
    float memory[64];
    assert_true(states->state_size <= 64);
    for (int t = 0; t <= steps; t++) {
      const float *start = states->starts + (size_t)(t / states->length * worlds + world) * (size_t)states->state_size;
      if (t % states->length == 0) memcpy(memory, start, (size_t)states->state_size * sizeof *memory);
      assert_near(lead_value(training, t, world, memory), (double)values[t * data->columns + column], 1e-5);
    }
  }
  training_destroy(&training);
}

static void test_leader(void **state) {
  (void)state;
  check_leader("comm.deterministic=no");
  check_leader("comm.deterministic=yes");
}

static void test_repeats(void **state) {
  (void)state;
  assert_repeats_and_depends_on_the_seed(small_config("algo.name=ppo", "net.sharing=shared"));
  assert_repeats_and_depends_on_the_seed(small_config("algo.name=sapg", "net.sharing=shared"));
}

/* On an emulated device: the same, closely. */
static void test_device_training(void **state) {
  (void)state;
  const char *const algorithms[] = {"algo.name=ppo", "algo.name=ppo_ewma", "algo.name=sapg"};
  for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
    CoreConfig config = small_config(algorithms[i], "net.sharing=shared");
    set(&config, "ppo.learning_rate=1e-3");
    Training *host = make(&config);
    if (!is_gpu_requested()) setenv("CORE_DEVICE", "emulated", 1);
    set(&config, "train.device=cuda");
    Training *there = make(&config);
    for (int k = 0; k < 3; k++) {
      const StoreIteration want = iterate(host, 1), got = iterate(there, 1);
      assert_near(got.episodes, want.episodes, 0);
      assert_near(got.kl, want.kl, 1e-2 * (1e-3 + want.kl));
      assert_near(got.value_loss, want.value_loss, 1e-3 * (1e-3 + want.value_loss));
      assert_near(got.grad_norm_actor, want.grad_norm_actor, 1e-2 * (1e-3 + want.grad_norm_actor));
    }
    training_destroy(&host);
    training_destroy(&there);
    unsetenv("CORE_DEVICE");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_passes), cmocka_unit_test(test_threads), cmocka_unit_test(test_forward),
    cmocka_unit_test(test_backward), cmocka_unit_test(test_gpu), cmocka_unit_test(test_acting),
    cmocka_unit_test(test_states_count), cmocka_unit_test(test_leader), cmocka_unit_test(test_repeats),
    cmocka_unit_test(test_device_training),
  };
  choose_device_tests();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
