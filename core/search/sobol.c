/* Computes Sobol' points one by one without state, with one XOR per digit of the index. Called by draw.c. */
#include "core/search/search.h"

#include "core/error.h"

enum { DIGITS = 32, DEGREE_MAX = 7 };

/* Primitive polynomial over GF(2), x^degree + inner digits of `a` + 1, and its first direction numbers. */
typedef struct Polynomial { uint32_t degree, a, m[DEGREE_MAX]; } Polynomial;

/* Dimensions 2 to 32 of https://web.maths.unsw.edu.au/~fkuo/sobol/new-joe-kuo-6.21201: S. Joe and F. Y. Kuo,
 * Constructing Sobol sequences with better two-dimensional projections, SIAM J. Sci. Comput. 30, 2635-2654 (2008). The
 * first dimension is van der Corput's. */
static const Polynomial polynomials[CORE_SOBOL_DIMENSIONS - 1] = {
  {1, 0, {1}},
  {2, 1, {1, 3}},
  {3, 1, {1, 3, 1}},
  {3, 2, {1, 1, 1}},
  {4, 1, {1, 1, 3, 3}},
  {4, 4, {1, 3, 5, 13}},
  {5, 2, {1, 1, 5, 5, 17}},
  {5, 4, {1, 1, 5, 5, 5}},
  {5, 7, {1, 1, 7, 11, 19}},
  {5, 11, {1, 1, 5, 1, 1}},
  {5, 13, {1, 1, 1, 3, 11}},
  {5, 14, {1, 3, 5, 5, 31}},
  {6, 1, {1, 3, 3, 9, 7, 49}},
  {6, 13, {1, 1, 1, 15, 21, 21}},
  {6, 16, {1, 3, 1, 13, 27, 49}},
  {6, 19, {1, 1, 1, 15, 7, 5}},
  {6, 22, {1, 3, 1, 15, 13, 25}},
  {6, 25, {1, 1, 5, 5, 19, 61}},
  {7, 1, {1, 3, 7, 11, 23, 15, 103}},
  {7, 4, {1, 3, 7, 13, 13, 15, 69}},
  {7, 7, {1, 1, 3, 13, 7, 35, 63}},
  {7, 8, {1, 3, 5, 9, 1, 25, 53}},
  {7, 14, {1, 3, 1, 13, 9, 35, 107}},
  {7, 19, {1, 3, 1, 5, 27, 61, 31}},
  {7, 21, {1, 1, 5, 11, 19, 41, 61}},
  {7, 28, {1, 3, 5, 3, 3, 13, 69}},
  {7, 31, {1, 1, 7, 13, 1, 19, 1}},
  {7, 32, {1, 3, 7, 5, 13, 19, 59}},
  {7, 37, {1, 1, 3, 9, 25, 29, 41}},
  {7, 41, {1, 3, 5, 13, 23, 1, 55}},
  {7, 42, {1, 3, 7, 3, 13, 59, 17}},
};

/* Returns direction number `digit`, from 0: m_k = 2 a_1 m_(k-1) ^ ... ^ 2^s m_(k-s) ^ m_(k-s) after the given ones. */
static void directions(size_t dimension, uint32_t v[DIGITS]) {
  if (dimension == 0) {
    for (uint32_t k = 0; k < DIGITS; k++) v[k] = UINT32_C(1) << (DIGITS - 1 - k);
    return;
  }
  const Polynomial *p = &polynomials[dimension - 1];
  for (uint32_t k = 0; k < DIGITS; k++) {
    if (k < p->degree) {
      v[k] = p->m[k] << (DIGITS - 1 - k);
      continue;
    }
    v[k] = v[k - p->degree] ^ (v[k - p->degree] >> p->degree);
    for (uint32_t i = 1; i < p->degree; i++)
      if (p->a >> (p->degree - 1 - i) & 1) v[k] ^= v[k - i];
  }
}

uint32_t core_sobol(uint32_t index, size_t dimension) {
  uint32_t v[DIGITS], point = 0;
  CORE_CHECK(dimension < CORE_SOBOL_DIMENSIONS);
  directions(dimension, v);
  for (uint32_t gray = index ^ index >> 1, k = 0; gray; gray >>= 1, k++)
    if (gray & 1) point ^= v[k];
  return point;
}
