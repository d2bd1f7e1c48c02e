/* Which GPU of a machine is whose, when several ranks of a run are on it. Between training_device.c, which opens it,
 * and what launchers do: all ranks may see all GPUs (mpirun, srun --gpus-per-node), each its own one only (srun
 * --gpus-per-task, --gpu-bind), or anything between, under numbers that differ from rank to rank. So ranks tell each
 * other which GPUs they see by the GPUs' own names, and are matched with them. */
#ifndef TRAINER_DEVICE_CHOICE_H
#define TRAINER_DEVICE_CHOICE_H
#include "core/config/config.h"
#include "core/device/device.h"

/* What a rank sees. */
typedef struct DeviceSight {
  char host[64];
  int32_t count;                       /* GPUs */
  CoreDeviceId id[CORE_DEVICES_MAX];   /* in CUDA's order */
} DeviceSight;

/* The number, among those that it sees, of the GPU for rank `own`; -1: there is none. Ranks of other hosts do not
 * count. No two ranks get the same one, and where all see the same the i-th rank of a machine gets the i-th, unless
 * `share`: then, where there are more ranks than GPUs, they go round. Deterministic: all ranks come to the same by
 * themselves. */
int device_choice_assign(const DeviceSight *sight, int ranks, int own, bool share);

/* All ranks (ranks.h): the number for core_device_open, and whether some GPU is shared by several ranks. One rank takes
 * the first. CORE_USAGE, at all ranks alike: there are more ranks on a machine than GPUs, and comm.share_gpu = no. */
int device_choice_number(const CoreConfig *config, int *number, bool *shared);

#endif
