/* Arenas: buffers begin with zeros, or with CORE_MEMORY_FILL=nan with NaNs unless their owner relies on zeros; on the
 * host and on a device. */
#include "test.h"

#include "core/device/arena.h"
#include "core/memory.h"

enum { COUNT = 5 };

typedef struct Buffers { float *plain, *zero, *plain_on_device, *zero_on_device; } Buffers;

static void assert_bytes(CoreDevice *device, const float *buffer, unsigned char byte) {
  unsigned char bytes[COUNT * sizeof *buffer];
  core_device_to_host(device, bytes, buffer, sizeof bytes);
  for (size_t i = 0; i < sizeof bytes; i++) assert_int_equal(bytes[i], byte);
}

/* plain: fill of unwritten buffers. */
static void check(CoreDevice *device, unsigned char plain) {
  CoreArena *arena = core_arena_create("test");
  Buffers b;
  core_arena_set_device(arena, device);
  CORE_ARENA(arena, b.plain, COUNT, "plain");
  CORE_ARENA_ZERO(arena, b.zero, COUNT, "zero");
  CORE_ARENA_DEVICE(arena, b.plain_on_device, COUNT, "plain on a device");
  CORE_ARENA_DEVICE_ZERO(arena, b.zero_on_device, COUNT, "zero on a device");
  assert_int_equal(core_arena_commit(arena), CORE_OK);
  assert_bytes(NULL, b.plain, plain);
  assert_bytes(NULL, b.zero, 0);
  assert_bytes(device, b.plain_on_device, plain);
  assert_bytes(device, b.zero_on_device, 0);
  core_arena_destroy(&arena);
}

static void test_fill(void **state) {
  (void)state;
  for (int on_device = 0; on_device < 2; on_device++) {
    CoreDevice *device = on_device ? core_device_emulated(CORE_DEVICE_FORWARD) : NULL;
    check(device, 0);
    setenv("CORE_MEMORY_FILL", "nan", 1);
    check(device, 0xff);
    float *allocated = core_memory_allocate(COUNT * sizeof *allocated);
    float *zero = core_memory_zero_allocate(COUNT, sizeof *zero);
    assert_bytes(NULL, allocated, 0xff);
    assert_bytes(NULL, zero, 0);
    unsetenv("CORE_MEMORY_FILL");
    free(allocated);
    free(zero);
    core_device_close(&device);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_fill)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
