/* The trainer's arithmetic: this machine's peak of matrix products, and the fraction of it that a complete minibatch
 * update (forward, losses, backward, clipping, Adam of actor and critic) reaches with the default network and with a
 * small one. Prints CSV. */
#include "core/device/arena.h"
#include "core/memory.h"
#include "tests/bench/bench_matrix.h"
#include "trainer/nets/network.h"
#include "trainer/update/optimizer.h"
#include "trainer_steps.h"

enum { ROUNDS = 5, ARENAS_MAX = 32 };

/* -------- a minibatch update ---------------------------------------------------------------------------------- */

typedef struct Net {
  NetworkShape shape;
  size_t n;
  float *theta, *gradient;
  NetworkActivations activations;
  Optimizer optimizer;
} Net;

typedef struct Bench {
  int rows, inputs;
  OpsHead head;
  Ops *ops;
  int ops_threads;
  Net actor, critic;
  float *x, *logp, *advantage, *value, *target, *dlogits, *dvalue, *scratch;
  uint8_t *actions;
  double seconds[4];  /* forward, losses, backward, optimizer */
  CoreArena *arenas[ARENAS_MAX];
  int arena_count;
} Bench;
static const char *const part_names[] = {"forward", "losses", "backward", "optimizer"};

static float *floats(Bench *bench, size_t n, float size) {
  CORE_CHECK(bench->arena_count < ARENAS_MAX);
  return bench_floats(&bench->arenas[bench->arena_count++], n, size);
}

static void make_net(Bench *bench, Net *net, int width, int depth, int outputs, double gain) {
  int widths[NETWORK_LAYERS_MAX];
  for (int layer = 0; layer < depth; layer++) widths[layer] = width;
  net->shape = network_shape(bench->inputs, widths, depth, outputs, OPS_TANH, gain);
  net->n = network_parameters(&net->shape);
  net->theta = floats(bench, net->n, 1);
  net->gradient = floats(bench, net->n, 0);
  network_init(&net->shape, 1, 0, net->theta);
  network_place_activations(&net->shape, bench->rows,
                            floats(bench, network_activation_floats(&net->shape, bench->rows), 0), &net->activations);
  net->optimizer = (Optimizer){.m = floats(bench, net->n, 0),
                               .v = floats(bench, net->n, 0),
                               .beta1 = 0.9,
                               .beta2 = 0.999,
                               .epsilon = 1e-5,
                               .max_norm = 0.5};
}

static float *output(Net *net) { return net->activations.hidden[net->shape.layers - 1]; }

static void lap(Bench *bench, int part, double *since) {
  double now = bench_seconds();
  bench->seconds[part] += now - *since;
  *since = now;
}

static void step(Bench *bench, Net *net) {
  double norm;
  int clipped;
  optimizer_step(bench->ops, &net->optimizer, net->theta, net->gradient, net->n, 1e-5, &norm, &clipped);
}

static void update(Bench *bench) {
  Ops *ops = bench->ops;
  OpsPolicySums policy;
  OpsValueSums value;
  double time = bench_seconds();
  network_forward(ops, &bench->actor.shape, bench->actor.theta, bench->x, bench->rows, &bench->actor.activations);
  network_forward(ops, &bench->critic.shape, bench->critic.theta, bench->x, bench->rows, &bench->critic.activations);
  lap(bench, 0, &time);
  ops->policy_loss(ops, &bench->head, output(&bench->actor), bench->actions, bench->logp, NULL, bench->advantage,
                   bench->rows, 0.2, 0.01, bench->dlogits, &policy);
  ops->value_loss(ops, output(&bench->critic), bench->value, bench->target, bench->rows, 1, 0.2, 0.5, bench->dvalue,
                  &value);
  lap(bench, 1, &time);
  network_backward(ops, &bench->actor.shape, bench->actor.theta, bench->x, bench->rows, &bench->actor.activations,
                   bench->dlogits, bench->scratch, bench->actor.gradient);
  network_backward(ops, &bench->critic.shape, bench->critic.theta, bench->x, bench->rows, &bench->critic.activations,
                   bench->dvalue, bench->scratch, bench->critic.gradient);
  lap(bench, 2, &time);
  step(bench, &bench->actor);
  step(bench, &bench->critic);
  lap(bench, 3, &time);
}

/* Applies a run's choice with train.precision = bf16 to these networks. */
static void choose(Bench *bench, const char *name) {
  const NetworkShape *const shapes[] = {&bench->actor.shape, &bench->critic.shape};
  OpsBf16 choice = {.layers = 0};
  CoreText text = {0};
  for (int net = 0; net < 2; net++)
    for (int layer = 0; layer < shapes[net]->layers; layer++)
      ops_bf16_add(&choice, shapes[net]->width[layer], shapes[net]->width[layer + 1]);
  ops_cpu_bf16_select(bench->ops, &choice);
  ops_cpu_bf16_use(bench->ops, &choice);
  ops_bf16_describe(&choice, &text);
  printf("# %s: %s\n", name, core_text_string(&text));
  core_text_free(&text);
}

/* The best round of several: GFLOP/s of matrix products over all the time of the update. precision: float32, bf16 as a
 * run has it, or bf16 by one of TRAINER_BF16's ways. Returns the milliseconds of an update, 0 where there is none. */
static double bench_update(const char *precision, int inputs, int width, int depth, int rows, int threads,
                           double peak) {
  Bench bench = {.rows = rows, .inputs = inputs, .ops_threads = threads,
                 .head = {.factors = 6, .logits = 16, .size = {3, 3, 3, 3, 2, 2}}};
  const bool bf16 = strcmp(precision, "float32") != 0, chosen = strcmp(precision, "bf16") == 0;
  size_t n = (size_t)rows;
  char name[96];
  snprintf(name, sizeof name, "update %d-%dx%d B=%d%s%s%s", inputs, depth, width, rows, bf16 ? " bf16" : "",
           bf16 && !chosen ? " " : "", bf16 && !chosen ? precision : "");
  setenv("TRAINER_BF16", bf16 && !chosen ? precision : "", 1);
  if ((bf16 ? ops_cpu_create_bf16 : ops_cpu_create)(threads, rows, inputs > width ? inputs : width, &bench.ops) !=
      CORE_OK) {
    printf("# %s: %s\n", name, core_error_message());
    return 0;
  }
  make_net(&bench, &bench.actor, width, depth, 16, 0.01);
  make_net(&bench, &bench.critic, width, depth, 1, 1);
  float **const vectors[] = {&bench.logp, &bench.advantage, &bench.value, &bench.target, &bench.dvalue};
  for (int i = 0; i < 5; i++) *vectors[i] = floats(&bench, n, 1);
  bench.x = floats(&bench, n * (size_t)inputs, 1);
  bench.dlogits = floats(&bench, n * 16, 0);
  bench.scratch = floats(&bench, 2 * n * (size_t)(width > 16 ? width : 16), 0);
  bench.actions = core_memory_zero_allocate(n, 6);
  if (chosen) choose(&bench, name);
  int updates = rows >= 4096 ? 2 : 50;
  double best = INFINITY, flops = 0, part[4] = {0};
  for (int round = 0; round < 2 * ROUNDS; round++) {
    memset(bench.seconds, 0, sizeof bench.seconds);
    bench.ops->flops = 0;
    double start = bench_seconds();
    for (int i = 0; i < updates; i++) update(&bench);
    double seconds = bench_seconds() - start;
    if (seconds >= best) continue;
    best = seconds, flops = bench.ops->flops;
    memcpy(part, bench.seconds, sizeof part);
  }
  bench_row("trainer", name, "update", best / updates * 1e3, "ms", threads);
  bench_row("trainer", name, "transitions", rows * (double)updates / best, "1/s", threads);
  bench_row("trainer", name, "speed", flops / best * 1e-9, "GFLOP/s", threads);
  bench_row("trainer", name, "share of sgemm peak", 100 * flops / best * 1e-9 / peak, "%", threads);
  for (int i = 0; i < 4; i++) {
    char metric[64];
    snprintf(metric, sizeof metric, "time in %s", part_names[i]);
    bench_row("trainer", name, metric, 100 * part[i] / best, "%", threads);
  }
  free(bench.actions);
  while (bench.arena_count > 0) core_arena_destroy(&bench.arenas[--bench.arena_count]);
  ops_destroy(&bench.ops);
  return best / updates * 1e3;
}

/* A network in float32, in bf16 as a run has it, and by either way, with how many times as fast as float32 each is. */
static void bench_network(const char *only, int inputs, int width, int depth, int rows, int threads, double peak) {
  const char *const precisions[] = {"float32", "bf16", "rounded", "library"};
  char name[64];
  double float32 = 0;
  snprintf(name, sizeof name, "update %d-%dx%d B=%d", inputs, depth, width, rows);
  if (strstr(name, only) == NULL) return;
  for (int p = 0; p < 4; p++) {
    const double ms = bench_update(precisions[p], inputs, width, depth, rows, threads, peak);
    char metric[64];
    if (p == 0) float32 = ms;
    snprintf(metric, sizeof metric, "%s%s over float32", p > 1 ? "bf16 " : "", precisions[p]);
    if (p > 0 && ms > 0) bench_row("trainer", name, metric, float32 / ms, "times", threads);
  }
}

/* bench_trainer [NAME-PART]: only networks whose name has it ("2x64"). */
int main(int argc, char **argv) {
  int threads = omp_get_num_procs();
  double peak = bench_matrix_peak(threads);
  const char *only = argc > 1 ? argv[1] : "";
  bench_network(only, 140, 256, 3, 16384, threads, peak);
  bench_network(only, 679, 256, 3, 16384, threads, peak);
  bench_network(only, 140, 64, 2, 512, threads, peak);
  return 0;
}
