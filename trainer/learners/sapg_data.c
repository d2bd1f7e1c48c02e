/* The samples of a SAPG iteration (sapg.h): which, with what values, returns and advantages, in what order (spec 7.2).
 * It runs networks and changes no weights. */
#include <math.h>
#include <string.h>

#include "core/random.h"
#include "trainer/estimators.h"
#include "trainer/learners/sapg.h"
#include "trainer/normalise.h"

void sapg_data_register(SapgData *data, const CoreConfig *config, const Agent *agent, const Rollout *rollout, int rows,
                        CoreArena *arena) {
  const SapgLayout layout = {.worlds = rollout->worlds, .steps = rollout->steps, .blocks = (int)config->sapg.blocks,
                             .drawn = (int)config->sapg.off_policy_ratio,
                             .sequence = (int)config->sapg.sequence_length};
  *data = (SapgData){.layout = layout};
  const size_t samples = sapg_samples(&layout), off_policy = sapg_off_policy(&layout), most = (size_t)rows;
  const size_t logits = (size_t)agent->head.logits;
  CORE_ARENA(arena, data->follower, (size_t)layout.blocks, "drawn followers [blocks]");
  CORE_ARENA(arena, data->order, samples, "order of samples [samples]");
  CORE_ARENA(arena, data->sequences, samples / (size_t)layout.sequence, "order of sequences [sequences]");
  CORE_ARENA(arena, data->rewards, off_policy, "a follower's rewards [steps][worlds]");
  CORE_ARENA(arena, data->dones, off_policy, "a follower's dones [steps][worlds]");
  CORE_ARENA(arena, data->values, samples + (size_t)layout.worlds, "values [samples]");
  CORE_ARENA(arena, data->returns, samples, "returns [samples]");
  CORE_ARENA(arena, data->advantages, samples, "advantages [samples]");
  CORE_ARENA(arena, data->logp, samples, "log-probabilities [samples]");
  CORE_ARENA(arena, data->logits, samples * logits, "last policy [samples][logits]");
  CORE_ARENA(arena, data->observations, most * (size_t)rollout->features, "minibatch observations [rows][features]");
  CORE_ARENA(arena, data->index, most, "minibatch rows [rows]");
  CORE_ARENA(arena, data->actions, most * rollout->action_bytes, "minibatch actions [rows][bytes]");
  CORE_ARENA(arena, data->batch_logp, most, "minibatch log-probabilities [rows]");
  CORE_ARENA(arena, data->batch_advantages, most, "minibatch advantages [rows]");
  CORE_ARENA(arena, data->batch_values, most, "minibatch values [rows]");
  CORE_ARENA(arena, data->batch_returns, most, "minibatch returns [rows]");
  if (strcmp(config->sapg.clip, "paper") != 0) return;
  CORE_ARENA(arena, data->logp_own, samples, "the learning block's log-probabilities [samples]");
  CORE_ARENA(arena, data->policy, most * logits, "the learning block's policy [rows][logits]");
  CORE_ARENA(arena, data->batch_own, most, "minibatch log-probabilities of the learning block [rows]");
}

/* ---- which samples ---------------------------------------------------------------------------------------------- */

/* The rollout's row of a sample; *leader: whether another block's transition is learnt from. */
static uint32_t row_of(const SapgData *data, uint32_t sample, bool *leader) {
  const SapgLayout *layout = &data->layout;
  const uint32_t on_policy = (uint32_t)sapg_on_policy(layout), block = (uint32_t)sapg_block_worlds(layout);
  *leader = sample >= on_policy;
  if (!*leader) return sample;
  const uint32_t each = (uint32_t)sapg_off_policy(layout), at = (sample - on_policy) % each;
  const uint32_t first_world = data->follower[(sample - on_policy) / each] * block;
  return at / block * (uint32_t)layout->worlds + first_world + at % block;
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

static void draw(SapgData *data, uint64_t seed, int64_t iteration) {
  const SapgLayout *layout = &data->layout;
  core_random_permutation(seed, CORE_RANDOM_FOLLOWERS, (uint32_t)iteration, 0, data->follower,
                          (uint32_t)layout->blocks - 1);
  core_random_permutation(seed, CORE_RANDOM_SHUFFLE, (uint32_t)iteration, 0, data->sequences,
                          (uint32_t)(sapg_samples(layout) / (size_t)layout->sequence));
  sapg_order(layout, data->sequences, data->order);
}

/* ---- gathering -------------------------------------------------------------------------------------------------- */

/* Lets the leader see the transition that stands in a row. */
static void lead(SapgData *data, const Rollout *rollout, int row) {
  data->observations[(size_t)(row + 1) * (size_t)rollout->features - 1] = (float)(data->layout.blocks - 1);
}

static void gather_values(const SapgData *data, const float *source, size_t first, int rows, float *target) {
  for (int r = 0; r < rows; r++) target[r] = source[data->order[first + (size_t)r]];
}

void sapg_data_gather(SapgData *data, Ops *ops, const Rollout *rollout, size_t first, int rows) {
  bool leader;
  for (int r = 0; r < rows; r++) data->index[r] = row_of(data, data->order[first + (size_t)r], &leader);
  rollout_gather_observations(rollout, ops, data->index, rows, data->observations);
  rollout_gather_actions(rollout, ops, data->index, rows, data->actions);
  for (int r = 0; r < rows; r++) {
    row_of(data, data->order[first + (size_t)r], &leader);
    if (leader) lead(data, rollout, r);
  }
  gather_values(data, data->logp, first, rows, data->batch_logp);
  gather_values(data, data->advantages, first, rows, data->batch_advantages);
  gather_values(data, data->values, first, rows, data->batch_values);
  gather_values(data, data->returns, first, rows, data->batch_returns);
  if (data->logp_own) gather_values(data, data->logp_own, first, rows, data->batch_own);
}

/* ---- values and returns ----------------------------------------------------------------------------------------- */

/* The critic speaks in units of the running mean and deviation, and of at most 5 of the latter (rl_games). */
static void denormalise(float *values, size_t n, const double *moments) {
  if (moments == NULL) return;
  const double deviation = 1 / normalise_factor(NORMALISE_RL_GAMES, moments[0], moments[2]);
  for (size_t i = 0; i < n; i++) values[i] = (float)(fmin(fmax((double)values[i], -5), 5) * deviation + moments[1]);
}

/* Counts x[n], then puts it into those units. */
static void normalise(float *x, size_t n, double *moments) {
  if (moments == NULL) return;
  moments[0] = normalise_merge(moments[0], &moments[1], &moments[2], 1, x, (int)n);
  const double factor = normalise_factor(NORMALISE_RL_GAMES, moments[0], moments[2]);
  for (size_t i = 0; i < n; i++) x[i] = (float)fmin(fmax(((double)x[i] - moments[1]) * factor, -5), 5);
}

/* N*K samples: generalised advantage estimation with each block's own values. values has K+1 rows of worlds. */
static void collect_on_policy(SapgData *data, Ops *ops, const CoreConfig *config, const Rollout *rollout,
                              const double *moments) {
  const SapgLayout *layout = &data->layout;
  const size_t n = sapg_on_policy(layout);
  const AdvantageRule rule = {.gamma = config->ppo.gamma, .lambda = config->ppo.gae_lambda,
                              .reward_scale = config->ppo.reward_scale};
  memcpy(data->values, rollout->values, (n + (size_t)layout->worlds) * sizeof *data->values);
  denormalise(data->values, n + (size_t)layout->worlds, moments);
  advantage_estimate(ops, rule, rollout->rewards, data->values, rollout->dones, NULL, NULL, layout->steps,
                     layout->worlds, data->advantages, data->returns);
  memcpy(data->logp, rollout->logp, n * sizeof *data->logp);
}

/* The leader's values in the states that the follower's worlds went through, [K + 1][n], and for the clip around its
 * own ratio its log-probabilities of the follower's actions. */
static void value_as_leader(SapgData *data, Ops *ops, const Agent *agent, const Rollout *rollout, uint32_t follower,
                            int rows, float *values, float *logp_own) {
  const uint32_t block = (uint32_t)sapg_block_worlds(&data->layout);
  const uint32_t all = block * (uint32_t)(rollout->steps + 1), worlds = (uint32_t)rollout->worlds;
  const uint32_t actions_end = block * (uint32_t)rollout->steps;
  for (uint32_t first = 0; first < all; first += (uint32_t)rows) {
    const int piece = all - first < (uint32_t)rows ? (int)(all - first) : rows;
    for (int r = 0; r < piece; r++) {
      const uint32_t at = first + (uint32_t)r;
      data->index[r] = at / block * worlds + follower * block + at % block;
    }
    rollout_gather_observations(rollout, ops, data->index, piece, data->observations);
    for (int r = 0; r < piece; r++) lead(data, rollout, r);
    agent_values(agent, ops, data->observations, piece, values + first);
    if (logp_own == NULL || first >= actions_end) continue;
    const int acted = actions_end - first < (uint32_t)piece ? (int)(actions_end - first) : piece;
    rollout_gather_actions(rollout, ops, data->index, acted, data->actions);
    agent_policy(agent, ops, agent->actor.theta, data->observations, acted, data->policy);
    ops->policy_logp(ops, &agent->head, data->policy, data->actions, logp_own + first, acted);
  }
}

/* The d-th drawn follower's samples, from `base`: one-step returns r + gamma V(s') are advantages of lambda 0. */
static void collect_off_policy(SapgData *data, Ops *ops, const CoreConfig *config, const Agent *agent,
                               const Rollout *rollout, int d, int rows, const double *moments) {
  const SapgLayout *layout = &data->layout;
  const size_t each = sapg_off_policy(layout), base = sapg_on_policy(layout) + (size_t)d * each;
  const int block = sapg_block_worlds(layout);
  const AdvantageRule rule = {.gamma = config->ppo.gamma, .lambda = 0, .reward_scale = config->ppo.reward_scale};
  float *values = data->values + base;
  value_as_leader(data, ops, agent, rollout, data->follower[d], rows, values,
                  data->logp_own ? data->logp_own + base : NULL);
  denormalise(values, each + (size_t)block, moments);
  for (int t = 0; t < layout->steps; t++) {
    const size_t from = (size_t)t * (size_t)layout->worlds + (size_t)data->follower[d] * (size_t)block;
    const size_t to = (size_t)t * (size_t)block, n = (size_t)block;
    memcpy(data->rewards + to, rollout->rewards + from, n * sizeof *data->rewards);
    memcpy(data->dones + to, rollout->dones + from, n);
    memcpy(data->logp + base + to, rollout->logp + from, n * sizeof *data->logp);
  }
  advantage_estimate(ops, rule, data->rewards, values, data->dones, NULL, NULL, layout->steps, block,
                     data->advantages + base, data->returns + base);
}

/* The policies that acted, in the order of the samples: the KL is first taken to them. */
static void collect_logits(SapgData *data, const Rollout *rollout) {
  const size_t columns = (size_t)rollout->head.logits, samples = sapg_samples(&data->layout);
  bool leader;
  for (size_t i = 0; i < samples; i++)
    memcpy(data->logits + i * columns, rollout->logits + (size_t)row_of(data, data->order[i], &leader) * columns,
           columns * sizeof *data->logits);
}

static void report(Ops *ops, const SapgData *data, const Moments *advantage, LearnerUpdate *update) {
  const size_t on_policy = sapg_on_policy(&data->layout);
  Moments target, residual;
  ops->moments(ops, data->returns, NULL, on_policy, &target);
  ops->moments(ops, data->returns, data->values, on_policy, &residual);
  update->advantage_mean = advantage->mean;
  update->advantage_sd = sqrt(moments_variance(advantage));
  update->explained_variance = estimators_explained_variance(&target, &residual);
}

void sapg_data_collect(SapgData *data, Ops *ops, const CoreConfig *config, const Agent *agent, const Rollout *rollout,
                       int64_t iteration, int rows, double *value_moments, LearnerUpdate *update) {
  const size_t samples = sapg_samples(&data->layout);
  Moments advantage;
  draw(data, (uint64_t)config->train.seed, iteration);
  collect_on_policy(data, ops, config, rollout, value_moments);
  for (int d = 0; d < data->layout.drawn; d++)
    collect_off_policy(data, ops, config, agent, rollout, d, rows, value_moments);
  if (data->logp_own) memcpy(data->logp_own, rollout->logp, sapg_on_policy(&data->layout) * sizeof *data->logp_own);
  collect_logits(data, rollout);
  advantage_standardise(ops, ADVANTAGE_CLEANRL_MINIBATCH, data->advantages, samples, &advantage);
  report(ops, data, &advantage, update);
  normalise(data->values, samples, value_moments);
  normalise(data->returns, samples, value_moments);
}
