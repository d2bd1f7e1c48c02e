/* Communication of ranks with devices through a communicator, run by several at once: sums of several sizes
 * in flight together, and gathering, against the same numbers worked out by each rank alone. On emulated devices
 * (tests/mpi/test_device_ranks.sh) it goes by MPI, in the device's streams or on copies, on a machine with GPUs
 * (tests/gpu/all.sh) by NCCL too. The first rank prints TAP.
 *
 *   mpirun -n 4 ranks_devices [auto|nccl|mpi] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/device.h"
#include "core/memory.h"
#include "core/random.h"
#include "tests/mpi/ranks_tap.h"
#include "trainer/ranks/communicator.h"
#include "trainer/ranks/device_choice.h"

enum { SUMS = 4, LARGEST = 300007 };
static const size_t length[SUMS] = {1, 1000, 65536, LARGEST};
/* Small whole numbers, whose sums are exact in any order. */
static float value_of(int rank, int sum, size_t i) {
  return (float)(core_random_4(5, CORE_RANDOM_TEST, (uint32_t)rank, (uint32_t)sum, (uint32_t)i).v[0] % 1000);
}

static float *fill(CoreDevice *device, int sum, size_t n) {
  void *memory;
  float *host = core_memory_allocate(n * sizeof *host);
  CORE_CHECK(device->allocate(device, n * sizeof *host, &memory) == CORE_OK);
  for (size_t i = 0; i < n; i++) host[i] = value_of(ranks_rank(), sum, i);
  core_device_to_device(device, memory, host, n * sizeof *host);
  free(host);
  return memory;
}

static bool is_sum(CoreDevice *device, const float *x, int sum, size_t n) {
  void *copy;
  bool good = true;
  const float *seen = core_device_view(device, x, n * sizeof *x, &copy);
  for (size_t i = 0; i < n; i++) {
    float total = 0;
    for (int r = 0; r < ranks_size(); r++) total += value_of(r, sum, i);
    good &= seen[i] == total;
  }
  free(copy);
  return good;
}

static void check_sums(Communicator *communicator) {
  CoreDevice *device = communicator->device;
  float *x[SUMS];
  char name[80];
  for (int s = 0; s < SUMS; s++) x[s] = fill(device, s, length[s]);
  for (int round = 0; round < 2; round++) { /* the second begins with fresh numbers in the same places */
    for (int s = 0; s < SUMS; s++) communicator->sum(communicator, x[s], length[s], COMMUNICATOR_FLOAT);
    communicator->finish(communicator);
    for (int s = 0; s < SUMS; s++) {
      snprintf(name, sizeof name, "round %d: the sum of %zu numbers of each rank", round + 1, length[s]);
      check(name, is_sum(device, x[s], s, length[s]));
      float *fresh = fill(device, s, length[s]);
      core_device_copy(device, x[s], fresh, length[s] * sizeof *fresh);
      device->release(device, fresh);
    }
  }
  for (int s = 0; s < SUMS; s++) device->release(device, x[s]);
}

static void check_gather(Communicator *communicator) {
  CoreDevice *device = communicator->device;
  const size_t n = length[1], all = n * (size_t)ranks_size();
  float *own = fill(device, 9, n);
  void *memory, *copy;
  bool good = true;
  CORE_CHECK(device->allocate(device, all * sizeof *own, &memory) == CORE_OK);
  communicator->gather(communicator, own, n * sizeof *own, memory);
  const float *seen = core_device_view(device, memory, all * sizeof *own, &copy);
  for (int r = 0; r < ranks_size(); r++)
    for (size_t i = 0; i < n; i++) good &= seen[(size_t)r * n + i] == value_of(r, 9, i);
  check("every rank's numbers, in rank order", good);
  free(copy);
  device->release(device, memory);
  device->release(device, own);
}

/* Doubles that floats could not hold, and a sum and a gathering that are recorded, then done three times: x becomes
 * its sum over ranks each time. */
static void check_doubles(Communicator *communicator) {
  enum { N = 25 };
  CoreDevice *device = communicator->device;
  double host[N];
  void *memory;
  bool good = true;
  CORE_CHECK(device->allocate(device, sizeof host, &memory) == CORE_OK);
  for (int i = 0; i < N; i++) host[i] = 1e15 + i + ranks_rank();
  core_device_to_device(device, memory, host, sizeof host);
  communicator->sum(communicator, memory, N, COMMUNICATOR_DOUBLE);
  communicator->finish(communicator);
  core_device_to_host(device, host, memory, sizeof host);
  const int ranks = ranks_size();
  for (int i = 0; i < N; i++) good &= host[i] == ranks * (1e15 + i) + ranks * (ranks - 1) / 2;
  check("the sum of 25 doubles of each rank", good);
  device->release(device, memory);
}

static void check_graph(Communicator *communicator) {
  CoreDevice *device = communicator->device;
  const size_t n = length[1], ranks = (size_t)ranks_size();
  float *x = fill(device, 1, n), *host = core_memory_allocate(ranks * n * sizeof *host);
  void *all;
  CORE_CHECK(device->allocate(device, ranks * n * sizeof *x, &all) == CORE_OK);
  communicator->sum(communicator, x, n, COMMUNICATOR_FLOAT); /* libraries connect before they are recorded */
  communicator->finish(communicator);
  const uint64_t waits = device->synchronizations;
  device->begin_capture(device);
  communicator->sum(communicator, x, n, COMMUNICATOR_FLOAT);
  communicator->finish(communicator);
  communicator->gather(communicator, x, n * sizeof *x, all);
  CoreGraph *graph = device->end_capture(device);
  for (int k = 0; k < 3; k++) device->launch_graph(device, graph);
  check("recorded exchanges do not wait", device->synchronizations == waits);
  core_device_to_host(device, host, all, ranks * n * sizeof *host);
  bool good = true;
  for (size_t i = 0; i < ranks * n; i++) {
    float total = 0;
    for (int r = 0; r < ranks_size(); r++) total += value_of(r, 1, i % n);
    good &= host[i] == total * (float)(ranks * ranks * ranks);
  }
  check("a sum and a gathering, recorded, then done three times", good);
  device->destroy_graph(device, graph);
  device->release(device, all);
  device->release(device, x);
  free(host);
}

static int run(const char *library) {
  CoreConfig config = core_config_default();
  CoreDevice *device = NULL;
  Communicator *communicator = NULL;
  char reason[256], line[80];
  int gpu;
  bool shared;
  snprintf(line, sizeof line, "comm.library=%.40s", library);
  TRY(core_config_set_pair(&config, line));
  TRY(device_choice_number(&config, &gpu, &shared));
  TRY(ranks_agree(core_device_open("cuda", gpu, &device, reason)));
  int code = communicator_create(device, &config, shared, &communicator);
  if (code == CORE_OK) {
    if (ranks_is_first()) printf("# %s, on %s\n", communicator->name, device->description);
    check_sums(communicator);
    check_gather(communicator);
    check_doubles(communicator);
    if (communicator->is_queued) check_graph(communicator);
  }
  communicator_destroy(&communicator);
  core_device_close(&device);
  return code;
}

int main(int argc, char **argv) {
  int code = ranks_start();
  if (code == CORE_OK) code = run(argc > 1 ? argv[1] : "auto");
  if (code != CORE_OK && ranks_is_first()) fprintf(stderr, "ranks_devices: %s\n", core_error_message());
  ranks_stop();
  return code != CORE_OK ? code : failed;
}
