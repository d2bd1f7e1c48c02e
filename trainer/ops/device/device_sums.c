/* Sums over rows on a device. A kernel leaves the sums of parts of its rows in the state's scratch; they are folded
 * later, as many as possible in one launch: before they are read, or when the scratch is full. */
#include "trainer/ops/device/device_internal.h"

/* ---- folding ----------------------------------------------------------------------------------------------------- */

void device_fold_now(DeviceState *state) {
  OpsFolds *folds = &state->folds;
  unsigned blocks = 0;
  size_t groups = 1;

  for (int i = 0; i < folds->folds; i++) {
    const OpsFold *fold = &folds->fold[i];
    const size_t of_fold = (fold->count + KERNEL_FOLD - 1) / KERNEL_FOLD;
    blocks += ops_fold_blocks(fold);
    groups = of_fold > groups ? of_fold : groups;
  }

  const size_t most = DEVICE_THREADS / KERNEL_FOLD_COLUMNS;
  const unsigned threads = (unsigned)((groups < most ? groups : most) * KERNEL_FOLD_COLUMNS);
  if (blocks > 0)
    state->device->launch(state->device, &ops_fold_launch, blocks, threads, threads * sizeof(double), folds);
  folds->folds = 0;
  state->column_parts_used = state->row_parts_used = 0;
}

void device_fold_later(DeviceState *state, OpsFold fold) {
  OpsFolds *folds = &state->folds;
  folds->fold[folds->folds++] = fold;
  if (folds->folds == KERNEL_FOLDS) device_fold_now(state);
}

/* ---- sums of columns --------------------------------------------------------------------------------------------- */

size_t device_column_parts(size_t rows) { return (rows + KERNEL_PART_ROWS - 1) / KERNEL_PART_ROWS; }

float *device_alloc_parts(DeviceState *state, size_t n) {
  if (state->column_parts_used + n > state->column_parts_capacity) device_fold_now(state);
  CORE_CHECK(n <= state->column_parts_capacity);
  float *parts = state->column_parts + state->column_parts_used;
  state->column_parts_used += n;
  return parts;
}

float *device_alloc_column_parts(DeviceState *state, size_t rows, size_t columns) {
  return device_alloc_parts(state, device_column_parts(rows) * columns);
}

void device_fold_columns(DeviceState *state, const float *parts, size_t rows, size_t columns, float *result) {
  device_fold_later(state, (OpsFold){.of = OPS_PARTS_FLOAT, .parts = parts, .count = device_column_parts(rows),
                                     .columns = columns, .result = result});
}

/* ---- sums over rows of per-row values ---------------------------------------------------------------------------- */

size_t device_row_parts(int rows) { return ((size_t)rows + KERNEL_ROWS - 1) / KERNEL_ROWS; }

double *device_alloc_row_parts(DeviceState *state, int rows, size_t each) {
  const size_t n = device_row_parts(rows) * each;
  if (state->row_parts_used + n > state->row_parts_capacity) device_fold_now(state);
  CORE_CHECK(rows >= 1 && n <= state->row_parts_capacity);
  double *parts = state->row_parts + state->row_parts_used;
  state->row_parts_used += n;
  return parts;
}

/* Two sums for one slot of the statistics: the later one wins. */
static void keep_order(DeviceState *state, const double *slot) {
  for (int i = 0; i < state->folds.folds; i++)
    if (state->folds.fold[i].sums == slot) {
      device_fold_now(state);
      return;
    }
}

void device_sum_rows(DeviceState *state, const CoreKernel *kernel, int rows, const void *arguments, const double *parts,
                     double sums[KERNEL_SUMS], int slot) {
  device_sum_staged_rows(state, kernel, rows, KERNEL_ROWS * KERNEL_SUMS * sizeof(double), arguments, parts, sums, slot);
}

double *device_fold_sums(DeviceState *state, const double *parts, size_t count, const double *sums, int slot) {
  CORE_CHECK(sums || state->stats);
  double *result = sums ? state->sums : state->stats->now + slot;
  keep_order(state, result);
  device_fold_later(state, (OpsFold){.of = OPS_PARTS_DOUBLE, .parts = parts, .count = count, .columns = KERNEL_SUMS,
                                     .sums = result});
  return result;
}

void device_sum_staged_rows(DeviceState *state, const CoreKernel *kernel, int rows, size_t shared,
                            const void *arguments, const double *parts, double sums[KERNEL_SUMS], int slot) {
  const size_t blocks = device_row_parts(rows);
  state->device->launch(state->device, kernel, (unsigned)blocks, KERNEL_ROWS, shared, arguments);
  const double *result = device_fold_sums(state, parts, blocks, sums, slot);
  if (sums == NULL) return;
  device_fold_now(state);
  core_device_to_host(state->device, sums, result, KERNEL_SUMS * sizeof *sums);
}
