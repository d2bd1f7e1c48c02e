/* Shapes, memory and forward passes of the actor and the critic. */
#include "trainer/agent.h"

#include <stdlib.h>
#include <string.h>

/* The tensors of the critic's initialisation start here, those of the actor at 0 (network.h). */
enum { ACTOR_TENSOR = 0, CRITIC_TENSOR = 100 };

static OpsActivation activation_of(const CoreConfig *config) {
  static const struct { const char *name; OpsActivation activation; } known[] = {
    {"tanh", OPS_TANH}, {"relu", OPS_RELU}, {"silu", OPS_SILU}, {"elu", OPS_ELU}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(config->net.activation, known[i].name) == 0) return known[i].activation;
  CORE_CHECK(!"an activation of core/config.def that the trainer does not know");
  return OPS_LINEAR;
}

void agent_register(Agent *agent, const CoreConfig *config, const Env *env, int max_rows, CoreArena *arena) {
  const OpsHead *head = &env->head;
  int width = (int)config->net.width, depth = (int)config->net.depth;
  OpsActivation activation = activation_of(config);
  *agent = (Agent){.head = *head, .max_rows = max_rows, .actor.name = "actor", .critic.name = "critic",
                   .features = env->features, .whole_inputs = env->whole_length};
  agent->actor.shape = network_shape(env->observation_length, width, depth, head->logits, activation, 0.01);
  agent->critic.shape = network_shape(env->observation_length, width, depth, 1, activation, 1.0);
  agent->actor.n = network_parameters(&agent->actor.shape);
  agent->critic.n = network_parameters(&agent->critic.shape);
  CORE_ARENA(arena, agent->actor.theta, agent->actor.n, "actor weights");
  CORE_ARENA(arena, agent->critic.theta, agent->critic.n, "critic weights");

  size_t actor = network_activation_floats(&agent->actor.shape, max_rows);
  size_t critic = network_activation_floats(&agent->critic.shape, max_rows);
  CORE_ARENA(arena, agent->activation_block, actor > critic ? actor : critic, "activations [layers][rows][width]");
}

void agent_place(Agent *agent) {
  AgentNetwork *actor = &agent->actor, *critic = &agent->critic;
  network_place_activations(&actor->shape, agent->max_rows, agent->activation_block, &actor->activations);
  network_place_activations(&critic->shape, agent->max_rows, agent->activation_block, &critic->activations);
}

/* Draws the network over whole observations and keeps the rows of its first kernel that see anything: features that are
 * always 0 add nothing and get no gradient, so what is learned is the same. */
static void initialise(const Agent *agent, AgentNetwork *network, uint64_t seed, uint32_t tensor) {
  if (!agent->features) {
    network_initialise(&network->shape, seed, tensor, network->theta);
    return;
  }
  NetworkShape whole = network->shape;
  whole.width[0] = agent->whole_inputs;
  const size_t n = network_parameters(&whole), columns = (size_t)whole.width[1];
  float *theta = core_memory_allocate(n * sizeof *theta);
  network_initialise(&whole, seed, tensor, theta);
  for (int i = 0; i < network->shape.width[0]; i++)
    memcpy(network->theta + (size_t)i * columns, theta + (size_t)agent->features[i] * columns, columns * sizeof *theta);
  const size_t rest = network_bias(&whole, 0), kept = network_bias(&network->shape, 0);
  memcpy(network->theta + kept, theta + rest, (n - rest) * sizeof *theta);
  free(theta);
}

void agent_initialise(Agent *agent, uint64_t seed) {
  initialise(agent, &agent->actor, seed, ACTOR_TENSOR);
  initialise(agent, &agent->critic, seed, CRITIC_TENSOR);
}

void agent_forward(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *theta, const float *x,
                   int rows, float *output) {
  const NetworkShape *shape = &network->shape;
  NetworkActivations activations = network->activations;
  size_t inputs = (size_t)shape->width[0], outputs = (size_t)shape->width[shape->layers];
  for (int row = 0; row < rows; row += agent->max_rows) {
    int piece = rows - row < agent->max_rows ? rows - row : agent->max_rows;
    activations.hidden[shape->layers - 1] = output + (size_t)row * outputs; /* the last layer writes in place */
    network_forward(ops, shape, theta, x + (size_t)row * inputs, piece, &activations);
  }
}

void agent_policy(const Agent *agent, Ops *ops, const float *theta, const float *x, int rows, float *parameters) {
  agent_forward(agent, ops, &agent->actor, theta, x, rows, parameters);
}

void agent_values(const Agent *agent, Ops *ops, const float *x, int rows, float *values) {
  agent_forward(agent, ops, &agent->critic, agent->critic.theta, x, rows, values);
}

int agent_max_width(const Agent *agent) {
  int widest = 0;
  for (int i = 0; i <= agent->actor.shape.layers; i++)
    if (agent->actor.shape.width[i] > widest) widest = agent->actor.shape.width[i];
  return widest; /* the critic differs in its one output only */
}
