/* Updates without the host on a device (update.h). */
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/device/device_internal.h"

enum { DECIDE_THREADS = 256 };

OpsAdamScalars ops_adam_scalars(double scale, double rate, double beta1, double beta2, double epsilon, int64_t t) {
  return row_adam_factors(scale, rate, beta1, beta2, epsilon, t);
}

OpsAdamScalars ops_radam_scalars(double scale, double rate, double beta1, double beta2, double epsilon, int64_t t) {
  return row_radam_factors(scale, rate, beta1, beta2, epsilon, t);
}

size_t ops_update_parts(void) { return OPS_UPDATE_NETWORKS * CPU_SUM_PARTS; }

static void begin(Ops *ops, const OpsUpdatePlan *plan, const OpsUpdateScalars *scalars, int steps, uint64_t earlier) {
  DeviceState *state = device_state(ops);
  const OpsUpdateStats stats = {.earlier = earlier};
  CORE_CHECK(steps <= plan->steps && plan->networks <= OPS_UPDATE_NETWORKS);
  core_device_to_device(state->device, plan->scalars, scalars, (size_t)steps * sizeof *scalars);
  core_device_to_device(state->device, plan->stats, &stats, sizeof stats);
  state->stats = plan->stats;
}

static void current_rows(Ops *ops, const uint32_t *order, int parts, int count, int steps, int worlds, uint32_t *rows) {
  DeviceState *state = device_state(ops);
  const OpsTakeRows arguments = {state->stats, order, core_divisor((size_t)parts), (size_t)count,
                                 core_divisor_32((size_t)steps), (uint32_t)worlds, rows};
  DEVICE_LAUNCH(state, ops_current_rows, arguments.count * arguments.steps.number, &arguments);
}

static void current_shard_rows(Ops *ops, const OpsPartRows *part, int shard, uint32_t *rows, uint32_t *of_run,
                       uint32_t *count) {
  DeviceState *state = device_state(ops);
  const OpsTakePiece arguments = {state->stats, *part, shard, rows, of_run, count,
                                  core_divisor((size_t)part->parts), core_divisor_32(part->worlds)};
  DEVICE_LAUNCH(state, ops_current_shard_rows, (size_t)part->capacity, &arguments);
  state->count = count;
}

static void add_sums(Ops *ops, bool begin) {
  DeviceState *state = device_state(ops);
  device_fold_now(state);
  DEVICE_LAUNCH(state, ops_add_sums, OPS_STATS_SUMS, &(OpsAddSums){state->stats, begin});
}

static void moments(Ops *ops, const float *x, size_t n, Moments *record) {
  DeviceState *state = device_state(ops);
  const DeviceParts all = device_parts(n);
  const unsigned parts = all.count; /* fewer elements make no more parts */
  const OpsMomentParts arguments = {{x, NULL, n}, state->count ? 0 : all.size, state->records, state->count,
                                    CPU_SUM_PARTS, CPU_SUM_MIN};
  state->device->launch(state->device, &ops_moment_parts_launch, parts, KERNEL_LANES, KERNEL_LANES * sizeof(double),
                        &arguments);
  state->device->launch(state->device, &ops_merge_records_launch, 1, 1, 0,
                        &(OpsMergeRecords){state->records, parts, record});
}

static void normalize_by(Ops *ops, float *x, size_t n, const Moments *records, size_t count, bool unbiased) {
  DeviceState *state = device_state(ops);
  state->device->launch(state->device, &ops_spread_launch, 1, DECIDE_THREADS, DECIDE_THREADS * sizeof(Moments),
                        &(OpsSpreadOfParts){records, count, unbiased, state->spread});
  DEVICE_LAUNCH(state, ops_normalize_by, n, &(OpsNormalizeBy){x, n, state->spread});
}

static void normalize(Ops *ops, float *x, size_t n, bool unbiased) {
  DeviceState *state = device_state(ops);
  const DeviceParts parts = device_parts(n);
  const OpsMomentParts arguments = {{x, NULL, n}, parts.size, state->records, NULL, 0, 0};
  state->device->launch(state->device, &ops_moment_parts_launch, parts.count, KERNEL_LANES,
                        KERNEL_LANES * sizeof(double), &arguments);
  normalize_by(ops, x, n, state->records, parts.count, unbiased);
}

static void normal_rows(Ops *ops, uint64_t seed, uint32_t purpose, const uint32_t *index, int rows, int columns,
                        float *noise) {
  DeviceState *state = device_state(ops);
  const OpsNormalsOfStep arguments = {state->stats, seed, purpose, index, (size_t)rows, (size_t)columns, noise};
  CORE_CHECK(columns <= OPS_FACTORS_MAX);
  DEVICE_LAUNCH(state, ops_normals_of_step, arguments.rows, &arguments);
}

static void count_zero_grad(Ops *ops, const OpsHead *head, const float *logits, const void *actions,
                            const float *ref_logp, const float *advantage, int rows, double epsilon) {
  DeviceState *state = device_state(ops);
  double *parts = device_alloc_row_parts(state, rows, KERNEL_SUMS);
  const OpsSilent arguments = {{*head, logits, actions, (size_t)rows, state->count}, ref_logp, advantage, epsilon,
                               parts};
  device_sum_rows(state, &ops_zero_grad_launch, rows, &arguments, parts, NULL, OPS_STATS_ZERO_GRAD);
}

/* Steps, and measures the step. */
static void descend_measured(DeviceState *state, const OpsUpdateStep *step) {
  const OpsMeasuredStep measured = {*step, state->records};
  state->device->launch(state->device, &ops_descend_measured_launch, step->count[0] + step->count[1],
                        KERNEL_MEASURE_THREADS, KERNEL_MEASURE_THREADS * KERNEL_MERGED * sizeof(double), &measured);
  state->device->launch(state->device, &ops_measure_step_launch, (unsigned)step->plan.networks, CPU_SUM_PARTS,
                        CPU_SUM_PARTS * KERNEL_MERGED * sizeof(double), &measured);
}

static void step(Ops *ops, const OpsUpdatePlan *plan) {
  DeviceState *state = device_state(ops);
  OpsUpdateStep arguments = {.plan = *plan};
  size_t parameters = 0;
  device_fold_now(state);

  for (int k = 0; k < plan->networks; k++) {
    const DeviceParts parts = device_parts(plan->network[k].n);
    arguments.size[k] = parts.size;
    arguments.count[k] = parts.count;
    parameters += plan->network[k].n;
  }

  const unsigned parts = arguments.count[0] + arguments.count[1];
  state->device->launch(state->device, &ops_gradient_parts_launch, parts, KERNEL_SQUARES_THREADS,
                        KERNEL_SQUARES * sizeof(double), &arguments);
  state->device->launch(state->device, &ops_decide_launch, 1, DECIDE_THREADS, ops_decide_shared(parts), &arguments);
  if (plan->measures) descend_measured(state, &arguments);
  else DEVICE_LAUNCH(state, ops_descend, parameters, &arguments);
}

static void finish(Ops *ops, const OpsUpdatePlan *plan, OpsUpdateStats *stats) {
  DeviceState *state = device_state(ops);
  core_device_to_host(state->device, stats, plan->stats, sizeof *stats);
  state->stats = NULL;
  state->count = NULL;
}

const OpsUpdate device_update = {.begin = begin, .current_rows = current_rows,
                                 .current_shard_rows = current_shard_rows, .add_sums = add_sums,
                                 .moments = moments, .normalize_by = normalize_by, .normalize = normalize,
                                 .normal_rows = normal_rows, .count_zero_grad = count_zero_grad, .step = step,
                                 .finish = finish};
