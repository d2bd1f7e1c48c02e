/* Half precision for storage, never for arithmetic: loops around row_half_internal.h that the compiler vectorizes. */
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/row_half_internal.h"

CPU_VECTOR void cpu_floats_to_halves(const float *x, size_t n, uint16_t *halves) {
  for (size_t i = 0; i < n; i++) halves[i] = row_to_half(x[i]);
}

CPU_VECTOR void cpu_halves_to_floats(const uint16_t *halves, size_t n, float *x) {
  for (size_t i = 0; i < n; i++) x[i] = row_from_half(halves[i]);
}

CPU_VECTOR static void round_some(float *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = row_from_half(row_to_half(x[i]));
}

void ops_round_to_halves(float *x, size_t n) {
  const size_t part = 1 << 16;
#pragma omp parallel for schedule(static) if (n > part)
  for (size_t first = 0; first < n; first += part) round_some(x + first, n - first < part ? n - first : part);
}

void cpu_store_halves(Ops *ops, const float *x, size_t n, uint16_t *halves) {
  const size_t part = 1 << 14;
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (n > part)
  for (size_t first = 0; first < n; first += part)
    cpu_floats_to_halves(x + first, n - first < part ? n - first : part, halves + first);
}

void cpu_gather_halves(Ops *ops, const uint16_t *source, const uint32_t *index, float *target, int rows, int columns) {
  const size_t n = (size_t)columns;
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads)
  for (int row = 0; row < rows; row++) cpu_halves_to_floats(source + index[row] * n, n, target + (size_t)row * n);
}
