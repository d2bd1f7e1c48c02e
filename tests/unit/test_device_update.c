/* What a queued minibatch is made of on a device, and that its networks, side by side, come to the bits of one after the
 * other: kernels are counted as they are recorded (core/device.h, graphs), with the orders that they are given to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <cmocka.h>

#include "trainer/learners/ppo.h"
#include "training_tools.h"

/* ---- counting ------------------------------------------------------------------------------------------------------ */

enum { KERNELS_MAX = 64 };

/* The graph at hand: how often which kernel, and how many stand one behind the other in each order. */
typedef struct Recorded {
  const char *name[KERNELS_MAX];
  int count[KERNELS_MAX], kernels, launches;
  int chain[CORE_LANES];         /* kernels up to where each order is now, on the longest way */
  int entered[CORE_LANES], depth;
} Recorded;

static CoreDevice counted;          /* the functions that are counted before they are called */
static Recorded now, update;     /* update: of the last graph that ends in a step */
static bool is_recording;

static int *chain_at_hand(void) { return &now.chain[now.entered[now.depth]]; }
static void later_of(int *chain, int other) { *chain = other > *chain ? other : *chain; }

static void count_launch(CoreDevice *device, const CoreKernel *kernel, unsigned blocks, unsigned threads, size_t shared,
                         const void *arguments) {
  counted.launch(device, kernel, blocks, threads, shared, arguments);
  if (!is_recording) return;
  int k = 0;
  while (k < now.kernels && strcmp(now.name[k], kernel->name) != 0) k++;
  if (k == now.kernels) now.name[now.kernels++] = kernel->name;
  assert_true(now.kernels < KERNELS_MAX);
  now.count[k]++;
  now.launches++;
  ++*chain_at_hand();
}

static void count_enter(CoreDevice *device, int lane) {
  counted.enter(device, lane);
  const int from = *chain_at_hand();
  now.entered[++now.depth] = lane;
  later_of(chain_at_hand(), from);
}
static void count_leave(CoreDevice *device) {
  counted.leave(device);
  now.depth--;
}
static void count_join(CoreDevice *device, int lane) {
  counted.join(device, lane);
  later_of(chain_at_hand(), now.chain[lane]);
}

static void count_begin(CoreDevice *device) {
  counted.begin_graph(device);
  now = (Recorded){.launches = 0};
  is_recording = true;
}
static int count_of(const Recorded *graph, const char *name) {
  for (int k = 0; k < graph->kernels; k++)
    if (strcmp(graph->name[k], name) == 0) return graph->count[k];
  return 0;
}
static CoreGraph *count_end(CoreDevice *device) {
  is_recording = false;
  if (count_of(&now, "ops_descend") > 0) update = now;
  return counted.end_graph(device);
}

static void count_graphs_of(CoreDevice *device) {
  counted = *device;
  device->launch = count_launch;
  device->enter = count_enter, device->leave = count_leave, device->join = count_join;
  device->begin_graph = count_begin, device->end_graph = count_end;
}

typedef struct Case { const char *settings[10]; } Case;

static Training *made(const Case *c, const char *order) {
  CoreConfig config = CONFIGURED_SMALL("train.device=cuda", "env.max_steps=9", "env.num=10", "ppo.num_minibatches=4",
                                       "net.depth=3", "net.width=32", "metrics.states=40",
                                       "metrics.representation_every=1000");
  char device[64];
  for (int i = 0; c->settings[i]; i++) set(&config, c->settings[i]);
  snprintf(device, sizeof device, "emulated:order=%s", order);
  setenv("CORE_DEVICE", device, 1);
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
  device->enter = counted.enter, device->leave = counted.leave, device->join = counted.join;
  device->begin_graph = counted.begin_graph, device->end_graph = counted.end_graph;
  training_destroy(&training);
  return update;
}

static void report(const char *what, const Recorded *graph) {
  int longest = 0;
  for (int lane = 0; lane < CORE_LANES; lane++) later_of(&longest, graph->chain[lane]);
  print_message("# %s: %d kernels a minibatch, %d one behind the other\n", what, graph->launches, longest);
  for (int k = 0; k < graph->kernels; k++) print_message("#   %2d %s\n", graph->count[k], graph->name[k]);
}

static void test_counts(void **state) {
  static const Case tanh_bf16 = {{"train.precision=bf16", NULL}};
  static const Case relu_bf16 = {{"train.precision=bf16", "net.activation=relu", NULL}};
  static const Case floats = {{NULL}};
  (void)state;
  const Recorded of_tanh = recorded(&tanh_bf16), of_relu = recorded(&relu_bf16), of_floats = recorded(&floats);
  report("bf16, tanh", &of_tanh);
  report("bf16, ReLU", &of_relu);
  report("float32, tanh", &of_floats);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
