/* The trainer's arithmetic: this machine's own matrix-product peak, and what part of it a whole minibatch update
 * (forward, losses, backward, clipping, Adam of actor and critic) reaches at the default network and at a small one.
 * Prints CSV. */
#include <math.h>
#include <omp.h>

#include "core/memory.h"
#include "core/random.h"
#include "tests/bench/bench.h"
#include "trainer/network.h"
#include "trainer/ops/cpu_internal.h"
#include "trainer/optimizer.h"

enum { ROUNDS = 5 };

static float *random_floats(size_t n, float size) {
  float *x = core_memory_allocate(n * sizeof *x);
  CoreRandomStream random = core_random_stream(1, CORE_RANDOM_TEST, 0, 0);
  for (size_t i = 0; i < n; i++) x[i] = core_random_uniform(&random, -size, size);
  return x;
}

/* -------- sgemm: the best of the libraries, with their own threads or in blocks of rows on ours ---------------- */

enum { M = 16384, N = 256, K = 256 };

static void multiply(const CpuLibrary *library, int rows, const float *a, const float *b, float *c, int threads) {
  omp_set_num_threads(threads);
  if (rows == M) {
    library->product(0, 0, M, N, K, a, K, b, N, 0, c, N);
    return;
  }
#pragma omp parallel for schedule(dynamic, 1)
  for (int first = 0; first < M; first += rows)
    library->product(0, 0, rows, N, K, a + (size_t)first * K, K, b, N, 0, c + (size_t)first * N, N);
}

static double best_gflops(const CpuLibrary *library, int rows, const float *a, const float *b, float *c, int threads) {
  double best = INFINITY;
  for (int round = 0; round < 2 * ROUNDS; round++) {
    double start = bench_seconds();
    multiply(library, rows, a, b, c, threads);
    best = fmin(best, bench_seconds() - start);
  }
  return 2e-9 * M * N * K / best;
}

static double sgemm_peak(int threads) {
  const int rows[] = {M, 128, 256, 512, 1024};
  size_t count;
  const CpuLibrary *libraries = cpu_libraries(&count);
  float *a = random_floats((size_t)M * K, 1), *b = random_floats((size_t)K * N, 1),
        *c = random_floats((size_t)M * N, 1);
  double peak = 0;
  for (size_t i = 0; i < count; i++) {
    double best = 0;
    char name[128], label[192];
    if (count > 1 && i == count - 1) break; /* plain C only where nothing else is */
    for (int r = 0; r < 5; r++) best = fmax(best, best_gflops(&libraries[i], rows[r], a, b, c, threads));
    snprintf(label, sizeof label, "sgemm 16384x256x256 (%s)", cpu_library_describe(&libraries[i], name));
    bench_row("trainer", label, "speed", best, "GFLOP/s", threads);
    peak = fmax(peak, best);
  }
  bench_row("trainer", "sgemm 16384x256x256", "peak", peak, "GFLOP/s", threads);
  free(a), free(b), free(c);
  return peak;
}

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
  Net actor, critic;
  float *x, *logp, *advantage, *value, *target, *dlogits, *dvalue, *scratch;
  uint8_t *actions;
  double seconds[4];  /* forward, losses, backward, optimiser */
} Bench;
static const char *const part_names[] = {"forward", "losses", "backward", "optimiser"};

static void make_net(Net *net, int inputs, int width, int depth, int outputs, double gain, int rows) {
  net->shape = network_shape(inputs, width, depth, outputs, OPS_TANH, gain);
  net->n = network_parameters(&net->shape);
  net->theta = random_floats(net->n, 1);
  net->gradient = random_floats(net->n, 0);
  network_initialise(&net->shape, 1, 0, net->theta);
  network_place_activations(&net->shape, rows, random_floats(network_activation_floats(&net->shape, rows), 0),
                            &net->activations);
  net->optimizer = (Optimizer){.m = random_floats(net->n, 0),
                               .v = random_floats(net->n, 0),
                               .beta1 = 0.9,
                               .beta2 = 0.999,
                               .epsilon = 1e-5,
                               .max_norm = 0.5};
}

static void free_net(Net *net) {
  free(net->theta), free(net->gradient), free(net->activations.hidden[0]), free(net->optimizer.m),
      free(net->optimizer.v);
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

/* The median round of several: GFLOP/s of matrix products over all the time of the update. */
static void bench_update(const char *name, int inputs, int width, int depth, int rows, int threads, double peak) {
  Bench bench = {.rows = rows, .inputs = inputs, .head = {.factors = 6, .logits = 16, .size = {3, 3, 3, 3, 2, 2}}};
  size_t n = (size_t)rows;
  if (ops_cpu_create(threads, rows, inputs > width ? inputs : width, &bench.ops) != CORE_OK) return;
  make_net(&bench.actor, inputs, width, depth, 16, 0.01, rows);
  make_net(&bench.critic, inputs, width, depth, 1, 1, rows);
  float **const vectors[] = {&bench.logp, &bench.advantage, &bench.value, &bench.target, &bench.dvalue};
  for (int i = 0; i < 5; i++) *vectors[i] = random_floats(n, 1);
  bench.x = random_floats(n * (size_t)inputs, 1);
  bench.dlogits = random_floats(n * 16, 0);
  bench.scratch = random_floats(2 * n * (size_t)(width > 16 ? width : 16), 0);
  bench.actions = core_memory_zero_allocate(n, 6);
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
  for (int i = 0; i < 5; i++) free(*vectors[i]);
  free(bench.x), free(bench.dlogits), free(bench.scratch), free(bench.actions);
  free_net(&bench.actor), free_net(&bench.critic);
  ops_destroy(&bench.ops);
}

int main(void) {
  int threads = omp_get_num_procs();
  double peak = sgemm_peak(threads);
  bench_update("update 140-3x256 B=16384", 140, 256, 3, 16384, threads, peak);
  bench_update("update 679-3x256 B=16384", 679, 256, 3, 16384, threads, peak);
  bench_update("update 140-2x64 B=512", 140, 64, 2, 512, threads, peak);
  return 0;
}
