/* Interface between batch_device.c and level_device.c. */
#ifndef SIM_LEVEL_DEVICE_INTERNAL_H
#define SIM_LEVEL_DEVICE_INTERNAL_H
#include "sim/batch/batch_internal.h"
#include "sim/device/batch_device.h"
#include "sim/device/level_kernels.h"

/* A batch's memory for generating levels; NULL where it generates none. */
typedef struct SimLevelDevice SimLevelDevice;
int sim_level_device_create(const SimBatch *batch, CoreDevice *device, SimLevelDevice **levels);
void sim_level_device_destroy(SimLevelDevice **levels);
size_t sim_level_device_bytes(const SimLevelDevice *levels);
/* Gives every waiting world a new level, and with `start` starts an episode on it; no world waits then. Most levels are
 * drawn, and most choices of the filter made, ahead: periodically for the episodes that worlds will play next, in
 * CORE_STREAM_AHEAD. stepped: environment steps of worlds since the last call. */
void sim_level_device_renew(const SimBatch *batch, bool start, int stepped);
/* Makes the current stream wait for the work in CORE_STREAM_AHEAD, and stores its levels and choices. */
void sim_level_device_synchronize(const SimBatch *batch);
/* Drops all choices made and levels drawn ahead, since worlds continue with other episodes. */
void sim_level_device_discard(const SimBatch *batch);

/* Returns the batch's memory for generating levels (batch_device.c). */
SimLevelDevice *sim_batch_device_levels(const SimBatch *batch);
CoreDevice *sim_batch_device_of(const SimBatch *batch);
SimDeviceBatch sim_batch_device_view(const SimBatch *batch);
SimDeviceLevelGenerator sim_batch_device_maker(const SimBatch *batch);
/* Slots for testing levels: as many as worlds of this size that the device steps at once, in blocks as for a step. */
typedef struct SimDeviceSlots {
  unsigned blocks;
  size_t each;                 /* slots per block */
  size_t bytes;                /* bytes per slot, in a batch of new levels with flat observations */
} SimDeviceSlots;
/* CORE_USAGE: invalid SIM_WARP_WORLDS in the environment. */
int sim_batch_device_slots(SimSize size, CoreDevice *device, SimDeviceSlots *slots);
/* Runs the tasks of `what` (noop_kernels.h) in `blocks` blocks of slots of the batch, from what->first on; their worlds
 * are overwritten. Fills in what->warp and maker. The batch has a world for each slot of sim_batch_device_slots. */
void sim_batch_device_play_noop(const SimBatch *batch, const SimDeviceNoop *what, unsigned blocks);

#endif
