/* Listing a rank's rows on its device (minibatch_device.h): once per epoch for all parts, so that the host waits once.
 * The rows and their order are those of minibatch.c on a host. */
#include "trainer/update/minibatch_device.h"

#include <math.h>
#include <stdlib.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/update.h"
#include "trainer/ranks/communicator.h"
#include "trainer/ranks/ranks.h"
#include "trainer/update/reduce.h"

enum { THREADS = 256, BLOCKS_MAX = 1 << 20 };

static OpsChooseRows rows_of(const Minibatch *minibatch, const Rollout *rollout) {
  const Shards *shards = &rollout->shards;
  return (OpsChooseRows){.order = minibatch->order,
                         .of = minibatch->by == MINIBATCH_ENVIRONMENTS ? OPS_WORLDS
                               : minibatch->by == MINIBATCH_SEQUENCES  ? OPS_SEQUENCES
                                                                       : OPS_ROWS,
                         .share = {.layout = states_layout(&rollout->states, shards->global_worlds),
                                   .first_world = (uint32_t)shards->first_world, .worlds = (uint32_t)shards->worlds,
                                   .shard_worlds = (uint32_t)shards_worlds(shards)},
                         .part_rows = (uint32_t)minibatch->order_rows,
                         .parts = (uint32_t)minibatch->parts,
                         .steps = (uint32_t)rollout->steps,
                         .global_worlds = (uint32_t)shards->global_worlds,
                         .first_world = (uint32_t)shards->first_world,
                         .worlds = (uint32_t)shards->worlds,
                         .shard_worlds = (uint32_t)shards_worlds(shards),
                         .shards = (uint32_t)shards->shards,
                         .count = minibatch->chunk_rows,
                         .total = minibatch->part_begins,
                         .rows = minibatch->own};
}

void minibatch_device_register(Minibatch *minibatch, const Rollout *rollout, CoreArena *arena) {
  const OpsChooseRows rows = rows_of(minibatch, rollout);
  const size_t parts = (size_t)minibatch->parts, shards = (size_t)rollout->shards.shards;

  CORE_ARENA_DEVICE(arena, minibatch->own, (size_t)rollout->steps * (size_t)rollout->worlds,
                    "minibatch rows of this rank [minibatches][rows]");
  if (!minibatch->is_exact)
    CORE_ARENA_DEVICE(arena, minibatch->chunk_rows, parts * ops_chunks(&rows) * shards,
                    "rows of chunks [chunks][shards]");
  CORE_ARENA_DEVICE(arena, minibatch->part_begins, parts * shards + 1,
                    "where rows of shards begin [minibatches][shards]");
  CORE_ARENA(arena, minibatch->part_rows, parts * shards, "minibatch rows of shards [minibatches][shards]");

  CORE_ARENA_DEVICE(arena, minibatch->microbatch_rows, (size_t)minibatch->capacity, "minibatch rows of a shard [rows]");
  CORE_ARENA_DEVICE(arena, minibatch->counts, shards, "minibatch rows of shards [shards]");
  CORE_ARENA_DEVICE(arena, minibatch->records, shards, "moments of shards [shards]");
  CORE_ARENA_DEVICE(arena, minibatch->global_records, (size_t)rollout->shards.global_shards,
                    "moments of all shards [shards]");
  if (rollout->shards.ordered)
    CORE_ARENA_DEVICE(arena, minibatch->shares, parts * (size_t)rollout->shards.global_shards,
                      "shares of shards [minibatches][shards]");
}

static void launch(CoreDevice *device, const CoreKernel *kernel, const OpsChooseRows *rows, size_t elements) {
  device->launch(device, kernel, core_device_blocks(elements, THREADS, BLOCKS_MAX), THREADS, 0, rows);
}

/* Computes the shares of every shard of the run in each part, for folding gradients. */
static void share_rows(const Minibatch *minibatch, const Rollout *rollout) {
  const Shards *shards = &rollout->shards;
  const size_t local_shards = (size_t)shards->shards, global_shards = (size_t)shards->global_shards;
  const size_t parts = (size_t)minibatch->parts;
  const uint32_t *rows = reduce_gather_records(minibatch->part_rows, parts * local_shards * sizeof *rows);
  double *shares = core_memory_allocate(parts * global_shards * sizeof *shares);
  for (size_t part = 0; part < parts; part++)
    for (size_t s = 0; s < global_shards; s++)
      shares[part * global_shards + s] = (double)rows[s / local_shards * parts * local_shards + part * local_shards +
                                                      s % local_shards] / (double)minibatch->global_rows;
  core_device_to_device(rollout->device, minibatch->shares, shares, parts * global_shards * sizeof *shares);
  free(shares);
  free((void *)(uintptr_t)rows);
}

void minibatch_device_list_rows(CoreDevice *device, const OpsChooseRows *rows, uint32_t all, uint32_t *part_rows) {
  const size_t chunks = rows->parts * ops_chunks(rows), n = (size_t)rows->parts * rows->shards;
  launch(device, &ops_count_rows_launch, rows, chunks);
  launch(device, &ops_scan_rows_launch, rows, n);
  core_device_to_host(device, part_rows, rows->total, n * sizeof *part_rows);
  uint32_t *begins = core_memory_allocate((n + 1) * sizeof *begins), sum = 0;
  for (size_t i = 0; i < n; i++) {
    begins[i] = sum;
    sum += part_rows[i];
  }
  CORE_CHECK(sum == all); /* each row is in one part */
  begins[n] = sum;
  core_device_to_device(device, rows->total, begins, (n + 1) * sizeof *begins);
  free(begins);
  launch(device, &ops_scatter_rows_launch, rows, chunks);
}

/* Sets where each shard's rows of each part begin, once: they are equally many in every epoch. */
static void begin_exact_parts(Minibatch *minibatch, const Rollout *rollout) {
  const size_t n = (size_t)minibatch->parts * (size_t)rollout->shards.shards;
  const uint32_t per_shard = (uint32_t)(minibatch->order_rows / rollout->shards.shards);
  if (minibatch->part_rows[0] == per_shard) return;
  uint32_t *begins = core_memory_allocate((n + 1) * sizeof *begins);
  for (size_t i = 0; i <= n; i++) begins[i] = (uint32_t)i * per_shard;
  for (size_t i = 0; i < n; i++) minibatch->part_rows[i] = per_shard;
  core_device_to_device(rollout->device, minibatch->part_begins, begins, (n + 1) * sizeof *begins);
  if (minibatch->shares) share_rows(minibatch, rollout);
  free(begins);
}

void minibatch_device_list_exact(Minibatch *minibatch, const Rollout *rollout) {
  const OpsChooseRows rows = rows_of(minibatch, rollout);
  begin_exact_parts(minibatch, rollout);
  launch(rollout->device, &ops_own_rows_launch, &rows, (size_t)rows.parts * rows.part_rows);
}

void minibatch_device_list(Minibatch *minibatch, const Rollout *rollout) {
  const OpsChooseRows rows = rows_of(minibatch, rollout);
  minibatch_device_list_rows(rollout->device, &rows, (uint32_t)rollout->steps * (uint32_t)rollout->worlds,
                             minibatch->part_rows);
  if (minibatch->shares) share_rows(minibatch, rollout);
}

bool minibatch_fits(const Minibatch *minibatch, const Rollout *rollout) {
  const size_t n = (size_t)minibatch->parts * (size_t)rollout->shards.shards;
  double most = 0;
  if (states_apply(&rollout->states)) return false; /* padding would break sequences */
  if (minibatch->part_rows)
    for (size_t i = 0; i < n; i++) most = fmax(most, (double)minibatch->part_rows[i]);
  most -= minibatch->capacity; /* equal at all ranks */
  ranks_max(&most, 1);
  return most <= 0;
}

void minibatch_device_gather_shard(Minibatch *minibatch, Ops *ops, const Rollout *rollout, int shard) {
  const Shards *shards = &rollout->shards;
  const OpsPartRows part = {
    .rows = minibatch->own, .begins = minibatch->part_begins, .parts = minibatch->parts, .shards = shards->shards,
    .capacity = minibatch->capacity, .worlds = (uint32_t)shards->worlds,
      .global_worlds = (uint32_t)shards->global_worlds,
    .first_world = (uint32_t)shards->first_world};
  ops->update->current_shard_rows(ops, &part, shard, minibatch->microbatch_rows, minibatch->index_buffer,
                                  minibatch->counts + shard);
  minibatch->shard = shard;
  minibatch->rows = minibatch->capacity;
  minibatch->index = minibatch->index_buffer;
}

/* Computes the moments of each piece of a minibatch without shards, of which minibatch_select_current() has listed the
 * rows. */
static size_t gather_moments_of_pieces(Minibatch *minibatch, Ops *ops, const float *advantages) {
  for (int piece = 0; piece < minibatch->pieces; piece++) {
    const int first = piece * minibatch->capacity, left = minibatch->global_rows - first;
    const int rows = left < minibatch->capacity ? left : minibatch->capacity;
    ops->gather_rows(ops, advantages, minibatch->rows_of_part + first, minibatch->advantages, rows, 1);
    ops->update->moments(ops, minibatch->advantages, (size_t)rows, minibatch->global_records + piece);
  }
  return (size_t)minibatch->pieces;
}

size_t minibatch_gather_moments(Minibatch *minibatch, Ops *ops, const Rollout *rollout, const float *advantages,
                                Communicator *communicator) {
  const int shards = rollout->shards.shards;
  if (rollout->shards.global_shards == 1) return gather_moments_of_pieces(minibatch, ops, advantages);
  const size_t bytes = (size_t)shards * sizeof *minibatch->records;
  for (int s = 0; s < shards; s++) {
    minibatch_device_gather_shard(minibatch, ops, rollout, s);
    ops->gather_rows(ops, advantages, minibatch->microbatch_rows, minibatch->advantages, minibatch->rows, 1);
    ops->update->moments(ops, minibatch->advantages, (size_t)minibatch->rows, minibatch->records + s);
  }
  if (communicator) communicator->gather(communicator, minibatch->records, bytes, minibatch->global_records);
  else core_device_copy(rollout->device, minibatch->global_records, minibatch->records, bytes);
  return (size_t)rollout->shards.global_shards;
}

void minibatch_device_select(Minibatch *minibatch, const Rollout *rollout, int m) {
  const size_t shards = (size_t)rollout->shards.shards, part = (size_t)m * shards;
  const uint32_t *rows = minibatch->part_rows;
  size_t first = 0;
  for (size_t i = 0; i < part; i++) first += rows[i];
  for (size_t s = 0; s < shards; s++) minibatch->shard_rows[s] = (int)rows[part + s];
  minibatch->rows_of_part = minibatch->own + first;
}

void minibatch_device_rows_of_run(Minibatch *minibatch, const Rollout *rollout, const uint32_t *rows) {
  const Shards *shards = &rollout->shards;
  const OpsRunRows run = {rows, (size_t)minibatch->rows, (uint32_t)shards->worlds, (uint32_t)shards->global_worlds,
                          (uint32_t)shards->first_world, minibatch->index_buffer};
  rollout->device->launch(rollout->device, &ops_run_rows_launch, core_device_blocks(run.n, THREADS, BLOCKS_MAX),
                          THREADS, 0, &run);
}
