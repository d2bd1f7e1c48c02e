/* Collective communication of device memory between ranks: gradients, and sums of statistics. For host memory see
 * ranks.h. A table with three implementations:
 * - NCCL: from device to device.
 * - MPI on copies in host memory: where there is no NCCL, or several ranks share a GPU.
 * - For emulated devices: MPI calls as operations of the device, as NCCL's are on a GPU.
 *
 * A sum starts immediately and runs in the communication stream (device.h), concurrently with later kernels. `finish`
 * makes the current stream wait for all sums. All ranks make the same calls in the same order. Where `is_queued`, no
 * call blocks the host, and all of them can be captured in a graph, which all ranks must launch equally often. */
#ifndef TRAINER_COMMUNICATOR_H
#define TRAINER_COMMUNICATOR_H
#include "core/config/config.h"
#include "core/device/device.h"

typedef enum CommunicatorNumber { COMMUNICATOR_FLOAT, COMMUNICATOR_DOUBLE } CommunicatorNumber;
static inline size_t communicator_size(CommunicatorNumber number) {
  return number == COMMUNICATOR_FLOAT ? sizeof(float) : sizeof(double);
}

/* Limits of NCCL's waits for other ranks, in seconds: until all are connected and have made a first sum; until a
 * warning with advice; and until the device has done what the host waits for, at most an iteration, which a rank may
 * enter much later than another. */
enum { COMMUNICATOR_CONNECT_S = 120, COMMUNICATOR_ADVICE_S = 10, COMMUNICATOR_SUM_S = 7200 };

typedef struct Communicator Communicator;
struct Communicator {
  char name[96];               /* "NCCL 2.28.3, 8 ranks" */
  CoreDevice *device;
  size_t bucket_bytes;         /* bytes of one sum: gradients are summed in buckets of this size (comm.bucket_kb) */
  bool is_queued;              /* calls are operations of the device and never block the host */
  /* Starts x[n] = the sum over all ranks, in place (all-reduce). x must not be accessed until finish. */
  void (*sum)(Communicator *communicator, void *x, size_t n, CommunicatorNumber number);
  /* Makes later operations of the current stream wait for all sums. */
  void (*finish)(Communicator *communicator);
  /* Writes own[bytes] of every rank, in rank order, to all [ranks][bytes] at every rank (all-gather), in the current
   * stream. */
  void (*gather)(Communicator *communicator, const void *own, size_t bytes, void *all);
  void (*destroy)(Communicator *communicator);
};

/* Creates the implementation that comm.library names, or for auto the best available one; called by all ranks. The
 * caller destroys it; the device must outlive it. shared_gpu: some GPU has several ranks, which NCCL refuses. At all
 * ranks CORE_USAGE: comm.library = nccl, but it is unavailable; CORE_FAIL: NCCL could not connect the ranks within
 * COMMUNICATOR_CONNECT_S. */
int communicator_create(CoreDevice *device, const CoreConfig *config, bool shared_gpu, Communicator **communicator);
void communicator_destroy(Communicator **communicator);

/* ---- the three implementations ----------------------------------------------------------------------------------- */

Communicator *communicator_mpi(CoreDevice *device);
Communicator *communicator_emulated(CoreDevice *device);
/* Whether NCCL's shared library can be used; it is opened at the first call. reason (>= 256 bytes): why not. */
bool communicator_nccl_is_available(const CoreDevice *device, char *reason);
/* Creates a communicator over NCCL; called by all ranks, if NCCL is available at all of them. */
int communicator_nccl(CoreDevice *device, Communicator **communicator);

#endif
