/* The update of a recurrent policy: forward pass, losses, backward pass through time and Adam of a minibatch of whole
 * sequences, with an LSTM of 256 units in front of a trunk and two towers of 256; and the passes of the LSTM alone.
 * Prints CSV. The fraction of the sgemm peak relates the products counted by the ops to the total time. */
#include "core/memory.h"
#include "tests/bench/bench_matrix.h"
#include "trainer/nets/agent_init.h"
#include "trainer/update/optimizer.h"
#include "trainer_steps.h"

enum { ROUNDS = 10, INPUTS = 140, LOGITS = 16 };

typedef struct Bench {
  int rows, length;
  Env env;
  CoreArena *arena;
  Ops *ops;
  Agent agent;
  AgentGradient gradient;
  Optimizer actor, critic;
  float *x, *start, *logp, *advantage, *value, *target, *dlogits, *dvalue;
  uint8_t *actions, *begins;
} Bench;

static Optimizer optimizer(float *m, float *v) {
  return (Optimizer){.m = m, .v = v, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-5, .max_norm = 0.5};
}

static void fill(float *x, size_t n, uint32_t stream) {
  CoreRandomStream random = core_random_stream(1, CORE_RANDOM_TEST, stream, 0);
  for (size_t i = 0; i < n; i++) x[i] = core_random_uniform(&random, -1, 1);
}

static int make(Bench *bench, int threads) {
  const char *const settings[] = {"net.memory=lstm", "net.memory_width=256", "net.sharing=shared",
                                  "net.trunk_width=256", "net.depth=1"};
  CoreConfig config = core_config_default();
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) TRY(core_config_set_pair(&config, settings[i]));
  bench->env = (Env){.name = "bench", .worlds = 1, .observation_length = INPUTS, .whole_length = INPUTS,
                     .head = {.factors = 6, .logits = LOGITS, .size = {3, 3, 3, 3, 2, 2}}};
  bench->arena = core_arena_create("bench");
  agent_register(&bench->agent, &config, &bench->env, bench->rows, bench->arena);
  agent_register_gradient(&bench->agent, &bench->gradient, bench->rows, bench->arena);
  const size_t n = (size_t)bench->rows, actor = bench->agent.actor.n, critic = bench->agent.critic.n;
  const size_t states = n / (size_t)bench->length * (size_t)bench->agent.recurrent.states;
  float *m[2], *v[2], **const vectors[] = {&bench->logp, &bench->advantage, &bench->value, &bench->target,
                                           &bench->dvalue};
  for (int k = 0; k < 2; k++) {
    CORE_ARENA(bench->arena, m[k], k ? critic : actor, "first moments");
    CORE_ARENA(bench->arena, v[k], k ? critic : actor, "second moments");
  }
  for (int k = 0; k < 5; k++) CORE_ARENA(bench->arena, *vectors[k], n, "numbers of rows");
  CORE_ARENA(bench->arena, bench->x, n * INPUTS, "observations");
  CORE_ARENA(bench->arena, bench->start, states, "states");
  CORE_ARENA(bench->arena, bench->dlogits, n * LOGITS, "gradients");
  CORE_ARENA(bench->arena, bench->actions, n * 6, "actions");
  CORE_ARENA(bench->arena, bench->begins, n, "begins");
  TRY(core_arena_commit(bench->arena));
  agent_bind_activations(&bench->agent);
  bench->actor = optimizer(m[0], v[0]);
  bench->critic = optimizer(m[1], v[1]);
  agent_init_weights(&bench->agent, 1);
  fill(bench->x, n * INPUTS, 1);
  fill(bench->start, states, 2);
  fill(bench->advantage, n, 3);
  for (size_t i = 0; i < n; i++) bench->begins[i] = i % 97 == 0;
  return ops_cpu_create(threads, agent_ops_rows(&bench->agent), agent_ops_width(&bench->agent), &bench->ops);
}

static void descend(Bench *bench, Optimizer *rule, AgentNetwork *network, const float *gradient) {
  double norm;
  int clipped;
  optimizer_step(bench->ops, rule, network->theta, gradient, network->n, 1e-5, &norm, &clipped);
}

static void update(Bench *bench) {
  Ops *ops = bench->ops;
  Agent *agent = &bench->agent;
  OpsPolicySums policy;
  OpsValueSums value;
  const float *logits = agent_pass(agent, ops, &agent->actor, bench->x, bench->rows);
  ops->policy_loss(ops, &agent->head, logits, bench->actions, bench->logp, NULL, bench->advantage, bench->rows, 0.2,
                   0.01, bench->dlogits, &policy);
  agent_backward(agent, ops, &agent->actor, bench->x, bench->rows, bench->dlogits, &bench->gradient);
  const float *values = agent_pass(agent, ops, &agent->critic, bench->x, bench->rows);
  ops->value_loss(ops, values, bench->value, bench->target, bench->rows, 1, 0.2, 0.5, bench->dvalue, &value);
  agent_backward(agent, ops, &agent->critic, bench->x, bench->rows, bench->dvalue, &bench->gradient);
  descend(bench, &bench->actor, &agent->actor, bench->gradient.actor);
  descend(bench, &bench->critic, &agent->critic, bench->gradient.critic);
}

/* The memory forward and back. */
static void pass(Bench *bench) {
  const Agent *agent = &bench->agent;
  const Recurrent *memory = &agent->recurrent;
  const float *theta = agent->actor.theta + agent->actor.recurrent;
  recurrent_forward(memory, bench->ops, theta, bench->x, bench->rows, &agent->pass_state->sequences, 0, 0);
  recurrent_backward(memory, bench->ops, theta, bench->x, bench->rows, &agent->pass_state->sequences,
                     bench->gradient.below, NULL, bench->gradient.actor + agent->actor.recurrent);
}

/* The best of several rounds. */
static void measure(Bench *bench, const char *name, void (*work)(Bench *bench), double peak, int threads) {
  double best = INFINITY, flops = 0;
  for (int round = 0; round < ROUNDS; round++) {
    bench->ops->flops = 0;
    const double start = bench_seconds();
    work(bench);
    const double seconds = bench_seconds() - start;
    if (seconds < best) best = seconds, flops = bench->ops->flops;
  }
  bench_row("trainer", name, "update", 1e3 * best, "ms", threads);
  bench_row("trainer", name, "transitions", bench->rows / best, "1/s", threads);
  bench_row("trainer", name, "speed", flops / best * 1e-9, "GFLOP/s", threads);
  bench_row("trainer", name, "share of sgemm peak", 100 * flops / best * 1e-9 / peak, "%", threads);
}

int main(void) {
  const int threads = omp_get_num_procs(), sequences[] = {1024, 64};
  const double peak = bench_matrix_peak(threads);
  for (int i = 0; i < 2; i++) {
    Bench bench = {.length = 16, .rows = 16 * sequences[i]};
    char name[64];
    if (make(&bench, threads) != CORE_OK) {
      fprintf(stderr, "%s\n", core_error_message());
      return 1;
    }
    agent_bind_sequences(&bench.agent, &(RecurrentSequences){.length = bench.length, .start = bench.start,
                                                     .begins = bench.begins});
    snprintf(name, sizeof name, "lstm update 256 units %dx16", sequences[i]);
    measure(&bench, name, update, peak, threads);
    snprintf(name, sizeof name, "lstm alone 256 units %dx16", sequences[i]);
    measure(&bench, name, pass, peak, threads);
    ops_destroy(&bench.ops);
    core_arena_destroy(&bench.arena);
  }
  return 0;
}
