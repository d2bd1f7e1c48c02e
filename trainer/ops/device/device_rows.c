/* Row lists of minibatches on a device, gathering, and measurements over rows. */
#include "trainer/ops/device/device_internal.h"

void device_permute(Ops *ops, uint64_t seed, uint32_t purpose, uint32_t a, uint32_t b, uint32_t *order, uint32_t n,
                    uint32_t *scratch) {
  DeviceState *state = device_state(ops);
  const OpsPermute arguments = {seed, purpose, a, b, n, scratch, scratch + n, order};
  if (n == 0) return;
  state->device->fill(state->device, scratch, 0xff, n * sizeof *scratch); /* OPS_NONE */
  DEVICE_LAUNCH(state, ops_list_writers, ((size_t)n + OPS_WORDS - 1) / OPS_WORDS, &arguments);
  DEVICE_LAUNCH(state, ops_permute, n, &arguments);
}

void device_world_rows(Ops *ops, const uint32_t *world, int count, int steps, int worlds, uint32_t *rows) {
  const OpsWorldRows arguments = {world, (size_t)count, core_divisor_32((size_t)steps), (uint32_t)worlds, rows};
  DEVICE_LAUNCH(device_state(ops), ops_world_rows, arguments.count * arguments.steps.number, &arguments);
}

void device_gather_rows(Ops *ops, const float *source, const uint32_t *index, float *target, int rows, int columns) {
  const OpsGather arguments = {source, index, target, (size_t)rows, core_divisor((size_t)columns), 0};
  DEVICE_LAUNCH(device_state(ops), ops_gather, arguments.rows * arguments.words.number, &arguments);
}

void device_gather_bytes(Ops *ops, const void *source, const uint32_t *index, void *target, int rows, size_t bytes) {
  const int words = bytes % sizeof(uint32_t) == 0;
  const OpsGather arguments = {source, index, target, (size_t)rows,
                               core_divisor(words ? bytes / sizeof(uint32_t) : bytes), !words};
  DEVICE_LAUNCH(device_state(ops), ops_gather, arguments.rows * arguments.words.number, &arguments);
}

void device_gather_fields(Ops *ops, const OpsField *field, int fields, const uint32_t *index, int rows) {
  OpsGatherFields arguments = {.index = index, .rows = core_divisor((size_t)rows), .fields = (size_t)fields};
  CORE_CHECK(fields <= OPS_FIELDS_MAX);
  for (int f = 0; f < fields; f++) arguments.field[f] = field[f];
  DEVICE_LAUNCH(device_state(ops), ops_gather_fields, arguments.rows.number * arguments.fields, &arguments);
}

void device_gather_halves(Ops *ops, const uint16_t *source, const uint32_t *index, float *target, int rows,
                          int columns) {
  const OpsGatherHalves arguments = {source, index, target, (size_t)rows, core_divisor((size_t)columns)};
  DEVICE_LAUNCH(device_state(ops), ops_gather_halves, arguments.rows * arguments.columns.number, &arguments);
}

void device_store_halves(Ops *ops, const float *x, size_t n, uint16_t *halves) {
  DEVICE_LAUNCH(device_state(ops), ops_store_halves, n, &(OpsStoreHalves){x, n, halves});
}

void device_unit_sums(Ops *ops, const void *h, bool is_bf16, int rows, int columns, Moments *moments,
                      double *magnitude) {
  CoreDevice *device = ops->device;
  const OpsUnitSums arguments = {h, is_bf16 ? OPS_NUMBERS_BF16 : OPS_NUMBERS_FLOAT, (size_t)rows, (size_t)columns,
                                 moments, magnitude};
  device->launch(device, &ops_unit_sums_launch, (unsigned)(columns + KERNEL_UNITS - 1) / KERNEL_UNITS,
                 KERNEL_UNIT_THREADS, KERNEL_UNIT_THREADS * sizeof(double), &arguments);
}

void device_gram(Ops *ops, const void *h, bool is_bf16, int rows, int columns, double *gram) {
  CoreDevice *device = ops->device;
  const OpsGram arguments = {h, is_bf16 ? OPS_NUMBERS_BF16 : OPS_NUMBERS_FLOAT, (size_t)rows, (size_t)columns, gram};
  device->launch(device, &ops_gram_launch, ops_gram_blocks((size_t)columns), KERNEL_GRAM_THREADS,
                 2 * KERNEL_GRAM_ROWS * KERNEL_GRAM_TILE * sizeof(double), &arguments);
}
