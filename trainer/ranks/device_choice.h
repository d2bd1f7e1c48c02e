/* Assigns GPUs of a machine to the ranks on it. Launchers differ: all ranks may see all GPUs (mpirun, srun
 * --gpus-per-node), each only its own (srun --gpus-per-task, --gpu-bind), or anything between, with numbers that differ
 * between ranks. So ranks exchange the UUIDs of the GPUs that they see, and are matched with them. */
#ifndef TRAINER_DEVICE_CHOICE_H
#define TRAINER_DEVICE_CHOICE_H
#include "core/config/config.h"
#include "core/device/device.h"

/* The GPUs that a rank sees. */
typedef struct DeviceSight {
  char host[64];
  int32_t count;                       /* GPUs */
  CoreDeviceId id[CORE_DEVICES_MAX];   /* in CUDA's order */
} DeviceSight;

/* The GPU for rank `own`: its number among those that the rank sees, or -1 if none is left. sight: [ranks]; ranks of
 * other hosts do not count. No two ranks of a host get the same GPU; where all see the same, the i-th rank of a machine
 * gets the i-th. With `share`, if there are more ranks than GPUs, GPUs are assigned round-robin. Deterministic, so all
 * ranks compute the same assignment. */
int device_choice_assign(const DeviceSight *sight, int ranks, int own, bool share);

/* Called by all ranks: the number for core_device_open, and whether some GPU is shared by several ranks. One rank takes
 * the first GPU. CORE_USAGE, at all ranks: a machine has more ranks than GPUs, and comm.share_gpu = no. */
int device_choice_number(const CoreConfig *config, int *number, bool *shared);

#endif
