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
  arrays.seeds = place(&end, n * sizeof(int64_t));
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

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Looks for the turn without sleeping. In vain: twice as many waits as after the last time go without a look. */
static bool look(BridgeTurn *turn, uint32_t wanted, BridgePatience *patience) {
  enum { LOOKS = 64, PAUSE_MOST = 4096 };
  if (patience->look_ns == 0 || (patience->left > 0 && patience->left--)) return false;
  const int64_t end = now_ns() + patience->look_ns;
  do {
    for (int i = 0; i < LOOKS; i++) {
      if (atomic_load_explicit(&turn->number, memory_order_acquire) == wanted) {
        patience->pause /= 2;
        return true;
      }
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (now_ns() < end);
  patience->pause = patience->pause < PAUSE_MOST / 2 ? 2 * patience->pause + 1 : PAUSE_MOST;
  patience->left = patience->pause;
  return false;
}

/* The other side reads `sleepers` after it has changed `number`; we read `number` after we have changed `sleepers`. So
 * one of the two sees what the other did. */
bool bridge_wait(BridgeTurn *turn, uint32_t wanted, int64_t timeout_ns, BridgePatience *patience) {
  const struct timespec timeout = {timeout_ns / 1000000000, timeout_ns % 1000000000};
  uint32_t seen = atomic_load(&turn->number);
  if (seen == wanted || look(turn, wanted, patience)) return true;
  atomic_fetch_add(&turn->sleepers, 1);
  for (seen = atomic_load(&turn->number); seen != wanted; seen = atomic_load(&turn->number))
    if (futex(&turn->number, FUTEX_WAIT, seen, &timeout) != 0 && errno == ETIMEDOUT) break;
  atomic_fetch_sub(&turn->sleepers, 1);
  return atomic_load(&turn->number) == wanted;
}
