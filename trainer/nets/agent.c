/* Forward and backward passes of the actor and the critic. Only run_below, below_tower, finish_entrance and
 * finish_common deal with what precedes a tower (the observation, an encoder, an LSTM, a trunk). */
#include "trainer/nets/agent.h"

#include "core/device/arena.h"
#include "trainer/nets/agent_internal.h"

/* ---- forward --------------------------------------------------------------------------------------------------- */

/* Returns the number of layers of the network's shape that belong to the trunk. */
static int trunk_of(const Agent *agent, const AgentNetwork *network) {
  return network == &agent->actor ? agent->trunk : 0;
}

void agent_bind_sequences(const Agent *agent, const RecurrentSequences *sequences) {
  if (agent_is_recurrent(agent)) *agent->pass_state = (AgentPassState){.sequences = *sequences};
}

/* Begins a chunk, whose first row is row `row` of the bound sequences. */
static void begin_chunk(const Agent *agent, int row) {
  if (agent_is_recurrent(agent)) agent->pass_state->first = row;
}

/* Returns the input of the LSTM, or of the first dense layers without one. */
static const float *seen(const Agent *agent, const float *x) {
  if (agent_has_encoder(agent)) return agent->encoded;
  return agent->blocks.count > 0 ? agent->blocks.joined : x;
}

/* Returns the input of the first dense layers. */
static const float *entrance(const Agent *agent, const float *x) {
  return agent_is_recurrent(agent) ? agent->recurrent.output : seen(agent, x);
}

static void remember(const Agent *agent, Ops *ops, const AgentNetwork *owner, const float *theta, const float *x,
                     int rows) {
  recurrent_forward(&agent->recurrent, ops, theta + owner->recurrent, seen(agent, x), rows,
                    &agent->pass_state->sequences, owner == &agent->actor ? 0 : 1, agent->pass_state->first);
}

/* is_learning, here and below: whether agent_backward may follow. */
static void encode(const Agent *agent, Ops *ops, const AgentNetwork *owner, const float *theta, const float *x,
                   int rows, bool is_learning) {
  core_device_set_encoding(ops->device, true);
  (is_learning ? encoder_forward : encoder_act)(&agent->encoder, ops, theta + owner->encoder, x, rows, agent->encoded);
  core_device_set_encoding(ops->device, false);
}

/* Runs the parts common to both towers, embeddings, encoder, LSTM and trunk, with the weights of an actor's vector. */
static void run_below(const Agent *agent, Ops *ops, const float *theta, const float *x, int rows, bool is_learning) {
  const AgentNetwork *actor = &agent->actor;
  const AgentBlocks *blocks = &agent->blocks;
  if (blocks->count > 0)
    ops->embed_forward(ops, x, theta + actor->embedding, rows, agent->inputs - 1, blocks->width, blocks->joined,
                       blocks->of_row);
  if (agent_has_common_encoder(agent)) encode(agent, ops, actor, theta, x, rows, is_learning);
  if (agent_has_common_recurrent(agent)) remember(agent, ops, actor, theta, x, rows);
  network_forward_layers(ops, &actor->shape, theta, entrance(agent, x), rows, &actor->activations, 0, agent->trunk);
}

/* Returns the towers' input: the output of trunk, LSTM or encoder, or the networks' input. */
static const float *below_tower(const Agent *agent, const float *x) {
  return agent->trunk > 0 ? agent->actor.activations.hidden[agent->trunk - 1] : entrance(agent, x);
}

/* Runs a tower, after the encoder and LSTM of its network. */
static void run_tower(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *theta, const float *x,
                      int rows, const NetworkActivations *activations, bool is_learning) {
  if (agent_has_encoder(agent) && !agent_has_common_encoder(agent))
    encode(agent, ops, network, theta, x, rows, is_learning);
  if (agent_is_recurrent(agent) && !agent_has_common_recurrent(agent)) remember(agent, ops, network, theta, x, rows);
  network_forward_layers(ops, &network->shape, theta, below_tower(agent, x), rows, activations,
                         trunk_of(agent, network), network->shape.layers);
}

/* Runs a chunk of a tower, for acting, whose last layer writes to `output`. */
static void run_tower_to(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *theta, const float *x,
                         int rows, float *output) {
  NetworkActivations activations = network->activations;
  activations.hidden[network->shape.layers - 1] = output;
  run_tower(agent, ops, network, theta, x, rows, &activations, false);
}

void agent_forward(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *theta, const float *x,
                   int rows, float *output) {
  size_t inputs = (size_t)agent->inputs, outputs = (size_t)network->shape.width[network->shape.layers];
  const float *below_theta = network == &agent->actor ? theta : agent->actor.theta;
  for (int row = 0; row < rows; row += agent->max_rows) {
    int chunk_rows = rows - row < agent->max_rows ? rows - row : agent->max_rows;
    const float *rows_of_x = x + (size_t)row * inputs;
    begin_chunk(agent, row);
    run_below(agent, ops, below_theta, rows_of_x, chunk_rows, false);
    run_tower_to(agent, ops, network, theta, rows_of_x, chunk_rows, output + (size_t)row * outputs);
  }
}

/* Computes the policy of a chunk after its common parts: means, joined with their deviations. */
static void run_gaussian(const Agent *agent, Ops *ops, const float *theta, const float *x, int rows, bool is_learning,
                         float *parameters) {
  const AgentNetwork *actor = &agent->actor;
  run_tower(agent, ops, actor, theta, x, rows, &actor->activations, is_learning);
  ops->gaussian_join(ops, actor->activations.hidden[actor->shape.layers - 1], theta + actor->log_sigma,
                     agent->blocks.of_row, rows, agent->head.factors, parameters);
}

/* Computes the policy of a chunk after its common parts, and its values unless NULL. Q values become probabilities. */
static void run_policy(const Agent *agent, Ops *ops, const float *theta, const float *x, int rows, float *parameters,
                       float *values) {
  if (agent_is_gaussian(agent)) run_gaussian(agent, ops, theta, x, rows, false, parameters);
  else run_tower_to(agent, ops, &agent->actor, theta, x, rows, parameters);
  if (agent->is_q && values) ops->q_values(ops, parameters, rows, agent->head.logits, values);
  if (agent->is_q) ops->q_policy(ops, parameters, rows, agent->head.logits, agent->epsilon);
  else if (values) run_tower_to(agent, ops, &agent->critic, agent->critic.theta, x, rows, values);
}

/* Runs separate networks concurrently on two streams. */
static void act_beside(const Agent *agent, Ops *ops, const float *theta, const float *x, int rows, float *parameters,
                       float *values) {
  ops->stream_push(ops);
  run_policy(agent, ops, theta, x, rows, parameters, NULL);
  ops->stream_pop(ops);
  run_tower_to(agent, ops, &agent->critic, agent->critic.theta, x, rows, values);
  ops->stream_wait(ops);
}

/* Runs chunks that the activations hold; values may be NULL. */
static void act(const Agent *agent, Ops *ops, const float *theta, const float *x, int rows, float *parameters,
                float *values) {
  size_t inputs = (size_t)agent->inputs;
  for (int row = 0; row < rows; row += agent->max_rows) {
    int chunk_rows = rows - row < agent->max_rows ? rows - row : agent->max_rows;
    const float *rows_of_x = x + (size_t)row * inputs;
    float *chunk_parameters = parameters + (size_t)row * (size_t)agent->head.logits;
    begin_chunk(agent, row);
    if (values && ops->stream_push && agent_is_apart(agent)) {
      act_beside(agent, ops, theta, rows_of_x, chunk_rows, chunk_parameters, values + row);
      continue;
    }
    run_below(agent, ops, theta, rows_of_x, chunk_rows, false);
    run_policy(agent, ops, theta, rows_of_x, chunk_rows, chunk_parameters, values ? values + row : NULL);
  }
}

void agent_policy(const Agent *agent, Ops *ops, const float *theta, const float *x, int rows, float *parameters) {
  act(agent, ops, theta, x, rows, parameters, NULL);
}

/* Computes the greatest Q of any number of rows. */
static void greatest_q(const Agent *agent, Ops *ops, const float *x, int rows, float *values) {
  const AgentNetwork *network = &agent->actor;
  for (int row = 0; row < rows; row += agent->max_rows) {
    int chunk_rows = rows - row < agent->max_rows ? rows - row : agent->max_rows;
    const float *q = agent_pass(agent, ops, network, x + (size_t)row * (size_t)agent->inputs, chunk_rows);
    ops->q_values(ops, q, chunk_rows, agent->head.logits, values + row);
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

/* Whether the tower's layers are all that runs after the common parts. */
static bool is_tower_alone(const Agent *agent, const Ops *ops, const AgentNetwork *network) {
  if (agent_has_encoder(agent) && !agent_has_common_encoder(agent)) return false;
  if (agent_is_recurrent(agent) && !agent_has_common_recurrent(agent)) return false;
  return network_hidden_is_bf16(ops, &network->shape, false);
}

static const float *pass(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *x, int rows,
                         bool is_to_loss) {
  CORE_CHECK(rows <= agent->max_rows);
  begin_chunk(agent, 0);
  if (network == &agent->actor) {
    run_below(agent, ops, network->theta, x, rows, true);
    if (agent_is_gaussian(agent)) {
      run_gaussian(agent, ops, network->theta, x, rows, true, agent->joined);
      return agent->joined;
    }
  }
  if (is_to_loss && ops->expect_loss && is_tower_alone(agent, ops, network)) ops->expect_loss(ops);
  run_tower(agent, ops, network, network->theta, x, rows, &network->activations, true);
  return network->activations.hidden[network->shape.layers - 1];
}

const float *agent_pass(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *x, int rows) {
  return pass(agent, ops, network, x, rows, false);
}

const float *agent_pass_to_loss(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *x, int rows) {
  return pass(agent, ops, network, x, rows, true);
}

/* Whether both towers depend on trained parts below them. */
static bool has_common_below(const Agent *agent) {
  return agent->sharing == AGENT_SHARED && agent_below_width(agent) > 0;
}

/* Returns where a tower stores the gradient at its input: actor's, then critic's. */
static float *gradient_below(const Agent *agent, const AgentGradient *gradient, bool is_actor, int rows) {
  if (agent_below_width(agent) == 0) return gradient->entrance;
  return gradient->below + (is_actor ? 0 : (size_t)rows * (size_t)agent_below_width(agent));
}

/* Adds the gradient at the networks' inputs to that of the embeddings; is_first: sets it. */
static void finish_embedding(const Agent *agent, Ops *ops, int rows, bool is_first, const AgentGradient *gradient) {
  const AgentBlocks *blocks = &agent->blocks;
  float *total = gradient->actor + agent->actor.embedding, *part = is_first ? total : gradient->embedding;
  if (blocks->count == 0) return;
  ops->embed_backward(ops, gradient->entrance, blocks->of_row, rows, agent->inputs - 1, blocks->width, blocks->count,
                      part);
  if (!is_first) ops->add(ops, total, part, (size_t)blocks->count * (size_t)blocks->width);
}

/* Returns the watch of a pass over layers; none where more of the vector, an encoder, an LSTM or embeddings, is
 * completed later. */
static const NetworkWatch *watch_of(const Agent *agent, const AgentGradient *gradient, bool is_actor,
                                    NetworkWatch *watch) {
  if (gradient->on_complete == NULL || agent_has_encoder(agent) || agent_is_recurrent(agent) || agent->blocks.count > 0)
    return NULL;
  *watch = (NetworkWatch){gradient->on_complete, gradient->context, is_actor};
  return watch;
}

/* Computes the gradients of encoder, LSTM or embeddings of `owner` from the gradient `at` their output, which is
 * overwritten. */
static void finish_entrance(const Agent *agent, Ops *ops, const AgentNetwork *owner, const float *x, int rows,
                            float *at, const AgentGradient *gradient) {
  const bool is_actor = owner == &agent->actor;
  float *own = is_actor ? gradient->actor : gradient->critic;
  if (agent_is_recurrent(agent)) {
    float *below = agent_has_encoder(agent) ? gradient->encoded : gradient->entrance;
    recurrent_backward(&agent->recurrent, ops, owner->theta + owner->recurrent, seen(agent, x), rows,
                       &agent->pass_state->sequences, at, below, own + owner->recurrent);
    at = below;
  }
  finish_embedding(agent, ops, rows, is_actor, gradient);
  if (!agent_has_encoder(agent)) return;
  core_device_set_encoding(ops->device, true);
  encoder_backward(&agent->encoder, ops, owner->theta + owner->encoder, x, rows, agent->encoded, at,
                   own + owner->encoder);
  core_device_set_encoding(ops->device, false);
}

/* Computes the gradient of the common parts from those of both towers. */
static void finish_common(const Agent *agent, Ops *ops, const float *x, int rows, const AgentGradient *gradient) {
  const AgentNetwork *actor = &agent->actor;
  float *at = gradient_below(agent, gradient, true, rows);
  NetworkWatch watch;
  ops->add(ops, at, gradient_below(agent, gradient, false, rows), (size_t)rows * (size_t)agent_below_width(agent));
  if (agent->trunk > 0) {
    float *below = agent_is_recurrent(agent) ? gradient->recurrent
                   : agent_has_encoder(agent)    ? gradient->encoded
                                           : gradient->entrance;
    network_backward_layers(ops, &actor->shape, actor->theta, entrance(agent, x), rows, &actor->activations, 0,
                            agent->trunk, at, below, gradient->scratch, gradient->actor,
                            watch_of(agent, gradient, true, &watch));
    at = below;
  }
  finish_entrance(agent, ops, actor, x, rows, at, gradient);
}

/* Splits off the gradient of the log standard deviations; returns that at the means. */
static float *split_policy(const Agent *agent, Ops *ops, int rows, float *doutput, const AgentGradient *gradient) {
  if (!agent_is_gaussian(agent)) return doutput;
  ops->gaussian_split(ops, doutput, agent->blocks.of_row, rows, agent->head.factors, agent_sigma_sets(agent),
                      gradient->mean, gradient->actor + agent->actor.log_sigma);
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
  if (!has_common_below(agent)) finish_entrance(agent, ops, network, x, rows, below, gradient);
  else if (!is_actor) finish_common(agent, ops, x, rows, gradient);
}
