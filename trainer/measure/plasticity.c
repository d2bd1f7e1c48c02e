/* Random targets, and fits of them (plasticity.h). */
#include "trainer/measure/plasticity.h"

#include <math.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/random.h"
#include "trainer/nets/agent_init.h"

/* Streams of initial weights, apart from those of runs, whose seeds have 32 bits. */
static const uint64_t TARGET_WEIGHTS = UINT64_C(1) << 40, FRESH_WEIGHTS = UINT64_C(2) << 40;
static const double SINE_FREQUENCY = 1e5; /* Lyle et al. 2023 */
static const double BETA1 = 0.9, BETA2 = 0.999, EPSILON = 1e-8; /* PyTorch's defaults of Adam */

static void register_network(PlasticityNetwork *network, AgentNetwork *of, int columns, int states, CoreArena *arena) {
  const int outputs = of->shape.width[of->shape.layers];
  const size_t count = (size_t)states * (size_t)outputs;
  *network = (PlasticityNetwork){.of = of, .outputs = outputs, .columns = columns,
                                 .optimizer = {.beta1 = BETA1, .beta2 = BETA2, .epsilon = EPSILON}};
  CORE_ARENA(arena, network->optimizer.m, of->n, "first moments");
  CORE_ARENA(arena, network->optimizer.v, of->n, "second moments");
  CORE_ARENA(arena, network->target, count, "targets [states][outputs]");
  CORE_ARENA(arena, network->output, count, "outputs [states][outputs]");
}

void plasticity_register(Plasticity *probe, const PlasticityOptions *options, const CoreConfig *config, const Env *env,
                         CoreArena *arena) {
  *probe = (Plasticity){.options = *options};
  Agent *agent = &probe->agent;
  agent_register(agent, config, env, options->batch, arena);
  agent_register_gradient(agent, &probe->gradient, options->batch, arena);
  register_network(&probe->actor, &agent->actor, agent->head.logits, options->states, arena);
  if (agent->critic.n > 0) register_network(&probe->critic, &agent->critic, 1, options->states, arena);
  CORE_ARENA(arena, probe->states, (size_t)options->states * (size_t)agent->inputs, "states [states][features]");
  CORE_ARENA(arena, probe->batch, (size_t)options->batch * (size_t)agent->inputs, "minibatch [rows][features]");
  CORE_ARENA(arena, probe->rows, (size_t)options->batch, "minibatch states [rows]");
  CORE_ARENA(arena, probe->doutput, (size_t)options->batch * (size_t)agent->head.logits, "gradients [rows][outputs]");
}

int plasticity_start(Plasticity *probe, const CoreConfig *config, int threads) {
  agent_bind_activations(&probe->agent);
  return agent_create_ops(&probe->agent, config, threads, &probe->ops);
}

void plasticity_destroy(Plasticity *probe) { ops_destroy(&probe->ops); }

/* Computes the outputs of all states. */
static void forward(Plasticity *probe, const PlasticityNetwork *network, float *output) {
  agent_forward(&probe->agent, probe->ops, network->of, network->of->theta, probe->states, probe->options.states,
                output);
}

/* ---- targets ----------------------------------------------------------------------------------------------------- */

typedef struct Column { double mean, sd; } Column;

static Column measure_column(const float *x, int rows, int columns, int column) {
  double sum = 0, squares = 0;
  for (int r = 0; r < rows; r++) sum += (double)x[(size_t)r * (size_t)columns + (size_t)column];
  const double mean = sum / rows;
  for (int r = 0; r < rows; r++) squares += pow((double)x[(size_t)r * (size_t)columns + (size_t)column] - mean, 2);
  return (Column){mean, sqrt(squares / rows)};
}

/* Sets the targets to mean 0 and variance 1. An output that is the same in all states stays 0. */
static void make_targets(Plasticity *probe, PlasticityNetwork *network) {
  const int states = probe->options.states, outputs = network->outputs;
  const size_t count = (size_t)states * (size_t)outputs;
  if (network->of == NULL) return;
  forward(probe, network, network->target);
  if (probe->options.sines) {
    for (size_t i = 0; i < count; i++)
      network->target[i] = (float)sin(SINE_FREQUENCY * (double)network->target[i]);
  }

  for (int o = 0; o < outputs; o++) {
    const Column column = measure_column(network->target, states, outputs, o);
    for (size_t i = (size_t)o; i < count; i += (size_t)outputs)
      network->target[i] = column.sd > 0 ? (float)(((double)network->target[i] - column.mean) / column.sd) : 0;
  }
}

/* Adds the outputs at the start, or their means. */
static void shift_targets(Plasticity *probe, PlasticityNetwork *network) {
  const int states = probe->options.states, outputs = network->outputs;
  const size_t count = (size_t)states * (size_t)outputs;
  if (network->of == NULL) return;
  forward(probe, network, network->output);
  for (int o = 0; o < outputs; o++) {
    const Column column = measure_column(network->output, states, outputs, o);
    for (size_t i = (size_t)o; i < count; i += (size_t)outputs)
      network->target[i] += probe->options.around_output ? network->output[i] : (float)column.mean;
  }
}

/* ---- fits -------------------------------------------------------------------------------------------------------- */

static void draw_batch(Plasticity *probe, uint64_t seed, int64_t step) {
  const size_t features = (size_t)probe->agent.inputs;
  CoreRandomStream random = core_random_stream(seed, CORE_RANDOM_STATES, (uint32_t)step, 0);
  for (int r = 0; r < probe->options.batch; r++) {
    probe->rows[r] = core_random_below(core_random_next(&random), (uint32_t)probe->options.states);
    memcpy(probe->batch + (size_t)r * features, probe->states + (size_t)probe->rows[r] * features,
           features * sizeof *probe->batch);
  }
}

/* Computes the gradient of the mean squared error of the minibatch. */
static void add_gradient(Plasticity *probe, const PlasticityNetwork *network) {
  const int rows = probe->options.batch, outputs = network->outputs;
  const float scale = 2.0f / (float)(rows * outputs);
  const float *output = agent_pass(&probe->agent, probe->ops, network->of, probe->batch, rows);
  for (int r = 0; r < rows; r++) {
    const float *y = output + (size_t)r * (size_t)network->columns;
    const float *target = network->target + (size_t)probe->rows[r] * (size_t)outputs;
    float *dy = probe->doutput + (size_t)r * (size_t)network->columns;
    for (int o = 0; o < network->columns; o++) dy[o] = o < outputs ? scale * (y[o] - target[o]) : 0;
  }
  agent_backward(&probe->agent, probe->ops, network->of, probe->batch, rows, probe->doutput, &probe->gradient);
}

static void step(Plasticity *probe, PlasticityNetwork *network, const float *gradient) {
  if (network->of)
    optimizer_apply(probe->ops, &network->optimizer, network->of->theta, gradient, network->of->n,
                    probe->options.learning_rate, 1);
}

static double measure_error(Plasticity *probe, PlasticityNetwork *network) {
  double sum = 0;
  if (network->of == NULL) return NAN;
  const size_t count = (size_t)probe->options.states * (size_t)network->outputs;
  forward(probe, network, network->output);
  for (size_t i = 0; i < count; i++) sum += pow((double)network->output[i] - (double)network->target[i], 2);
  return sum / (double)count;
}

static void add_point(Plasticity *probe, int64_t step, PlasticityCurve *curve) {
  CORE_CHECK(curve->points < PLASTICITY_POINTS_MAX);
  curve->step[curve->points] = step;
  curve->actor[curve->points] = measure_error(probe, &probe->actor);
  curve->critic[curve->points++] = measure_error(probe, &probe->critic);
}

static void reset(PlasticityNetwork *network) {
  if (network->of == NULL) return;
  memset(network->optimizer.m, 0, network->of->n * sizeof *network->optimizer.m);
  memset(network->optimizer.v, 0, network->of->n * sizeof *network->optimizer.v);
  network->optimizer.t = 0;
}

/* Sets the weights from which a fit starts. */
static void load(Plasticity *probe, const float *actor, const float *critic, uint64_t seed) {
  Agent *agent = &probe->agent;
  agent_init_weights(agent, seed | FRESH_WEIGHTS);
  if (actor) memcpy(agent->actor.theta, actor, agent->actor.n * sizeof *actor);
  if (critic && agent->critic.n > 0) memcpy(agent->critic.theta, critic, agent->critic.n * sizeof *critic);
}

void plasticity_fit(Plasticity *probe, const float *actor, const float *critic, uint64_t seed, PlasticityCurve *curve) {
  agent_init_weights(&probe->agent, seed | TARGET_WEIGHTS);
  make_targets(probe, &probe->actor);
  make_targets(probe, &probe->critic);
  load(probe, actor, critic, seed);
  shift_targets(probe, &probe->actor);
  shift_targets(probe, &probe->critic);
  reset(&probe->actor);
  reset(&probe->critic);

  *curve = (PlasticityCurve){.points = 0};
  add_point(probe, 0, curve);
  for (int64_t steps = 1; steps <= probe->options.steps; steps++) {
    draw_batch(probe, seed, steps);
    add_gradient(probe, &probe->actor);
    if (probe->critic.of) add_gradient(probe, &probe->critic);
    step(probe, &probe->actor, probe->gradient.actor);
    step(probe, &probe->critic, probe->gradient.critic);
    if ((steps & (steps - 1)) == 0 || steps == probe->options.steps) add_point(probe, steps, curve);
  }
}
