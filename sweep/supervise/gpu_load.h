/* GPU memory and load of processes on this machine, by NVML, NVIDIA's management library
 * (https://docs.nvidia.com/deploy/nvml-api). It is opened when it is first needed; without it, or without a GPU, there
 * is nothing to read. */
#ifndef SWEEP_GPU_LOAD_H
#define SWEEP_GPU_LOAD_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A process that computes on a device. */
typedef struct SweepGpuProcess {
  pid_t process;
  int device;           /* NVML's index */
  int64_t memory_mb;    /* memory of the process on the device; 0: unknown */
  int64_t total_mb;     /* memory of the device */
  double busy_percent;  /* time in which any process computed on the device; NaN: unknown */
} SweepGpuProcess;

enum { SWEEP_GPU_PROCESSES_MAX = 1024 };

/* Reads the processes of all devices into list[capacity] and returns their number. Not for several threads at once. */
size_t sweep_gpu_load_read(SweepGpuProcess *list, size_t capacity);

#endif
