/* Snapshots of the policy's outputs between minibatches, and the KL between them (profile.h). */
#include "trainer/measure/profile.h"

#include <math.h>
#include <stdlib.h>

#include "core/device/arena.h"
#include "trainer/math/estimators.h"
#include "trainer/math/sample.h"
#include "trainer/measure/metrics.h"
#include "trainer/ranks/ranks.h"
#include "trainer/update/reduce.h"

void profile_register(Profile *profile, const Agent *agent, const Rollout *rollout, int64_t updates, CoreArena *arena) {
  int64_t total = (int64_t)rollout->steps * rollout->shards.global_worlds,
    own = (int64_t)rollout->steps * rollout->worlds;
  *profile = (Profile){.states = (int)states_round_to_sequences(&rollout->states, PROFILE_STATES, total),
                       .updates = (int)updates,
                       .max_points = 1 + (int)(updates < PROFILE_INTERVALS ? updates : PROFILE_INTERVALS),
                       .head = rollout->head};

  profile->capacity = profile->states < own ? profile->states : (int)own;
  profile->chunk_rows = profile->capacity < agent->max_rows ? profile->capacity : agent->max_rows;
  profile->chunk_rows -= profile->chunk_rows % states_length(&rollout->states);
  sequences_register(&profile->sequences, &rollout->states, profile->capacity, arena);

  size_t states = (size_t)profile->capacity, max_points = (size_t)profile->max_points;
  CORE_ARENA(arena, profile->index, states, "profile rows [states]");
  if (core_arena_device(arena)) CORE_ARENA_DEVICE(arena, profile->index_on_device, states, "profile rows [states]");
  CORE_ARENA_DEVICE(arena, profile->observations, states * (size_t)rollout->features,
             "profile observations [states][features]");
  CORE_ARENA_DEVICE(arena, profile->logits, (max_points + 2) * states * (size_t)rollout->head.logits,
             "profile snapshots [points + 2][states][logits]");
  CORE_ARENA_DEVICE(arena, profile->actions, states * rollout->action_bytes, "profile actions [states][bytes]");
  CORE_ARENA_DEVICE(arena, profile->behavior_logp, states, "profile behavior log-probabilities [states]");
  CORE_ARENA_DEVICE(arena, profile->logp, states, "profile log-probabilities [states]");

  CORE_ARENA(arena, profile->ratios, 2 * max_points, "profile ratios [2][points]");
  CORE_ARENA(arena, profile->ess_percent, max_points, "profile effective sample sizes");
  CORE_ARENA(arena, profile->update, max_points, "profile minibatches");
  CORE_ARENA(arena, profile->consecutive, max_points, "profile KL between neighbors");
  CORE_ARENA(arena, profile->reference, max_points, "profile reference KL");
  CORE_ARENA(arena, profile->to_limit, max_points, "profile KL to the limit");
}

static float *snapshot(const Profile *profile, int i) {
  return profile->logits + (size_t)i * (size_t)profile->capacity * (size_t)profile->head.logits;
}

static int rows_in_chunk(const Profile *profile, int row) {
  return profile->own - row < profile->chunk_rows ? profile->own - row : profile->chunk_rows;
}

/* Stores the current policy's outputs at index `index`. */
static void store_policy(Profile *profile, Ops *ops, const Agent *agent, int index) {
  const size_t features = (size_t)agent->inputs, logits = (size_t)profile->head.logits;
  for (int row = 0; row < profile->own; row += profile->chunk_rows) {
    const Sequences sequences = sequences_from(&profile->sequences, profile->states_of, row);
    sequences_bind(&sequences, agent);
    agent_policy(agent, ops, agent->actor.theta, profile->observations + (size_t)row * features,
                 rows_in_chunk(profile, row), snapshot(profile, index) + (size_t)row * logits);
  }
}

/* Gathers the states' observations and actions, chunk after chunk. */
static void gather(Profile *profile, Ops *ops, const Rollout *rollout, const uint32_t *index) {
  const size_t features = (size_t)rollout->features;
  for (int row = 0; row < profile->own; row += profile->chunk_rows) {
    const int rows = rows_in_chunk(profile, row);
    const size_t at = (size_t)row;
    const Sequences sequences = sequences_from(&profile->sequences, &rollout->states, row);
    const uint32_t *chunk_index = sequences_order(&sequences, &rollout->states, index + row, rows);
    sequences_gather(&sequences, &rollout->states, ops, chunk_index, rows);
    rollout_gather_observations(rollout, ops, chunk_index, rows, profile->observations + at * features);
    ops->gather_rows(ops, rollout->logp, chunk_index, profile->behavior_logp + at, rows, 1);
    rollout_gather_actions(rollout, ops, chunk_index, rows, profile->actions + at * rollout->action_bytes);
  }
}

/* Returns the minibatches before the next point; equal shares of the data, rounded to minibatches. */
static int next_point(const Profile *profile) {
  return (int)((int64_t)profile->points * profile->updates / (profile->max_points - 1));
}

void profile_begin(Profile *profile, Ops *ops, const Agent *agent, const Rollout *rollout, uint64_t seed,
                   int64_t iteration) {
  int64_t total = (int64_t)rollout->steps * rollout->shards.global_worlds;
  const int length = states_length(&rollout->states), drawn = profile->states / length;
  profile->own = 0;
  for (int i = 0; i < profile->states; i++) {
    const int64_t number = sample_state(seed, iteration, i / length, drawn, total / length);
    const int64_t row = states_sampled_row(&rollout->states, &rollout->shards, number, i % length);
    if (row >= 0) profile->index[profile->own++] = (uint32_t)row;
  }

  const uint32_t *index = profile->index;
  if (ops->device) {
    core_device_to_device(ops->device, profile->index_on_device, index, (size_t)profile->own * sizeof *index);
    index = profile->index_on_device;
  }

  profile->states_of = &rollout->states;
  gather(profile, ops, rollout, index);
  profile->seen = profile->update[0] = profile->limit = 0;
  profile->points = 1;
  store_policy(profile, ops, agent, 0);
}

/* Returns this rank's part of the mean of KL(snapshot p || snapshot q), in passes that the ops support. */
static double part_of_kl(const Profile *profile, Ops *ops, int p, int q) {
  double sum = 0, kl, reverse;
  for (int row = 0; row < profile->own; row += profile->chunk_rows) {
    int rows = rows_in_chunk(profile, row);
    size_t offset = (size_t)row * (size_t)profile->head.logits;
    ops->policy_kl(ops, &profile->head, snapshot(profile, p) + offset, snapshot(profile, q) + offset, rows, &kl,
                   &reverse);
    sum += kl;
  }
  return sum / profile->states;
}

void profile_snapshot(Profile *profile, Ops *ops, const Agent *agent) {
  profile->seen++;
  const int before = profile->points - 1;
  const bool is_point = profile->seen == next_point(profile), follows = profile->seen == profile->update[before] + 1;
  const int index = is_point ? profile->points : profile->max_points;
  if (is_point || follows) store_policy(profile, ops, agent, index);
  if (follows) profile->consecutive[before] = part_of_kl(profile, ops, index, before);
  if (is_point) profile->update[profile->points++] = profile->seen;
}

/* Adds this rank's part of the ratios of snapshot i. */
static void add_ratios(Profile *profile, Ops *ops, int i) {
  const size_t bytes = ops_head_action_bytes(&profile->head), logits = (size_t)profile->head.logits;
  LogSum *ratio = &profile->ratios[i], *squared = &profile->ratios[profile->max_points + i];

  *ratio = *squared = log_sum_empty();
  for (int row = 0; row < profile->own; row += profile->chunk_rows) {
    const int rows = rows_in_chunk(profile, row);
    ops->policy_logp(ops, &profile->head, snapshot(profile, i) + (size_t)row * logits,
                     profile->actions + (size_t)row * bytes, profile->logp + row, rows);
  }

  void *copy[2];
  const size_t total_bytes = (size_t)profile->own * sizeof(float);
  const float *logp = core_device_view(ops->device, profile->logp, total_bytes, &copy[0]);
  const float *behavior = core_device_view(ops->device, profile->behavior_logp, total_bytes, &copy[1]);
  for (int row = 0; row < profile->own; row++) {
    const double l = (double)logp[row] - (double)behavior[row];
    log_sum_add(ratio, l);
    log_sum_add(squared, 2 * l);
  }

  free(copy[0]);
  free(copy[1]);
}

static void measure_ess(Profile *profile, Ops *ops) {
  for (int i = 0; i < profile->points; i++) add_ratios(profile, ops, i);
  reduce_log_sums(profile->ratios, (size_t)profile->max_points + (size_t)profile->points);
  for (int i = 0; i < profile->points; i++)
    profile->ess_percent[i] =
      100 * estimators_ess(&profile->ratios[i], &profile->ratios[profile->max_points + i]) / profile->states;
}

void profile_store_limit(Profile *profile, Ops *ops, const Agent *agent, double *moved, double *start) {
  const int before = profile->limit ? profile->limit : profile->points - 1;
  const int first_slot = profile->max_points;
  profile->limit = before == first_slot ? first_slot + 1 : first_slot;
  store_policy(profile, ops, agent, profile->limit);

  double kl[] = {part_of_kl(profile, ops, profile->limit, before), part_of_kl(profile, ops, profile->limit, 0)};
  ranks_sum(kl, 2);
  *moved = kl[0];
  *start = kl[1];
}

ProfileSummary profile_finish(Profile *profile, Ops *ops) {
  const int last = profile->points - 1;
  for (int i = 0; i < last; i++) profile->reference[i] = part_of_kl(profile, ops, last, i);
  if (profile->limit)
    for (int i = 0; i <= last; i++) profile->to_limit[i] = part_of_kl(profile, ops, profile->limit, i);
  ranks_sum(profile->consecutive, (size_t)last);
  ranks_sum(profile->reference, (size_t)last);
  if (profile->limit) ranks_sum(profile->to_limit, (size_t)last + 1);
  profile->reference[last] = 0;
  measure_ess(profile, ops);
  return profile_summarize(profile->reference, profile->update, profile->points, profile->updates);
}

double profile_mean_consecutive(const Profile *profile) {
  double sum = 0;
  for (int i = 0; i + 1 < profile->points; i++) sum += profile->consecutive[i];
  return sum / (profile->points - 1);
}

ProfileSummary profile_summarize(const double *reference, const int *update, int n, int updates) {
  double x_mean = 0, y_mean = 0, xx = 0, xy = 0, monotone = 0;
  const int points = n - 1; /* the last is KL of a policy to itself */
  if (points < 2) return (ProfileSummary){NAN, NAN};
  for (int i = 0; i < points; i++) {
    monotone += reference[i + 1] <= reference[i];
    x_mean += (double)update[i] / updates / points;
    y_mean += log(fmax(reference[i], 1e-12)) / points;
  }
  for (int i = 0; i < points; i++) {
    double x = (double)update[i] / updates - x_mean;
    xx += x * x;
    xy += x * (log(fmax(reference[i], 1e-12)) - y_mean);
  }
  return (ProfileSummary){monotone / points, xy / xx};
}
