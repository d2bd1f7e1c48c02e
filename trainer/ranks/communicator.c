/* Selection of a communicator, and those that use MPI: on copies in host memory, and for emulated devices
 * (communicator.h). */
#include "trainer/ranks/communicator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/device.h"
#include "core/memory.h"
#include "trainer/ranks/ranks.h"

enum { SUMS_MAX = 256 };

/* ---- MPI on copies ----------------------------------------------------------------------------------------------- */

/* Communicator through host memory. Sums are computed in `finish`, so that the host synchronizes once for all of
 * them. */
typedef struct ByHost {
  Communicator table;
  struct { void *x; size_t n; CommunicatorNumber number; } sum[SUMS_MAX];
  int sums;
  char *host;                 /* grows to the size of the largest sum */
  size_t capacity;
} ByHost;

static void *host_buffer(ByHost *way, size_t bytes) {
  if (bytes > way->capacity) way->host = core_memory_resize(way->host, way->capacity = bytes);
  return way->host;
}

static void sum_by_host(Communicator *communicator, void *x, size_t n, CommunicatorNumber number) {
  ByHost *way = (ByHost *)communicator;
  CORE_CHECK(way->sums < SUMS_MAX);
  communicator->device->comm_start(communicator->device, x, n * communicator_size(number));
  way->sum[way->sums].x = x;
  way->sum[way->sums].n = n;
  way->sum[way->sums++].number = number;
}

static void finish_by_host(Communicator *communicator) {
  ByHost *way = (ByHost *)communicator;
  CoreDevice *device = communicator->device;
  device->comm_wait(device);
  for (int i = 0; i < way->sums; i++) {
    const CommunicatorNumber number = way->sum[i].number;
    const size_t n = way->sum[i].n, bytes = n * communicator_size(number);
    void *host = host_buffer(way, bytes);
    device->to_host(device, host, way->sum[i].x, bytes);
    if (number == COMMUNICATOR_FLOAT) ranks_sum_floats(host, n);
    else ranks_sum(host, n);
    device->to_device(device, way->sum[i].x, host, bytes);
  }
  way->sums = 0;
}

static void gather_by_host(Communicator *communicator, const void *sent, size_t bytes, void *gathered) {
  ByHost *way = (ByHost *)communicator;
  CoreDevice *device = communicator->device;
  const size_t ranks = (size_t)ranks_size();
  char *host = host_buffer(way, (ranks + 1) * bytes), *mine = host + ranks * bytes;
  device->to_host(device, mine, sent, bytes);
  ranks_gather_all(mine, bytes, host);
  device->to_device(device, gathered, host, ranks * bytes);
}

static void destroy_by_host(Communicator *communicator) {
  free(((ByHost *)communicator)->host);
  free(communicator);
}

Communicator *communicator_mpi(CoreDevice *device) {
  ByHost *way = core_memory_zero_allocate(1, sizeof *way);
  way->table = (Communicator){.device = device, .sum = sum_by_host, .finish = finish_by_host, .gather = gather_by_host,
                              .destroy = destroy_by_host};
  snprintf(way->table.name, sizeof way->table.name, "MPI on copies in host memory, %d ranks", ranks_size());
  return &way->table;
}

/* ---- emulated devices only --------------------------------------------------------------------------------------- */

static void exchange_floats(void *x, const void *same, size_t bytes) {
  (void)same;
  ranks_sum_floats(x, bytes / sizeof(float));
}

static void exchange_doubles(void *x, const void *same, size_t bytes) {
  (void)same;
  ranks_sum(x, bytes / sizeof(double));
}

static void exchange_all(void *gathered, const void *sent, size_t bytes) { ranks_gather_all(sent, bytes, gathered); }

static void sum_emulated(Communicator *communicator, void *x, size_t n, CommunicatorNumber number) {
  CoreDevice *device = communicator->device;
  const size_t bytes = n * communicator_size(number);
  device->comm_start(device, x, bytes);
  device->exchange(device, number == COMMUNICATOR_FLOAT ? exchange_floats : exchange_doubles, x, x, bytes);
}

static void finish_emulated(Communicator *communicator) { communicator->device->comm_wait(communicator->device); }

static void gather_emulated(Communicator *communicator, const void *sent, size_t bytes, void *gathered) {
  communicator->device->exchange(communicator->device, exchange_all, gathered, sent, bytes);
}

static void destroy_emulated(Communicator *communicator) { free(communicator); }

Communicator *communicator_emulated(CoreDevice *device) {
  Communicator *way = core_memory_zero_allocate(1, sizeof *way);
  *way = (Communicator){.device = device, .is_queued = true, .sum = sum_emulated, .finish = finish_emulated,
                        .gather = gather_emulated, .destroy = destroy_emulated};
  snprintf(way->name, sizeof way->name, "MPI in the emulated device's streams, %d ranks", ranks_size());
  return way;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* Checks whether this rank can use NCCL. CORE_USAGE: it cannot; the message says why. */
static int check_nccl(const CoreDevice *device, bool shared_gpu) {
  char reason[256] = "";
  if (shared_gpu)
    return core_error(CORE_USAGE, "comm.library = nccl: requires a GPU per rank, but some ranks share one; start fewer "
                      "ranks, or set comm.library = mpi");
  if (communicator_nccl_is_available(device, reason)) return CORE_OK;
  return core_error(CORE_USAGE, "comm.library = nccl: %s; or set comm.library = mpi", reason);
}

int communicator_create(CoreDevice *device, const CoreConfig *config, bool shared_gpu, Communicator **communicator) {
  const bool must = strcmp(config->comm.library, "nccl") == 0;
  int code = CORE_OK;
  *communicator = NULL;

  if (strcmp(config->comm.library, "mpi") == 0) {
    *communicator = communicator_mpi(device);
  } else {
    code = ranks_agree(check_nccl(device, shared_gpu));
    if (code == CORE_OK) code = communicator_nccl(device, communicator);
    else if (!must) {
      core_error_clear();
      code = CORE_OK;
      *communicator = device->exchange ? communicator_emulated(device) : communicator_mpi(device);
    }
  }

  if (code == CORE_OK) (*communicator)->bucket_bytes = (size_t)config->comm.bucket_kb * 1024;
  return code;
}

void communicator_destroy(Communicator **communicator) {
  if (*communicator) (*communicator)->destroy(*communicator);
  *communicator = NULL;
}
