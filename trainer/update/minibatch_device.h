/* minibatch.h where the permutation is on a device and ranks or shards divide it; called by minibatch.c, and for SAPG's
 * samples by learners/sapg_data.c. */
#ifndef TRAINER_MINIBATCH_DEVICE_H
#define TRAINER_MINIBATCH_DEVICE_H
#include "core/device/arena.h"
#include "trainer/ops/kernels/kernels_ranks.h"
#include "trainer/update/minibatch.h"

void minibatch_device_register(Minibatch *minibatch, const Rollout *rollout, CoreArena *arena);
/* Lists this rank's rows of all parts of a new permutation. Synchronizes once. */
void minibatch_device_list(Minibatch *minibatch, const Rollout *rollout);
/* Lists this rank's rows of all parts where every shard has equally many of each. Reads this rank's units only. */
void minibatch_device_list_exact(Minibatch *minibatch, const Rollout *rollout);
/* Lists this rank's `all` rows part after part; rows->total needs parts * shards + 1 elements. part_rows
 * [parts][shards] on the host: rows of each shard in each part. Synchronizes. */
void minibatch_device_list_rows(CoreDevice *device, const OpsChooseRows *rows, uint32_t all, uint32_t *part_rows);
/* Selects part m: its rows, and the number in each shard. */
void minibatch_device_select(Minibatch *minibatch, const Rollout *rollout, int m);
/* Lists a shard's rows of the current step's part (ops->update), padded, in microbatch_rows and index_buffer. */
void minibatch_device_gather_shard(Minibatch *minibatch, Ops *ops, const Rollout *rollout, int shard);
/* Converts `rows` [minibatch->rows] of this rank to rows of the run, in index_buffer. */
void minibatch_device_rows_of_run(Minibatch *minibatch, const Rollout *rollout, const uint32_t *rows);

#endif
