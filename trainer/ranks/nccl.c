/* Communicator over NCCL (communicator.h). Its library is opened on first use, so that the program starts where there
 * is none. The first rank creates the common id and broadcasts it through MPI.
 *
 * No rank waits for another without a limit. The communicator is nonblocking: a call returns at once, and the host
 * polls until it is complete. Connecting includes the first sums, in which NCCL opens its connections. All ranks poll
 * together, through MPI: they give up when one of them has failed, or after COMMUNICATOR_CONNECT_S. Later, the rank
 * monitor (rank_monitor.c) detects a dead rank and ends the others even while their GPUs wait for it. NCCL reports
 * other failures, a broken network or GPU, asynchronously: the host checks for them whenever it waits for the device.
 * It then ends all ranks with NCCL's message, also after a wait of COMMUNICATOR_SUM_S.
 *
 * Calls may be captured in graphs, by NCCL's rules: one GPU per process; all ranks capture the same calls, and launch
 * their graphs equally often; the first calls, in which NCCL connects, are not captured; graphs are destroyed before
 * the communicator, since ncclCommFinalize, ncclCommDestroy and ncclCommAbort wait until no graph has its calls. NCCL
 * may launch a call's kernels from a thread of its own, so the next operation is issued when the call is complete. */
#include "core/device/device.h"
#include "trainer/ranks/communicator.h"

#include "core/error.h"

#if CORE_HAS_NCCL
#include <dlfcn.h>
#include <nccl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "trainer/ranks/ranks.h"

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 14, 0) /* introduced nonblocking communicators; graph capture came with 2.9 */
#error "NCCL 2.14 or later is needed: set NCCL_HOME to one, or take its nccl.h out of CUDA_HOME/include"
#endif
_Static_assert(sizeof(ncclUniqueId) == NCCL_UNIQUE_ID_BYTES, "an id is told to the other ranks as its bytes");

/* Used functions, with NCCL's own types. */
#define FUNCTIONS(F) \
  F(ncclGetVersion) F(ncclGetUniqueId) F(ncclCommInitRankConfig) F(ncclAllReduce) F(ncclAllGather) \
  F(ncclGetErrorString) F(ncclGetLastError) F(ncclCommGetAsyncError) F(ncclCommAbort) F(ncclCommFinalize) \
  F(ncclCommDestroy)

#define F(name) __typeof__(&name) name;
static struct { void *file; FUNCTIONS(F) } nccl;
#undef F

typedef struct ByNccl {
  Communicator table;
  ncclComm_t comm;
  double wait_limit_s;         /* seconds that the host waits for the device, or for a call to complete */
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

/* Ends all ranks on an error: gradients of this rank are lost and the others wait for them. The process ends at once,
 * including its work on the GPU; ncclCommAbort would first wait for graphs that the learner still has. */
static void check(const ByNccl *way, ncclResult_t code, const char *what) {
  char text[512], message[640];
  if (code == ncclSuccess || code == ncclInProgress) return;
  snprintf(message, sizeof message, "NCCL: %s failed: %s; set NCCL_DEBUG=INFO for details", what,
           explain(way, code, text));
  ranks_fail(message);
}

static void check_wait(const ByNccl *way, double seconds, const char *what) {
  char message[256];
  if (seconds < way->wait_limit_s) return;
  snprintf(message, sizeof message, "NCCL: %s is not complete after %.0f s: another rank does not take part, or the "
           "network has failed; set NCCL_DEBUG=INFO for details", what, seconds);
  ranks_fail(message);
}

static ncclResult_t poll_state(const ByNccl *way) {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t code = nccl.ncclCommGetAsyncError(way->comm, &state);
  return code == ncclSuccess ? state : code;
}

/* Waits until NCCL has launched a call. */
static void complete(const ByNccl *way, ncclResult_t code, const char *what) {
  const double start = core_clock_s();
  for (; code == ncclInProgress; code = poll_state(way)) {
    check_wait(way, core_clock_s() - start, what);
    sched_yield();
  }
  check(way, code, what);
}

static void look_for_errors(void *waiting, double seconds) {
  const ByNccl *way = waiting;
  check(way, poll_state(way), "communication between ranks");
  check_wait(way, seconds, "communication between ranks");
}

static ncclResult_t start_sum(const ByNccl *way, void *x, size_t n, CommunicatorNumber number) {
  CoreDevice *device = way->table.device;
  device->comm_start(device, x, n * communicator_size(number));
  return nccl.ncclAllReduce(x, x, n, number == COMMUNICATOR_FLOAT ? ncclFloat : ncclDouble, ncclSum, way->comm,
                            device->communication_stream);
}

static void sum(Communicator *communicator, void *x, size_t n, CommunicatorNumber number) {
  ByNccl *way = (ByNccl *)communicator;
  complete(way, start_sum(way, x, n, number), "ncclAllReduce");
  way->pending = true;
}

static void finish(Communicator *communicator) {
  communicator->device->comm_wait(communicator->device);
  ((ByNccl *)communicator)->pending = false;
}

static ncclResult_t start_gather(const ByNccl *way, const void *sent, size_t bytes, void *gathered) {
  return nccl.ncclAllGather(sent, gathered, bytes, ncclChar, way->comm, way->table.device->stream);
}

static void gather(Communicator *communicator, const void *sent, size_t bytes, void *gathered) {
  const ByNccl *way = (const ByNccl *)communicator;
  complete(way, start_gather(way, sent, bytes, gathered), "ncclAllGather");
}

static void destroy(Communicator *communicator) {
  ByNccl *way = (ByNccl *)communicator;
  CoreDevice *device = communicator->device;
  if (!way->pending) device->synchronize(device);
  device->on_wait = NULL;
  if (way->pending) {
    nccl.ncclCommAbort(way->comm); /* a rank gave up in the middle of a minibatch */
  } else {
    complete(way, nccl.ncclCommFinalize(way->comm), "ncclCommFinalize");
    nccl.ncclCommDestroy(way->comm);
  }
  free(way);
}

/* ---- connecting -------------------------------------------------------------------------------------------------- */

typedef struct Connecting {
  double start, limit_s;
  bool has_advised;
} Connecting;

/* Returns a limit in seconds, which tests shorten. */
static double limit_of(const char *variable, double usual) {
  const char *text = getenv(variable);
  const double seconds = text ? atof(text) : 0;
  return seconds > 0 ? seconds : usual;
}

static void advise(Connecting *connecting, double seconds) {
  if (connecting->has_advised || seconds < COMMUNICATOR_ADVICE_S || !ranks_is_first()) return;
  core_warn("NCCL: the ranks are not connected after %.0f s; if their machines have several networks, name the one "
            "that connects them, for example NCCL_SOCKET_IFNAME=eth0 (NCCL_DEBUG=INFO logs which one NCCL uses)",
            seconds);
  connecting->has_advised = true;
}

/* Returns the error of this rank. Prints it, in case the ranks cannot agree on it any more. */
static int report(const ByNccl *way, ncclResult_t state, const char *what, double seconds) {
  char text[512], who[160];
  int code = CORE_OK;
  if (state == ncclInProgress)
    code = core_error(CORE_FAIL, "NCCL: %s of %d ranks is not complete after %.0f s; check that NCCL uses the network "
                      "that connects the machines (NCCL_SOCKET_IFNAME), set NCCL_DEBUG=INFO for details, or "
                      "comm.library = mpi", what, ranks_size(), seconds);
  else if (state != ncclSuccess)
    code = core_error(CORE_FAIL, "NCCL: cannot connect %d ranks: %s; set NCCL_DEBUG=INFO for details, or "
                      "comm.library = mpi", ranks_size(), explain(way, state, text));
  if (code != CORE_OK && !ranks_is_first())
    fprintf(stderr, "trainer: %s: %s\n", ranks_describe(ranks_rank(), who), core_error_message());
  return code;
}

/* Waits, together with all ranks, until the call that returned `state` is complete at every rank. CORE_FAIL, at all
 * ranks: it failed at one of them, or the limit has passed. */
static int complete_together(const ByNccl *way, Connecting *connecting, ncclResult_t state, const char *what) {
  enum { FAILED, UNFINISHED, LATE, SIGNS, POLL_US = 5000 };
  for (;;) {
    const double seconds = core_clock_s() - connecting->start;
    double sign[SIGNS];

    if (state == ncclInProgress) state = poll_state(way);
    sign[FAILED] = state != ncclSuccess && state != ncclInProgress;
    sign[UNFINISHED] = state == ncclInProgress;
    sign[LATE] = seconds > connecting->limit_s;
    ranks_max(sign, SIGNS);

    if (sign[FAILED] == 0 && sign[UNFINISHED] == 0) return CORE_OK;
    if (sign[FAILED] > 0 && state == ncclInProgress) return ranks_agree(CORE_OK); /* with the other rank's error */
    if (sign[FAILED] > 0 || sign[LATE] > 0) return ranks_agree(report(way, state, what, seconds));
    advise(connecting, seconds);
    usleep(POLL_US);
  }
}

static int connect_ranks(ByNccl *way, Connecting *connecting) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclUniqueId id = {{0}};
  ncclResult_t status = ncclSuccess;
  char text[512];
  int code = CORE_OK;
  if (ranks_is_first()) status = nccl.ncclGetUniqueId(&id);
  if (status != ncclSuccess)
    code = core_error(CORE_FAIL, "NCCL: ncclGetUniqueId failed: %s", explain(way, status, text));
  TRY(ranks_agree(code));
  ranks_broadcast(&id, sizeof id);
  connecting->start = core_clock_s();
  config.blocking = 0;
  status = nccl.ncclCommInitRankConfig(&way->comm, ranks_size(), id, ranks_rank(), &config);
  return complete_together(way, connecting, status, "connecting");
}

/* Makes the first exchanges, of a few and of many bytes: NCCL connects when it first uses an algorithm. */
static int exchange_first(ByNccl *way, Connecting *connecting) {
  enum { LARGE = 1 << 18 };
  CoreDevice *device = way->table.device;
  const size_t numbers[] = {1, LARGE};
  void *memory = NULL;
  int code = ranks_agree(device->allocate(device, LARGE * sizeof(float), &memory));

  for (int i = 0; i < 2; i++) {
    if (code != CORE_OK) break;
    code = complete_together(way, connecting, start_sum(way, memory, numbers[i], COMMUNICATOR_FLOAT), "the first sum");
    if (code == CORE_OK) finish(&way->table);
  }

  const size_t share = LARGE * sizeof(float) / (size_t)ranks_size();
  char *slice = (char *)memory + share * (size_t)ranks_rank();
  if (code == CORE_OK)
    code = complete_together(way, connecting, start_gather(way, slice, share, memory), "the first gathering");

  if (code == CORE_OK) device->synchronize(device); /* look_for_errors has the limit */
  if (code == CORE_OK) device->release(device, memory);
  return code; /* else the memory may be in use until the process ends */
}

int communicator_nccl(CoreDevice *device, Communicator **communicator) {
  ByNccl *way = core_memory_zero_allocate(1, sizeof *way);
  Connecting connecting = {.limit_s = limit_of("TRAINER_CONNECT_SECONDS", COMMUNICATOR_CONNECT_S)};
  int version = 0;
  way->table = (Communicator){.device = device, .is_queued = true, .sum = sum, .finish = finish, .gather = gather,
                              .destroy = destroy};
  way->wait_limit_s = connecting.limit_s;

  int code = connect_ranks(way, &connecting);
  device->waiting = way;
  if (code == CORE_OK) {
    device->on_wait = look_for_errors;
    code = exchange_first(way, &connecting);
  }

  if (code != CORE_OK) {
    device->on_wait = NULL;
    if (way->comm) nccl.ncclCommAbort(way->comm);
    free(way);
    return code;
  }

  way->wait_limit_s = limit_of("TRAINER_SUM_SECONDS", COMMUNICATOR_SUM_S);
  nccl.ncclGetVersion(&version);
  snprintf(way->table.name, sizeof way->table.name, "NCCL %d.%d.%d, %d ranks", version / 10000, version / 100 % 100,
           version % 100, ranks_size());
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
