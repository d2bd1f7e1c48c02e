/* What batch_device.c and level_device.c know of each other. */
#ifndef SIM_LEVEL_DEVICE_INTERNAL_H
#define SIM_LEVEL_DEVICE_INTERNAL_H
#include "sim/batch_internal.h"
#include "sim/level_device.h"
#include "sim/level_kernels.h"

/* Memory for drawing, the batch's own; NULL where it draws nothing. */
typedef struct SimLevelDevice SimLevelDevice;
int sim_level_device_create(const SimBatch *batch, CoreDevice *device, SimLevelDevice **levels);
void sim_level_device_destroy(SimLevelDevice **levels);
size_t sim_level_device_bytes(const SimLevelDevice *levels);
/* Gives every world on the waiting list a new level, and where `start` puts it at its start; the list is empty then. */
void sim_level_device_renew(const SimBatch *batch, bool start);

/* Of batch_device.c. */
SimLevelDevice *sim_batch_device_levels(const SimBatch *batch);
CoreDevice *sim_batch_device_of(const SimBatch *batch);
SimDeviceBatch sim_batch_device_view(const SimBatch *batch);
SimDeviceMaker sim_batch_device_maker(const SimBatch *batch);
/* A step of worlds first .. first + count - 1, without new levels and observations. */
void sim_batch_device_step_some(const SimBatch *batch, int first, int count, const void *actions, const SimStepOut *out);

#endif
