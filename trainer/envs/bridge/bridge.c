/* Turns and layout, for both sides (bridge.h). */
#include "trainer/envs/bridge/bridge.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t place(uint64_t *end, uint64_t bytes) {
  const uint64_t begin = (*end + 63) / 64 * 64;
  *end = begin + bytes;
  return begin;
}

BridgeArrays bridge_arrange(const BridgeSpaces *spaces, int32_t worlds) {
  const uint64_t n = (uint64_t)worlds, row = (uint64_t)spaces->observations * sizeof(float);
  const uint64_t action = spaces->factors ? (uint64_t)spaces->factors : (uint64_t)spaces->values * sizeof(float);
  uint64_t end = sizeof(Bridge);
  BridgeArrays arrays;
  arrays.observations = place(&end, n * row);
  arrays.finals = place(&end, n * row);
  arrays.actions = place(&end, n * action);
  arrays.rewards = place(&end, n * sizeof(float));
  arrays.terminated = place(&end, n);
  arrays.truncated = place(&end, n);
  arrays.ends = place(&end, n);
  arrays.bytes = end;
  return arrays;
}

static long futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout) {
  return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

void bridge_raise(BridgeTurn *turn) {
  atomic_fetch_add(&turn->number, 1);
  if (atomic_load(&turn->sleepers) > 0) futex(&turn->number, FUTEX_WAKE, 1, NULL);
}

/* The other side reads `sleepers` after it has changed `number`; we read `number` after we have changed `sleepers`. So
 * one of the two sees what the other did. */
bool bridge_wait(BridgeTurn *turn, uint32_t wanted, int64_t timeout_ns) {
  const struct timespec timeout = {timeout_ns / 1000000000, timeout_ns % 1000000000};
  uint32_t seen = atomic_load(&turn->number);
  if (seen == wanted) return true;
  atomic_fetch_add(&turn->sleepers, 1);
  for (seen = atomic_load(&turn->number); seen != wanted; seen = atomic_load(&turn->number))
    if (futex(&turn->number, FUTEX_WAIT, seen, &timeout) != 0 && errno == ETIMEDOUT) break;
  atomic_fetch_sub(&turn->sleepers, 1);
  return atomic_load(&turn->number) == wanted;
}
