/* Assignment of GPUs to ranks (trainer/ranks/device_choice.h) under the settings of launchers; memory in the hands of a
 * device's second order; a device of limited memory; and NCCL's library, as far as it goes without a GPU. */
#include "test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "core/device/device.h"
#include "core/memory.h"
#include "trainer/ranks/communicator.h"
#include "trainer/ranks/device_choice.h"

/* "host: GPUs by letter, as this rank numbers them". */
static DeviceSight sight_of(const char *host, const char *gpus) {
  DeviceSight sight = {.count = (int32_t)strlen(gpus)};
  snprintf(sight.host, sizeof sight.host, "%s", host);
  for (int i = 0; i < sight.count; i++) sight.id[i].byte[0] = (unsigned char)gpus[i];
  return sight;
}

/* The letters that ranks get, '-' for none. */
static void assert_choice(const DeviceSight *sight, int ranks, bool share, const char *expected) {
  char got[16] = "";
  for (int r = 0; r < ranks; r++) {
    const int number = device_choice_assign(sight, ranks, r, share);
    got[r] = number < 0 ? '-' : (char)sight[r].id[number].byte[0];
  }
  assert_string_equal(got, expected);
}

static void test_choice(void **state) {
  (void)state;
  const DeviceSight all_see_all[] = {sight_of("a", "WXYZ"), sight_of("a", "WXYZ"), sight_of("b", "PQ"),
                                     sight_of("a", "WXYZ"), sight_of("b", "PQ")};
  assert_choice(all_see_all, 5, false, "WXPYQ");
  /* srun --gpus-per-task=1: each sees its own as number 0. */
  const DeviceSight own_only[] = {sight_of("a", "W"), sight_of("a", "X"), sight_of("a", "Y")};
  assert_choice(own_only, 3, false, "WXY");
  /* CUDA_VISIBLE_DEVICES that differ in order and overlap: the second rank leaves W to the third, who sees nothing
   * else. */
  const DeviceSight overlap[] = {sight_of("a", "XW"), sight_of("a", "WY"), sight_of("a", "W")};
  assert_choice(overlap, 3, false, "XYW");
  const DeviceSight chain[] = {sight_of("a", "WX"), sight_of("a", "WY"), sight_of("a", "WY"), sight_of("a", "XW")};
  assert_choice(chain, 3, false, "XYW");
  assert_int_equal(device_choice_assign(chain, 4, 3, false), -1); /* four ranks, three GPUs */
  assert_choice(chain, 4, true, "WYWW");
  const DeviceSight few[] = {sight_of("a", "W"), sight_of("a", "W"), sight_of("a", "")};
  assert_choice(few, 3, false, "W--");
  assert_choice(few, 3, true, "WW-");
}

/* ---- the communication stream ------------------------------------------------------------------------------------ */

static void *allocate(CoreDevice *device, size_t bytes) {
  void *memory;
  assert_int_equal(device->allocate(device, bytes, &memory), CORE_OK);
  return memory;
}

static void test_hand_over(void **state) {
  CoreDevice *device = core_device_emulated(CORE_DEVICE_FORWARD);
  float host[300], seen[300];
  float *x = allocate(device, sizeof host);
  (void)state;
  for (int i = 0; i < 300; i++) host[i] = (float)i;
  device->to_device(device, x, host, sizeof host);
  device->comm_start(device, x + 100, 50 * sizeof *x);
  device->comm_start(device, x + 200, 10 * sizeof *x);
  device->to_host(device, seen, x, sizeof seen);
  assert_true(seen[99] == 99 && seen[100] != seen[100] && seen[149] != seen[149] &&
              seen[150] == 150); /* NaN: not yet */
  device->fill(device, x, 0, 100 * sizeof *x); /* next to the memory that was handed over */
  device->comm_wait(device);
  device->to_host(device, seen, x, sizeof seen);
  for (int i = 0; i < 300; i++) assert_true(seen[i] == (i < 100 ? 0 : (float)i));
  device->comm_wait(device); /* nothing is out */
  device->release(device, x);
  device->destroy(device);
}

/* Runs in a separate process. Whether it ends by SIGABRT. */
static bool aborts(void (*act)(void)) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGABRT, SIG_DFL);
    if (freopen("/dev/null", "w", stderr) == NULL) _exit(1);
    act();
    _exit(0);
  }
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void write_in_flight(void) {
  CoreDevice *device = core_device_emulated(CORE_DEVICE_FORWARD);
  void *memory = NULL;
  const float one = 1;
  if (device->allocate(device, 4096, &memory) != CORE_OK) _exit(2);
  device->comm_start(device, memory, 4096);
  device->to_device(device, (float *)memory + 7, &one, sizeof one);
  device->comm_wait(device);
}
static void hand_over_the_hosts(void) {
  CoreDevice *device = core_device_emulated(CORE_DEVICE_FORWARD);
  float x[4] = {0};
  device->comm_start(device, x, sizeof x);
}

static void test_misuse(void **state) {
  (void)state;
  assert_true(aborts(write_in_flight));
  assert_true(aborts(hand_over_the_hosts));
}

/* ---- the emulator's limits --------------------------------------------------------------------------------------- */

static void test_emulation(void **state) {
  CoreDevice *device;
  CoreDeviceId id[CORE_DEVICES_MAX];
  char reason[256];
  void *half, *more;
  (void)state;
  setenv("CORE_DEVICE", "emulated:gpus=3,memory=64K", 1);
  assert_int_equal(core_device_list(id, CORE_DEVICES_MAX), 3);
  assert_int_equal(core_device_open("cuda", 1, &device, reason), CORE_OK);
  assert_int_equal(device->memory_bytes, 65536);
  assert_int_equal(device->allocate(device, 40000, &half), CORE_OK);
  assert_int_equal(device->allocate(device, 40000, &more), CORE_FAIL);
  device->release(device, half);
  assert_int_equal(device->allocate(device, 40000, &more), CORE_OK);
  device->release(device, more);
  core_device_close(&device);
  setenv("CORE_DEVICE", "emulated:gpus=0", 1);
  assert_int_equal(core_device_list(id, CORE_DEVICES_MAX), 0);
  assert_int_equal(core_device_open("cuda", 0, &device, reason), CORE_USAGE);
  setenv("CORE_DEVICE", "emulated:memory=lots", 1);
  assert_int_equal(core_device_open("cuda", 0, &device, reason), CORE_USAGE);
  assert_message("emulated:memory=64M");
  unsetenv("CORE_DEVICE");
}

/* The library is opened and has every function used, or the reason contains a remedy. */
static void test_nccl(void **state) {
  CoreDevice *emulated = core_device_emulated(CORE_DEVICE_FORWARD);
  char reason[256] = "";
  int gpu;
  (void)state;
  assert_false(communicator_nccl_is_available(emulated, reason));
  assert_true(strlen(reason) > 0);
  CoreDevice like_a_gpu = *emulated;
  like_a_gpu.communication_stream = &gpu;
  reason[0] = '\0';
  if (!communicator_nccl_is_available(&like_a_gpu, reason)) print_message("# %s\n", reason);
  else assert_true(strlen(reason) == 0);
  emulated->destroy(emulated);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_choice), cmocka_unit_test(test_hand_over),
                                     cmocka_unit_test(test_misuse), cmocka_unit_test(test_emulation),
                                     cmocka_unit_test(test_nccl)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
