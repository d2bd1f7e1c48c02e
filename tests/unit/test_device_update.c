/* Composition of a queued minibatch on a device, and concurrent networks, which give the bits of sequential ones:
 * counts captured kernels (core/device/device.h, graphs), with their orders. */
#include "test.h"

#include "trainer/learners/ppo.h"
#include "training_tools.h"

/* ---- counting ---------------------------------------------------------------------------------------------------- */

enum { KERNELS_MAX = 64 };

/* Counts of the current graph: launches of each kernel, and the longest sequence in each order. */
typedef struct Recorded {
  const char *name[KERNELS_MAX];
  int count[KERNELS_MAX], kernels, launches;
  int chain[CORE_STREAMS], longest; /* kernels up to where each order is now, on the longest way; and at the end */
  int entered[CORE_STREAMS], depth;
} Recorded;

static CoreDevice counted;          /* the functions that are counted before they are called */
static Recorded now, update;     /* update: of the last graph that ends in a step */
static bool is_capturing;

static int *chain_at_hand(void) { return &now.chain[now.entered[now.depth]]; }
static void later_of(int *chain, int other) { *chain = other > *chain ? other : *chain; }

static void count_launch(CoreDevice *device, const CoreKernel *kernel, unsigned blocks, unsigned threads, size_t shared,
                         const void *arguments) {
  counted.launch(device, kernel, blocks, threads, shared, arguments);
  if (!is_capturing) return;
  int k = 0;
  while (k < now.kernels && strcmp(now.name[k], kernel->name) != 0) k++;
  if (k == now.kernels) now.name[now.kernels++] = kernel->name;
  assert_true(now.kernels < KERNELS_MAX);
  now.count[k]++;
  now.launches++;
  ++*chain_at_hand();
}

static void count_enter(CoreDevice *device, int stream) {
  counted.stream_push(device, stream);
  const int from = *chain_at_hand();
  now.entered[++now.depth] = stream;
  later_of(chain_at_hand(), from);
}
static void count_leave(CoreDevice *device) {
  counted.stream_pop(device);
  now.depth--;
}
static void count_join(CoreDevice *device, int stream) {
  counted.stream_wait(device, stream);
  later_of(chain_at_hand(), now.chain[stream]);
}

static void count_begin(CoreDevice *device) {
  counted.begin_capture(device);
  now = (Recorded){.launches = 0};
  is_capturing = true;
}
static int count_of(const Recorded *graph, const char *name) {
  for (int k = 0; k < graph->kernels; k++)
    if (strcmp(graph->name[k], name) == 0) return graph->count[k];
  return 0;
}
static CoreGraph *count_end(CoreDevice *device) {
  is_capturing = false;
  now.longest = now.chain[0];
  if (count_of(&now, "ops_descend") > 0) update = now;
  return counted.end_capture(device);
}

static void count_graphs_of(CoreDevice *device) {
  counted = *device;
  device->launch = count_launch;
  device->stream_push = count_enter, device->stream_pop = count_leave, device->stream_wait = count_join;
  device->begin_capture = count_begin, device->end_capture = count_end;
}

typedef struct Case { const char *settings[10]; } Case;

static Training *made(const Case *c, const char *order) {
  CoreConfig config = CONFIGURED_SMALL("train.device=cuda", "env.max_steps=9", "env.num=10", "ppo.num_minibatches=4",
                                       "net.depth=3", "net.width=32", "metrics.states=40",
                                       "metrics.representation_every=1000");
  char device[64];
  for (int i = 0; c->settings[i]; i++) set(&config, c->settings[i]);
  snprintf(device, sizeof device, "emulated:order=%s", order);
  setenv("CORE_DEVICE", device, 1); /* a product and its derivative in one kernel: from width 64 on */
  Training *training = make(&config);
  unsetenv("CORE_DEVICE");
  return training;
}

/* The second iteration records an ordinary minibatch; the first one measures. */
static Recorded recorded(const Case *c) {
  Training *training = made(c, "forward");
  count_graphs_of(training->device);
  for (int i = 0; i < 3; i++) iterate(training, 1);
  CoreDevice *device = training->device;
  device->launch = counted.launch;
  device->stream_push = counted.stream_push, device->stream_pop = counted.stream_pop,
    device->stream_wait = counted.stream_wait;
  device->begin_capture = counted.begin_capture, device->end_capture = counted.end_capture;
  training_destroy(&training);
  return update;
}

static void report(const char *what, const Recorded *graph) {
  print_message("# %s: %d kernels a minibatch, %d one behind the other\n", what, graph->launches, graph->longest);
  for (int k = 0; k < graph->kernels; k++) print_message("#   %2d %s\n", graph->count[k], graph->name[k]);
}

/* ReLU on a GPU needs no separate pass; without a library, epilogues are additional kernels. */
static int of_epilogues(const Recorded *graph) {
  const int masked = count_of(graph, "ops_hidden_gradient"); /* after a masked product: sums, folded, and rounded */
  return count_of(graph, "ops_hidden_activate") > 0 ? 0 : 3 * masked;
}

/* Without a library layers of float32 fold the sums of a value's kernel by themselves. */
static int of_columns(const Recorded *graph) {
  return count_of(graph, "ops_activation_gradient") > 0 ? count_of(graph, "ops_column_parts") : 0;
}

static void check_count(const char *what, const Case *c, int launches, int longest) {
  const Recorded graph = recorded(c);
  report(what, &graph);
  assert_int_equal(graph.launches - of_epilogues(&graph) - of_columns(&graph), launches);
  assert_int_equal(graph.longest - of_epilogues(&graph) / 2 - of_columns(&graph), longest);
}

/* Checks the counts that docs/cuda-measurements.md states. */
static void test_counts(void **state) {
  (void)state;
  check_count("bf16, tanh", &(Case){{"train.precision=bf16", "net.width=64"}}, 16, 11);
  check_count("bf16, SiLU", &(Case){{"train.precision=bf16", "net.activation=silu"}}, 54, 30);
  check_count("bf16, ReLU", &(Case){{"train.precision=bf16", "net.activation=relu"}}, 36, 21);
  check_count("float32, tanh", &(Case){{NULL}}, 52, 29);
  check_count("bf16, tanh, common trunk",
              &(Case){{"train.precision=bf16", "net.sharing=shared", "net.trunk_activation=tanh"}}, 61, 61);
}

/* ---- the same bits ----------------------------------------------------------------------------------------------- */

static void assert_same_vector(const Training *a, const float *x, const Training *b, const float *y, size_t n) {
  void *first, *second;
  core_device_view(a->device, x, n * sizeof *x, &first), core_device_view(b->device, y, n * sizeof *y, &second);
  assert_memory_equal(first, second, n * sizeof *x);
  free(first), free(second);
}

/* Three iterations, the first of which measures: minibatches whose steps the host decides, one network after the other,
 * against queued ones, whose networks go side by side as far apart as streams may be, in the first `count` orders. */
static void compare(const Case *c, size_t count) {
  static const char *const orders[] = {"forward", "backward", "isolated"};
  setenv("TRAINER_QUEUE", "none", 1);
  Training *decided = made(c, "forward");
  unsetenv("TRAINER_QUEUE");
  StoreIteration want = iterate(decided, 3);

  for (size_t i = 0; i < count; i++) {
    Training *queued = made(c, orders[i]);
    const StoreIteration got = iterate(queued, 3);
    const Agent *x = &decided->agent, *y = &queued->agent;

    assert_true(queued->device->graphs > decided->device->graphs);
    assert_same_vector(decided, x->actor.theta, queued, y->actor.theta, x->actor.n);
    assert_same_vector(decided, x->critic.theta, queued, y->critic.theta, x->critic.n);
    assert_same_vector(decided, decided->rollout.values, queued, queued->rollout.values, 160);
    assert_true(got.kl == want.kl);
    if (i == 0) want = got; /* sums of means on the device, where the host has means of sums */
    assert_true(got.policy_loss == want.policy_loss && got.value_loss == want.value_loss &&
                got.entropy == want.entropy && got.clip_fraction == want.clip_fraction);
    training_destroy(&queued);
  }
  training_destroy(&decided);
}

static void test_same_bits(void **state) {
  (void)state;
  compare(&(Case){{"train.precision=bf16"}}, 3);
  compare(&(Case){{"train.precision=bf16", "net.width=64", "net.depth=2"}}, 2); /* isolated: test_device_mlp */
  compare(&(Case){{"train.precision=bf16", "net.activation=relu", "ppo.normalize_advantage=minibatch"}}, 3);
  compare(&(Case){{"train.precision=bf16", "net.activation=silu", "net.depth=6", "net.width=16"}}, 3);
  compare(&(Case){{"algo.name=ppo_ewma", "env.actions=continuous", "ppo.ratio_cap=10", "ppo.kl_penalty=0.1"}}, 3);
  compare(&(Case){{"net.sharing=joint", "net.norm=layer", "env.actions=continuous", "net.action_head=gaussian"}}, 3);
  compare(&(Case){{"train.precision=bf16", "net.sharing=shared"}}, 3);
}

/* Shards of a deterministic run, a piece each. */
static void test_same_bits_of_shards(void **state) {
  (void)state;
  compare(&(Case){{"env.num=12", "comm.shards=4", "comm.deterministic=yes", "train.precision=bf16"}}, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts), cmocka_unit_test(test_same_bits),
                                     cmocka_unit_test(test_same_bits_of_shards)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
