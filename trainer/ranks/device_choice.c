/* Matching ranks with GPUs (device_choice.h). */
#include "trainer/ranks/device_choice.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/device/device.h"
#include "core/log.h"
#include "core/memory.h"
#include "trainer/ranks/ranks.h"

/* ---- matching ---------------------------------------------------------------------------------------------------- */

/* Ranks of one machine, and the owner of each GPU. GPUs are numbered here in the order in which ranks see them
 * first. */
typedef struct Machine {
  const DeviceSight *sight;
  int ranks, own;                     /* own: this rank's index in `rank` */
  int *rank;                          /* [ranks] of the run */
  int gpus;
  CoreDeviceId id[CORE_DEVICES_MAX];
  int owner[CORE_DEVICES_MAX];        /* index in `rank`; -1: free */
} Machine;

static int number_of(Machine *machine, const CoreDeviceId *id) {
  for (int g = 0; g < machine->gpus; g++)
    if (memcmp(&machine->id[g], id, sizeof *id) == 0) return g;
  if (machine->gpus == CORE_DEVICES_MAX) return -1;
  machine->id[machine->gpus] = *id;
  machine->owner[machine->gpus] = -1;
  return machine->gpus++;
}

/* Assigns a free GPU to rank[index], else one whose owner can move to another (Kuhn's algorithm). tried: bits of
 * GPUs. */
static bool give(Machine *machine, int index, uint64_t *tried) {
  const DeviceSight *sight = &machine->sight[machine->rank[index]];
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < sight->count; i++) {
      const int g = number_of(machine, &sight->id[i]);
      if (g < 0 || (*tried >> g & 1) != 0 || (pass == 0 && machine->owner[g] >= 0)) continue;
      *tried |= (uint64_t)1 << g;
      if (machine->owner[g] >= 0 && !give(machine, machine->owner[g], tried)) continue;
      machine->owner[g] = index;
      return true;
    }
  return false;
}

/* Returns the GPU's index among those that the rank sees. */
static int seen_as(const DeviceSight *sight, const CoreDeviceId *id) {
  for (int i = 0; i < sight->count; i++)
    if (memcmp(&sight->id[i], id, sizeof *id) == 0) return i;
  return -1;
}

static Machine machine_of(const DeviceSight *sight, int ranks, int rank) {
  Machine machine = {.sight = sight, .rank = core_memory_allocate((size_t)ranks * sizeof *machine.rank)};
  for (int r = 0; r < ranks; r++) {
    if (strncmp(sight[r].host, sight[rank].host, sizeof sight->host) != 0) continue;
    if (r == rank) machine.own = machine.ranks;
    machine.rank[machine.ranks++] = r;
  }
  return machine;
}

int device_choice_assign(const DeviceSight *sight, int ranks, int rank, bool share) {
  Machine machine = machine_of(sight, ranks, rank);
  bool all_have = true;
  int chosen = -1;
  for (int index = 0; index < machine.ranks; index++) {
    uint64_t tried = 0;
    all_have &= give(&machine, index, &tried);
  }
  for (int g = 0; g < machine.gpus; g++)
    if (machine.owner[g] == machine.own) chosen = seen_as(&sight[rank], &machine.id[g]);
  if (share && !all_have) chosen = sight[rank].count > 0 ? machine.own % sight[rank].count : -1;
  free(machine.rank);
  return chosen;
}

/* ---- queries to the other ranks ---------------------------------------------------------------------------------- */

static int count_on_machine(const DeviceSight *sight, int ranks, int rank, int *gpus) {
  Machine machine = machine_of(sight, ranks, rank);
  for (int index = 0; index < machine.ranks; index++)
    for (int i = 0; i < sight[machine.rank[index]].count; i++)
      (void)number_of(&machine, &sight[machine.rank[index]].id[i]);
  *gpus = machine.gpus;
  free(machine.rank);
  return machine.ranks;
}

static int refuse(const DeviceSight *sight, int ranks, int rank) {
  int gpus;
  const int processes = count_on_machine(sight, ranks, rank, &gpus);
  if (gpus == 0)
    return core_error(CORE_USAGE,
                      "%.64s: no GPU is visible to its %d processes; check nvidia-smi, CUDA_VISIBLE_DEVICES and "
                      "srun --gpus-per-node, or set train.device = cpu", sight[rank].host, processes);
  return core_error(CORE_USAGE,
                    "%d processes on %.64s share %d GPU%s, but each needs its own: start "
                    "as many as there are (mpirun -n %d, "
                    "srun --ntasks-per-node=%d --gpus-per-node=%d --gpu-bind=none), or set "
                    "comm.share_gpu = yes or train.device = cpu",
                    processes, sight[rank].host, gpus, gpus == 1 ? "" : "s", gpus, gpus, gpus);
}

/* Logs what slows the exchange between GPUs of this machine: GPUs that do not see each other, and host threads (ours,
 * NCCL's and CUDA's) on too few processors. */
static void log_obstacles(const DeviceSight *sight, int ranks, int rank) {
  enum { PROCESSORS_WANTED = 4 };
  int gpus;
  cpu_set_t processors;
  const int processes = count_on_machine(sight, ranks, rank, &gpus);
  if (processes > 1 && gpus > 1 && sight[rank].count == 1)
    core_log(CORE_LOG_WARN, "each rank sees one of %d GPUs of %.64s, so NCCL may not use NVLink between them; with "
             "Slurm: srun --gpus-per-node=%d --gpu-bind=none", gpus, sight[rank].host, gpus);
  if (gpus > 0 && sched_getaffinity(0, sizeof processors, &processors) == 0 &&
      CPU_COUNT(&processors) < PROCESSORS_WANTED)
    core_log(CORE_LOG_WARN, "this rank may use %d processor%s, but its threads and those of NCCL and CUDA need %d; use "
             "mpirun --bind-to none or srun --cpus-per-task=%d", CPU_COUNT(&processors),
             CPU_COUNT(&processors) == 1 ? "" : "s", PROCESSORS_WANTED, PROCESSORS_WANTED);
}

static bool any_shared(const DeviceSight *sight, int ranks) {
  for (int r = 0; r < ranks; r++)
    if (device_choice_assign(sight, ranks, r, false) < 0) return true;
  return false;
}

int device_choice_number(const CoreConfig *config, int *number, bool *shared) {
  const int ranks = ranks_size(), own = ranks_rank();
  DeviceSight sight = {.count = 0};
  *number = 0;
  *shared = false;
  if (ranks == 1) return CORE_OK;

  gethostname(sight.host, sizeof sight.host - 1);
  sight.count = core_device_list(sight.id, CORE_DEVICES_MAX);
  DeviceSight *sights = core_memory_allocate((size_t)ranks * sizeof *sights);
  ranks_gather_all(&sight, sizeof sight, sights);

  *number = device_choice_assign(sights, ranks, own, config->comm.share_gpu);
  *shared = any_shared(sights, ranks);
  const int code = ranks_agree(*number >= 0 ? CORE_OK : refuse(sights, ranks, own));
  if (code == CORE_OK && getenv("CORE_DEVICE") == NULL) log_obstacles(sights, ranks, own); /* GPUs, not emulated ones */

  free(sights);
  return code;
}
