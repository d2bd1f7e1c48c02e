/* KL, its estimators, distances of weights, and the sums for representation.c's closed forms, in float64, in one pass
 * over the states. */
#include "trainer/measure/metrics.h"

#include <math.h>
#include <stdlib.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "trainer/math/estimators.h"
#include "trainer/math/sample.h"
#include "trainer/ranks/ranks.h"
#include "trainer/update/reduce.h"

/* States at once: enough for fast matrix products, little memory. On a device the host waits for each piece. */
enum { PIECE = 4096, PIECE_ON_DEVICE = 32768 };

/* Whether there is a critic. A Q learner has one network, which is reported as the actor. */
static bool has_critic(const Agent *agent) { return agent->critic.n > 0; }

/* Registers a network's representation. The convolutions belong to the network that has their weights. */
static void register_representation(Representation *representation, const Agent *agent, const AgentNetwork *network,
                                    CoreArena *arena) {
  EncoderLayer layer[ENCODER_LAYERS_MAX];
  RepresentationLayer convolution[ENCODER_LAYERS_MAX];
  const int layers = network->encoder < network->recurrent ? encoder_layers(&agent->encoder, 0, 1, layer) : 0;
  for (int i = 0; i < layers; i++)
    convolution[i] = (RepresentationLayer){layer[i].channels, layer[i].positions, OPS_RELU};
  representation_register(representation, &network->shape, convolution, layers, arena);
}

void metrics_register(Metrics *metrics, const Agent *agent, const Rollout *rollout, int64_t states, int64_t shard_rows,
                      CoreArena *arena) {
  int64_t total = (int64_t)rollout->steps * rollout->shards.global_worlds,
    own = (int64_t)rollout->steps * rollout->worlds;
  const int64_t length = states_length(&rollout->states);
  *metrics = (Metrics){.states = (int)states_round_to_sequences(&rollout->states, states, total)};

  /* A chunk is one forward pass, whose hidden layers then are in the activations; ops do not support more rows. */
  const int64_t piece = core_arena_device(arena) ? PIECE_ON_DEVICE : PIECE;
  int64_t max_rows = agent->max_rows < piece ? agent->max_rows : piece;
  if (shard_rows > 0 && max_rows > shard_rows) max_rows = shard_rows;
  if (max_rows < length) max_rows = length; /* at least one sequence, which is at most a minibatch */
  if (max_rows > own && shard_rows == 0) max_rows = own;
  max_rows -= max_rows % length;
  metrics->chunk_rows = metrics->states < max_rows ? metrics->states : (int)max_rows;

  size_t rows = (size_t)metrics->chunk_rows;
  sequences_register(&metrics->sequences, &rollout->states, metrics->chunk_rows, arena);
  CORE_ARENA_DEVICE(arena, metrics->actor_before, agent->actor.n, "actor weights before the update");
  CORE_ARENA_DEVICE(arena, metrics->critic_before, agent->critic.n, "critic weights before the update");
  CORE_ARENA_DEVICE(arena, metrics->step_before, agent->actor.n > agent->critic.n ? agent->actor.n : agent->critic.n,
             "weights before a step");

  CORE_ARENA(arena, metrics->index, rows, "metrics rows [rows]");
  CORE_ARENA_DEVICE(arena, metrics->observations, rows * (size_t)rollout->features,
                    "metrics observations [rows][features]");
  CORE_ARENA_DEVICE(arena, metrics->behavior, rows * (size_t)rollout->head.logits, "metrics behavior [rows][logits]");
  CORE_ARENA_DEVICE(arena, metrics->updated, rows * (size_t)rollout->head.logits, "metrics updated [rows][logits]");
  CORE_ARENA_DEVICE(arena, metrics->behavior_logp, rows, "metrics behavior log-probabilities [rows]");
  CORE_ARENA_DEVICE(arena, metrics->updated_logp, rows, "metrics updated log-probabilities [rows]");
  CORE_ARENA_DEVICE(arena, metrics->actions, rows * rollout->action_bytes, "metrics actions [rows][bytes]");
  CORE_ARENA_DEVICE(arena, metrics->values, rows, "metrics values [rows]");

  if (core_arena_device(arena)) {
    CORE_ARENA_DEVICE(arena, metrics->index_on_device, rows, "metrics rows [rows]");
    CORE_ARENA(arena, metrics->place, rows, "metrics rows of logits [rows]");
    CORE_ARENA_DEVICE(arena, metrics->place_on_device, rows, "metrics rows of logits [rows]");
  }
  if (shard_rows > 0) CORE_ARENA(arena, metrics->shard_kl, (size_t)rollout->shards.shards, "KL of shards [shards]");

  CORE_ARENA(arena, metrics->per_logit, (size_t)rollout->head.logits, "metrics probabilities [logits]");
  register_representation(&metrics->actor, agent, &agent->actor, arena);
  if (has_critic(agent)) register_representation(&metrics->critic, agent, &agent->critic, arena);
}

void metrics_choose(Metrics *metrics, const CoreConfig *config, int64_t iteration) {
  int64_t every = config->metrics.every, deep = config->metrics.representation_every;
  if (deep < every) deep = every;
  metrics->depth = (iteration - 1) % deep == 0    ? METRICS_REPRESENTATION
                   : (iteration - 1) % every == 0 ? METRICS_POLICY
                                                  : METRICS_KL;
}

void metrics_begin(Metrics *metrics, const Agent *agent) {
  core_device_copy(agent->device, metrics->actor_before, agent->actor.theta,
                   agent->actor.n * sizeof *agent->actor.theta);
  core_device_copy(agent->device, metrics->critic_before, agent->critic.theta,
                   agent->critic.n * sizeof *agent->critic.theta);
}

/* Adds the convolutions of the last pass, chunk after chunk. */
static void add_convolutions(Representation *representation, Ops *ops, const Encoder *encoder, int rows) {
  if (representation->convolutions == 0) return;
  for (int first = 0, chunk = 0; first < rows; first += encoder->chunk_rows, chunk++) {
    const int some = rows - first < encoder->chunk_rows ? rows - first : encoder->chunk_rows;
    EncoderLayer layer[ENCODER_LAYERS_MAX];
    const int layers = encoder_layers(encoder, chunk, some, layer);
    for (int i = 0; i < layers; i++) {
      const size_t bytes = (size_t)some * (size_t)(layer[i].positions * layer[i].channels) * sizeof(float);
      void *copy;
      if (layer[i].positions == 0) continue;
      representation_add_convolution(representation, i, core_device_view(ops->device, layer[i].h, bytes, &copy), some);
      free(copy);
    }
  }
}

/* Sums over the states. */
typedef struct Sums { double kl, kl_reverse, k1, k2, k3; LogSum ratio, ratio_squared; } Sums;

/* Adds a chunk's hidden layers. trunk: layers that ran before the others (agent.h). */
static void add_layers(Representation *representation, Ops *ops, const AgentNetwork *network, int trunk, int rows) {
  if (ops->device)
    representation_add_on_device(representation, ops, &network->shape, &network->activations, trunk, rows);
  else representation_add(representation, &network->activations, rows);
}

/* Adds hidden layers and probabilities of the chunk that has just passed through the actor. */
static void add_representation(Metrics *metrics, Ops *ops, const Agent *agent, const OpsHead *head, int rows) {
  if (metrics->depth >= METRICS_POLICY) {
    void *copy;
    const size_t bytes = (size_t)rows * (size_t)head->logits * sizeof(float);
    representation_add_policy(head, core_device_view(ops->device, metrics->updated, bytes, &copy), rows,
                              metrics->per_logit);
    free(copy);
  }
  if (metrics->depth < METRICS_REPRESENTATION) return;
  add_layers(&metrics->actor, ops, &agent->actor, agent->trunk, rows);
  add_convolutions(&metrics->actor, ops, &agent->encoder, rows);
  if (!has_critic(agent)) return;
  agent_values(agent, ops, metrics->observations, rows, metrics->values);
  add_layers(&metrics->critic, ops, &agent->critic, 0, rows);
  add_convolutions(&metrics->critic, ops, &agent->encoder, rows);
}

/* Gathers the logits of the policy that acted. index: metrics->index, where the ops read it. */
static void gather_behavior(Metrics *metrics, Ops *ops, const Rollout *rollout, const uint32_t *index, int rows) {
  const float *logits = rollout->logits;
  if (rollout->samples_logits) {
    core_device_to_device(ops->device, metrics->place_on_device, metrics->place,
                          (size_t)rows * sizeof *metrics->place);
    index = metrics->place_on_device;
    logits = rollout->logit_samples.logits;
  }
  ops->gather_rows(ops, logits, index, metrics->behavior, rows, rollout->head.logits);
}

/* Adds the sums over the `rows` states in metrics->index. */
static void add_chunk(Metrics *metrics, Ops *ops, const Agent *agent, const Rollout *rollout, int rows, Sums *sums) {
  const OpsHead *head = &rollout->head;
  const uint32_t *index = metrics->index;
  const size_t bytes = (size_t)rows * sizeof(float);
  void *copy[2];
  double kl, kl_reverse;

  if (ops->device) {
    core_device_to_device(ops->device, metrics->index_on_device, index, (size_t)rows * sizeof *index);
    index = metrics->index_on_device;
  }

  index = sequences_order(&metrics->sequences, &rollout->states, index, rows);
  sequences_gather(&metrics->sequences, &rollout->states, ops, index, rows);
  sequences_bind(&metrics->sequences, agent);
  rollout_gather_observations(rollout, ops, index, rows, metrics->observations);
  gather_behavior(metrics, ops, rollout, index, rows);
  ops->gather_rows(ops, rollout->logp, index, metrics->behavior_logp, rows, 1);
  rollout_gather_actions(rollout, ops, index, rows, metrics->actions);
  agent_policy(agent, ops, agent->actor.theta, metrics->observations, rows, metrics->updated);
  add_representation(metrics, ops, agent, head, rows);
  ops->policy_logp(ops, head, metrics->updated, metrics->actions, metrics->updated_logp, rows);
  ops->policy_kl(ops, head, metrics->behavior, metrics->updated, rows, &kl, &kl_reverse);

  sums->kl += kl;
  sums->kl_reverse += kl_reverse;

  const float *updated = core_device_view(ops->device, metrics->updated_logp, bytes, &copy[0]);
  const float *behavior = core_device_view(ops->device, metrics->behavior_logp, bytes, &copy[1]);
  for (int i = 0; i < rows; i++) {
    double l = (double)updated[i] - (double)behavior[i];
    sums->k1 -= l;
    sums->k2 += l * l / 2;
    sums->k3 += expm1(l) - l;
    log_sum_add(&sums->ratio, l);
    log_sum_add(&sums->ratio_squared, 2 * l);
  }

  free(copy[0]);
  free(copy[1]);
}

/* Adds this rank's sampled states, or those of its shard `part`. */
static void add_states(Metrics *metrics, Ops *ops, const Agent *agent, const Rollout *rollout, uint64_t seed,
                       int64_t iteration, int part, Sums *sums) {
  const Shards *shards = &rollout->shards;
  const int64_t total = (int64_t)rollout->steps * shards->global_worlds;
  const int length = states_length(&rollout->states), drawn = metrics->states / length;
  const uint32_t worlds = (uint32_t)rollout->worlds, together = (uint32_t)shards_worlds(shards);
  int64_t own = 0; /* sampled states of this rank so far */

  for (int j = 0, rows = 0; j < drawn; j++) {
    const int64_t number = sample_state(seed, iteration, j, drawn, total / length);
    for (int step = 0; step < length; step++) {
      const int64_t row = states_sampled_row(&rollout->states, shards, number, step);
      if (row < 0 || (metrics->shard_kl && (uint32_t)row % worlds / together != (uint32_t)part)) continue;
      if (rollout->samples_logits) metrics->place[rows] = rollout->logit_samples.place[own++];
      metrics->index[rows++] = (uint32_t)row;
    }

    if (rows < metrics->chunk_rows && (rows == 0 || j + 1 < drawn)) continue;
    add_chunk(metrics, ops, agent, rollout, rows, sums);
    rows = 0;
  }
}

/* Sums over all shards of the run, in their order. */
static double fold_shards(const Metrics *metrics, const Shards *shards) {
  double *all = reduce_gather_records(metrics->shard_kl, (size_t)shards->shards * sizeof *metrics->shard_kl), sum = 0;
  for (int s = 0; s < shards->global_shards; s++) sum += all[s];
  free(all);
  return sum;
}

/* Reduces the sums over all ranks. */
static void reduce_sums(Metrics *metrics, const OpsHead *head, bool critic, Sums *sums) {
  double plain[] = {sums->kl, sums->kl_reverse, sums->k1, sums->k2, sums->k3};
  ranks_sum(plain, 5);
  sums->kl = plain[0];
  sums->kl_reverse = plain[1];
  sums->k1 = plain[2];
  sums->k2 = plain[3];
  sums->k3 = plain[4];
  if (metrics->depth < METRICS_POLICY) return;
  reduce_log_sums(&sums->ratio, 1);
  reduce_log_sums(&sums->ratio_squared, 1);
  reduce_moments(metrics->per_logit, (size_t)head->logits);
  if (metrics->depth < METRICS_REPRESENTATION) return;
  representation_reduce(&metrics->actor);
  if (critic) representation_reduce(&metrics->critic);
}

/* Returns ||theta - before||. */
static double moved(Ops *ops, const AgentNetwork *network, const float *before) {
  return sqrt(ops->distance_squared(ops, network->theta, before, network->n));
}

static MetricsNetwork describe(const Metrics *metrics, Ops *ops, const AgentNetwork *network,
                               Representation *representation) {
  MetricsNetwork result = {NAN, {NAN, NAN, NAN, NAN, NAN}, {NAN, NAN, NAN}, NAN, NAN};
  if (network->n == 0) return result;
  if (metrics->depth >= METRICS_POLICY) result.weight_norm = sqrt(ops->norm_squared(ops, network->theta, network->n));
  if (metrics->depth < METRICS_REPRESENTATION) return result;
  result.rank = representation_rank(representation);
  result.units = representation_units(representation, REPRESENTATION_TAU);
  result.dormant_strict = representation_units(representation, 0).dormant;
  result.dormant_loose = representation_units(representation, REPRESENTATION_TAU_LOOSE).dormant;
  return result;
}

void metrics_policy_change(Metrics *metrics, Ops *ops, const Agent *agent, const Rollout *rollout, uint64_t seed,
                           int64_t iteration, MetricsPolicyChange *change) {
  Sums sums = {.ratio = log_sum_empty(), .ratio_squared = log_sum_empty()};
  memset(metrics->per_logit, 0, (size_t)rollout->head.logits * sizeof *metrics->per_logit);
  representation_begin(&metrics->actor);
  if (has_critic(agent)) representation_begin(&metrics->critic);

  const Shards *shards = &rollout->shards;
  for (int part = 0; part < (metrics->shard_kl ? shards->shards : 1); part++) {
    sums.kl = metrics->shard_kl ? 0 : sums.kl;
    add_states(metrics, ops, agent, rollout, seed, iteration, part, &sums);
    if (metrics->shard_kl) metrics->shard_kl[part] = sums.kl;
  }

  reduce_sums(metrics, &rollout->head, has_critic(agent), &sums);
  if (metrics->shard_kl) sums.kl = fold_shards(metrics, shards);

  const double n = metrics->states;
  bool policy = metrics->depth >= METRICS_POLICY;
  *change = (MetricsPolicyChange){
    .kl = sums.kl / n, .kl_reverse = sums.kl_reverse / n, .k1 = sums.k1 / n, .k2 = sums.k2 / n, .k3 = sums.k3 / n,
    .update_norm_actor = moved(ops, &agent->actor, metrics->actor_before),
    .update_norm_critic = has_critic(agent) ? moved(ops, &agent->critic, metrics->critic_before) : NAN,
    .ess_percent = policy ? 100 * estimators_ess(&sums.ratio, &sums.ratio_squared) / n : NAN,
    .policy_variance = policy ? representation_policy_variance(&rollout->head, metrics->per_logit) : NAN,
    .actor = describe(metrics, ops, &agent->actor, &metrics->actor),
    .critic = describe(metrics, ops, &agent->critic, &metrics->critic),
  };
}

/* Returns the parameters of layer number `layer` of a network, from 1: a convolution's kernel and bias, or a complete
 * dense layer. */
static size_t layer_parameters(const AgentNetwork *network, const Encoder *encoder, int convolutions, int layer,
                               size_t *first) {
  const NetworkShape *shape = &network->shape;
  const int dense = layer - convolutions;
  if (dense < 1) {
    EncoderLayer of[ENCODER_LAYERS_MAX];
    encoder_layers(encoder, 0, 1, of);
    const EncoderTensor *kernel = &encoder->shape.tensor[of[layer - 1].tensor];
    *first = network->encoder + kernel->offset;
    return (size_t)(kernel->rows + 1) * (size_t)kernel->columns;
  }
  *first = network_kernel(shape, dense - 1);
  return (dense < shape->layers ? network_kernel(shape, dense) : network_parameters(shape)) - *first;
}

int metrics_layers(const Metrics *metrics, const Agent *agent, bool critic) {
  const AgentNetwork *network = critic ? &agent->critic : &agent->actor;
  return network->n == 0 ? 0 : (critic ? &metrics->critic : &metrics->actor)->convolutions + network->shape.layers;
}

StoreLayer metrics_layer(const Metrics *metrics, Ops *ops, const Agent *agent, bool critic, int layer,
                         int64_t iteration) {
  const AgentNetwork *network = critic ? &agent->critic : &agent->actor;
  const Representation *representation = critic ? &metrics->critic : &metrics->actor;
  size_t first;
  const size_t n = layer_parameters(network, &agent->encoder, representation->convolutions, layer, &first);
  StoreLayer row = store_layer_unmeasured(iteration, network->name, layer);
  row.weight_norm = sqrt(ops->norm_squared(ops, network->theta + first, n));
  if (layer > representation->layers) return row;
  const RepresentationUnits units = representation_layer_units(representation, layer, REPRESENTATION_TAU);
  row.dormant = units.dormant;
  row.inactive = units.inactive;
  row.dead = units.dead;
  row.dormant_strict = representation_layer_units(representation, layer, 0).dormant;
  row.dormant_loose = representation_layer_units(representation, layer, REPRESENTATION_TAU_LOOSE).dormant;
  return row;
}
