/* What of the random numbers is host-only: permutations. The generator itself is in random.h, shared with device code. */
#include "core/random.h"

void core_random_permutation(uint64_t seed, uint32_t purpose, uint32_t a, uint32_t b, uint32_t *order, uint32_t n) {
  CoreRandomStream stream = core_random_stream(seed, purpose, a, b);
  for (uint32_t i = 0; i < n; i++) {
    /* The inside-out form: fills and shuffles in one pass. */
    uint32_t j = core_random_below(core_random_next(&stream), i + 1);
    order[i] = order[j];
    order[j] = i;
  }
}
