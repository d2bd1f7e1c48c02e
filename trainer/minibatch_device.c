/* Choosing a rank's rows on its device (minibatch_device.h): once an epoch, all parts at once, so that the host waits once.
 * The rows and their order are those that minibatch.c comes to on a host. */
#include "trainer/minibatch_device.h"

#include <stdlib.h>

#include "trainer/ops/kernels.h"

enum { THREADS = 256, BLOCKS_MAX = 1 << 20 };

static OpsChooseRows rows_of(const Minibatch *minibatch, const Rollout *rollout) {
  const Shards *shards = &rollout->shards;
  return (OpsChooseRows){
    .order = minibatch->order, .of = minibatch->by == MINIBATCH_ENVIRONMENTS ? OPS_WORLDS : OPS_ROWS,
    .part_rows = (uint32_t)minibatch->all_rows, .parts = (uint32_t)minibatch->parts, .steps = (uint32_t)rollout->steps,
    .all_worlds = (uint32_t)shards->all_worlds, .first_world = (uint32_t)shards->first_world,
    .worlds = (uint32_t)shards->worlds, .shard_worlds = (uint32_t)shards_worlds(shards), .shards = (uint32_t)shards->shards,
    .count = minibatch->chunk_rows, .total = minibatch->part_begins, .rows = minibatch->own};
}

void minibatch_device_register(Minibatch *minibatch, const Rollout *rollout, CoreArena *arena) {
  const OpsChooseRows rows = rows_of(minibatch, rollout);
  const size_t parts = (size_t)minibatch->parts, shards = (size_t)rollout->shards.shards;
  CORE_ARENA_DEVICE(arena, minibatch->own, (size_t)rollout->steps * (size_t)rollout->worlds,
                    "minibatch rows of this rank [minibatches][rows]");
  CORE_ARENA_DEVICE(arena, minibatch->chunk_rows, parts * ops_chunks(&rows) * shards, "rows of chunks [chunks][shards]");
  CORE_ARENA_DEVICE(arena, minibatch->part_begins, parts * shards, "where rows of shards begin [minibatches][shards]");
  CORE_ARENA(arena, minibatch->part_rows, parts * shards, "minibatch rows of shards [minibatches][shards]");
}

static void launch(CoreDevice *device, const CoreKernel *kernel, const OpsChooseRows *rows, size_t elements) {
  device->launch(device, kernel, core_device_blocks(elements, THREADS, BLOCKS_MAX), THREADS, 0, rows);
}

void minibatch_device_choose_rows(CoreDevice *device, const OpsChooseRows *rows, uint32_t all, uint32_t *part_rows) {
  const size_t chunks = rows->parts * ops_chunks(rows), n = (size_t)rows->parts * rows->shards;
  launch(device, &ops_count_rows_launch, rows, chunks);
  launch(device, &ops_scan_rows_launch, rows, n);
  core_device_to_host(device, part_rows, rows->total, n * sizeof *part_rows);
  uint32_t *begins = core_memory_allocate(n * sizeof *begins), sum = 0;
  for (size_t i = 0; i < n; i++) {
    begins[i] = sum;
    sum += part_rows[i];
  }
  CORE_CHECK(sum == all); /* each row is in one part */
  core_device_to_device(device, rows->total, begins, n * sizeof *begins);
  free(begins);
  launch(device, &ops_place_rows_launch, rows, chunks);
}

void minibatch_device_choose(Minibatch *minibatch, const Rollout *rollout) {
  const OpsChooseRows rows = rows_of(minibatch, rollout);
  minibatch_device_choose_rows(rollout->device, &rows, (uint32_t)rollout->steps * (uint32_t)rollout->worlds,
                               minibatch->part_rows);
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
  const OpsRunRows run = {rows, (size_t)minibatch->rows, (uint32_t)shards->worlds, (uint32_t)shards->all_worlds,
                          (uint32_t)shards->first_world, minibatch->index_room};
  rollout->device->launch(rollout->device, &ops_run_rows_launch, core_device_blocks(run.n, THREADS, BLOCKS_MAX), THREADS, 0,
                          &run);
}
