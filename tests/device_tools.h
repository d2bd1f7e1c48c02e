/* Tests that run on a device: on the emulator in both orders of threads, and on a GPU if the machine has one. A test
 * file that uses test_forward, test_backward and test_gpu defines before including this
 *   #define DEVICE_TESTS run_all
 * and `static void run_all(void)`: all its checks on `device`, which it closes at the end. */
#ifndef TESTS_DEVICE_TOOLS_H
#define TESTS_DEVICE_TOOLS_H
#include "unit/test.h"

#include <stdbool.h>

#include "core/device/device.h"
#include "core/error.h"

/* TEST_DEVICE=gpu (tests/gpu/all.sh): tests run on the GPU alone, which must be there. */
static inline bool is_gpu_requested(void) {
  const char *asked = getenv("TEST_DEVICE");
  return asked && strcmp(asked, "gpu") == 0;
}

/* The GPU. Without one the test is skipped, or fails if it is `needed`. */
static inline CoreDevice *open_gpu(bool needed) {
  CoreDevice *gpu = NULL;
  char reason[256];
  if (core_device_open("cuda", 0, &gpu, reason) != CORE_OK) {
    print_message("# %s\n", core_error_message());
    if (needed) fail();
    skip();
  }
  return gpu;
}

#ifdef DEVICE_TESTS
static CoreDevice *device;
static void DEVICE_TESTS(void);

static void test_forward(void **state) {
  (void)state;
  device = core_device_emulated(CORE_DEVICE_FORWARD);
  DEVICE_TESTS();
}

static void test_backward(void **state) {
  (void)state;
  device = core_device_emulated(CORE_DEVICE_BACKWARD);
  DEVICE_TESTS();
}

static void test_gpu(void **state) {
  (void)state;
  device = open_gpu(is_gpu_requested());
  DEVICE_TESTS();
}

/* Selection of tests: TEST_DEVICE=gpu, or TEST_ONLY=PATTERN. */
static inline void choose_device_tests(void) {
  if (is_gpu_requested()) cmocka_set_test_filter("test_gpu");
  if (getenv("TEST_ONLY")) cmocka_set_test_filter(getenv("TEST_ONLY"));
}
#endif

#endif
