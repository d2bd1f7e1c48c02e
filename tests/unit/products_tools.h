/* Helpers of the tests of the CPU's own matrix products (cpu_small.c, cpu_zeros.c). */
#ifndef TESTS_UNIT_PRODUCTS_TOOLS_H
#define TESTS_UNIT_PRODUCTS_TOOLS_H
#include "tests/unit/ops_tools.h"
#include "trainer/ops/cpu/cpu_internal.h"

/* The library whose place they take; NULL: none on this processor. */
static inline const CpuLibrary *library_with_small(void) {
  size_t count;
  const CpuLibrary *libraries = cpu_libraries(&count);
  for (size_t i = 0; i < count; i++)
    if (libraries[i].has_small) return &libraries[i];
  return NULL;
}

/* One of `most` numbers from `least` on. */
static inline int pick(uint32_t word, int least, int most) {
  return least + (int)core_random_below(word, (uint32_t)(most - least + 1));
}

#endif
