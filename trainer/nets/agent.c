/* Shapes, memory, forward and backward passes of the actor and the critic. What stands below a tower
 * (the observation, a trunk, an encoder) is known to run_below, below_tower and finish_common only. */
#include "trainer/nets/agent.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/device/arena.h"
#include "trainer/wrappers/action.h"
#include "trainer/wrappers/observer.h"

/* ---- shapes and memory ----------------------------------------------------------------------------------------- */

static OpsActivation activation_of(const char *name) {
  static const struct { const char *name; OpsActivation activation; } known[] = {
    {"tanh", OPS_TANH}, {"relu", OPS_RELU}, {"silu", OPS_SILU}, {"elu", OPS_ELU}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(name, known[i].name) == 0) return known[i].activation;
  CORE_CHECK(!"an activation of core/config/config.def that the trainer does not know");
  return OPS_LINEAR;
}

static AgentSharing sharing_of(const char *name) {
  return strcmp(name, "shared") == 0 ? AGENT_SHARED : strcmp(name, "joint") == 0 ? AGENT_JOINT : AGENT_SEPARATE;
}

static bool is_q(const CoreConfig *config) { return strcmp(config->algo.name, "pqn") == 0; }

static bool has_layer_norm(const CoreConfig *config) {
  return strcmp(config->net.norm, "layer") == 0 || (is_q(config) && strcmp(config->net.norm, "auto") == 0);
}

static NetworkShape tower(const CoreConfig *config, int inputs, int outputs, double head_gain) {
  NetworkShape shape = network_shape(inputs, (int)config->net.width, (int)config->net.depth, outputs,
                                     activation_of(config->net.activation), head_gain);
  shape.layer_norm = has_layer_norm(config);
  return shape;
}

static bool has_encoder(const Agent *agent) { return agent->encoder.shape.kind != ENCODER_NONE; }

bool agent_is_apart(const Agent *agent) {
  return agent->device && !agent->is_q && !has_encoder(agent) && agent->trunk == 0 && agent->blocks.count == 0;
}

/* Floats of activations below the towers. */
static size_t trunk_floats(const Agent *agent) {
  return network_layers_floats(&agent->actor.shape, agent->trunk, agent->max_rows);
}

/* Where the critic's activations begin in the block: at a multiple of 256 bytes where the actor's stay. */
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

static bool has_common_encoder(const Agent *agent) { return has_encoder(agent) && agent->sharing == AGENT_SHARED; }
static bool is_gaussian(const Agent *agent) { return agent->head.kind == OPS_GAUSSIAN; }

/* Sets of log standard deviations. */
static int sigma_sets(const Agent *agent) { return agent->blocks.count > 0 ? agent->blocks.count : 1; }

void agent_count_parameters(Agent *agent) {
  AgentNetwork *actor = &agent->actor, *critic = &agent->critic;
  const size_t encoder = agent->encoder.shape.parameters;
  critic->log_sigma = critic->embedding = critic->encoder = network_parameters(&critic->shape);
  critic->n = critic->encoder + (has_common_encoder(agent) || agent->is_q ? 0 : encoder);
  actor->log_sigma = network_parameters(&actor->shape);
  actor->embedding = actor->log_sigma + (is_gaussian(agent) ? (size_t)(sigma_sets(agent) * agent->head.factors) : 0);
  actor->encoder = actor->embedding + (size_t)agent->blocks.count * (size_t)agent->blocks.width;
  actor->n = actor->encoder + encoder;
}

const char *agent_parameter_name(const AgentNetwork *network, size_t k, char *buffer) {
  enum { NAME = 64 };
  if (k >= network->encoder)
    return encoder_parameter_name(network->encoder_shape, network->name, k - network->encoder, buffer);
  if (k < network->log_sigma) return network_parameter_name(&network->shape, network->name, k, buffer);
  bool sigma = k < network->embedding;
  snprintf(buffer, NAME, "%s.%s[%zu]", network->name, sigma ? "log_sigma" : "embedding",
           k - (sigma ? network->log_sigma : network->embedding));
  return buffer;
}

static int check_pixels(const CoreConfig *config) {
  const char *encoder = config->net.encoder;
  if (strcmp(config->env.normalize_observations, "none") != 0)
    return core_error(CORE_USAGE, "env.normalize_observations = %s: net.encoder = %s reads pixels, which are divided "
                      "by 255 and nothing else; set it to none", config->env.normalize_observations, encoder);
  if (observer_blocks(config) > 0)
    return core_error(CORE_USAGE, "net.encoder = %s: algo.name = %s has one policy a block, told apart by a flat "
                      "observation; set net.encoder to none", encoder, config->algo.name);
  if (strcmp(config->net.norm, "layer") == 0 && encoder_kind(encoder) == ENCODER_IMPALA)
    return core_error(CORE_USAGE, "net.norm = layer: net.encoder = impala has no layer norm; set net.norm to none or "
                      "auto, or net.encoder to nature");
  return CORE_OK;
}

int agent_check_env(const CoreConfig *config, const Env *env) {
  const EncoderKind kind = encoder_kind(config->net.encoder);
  if (!encoder_reads_pixels(kind)) return CORE_OK;
  if (env->pixels == NULL)
    return core_error(CORE_USAGE, "net.encoder = %s: it reads pixels, but env.task = %s shows numbers; set net.encoder "
                      "to none", config->net.encoder, config->env.task);
  return encoder_check_pixels(kind, env->pixels);
}

int agent_check(const CoreConfig *config) {
  const EncoderKind kind = encoder_kind(config->net.encoder);
  const bool encodes = kind != ENCODER_NONE && !encoder_reads_pixels(kind);
  const bool has_entities = strcmp(config->env.observations, "entity") == 0;
  if (encodes && !has_entities)
    return core_error(CORE_USAGE,
                      "net.encoder = %s: it reads entities, but env.observations = %s; set "
                      "env.observations to entity, or net.encoder to none",
                      config->net.encoder, config->env.observations);
  if (has_entities && !encodes)
    return core_error(CORE_USAGE, "env.observations = entity: needs an encoder; set net.encoder to set, stoix_set or "
                      "transformer, or env.observations to flat or padded");
  if (kind != ENCODER_NONE && !encodes) return check_pixels(config);
  if (encodes && strcmp(config->env.normalize_observations, "none") != 0)
    return core_error(CORE_USAGE, "env.normalize_observations = %s: entity observations hold masks and numbers of "
                      "shapes, which must stay as they are; set it to none", config->env.normalize_observations);
  if (encodes && observer_blocks(config) > 0)
    return core_error(CORE_USAGE, "net.encoder = %s: algo.name = %s has one policy a block, told apart by a flat "
                      "observation; set net.encoder to none and env.observations to flat", config->net.encoder,
                      config->algo.name);
  return CORE_OK;
}

static EncoderShape encoder_of(const CoreConfig *config, const Env *env, EncoderKind kind) {
  if (!encoder_reads_pixels(kind)) return encoder_shape(kind, *env->entities);
  return encoder_shape_of_pixels(kind, env->pixels, kind == ENCODER_NATURE && has_layer_norm(config));
}

/* What the towers stand on, with memory for it: gives its width. entrance: that of what the first dense layer sees. */
static int register_below(Agent *agent, const CoreConfig *config, const Env *env, int *entrance, CoreArena *arena) {
  const EncoderKind kind = encoder_kind(config->net.encoder);
  *entrance = env->observation_length + agent->blocks.width;
  if (kind != ENCODER_NONE) {
    const EncoderShape shape = encoder_of(config, env, kind);
    CORE_CHECK(agent->inputs == shape.length);
    encoder_register(&agent->encoder, &shape, agent->max_rows, arena);
    CORE_ARENA_DEVICE(arena, agent->encoded, (size_t)agent->max_rows * (size_t)shape.width, "encoded [rows][width]");
    *entrance = shape.width;
  }
  if (agent->sharing != AGENT_SHARED || (kind != ENCODER_NONE && !encoder_reads_pixels(kind))) return *entrance;
  agent->trunk = (int)config->net.trunk_depth;
  return (int)config->net.trunk_width;
}

void agent_register(Agent *agent, const CoreConfig *config, const Env *env, int max_rows, CoreArena *arena) {
  *agent = (Agent){.head = action_head(config, env), .inputs = observer_features(config, env), .max_rows = max_rows,
                   .sharing = sharing_of(config->net.sharing), .actor.name = "actor", .critic.name = "critic",
                   .features = env->features, .whole_inputs = env->whole_length,
                   .blocks = {.count = observer_blocks(config)}, .is_q = is_q(config),
                   .epsilon = config->pqn.epsilon_end, .device = core_arena_device(arena)};
  if (agent->blocks.count > 0) agent->blocks.width = (int)config->sapg.embedding;
  int entrance;
  const int below = register_below(agent, config, env, &entrance, arena);
  const int outputs = is_gaussian(agent) ? agent->head.factors : agent->head.logits;
  agent->actor.shape = tower(config, entrance, outputs, agent->is_q ? sqrt(2) : 0.01);
  if (agent->trunk > 0)
    network_prepend(&agent->actor.shape, below, agent->trunk, activation_of(config->net.trunk_activation));
  if (!agent->is_q) agent->critic.shape = tower(config, below, 1, 1.0);
  agent->actor.encoder_shape = agent->critic.encoder_shape = &agent->encoder.shape;
  agent_count_parameters(agent);
  CORE_ARENA_DEVICE(arena, agent->actor.theta, agent->actor.n, "actor weights");
  CORE_ARENA_DEVICE(arena, agent->critic.theta, agent->critic.n, "critic weights");
  register_activations(agent, arena);
  const size_t rows = (size_t)max_rows;
  if (is_gaussian(agent))
    CORE_ARENA_DEVICE(arena, agent->joined, rows * (size_t)agent->head.logits, "policy [rows][logits]");
  if (agent->blocks.count == 0) return;
  CORE_ARENA_DEVICE(arena, agent->blocks.joined, rows * (size_t)agent->actor.shape.width[0],
             "observations with embeddings [rows][features]");
  CORE_ARENA_DEVICE(arena, agent->blocks.of_row, rows, "blocks [rows]");
}

void agent_place(Agent *agent) {
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

/* The widest layer of the networks, input included. */
static int max_width(const Agent *agent) {
  int actor = widest(&agent->actor.shape), critic = widest(&agent->critic.shape);
  return actor > critic ? actor : critic;
}

/* Numbers that a tower sees of what learns below it: trunk or encoder; 0 where there is neither. */
static int below_width(const Agent *agent) {
  if (agent->trunk > 0) return agent->actor.shape.width[agent->trunk];
  return has_encoder(agent) ? agent->encoder.shape.width : 0;
}

void agent_register_gradient(const Agent *agent, AgentGradient *gradient, int rows, CoreArena *arena) {
  *gradient = (AgentGradient){.below = NULL};
  CORE_ARENA_DEVICE(arena, gradient->actor, agent->actor.n, "actor gradient");
  CORE_ARENA_DEVICE(arena, gradient->critic, agent->critic.n, "critic gradient");
  CORE_ARENA_DEVICE(arena, gradient->scratch, 2 * (size_t)rows * (size_t)max_width(agent),
             "backward scratch [2][rows][width]");
  if (agent_is_apart(agent))
    CORE_ARENA_DEVICE(arena, gradient->critic_scratch, 2 * (size_t)rows * (size_t)max_width(agent),
                      "backward scratch of the critic [2][rows][width]");
  if (below_width(agent) > 0)
    CORE_ARENA_DEVICE(arena, gradient->below, 2 * (size_t)rows * (size_t)below_width(agent),
               "gradients below the towers [2][rows][width]");
  if (agent->trunk > 0 && has_encoder(agent))
    CORE_ARENA_DEVICE(arena, gradient->encoded, (size_t)rows * (size_t)agent->encoder.shape.width,
               "gradient between encoder and trunk [rows][width]");
  if (is_gaussian(agent))
    CORE_ARENA_DEVICE(arena, gradient->mean, (size_t)rows * (size_t)agent->head.factors,
               "gradient at the means [rows][factors]");
  if (agent->blocks.count == 0) return;
  CORE_ARENA_DEVICE(arena, gradient->entrance, (size_t)rows * (size_t)agent->actor.shape.width[0],
             "gradients at the inputs [rows][features]");
  CORE_ARENA_DEVICE(arena, gradient->embedding, (size_t)agent->blocks.count * (size_t)agent->blocks.width,
             "a network's embedding gradients [blocks][width]");
}

bool agent_chains_inputs(const Agent *agent) {
  return !has_encoder(agent) && agent->blocks.count == 0 && !agent->actor.shape.layer_norm;
}

int agent_ops_rows(const Agent *agent) {
  const int encoder = has_encoder(agent) ? encoder_ops_rows(&agent->encoder) : 0;
  return encoder > agent->max_rows ? encoder : agent->max_rows;
}

int agent_ops_width(const Agent *agent) {
  const int encoder = has_encoder(agent) ? encoder_ops_width(&agent->encoder.shape, agent->device != NULL) : 0;
  return encoder > max_width(agent) ? encoder : max_width(agent);
}

static void add_network(const NetworkShape *shape, OpsBf16 *choice) {
  for (int layer = 0; layer < shape->layers; layer++)
    ops_bf16_add(choice, shape->width[layer], shape->width[layer + 1]);
}

void agent_add_layers(const Agent *agent, OpsBf16 *choice) {
  const EncoderShape *encoder = &agent->encoder.shape;
  add_network(&agent->actor.shape, choice);
  if (agent->critic.n > 0) add_network(&agent->critic.shape, choice);
  for (int i = 0; has_encoder(agent) && i < encoder->tensors; i++)
    if (encoder->tensor[i].rows > 1 && encoder->tensor[i].conv.out == 0)
      ops_bf16_add(choice, encoder->tensor[i].rows, encoder->tensor[i].columns);
}

int agent_create_ops(const Agent *agent, const CoreConfig *config, int threads, Ops **ops) {
  const int rows = agent_ops_rows(agent), width = agent_ops_width(agent);
  if (strcmp(config->train.precision, "bf16") == 0) return ops_cpu_create_bf16(threads, rows, width, ops);
  return ops_cpu_create(threads, rows, width, ops);
}

/* ---- forward --------------------------------------------------------------------------------------------------- */

/* Layers of the network's own shape that lie below its tower. */
static int trunk_of(const Agent *agent, const AgentNetwork *network) {
  return network == &agent->actor ? agent->trunk : 0;
}

/* What the first dense layers see of x. */
static const float *entrance(const Agent *agent, const float *x) {
  if (has_encoder(agent)) return agent->encoded;
  return agent->blocks.count > 0 ? agent->blocks.joined : x;
}

static void encode(const Agent *agent, Ops *ops, const AgentNetwork *owner, const float *theta, const float *x,
                   int rows) {
  encoder_forward(&agent->encoder, ops, theta + owner->encoder, x, rows, agent->encoded);
}

/* Runs what both towers stand on, embeddings, encoder and trunk, with the weights of an actor's vector. */
static void run_below(const Agent *agent, Ops *ops, const float *theta, const float *x, int rows) {
  const AgentNetwork *actor = &agent->actor;
  const AgentBlocks *blocks = &agent->blocks;
  if (blocks->count > 0)
    ops->embed_forward(ops, x, theta + actor->embedding, rows, agent->inputs - 1, blocks->width, blocks->joined,
                       blocks->of_row);
  if (has_common_encoder(agent)) encode(agent, ops, actor, theta, x, rows);
  network_forward_layers(ops, &actor->shape, theta, entrance(agent, x), rows, &actor->activations, 0, agent->trunk);
}

/* What the towers stand on: the trunk's or encoder's output, or the networks' input where there is neither. */
static const float *below_tower(const Agent *agent, const float *x) {
  return agent->trunk > 0 ? agent->actor.activations.hidden[agent->trunk - 1] : entrance(agent, x);
}

/* A tower, after the encoder that it has for itself. */
static void run_tower(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *theta, const float *x,
                      int rows, const NetworkActivations *activations) {
  if (has_encoder(agent) && !has_common_encoder(agent)) encode(agent, ops, network, theta, x, rows);
  network_forward_layers(ops, &network->shape, theta, below_tower(agent, x), rows, activations,
                         trunk_of(agent, network), network->shape.layers);
}

/* One piece of a tower whose last layer writes to `output`. */
static void run_tower_to(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *theta, const float *x,
                         int rows, float *output) {
  NetworkActivations activations = network->activations;
  activations.hidden[network->shape.layers - 1] = output;
  run_tower(agent, ops, network, theta, x, rows, &activations);
}

void agent_forward(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *theta, const float *x,
                   int rows, float *output) {
  size_t inputs = (size_t)agent->inputs, outputs = (size_t)network->shape.width[network->shape.layers];
  const float *below_theta = network == &agent->actor ? theta : agent->actor.theta;
  for (int row = 0; row < rows; row += agent->max_rows) {
    int piece = rows - row < agent->max_rows ? rows - row : agent->max_rows;
    const float *rows_of_x = x + (size_t)row * inputs;
    run_below(agent, ops, below_theta, rows_of_x, piece);
    run_tower_to(agent, ops, network, theta, rows_of_x, piece, output + (size_t)row * outputs);
  }
}

/* The policy in a piece of rows where what is common has run, and unless values is NULL their values. Q values
 * become probabilities, means get their deviations. */
static void run_policy(const Agent *agent, Ops *ops, const float *theta, const float *x, int rows, float *parameters,
                       float *values) {
  const AgentNetwork *actor = &agent->actor;
  if (is_gaussian(agent)) {
    run_tower(agent, ops, actor, theta, x, rows, &actor->activations);
    ops->gaussian_join(ops, actor->activations.hidden[actor->shape.layers - 1], theta + actor->log_sigma,
                       agent->blocks.of_row, rows, agent->head.factors, parameters);
  } else {
    run_tower_to(agent, ops, actor, theta, x, rows, parameters);
  }
  if (agent->is_q && values) ops->q_values(ops, parameters, rows, agent->head.logits, values);
  if (agent->is_q) ops->q_policy(ops, parameters, rows, agent->head.logits, agent->epsilon);
  else if (values) run_tower_to(agent, ops, &agent->critic, agent->critic.theta, x, rows, values);
}

/* The same of networks that are apart: side by side. */
static void act_beside(const Agent *agent, Ops *ops, const float *theta, const float *x, int rows, float *parameters,
                       float *values) {
  ops->enter(ops);
  run_policy(agent, ops, theta, x, rows, parameters, NULL);
  ops->leave(ops);
  run_tower_to(agent, ops, &agent->critic, agent->critic.theta, x, rows, values);
  ops->join(ops);
}

/* In pieces that the activations hold; values may be NULL. */
static void act(const Agent *agent, Ops *ops, const float *theta, const float *x, int rows, float *parameters,
                float *values) {
  size_t inputs = (size_t)agent->inputs;
  for (int row = 0; row < rows; row += agent->max_rows) {
    int piece = rows - row < agent->max_rows ? rows - row : agent->max_rows;
    const float *rows_of_x = x + (size_t)row * inputs;
    float *of_piece = parameters + (size_t)row * (size_t)agent->head.logits;
    if (values && ops->enter && agent_is_apart(agent)) {
      act_beside(agent, ops, theta, rows_of_x, piece, of_piece, values + row);
      continue;
    }
    run_below(agent, ops, theta, rows_of_x, piece);
    run_policy(agent, ops, theta, rows_of_x, piece, of_piece, values ? values + row : NULL);
  }
}

void agent_policy(const Agent *agent, Ops *ops, const float *theta, const float *x, int rows, float *parameters) {
  act(agent, ops, theta, x, rows, parameters, NULL);
}

/* The greatest Q of any number of rows. */
static void greatest_q(const Agent *agent, Ops *ops, const float *x, int rows, float *values) {
  const AgentNetwork *network = &agent->actor;
  for (int row = 0; row < rows; row += agent->max_rows) {
    int piece = rows - row < agent->max_rows ? rows - row : agent->max_rows;
    const float *q = agent_pass(agent, ops, network, x + (size_t)row * (size_t)agent->inputs, piece);
    ops->q_values(ops, q, piece, agent->head.logits, values + row);
  }
}

void agent_values(const Agent *agent, Ops *ops, const float *x, int rows, float *values) {
  if (agent->is_q) greatest_q(agent, ops, x, rows, values);
  else agent_forward(agent, ops, &agent->critic, agent->critic.theta, x, rows, values);
}

void agent_act(const Agent *agent, Ops *ops, const float *x, int rows, float *parameters, float *values) {
  act(agent, ops, agent->actor.theta, x, rows, parameters, values);
}

/* ---- learning -------------------------------------------------------------------------------------------------- */

const float *agent_pass(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *x, int rows) {
  CORE_CHECK(rows <= agent->max_rows);
  if (network == &agent->actor) {
    run_below(agent, ops, network->theta, x, rows);
    if (is_gaussian(agent)) {
      run_policy(agent, ops, network->theta, x, rows, agent->joined, NULL);
      return agent->joined;
    }
  }
  run_tower(agent, ops, network, network->theta, x, rows, &network->activations);
  return network->activations.hidden[network->shape.layers - 1];
}

/* Where a tower puts the gradient at its input: actor's, then critic's. */
static float *gradient_below(const Agent *agent, const AgentGradient *gradient, bool is_actor, int rows) {
  if (below_width(agent) == 0) return gradient->entrance;
  return gradient->below + (is_actor ? 0 : (size_t)rows * (size_t)below_width(agent));
}

/* The gradient at the networks' inputs, as far as it goes to embeddings: one pass's, or what is added to it. */
static void finish_embedding(const Agent *agent, Ops *ops, int rows, bool is_first, const AgentGradient *gradient) {
  const AgentBlocks *blocks = &agent->blocks;
  float *total = gradient->actor + agent->actor.embedding, *part = is_first ? total : gradient->embedding;
  if (blocks->count == 0) return;
  ops->embed_backward(ops, gradient->entrance, blocks->of_row, rows, agent->inputs - 1, blocks->width, blocks->count,
                      part);
  if (!is_first) ops->add(ops, total, part, (size_t)blocks->count * (size_t)blocks->width);
}

/* Who listens to a pass over layers: nobody where more of the vector, an encoder or embeddings, is
 * complete only later. */
static const NetworkWatch *watch_of(const Agent *agent, const AgentGradient *gradient, bool is_actor,
                                    NetworkWatch *watch) {
  if (gradient->on_complete == NULL || has_encoder(agent) || agent->blocks.count > 0) return NULL;
  *watch = (NetworkWatch){gradient->on_complete, gradient->context, is_actor};
  return watch;
}

/* From what both towers send down to the gradient of what is common to them. */
static void finish_common(const Agent *agent, Ops *ops, const float *x, int rows, const AgentGradient *gradient) {
  const AgentNetwork *actor = &agent->actor;
  float *from_both = gradient_below(agent, gradient, true, rows);
  NetworkWatch watch;
  ops->add(ops, from_both, gradient_below(agent, gradient, false, rows), (size_t)rows * (size_t)below_width(agent));
  float *below_trunk = has_encoder(agent) ? gradient->encoded : gradient->entrance;
  if (agent->trunk > 0)
    network_backward_layers(ops, &actor->shape, actor->theta, entrance(agent, x), rows, &actor->activations, 0,
                            agent->trunk, from_both, below_trunk, gradient->scratch, gradient->actor,
                            watch_of(agent, gradient, true, &watch));
  finish_embedding(agent, ops, rows, true, gradient);
  if (has_encoder(agent))
    encoder_backward(&agent->encoder, ops, actor->theta + actor->encoder, x, rows,
                     agent->trunk > 0 ? below_trunk : from_both, gradient->actor + actor->encoder);
}

/* The part of the policy's gradient that is log standard deviations'; returns that at the means. */
static float *split_policy(const Agent *agent, Ops *ops, int rows, float *doutput, const AgentGradient *gradient) {
  if (!is_gaussian(agent)) return doutput;
  ops->gaussian_split(ops, doutput, agent->blocks.of_row, rows, agent->head.factors, sigma_sets(agent), gradient->mean,
                      gradient->actor + agent->actor.log_sigma);
  return gradient->mean;
}

void agent_backward(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *x, int rows, float *doutput,
                    const AgentGradient *gradient) {
  const bool is_actor = network == &agent->actor;
  float *below = gradient_below(agent, gradient, is_actor, rows), *own = is_actor ? gradient->actor : gradient->critic;
  float *scratch = !is_actor && agent_is_apart(agent) ? gradient->critic_scratch : gradient->scratch;
  NetworkWatch watch;
  if (is_actor) doutput = split_policy(agent, ops, rows, doutput, gradient);
  network_backward_layers(ops, &network->shape, network->theta, below_tower(agent, x), rows, &network->activations,
                          trunk_of(agent, network), network->shape.layers, doutput, below, scratch, own,
                          watch_of(agent, gradient, is_actor, &watch));
  if (has_encoder(agent) && !has_common_encoder(agent))
    encoder_backward(&agent->encoder, ops, network->theta + network->encoder, x, rows, below, own + network->encoder);
  else if (below_width(agent) == 0) finish_embedding(agent, ops, rows, is_actor, gradient);
  else if (!is_actor) finish_common(agent, ops, x, rows, gradient);
}
