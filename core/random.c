/* What of the random numbers is host-only: normal draws and permutations. The generator itself is in random.h, shared
 * with device code. */
#include "core/random.h"

#include <math.h>

void core_random_normal_pair(uint32_t first, uint32_t second, double *x, double *y) {
  /* (0, 1]: the logarithm of 0 never comes up. */
  double u = ((double)first + 1.0) * 0x1p-32;
  double angle = (double)second * (0x1p-32 * 2.0 * 3.14159265358979323846);
  double radius = sqrt(-2.0 * log(u));
  *x = radius * cos(angle);
  *y = radius * sin(angle);
}

void core_random_permutation(uint64_t seed, uint32_t purpose, uint32_t a, uint32_t b, uint32_t *order, uint32_t n) {
  CoreRandomStream stream = core_random_stream(seed, purpose, a, b);
  for (uint32_t i = 0; i < n; i++) {
    /* The inside-out form: fills and shuffles in one pass. */
    uint32_t j = core_random_below(core_random_next(&stream), i + 1);
    order[i] = order[j];
    order[j] = i;
  }
}
