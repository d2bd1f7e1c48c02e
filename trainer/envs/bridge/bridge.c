/* Synchronization and layout, for both sides (bridge.h). */
#include "trainer/envs/bridge/bridge.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Reserves `bytes`, aligned to 64. Returns the offset. */
static uint64_t reserve(uint64_t *end, uint64_t bytes) {
  const uint64_t begin = (*end + 63) / 64 * 64;
  *end = begin + bytes;
  return begin;
}

BridgeArrays bridge_arrange(const BridgeSpaces *spaces, int32_t worlds) {
  const uint64_t n = (uint64_t)worlds, row = (uint64_t)spaces->observations * sizeof(float);
  const uint64_t action = spaces->factors ? (uint64_t)spaces->factors : (uint64_t)spaces->values * sizeof(float);
  uint64_t end = sizeof(Bridge);
  BridgeArrays arrays;

  arrays.observations = reserve(&end, n * row);
  arrays.finals = reserve(&end, n * row);
  arrays.actions = reserve(&end, n * action);
  arrays.rewards = reserve(&end, n * sizeof(float));
  arrays.terminated = reserve(&end, n);
  arrays.truncated = reserve(&end, n);
  arrays.ends = reserve(&end, n);
  arrays.seeds = reserve(&end, n * sizeof(int64_t));
  arrays.info_sums = reserve(&end, n * ENV_INFO_NAMES * sizeof(double));
  arrays.info_counts = reserve(&end, n * ENV_INFO_NAMES * sizeof(double));

  arrays.bytes = end;
  return arrays;
}

static long futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout) {
  return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

void bridge_post(BridgeTurn *turn) {
  atomic_fetch_add(&turn->number, 1);
  if (atomic_load(&turn->sleepers) > 0) futex(&turn->number, FUTEX_WAKE, 1, NULL);
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Spins for the number. After an unsuccessful spin the backoff doubles. */
static bool spin_for(BridgeTurn *turn, uint32_t target, BridgeSpin *spin) {
  enum { SPINS_PER_CLOCK = 64, BACKOFF_MAX = 4096 };
  if (spin->spin_ns == 0 || (spin->remaining > 0 && spin->remaining--)) return false;

  const int64_t end = now_ns() + spin->spin_ns;
  do {
    for (int i = 0; i < SPINS_PER_CLOCK; i++) {
      if (atomic_load_explicit(&turn->number, memory_order_acquire) == target) {
        spin->backoff /= 2;
        return true;
      }
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (now_ns() < end);

  spin->backoff = spin->backoff < BACKOFF_MAX / 2 ? 2 * spin->backoff + 1 : BACKOFF_MAX;
  spin->remaining = spin->backoff;
  return false;
}

/* No wake-up is lost: the other side reads `sleepers` after changing `number`, this side reads `number` after changing
 * `sleepers`, so at least one sees the other's change. */
bool bridge_wait(BridgeTurn *turn, uint32_t target, int64_t timeout_ns, BridgeSpin *spin) {
  const struct timespec timeout = {timeout_ns / 1000000000, timeout_ns % 1000000000};
  uint32_t seen = atomic_load(&turn->number);
  if (seen == target || spin_for(turn, target, spin)) return true;
  atomic_fetch_add(&turn->sleepers, 1);
  for (seen = atomic_load(&turn->number); seen != target; seen = atomic_load(&turn->number))
    if (futex(&turn->number, FUTEX_WAIT, seen, &timeout) != 0 && errno == ETIMEDOUT) break;
  atomic_fetch_sub(&turn->sleepers, 1);
  return atomic_load(&turn->number) == target;
}
