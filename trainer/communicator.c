/* Choosing how gradients go from device to device, and the way through the hosts' memory (communicator.h). */
#include "trainer/communicator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "trainer/ranks.h"

enum { SUMS_MAX = 256 };

/* ---- MPI on copies ----------------------------------------------------------------------------------------------- */

/* Sums wait for `finish`: the host would have to wait for the device in each of them, and one wait is enough. */
typedef struct ByHost {
  Communicator table;
  struct { float *x; size_t n; } sum[SUMS_MAX];
  int sums;
  char *host;                 /* grows to the largest sum, then stays */
  size_t room;
} ByHost;

static void *room_for(ByHost *way, size_t bytes) {
  if (bytes > way->room) way->host = core_memory_resize(way->host, way->room = bytes);
  return way->host;
}

static void sum_by_host(Communicator *communicator, float *x, size_t n) {
  ByHost *way = (ByHost *)communicator;
  CORE_CHECK(way->sums < SUMS_MAX);
  communicator->device->hand_over(communicator->device, x, n * sizeof *x);
  way->sum[way->sums].x = x;
  way->sum[way->sums++].n = n;
  communicator->calls++;
  communicator->bytes += n * sizeof *x;
}

static void finish_by_host(Communicator *communicator) {
  ByHost *way = (ByHost *)communicator;
  CoreDevice *device = communicator->device;
  device->take_back(device);
  for (int i = 0; i < way->sums; i++) {
    const size_t n = way->sum[i].n;
    float *host = room_for(way, n * sizeof *host);
    device->to_host(device, host, way->sum[i].x, n * sizeof *host);
    ranks_sum_floats(host, n);
    device->to_device(device, way->sum[i].x, host, n * sizeof *host);
  }
  way->sums = 0;
}

static void gather_by_host(Communicator *communicator, const void *own, size_t bytes, void *all) {
  ByHost *way = (ByHost *)communicator;
  CoreDevice *device = communicator->device;
  const size_t ranks = (size_t)ranks_size();
  char *host = room_for(way, (ranks + 1) * bytes), *mine = host + ranks * bytes;
  device->to_host(device, mine, own, bytes);
  ranks_gather_all(mine, bytes, host);
  device->to_device(device, all, host, ranks * bytes);
}

static void destroy_by_host(Communicator *communicator) {
  free(((ByHost *)communicator)->host);
  free(communicator);
}

Communicator *communicator_mpi(CoreDevice *device) {
  ByHost *way = core_memory_zero_allocate(1, sizeof *way);
  way->table = (Communicator){.device = device, .sum = sum_by_host, .finish = finish_by_host, .gather = gather_by_host,
                              .destroy = destroy_by_host};
  snprintf(way->table.name, sizeof way->table.name, "MPI on copies in the host's memory, %d ranks", ranks_size());
  return &way->table;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* Can this rank use NCCL? The message says why not. */
static int check_nccl(const CoreDevice *device, bool shared_gpu) {
  char reason[256] = "";
  if (shared_gpu)
    return core_error(CORE_USAGE, "comm.library = nccl: it needs a GPU for each rank, but some share one; start fewer "
                      "ranks, or set comm.library = mpi");
  if (communicator_nccl_is_there(device, reason)) return CORE_OK;
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
      *communicator = communicator_mpi(device);
    }
  }
  if (code == CORE_OK) (*communicator)->bucket_bytes = (size_t)config->comm.bucket_kb * 1024;
  return code;
}

void communicator_destroy(Communicator **communicator) {
  if (*communicator) (*communicator)->destroy(*communicator);
  *communicator = NULL;
}
