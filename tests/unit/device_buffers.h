/* Memory of `device` with copies of host data, freed at the end of a test. Include after the definition of `device`. */
#ifndef TESTS_UNIT_DEVICE_BUFFERS_H
#define TESTS_UNIT_DEVICE_BUFFERS_H
#include "core/memory.h"

enum { BUFFERS = 128 };
static void *buffer[BUFFERS];
static int buffers;

/* Device memory with a copy of host's. */
static inline void *up(const void *host, size_t bytes) {
  assert_true(buffers < BUFFERS);
  assert_int_equal(device->allocate(device, bytes, &buffer[buffers]), CORE_OK);
  core_device_to_device(device, buffer[buffers], host, bytes);
  return buffer[buffers++];
}
#define UP(x, n) up((x), (n) * sizeof *(x))

/* A copy of the device's, the caller's to free. */
static inline void *down(const void *memory, size_t bytes) {
  void *host = core_memory_zero_allocate(1, bytes);
  core_device_to_host(device, host, memory, bytes);
  return host;
}

static inline void forget(void) {
  while (buffers > 0) device->release(device, buffer[--buffers]);
}

/* Asserts identical bits that are not all zero. */
static inline void assert_same_bits(const float *host, const float *memory, size_t n) {
  float *got = down(memory, n * sizeof *got);
  bool some = false;
  for (size_t i = 0; i < n; i++) {
    some |= host[i] != 0;
    if (memcmp(&got[i], &host[i], sizeof *got) != 0)
      fail_msg("number %zu: %.9g there, %.9g here", i, (double)got[i], (double)host[i]);
  }
  assert_true(some);
  free(got);
}

#endif
