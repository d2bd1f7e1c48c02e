/* Calls NVML by the names and structures of its version 11 interface (gpu_load.h). */
#include "sweep/supervise/gpu_load.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>

enum { NVML_SUCCESS = 0, DEVICES_MAX = 64, MIB = 1 << 20 };
static const char library[] = "libnvidia-ml.so.1";
static const unsigned long long NVML_UNKNOWN = ~0ULL;

/* nvmlProcessInfo_t, nvmlMemory_t, nvmlUtilization_t of nvml.h */
typedef struct NvmlProcess {
  unsigned process;
  unsigned long long memory_bytes;
  unsigned gpu_instance, compute_instance;
} NvmlProcess;
typedef struct NvmlMemory { unsigned long long total, free, used; } NvmlMemory;
typedef struct NvmlUtilization { unsigned gpu, memory; } NvmlUtilization;

typedef struct Nvml {
  bool is_tried, is_open;
  int (*init)(void);
  int (*count)(unsigned *count);
  int (*device)(unsigned index, void **device);
  int (*processes)(void *device, unsigned *count, NvmlProcess *list);
  int (*memory)(void *device, NvmlMemory *memory);
  int (*utilization)(void *device, NvmlUtilization *utilization);
} Nvml;

/* Loads a function; POSIX guarantees that the pointers have one representation. */
static bool load(void *file, const char *name, void *function) {
  *(void **)function = dlsym(file, name);
  return *(void **)function != NULL;
}

static bool open_library(Nvml *nvml) {
  if (nvml->is_tried) return nvml->is_open;
  nvml->is_tried = true;
  void *file = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  nvml->is_open = file && load(file, "nvmlInit_v2", &nvml->init) && load(file, "nvmlDeviceGetCount_v2", &nvml->count) &&
                  load(file, "nvmlDeviceGetHandleByIndex_v2", &nvml->device) &&
                  (load(file, "nvmlDeviceGetComputeRunningProcesses_v3", &nvml->processes) ||
                   load(file, "nvmlDeviceGetComputeRunningProcesses_v2", &nvml->processes)) &&
                  load(file, "nvmlDeviceGetMemoryInfo", &nvml->memory) &&
                  load(file, "nvmlDeviceGetUtilizationRates", &nvml->utilization) && nvml->init() == NVML_SUCCESS;
  return nvml->is_open;
}

/* Adds the processes of a device to list[count], up to `capacity`. */
static size_t read_device(const Nvml *nvml, unsigned index, SweepGpuProcess *list, size_t count, size_t capacity) {
  NvmlProcess found[SWEEP_GPU_PROCESSES_MAX];
  NvmlMemory memory = {0};
  NvmlUtilization utilization;
  void *device;
  unsigned processes = SWEEP_GPU_PROCESSES_MAX;
  if (nvml->device(index, &device) != NVML_SUCCESS) return count;
  if (nvml->processes(device, &processes, found) != NVML_SUCCESS || processes == 0) return count;
  if (nvml->memory(device, &memory) != NVML_SUCCESS) memory.total = 0;
  const bool is_known = nvml->utilization(device, &utilization) == NVML_SUCCESS;

  for (unsigned i = 0; i < processes && count < capacity; i++) {
    const unsigned long long bytes = found[i].memory_bytes;
    list[count++] = (SweepGpuProcess){.process = (pid_t)found[i].process, .device = (int)index,
                                      .memory_mb = bytes == NVML_UNKNOWN ? 0 : (int64_t)(bytes / MIB),
                                      .total_mb = (int64_t)(memory.total / MIB),
                                      .busy_percent = is_known ? utilization.gpu : NAN};
  }
  return count;
}

size_t sweep_gpu_load_read(SweepGpuProcess *list, size_t capacity) {
  static Nvml nvml;
  unsigned devices = 0;
  size_t count = 0;
  if (!open_library(&nvml) || nvml.count(&devices) != NVML_SUCCESS) return 0;
  for (unsigned i = 0; i < devices && i < DEVICES_MAX; i++) count = read_device(&nvml, i, list, count, capacity);
  return count;
}
