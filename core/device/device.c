/* Opening a device, and copies that also work without one (device.h). */
#include "core/device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/memory.h"

/* Value of CORE_DEVICE, as described in device.h. */
typedef struct Emulation { bool wanted; int gpus; size_t memory_bytes; CoreDeviceOrder order; } Emulation;

static size_t scaled(double number, char suffix) {
  const double unit = suffix == 'K'   ? 1 << 10
                      : suffix == 'M' ? 1 << 20
                      : suffix == 'G' ? 1 << 30
                                      : 1;
  return (size_t)(number * unit);
}

static bool read_order(const char *word, CoreDeviceOrder *order, int *length) {
  static const char *const names[] = {"order=forward", "order=backward", "order=isolated"};
  for (int i = 0; i < 3; i++) {
    *length = (int)strlen(names[i]);
    *order = (CoreDeviceOrder)i;
    if (strncmp(word, names[i], strlen(names[i])) == 0) return true;
  }
  return false;
}

/* Parses CORE_DEVICE. Unknown words are an error, not a default: a test must not pass because of a typo. */
static int read_emulation(Emulation *emulation) {
  const char *asked = getenv("CORE_DEVICE");
  *emulation = (Emulation){.gpus = 0, .memory_bytes = SIZE_MAX, .order = CORE_DEVICE_FORWARD};
  if (asked == NULL || strncmp(asked, "emulated", 8) != 0) return CORE_OK;
  emulation->wanted = true;

  for (const char *at = asked + 8; *at != '\0';) {
    double number;
    char suffix = '\0';
    int gpus, length = 0;
    at++; /* skip ':' or ',' */
    if (sscanf(at, "gpus=%d%n", &gpus, &length) == 1 && length > 0 && gpus >= 0 && gpus <= CORE_DEVICES_MAX) {
      emulation->gpus = gpus > 0 ? gpus : -1;
    } else if (sscanf(at, "memory=%lf%n", &number, &length) == 1 && length > 0 && number > 0) {
      suffix = at[length];
      if (suffix == 'K' || suffix == 'M' || suffix == 'G') length++;
      emulation->memory_bytes = scaled(number, suffix);
    } else if (!read_order(at, &emulation->order, &length)) {
      return core_error(CORE_USAGE,
                        "CORE_DEVICE = %.80s: expected emulated, emulated:gpus=2, emulated:memory=64M, "
                        "emulated:order=backward (or forward, isolated), or several as in emulated:gpus=2,memory=64M",
                        asked);
    }
    at += length;
  }
  return CORE_OK;
}

static int open_gpu(int number, CoreDevice **device) {
  int count;
  if (!CORE_HAS_CUDA)
    return core_error(CORE_USAGE, "this program was built without CUDA; rebuild with CUDA_HOME=/path/to/cuda, or set "
                      "train.device to cpu or auto");
  TRY(core_device_cuda_count(&count));
  if (number >= count)
    return core_error(CORE_USAGE, "GPU %d: not found, this process sees %d; check CUDA_VISIBLE_DEVICES, or set "
                      "train.device = cpu", number, count);
  return core_device_cuda(number, device);
}

int core_device_list(CoreDeviceId *id, int max_ids) {
  Emulation emulation;
  int count = 0;

  if (read_emulation(&emulation) == CORE_OK && emulation.wanted) {
    /* without gpus=N each process has its own GPU */
    const bool alone = emulation.gpus == 0;
    if (alone) count = 1;
    else count = emulation.gpus < 0 ? 0 : emulation.gpus;
    for (int i = 0; i < count && i < max_ids; i++) {
      const int64_t name[2] = {alone, alone ? getpid() : i};
      memcpy(&id[i], name, sizeof id[i]);
    }
    return count < max_ids ? count : max_ids;
  }

  if (!CORE_HAS_CUDA || core_device_cuda_count(&count) != CORE_OK) count = 0;
  if (count > max_ids) count = max_ids;
  for (int i = 0; i < count; i++)
    if (core_device_cuda_id(i, &id[i]) != CORE_OK) count = i;
  core_error_clear();
  return count;
}

/* Applies CORE_DEVICE_SHARE: the part of a shared GPU's memory that this program may use. */
static int take_share(CoreDevice *device) {
  const char *text = getenv("CORE_DEVICE_SHARE");
  char *end;
  if (text == NULL || device == NULL) return CORE_OK;
  const double share = strtod(text, &end);
  if (end == text || *end != '\0' || !(share > 0 && share <= 1))
    return core_error(CORE_USAGE,
                      "CORE_DEVICE_SHARE = %.40s: expected the part of the GPU's memory for this program, "
                      "0.25 or another number above 0 and at most 1",
                      text);
  if (device->memory_bytes != SIZE_MAX) device->memory_bytes = (size_t)(share * (double)device->memory_bytes);
  return CORE_OK;
}

static int open_any(const char *wanted, int number, CoreDevice **device, char *reason) {
  enum { REASON = 256 };
  Emulation emulation;
  *device = NULL;
  reason[0] = '\0';
  if (strcmp(wanted, "cpu") == 0) return CORE_OK;

  const bool must = strcmp(wanted, "cuda") == 0;
  TRY(read_emulation(&emulation));
  if (emulation.wanted) {
    if (must && emulation.gpus < 0)
      return core_error(CORE_USAGE, "train.device = cuda: CORE_DEVICE disables the GPU");
    if (must) *device = core_device_emulated_sized(emulation.order, emulation.memory_bytes);
    return CORE_OK;
  }

  const int code = open_gpu(number, device);
  if (code == CORE_OK || must) return code == CORE_OK ? code : core_error_context(code, "train.device = cuda");
  if (CORE_HAS_CUDA) snprintf(reason, REASON, "%s", core_error_message()); /* a build without CUDA gives no reason */
  core_error_clear();
  return CORE_OK;
}

int core_device_open(const char *wanted, int number, CoreDevice **device, char *reason) {
  int code = open_any(wanted, number, device, reason);
  if (code == CORE_OK) code = take_share(*device);
  if (code != CORE_OK) core_device_close(device);
  return code;
}

void core_device_close(CoreDevice **device) {
  if (*device) (*device)->destroy(*device);
  *device = NULL;
}

const char *core_device_description(void) {
  static char text[512];
  CoreDevice *device = NULL;
  Emulation emulation;
  if (read_emulation(&emulation) != CORE_OK) return core_error_message();
  if (emulation.wanted) return "emulated on the CPU (CORE_DEVICE)";
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
int core_device_cuda_id(int number, CoreDeviceId *id) {
  *id = (CoreDeviceId){{0}};
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

void core_device_to_device_async(CoreDevice *device, void *target, const void *pinned, size_t bytes) {
  if (bytes == 0) return;
  if (device) device->to_device_async(device, target, pinned, bytes);
  else if (target != pinned) memcpy(target, pinned, bytes);
}

void core_device_to_host_async(CoreDevice *device, void *pinned, const void *source, size_t bytes) {
  if (bytes == 0) return;
  if (device) device->to_host_async(device, pinned, source, bytes);
  else if (pinned != source) memcpy(pinned, source, bytes);
}

void core_device_call(CoreDevice *device, CoreHostCall *function, void *argument) {
  if (device) device->call(device, function, argument);
  else function(argument);
}

int core_device_allocate_pinned(CoreDevice *device, size_t bytes, void **memory) {
  if (device) return device->allocate_pinned(device, bytes, memory);
  *memory = core_memory_zero_allocate(1, bytes);
  return CORE_OK;
}

void core_device_release_pinned(CoreDevice *device, void *memory) {
  if (device) device->release_pinned(device, memory);
  else free(memory);
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
