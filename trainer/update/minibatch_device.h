/* minibatch.h where the permutation is on a device and ranks or shards divide it; called by minibatch.c, and for SAPG's
 * samples by learners/sapg_data.c. */
#ifndef TRAINER_MINIBATCH_DEVICE_H
#define TRAINER_MINIBATCH_DEVICE_H
#include "core/device/arena.h"
#include "trainer/ops/kernels/kernels_ranks.h"
#include "trainer/update/minibatch.h"

void minibatch_device_register(Minibatch *minibatch, const Rollout *rollout, CoreArena *arena);
/* After a new permutation: this rank's rows of all its parts. Waits for the device once. */
void minibatch_device_choose(Minibatch *minibatch, const Rollout *rollout);
/* `all` rows are this rank's; rows->total: room for parts * shards + 1. part_rows [parts][shards] on the host: how
 * many of them each part has of each shard. Waits. */
void minibatch_device_choose_rows(CoreDevice *device, const OpsChooseRows *rows, uint32_t all, uint32_t *part_rows);
/* Part m's rows and how many of them each shard has. */
void minibatch_device_select(Minibatch *minibatch, const Rollout *rollout, int m);
/* A shard's rows of the present step's part (ops->update), filled up, to taken_rows and index_room. */
void minibatch_device_take(Minibatch *minibatch, Ops *ops, const Rollout *rollout, int shard);
/* `rows` [minibatch->rows] of this rank -> those of the run, in index_room. */
void minibatch_device_rows_of_run(Minibatch *minibatch, const Rollout *rollout, const uint32_t *rows);

#endif
