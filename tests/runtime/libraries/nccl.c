/* A stand-in for NCCL (libnccl.so.2) on top of the stand-in for the CUDA runtime: the functions that
 * trainer/ranks/nccl.c uses. NCCL's kernels are replaced by MPI calls that the host makes in stream order, and that
 * can be captured: ranks whose calls differ in kind or order deadlock, as with NCCL. Unlike with NCCL, a rank's calls
 * make progress only while its host waits for its device. */
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "trainer/ranks/ranks.h"

#define EXPORT __attribute__((visibility("default")))

struct ncclComm {
  int ranks;
};

typedef struct Call {
  enum { SUM_FLOATS, SUM_DOUBLES, GATHER } kind;
  const void *source;
  void *target;
  size_t n;
} Call;

EXPORT ncclResult_t ncclGetVersion(int *version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  snprintf(id->internal, sizeof id->internal, "stand-in");
  return ncclSuccess;
}

/* Creates a communicator of all ranks of the program, in MPI's order; each must pass the first rank's id. */
EXPORT ncclResult_t ncclCommInitRank(ncclComm_t *made, int ranks, ncclUniqueId id, int rank) {
  if (strcmp(id.internal, "stand-in") != 0 || ranks != ranks_size() || rank != ranks_rank()) return ncclInvalidArgument;
  *made = core_memory_zero_allocate(1, sizeof **made);
  (*made)->ranks = ranks;
  return ncclSuccess;
}

EXPORT const char *ncclGetErrorString(ncclResult_t code) { return code == ncclSuccess ? "no error" : "an error"; }
EXPORT const char *ncclGetLastError(ncclComm_t comm) { return comm ? "" : NULL; }

EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result) {
  *result = ncclSuccess;
  return comm ? ncclSuccess : ncclInvalidArgument;
}

EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  free(comm);
  return ncclSuccess;
}

EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm) {
  free(comm);
  return ncclSuccess;
}

static void execute(void *data) {
  const Call *call = data;
  const size_t bytes = call->n * (call->kind == SUM_FLOATS ? sizeof(float) : sizeof(double));
  if (call->kind != GATHER && call->source != call->target) memcpy(call->target, call->source, bytes);
  switch (call->kind) {
    case SUM_FLOATS: ranks_sum_floats(call->target, call->n); break;
    case SUM_DOUBLES: ranks_sum(call->target, call->n); break;
    case GATHER: ranks_gather_all(call->source, call->n, call->target); break;
  }
}

/* Enqueues a call. Calls are never freed, because a graph may execute them again. */
static ncclResult_t enqueue(Call call, cudaStream_t stream) {
  Call *kept = core_memory_allocate(sizeof *kept);
  *kept = call;
  return cudaLaunchHostFunc(stream, execute, kept) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

EXPORT ncclResult_t ncclAllReduce(const void *source, void *target, size_t n, ncclDataType_t type, ncclRedOp_t op,
                                  ncclComm_t comm, cudaStream_t stream) {
  if (comm == NULL || op != ncclSum || (type != ncclFloat && type != ncclDouble)) return ncclInvalidArgument;
  return enqueue((Call){type == ncclFloat ? SUM_FLOATS : SUM_DOUBLES, source, target, n}, stream);
}

/* Gathers in place if the source is the rank's part of the target; otherwise they must not overlap. */
EXPORT ncclResult_t ncclAllGather(const void *source, void *target, size_t n, ncclDataType_t type, ncclComm_t comm,
                                  cudaStream_t stream) {
  const char *part = source, *all = target;
  if (type != ncclChar || (part < all + n * (size_t)comm->ranks && all < part + n)) return ncclInvalidArgument;
  return enqueue((Call){GATHER, source, target, n}, stream);
}
