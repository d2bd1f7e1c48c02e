/* The samples of a SAPG iteration (sapg.h): which, with what values, returns and advantages, in what order (spec 7.2).
 * It runs networks and changes no weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "trainer/estimators.h"
#include "trainer/learners/sapg.h"
#include "trainer/minibatch.h"
#include "trainer/normalise.h"
#include "trainer/reduce.h"

/* Off-policy samples that this rank may have: no world is drawn twice. */
static size_t most_off_policy(const SapgLayout *layout, const Shards *shards) {
  const size_t own = (size_t)layout->steps * (size_t)shards->worlds;
  const size_t all = (size_t)layout->drawn * sapg_off_policy(layout);
  return own < all ? own : all;
}

static size_t own_on_policy(const SapgData *data) {
  return (size_t)data->layout.steps * (size_t)data->shards.worlds;
}

static size_t own_off_policy(const SapgData *data) { return (size_t)data->layout.steps * (size_t)data->columns; }

static void register_batch(SapgData *data, const CoreConfig *config, const Agent *agent, const Rollout *rollout,
                           int rows, CoreArena *arena) {
  const size_t room = (size_t)data->room, logits = (size_t)agent->head.logits;
  CORE_ARENA(arena, data->own, (size_t)rows, "minibatch samples of this rank [rows]");
  CORE_ARENA(arena, data->shard_rows, (size_t)data->shards.shards, "minibatch samples of shards [shards]");
  CORE_ARENA(arena, data->observations, room * (size_t)rollout->features, "minibatch observations [rows][features]");
  CORE_ARENA(arena, data->sample, room, "minibatch samples [rows]");
  CORE_ARENA(arena, data->index, room, "minibatch rows [rows]");
  CORE_ARENA(arena, data->actions, room * rollout->action_bytes, "minibatch actions [rows][bytes]");
  CORE_ARENA(arena, data->batch_logp, room, "minibatch log-probabilities [rows]");
  CORE_ARENA(arena, data->batch_advantages, room, "minibatch advantages [rows]");
  CORE_ARENA(arena, data->batch_values, room, "minibatch values [rows]");
  CORE_ARENA(arena, data->batch_returns, room, "minibatch returns [rows]");
  if (strcmp(config->sapg.clip, "paper") != 0) return;
  CORE_ARENA(arena, data->policy, room * logits, "the learning block's policy [rows][logits]");
  CORE_ARENA(arena, data->batch_own, room, "minibatch log-probabilities of the learning block [rows]");
}

void sapg_data_register(SapgData *data, const CoreConfig *config, const Agent *agent, const Rollout *rollout, int rows,
                        CoreArena *arena) {
  const Shards *shards = &rollout->shards;
  const SapgLayout layout = {.worlds = shards->all_worlds, .steps = rollout->steps, .blocks = (int)config->sapg.blocks,
                             .drawn = (int)config->sapg.off_policy_ratio,
                             .sequence = (int)config->sapg.sequence_length};
  *data = (SapgData){.layout = layout, .shards = *shards, .room = rows};
  /* No more than the activations hold, and a number that does not follow from the ranks where the shards do not. */
  if (shards->all_shards > 1 && minibatch_room(config, shards) < rows) data->room = minibatch_room(config, shards);
  const size_t worlds = (size_t)shards->worlds, off_policy = most_off_policy(&layout, shards);
  const size_t samples = own_on_policy(data) + off_policy, all = sapg_samples(&layout);
  CORE_ARENA(arena, data->follower, (size_t)layout.blocks, "drawn followers [blocks]");
  CORE_ARENA(arena, data->order, all, "order of samples [samples]");
  CORE_ARENA(arena, data->sequences, all / (size_t)layout.sequence, "order of sequences [sequences]");
  CORE_ARENA(arena, data->column_of_world, worlds, "columns of worlds [worlds]");
  CORE_ARENA(arena, data->world_of_column, worlds, "worlds of columns [columns]");
  CORE_ARENA(arena, data->shard_end, (size_t)shards->shards, "columns of shards [shards]");
  CORE_ARENA(arena, data->rewards, off_policy, "followers' rewards [steps][columns]");
  CORE_ARENA(arena, data->dones, off_policy, "followers' dones [steps][columns]");
  CORE_ARENA(arena, data->values, samples + worlds, "values [samples]");
  CORE_ARENA(arena, data->returns, samples, "returns [samples]");
  CORE_ARENA(arena, data->advantages, samples, "advantages [samples]");
  CORE_ARENA(arena, data->logp, samples, "log-probabilities [samples]");
  CORE_ARENA(arena, data->logits, samples * (size_t)agent->head.logits, "last policy [samples][logits]");
  if (shards->shards > 1)
    CORE_ARENA(arena, data->scratch, 2 * (size_t)layout.steps * (size_t)shards_worlds(shards),
               "samples of a shard [2][samples]");
  if (strcmp(config->sapg.clip, "paper") == 0)
    CORE_ARENA(arena, data->logp_own, samples, "the learning block's log-probabilities [samples]");
  register_batch(data, config, agent, rollout, rows, arena);
}

/* ---- which samples ---------------------------------------------------------------------------------------------- */

int64_t sapg_data_own(const SapgData *data, uint32_t sample) {
  const SapgLayout *layout = &data->layout;
  const uint32_t on_policy = (uint32_t)sapg_on_policy(layout), block = (uint32_t)sapg_block_worlds(layout);
  if (sample < on_policy) return shards_row(&data->shards, sample);
  const uint32_t each = (uint32_t)sapg_off_policy(layout), at = (sample - on_policy) % each;
  const uint32_t world =
    data->follower[(sample - on_policy) / each] * block + at % block - (uint32_t)data->shards.first_world;
  if (world >= (uint32_t)data->shards.worlds) return -1;
  return (int64_t)own_on_policy(data) + (int64_t)(at / block) * data->columns + data->column_of_world[world];
}

/* The row of this rank's rollout that one of its samples is; *leader: whether another block's transition is learnt from. */
static uint32_t row_of(const SapgData *data, uint32_t own, bool *leader) {
  const uint32_t on_policy = (uint32_t)own_on_policy(data), columns = (uint32_t)data->columns;
  *leader = own >= on_policy;
  if (!*leader) return own;
  const uint32_t at = own - on_policy;
  return at / columns * (uint32_t)data->shards.worlds + data->world_of_column[at % columns];
}

static int shard_of(const SapgData *data, uint32_t own) {
  bool leader;
  return (int)(row_of(data, own, &leader) % (uint32_t)data->shards.worlds) / shards_worlds(&data->shards);
}

/* The sample of a step of a sequence, which are numbered world after world. */
static uint32_t sample_of_sequence(const SapgLayout *layout, uint32_t sequence, uint32_t step) {
  const uint32_t each_world = (uint32_t)(layout->steps / layout->sequence);
  const uint32_t block = (uint32_t)sapg_block_worlds(layout), worlds = (uint32_t)layout->worlds;
  uint32_t world = sequence / each_world, t = sequence % each_world * (uint32_t)layout->sequence + step;
  if (world < worlds) return t * worlds + world;
  world -= worlds; /* those of the drawn followers come after all worlds */
  const uint32_t drawn = world / block, each = (uint32_t)sapg_off_policy(layout);
  return (uint32_t)sapg_on_policy(layout) + drawn * each + t * block + world % block;
}

void sapg_order(const SapgLayout *layout, const uint32_t *sequences, uint32_t *order) {
  const size_t length = (size_t)layout->sequence, count = sapg_samples(layout) / length;
  for (size_t s = 0; s < count; s++)
    for (size_t i = 0; i < length; i++) order[s * length + i] = sample_of_sequence(layout, sequences[s], (uint32_t)i);
}

/* This rank's worlds of the drawn followers. */
static void find_columns(SapgData *data) {
  const int block = sapg_block_worlds(&data->layout), each = shards_worlds(&data->shards);
  data->columns = 0;
  for (int w = 0; w < data->shards.worlds; w++) {
    bool drawn = false;
    for (int d = 0; d < data->layout.drawn; d++)
      drawn |= data->follower[d] == (uint32_t)((data->shards.first_world + w) / block);
    data->column_of_world[w] = drawn ? data->columns : -1;
    if (drawn) data->world_of_column[data->columns++] = (uint32_t)w;
    data->shard_end[w / each] = data->columns;
  }
}

static void draw(SapgData *data, uint64_t seed, int64_t iteration) {
  const SapgLayout *layout = &data->layout;
  core_random_permutation(seed, CORE_RANDOM_FOLLOWERS, (uint32_t)iteration, 0, data->follower,
                          (uint32_t)layout->blocks - 1);
  core_random_permutation(seed, CORE_RANDOM_SHUFFLE, (uint32_t)iteration, 0, data->sequences,
                          (uint32_t)(sapg_samples(layout) / (size_t)layout->sequence));
  sapg_order(layout, data->sequences, data->order);
  find_columns(data);
}

/* ---- gathering -------------------------------------------------------------------------------------------------- */

/* Lets the leader see the transition that stands in a row. */
static void lead(SapgData *data, const Rollout *rollout, int row) {
  data->observations[(size_t)(row + 1) * (size_t)rollout->features - 1] = (float)(data->layout.blocks - 1);
}

/* In the minibatch's order, sorted by shard: counted first, then put in their places. */
void sapg_data_select(SapgData *data, size_t first, int rows) {
  const uint32_t *order = data->order + first;
  const int shards = data->shards.shards;
  data->taken = data->taken_of_shard = data->shard = 0;
  memset(data->shard_rows, 0, (size_t)shards * sizeof *data->shard_rows);
  for (int pass = 0; pass < 2; pass++) {
    for (int s = 0, place = 0; s < shards && pass == 1; s++) { /* counts become places */
      const int count = data->shard_rows[s];
      data->shard_rows[s] = place;
      place += count;
    }
    for (int i = 0; i < rows; i++) {
      const int64_t own = sapg_data_own(data, order[i]);
      if (own < 0) continue;
      int *place = &data->shard_rows[shard_of(data, (uint32_t)own)];
      if (pass == 1) data->own[*place] = (uint32_t)own;
      ++*place;
    }
  }
  for (int s = shards - 1; s > 0; s--) data->shard_rows[s] -= data->shard_rows[s - 1]; /* and back */
}

/* Moves to the next piece; false: there is none. */
static bool next_piece(SapgData *data) {
  while (data->taken_of_shard == data->shard_rows[data->shard]) {
    if (data->shard + 1 == data->shards.shards) return false;
    data->shard++;
    data->taken_of_shard = 0;
  }
  const int left = data->shard_rows[data->shard] - data->taken_of_shard;
  data->rows = left < data->room ? left : data->room;
  memcpy(data->sample, data->own + data->taken, (size_t)data->rows * sizeof *data->sample);
  data->taken += data->rows;
  data->taken_of_shard += data->rows;
  return true;
}

bool sapg_data_next(SapgData *data, Ops *ops, const Rollout *rollout) {
  bool leader;
  if (!next_piece(data)) return false;
  const int rows = data->rows;
  for (int r = 0; r < rows; r++) data->index[r] = row_of(data, data->sample[r], &leader);
  rollout_gather_observations(rollout, ops, data->index, rows, data->observations);
  rollout_gather_actions(rollout, ops, data->index, rows, data->actions);
  for (int r = 0; r < rows; r++) {
    row_of(data, data->sample[r], &leader);
    if (leader) lead(data, rollout, r);
  }
  ops->gather_rows(ops, data->logp, data->sample, data->batch_logp, rows, 1);
  ops->gather_rows(ops, data->advantages, data->sample, data->batch_advantages, rows, 1);
  ops->gather_rows(ops, data->values, data->sample, data->batch_values, rows, 1);
  ops->gather_rows(ops, data->returns, data->sample, data->batch_returns, rows, 1);
  if (data->logp_own) ops->gather_rows(ops, data->logp_own, data->sample, data->batch_own, rows, 1);
  return true;
}

/* ---- moments ---------------------------------------------------------------------------------------------------- */

/* One shard's samples of x, packed where there are others. */
static const float *pack(SapgData *data, int s, const float *x, size_t *n) {
  const size_t worlds = (size_t)data->shards.worlds, each = (size_t)shards_worlds(&data->shards);
  const size_t columns = (size_t)data->columns, from = s > 0 ? (size_t)data->shard_end[s - 1] : 0;
  const size_t drawn = (size_t)data->shard_end[s] - from, steps = (size_t)data->layout.steps;
  const float *off = x + own_on_policy(data);
  float *to = data->scratch;
  *n = steps * (each + drawn);
  if (data->shards.shards == 1) return x;
  for (size_t t = 0; t < steps; t++, to += each)
    memcpy(to, x + t * worlds + (size_t)s * each, each * sizeof *x);
  for (size_t t = 0; t < steps; t++, to += drawn) memcpy(to, off + t * columns + from, drawn * sizeof *x);
  return data->scratch;
}

/* Of x over the samples of all ranks: a record a shard, folded in their order. */
static void measure(SapgData *data, Ops *ops, const float *x, Moments *moments) {
  Moments *records = core_memory_zero_allocate((size_t)data->shards.shards, sizeof *records);
  for (int s = 0; s < data->shards.shards; s++) {
    size_t n;
    const float *packed = pack(data, s, x, &n);
    ops->moments(ops, packed, NULL, n, &records[s]);
  }
  reduce_shard_moments(&data->shards, records, moments);
  free(records);
}

/* ---- values and returns ----------------------------------------------------------------------------------------- */

/* The critic speaks in units of the running mean and deviation, and of at most 5 of the latter (rl_games). */
static void denormalise(float *values, size_t n, const double *moments) {
  if (moments == NULL) return;
  const double deviation = 1 / normalise_factor(NORMALISE_RL_GAMES, moments[0], moments[2]);
  for (size_t i = 0; i < n; i++) values[i] = (float)(fmin(fmax((double)values[i], -5), 5) * deviation + moments[1]);
}

/* Counts x of all ranks' samples, then puts this rank's into those units. */
static void normalise(SapgData *data, Ops *ops, float *x, double *moments) {
  if (moments == NULL) return;
  const size_t n = own_on_policy(data) + own_off_policy(data);
  Moments running = {.n = moments[0], .mean = moments[1], .m2 = moments[2]}, now;
  measure(data, ops, x, &now);
  moments_merge(&running, &now);
  moments[0] = running.n, moments[1] = running.mean, moments[2] = running.m2;
  const double factor = normalise_factor(NORMALISE_RL_GAMES, moments[0], moments[2]);
  for (size_t i = 0; i < n; i++) x[i] = (float)fmin(fmax(((double)x[i] - moments[1]) * factor, -5), 5);
}

/* N*K samples: generalised advantage estimation with each block's own values. values has K+1 rows of worlds. */
static void collect_on_policy(SapgData *data, Ops *ops, const CoreConfig *config, const Rollout *rollout,
                              const double *moments) {
  const size_t n = own_on_policy(data), worlds = (size_t)data->shards.worlds;
  const AdvantageRule rule = {.gamma = config->ppo.gamma, .lambda = config->ppo.gae_lambda,
                              .reward_scale = config->ppo.reward_scale};
  memcpy(data->values, rollout->values, (n + worlds) * sizeof *data->values);
  denormalise(data->values, n + worlds, moments);
  advantage_estimate(ops, rule, rollout->rewards, data->values, rollout->dones, NULL, NULL, data->layout.steps,
                     data->shards.worlds, data->advantages, data->returns);
  memcpy(data->logp, rollout->logp, n * sizeof *data->logp);
}

/* The leader's values in `rows` of the K+1 states that columns from .. end - 1 went through, the first of which is number
 * `first` of them, and for the clip around its own ratio its log-probabilities of the followers' actions. */
static void value_piece(SapgData *data, Ops *ops, const Agent *agent, const Rollout *rollout, int from, int end, int first,
                        int rows) {
  const int columns = end - from, all = data->columns;
  float *values = data->values + own_on_policy(data);
  for (int r = 0; r < rows; r++)
    data->index[r] = (uint32_t)((first + r) / columns) * (uint32_t)data->shards.worlds +
                     data->world_of_column[from + (first + r) % columns];
  rollout_gather_observations(rollout, ops, data->index, rows, data->observations);
  for (int r = 0; r < rows; r++) lead(data, rollout, r);
  agent_values(agent, ops, data->observations, rows, data->batch_values);
  for (int r = 0; r < rows; r++)
    values[(size_t)((first + r) / columns) * (size_t)all + (size_t)(from + (first + r) % columns)] = data->batch_values[r];
  const int left = data->layout.steps * columns - first, acted = left < rows ? left : rows; /* not from the last states */
  if (data->logp_own == NULL || acted <= 0) return;
  float *logp = data->logp_own + own_on_policy(data);
  rollout_gather_actions(rollout, ops, data->index, acted, data->actions);
  agent_policy(agent, ops, agent->actor.theta, data->observations, acted, data->policy);
  ops->policy_logp(ops, &agent->head, data->policy, data->actions, data->batch_own, acted);
  for (int r = 0; r < acted; r++)
    logp[(size_t)((first + r) / columns) * (size_t)all + (size_t)(from + (first + r) % columns)] = data->batch_own[r];
}

/* Shard after shard: what one goes through must not depend on its neighbours. */
static void value_as_leader(SapgData *data, Ops *ops, const Agent *agent, const Rollout *rollout) {
  for (int s = 0, from = 0; s < data->shards.shards; from = data->shard_end[s++]) {
    const int end = data->shard_end[s], all = (data->layout.steps + 1) * (end - from);
    for (int first = 0; first < all; first += data->room)
      value_piece(data, ops, agent, rollout, from, end, first, all - first < data->room ? all - first : data->room);
  }
}

/* The drawn followers' samples: one-step returns r + gamma V(s') are advantages of lambda 0. */
static void collect_off_policy(SapgData *data, Ops *ops, const CoreConfig *config, const Agent *agent,
                               const Rollout *rollout, const double *moments) {
  const AdvantageRule rule = {.gamma = config->ppo.gamma, .lambda = 0, .reward_scale = config->ppo.reward_scale};
  const size_t base = own_on_policy(data), n = own_off_policy(data);
  float *values = data->values + base;
  bool leader;
  if (n == 0) return;
  value_as_leader(data, ops, agent, rollout);
  denormalise(values, n + (size_t)data->columns, moments);
  for (size_t i = 0; i < n; i++) {
    const size_t from = row_of(data, (uint32_t)(base + i), &leader);
    data->rewards[i] = rollout->rewards[from];
    data->dones[i] = rollout->dones[from];
    data->logp[base + i] = rollout->logp[from];
  }
  advantage_estimate(ops, rule, data->rewards, values, data->dones, NULL, NULL, data->layout.steps, data->columns,
                     data->advantages + base, data->returns + base);
}

/* The policies that acted: the KL is first taken to them. */
static void collect_logits(SapgData *data, const Rollout *rollout) {
  const size_t columns = (size_t)rollout->head.logits, base = own_on_policy(data), n = own_off_policy(data);
  bool leader;
  memcpy(data->logits, rollout->logits, base * columns * sizeof *data->logits);
  for (size_t i = base; i < base + n; i++)
    memcpy(data->logits + i * columns, rollout->logits + (size_t)row_of(data, (uint32_t)i, &leader) * columns,
           columns * sizeof *data->logits);
}

static void report(Ops *ops, SapgData *data, const Moments *advantage, LearnerUpdate *update) {
  const int steps = data->layout.steps;
  Moments target, residual;
  reduce_rollout_moments(ops, &data->shards, data->returns, NULL, steps, data->scratch, &target);
  reduce_rollout_moments(ops, &data->shards, data->returns, data->values, steps, data->scratch, &residual);
  update->advantage_mean = advantage->mean;
  update->advantage_sd = sqrt(moments_variance(advantage));
  update->explained_variance = estimators_explained_variance(&target, &residual);
}

void sapg_data_collect(SapgData *data, Ops *ops, const CoreConfig *config, const Agent *agent, const Rollout *rollout,
                       int64_t iteration, double *value_moments, LearnerUpdate *update) {
  Moments advantage;
  draw(data, (uint64_t)config->train.seed, iteration);
  const size_t on_policy = own_on_policy(data), samples = on_policy + own_off_policy(data);
  collect_on_policy(data, ops, config, rollout, value_moments);
  collect_off_policy(data, ops, config, agent, rollout, value_moments);
  if (data->logp_own) memcpy(data->logp_own, rollout->logp, on_policy * sizeof *data->logp_own);
  collect_logits(data, rollout);
  measure(data, ops, data->advantages, &advantage);
  advantage_standardise_by(ops, ADVANTAGE_CLEANRL_MINIBATCH, &advantage, data->advantages, samples);
  report(ops, data, &advantage, update);
  normalise(data, ops, data->values, value_moments);
  normalise(data, ops, data->returns, value_moments);
}
