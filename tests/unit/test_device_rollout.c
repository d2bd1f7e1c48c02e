/* Rollouts on a device: the emulator's streams, halves of the worlds that step while the policy runs for the others,
 * and all steps as one graph. The bits are the same for all settings and any lag of the streams. */
#include "test.h"

#include "core/device/device.h"
#include "core/memory.h"
#include "device_tools.h"
#include "training_tools.h"

/* ---- streams ----------------------------------------------------------------------------------------------------- */

enum { BYTES = 64 };

static CoreDevice *const *orders(void) {
  static CoreDevice *made[3];
  for (int i = 0; i < 3; i++) made[i] = core_device_emulated((CoreDeviceOrder)i);
  return made;
}

static int first_byte(CoreDevice *device, const void *memory) {
  unsigned char bytes[BYTES];
  device->to_host(device, bytes, memory, BYTES);
  return bytes[0];
}

/* x = 1, then on a stream x = 2; meanwhile y = x on the default stream, which joins the stream before or not. */
static int race(CoreDevice *device, bool joins) {
  void *x, *y;
  assert_int_equal(device->allocate(device, BYTES, &x), CORE_OK);
  assert_int_equal(device->allocate(device, BYTES, &y), CORE_OK);
  device->fill(device, x, 1, BYTES);
  device->stream_push(device, CORE_STREAM_WORLDS);
  device->fill(device, x, 2, BYTES);
  device->stream_pop(device);
  if (joins) device->stream_wait(device, CORE_STREAM_WORLDS);
  device->copy(device, y, x, BYTES);
  device->stream_wait(device, CORE_STREAM_WORLDS);
  const int seen = first_byte(device, y);
  assert_int_equal(first_byte(device, x), 2);
  device->release(device, x), device->release(device, y);
  return seen;
}

/* A join that is missing shows itself as a result that depends on the emulator's order. */
static void test_join(void **state) {
  CoreDevice *const *device = orders();
  (void)state;
  for (int i = 0; i < 3; i++) assert_int_equal(race(device[i], true), 2);
  assert_int_equal(race(device[CORE_DEVICE_FORWARD], false), 2);
  assert_int_equal(race(device[CORE_DEVICE_BACKWARD], false), 1);
  assert_int_equal(race(device[CORE_DEVICE_ISOLATED], false), 1);
  for (int i = 0; i < 3; i++) device[i]->destroy(device[i]);
}

/* A stream entered from another one sees its earlier operations, and the other one waits for it. */
static void nested(CoreDevice *device, void *x, void *y, void *z) {
  device->stream_push(device, CORE_STREAM_WORLDS);
  device->fill(device, x, 7, BYTES);
  device->stream_push(device, CORE_STREAM_AHEAD);
  device->copy(device, y, x, BYTES);
  device->stream_pop(device);
  device->stream_wait(device, CORE_STREAM_AHEAD);
  device->copy(device, z, y, BYTES);
  device->stream_pop(device);
  device->stream_wait(device, CORE_STREAM_WORLDS);
}

static void test_nested(void **state) {
  CoreDevice *const *device = orders();
  (void)state;
  for (int i = 0; i < 3; i++) {
    CoreDevice *d = device[i];
    void *x, *y, *z;
    assert_int_equal(d->allocate(d, BYTES, &x) + d->allocate(d, BYTES, &y) + d->allocate(d, BYTES, &z), CORE_OK);
    nested(d, x, y, z);
    assert_int_equal(first_byte(d, z), 7);
    d->fill(d, z, 0, BYTES);
    d->begin_capture(d);
    nested(d, x, y, z);
    CoreGraph *graph = d->end_capture(d);
    assert_int_equal(first_byte(d, z), 0);
    for (int k = 0; k < 2; k++) {
      d->fill(d, y, 0, BYTES);
      d->launch_graph(d, graph);
      assert_int_equal(first_byte(d, z), 7);
    }
    d->destroy_graph(d, graph);
    d->destroy(d);
  }
}

/* ---- halves ------------------------------------------------------------------------------------------------------ */

typedef struct Case { const char *settings[12]; } Case;

/* order NULL: on a GPU. */
static Training *made(const CoreConfig *config, const char *order) {
  char device[64];
  if (order == NULL) return make(config);
  snprintf(device, sizeof device, "emulated:order=%s", order);
  setenv("CORE_DEVICE", device, 1);
  Training *training = make(config);
  unsetenv("CORE_DEVICE");
  return training;
}

static void assert_same(const Training *a, const void *x, const Training *b, const void *y, size_t bytes) {
  void *first, *second;
  core_device_view(a->device, x, bytes, &first), core_device_view(b->device, y, bytes, &second);
  assert_memory_equal(first, second, bytes);
  free(first), free(second);
}

static void assert_same_rollouts(const Training *a, const Training *b) {
  const Rollout *x = &a->rollout, *y = &b->rollout;
  const size_t rows = (size_t)x->steps * (size_t)x->worlds;
  assert_same(a, x->rewards, b, y->rewards, rows * sizeof(float));
  assert_same(a, x->dones, b, y->dones, rows);
  assert_same(a, x->actions, b, y->actions, rows * x->action_bytes);
  if (!x->samples_logits) assert_same(a, x->logits, b, y->logits, rows * (size_t)x->head.logits * sizeof(float));
  else
    assert_same(a, x->logit_samples.logits, b, y->logit_samples.logits,
                (size_t)x->steps * (size_t)x->logit_samples.capacity * (size_t)x->head.logits * sizeof(float));
  assert_same(a, x->values, b, y->values, (rows + (size_t)x->worlds) * sizeof(float));
  assert_same(a, a->agent.actor.theta, b, b->agent.actor.theta, a->agent.actor.n * sizeof(float));
}

/* Compares iterations on a GPU: half of the worlds are a product of another shape, which cuBLASLt may sum in another
 * order. */
static void assert_similar_iterations(const Training *a, const Training *b, const StoreIteration *x,
                                      const StoreIteration *y) {
  assert_same_rows(x, y, 1);
  assert_close_weights(a, &a->agent.actor, b, &b->agent.actor, 1e-3);
  assert_close_weights(a, &a->agent.critic, b, &b->agent.critic, 1e-3);
}

/* Four iterations: the first is measured and so launched kernel by kernel, the second recorded. */
static void compare(Case c, const char *order) {
  CoreConfig whole = CONFIGURED_SMALL("train.device=cuda", "env.max_steps=9", "env.num=10", "ppo.num_minibatches=2",
                                      "metrics.states=40", "metrics.representation_every=1000");
  for (int i = 0; c.settings[i]; i++) set(&whole, c.settings[i]);
  CoreConfig halves = whole;
  set(&halves, "train.rollout_halves=2");
  Training *a = made(&whole, order ? "forward" : NULL), *b = made(&halves, order);
  for (int i = 0; i < 4; i++) {
    const StoreIteration x = iterate(a, 1), y = iterate(b, 1);
    assert_true(x.episodes > 0 && x.episodes == y.episodes);
    if (order == NULL) {
      assert_similar_iterations(a, b, &x, &y);
      continue;
    }
    assert_same_rollouts(a, b);
    assert_true(x.kl == y.kl);
    assert_true(memcmp(&x.solve_rate, &y.solve_rate, sizeof x.solve_rate) == 0);
    assert_true(memcmp(&x.coverage_states, &y.coverage_states, sizeof x.coverage_states) == 0);
  }
  assert_int_equal(a->device->graphs, b->device->graphs);
  assert_true(a->rollout.graph != NULL && b->rollout.graph != NULL);
  training_destroy(&a);
  training_destroy(&b);
}

static void compare_orders(Case c) {
  compare(c, "forward"), compare(c, "backward");
}

static void test_halves(void **state) { (void)state, compare_orders((Case){{NULL}}); }
/* Threads' memory is checked, too. */
static void test_isolated(void **state) {
  (void)state, compare((Case){{"train.observation_storage=state", "ppo.num_steps=10"}}, "isolated");
}
static void test_odd(void **state) { (void)state, compare_orders((Case){{"env.num=7", "ppo.num_minibatches=4"}}); }
static void test_new_levels(void **state) {
  (void)state;
  compare_orders(
    (Case){{"env.task=random_s", "env.level_count=1", "env.reset=new", "train.observation_storage=state"}});
}
/* Filtered ones, tried ahead of their time on a stream of their own: with episodes that are over before it has got
 * anywhere, and with such as it can keep up with. */
static void test_filtered_levels(void **state) {
  (void)state;
  setenv("SIM_WARP_WORLDS", "alone", 1);
  compare_orders((Case){{"env.task=random_s", "env.level_count=1", "env.reset=new_filtered", "env.max_steps=5"}});
  compare_orders((Case){{"env.task=random_s", "env.level_count=1", "env.reset=new_filtered", "env.max_steps=20",
                         "ppo.num_steps=70", "train.observation_storage=state"}});
  unsetenv("SIM_WARP_WORLDS");
}
static void test_curriculum(void **state) {
  (void)state;
  compare_orders((Case){{"env.task=random_s", "env.curriculum=sfl", "sfl.batch_size=4", "sfl.rollout_steps=9",
                         "sfl.buffer_size=3", "sfl.period=2", "train.observation_storage=state"}});
}
static void test_gaussian(void **state) {
  (void)state;
  compare_orders((Case){{"env.actions=continuous", "net.action_head=gaussian", "env.normalize_rewards=cleanrl"}});
}
/* Observations' statistics are those of all worlds, which then go together. */
static void test_normalized(void **state) {
  (void)state;
  compare_orders((Case){{"env.normalize_observations=cleanrl"}});
}
static void test_shards(void **state) {
  (void)state;
  compare_orders((Case){{"env.num=12", "comm.shards=4", "comm.deterministic=yes", "ppo.num_minibatches=4"}});
}

static void test_gpu(void **state) {
  (void)state;
  CoreDevice *gpu = open_gpu(false);
  core_device_close(&gpu);
  compare((Case){{NULL}}, NULL);
  compare((Case){{"env.task=random_s", "env.level_count=1", "env.reset=new", "train.observation_storage=state"}}, NULL);
  compare((Case){{"env.task=random_s", "env.level_count=1", "env.reset=new_filtered", "env.max_steps=20",
                  "ppo.num_steps=70"}},
          NULL);
}

/* ---- launches and waits of a rollout ----------------------------------------------------------------------------- */

typedef struct Counted { double launches, waits, graphs; } Counted; /* counts of an iteration's rollout */

static Counted count(Training *training) {
  RolloutEpisodes episodes;
  const CoreDevice *device = training->device;
  const uint64_t launches = device->launches, waits = device->synchronizations, graphs = device->graphs;
  rollout_collect(&training->rollout, training->env, training->ops, &training->agent, 1, 2, &episodes);
  return (Counted){(double)(device->launches - launches), (double)(device->synchronizations - waits),
                   (double)(device->graphs - graphs)};
}

/* Kernel by kernel first, then as a graph. */
static void check_counts(const CoreConfig *config, const char *what) {
  CoreConfig parts = *config;
  for (int halves = 1; halves <= 2; halves++) {
    set(&parts, halves == 1 ? "train.rollout_halves=1" : "train.rollout_halves=2");
    Training *training = made(&parts, "forward");
    const Counted single = count(training), recorded = count(training);
    print_message("# %s, %d part%s: %.1f launches a step kernel by kernel, %.0f as a graph; %.0f waits a rollout\n",
                  what, halves, halves == 1 ? "" : "s", single.launches / training->rollout.steps, recorded.graphs,
                  recorded.waits);
    assert_true(single.launches > training->rollout.steps && single.graphs == 0);
    assert_true(recorded.launches == 0 && recorded.graphs == 1);
    assert_true(recorded.waits == single.waits && single.waits < 8);
    training_destroy(&training);
  }
}

/* A rollout of more launches than a graph may have nodes is launched kernel by kernel. */
static void test_bound(void **state) {
  CoreConfig config = CONFIGURED_SMALL("train.device=cuda", "env.max_steps=20");
  (void)state;
  Training *training = made(&config, "forward");
  const Counted first = count(training);
  training->rollout.max_launches = (uint64_t)first.launches - 1;
  const Counted second = count(training);
  assert_true(second.graphs == 0 && second.launches == first.launches);
  training->rollout.max_launches++;
  const Counted third = count(training);
  assert_true(third.graphs == 1 && third.launches == 0);
  training_destroy(&training);
}

static void test_counts(void **state) {
  CoreConfig config = CONFIGURED_SMALL("train.device=cuda", "train.observation_storage=state", "env.max_steps=20");
  (void)state;
  check_counts(&config, "levels of a set");
  setenv("SIM_WARP_WORLDS", "alone", 1);
  set(&config, "env.task=random_s"), set(&config, "env.level_count=1"), set(&config, "env.reset=new");
  check_counts(&config, "new levels");
  set(&config, "env.reset=new_filtered");
  check_counts(&config, "new levels, filtered");
  unsetenv("SIM_WARP_WORLDS");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_join),
                                     cmocka_unit_test(test_nested),
                                     cmocka_unit_test(test_halves),
                                     cmocka_unit_test(test_isolated),
                                     cmocka_unit_test(test_odd),
                                     cmocka_unit_test(test_new_levels),
                                     cmocka_unit_test(test_filtered_levels),
                                     cmocka_unit_test(test_curriculum),
                                     cmocka_unit_test(test_gaussian),
                                     cmocka_unit_test(test_normalized),
                                     cmocka_unit_test(test_shards),
                                     cmocka_unit_test(test_counts),
                                     cmocka_unit_test(test_bound),
                                     cmocka_unit_test(test_gpu)};
  if (getenv("TEST_ONLY")) cmocka_set_test_filter(getenv("TEST_ONLY"));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
