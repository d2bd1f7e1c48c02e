/* Sobol' low-discrepancy points in up to 32 dimensions. Direction numbers
 * of Joe & Kuo (2008), "new-joe-kuo-6.21201". */
#ifndef CORE_SOBOL_H
#define CORE_SOBOL_H
#include <stddef.h>
#include <stdint.h>

enum { CORE_SOBOL_DIMENSIONS = 32 };

/* Returns coordinate `dimension` of point `index` as a 32-bit binary fraction, in Gray code order (Antonov & Saleev
 * 1979) like scipy.stats.qmc.Sobol without scrambling. Point 0 is the origin. */
uint32_t core_sobol(uint32_t index, size_t dimension);

#endif
