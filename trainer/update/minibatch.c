/* Permuting the rollout, listing a rank's rows, and gathering them. */
#include "trainer/update/minibatch.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "trainer/nets/encoder.h"
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_ranks.h"
#include "trainer/ops/kernels/kernels_rows.h"
#include "trainer/ops/update.h"
#include "trainer/update/minibatch_device.h"
#include "trainer/update/reduce.h"

/* Checks that 32-bit rows suffice. Divisibility by M is checked by core_config_check. */
static int check_sizes(const CoreConfig *config) {
  int64_t total = core_config_transitions_per_iteration(config), parts = config->ppo.num_minibatches;
  if (total > UINT32_MAX)
    return core_error(CORE_USAGE, "env.num * ppo.num_steps = %" PRId64 " exceeds 2^32 - 1; lower one of them", total);
  if (total / parts > INT32_MAX)
    return core_error(CORE_USAGE, "a minibatch of %" PRId64 " transitions is too large; raise ppo.num_minibatches",
                      total / parts);
  return CORE_OK;
}

static MinibatchUnit by_of(const CoreConfig *config) {
  if (strcmp(config->ppo.minibatch_by, "environments") == 0) return MINIBATCH_ENVIRONMENTS;
  return agent_state_size(config) > 0 ? MINIBATCH_SEQUENCES : MINIBATCH_TRANSITIONS;
}

/* Returns the rows that are permuted as one unit. */
static int64_t unit_of(const CoreConfig *config) {
  return by_of(config) == MINIBATCH_ENVIRONMENTS ? config->ppo.num_steps : core_config_sequence_length(config);
}

static MinibatchShuffle shuffle_of(const CoreConfig *config) {
  const char *shuffle = config->ppo.shuffle;
  return strcmp(shuffle, "all") == 0      ? MINIBATCH_SHUFFLE_ALL
         : strcmp(shuffle, "blocks") == 0 ? MINIBATCH_SHUFFLE_BLOCKS
                                          : MINIBATCH_SHUFFLE_NONE;
}

/* Whether each block of M units lies in one shard. */
static bool is_exact(const CoreConfig *config, const Shards *shards) {
  const int64_t units = config->ppo.num_steps * shards_worlds(shards) / unit_of(config);
  return shards->global_shards > 1 && shuffle_of(config) == MINIBATCH_SHUFFLE_BLOCKS &&
         units % config->ppo.num_minibatches == 0;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Returns the most rows of a device's micro-batch. With entities, a chunk of the encoder, whose activations then stay
 * until the backward pass. */
static int64_t device_rows(const CoreConfig *config) {
  const char *text = getenv("TRAINER_MICROBATCH");
  const int64_t rows = text ? atoll(text) : 0;
  if (rows > 0) return rows;
  return strcmp(config->env.observations, "entity") == 0 ? ENCODER_CHUNK_DEVICE : MINIBATCH_DEVICE_ROWS;
}

/* Returns the rows of micro-batches that are as few and as equal as whole units of rows allow. */
static int64_t microbatch_rows(const CoreConfig *config, int64_t rows, int64_t unit) {
  const int64_t units = rows / unit, largest = device_rows(config) / unit, most = largest > 1 ? largest : 1;
  const int64_t pieces = (units + most - 1) / most;
  return (units + pieces - 1) / pieces * unit;
}

int minibatch_capacity(const CoreConfig *config, const Shards *shards, bool on_device) {
  const int64_t rows = core_config_transitions_per_iteration(config) / config->ppo.num_minibatches;
  const int64_t unit = unit_of(config);
  const double share = (double)rows / (double)unit / shards->global_shards;
  const int64_t of_shard = config->ppo.num_steps * shards_worlds(shards);
  if (shards->global_shards == 1) return (int)(on_device ? microbatch_rows(config, rows, unit) : rows);
  if (is_exact(config, shards)) return (int)(rows / shards->global_shards);
  if (shuffle_of(config) == MINIBATCH_SHUFFLE_NONE) return (int)smaller(rows, of_shard);
  return (int)smaller(smaller(rows, of_shard), unit * (int64_t)ceil(share + 6 * sqrt(share) + 1));
}

int minibatch_register(Minibatch *minibatch, const CoreConfig *config, const Rollout *rollout, CoreArena *arena) {
  TRY(check_sizes(config));

  const Shards *shards = &rollout->shards;
  const MinibatchUnit by = by_of(config);
  const size_t total = (size_t)rollout->steps * (size_t)shards->global_worlds;
  const size_t all = total / (size_t)config->ppo.num_minibatches;
  const bool alone = shards->global_shards == 1, on_device = core_arena_device(arena) != NULL;
  const size_t local_rows = (size_t)rollout->steps * (size_t)rollout->worlds;
  const size_t rows = (size_t)minibatch_capacity(config, shards, on_device);

  *minibatch = (Minibatch){.global_rows = (int)all, .capacity = (int)rows, .rows = (int)rows, .by = by,
                            .shuffle = shuffle_of(config), .is_exact = is_exact(config, shards),
                            .pieces = alone ? (int)((all + rows - 1) / rows) : shards->shards};
  const size_t permuted = (minibatch->is_exact ? local_rows : total) / (size_t)unit_of(config);
  minibatch->order_rows = (int)((minibatch->is_exact ? local_rows : total) / (size_t)config->ppo.num_minibatches);
  minibatch->parts = (int)config->ppo.num_minibatches;

  CORE_ARENA_DEVICE(arena, minibatch->order, permuted, "minibatch permutation");
  if (alone && by == MINIBATCH_SEQUENCES)
    CORE_ARENA_DEVICE(arena, minibatch->epoch_rows, total, "rows of permuted sequences [rows]");
  sequences_register(&minibatch->sequences, &rollout->states, (int)rows, arena);
  if (on_device && minibatch->shuffle == MINIBATCH_SHUFFLE_ALL)
    CORE_ARENA_DEVICE(arena, minibatch->scratch, 2 * permuted, "lists of a permutation");

  if (!alone && on_device) minibatch_device_register(minibatch, rollout, arena);
  else if (!alone || by == MINIBATCH_ENVIRONMENTS || on_device) /* by sequences on the host: in epoch_rows */
    CORE_ARENA_DEVICE(arena, minibatch->own, all < local_rows ? all : local_rows, "minibatch rows of this rank [rows]");
  if (!alone) CORE_ARENA_DEVICE(arena, minibatch->index_buffer, rows, "minibatch rows [rows]");
  if (alone && on_device && minibatch->pieces > 1)
    CORE_ARENA_DEVICE(arena, minibatch->global_records, (size_t)minibatch->pieces, "moments of micro-batches [pieces]");
  CORE_ARENA(arena, minibatch->shard_rows, (size_t)shards->shards, "minibatch rows of shards [shards]");

  CORE_ARENA_DEVICE(arena, minibatch->observations, rows * (size_t)rollout->features,
             "minibatch observations [rows][features]");
  CORE_ARENA_DEVICE(arena, minibatch->actions, rows * rollout->action_bytes, "minibatch actions [rows][bytes]");
  CORE_ARENA_DEVICE(arena, minibatch->logp, rows, "minibatch log-probabilities [rows]");
  CORE_ARENA_DEVICE(arena, minibatch->values, rows, "minibatch values [rows]");
  CORE_ARENA_DEVICE(arena, minibatch->advantages, rows, "minibatch advantages [rows]");
  CORE_ARENA_DEVICE(arena, minibatch->targets, rows, "minibatch targets [rows]");
  return CORE_OK;
}

static OpsPermuted permuted_of(const Minibatch *minibatch) {
  return minibatch->by == MINIBATCH_TRANSITIONS ? OPS_ROWS
         : minibatch->by == MINIBATCH_SEQUENCES ? OPS_SEQUENCES
                                                : OPS_WORLDS;
}

/* Sets `order` for blocks and slices: this rank's units where parts are exact, else all. */
static void order_units(Minibatch *minibatch, const Rollout *rollout, uint64_t seed, int64_t iteration, int epoch) {
  const uint32_t unit = (uint32_t)(minibatch->by == MINIBATCH_TRANSITIONS ? 1
                                   : minibatch->by == MINIBATCH_SEQUENCES ? states_length(&rollout->states)
                                                                          : rollout->steps);
  const uint32_t blocks = (uint32_t)minibatch->order_rows / unit;
  const OpsUnitOrder order = {
    .of = permuted_of(minibatch), .is_shuffled = minibatch->shuffle == MINIBATCH_SHUFFLE_BLOCKS, .seed = seed,
    .iteration = (uint32_t)iteration, .epoch = (uint32_t)epoch, .parts = (uint32_t)minibatch->parts, .blocks = blocks,
    .first_block = minibatch->is_exact ? blocks * (uint32_t)(rollout->shards.first_world / rollout->shards.worlds) : 0,
    .steps = (uint32_t)rollout->steps, .global_worlds = (uint32_t)rollout->shards.global_worlds,
    .order = minibatch->order};
  KERNELS_EACH(rollout->device, ops_order_units, ops_order_block, blocks, &order);
}

void minibatch_shuffle(Minibatch *minibatch, Ops *ops, const Rollout *rollout, uint64_t seed, int64_t iteration,
                       int epoch) {
  const uint32_t worlds = (uint32_t)rollout->shards.global_worlds, total = worlds * (uint32_t)rollout->steps;
  const uint32_t n = minibatch->by == MINIBATCH_TRANSITIONS   ? total
                     : minibatch->by == MINIBATCH_ENVIRONMENTS ? worlds
                                                               : total / (uint32_t)states_length(&rollout->states);
  if (minibatch->shuffle == MINIBATCH_SHUFFLE_ALL)
    ops->permute(ops, seed, CORE_RANDOM_SHUFFLE, (uint32_t)iteration, (uint32_t)epoch, minibatch->order, n,
                 minibatch->scratch);
  else order_units(minibatch, rollout, seed, iteration, epoch);

  if (minibatch->epoch_rows) {
    const OpsSequenceRows rows = {states_layout(&rollout->states, (int)worlds), minibatch->order,
                                  minibatch->epoch_rows, total};
    KERNELS_EACH(rollout->device, ops_sequence_rows, ops_sequence_row, rows.n, &rows);
  }

  if (minibatch->part_rows == NULL) return;
  if (minibatch->is_exact) minibatch_device_list_exact(minibatch, rollout);
  else minibatch_device_list(minibatch, rollout);
}

/* Returns row `row` of part m as a row of the run's rollout [steps][global worlds]. */
static uint32_t row_of_part(const Minibatch *minibatch, const Rollout *rollout, int m, uint32_t row) {
  const uint32_t steps = (uint32_t)rollout->steps, rows = (uint32_t)minibatch->order_rows;
  if (minibatch->by == MINIBATCH_TRANSITIONS) return minibatch->order[(size_t)m * rows + row];
  if (minibatch->by == MINIBATCH_SEQUENCES) {
    const uint32_t length = (uint32_t)states_length(&rollout->states);
    const SapgLayout layout = states_layout(&rollout->states, rollout->shards.global_worlds);
    return sapg_sample(&layout, minibatch->order[((size_t)m * rows + row) / length], row % length);
  }
  const uint32_t *world = minibatch->order + (size_t)m * (rows / steps);
  return row % steps * (uint32_t)rollout->shards.global_worlds + world[row / steps];
}

/* Selects all rows of part m, in the part's order, where this rank has all rows. */
static void select_all(Minibatch *minibatch, Ops *ops, const Rollout *rollout, int m) {
  const int rows = minibatch->global_rows, worlds = rows / rollout->steps;
  minibatch->shard_rows[0] = rows;
  const uint32_t *all = minibatch->epoch_rows ? minibatch->epoch_rows : minibatch->order;
  minibatch->rows_of_part = all + (size_t)m * (size_t)rows;
  if (minibatch->by != MINIBATCH_ENVIRONMENTS) return;
  minibatch->rows_of_part = minibatch->own;
  ops->world_rows(ops, minibatch->order + (size_t)m * (size_t)worlds, worlds, rollout->steps, rollout->worlds,
                  minibatch->own);
}

void minibatch_select_current(Minibatch *minibatch, Ops *ops, const Rollout *rollout, int parts) {
  const int steps = minibatch->by == MINIBATCH_ENVIRONMENTS ? rollout->steps : 1;
  minibatch->next_row = minibatch->shard_next_row = minibatch->shard = 0;
  minibatch->shard_rows[0] = minibatch->global_rows;
  minibatch->rows_of_part = minibatch->own;
  ops->update->current_rows(ops, minibatch->epoch_rows ? minibatch->epoch_rows : minibatch->order, parts,
                            minibatch->global_rows / steps, steps, rollout->worlds, minibatch->own);
}

/* Lists the part's rows in its order, sorted by shard: a counting pass, then a scattering pass. */
void minibatch_select(Minibatch *minibatch, Ops *ops, const Rollout *rollout, int m) {
  const Shards *shards = &rollout->shards;
  const int columns = shards_worlds(shards);
  minibatch->next_row = minibatch->shard_next_row = minibatch->shard = 0;

  if (shards->global_shards == 1) {
    select_all(minibatch, ops, rollout, m);
    return;
  }
  if (minibatch->part_rows) {
    minibatch_device_select(minibatch, rollout, m);
    return;
  }

  minibatch->rows_of_part = minibatch->own;
  memset(minibatch->shard_rows, 0, (size_t)shards->shards * sizeof *minibatch->shard_rows);
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 1) { /* counts become offsets */
      for (int s = 0, first = 0; s < shards->shards; s++) {
        int count = minibatch->shard_rows[s];
        minibatch->shard_rows[s] = first;
        first += count;
      }
    }
    for (uint32_t i = 0; i < (uint32_t)minibatch->order_rows; i++) {
      int64_t row = shards_row(shards, row_of_part(minibatch, rollout, m, i));
      if (row < 0) continue;
      int *position = &minibatch->shard_rows[row % rollout->worlds / columns];
      if (pass == 1) minibatch->own[*position] = (uint32_t)row;
      ++*position;
    }
  }

  /* offsets become counts again */
  for (int s = shards->shards - 1; s > 0; s--) minibatch->shard_rows[s] -= minibatch->shard_rows[s - 1];
}

/* Advances to the next micro-batch and returns its rows, or NULL. */
static const uint32_t *next_microbatch_rows(Minibatch *minibatch, const Rollout *rollout) {
  while (minibatch->shard_next_row == minibatch->shard_rows[minibatch->shard]) {
    if (minibatch->shard + 1 == rollout->shards.shards) return NULL;
    minibatch->shard++;
    minibatch->shard_next_row = 0;
  }
  const uint32_t *rows = minibatch->rows_of_part + minibatch->next_row;
  minibatch->rows = (int)smaller(minibatch->shard_rows[minibatch->shard] - minibatch->shard_next_row,
                                 minibatch->capacity);
  minibatch->next_row += minibatch->rows;
  minibatch->shard_next_row += minibatch->rows;
  return rows;
}

/* Converts this rank's rows to rows of the run. */
static const uint32_t *rows_of_run(Minibatch *minibatch, const Rollout *rollout, const uint32_t *rows) {
  if (minibatch->index_buffer == NULL) return rows;
  if (rollout->device) minibatch_device_rows_of_run(minibatch, rollout, rows);
  else
    for (int i = 0; i < minibatch->rows; i++) minibatch->index_buffer[i] = shards_row_of_run(&rollout->shards, rows[i]);
  return minibatch->index_buffer;
}

/* Gathers the micro-batch of this rank's rows `index`. */
static void gather(Minibatch *minibatch, Ops *ops, const Rollout *rollout, const uint32_t *index,
                   const float *advantages, const float *targets) {
  const int rows = minibatch->rows;
  if (minibatch->is_input) rollout_gather_inputs(rollout, ops, index, rows, minibatch->observations);
  else rollout_gather_observations(rollout, ops, index, rows, minibatch->observations);
  const OpsField fields[] = {{rollout->logp, minibatch->logp, sizeof(float)},
                             {minibatch->values_of ? minibatch->values_of : rollout->values, minibatch->values,
                              sizeof(float)},
                             {advantages, minibatch->advantages, sizeof(float)},
                             {targets, minibatch->targets, sizeof(float)},
                             {rollout->actions, minibatch->actions, rollout->action_bytes}};
  ops->gather_fields(ops, fields, sizeof fields / sizeof *fields, index, rows);
  sequences_gather(&minibatch->sequences, &rollout->states, ops, index, rows);
}

void minibatch_bind_sequences(const Minibatch *minibatch, const Agent *agent) {
  sequences_bind(&minibatch->sequences, agent);
}

bool minibatch_next(Minibatch *minibatch, Ops *ops, const Rollout *rollout, const float *advantages,
                    const float *targets) {
  const uint32_t *index = next_microbatch_rows(minibatch, rollout);
  if (index == NULL) return false;
  index = sequences_order(&minibatch->sequences, &rollout->states, index, minibatch->rows);
  minibatch->own_index = index;
  minibatch->index = rows_of_run(minibatch, rollout, index);
  gather(minibatch, ops, rollout, index, advantages, targets);
  return true;
}

void minibatch_gather_piece(Minibatch *minibatch, Ops *ops, const Rollout *rollout, int piece, const float *advantages,
                            const float *targets) {
  if (rollout->shards.global_shards == 1) {
    CORE_CHECK(minibatch_next(minibatch, ops, rollout, advantages, targets));
    return;
  }
  minibatch_device_gather_shard(minibatch, ops, rollout, piece);
  minibatch->own_index = minibatch->microbatch_rows;
  gather(minibatch, ops, rollout, minibatch->microbatch_rows, advantages, targets);
}

bool minibatch_is_last(const Minibatch *minibatch, const Rollout *rollout) {
  if (minibatch->shard_next_row < minibatch->shard_rows[minibatch->shard]) return false;
  for (int s = minibatch->shard + 1; s < rollout->shards.shards; s++)
    if (minibatch->shard_rows[s] > 0) return false;
  return true;
}

void minibatch_advantage_moments(Minibatch *minibatch, Ops *ops, const Rollout *rollout, const float *advantages,
                                 Moments *moments) {
  Moments *records = core_memory_zero_allocate((size_t)rollout->shards.shards, sizeof *records);
  for (const uint32_t *index; (index = next_microbatch_rows(minibatch, rollout)) != NULL;) {
    Moments microbatch;
    ops->gather_rows(ops, advantages, index, minibatch->advantages, minibatch->rows, 1);
    ops->moments(ops, minibatch->advantages, NULL, (size_t)minibatch->rows, &microbatch);
    moments_merge(&records[minibatch->shard], &microbatch);
  }
  minibatch->next_row = minibatch->shard_next_row = minibatch->shard = 0;
  reduce_shard_moments(&rollout->shards, records, moments);
  free(records);
}
