/* Q values on the CPU: the epsilon-greedy policy, the maxima, and the loss of the actions taken
 * (docs/algorithms.md#pqn). */
#include <math.h>

#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/row_policy_internal.h"

void cpu_q_policy(Ops *ops, float *q, int rows, int columns, double epsilon) {
  float best, other;
  cpu_threads_poll(&cpu_state(ops)->look, CPU_THREADS_ACT, &cpu_state(ops)->threads);
  row_q_logp(epsilon, columns, &best, &other);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (rows > CPU_ROWS)
  for (int r = 0; r < rows; r++) {
    float *row = q + (size_t)r * columns;
    const int chosen = row_greedy(row, columns);
    for (int c = 0; c < columns; c++) row[c] = c == chosen ? best : other;
  }
}

void cpu_q_values(Ops *ops, const float *q, int rows, int columns, float *values) {
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (rows > CPU_ROWS)
  for (int r = 0; r < rows; r++) {
    const float *row = q + (size_t)r * columns;
    values[r] = row[row_greedy(row, columns)];
  }
}

void cpu_q_loss(Ops *ops, const float *q, const uint8_t *actions, const float *target, int rows, int columns, float *dq,
                OpsValueSums *sums) {
  CpuState *state = cpu_state(ops);
  const float scale = 2.0f / (float)rows;
  CORE_CHECK(rows <= state->max_rows);
  memset(dq, 0, sizeof *dq * (size_t)rows * (size_t)columns);

#pragma omp parallel for schedule(static) num_threads(state->threads) if (rows > CPU_ROWS)
  for (int block = 0; block < cpu_blocks(rows); block++) {
    double sum = 0;
    const int first = block * CPU_ROWS, end = first + cpu_block_rows(rows, block);
    for (int r = first; r < end; r++) {
      const size_t at = (size_t)r * columns + actions[r];
      const float error = q[at] - target[r];
      dq[at] = scale * error;
      sum += (double)error * (double)error;
    }
    state->sum_parts[block * CPU_SUMS] = sum;
  }

  sums->loss = 0;
  for (int block = 0; block < cpu_blocks(rows); block++) sums->loss += state->sum_parts[block * CPU_SUMS];
}
