/* Batches with worlds on a device: their backend, and the device memory that they take. */
#ifndef SIM_BATCH_DEVICE_H
#define SIM_BATCH_DEVICE_H
#include "sim/batch/batch.h"

/* Returns the backend for SimBatchOptions.backend. device: borrowed; NULL gives the host's, {0}. */
SimBackend sim_device_backend(CoreDevice *device);

/* Returns the bytes of `device` that such a batch of `worlds` worlds takes in addition to the worlds: storage for
 * contacts that do not fit into the warps' shared memory, for as many warps as the device runs at once. */
size_t sim_device_contact_bytes(const SimBatch *batch, CoreDevice *device, size_t worlds);

/* ---- level_device.c ---------------------------------------------------------------------------------------------- */

/* Random levels generated on a device. A batch's slots are filled with levels of a sequence (level_stream.h), and
 * worlds that ended an episode get new levels, all in device memory. The levels are those that the host would
 * generate. */

/* Generates levels first .. first + count - 1 of the sequence `key` into slots slot, slot + 1, ... of a batch with
 * options.drawn_slots; every world must be reset afterwards. Writes each level's number, as from sim_level_stream_draw,
 * to numbers[count] on the host. Synchronizes a few times per 8192 levels. */
void sim_level_device_draw(SimBatch *batch, uint64_t key, int64_t first, int count, int slot, uint32_t *numbers);
/* Generates levels of known numbers[count] (on the host) in slots slot, slot + 1, ... */
void sim_level_device_restore(SimBatch *batch, uint64_t key, const uint32_t *numbers, int count, int slot);
/* Returns the bytes that the device reserves for stacks of the kernels that generate levels, once for all batches: some
 * 3 GB on an H100, since each thread has a level and its shapes there. */
size_t sim_level_device_stack_bytes(CoreDevice *device);
/* Returns the bytes of the levels that a batch like this one, of `worlds` worlds, draws ahead; 0 where none are new. */
size_t sim_level_device_drawn_bytes(const SimBatch *batch, size_t worlds);
/* Returns the number of new levels that a batch of new levels has drawn within a step or reset, and not ahead of it. */
int64_t sim_level_device_late(const SimBatch *batch);
/* Returns the bytes of the slots in which a batch tests levels of this size for the filter: as many slots as worlds
 * that the device steps at once, whatever the number of the batch's worlds. */
size_t sim_level_device_slot_bytes(SimSize drawn, CoreDevice *device);

#endif
