/* Shapes and buffers of the actor and the critic (agent.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/device/arena.h"
#include "trainer/nets/agent_internal.h"
#include "trainer/wrappers/action.h"
#include "trainer/wrappers/obs_pipeline.h"

static OpsActivation activation_of(const char *name) {
  static const struct { const char *name; OpsActivation activation; } known[] = {
    {"tanh", OPS_TANH}, {"relu", OPS_RELU}, {"silu", OPS_SILU}, {"elu", OPS_ELU}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(name, known[i].name) == 0) return known[i].activation;
  CORE_CHECK(!"an activation of core/config/config.def that the trainer does not know");
  return OPS_LINEAR;
}

static AgentSharing sharing_of(const char *name) {
  if (strcmp(name, "shared") == 0) return AGENT_SHARED;
  return strcmp(name, "joint") == 0 ? AGENT_JOINT : AGENT_SEPARATE;
}

static bool is_q(const CoreConfig *config) { return strcmp(config->algo.name, "pqn") == 0; }

static bool has_layer_norm(const CoreConfig *config) {
  return strcmp(config->net.norm, "layer") == 0 || (is_q(config) && strcmp(config->net.norm, "auto") == 0);
}

static NetworkShape tower(const CoreConfig *config, int inputs, int outputs, double head_gain) {
  int width[CORE_CONFIG_LAYERS_MAX];
  const int depth = core_config_tower_widths(config, width);
  NetworkShape shape =
    network_shape(inputs, width, depth, outputs, activation_of(config->net.activation), head_gain);
  shape.layer_norm = has_layer_norm(config);
  return shape;
}

bool agent_is_apart(const Agent *agent) {
  return agent->device && !agent->is_q && !agent_has_encoder(agent) && !agent_is_recurrent(agent) &&
    agent->trunk == 0 &&
         agent->blocks.count == 0;
}

/* Returns the floats of activations below the towers. */
static size_t trunk_floats(const Agent *agent) {
  return network_layers_floats(&agent->actor.shape, agent->trunk, agent->max_rows);
}

/* Returns the offset of the critic's activations in the block: a multiple of 256 bytes where the actor's are kept. */
static size_t critic_floats(const Agent *agent) {
  enum { ALIGNED = 64 };
  if (!agent_is_apart(agent)) return trunk_floats(agent);
  return (network_activation_floats(&agent->actor.shape, agent->max_rows) + ALIGNED - 1) / ALIGNED * ALIGNED;
}

static void register_activations(Agent *agent, CoreArena *arena) {
  size_t actor = network_activation_floats(&agent->actor.shape, agent->max_rows);
  size_t critic = critic_floats(agent) + network_activation_floats(&agent->critic.shape, agent->max_rows);
  CORE_ARENA_DEVICE(arena, agent->activation_block, actor > critic ? actor : critic,
                    "activations [layers][rows][width]");
}

void agent_count_parameters(Agent *agent) {
  AgentNetwork *actor = &agent->actor, *critic = &agent->critic;
  const size_t encoder = agent->encoder.shape.parameters, recurrent = agent->recurrent.shape.parameters;
  critic->log_sigma = critic->embedding = critic->encoder = network_parameters(&critic->shape);
  critic->recurrent = critic->encoder + (agent_has_common_encoder(agent) || agent->is_q ? 0 : encoder);
  critic->n = critic->recurrent + (agent->sharing == AGENT_SHARED ? 0 : recurrent);
  actor->log_sigma = network_parameters(&actor->shape);
  const int sigmas = agent_is_gaussian(agent) ? agent_sigma_sets(agent) * agent->head.factors : 0;
  actor->embedding = actor->log_sigma + (size_t)sigmas;
  actor->encoder = actor->embedding + (size_t)agent->blocks.count * (size_t)agent->blocks.width;
  actor->recurrent = actor->encoder + encoder;
  actor->n = actor->recurrent + recurrent;
}

const char *agent_parameter_name(const AgentNetwork *network, size_t k, char *buffer) {
  enum { NAME = 64 };
  if (k >= network->recurrent && network->recurrent < network->n)
    return recurrent_parameter_name(network->recurrent_shape, network->name, k - network->recurrent, buffer);
  if (k >= network->encoder)
    return encoder_parameter_name(network->encoder_shape, network->name, k - network->encoder, buffer);
  if (k < network->log_sigma) return network_parameter_name(&network->shape, network->name, k, buffer);
  bool sigma = k < network->embedding;
  snprintf(buffer, NAME, "%s.%s[%zu]", network->name, sigma ? "log_sigma" : "embedding",
           k - (sigma ? network->log_sigma : network->embedding));
  return buffer;
}

static EncoderShape encoder_of(const CoreConfig *config, const Env *env, EncoderKind kind) {
  if (!encoder_reads_pixels(kind)) return encoder_shape(kind, *env->entities);
  return encoder_shape_of_pixels(kind, env->pixels, kind == ENCODER_NATURE && has_layer_norm(config));
}

/* Returns the elements of an observation with its block's embedding instead of the block. */
static size_t joined_width(const Agent *agent) { return (size_t)(agent->inputs - 1 + agent->blocks.width); }

static int memories(const CoreConfig *config) { return sharing_of(config->net.sharing) == AGENT_SHARED ? 1 : 2; }

int agent_state_size(const CoreConfig *config) {
  return strcmp(config->net.memory, "none") == 0 ? 0 : 2 * memories(config) * (int)config->net.memory_width;
}

static void register_memory(Agent *agent, const CoreConfig *config, int *entrance, CoreArena *arena) {
  if (strcmp(config->net.memory, "none") == 0) return;
  const RecurrentShape shape = recurrent_shape(*entrance, (int)config->net.memory_width);
  recurrent_register(&agent->recurrent, &shape, memories(config), agent->max_rows, arena);
  CORE_ARENA(arena, agent->pass_state, 1, "sequences of a pass");
  *entrance = shape.width;
}

/* Registers the parts below the towers and returns their width. entrance: input width of the first dense layer; trunk:
 * widths of the layers between. */
static int register_below(Agent *agent, const CoreConfig *config, const Env *env, int *entrance,
                          int trunk[CORE_CONFIG_LAYERS_MAX], CoreArena *arena) {
  const EncoderKind kind = encoder_kind(config->net.encoder);
  *entrance = env->observation_length + agent->blocks.width;
  if (kind != ENCODER_NONE) {
    const EncoderShape shape = encoder_of(config, env, kind);
    CORE_CHECK(agent->inputs == shape.length);
    encoder_register(&agent->encoder, &shape, agent->max_rows, arena);
    CORE_ARENA_DEVICE(arena, agent->encoded, (size_t)agent->max_rows * (size_t)shape.width, "encoded [rows][width]");
    *entrance = shape.width;
  }
  register_memory(agent, config, entrance, arena);
  if (agent->sharing != AGENT_SHARED || (kind != ENCODER_NONE && !encoder_reads_pixels(kind))) return *entrance;
  agent->trunk = core_config_trunk_widths(config, trunk);
  CORE_CHECK(agent->trunk > 0);
  return trunk[agent->trunk - 1];
}

/* Whether the device's ops store outputs of hidden layers as bf16 (network_hidden_is_bf16). */
static bool agent_stores_bf16(const Agent *agent, const CoreConfig *config) {
  return agent->device && strcmp(config->train.precision, "bf16") == 0 && !agent->actor.shape.layer_norm;
}

void agent_register(Agent *agent, const CoreConfig *config, const Env *env, int max_rows, CoreArena *arena) {
  *agent = (Agent){.head = action_head(config, env), .inputs = obs_features(config, env), .max_rows = max_rows,
                   .sharing = sharing_of(config->net.sharing), .actor.name = "actor", .critic.name = "critic",
                   .features = env->features, .full_inputs = env->whole_length,
                   .blocks = {.count = obs_blocks(config)}, .is_q = is_q(config),
                   .epsilon = config->pqn.epsilon_end, .log_std = (float)config->net.log_std_init,
                   .device = core_arena_device(arena)};
  if (agent->blocks.count > 0) agent->blocks.width = (int)config->sapg.embedding;

  int entrance, trunk[CORE_CONFIG_LAYERS_MAX];
  const int below = register_below(agent, config, env, &entrance, trunk, arena);
  const int outputs = agent_is_gaussian(agent) ? agent->head.factors : agent->head.logits;
  agent->actor.shape = tower(config, entrance, outputs, agent->is_q ? sqrt(2) : 0.01);
  if (agent->trunk > 0)
    network_prepend(&agent->actor.shape, trunk, agent->trunk, activation_of(config->net.trunk_activation));
  if (!agent->is_q) agent->critic.shape = tower(config, below, 1, 1.0);

  if (agent_stores_bf16(agent, config)) {
    agent->actor.shape.stores_bf16 = agent->critic.shape.stores_bf16 = true;
    agent->actor.shape.first_chain = agent->trunk;
  }
  agent->actor.encoder_shape = agent->critic.encoder_shape = &agent->encoder.shape;
  agent->actor.recurrent_shape = agent->critic.recurrent_shape = &agent->recurrent.shape;
  agent_count_parameters(agent);

  CORE_ARENA_DEVICE(arena, agent->actor.theta, agent->actor.n, "actor weights");
  CORE_ARENA_DEVICE(arena, agent->critic.theta, agent->critic.n, "critic weights");
  register_activations(agent, arena);
  const size_t rows = (size_t)max_rows;
  if (agent_is_gaussian(agent))
    CORE_ARENA_DEVICE(arena, agent->joined, rows * (size_t)agent->head.logits, "policy [rows][logits]");

  if (agent->blocks.count == 0) return;
  CORE_ARENA_DEVICE(arena, agent->blocks.joined, rows * joined_width(agent),
             "observations with embeddings [rows][features]");
  CORE_ARENA_DEVICE(arena, agent->blocks.of_row, rows, "blocks [rows]");
}

void agent_bind_activations(Agent *agent) {
  AgentNetwork *actor = &agent->actor, *critic = &agent->critic;
  network_place_activations(&actor->shape, agent->max_rows, agent->activation_block, &actor->activations);
  network_place_activations(&critic->shape, agent->max_rows, agent->activation_block + critic_floats(agent),
                            &critic->activations);
}

static int widest(const NetworkShape *shape) {
  int width = 0;
  for (int i = 0; i <= shape->layers; i++) width = shape->width[i] > width ? shape->width[i] : width;
  return width;
}

/* Returns the widest layer of the networks, input included. */
static int max_width(const Agent *agent) {
  int actor = widest(&agent->actor.shape), critic = widest(&agent->critic.shape);
  return actor > critic ? actor : critic;
}

/* Returns the floats of two gradients between layers, which are bf16 where the layers' outputs are. */
static size_t scratch_floats(const Agent *agent, int rows) {
  enum { SPARE = 64 };
  const size_t floats = (size_t)rows * (size_t)max_width(agent);
  return agent->actor.shape.stores_bf16 ? floats + SPARE : 2 * floats;
}

void agent_register_gradient(const Agent *agent, AgentGradient *gradient, int rows, CoreArena *arena) {
  *gradient = (AgentGradient){.below = NULL};
  CORE_ARENA_DEVICE(arena, gradient->actor, agent->actor.n, "actor gradient");
  CORE_ARENA_DEVICE(arena, gradient->critic, agent->critic.n, "critic gradient");
  CORE_ARENA_DEVICE(arena, gradient->scratch, scratch_floats(agent, rows), "backward scratch [2][rows][width]");

  if (agent_is_apart(agent))
    CORE_ARENA_DEVICE(arena, gradient->critic_scratch, scratch_floats(agent, rows),
                      "backward scratch of the critic [2][rows][width]");
  if (agent_below_width(agent) > 0)
    CORE_ARENA_DEVICE(arena, gradient->below, 2 * (size_t)rows * (size_t)agent_below_width(agent),
               "gradients below the towers [2][rows][width]");
  if ((agent->trunk > 0 || agent_is_recurrent(agent)) && agent_has_encoder(agent))
    CORE_ARENA_DEVICE(arena, gradient->encoded, (size_t)rows * (size_t)agent->encoder.shape.width,
               "gradient between encoder and trunk [rows][width]");
  if (agent->trunk > 0 && agent_is_recurrent(agent))
    CORE_ARENA_DEVICE(arena, gradient->recurrent, (size_t)rows * (size_t)agent->recurrent.shape.width,
                      "gradient between memory and trunk [rows][width]");
  if (agent_is_gaussian(agent))
    CORE_ARENA_DEVICE(arena, gradient->mean, (size_t)rows * (size_t)agent->head.factors,
               "gradient at the means [rows][factors]");

  if (agent->blocks.count == 0) return;
  CORE_ARENA_DEVICE(arena, gradient->entrance, (size_t)rows * joined_width(agent),
             "gradients at the inputs [rows][features]");
  CORE_ARENA_DEVICE(arena, gradient->embedding, (size_t)agent->blocks.count * (size_t)agent->blocks.width,
             "a network's embedding gradients [blocks][width]");
}

bool agent_chains_inputs(const Agent *agent) {
  return !agent_has_encoder(agent) && !agent_is_recurrent(agent) && agent->blocks.count == 0 &&
         !agent->actor.shape.layer_norm;
}

int agent_ops_rows(const Agent *agent) {
  const int encoder = agent_has_encoder(agent) ? encoder_ops_rows(&agent->encoder) : 0;
  return encoder > agent->max_rows ? encoder : agent->max_rows;
}

int agent_ops_width(const Agent *agent) {
  const int encoder = agent_has_encoder(agent) ? encoder_ops_width(&agent->encoder.shape, agent->device != NULL) : 0;
  const RecurrentShape *memory = &agent->recurrent.shape;
  int width = encoder > max_width(agent) ? encoder : max_width(agent);
  if (memory->in > width) width = memory->in;
  return 4 * memory->width > width ? 4 * memory->width : width;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static size_t largest_kernel(const NetworkShape *shape) {
  size_t largest = 0;
  for (int layer = 0; layer < shape->layers; layer++)
    largest = larger(largest, (size_t)shape->width[layer] * (size_t)shape->width[layer + 1]);
  return largest;
}

OpsCpuLimits agent_ops_limits(const Agent *agent) {
  const RecurrentShape *memory = &agent->recurrent.shape;
  OpsCpuLimits limits = {agent_ops_rows(agent), agent_ops_width(agent), largest_kernel(&agent->actor.shape)};
  limits.kernel = larger(limits.kernel, largest_kernel(&agent->critic.shape));
  if (agent_has_encoder(agent)) {
    const size_t encoder = (size_t)encoder_ops_width(&agent->encoder.shape, agent->device != NULL);
    limits.kernel = larger(limits.kernel, encoder * encoder);
  }
  if (agent_is_recurrent(agent))
    limits.kernel = larger(limits.kernel, 4 * (size_t)memory->width * (size_t)(memory->in + memory->width));
  return limits;
}

static void add_network(const NetworkShape *shape, OpsBf16 *choice) {
  for (int layer = 0; layer < shape->layers; layer++)
    ops_bf16_add(choice, shape->width[layer], shape->width[layer + 1]);
}

void agent_add_layers(const Agent *agent, OpsBf16 *choice) {
  const EncoderShape *encoder = &agent->encoder.shape;
  const RecurrentShape *memory = &agent->recurrent.shape;
  add_network(&agent->actor.shape, choice);
  if (agent->critic.n > 0) add_network(&agent->critic.shape, choice);
  if (agent_has_encoder(agent))
    for (int i = 0; i < encoder->tensors; i++)
      if (encoder->tensor[i].rows > 1 && encoder->tensor[i].conv.out == 0)
        ops_bf16_add(choice, encoder->tensor[i].rows, encoder->tensor[i].columns);
  if (!agent_is_recurrent(agent)) return;
  ops_bf16_add(choice, memory->in, 4 * memory->width);
  ops_bf16_add(choice, memory->width, 4 * memory->width);
}

int agent_create_ops(const Agent *agent, const CoreConfig *config, int threads, Ops **ops) {
  const OpsCpuLimits limits = agent_ops_limits(agent);
  return ops_cpu_create_within(threads, strcmp(config->train.precision, "bf16") == 0, &limits, ops);
}
