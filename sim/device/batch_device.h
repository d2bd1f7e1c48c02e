/* Batches with worlds on a device: their backend, and the device memory that they take. */
#ifndef SIM_BATCH_DEVICE_H
#define SIM_BATCH_DEVICE_H
#include "sim/batch/batch.h"

/* Returns the backend for SimBatchOptions.backend. device: borrowed; NULL gives the host's, {0}. */
SimBackend sim_device_backend(CoreDevice *device);

/* Returns the bytes of `device` that such a batch of `worlds` worlds takes in addition to the worlds: storage for
 * contacts that do not fit into the warps' shared memory, for as many warps as the device runs at once. */
size_t sim_device_contact_bytes(const SimBatch *batch, CoreDevice *device, size_t worlds);

#endif
