/* Assignment of a machine's GPUs to its ranks. Launchers differ: all ranks may see all GPUs (mpirun, srun
 * --gpus-per-node), each only its own (srun --gpus-per-task, --gpu-bind), or anything between, with indices that differ
 * between ranks. So ranks exchange the UUIDs of the GPUs that they see, and are matched with them. */
#ifndef TRAINER_DEVICE_CHOICE_H
#define TRAINER_DEVICE_CHOICE_H
#include "core/config/config.h"
#include "core/device/device.h"

/* GPUs visible to a rank. */
typedef struct DeviceSight {
  char host[64];
  int32_t count;                       /* number of GPUs */
  CoreDeviceId id[CORE_DEVICES_MAX];   /* in CUDA's order */
} DeviceSight;

/* Returns the GPU for `rank` as an index among those that the rank sees, or -1 if none is left. sight: [ranks];
 * ranks of other hosts are ignored. No two ranks of a host get the same GPU; where all see the same, the i-th rank of a
 * machine gets the i-th. With `share`, if there are more ranks than GPUs, GPUs are assigned round-robin. Deterministic,
 * so all ranks compute the same assignment. */
int device_choice_assign(const DeviceSight *sight, int ranks, int rank, bool share);

/* Determines the index for core_device_open, and whether some GPU is shared by several ranks; called by all ranks. One
 * rank takes the first GPU. CORE_USAGE, at all ranks: a machine has more ranks than GPUs, and comm.share_gpu = no. */
int device_choice_number(const CoreConfig *config, int *number, bool *shared);

#endif
