/* Initial weights: of the networks, the encoders and the embeddings of blocks. */
#include "trainer/nets/agent_init.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"

/* First tensor numbers of initialization: the critic's start here, the actor's at 0 (network.h). */
enum { ACTOR_TENSOR = 0, CRITIC_TENSOR = 100, EMBEDDING_TENSOR = 200, ACTOR_ENCODER_TENSOR = 300,
       CRITIC_ENCODER_TENSOR = 400, ACTOR_MEMORY_TENSOR = 500, CRITIC_MEMORY_TENSOR = 510, UNIFORM_TENSOR = 50 };
_Static_assert(ACTOR_ENCODER_TENSOR + ENCODER_TENSORS_MAX <= CRITIC_ENCODER_TENSOR, "each tensor has its number");

/* Draws the network over full observations and keeps the rows of its first kernel for features that are present:
 * features that are always 0 add nothing and get no gradient, so training is the same. */
static void init_compact(const Agent *agent, AgentNetwork *network, uint64_t seed, uint32_t tensor) {
  NetworkShape whole = network->shape;
  whole.width[0] = agent->full_inputs + agent->blocks.width;
  const size_t n = network_parameters(&whole), columns = (size_t)whole.width[1];
  float *theta = core_memory_allocate(n * sizeof *theta);
  network_init(&whole, seed, tensor, theta);
  const int shown = network->shape.width[0] - agent->blocks.width; /* embeddings follow the features */
  for (int i = 0; i < network->shape.width[0]; i++) {
    const int of_whole = i < shown ? agent->features[i] : agent->full_inputs + i - shown;
    memcpy(network->theta + (size_t)i * columns, theta + (size_t)of_whole * columns, columns * sizeof *theta);
  }
  const size_t rest = network_bias(&whole, 0), kept = network_bias(&network->shape, 0);
  memcpy(network->theta + kept, theta + rest, (n - rest) * sizeof *theta);
  free(theta);
}

/* Initializes the layer after impala's convolutions like these (CleanRL's ppo_procgen.py: PyTorch's default). */
static void init_uniform(const AgentNetwork *network, uint64_t seed, uint32_t tensor) {
  const NetworkShape *shape = &network->shape;
  const float bound = (float)(1 / sqrt(shape->width[0]));
  CoreRandomStream stream = core_random_stream(seed, CORE_RANDOM_WEIGHTS, tensor + UNIFORM_TENSOR, 0);
  float *theta = network->theta + network_kernel(shape, 0);
  const size_t n = network_bias(shape, 0) + (size_t)shape->width[1] - network_kernel(shape, 0);
  for (size_t i = 0; i < n; i++) theta[i] = core_random_uniform(&stream, -bound, bound);
}

/* on_input: the first layer reads observations. */
static void init_weights(const Agent *agent, AgentNetwork *network, uint64_t seed, uint32_t tensor, bool on_input) {
  if (agent->features && on_input) init_compact(agent, network, seed, tensor);
  else network_init(&network->shape, seed, tensor, network->theta);
  const bool on_encoder = !agent_is_recurrent(agent) && network->shape.width[0] == agent->encoder.shape.width &&
                          network->shape.layers > 1;
  if (agent->encoder.shape.kind == ENCODER_IMPALA && on_encoder) init_uniform(network, seed, tensor);
  size_t count = network_parameters(&network->shape);
  memset(network->theta + count, 0, (network->n - count) * sizeof *network->theta);
}

static void init_log_std(const Agent *agent) {
  const AgentNetwork *actor = &agent->actor;
  for (size_t k = actor->log_sigma; k < actor->embedding; k++) actor->theta[k] = agent->log_std;
}

/* N(0, 1), so that blocks differ from the start. */
static void init_embedding(AgentNetwork *actor, uint64_t seed) {
  float *embedding = actor->theta + actor->embedding;
  for (size_t i = 0; i < actor->encoder - actor->embedding; i++) {
    const CoreRandom4 words = core_random_4(seed, CORE_RANDOM_WEIGHTS, EMBEDDING_TENSOR, (uint32_t)i, 0);
    double normal, unused;
    core_random_normal_pair(words.v[0], words.v[1], &normal, &unused);
    embedding[i] = (float)normal;
  }
}

static void init_encoder(const Agent *agent, AgentNetwork *network, uint64_t seed, uint32_t tensor) {
  if (network->encoder < network->recurrent)
    encoder_init(&agent->encoder.shape, seed, tensor, network->theta + network->encoder);
}

/* Draws an input for a feature of full observations as there; embeddings follow. */
static void init_recurrent(const Agent *agent, AgentNetwork *network, uint64_t seed, uint32_t tensor,
                           bool on_input) {
  const RecurrentShape *shape = &agent->recurrent.shape;
  const int shown = shape->in - agent->blocks.width;
  if (network->recurrent == network->n) return;
  int32_t *row = core_memory_allocate((size_t)shape->in * sizeof *row);
  for (int i = 0; i < shape->in; i++)
    row[i] = !agent->features || !on_input ? i : i < shown ? agent->features[i] : agent->full_inputs + i - shown;
  recurrent_init(shape, seed, tensor, row, network->theta + network->recurrent);
  free(row);
}

static void init_all(Agent *agent, uint64_t seed) {
  const bool has_encoder = agent->encoder.shape.kind != ENCODER_NONE, on_input = !has_encoder;
  const bool has_memory = agent_is_recurrent(agent);
  init_weights(agent, &agent->actor, seed, ACTOR_TENSOR, on_input && !has_memory);
  init_recurrent(agent, &agent->actor, seed, ACTOR_MEMORY_TENSOR, on_input);
  init_log_std(agent);
  init_embedding(&agent->actor, seed);
  init_encoder(agent, &agent->actor, seed, ACTOR_ENCODER_TENSOR);
  if (agent->is_q) return;
  init_weights(agent, &agent->critic, seed, CRITIC_TENSOR, on_input && !has_memory && agent->trunk == 0);
  init_recurrent(agent, &agent->critic, seed, CRITIC_MEMORY_TENSOR, on_input);
  init_encoder(agent, &agent->critic, seed, CRITIC_ENCODER_TENSOR);
}

/* Draws on the host, then copies to the device. */
void agent_init_weights(Agent *agent, uint64_t seed) {
  Agent host = *agent;
  if (agent->device == NULL) {
    init_all(agent, seed);
    return;
  }
  host.actor.theta = core_memory_zero_allocate(agent->actor.n, sizeof *host.actor.theta);
  host.critic.theta = core_memory_zero_allocate(agent->critic.n, sizeof *host.critic.theta);
  init_all(&host, seed);
  core_device_to_device(agent->device, agent->actor.theta, host.actor.theta, agent->actor.n * sizeof *host.actor.theta);
  core_device_to_device(agent->device, agent->critic.theta, host.critic.theta,
                        agent->critic.n * sizeof *host.critic.theta);
  free(host.actor.theta);
  free(host.critic.theta);
}
