/* Choosing a device, and copies that also work without one (device.h). */
#include "core/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"

static bool emulation_asked_for(void) {
  const char *asked = getenv("CORE_DEVICE");
  return asked != NULL && strcmp(asked, "emulated") == 0;
}

static int open_gpu(int local_rank, CoreDevice **device) {
  int count;
  if (!CORE_HAS_CUDA)
    return core_error(CORE_USAGE, "this program was built without CUDA; rebuild with CUDA_HOME=/path/to/cuda, or set "
                      "train.device to cpu or auto");
  TRY(core_device_cuda_count(&count));
  if (local_rank >= count)
    return core_error(CORE_USAGE, "process %d of this machine has no GPU: it shows %d; start as many processes a machine "
                      "as it has GPUs (--ntasks-per-node, CUDA_VISIBLE_DEVICES), or set train.device = cpu",
                      local_rank, count);
  return core_device_cuda(local_rank, device);
}

int core_device_open(const char *wanted, int local_rank, CoreDevice **device, char *reason) {
  enum { REASON = 256 };
  *device = NULL;
  reason[0] = '\0';
  if (strcmp(wanted, "cpu") == 0) return CORE_OK;
  const bool must = strcmp(wanted, "cuda") == 0;
  if (emulation_asked_for()) {
    if (must) *device = core_device_emulated(CORE_DEVICE_FORWARD);
    return CORE_OK;
  }
  const int code = open_gpu(local_rank, device);
  if (code == CORE_OK || must) return code == CORE_OK ? code : core_error_context(code, "train.device = cuda");
  if (CORE_HAS_CUDA) snprintf(reason, REASON, "%s", core_error_message()); /* a build for CPUs need not excuse itself */
  core_error_clear();
  return CORE_OK;
}

void core_device_close(CoreDevice **device) {
  if (*device) (*device)->destroy(*device);
  *device = NULL;
}

const char *core_device_description(void) {
  static char text[512];
  CoreDevice *device = NULL;
  if (emulation_asked_for()) return "emulated on the CPU (CORE_DEVICE)";
  if (!CORE_HAS_CUDA) return "no: built without CUDA; rebuild with CUDA_HOME=/path/to/cuda";
  if (open_gpu(0, &device) == CORE_OK) snprintf(text, sizeof text, "%s", device->description);
  else snprintf(text, sizeof text, "built in, but %s", core_error_message());
  core_error_clear();
  core_device_close(&device);
  return text;
}

#if !CORE_HAS_CUDA
int core_device_cuda(int number, CoreDevice **device) {
  *device = NULL;
  return core_error(CORE_USAGE, "GPU %d: this program was built without CUDA", number);
}
int core_device_cuda_count(int *count) {
  *count = 0;
  return CORE_OK;
}
#endif

void core_device_to_device(CoreDevice *device, void *target, const void *host, size_t bytes) {
  if (bytes == 0) return;
  if (device) device->to_device(device, target, host, bytes);
  else if (target != host) memcpy(target, host, bytes);
}

void core_device_to_host(CoreDevice *device, void *host, const void *source, size_t bytes) {
  if (bytes == 0) return;
  if (device) device->to_host(device, host, source, bytes);
  else if (host != source) memcpy(host, source, bytes);
}

void core_device_copy(CoreDevice *device, void *target, const void *source, size_t bytes) {
  if (bytes == 0) return;
  if (device) device->copy(device, target, source, bytes);
  else if (target != source) memcpy(target, source, bytes);
}

void core_device_zero(CoreDevice *device, void *target, size_t bytes) {
  if (bytes == 0) return;
  if (device) device->fill(device, target, 0, bytes);
  else memset(target, 0, bytes);
}

const void *core_device_view(CoreDevice *device, const void *source, size_t bytes, void **copy) {
  *copy = NULL;
  if (device == NULL) return source;
  *copy = core_memory_allocate(bytes);
  core_device_to_host(device, *copy, source, bytes);
  return *copy;
}

float core_device_float(CoreDevice *device, const float *array, size_t i) {
  float x;
  core_device_to_host(device, &x, array + i, sizeof x);
  return x;
}
