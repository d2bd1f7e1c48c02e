/* What batch_device.c and level_device.c know of each other. */
#ifndef SIM_LEVEL_DEVICE_INTERNAL_H
#define SIM_LEVEL_DEVICE_INTERNAL_H
#include "sim/batch/batch_internal.h"
#include "sim/device/level_device.h"
#include "sim/device/level_kernels.h"

/* Memory for drawing, the batch's own; NULL where it draws nothing. */
typedef struct SimLevelDevice SimLevelDevice;
int sim_level_device_create(const SimBatch *batch, CoreDevice *device, SimLevelDevice **levels);
void sim_level_device_destroy(SimLevelDevice **levels);
size_t sim_level_device_bytes(const SimLevelDevice *levels);
/* Gives every world on the waiting list a new level, and where `start` puts it at its start; the list is empty then.
 * The filter is mostly through with the level already: every so many steps it is set on what worlds will need next, on
 * a lane of its own (CORE_STREAM_AHEAD). stepped: environment steps of worlds since the last call. */
void sim_level_device_renew(const SimBatch *batch, bool start, int stepped);
/* Waits, on the device, for what the filter is at: nothing is left on its lane. */
void sim_level_device_synchronise(const SimBatch *batch);
/* Nothing is decided ahead any more: worlds go on from other episodes. */
void sim_level_device_forget(const SimBatch *batch);

/* Of batch_device.c. */
SimLevelDevice *sim_batch_device_levels(const SimBatch *batch);
CoreDevice *sim_batch_device_of(const SimBatch *batch);
SimDeviceBatch sim_batch_device_view(const SimBatch *batch);
SimDeviceMaker sim_batch_device_maker(const SimBatch *batch);
/* Places to play in: as many as worlds of the size that the device steps at once, in blocks as steps are launched. */
typedef struct SimDeviceSlots {
  unsigned blocks;
  size_t each;                 /* places of a block */
  size_t bytes;                /* of a place, in a batch of new levels with flat observations */
} SimDeviceSlots;
/* CORE_USAGE: SIM_WARP_WORLDS. */
int sim_batch_device_slots(SimSize size, const CoreDevice *device, SimDeviceSlots *places);
/* Plays what is to be played (idle_kernels.h) in the places of `blocks` blocks of the batch's, from what->first on,
 * whose worlds it replaces; what->warp and maker are filled in. The batch has a world for each of
 * sim_batch_device_slots. */
void sim_batch_device_play_idle(const SimBatch *batch, const SimDeviceIdle *what, unsigned blocks);

#endif
