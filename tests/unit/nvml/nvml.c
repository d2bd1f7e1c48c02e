/* NVML of a machine with two GPUs, for test_run_load.c: the process that loads it computes on the second one, another
 * process on both. */
#include <stddef.h>
#include <unistd.h>

typedef struct Process {
  unsigned process;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
} Process;

int nvmlInit_v2(void) { return 0; }

int nvmlDeviceGetCount_v2(unsigned *count) {
  *count = 2;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  static char devices[2];
  *device = &devices[index];
  return 0;
}

static unsigned index_of(void *device) {
  void *first;
  nvmlDeviceGetHandleByIndex_v2(0, &first);
  return (unsigned)((char *)device - (char *)first);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, Process *list) {
  list[0] = (Process){1, 1ULL << 30, 0, 0};
  list[1] = (Process){(unsigned)getpid(), 1ULL << 30, 0, 0};
  list[2] = (Process){(unsigned)getpid(), 2ULL << 30, 0, 0}; /* with two contexts */
  *count = index_of(device) == 1 ? 3 : 1;
  return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long memory[3]) {
  memory[0] = (80ULL + index_of(device)) << 30;
  memory[1] = memory[2] = 0;
  return 0;
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned rates[2]) {
  rates[0] = index_of(device) == 1 ? 37 : 99;
  rates[1] = 0;
  return 0;
}
