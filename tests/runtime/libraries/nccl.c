/* A stand-in for NCCL (libnccl.so.2) on top of the stand-in for the CUDA runtime: the functions that
 * trainer/ranks/nccl.c uses, for nonblocking communicators. NCCL's kernels are replaced by MPI calls that the host
 * makes in stream order, and that can be captured: ranks whose calls differ in kind or order deadlock, as with NCCL.
 * Unlike with NCCL, a rank's calls make progress only while its host waits for its device.
 *
 * Every call is in progress until the host has asked for its state a few times, and no other call may be made before.
 *
 * NCCL_STAND_IN=fail_rank=R makes a call of rank R fail, hang_rank=R makes it stay in progress, stick_rank=R makes
 * its device never complete it; call=N is the call: 0, the default, creates the communicator, which then stays in
 * progress at the other ranks too; 1 is the first sum or gathering. */
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "tests/runtime/runtime.h"
#include "trainer/ranks/ranks.h"

#define EXPORT __attribute__((visibility("default")))

struct ncclComm {
  int ranks;
  int calls;          /* sums and gatherings so far */
  int polls;          /* requests for the state until the call in progress is complete; STAYS: never */
  ncclResult_t result; /* result of the call in progress */
  int is_aborted;
};
enum { STAYS = -1, POLLS = 3 };

typedef struct Call {
  enum { SUM_FLOATS, SUM_DOUBLES, GATHER } kind;
  const void *source;
  void *target;
  size_t n;
  ncclComm_t comm;
  int sticks;
} Call;

EXPORT ncclResult_t ncclGetVersion(int *version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  snprintf(id->internal, sizeof id->internal, "stand-in");
  return ncclSuccess;
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

/* Returns the number after `name=` in NCCL_STAND_IN, or `missing`. */
static int setting(const char *name, int missing) {
  const size_t n = strlen(name);
  for (const char *at = getenv("NCCL_STAND_IN"); at; at = strchr(at, ',')) {
    at += *at == ',';
    if (strncmp(at, name, n) == 0 && at[n] == '=') return atoi(at + n + 1);
  }
  return missing;
}

/* Whether this rank's call is the one that `name` spoils. */
static int is_hit(const char *name, int call) {
  return setting(name, -1) == ranks_rank() && setting("call", 0) == call;
}

/* Begins a call of the communicator. */
static ncclResult_t begin(ncclComm_t comm, int call) {
  const int spoils_one = setting("fail_rank", -1) >= 0 || setting("hang_rank", -1) >= 0;
  const int spoils_all = call == 0 && setting("call", 0) == 0 && spoils_one;
  comm->result = is_hit("fail_rank", call) ? ncclRemoteError : ncclSuccess;
  comm->polls = is_hit("hang_rank", call) || (spoils_all && comm->result == ncclSuccess) ? STAYS : POLLS;
  return ncclInProgress;
}

static int is_busy(const struct ncclComm *comm) { return comm->polls != 0; }

EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result) {
  if (comm == NULL) return ncclInvalidArgument;
  if (comm->polls > 0) comm->polls--;
  *result = comm->polls != 0 ? ncclInProgress : comm->result;
  return ncclSuccess;
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

/* Creates a communicator of all ranks of the program, in MPI's order; each must pass the first rank's id. */
EXPORT ncclResult_t ncclCommInitRankConfig(ncclComm_t *made, int ranks, ncclUniqueId id, int rank,
                                           ncclConfig_t *config) {
  if (strcmp(id.internal, "stand-in") != 0 || ranks != ranks_size() || rank != ranks_rank()) return ncclInvalidArgument;
  if (config->magic != (unsigned)0xcafebeef || config->blocking != 0) return ncclInvalidArgument;
  *made = core_memory_zero_allocate(1, sizeof **made);
  (*made)->ranks = ranks;
  return begin(*made, 0);
}

EXPORT const char *ncclGetErrorString(ncclResult_t code) {
  if (code == ncclRemoteError) return "remote process exited or there was a network error";
  return code == ncclSuccess ? "no error" : "an error";
}
EXPORT const char *ncclGetLastError(ncclComm_t comm) {
  return comm == NULL ? NULL : comm->result == ncclSuccess ? "" : "Call to connect failed: Connection refused";
}

EXPORT ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (is_busy(comm)) return ncclInvalidUsage;
  comm->polls = POLLS;
  return ncclInProgress;
}

EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (is_busy(comm)) return ncclInvalidUsage;
  free(comm);
  return ncclSuccess;
}

/* Ends the calls that are enqueued, as NCCL's kernels end; they keep the communicator. */
EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->is_aborted = 1;
  return ncclSuccess;
}

/* ---- sums and gatherings ----------------------------------------------------------------------------------------- */

/* The source may be a part of the target, which MPI forbids. */
static void gather(const void *source, size_t n, void *target) {
  void *own = core_memory_allocate(n);
  memcpy(own, source, n);
  ranks_gather_all(own, n, target);
  free(own);
}

static void execute(void *data) {
  const Call *call = data;
  if (call->comm->is_aborted) return;
  if (call->sticks) {
    runtime_stream_stick();
    return;
  }
  const size_t bytes = call->n * (call->kind == SUM_FLOATS ? sizeof(float) : sizeof(double));
  if (call->kind != GATHER && call->source != call->target) memcpy(call->target, call->source, bytes);
  switch (call->kind) {
    case SUM_FLOATS: ranks_sum_floats(call->target, call->n); break;
    case SUM_DOUBLES: ranks_sum(call->target, call->n); break;
    case GATHER: gather(call->source, call->n, call->target); break;
  }
}

/* Enqueues a call. Calls are never freed, because a graph may execute them again. */
static ncclResult_t enqueue(ncclComm_t comm, Call call, cudaStream_t stream) {
  Call *kept = core_memory_allocate(sizeof *kept);
  *kept = call;
  if (is_busy(comm)) return ncclInvalidUsage;
  const ncclResult_t state = begin(comm, ++comm->calls);
  kept->sticks = is_hit("stick_rank", comm->calls);
  if (comm->polls == STAYS || comm->result != ncclSuccess) return state;
  return cudaLaunchHostFunc(stream, execute, kept) == cudaSuccess ? state : ncclUnhandledCudaError;
}

EXPORT ncclResult_t ncclAllReduce(const void *source, void *target, size_t n, ncclDataType_t type, ncclRedOp_t op,
                                  ncclComm_t comm, cudaStream_t stream) {
  if (comm == NULL || op != ncclSum || (type != ncclFloat && type != ncclDouble)) return ncclInvalidArgument;
  const Call call = {.kind = type == ncclFloat ? SUM_FLOATS : SUM_DOUBLES, .source = source, .target = target, .n = n,
                     .comm = comm};
  return enqueue(comm, call, stream);
}

/* Gathers in place if the source is the rank's part of the target; otherwise they must not overlap. */
EXPORT ncclResult_t ncclAllGather(const void *source, void *target, size_t n, ncclDataType_t type, ncclComm_t comm,
                                  cudaStream_t stream) {
  const char *part = source, *all = target;
  const int is_in_place = part == all + n * (size_t)ranks_rank();
  if (type != ncclChar || (!is_in_place && part < all + n * (size_t)comm->ranks && all < part + n))
    return ncclInvalidArgument;
  return enqueue(comm, (Call){.kind = GATHER, .source = source, .target = target, .n = n, .comm = comm}, stream);
}
