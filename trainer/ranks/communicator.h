/* What ranks with devices tell each other of numbers that lie there: gradients, and sums that become statistics. A
 * table with three ways behind it: NCCL, from device to device; MPI on copies in the hosts' memory, where NCCL is not
 * there or several ranks share a GPU; and for emulated devices what NCCL is for GPUs, operations of the device that
 * are MPI's. What is on the host already (statistics, messages) goes by ranks.h.
 *
 * Sums are begun as soon as their numbers are there and run beside what is launched next (device.h's second order);
 * `finish` waits for all of them, on the device. All ranks make the same calls in the same order. Where `queues`, none
 * of it waits on the host, and all of it can be recorded in a graph, which all ranks then launch as often. */
#ifndef TRAINER_COMMUNICATOR_H
#define TRAINER_COMMUNICATOR_H
#include "core/config/config.h"
#include "core/device/device.h"

typedef enum CommunicatorNumber { COMMUNICATOR_FLOAT, COMMUNICATOR_DOUBLE } CommunicatorNumber;
static inline size_t communicator_size(CommunicatorNumber number) {
  return number == COMMUNICATOR_FLOAT ? sizeof(float) : sizeof(double);
}

typedef struct Communicator Communicator;
struct Communicator {
  char name[96];               /* "NCCL 2.28.3, 8 ranks" */
  CoreDevice *device;
  size_t bucket_bytes;         /* worth a call of its own (comm.bucket_kb) */
  bool queues;                 /* its calls only queue */
  /* Begins x[n] = the sum over all ranks. x belongs to the communicator until finish. */
  void (*sum)(Communicator *communicator, void *x, size_t n, CommunicatorNumber number);
  /* What is launched from here on sees all sums. */
  void (*finish)(Communicator *communicator);
  /* own[bytes] of every rank, in rank order -> all [ranks][bytes], at every rank, in the order of launches. */
  void (*gather)(Communicator *communicator, const void *own, size_t bytes, void *all);
  void (*destroy)(Communicator *communicator);
};

/* All ranks: what comm.library asks for and is there. shared_gpu: some GPU has several ranks, which NCCL refuses.
 * CORE_USAGE at all ranks: comm.library = nccl, and it can not be had; CORE_FAIL: it could not connect the ranks. */
int communicator_create(CoreDevice *device, const CoreConfig *config, bool shared_gpu, Communicator **communicator);
void communicator_destroy(Communicator **communicator);

/* ---- the three ways ---------------------------------------------------------------------------------------------- */

Communicator *communicator_mpi(CoreDevice *device);
Communicator *communicator_emulated(CoreDevice *device);
/* NCCL's shared library, opened when it is first asked for. *reason (>= 256 bytes) says why it is not there. */
bool communicator_nccl_is_there(const CoreDevice *device, char *reason);
/* All ranks; only where it is there at all of them. */
int communicator_nccl(CoreDevice *device, Communicator **communicator);

#endif
