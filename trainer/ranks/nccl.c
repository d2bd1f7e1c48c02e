/* Communicator over NCCL (communicator.h). Its library is opened on first use, so that the program starts where there
 * is none. The first rank creates the common id and broadcasts it through MPI.
 *
 * The rank monitor (rank_monitor.c) detects a dead rank and ends the others even while their GPUs wait for it. NCCL
 * reports other failures, a broken network or GPU, asynchronously: the host checks for them whenever it waits for the
 * device, and ends its process, which the rank monitor then reports to the others.
 *
 * Calls may be captured in graphs, by NCCL's rules: one GPU per process; all ranks capture the same calls, and launch
 * their graphs equally often; the first calls, in which NCCL connects, are not captured; graphs are destroyed before
 * the communicator, since both ncclCommDestroy and ncclCommAbort wait until no graph has its calls. */
#include "core/device/device.h"
#include "trainer/ranks/communicator.h"

#include "core/error.h"

#if CORE_HAS_NCCL
#include <dlfcn.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "trainer/ranks/ranks.h"

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 13, 0) /* introduced ncclGetLastError; graph capture came with 2.9 */
#error "NCCL 2.13 or later is needed: set NCCL_HOME to one, or take its nccl.h out of CUDA_HOME/include"
#endif
_Static_assert(sizeof(ncclUniqueId) == NCCL_UNIQUE_ID_BYTES, "an id is told to the other ranks as its bytes");

/* Used functions, with NCCL's own types. */
#define FUNCTIONS(F) \
  F(ncclGetVersion) F(ncclGetUniqueId) F(ncclCommInitRank) F(ncclAllReduce) F(ncclAllGather) F(ncclGetErrorString) \
  F(ncclGetLastError) F(ncclCommGetAsyncError) F(ncclCommAbort) F(ncclCommDestroy)

#define F(name) __typeof__(&name) name;
static struct { void *file; FUNCTIONS(F) } nccl;
#undef F

typedef struct ByNccl {
  Communicator table;
  ncclComm_t comm;
  bool pending;                /* sums were started that the other ranks may never join */
} ByNccl;

static bool load(char *reason) {
  enum { REASON = 256 };
  char versioned[32];
  if (nccl.file) return true;
  snprintf(versioned, sizeof versioned, "libnccl.so.%d", NCCL_MAJOR);
  void *file = dlopen(versioned, RTLD_NOW | RTLD_LOCAL);
  if (file == NULL) {
    snprintf(reason, REASON, "%.160s; load the NCCL module or set LD_LIBRARY_PATH to its lib", dlerror());
    return false;
  }
#define F(name)                                              \
  *(void **)&nccl.name = dlsym(file, #name);                 \
  if (nccl.name == NULL) {                                   \
    snprintf(reason, REASON, "%s has no %s", versioned, #name); \
    dlclose(file);                                           \
    return false;                                            \
  }
  FUNCTIONS(F)
#undef F
  nccl.file = file;
  return true;
}

bool communicator_nccl_is_available(const CoreDevice *device, char *reason) {
  enum { REASON = 256 };
  if (device->communication_stream == NULL) {
    snprintf(reason, REASON, "the device is not a GPU: %s", device->description);
    return false;
  }
  return load(reason);
}

/* Formats an error. NCCL's last message is often the only hint at the cause ("Call to connect failed: Connection
 * refused"). */
static const char *explain(const ByNccl *way, ncclResult_t code, char text[512]) {
  const char *more = nccl.ncclGetLastError(way->comm);
  snprintf(text, 512, "%s%s%.400s", nccl.ncclGetErrorString(code), more && more[0] ? ": " : "", more ? more : "");
  return text;
}

/* Ends the process on an error: gradients of this rank are lost and the others wait for them. The process ends at once,
 * including its work on the GPU; ncclCommAbort would first wait for graphs that the learner still has. */
static void check(ByNccl *way, ncclResult_t code, const char *what) {
  char text[512];
  if (code == ncclSuccess || code == ncclInProgress) return;
  fprintf(stderr, "NCCL: %s failed: %s; set NCCL_DEBUG=INFO for details\n", what, explain(way, code, text));
  core_error_abort(__FILE__, __LINE__, what);
}

static void look_for_errors(void *waiting) {
  ByNccl *way = waiting;
  ncclResult_t result = ncclSuccess;
  check(way, nccl.ncclCommGetAsyncError(way->comm, &result), "ncclCommGetAsyncError");
  check(way, result, "communication between ranks");
}

static void sum(Communicator *communicator, void *x, size_t n, CommunicatorNumber number) {
  ByNccl *way = (ByNccl *)communicator;
  CoreDevice *device = communicator->device;
  device->comm_start(device, x, n * communicator_size(number));
  check(way, nccl.ncclAllReduce(x, x, n, number == COMMUNICATOR_FLOAT ? ncclFloat : ncclDouble, ncclSum, way->comm,
                                device->communication_stream), "ncclAllReduce");
  way->pending = true;
}

static void finish(Communicator *communicator) {
  communicator->device->comm_wait(communicator->device);
  ((ByNccl *)communicator)->pending = false;
}

static void gather(Communicator *communicator, const void *own, size_t bytes, void *all) {
  ByNccl *way = (ByNccl *)communicator;
  CoreDevice *device = communicator->device;
  check(way, nccl.ncclAllGather(own, all, bytes, ncclChar, way->comm, device->stream), "ncclAllGather");
}

static void destroy(Communicator *communicator) {
  ByNccl *way = (ByNccl *)communicator;
  CoreDevice *device = communicator->device;
  if (!way->pending) device->synchronize(device);
  device->on_wait = NULL;
  if (way->pending) nccl.ncclCommAbort(way->comm); /* a rank gave up in the middle of a minibatch */
  else nccl.ncclCommDestroy(way->comm);
  free(way);
}

int communicator_nccl(CoreDevice *device, Communicator **communicator) {
  ByNccl *way = core_memory_zero_allocate(1, sizeof *way);
  ncclUniqueId id = {{0}};
  ncclResult_t status = ncclSuccess;
  char text[512];
  int version = 0, code = CORE_OK;
  if (ranks_is_first()) status = nccl.ncclGetUniqueId(&id);
  if (status != ncclSuccess)
    code = core_error(CORE_FAIL, "NCCL: ncclGetUniqueId failed: %s", explain(way, status, text));
  code = ranks_agree(code);
  if (code == CORE_OK) {
    ranks_broadcast(&id, sizeof id);
    status = nccl.ncclCommInitRank(&way->comm, ranks_size(), id, ranks_rank());
    if (status != ncclSuccess)
      code = core_error(CORE_FAIL, "NCCL: cannot connect %d ranks: %s; set NCCL_DEBUG=INFO for details, "
                        "or comm.library = mpi", ranks_size(), explain(way, status, text));
    code = ranks_agree(code);
  }
  if (code != CORE_OK) {
    if (way->comm) nccl.ncclCommAbort(way->comm);
    free(way);
    return code;
  }
  way->table = (Communicator){.device = device, .is_queued = true, .sum = sum, .finish = finish, .gather = gather,
                              .destroy = destroy};
  nccl.ncclGetVersion(&version);
  snprintf(way->table.name, sizeof way->table.name, "NCCL %d.%d.%d, %d ranks", version / 10000, version / 100 % 100,
           version % 100, ranks_size());
  device->waiting = way;
  device->on_wait = look_for_errors;
  *communicator = &way->table;
  return CORE_OK;
}
#else
#include <stdio.h>

bool communicator_nccl_is_available(const CoreDevice *device, char *reason) {
  (void)device;
  snprintf(reason, 256, "this program was built without NCCL (nccl.h was not found)");
  return false;
}

int communicator_nccl(CoreDevice *device, Communicator **communicator) {
  (void)device;
  (void)communicator;
  return core_error(CORE_USAGE, "this program was built without NCCL");
}
#endif
