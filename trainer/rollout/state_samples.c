/* Sampled states on a device (state_samples.h), and the states that a rollout passes to coverage and visited. */
#include "trainer/rollout/state_samples.h"

#include <string.h>

#include "trainer/math/sample.h"
#include "trainer/rollout/rollout_internal.h"

enum { BYTES_MAX = 1 << 30 };

void state_samples_register(StateSamples *samples, int64_t states, int steps, size_t row, CoreArena *arena) {
  const size_t n = (size_t)states;
  *samples = (StateSamples){.row = row, .steps = steps};
  if (core_arena_device(arena) == NULL || states < 1 || n > BYTES_MAX / (row * sizeof(float))) return;
  CORE_ARENA(arena, samples->first, (size_t)steps + 1, "first sampled states [steps + 1]");
  CORE_ARENA(arena, samples->world, n, "worlds of sampled states [states]");
  CORE_ARENA(arena, samples->number, n, "numbers of sampled states [states]");
  CORE_ARENA(arena, samples->copy, n * row, "sampled states [states][features]");
  CORE_ARENA_DEVICE(arena, samples->world_on_device, n, "worlds of sampled states [states]");
  CORE_ARENA_DEVICE(arena, samples->rows, n * row, "sampled states [states][features]");
}

void state_samples_choose(StateSamples *samples, CoreDevice *device, const Shards *shards, const StateSample *sample) {
  int step = 0;
  samples->count = 0;
  samples->first[0] = 0;

  for (int64_t j = 0; j < sample->states; j++) {
    const int64_t state = sample_state(sample->seed, sample->iteration, j, sample->states, sample->total);
    const int64_t world = state % shards->global_worlds - shards->first_world;
    if (world < 0 || world >= shards->worlds) continue;
    while (step < state / shards->global_worlds) samples->first[++step] = samples->count;
    samples->world[samples->count] = (uint32_t)world;
    samples->number[samples->count++] = (uint32_t)j;
  }

  while (step < samples->steps) samples->first[++step] = samples->count;
  if (samples->count > 0)
    core_device_to_device(device, samples->world_on_device, samples->world,
                          (size_t)samples->count * sizeof *samples->world);
}

void state_samples_gather(const StateSamples *samples, Ops *ops, int t, const float *shown) {
  const int64_t first = samples->first[t], count = samples->first[t + 1] - first;
  if (count > 0)
    ops->gather_rows(ops, shown, samples->world_on_device + first, samples->rows + (size_t)first * samples->row,
                     (int)count, (int)samples->row);
}

void state_samples_read(StateSamples *samples, CoreDevice *device) {
  if (samples->count > 0)
    core_device_to_host(device, samples->copy, samples->rows,
                        (size_t)samples->count * samples->row * sizeof *samples->copy);
}

/* ---- logits ------------------------------------------------------------------------------------------------------ */

/* A sample has one state in each of `states` equal strata (math/sample.h): a step has at most one more than its
 * share. */
void logit_samples_register(LogitSamples *samples, int64_t states, int steps, size_t logits, CoreArena *arena) {
  *samples = (LogitSamples){.steps = steps, .capacity = (int)((states + steps - 1) / steps) + 1};
  const size_t rows = (size_t)steps * (size_t)samples->capacity;
  CORE_ARENA(arena, samples->world, rows, "worlds of sampled logits [steps][rows]");
  CORE_ARENA(arena, samples->place, (size_t)states, "rows of sampled logits [states]");
  CORE_ARENA(arena, samples->count, (size_t)steps, "sampled logits [steps]");
  CORE_ARENA_DEVICE(arena, samples->world_on_device, rows, "worlds of sampled logits [steps][rows]");
  CORE_ARENA_DEVICE(arena, samples->logits, rows * logits, "sampled logits [steps][rows][logits]");
}

void logit_samples_choose(LogitSamples *samples, CoreDevice *device, const Shards *shards, const StateSample *sample) {
  const size_t rows = (size_t)samples->steps * (size_t)samples->capacity;
  int64_t chosen = 0;
  memset(samples->world, 0, rows * sizeof *samples->world);
  memset(samples->count, 0, (size_t)samples->steps * sizeof *samples->count);
  for (int64_t j = 0; j < sample->states; j++) {
    const int64_t state = sample_state(sample->seed, sample->iteration, j, sample->states, sample->total);
    const int64_t world = state % shards->global_worlds - shards->first_world, step = state / shards->global_worlds;
    if (world < 0 || world >= shards->worlds) continue;
    CORE_CHECK(samples->count[step] < samples->capacity);
    const size_t slot = (size_t)step * (size_t)samples->capacity + (size_t)samples->count[step]++;
    samples->world[slot] = (uint32_t)world;
    samples->place[chosen++] = (uint32_t)slot;
  }
  core_device_to_device(device, samples->world_on_device, samples->world, rows * sizeof *samples->world);
}

void logit_samples_gather(const LogitSamples *samples, Ops *ops, int t, const float *logits, int columns) {
  const size_t first = (size_t)t * (size_t)samples->capacity;
  ops->gather_rows(ops, logits, samples->world_on_device + first, samples->logits + first * (size_t)columns,
                   samples->capacity, columns);
}

/* Whether learner and metrics read the logits of all states. */
static bool needs_all_logits(const CoreConfig *config, const Rollout *rollout) {
  const int64_t total = (int64_t)rollout->steps * rollout->shards.global_worlds;
  const bool is_ppo = strcmp(config->algo.name, "ppo") == 0 || strcmp(config->algo.name, "ppo_ewma") == 0;
  const bool follows_kl = strcmp(config->ppo.lr_schedule, "kl") == 0 || config->ppo.kl_penalty > 0;
  const bool measures_shards = config->comm.deterministic && config->ppo.ddr_target > 0;
  return rollout->device == NULL || !is_ppo || follows_kl || measures_shards || states_apply(&rollout->states) ||
         4 * config->metrics.states > total;
}

void rollout_register_logits(Rollout *rollout, const CoreConfig *config, CoreArena *arena) {
  const size_t n = (size_t)rollout->worlds, logits = (size_t)rollout->head.logits;
  rollout->samples_logits = !needs_all_logits(config, rollout);
  CORE_ARENA_DEVICE(arena, rollout->logits, (rollout->samples_logits ? 1 : (size_t)rollout->steps) * n * logits,
                    rollout->samples_logits ? "logits of a step [worlds][logits]"
                                            : "rollout logits [steps][worlds][logits]");
  rollout->sampled_states = config->metrics.states;
  if (rollout->samples_logits)
    logit_samples_register(&rollout->logit_samples, config->metrics.states, rollout->steps, logits, arena);
}

void rollout_sample_logit_states(Rollout *rollout, uint64_t seed, int64_t iteration) {
  const int64_t total = (int64_t)rollout->steps * rollout->shards.global_worlds;
  if (rollout->samples_logits)
    logit_samples_choose(&rollout->logit_samples, rollout->device, &rollout->shards,
                         &(StateSample){seed, iteration, rollout->sampled_states, total});
}

/* ---- the states of a rollout ------------------------------------------------------------------------------------- */

void rollout_register_samples(Rollout *rollout, const CoreConfig *config, const Env *env, CoreArena *arena) {
  const size_t row = (size_t)env->observation_length;
  const int64_t total = (int64_t)rollout->steps * rollout->shards.global_worlds;
  const int64_t covered = config->metrics.states < total ? config->metrics.states : total;
  const int64_t kept = visited_capacity(config->metrics.visited_states, core_config_iterations(config), total);
  if (core_arena_device(arena) == NULL) return;
  state_samples_register(&rollout->coverage_samples, covered, rollout->steps, row, arena);
  state_samples_register(&rollout->visited_samples, kept, rollout->steps, row, arena);
  CORE_ARENA(arena, rollout->shown,
             rollout->coverage_samples.rows && (kept == 0 || rollout->visited_samples.rows)
               ? 0 : (size_t)rollout->worlds * row, "states for coverage [worlds][features]");
}

void rollout_begin_samples(Rollout *rollout) {
  const Coverage *coverage = rollout->coverage;
  const Visited *visited = rollout->visited;
  if (coverage && rollout->coverage_samples.rows)
    state_samples_choose(&rollout->coverage_samples, rollout->device, &rollout->shards,
                         &(StateSample){coverage->seed, coverage->iteration, coverage->states, coverage->total});
  if (visited && rollout->visited_samples.rows)
    state_samples_choose(&rollout->visited_samples, rollout->device, &rollout->shards,
                         &(StateSample){visited->seed, visited->iteration, visited->count, visited->total});
}

void rollout_add_samples(Rollout *rollout, Ops *ops, int t, const float *shown, int features) {
  Coverage *coverage = rollout->coverage;
  Visited *visited = rollout->visited;

  if (coverage && rollout->coverage_samples.rows) {
    state_samples_gather(&rollout->coverage_samples, ops, t, shown);
    coverage = NULL;
  }
  if (visited && rollout->visited_samples.rows) {
    state_samples_gather(&rollout->visited_samples, ops, t, shown);
    visited = NULL;
  }

  if (coverage == NULL && visited == NULL) return;
  if (rollout->device) {
    core_device_to_host(rollout->device, rollout->shown, shown,
                        (size_t)rollout->worlds * (size_t)features * sizeof *shown);
    shown = rollout->shown;
  }
  if (coverage) coverage_add_states(coverage, t, shown);
  if (visited) visited_add_states(visited, t, shown);
}

void rollout_finish_samples(Rollout *rollout) {
  StateSamples *covered = &rollout->coverage_samples, *kept = &rollout->visited_samples;
  if (rollout->coverage && covered->rows) {
    state_samples_read(covered, rollout->device);
    for (int64_t i = 0; i < covered->count; i++)
      coverage_add_state(rollout->coverage, covered->copy + (size_t)i * covered->row);
  }
  if (rollout->visited && kept->rows) {
    state_samples_read(kept, rollout->device);
    for (int64_t i = 0; i < kept->count; i++)
      visited_add_state(rollout->visited, kept->number[i], kept->copy + (size_t)i * kept->row);
  }
}
