/* Samples of a SAPG iteration (sapg.h): their values, returns, advantages and order (docs/algorithms.md#sapg).
 * Runs networks and changes no weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "trainer/learners/sapg.h"
#include "trainer/math/estimators.h"
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_rows.h"
#include "trainer/ops/update.h"
#include "trainer/update/minibatch_device.h"
#include "trainer/update/reduce.h"

/* Returns this rank's part in the form that the kernels take. */
static SapgShare make_share(const SapgData *data) {
  return (SapgShare){.layout = data->layout, .first_world = (uint32_t)data->shards.first_world,
                     .worlds = (uint32_t)data->shards.worlds, .shard_worlds = (uint32_t)shards_worlds(&data->shards),
                     .columns = (uint32_t)data->columns, .follower = data->follower, .column = data->column};
}

/* Returns the maximum number of off-policy samples of this rank: no environment is sampled twice. */
static size_t max_off_policy(const SapgLayout *layout, const Shards *shards) {
  const size_t local_rows = (size_t)layout->steps * (size_t)shards->worlds;
  const size_t off_policy_rows = (size_t)layout->drawn * sapg_off_policy(layout);
  return local_rows < off_policy_rows ? local_rows : off_policy_rows;
}

static size_t local_on_policy(const SapgData *data) {
  return (size_t)data->layout.steps * (size_t)data->shards.worlds;
}

static size_t local_off_policy(const SapgData *data) { return (size_t)data->layout.steps * (size_t)data->columns; }

SapgMinibatches sapg_minibatches(const CoreConfig *config) {
  const int64_t on_policy = core_config_transitions_per_iteration(config);
  const int64_t samples = on_policy + on_policy / config->sapg.blocks * config->sapg.off_policy_ratio;
  const int64_t rows = on_policy / config->ppo.num_minibatches, count = samples / rows;
  return (SapgMinibatches){.count = (int)count, .rows = (int)rows, .last_rows = (int)(samples - (count - 1) * rows)};
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static OpsChooseRows make_choice(const SapgData *data) {
  const SapgShare share = make_share(data);
  const Shards *shards = &data->shards;
  return (OpsChooseRows){
    .order = data->sequences, .of = OPS_SEQUENCES, .share = share, .part_rows = (uint32_t)data->minibatches.rows,
    .last_rows = (uint32_t)data->minibatches.last_rows, .parts = (uint32_t)data->minibatches.count,
    .steps = (uint32_t)data->layout.steps, .global_worlds = (uint32_t)shards->global_worlds,
    .first_world = share.first_world, .worlds = share.worlds, .shard_worlds = share.shard_worlds,
    .shards = (uint32_t)shards->shards, .count = data->chunk_rows, .total = data->part_begins, .rows = data->own};
}

/* Registers the assignment of samples to minibatches. */
static void register_order(SapgData *data, size_t samples, CoreArena *arena) {
  const size_t parts = (size_t)data->minibatches.count, shards = (size_t)data->shards.shards;
  const size_t sequences = sapg_samples(&data->layout) / (size_t)data->layout.sequence;
  const OpsChooseRows choice = make_choice(data);

  CORE_ARENA(arena, data->drawn, (size_t)data->layout.blocks, "drawn followers [blocks]");
  CORE_ARENA_DEVICE(arena, data->follower, (size_t)data->layout.drawn, "drawn followers [followers]");
  CORE_ARENA_DEVICE(arena, data->column, (size_t)data->layout.drawn, "columns of followers [followers]");
  CORE_ARENA(arena, data->shard_end, shards, "columns of shards [shards]");
  CORE_ARENA_DEVICE(arena, data->sequences, sequences, "order of sequences [sequences]");
  CORE_ARENA_DEVICE(arena, data->own, samples, "order of samples [samples]");
  CORE_ARENA(arena, data->part_rows, parts * shards, "minibatch samples of shards [minibatches][shards]");

  if (data->device == NULL) return;
  CORE_ARENA_DEVICE(arena, data->lists, 2 * sequences, "lists of a permutation");
  CORE_ARENA_DEVICE(arena, data->chunk_rows, parts * ops_chunks(&choice) * shards,
                    "samples of chunks [chunks][shards]");
  CORE_ARENA_DEVICE(arena, data->part_begins, parts * shards + 1,
                    "where samples of shards begin [minibatches][shards]");
}

static void register_batch(SapgData *data, const CoreConfig *config, const Agent *agent, const Rollout *rollout,
                           CoreArena *arena) {
  const size_t capacity = (size_t)data->capacity, logits = (size_t)agent->head.logits;

  CORE_ARENA_DEVICE(arena, data->observations, capacity * (size_t)rollout->features,
                    "minibatch observations [rows][features]");
  CORE_ARENA_DEVICE(arena, data->sample, capacity, "minibatch samples [rows]");
  sequences_register(&data->memory, &rollout->states, data->capacity, arena);
  if (data->device && states_apply(&rollout->states))
    CORE_ARENA_DEVICE(arena, data->unordered_rows, capacity, "minibatch samples, one sequence after the other [rows]");
  CORE_ARENA_DEVICE(arena, data->index, capacity, "minibatch rows [rows]");
  CORE_ARENA_DEVICE(arena, data->actions, capacity * rollout->action_bytes, "minibatch actions [rows][bytes]");
  CORE_ARENA_DEVICE(arena, data->batch_logp, capacity, "minibatch log-probabilities [rows]");
  CORE_ARENA_DEVICE(arena, data->batch_advantages, capacity, "minibatch advantages [rows]");
  CORE_ARENA_DEVICE(arena, data->batch_values, capacity, "minibatch values [rows]");
  CORE_ARENA_DEVICE(arena, data->batch_returns, capacity, "minibatch returns [rows]");

  if (strcmp(config->sapg.clip, "paper") != 0) return;
  CORE_ARENA_DEVICE(arena, data->policy, capacity * logits, "minibatch policy of the learning block [rows][logits]");
  CORE_ARENA_DEVICE(arena, data->batch_own, capacity, "minibatch log-probabilities of the learning block [rows]");
}

void sapg_data_register(SapgData *data, const CoreConfig *config, const Agent *agent, const Rollout *rollout,
                        CoreArena *arena) {
  const Shards *shards = &rollout->shards;
  const SapgLayout layout = {.worlds = shards->global_worlds, .steps = rollout->steps,
                             .blocks = (int)config->sapg.blocks,
                             .drawn = (int)config->sapg.off_policy_ratio,
                             .sequence = (int)config->sapg.sequence_length};
  *data = (SapgData){.device = core_arena_device(arena), .layout = layout, .shards = *shards,
                     .minibatches = sapg_minibatches(config)};
  data->capacity = data->minibatches.last_rows;
  /* No more than the activations hold; independent of the number of ranks where the shards are. */
  if (shards->global_shards > 1 && minibatch_capacity(config, shards, true) < data->capacity)
    data->capacity = minibatch_capacity(config, shards, true);

  const size_t worlds = (size_t)shards->worlds, off_policy = max_off_policy(&layout, shards);
  const size_t samples = local_on_policy(data) + off_policy;
  register_order(data, samples, arena);
  CORE_ARENA_DEVICE(arena, data->rewards, off_policy, "followers' rewards [steps][columns]");
  CORE_ARENA_DEVICE(arena, data->dones, off_policy, "followers' dones [steps][columns]");

  if (limits_bootstrap(config)) {
    CORE_ARENA_DEVICE(arena, data->truncated, off_policy, "followers' cuts by the time limit [steps][columns]");
    CORE_ARENA_DEVICE(arena, data->last_values, samples, "values of last observations [samples]");
  }

  CORE_ARENA_DEVICE(arena, data->values, samples + worlds, "values [samples]");
  CORE_ARENA_DEVICE(arena, data->returns, samples, "returns [samples]");
  CORE_ARENA_DEVICE(arena, data->advantages, samples, "advantages [samples]");
  CORE_ARENA_DEVICE(arena, data->logp, samples, "log-probabilities [samples]");
  CORE_ARENA_DEVICE(arena, data->logits, samples * (size_t)agent->head.logits, "last policy [samples][logits]");
  if (shards->shards > 1)
    CORE_ARENA_DEVICE(arena, data->scratch, 2 * (size_t)layout.steps * (size_t)shards_worlds(shards),
                      "samples of a shard [2][samples]");
  if (strcmp(config->sapg.clip, "paper") == 0)
    CORE_ARENA_DEVICE(arena, data->logp_own, samples, "the learning block's log-probabilities [samples]");

  register_batch(data, config, agent, rollout, arena);
}

/* ---- assignment to minibatches ----------------------------------------------------------------------------------- */

/* Finds this rank's environments of the sampled followers. */
static void find_columns(SapgData *data) {
  enum { FOLLOWERS_MAX = 63 };
  const SapgShare share = make_share(data);
  const int drawn = data->layout.drawn;
  uint32_t column[FOLLOWERS_MAX] = {0};
  CORE_CHECK(drawn <= FOLLOWERS_MAX);

  for (int d = 0; d < drawn; d++)
    for (int before = 0; before < drawn; before++)
      if (data->drawn[before] < data->drawn[d])
        column[d] += sapg_local_worlds(&share, data->drawn[before], share.worlds).count;

  for (uint32_t s = 0; s < (uint32_t)data->shards.shards; s++) {
    uint32_t end = 0;
    for (int d = 0; d < drawn; d++) end += sapg_local_worlds(&share, data->drawn[d],
                                                             (s + 1) * share.shard_worlds).count;
    data->shard_end[s] = (int)end;
  }

  data->columns = data->shard_end[data->shards.shards - 1];
  core_device_to_device(data->device, data->follower, data->drawn, (size_t)drawn * sizeof *data->follower);
  core_device_to_device(data->device, data->column, column, (size_t)drawn * sizeof *column);
}

/* Writes this rank's samples of a minibatch, in its order and sorted by shard: a counting pass, then a scattering
 * pass. */
static void assign_minibatch(const SapgData *data, const OpsChooseRows *choice, int m, uint32_t *rows) {
  const int shards = data->shards.shards;
  uint32_t *part_rows = data->part_rows + (size_t)m * (size_t)shards;
  memset(part_rows, 0, (size_t)shards * sizeof *part_rows);

  for (int pass = 0; pass < 2; pass++) {
    if (pass == 1) { /* counts become offsets */
      for (uint32_t s = 0, position = 0; s < (uint32_t)shards; s++) {
        const uint32_t count = part_rows[s];
        part_rows[s] = position;
        position += count;
      }
    }
    for (uint32_t i = 0; i < (uint32_t)sapg_data_rows(data, m); i++) {
      const OpsChosen chosen = ops_chosen(choice, (size_t)m, i);
      if (!chosen.is_own) continue;
      if (pass == 1) rows[part_rows[chosen.shard]] = chosen.row;
      part_rows[chosen.shard]++;
    }
  }

  for (int s = shards - 1; s > 0; s--) part_rows[s] -= part_rows[s - 1]; /* offsets become counts again */
}

/* Returns the number of this rank's samples in minibatch m. */
static size_t part_samples(const SapgData *data, int m) {
  size_t samples = 0;
  for (int s = 0; s < data->shards.shards; s++) samples += data->part_rows[m * data->shards.shards + s];
  return samples;
}

/* Assigns samples to all minibatches of this iteration; the same in every epoch. */
static void assign_minibatches(SapgData *data) {
  const OpsChooseRows choice = make_choice(data);
  const size_t samples = local_on_policy(data) + local_off_policy(data);
  if (data->device) {
    minibatch_device_list_rows(data->device, &choice, (uint32_t)samples, data->part_rows);
    return;
  }
  uint32_t *rows = data->own;
  for (int m = 0; m < data->minibatches.count; m++) {
    assign_minibatch(data, &choice, m, rows);
    rows += part_samples(data, m);
  }
}

void sapg_data_draw(SapgData *data, Ops *ops, uint64_t seed, int64_t iteration) {
  const SapgLayout *layout = &data->layout;
  core_random_permutation(seed, CORE_RANDOM_FOLLOWERS, (uint32_t)iteration, 0, data->drawn,
                          (uint32_t)layout->blocks - 1);
  ops->permute(ops, seed, CORE_RANDOM_SHUFFLE, (uint32_t)iteration, 0, data->sequences,
               (uint32_t)(sapg_samples(layout) / (size_t)layout->sequence), data->lists);
  find_columns(data);
  assign_minibatches(data);
}

/* ---- gathering --------------------------------------------------------------------------------------------------- */

/* Marks gathered transitions of other blocks as the leader's: off-policy samples, or all rows (sample NULL). */
static void set_leader_block(const SapgData *data, const Rollout *rollout, const uint32_t *sample, int rows) {
  const OpsMarkRows mark = {data->observations, (size_t)rows, (size_t)rollout->features, sample,
                            (uint32_t)local_on_policy(data), (float)(data->layout.blocks - 1)};
  KERNELS_EACH(data->device, ops_mark_rows, ops_mark_row, mark.rows, &mark);
}

void sapg_data_select(SapgData *data, int m) {
  data->part = m;
  data->next_row = 0;
  data->shard_next_row = data->shard = 0;
  for (int before = 0; before < m; before++) data->next_row += part_samples(data, before);
}

/* Advances to the next micro-batch. Returns false when none is left. */
static bool next_microbatch(SapgData *data, const RolloutStates *states) {
  const uint32_t *part_rows = data->part_rows + (size_t)data->part * (size_t)data->shards.shards;
  while (data->shard_next_row == (int)part_rows[data->shard]) {
    if (data->shard + 1 == data->shards.shards) return false;
    data->shard++;
    data->shard_next_row = 0;
  }
  const int left = (int)part_rows[data->shard] - data->shard_next_row;
  data->rows = left < data->capacity ? left : data->capacity;
  const uint32_t *sample = sequences_order(&data->memory, states, data->own + data->next_row, data->rows);
  core_device_copy(data->device, data->sample, sample, (size_t)data->rows * sizeof *data->sample);
  data->next_row += (size_t)data->rows;
  data->shard_next_row += data->rows;
  return true;
}

/* Gathers everything that is stored per sample for the current micro-batch. */
static void gather(SapgData *data, Ops *ops, const Rollout *rollout) {
  const int rows = data->rows;
  const OpsSapgRows of = {make_share(data), data->sample, (size_t)rows, data->index};
  KERNELS_EACH(data->device, ops_sapg_rows, ops_sapg_row, of.n, &of);
  rollout_gather_observations(rollout, ops, data->index, rows, data->observations);
  rollout_gather_actions(rollout, ops, data->index, rows, data->actions);
  set_leader_block(data, rollout, data->sample, rows);
  const OpsField fields[] = {{data->logp, data->batch_logp, sizeof(float)},
                             {data->advantages, data->batch_advantages, sizeof(float)},
                             {data->values, data->batch_values, sizeof(float)},
                             {data->returns, data->batch_returns, sizeof(float)},
                             {data->logp_own, data->batch_own, sizeof(float)}};
  const int count = sizeof fields / sizeof *fields;
  ops->gather_fields(ops, fields, data->logp_own ? count : count - 1, data->sample, rows);
  sequences_gather(&data->memory, &rollout->states, ops, data->index, rows);
}

bool sapg_data_next(SapgData *data, Ops *ops, const Rollout *rollout) {
  if (!next_microbatch(data, &rollout->states)) return false;
  gather(data, ops, rollout);
  return true;
}

/* Gathers a whole minibatch on the device: `rows` samples, of `minibatches` minibatches from `order` on the one that
 * the device's step counter selects. */
static void gather_whole(SapgData *data, Ops *ops, const Rollout *rollout, const uint32_t *order, int minibatches,
                         int rows) {
  uint32_t *unordered = data->unordered_rows ? data->unordered_rows : data->sample;
  CORE_CHECK(data->shards.global_shards == 1);
  data->rows = rows;
  data->shard = 0;
  ops->update->current_rows(ops, order, minibatches, rows, 1, data->shards.worlds, unordered);
  const uint32_t *sample = sequences_order(&data->memory, &rollout->states, unordered, rows);
  if (sample != data->sample) core_device_copy(data->device, data->sample, sample, (size_t)rows * sizeof *sample);
  gather(data, ops, rollout);
}

void sapg_data_gather_minibatch(SapgData *data, Ops *ops, const Rollout *rollout, int m) {
  const uint32_t *rows = data->own + (size_t)m * (size_t)data->minibatches.rows;
  gather_whole(data, ops, rollout, rows, 1, sapg_data_rows(data, m));
}

void sapg_data_gather_current(SapgData *data, Ops *ops, const Rollout *rollout) {
  gather_whole(data, ops, rollout, data->own, data->minibatches.count, data->minibatches.rows);
}

/* ---- moments ----------------------------------------------------------------------------------------------------- */

/* Returns one shard's samples of x, packed if there are other shards. */
static const float *pack(const SapgData *data, int s, const float *x, size_t *n) {
  const size_t worlds = (size_t)data->shards.worlds, each = (size_t)shards_worlds(&data->shards);
  const size_t from = s > 0 ? (size_t)data->shard_end[s - 1] : 0, drawn = (size_t)data->shard_end[s] - from;
  const size_t steps = (size_t)data->layout.steps;
  *n = steps * (each + drawn);
  if (data->shards.shards == 1) return x;
  reduce_pack(data->device, x, steps, worlds, (size_t)s * each, each, data->scratch);
  reduce_pack(data->device, x + local_on_policy(data), steps, (size_t)data->columns, from, drawn,
              data->scratch + steps * each);
  return data->scratch;
}

/* Computes the moments of x over the samples of all ranks: one record per shard, merged in their order. */
static void compute_moments(SapgData *data, Ops *ops, const float *x, Moments *moments) {
  Moments *records = core_memory_zero_allocate((size_t)data->shards.shards, sizeof *records);
  for (int s = 0; s < data->shards.shards; s++) {
    size_t n;
    const float *packed = pack(data, s, x, &n);
    ops->moments(ops, packed, NULL, n, &records[s]);
  }
  reduce_shard_moments(&data->shards, records, moments);
  free(records);
}

/* ---- values and returns ------------------------------------------------------------------------------------------ */

/* Merges x of all ranks' samples into the moments and converts this rank's to the critic's units. */
static void normalize(SapgData *data, Ops *ops, float *x, double *moments) {
  Moments now;
  if (moments == NULL) return;
  compute_moments(data, ops, x, &now);
  value_moments_count(ops, moments, &now, x, local_on_policy(data) + local_off_policy(data));
}

/* Fills the N*K on-policy samples: generalized advantage estimation with each block's own values. values has K+1 rows
 * of environments. */
static void collect_on_policy(SapgData *data, Ops *ops, const CoreConfig *config, const Rollout *rollout,
                              const double *moments) {
  const size_t n = local_on_policy(data), worlds = (size_t)data->shards.worlds;
  const AdvantageRule rule = {.gamma = config->ppo.gamma, .lambda = config->ppo.gae_lambda,
                              .reward_scale = config->ppo.reward_scale};
  core_device_copy(data->device, data->values, rollout->values, (n + worlds) * sizeof *data->values);
  value_moments_restore(ops, moments, data->values, n + worlds);
  if (data->last_values) {
    core_device_copy(data->device, data->last_values, rollout->limits.values, n * sizeof *data->last_values);
    value_moments_restore(ops, moments, data->last_values, n);
  }
  advantage_estimate(ops, rule, rollout->rewards, data->values, rollout->dones, rollout_truncated(rollout),
                     data->last_values, data->layout.steps, data->shards.worlds, data->advantages, data->returns);
  core_device_copy(data->device, data->logp, rollout->logp, n * sizeof *data->logp);
  /* the first epoch's KL compares with the policies that acted */
  core_device_copy(data->device, data->logits, rollout->logits,
                   n * (size_t)rollout->head.logits * sizeof *data->logits);
}

/* Computes the leader's values in a micro-batch of states and, for sapg.clip = paper, its log-probs of the followers'
 * actions there. */
static void value_microbatch(SapgData *data, Ops *ops, const Agent *agent, const Rollout *rollout,
                        const OpsSapgStates *states, const Sequences *sequences) {
  const int rows = (int)states->n;
  const size_t base = local_on_policy(data), acting = (size_t)data->layout.steps * (states->end - states->from);
  OpsSapgScatter scatter = {*states, data->batch_values, data->values + base};

  KERNELS_EACH(data->device, ops_sapg_states, ops_sapg_state, states->n, states);
  rollout_gather_observations(rollout, ops, data->index, rows, data->observations);
  sequences_gather(sequences, &rollout->states, ops, data->index, rows);
  sequences_bind(sequences, agent);
  set_leader_block(data, rollout, NULL, rows);
  agent_values(agent, ops, data->observations, rows, data->batch_values);
  KERNELS_EACH(data->device, ops_sapg_scatter, ops_sapg_scatter_one, scatter.states.n, &scatter);

  if (data->logp_own == NULL || states->first >= acting) return;
  /* The last states have no actions. */
  if (scatter.states.n > acting - states->first) scatter.states.n = acting - states->first;

  const int acted = (int)scatter.states.n;
  rollout_gather_actions(rollout, ops, data->index, acted, data->actions);
  sequences_bind(sequences, agent);
  agent_policy(agent, ops, agent->actor.theta, data->observations, acted, data->policy);
  ops->policy_logp(ops, &agent->head, data->policy, data->actions, data->batch_own, acted);
  scatter.source = data->batch_own;
  scatter.target = data->logp_own + base;
  KERNELS_EACH(data->device, ops_sapg_scatter, ops_sapg_scatter_one, scatter.states.n, &scatter);
}

/* Values the columns states->from .. end - 1 in micro-batches. */
static void value_columns(SapgData *data, Ops *ops, const Agent *agent, const Rollout *rollout, OpsSapgStates *states) {
  const size_t all = ((size_t)data->layout.steps + 1) * (states->end - states->from), capacity = (size_t)data->capacity;
  for (states->first = 0; states->first < all; states->first += capacity) {
    states->n = all - states->first < capacity ? all - states->first : capacity;
    value_microbatch(data, ops, agent, rollout, states, &data->memory);
  }
}

/* Values columns with a recurrent policy: one sequence of some columns at a time, from the followers' states; the last
 * states, one step long, from the states after the rollout. */
static void value_sequences(SapgData *data, Ops *ops, const Agent *agent, const Rollout *rollout,
                            const OpsSapgStates *columns) {
  const size_t length = (size_t)data->layout.sequence, steps = (size_t)data->layout.steps;
  const uint32_t some = (uint32_t)((size_t)data->capacity / length);
  Sequences last = data->memory;
  OpsSapgStates states = *columns;
  last.length = 1;
  for (; states.from < columns->end; states.from = states.end) {
    states.end = columns->end - states.from < some ? columns->end : states.from + some;
    const size_t count = states.end - states.from;
    for (size_t t = 0; t <= steps; t += length) {
      states.first = t * count;
      states.n = t < steps ? length * count : count;
      value_microbatch(data, ops, agent, rollout, &states, t < steps ? &data->memory : &last);
    }
  }
}

/* Values shard after shard, since a micro-batch must not depend on neighboring shards. */
static void value_as_leader(SapgData *data, Ops *ops, const Agent *agent, const Rollout *rollout) {
  OpsSapgStates states = {.share = make_share(data), .index = data->index};
  for (int s = 0; s < data->shards.shards; s++, states.from = states.end) {
    states.end = (uint32_t)data->shard_end[s];
    if (states_apply(&rollout->states)) value_sequences(data, ops, agent, rollout, &states);
    else value_columns(data, ops, agent, rollout, &states);
  }
}

/* Fills the sampled followers' samples: one-step returns r + gamma V(s') are advantages with lambda 0. Where a time
 * limit truncated an episode, s' is the last observation, which the leader valued in the rollout (limits.h). */
static void collect_off_policy(SapgData *data, Ops *ops, const CoreConfig *config, const Agent *agent,
                               const Rollout *rollout, const double *moments) {
  const AdvantageRule rule = {.gamma = config->ppo.gamma, .lambda = 0, .reward_scale = config->ppo.reward_scale};
  const size_t base = local_on_policy(data), n = local_off_policy(data), logits = (size_t)rollout->head.logits;
  float *values = data->values + base, *last = data->last_values ? data->last_values + base : NULL;
  const Limits *limits = &rollout->limits;

  if (n == 0) return;
  value_as_leader(data, ops, agent, rollout);
  value_moments_restore(ops, moments, values, n + (size_t)data->columns);

  const OpsSapgFollowers followers = {
    make_share(data), core_divisor(logits),
    {rollout->rewards, rollout->logp, rollout->logits, rollout->dones, last ? limits->truncated : NULL,
     limits->leader_values},
    {data->rewards, data->logp + base, data->logits + base * logits, data->dones, data->truncated, last}};
  KERNELS_EACH(data->device, ops_sapg_followers, ops_sapg_follower, n * logits, &followers);
  if (last) value_moments_restore(ops, moments, last, n);
  advantage_estimate(ops, rule, data->rewards, values, data->dones, data->truncated, last, data->layout.steps,
                     data->columns, data->advantages + base, data->returns + base);
}

static void report(Ops *ops, SapgData *data, const Moments *advantage, UpdateStats *stats) {
  const int steps = data->layout.steps;
  Moments target, residual;
  reduce_rollout_moments(ops, &data->shards, data->returns, NULL, steps, data->scratch, &target);
  reduce_rollout_moments(ops, &data->shards, data->returns, data->values, steps, data->scratch, &residual);
  stats->advantage_mean = advantage->mean;
  stats->advantage_sd = sqrt(moments_variance(advantage));
  stats->explained_variance = estimators_explained_variance(&target, &residual);
}

void sapg_data_collect(SapgData *data, Ops *ops, const CoreConfig *config, const Agent *agent, const Rollout *rollout,
                       int64_t iteration, double *value_moments, UpdateStats *stats) {
  Moments advantage;
  sapg_data_draw(data, ops, (uint64_t)config->train.seed, iteration);
  const size_t on_policy = local_on_policy(data), samples = on_policy + local_off_policy(data);
  collect_on_policy(data, ops, config, rollout, value_moments);
  collect_off_policy(data, ops, config, agent, rollout, value_moments);
  if (data->logp_own) core_device_copy(data->device, data->logp_own, rollout->logp, on_policy * sizeof *data->logp_own);
  compute_moments(data, ops, data->advantages, &advantage);
  advantage_normalize_by(ops, ADVANTAGE_CLEANRL_MINIBATCH, &advantage, data->advantages, samples);
  report(ops, data, &advantage, stats);
  normalize(data, ops, data->values, value_moments);
  normalize(data, ops, data->returns, value_moments);
}
