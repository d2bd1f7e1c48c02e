/* Batches whose worlds are on a device: what makes them, and what such a batch takes of the device's memory. */
#ifndef SIM_BATCH_DEVICE_H
#define SIM_BATCH_DEVICE_H
#include "sim/batch/batch.h"

/* For SimBatchOptions.backend. device: borrowed; NULL gives the host's, {0}. */
SimBackend sim_device_backend(CoreDevice *device);

/* Bytes of `device` that such a batch of `worlds` worlds would take beside the worlds: room for contacts that the warps
 * which step them have no shared memory for, as many warps as the device runs at once. */
size_t sim_device_contact_bytes(const SimBatch *batch, const CoreDevice *device, size_t worlds);

#endif
