/* Tests of the device's ops in parts. A test file defines before including this
 *   #define PARTS(F) F(sums) F(dense) ...
 * and `static void test_sums(void)` and so on: checks on `device`, of `ops` against `host_ops`. Its main uses
 * test_emulated and test_gpu, or GPU_TESTS if is_gpu_requested(). */
#ifndef TESTS_UNIT_DEVICE_PARTS_H
#define TESTS_UNIT_DEVICE_PARTS_H
#include "core/memory.h"
#include "trainer/ops/device/device_internal.h"

#include "device_tools.h"
#include "ops_tools.h"

enum { ROWS = 300 };

#define F(part) static void test_##part(void);
PARTS(F)
#undef F

static CoreDevice *device;
static Ops *host_ops, *ops;

#include "device_buffers.h"

static bool is_gpu(void) { return device->stream != NULL; }

/* Asserts identical bits; on a GPU, differences up to `tolerance` relative to the largest value. */
static void assert_same(const float *host, const float *memory, size_t n, double tolerance) {
  float *got = down(memory, n * sizeof *got);
  double largest = 0;
  if (!is_gpu() || tolerance == 0) assert_memory_equal(got, host, n * sizeof *got);
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)host[i]));
  for (size_t i = 0; i < n; i++) assert_near((double)got[i], (double)host[i], tolerance * largest);
  free(got);
}
static void assert_close(const float *host, const float *memory, size_t n, double tolerance) {
  float *got = down(memory, n * sizeof *got);
  double largest = 0;
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)host[i]));
  for (size_t i = 0; i < n; i++) assert_near((double)got[i], (double)host[i], tolerance * largest);
  free(got);
}

static inline uint32_t *random_rows(int rows, uint32_t of) {
  uint32_t *index = core_memory_allocate((size_t)rows * sizeof *index);
  for (int i = 0; i < rows; i++)
    index[i] = core_random_below(core_random_4(9, CORE_RANDOM_TEST, (uint32_t)i, 0, 0).v[0], of);
  return index;
}

/* ---- on every device --------------------------------------------------------------------------------------------- */

static void begin(void) {
  buffers = 0; /* left over from a failed part */
  host_ops = make_ops(1);
  if (ops_device_create(device, OPS_FLOAT32, ROWS, 64, false, &ops) != CORE_OK) fail_msg("%s", core_error_message());
}

static void end(void) {
  ops_destroy(&ops);
  ops_destroy(&host_ops);
  core_device_close(&device);
}

static void run_all(void) {
  begin();
#define F(part) test_##part(), forget();
  PARTS(F)
#undef F
  end();
}

/* Runs in every order of threads, and isolated: a read without a barrier gives another result. */
static void test_emulated(void **state) {
  const CoreDeviceOrder orders[] = {CORE_DEVICE_FORWARD, CORE_DEVICE_BACKWARD, CORE_DEVICE_ISOLATED};
  (void)state;
  for (int i = 0; i < 3; i++) {
    device = core_device_emulated(orders[i]);
    run_all();
  }
}

static void test_gpu(void **state) {
  (void)state;
  device = open_gpu(false);
  run_all();
}

/* TEST_DEVICE=gpu (tests/gpu/all.sh): on the GPU alone, which must be there; each part is a test of its own, so that
 * one that fails hides no other. */
static void on_gpu(void (*part)(void)) {
  device = open_gpu(true);
  begin();
  part();
  forget();
  end();
}
#define F(part) static void gpu_##part(void **state) { (void)state, on_gpu(test_##part); }
PARTS(F)
#undef F

#define GPU_TEST(part) cmocka_unit_test(gpu_##part),
#define GPU_TESTS PARTS(GPU_TEST)

#endif
