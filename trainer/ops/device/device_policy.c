/* Heads and losses on a device. */
#include "trainer/ops/device/device_internal.h"

static OpsRowsOfHead rows_of(const OpsHead *head, const float *logits, const void *actions, int rows) {
  CORE_CHECK(head->factors <= OPS_FACTORS_MAX && head->logits <= OPS_LOGITS_MAX);
  return (OpsRowsOfHead){*head, logits, actions, (size_t)rows, NULL};
}

/* Builds a loss's arguments: losses whose sums stay on the device ignore the padding of a micro-batch. */
static OpsRowsOfHead losses_of(const DeviceState *state, const OpsHead *head, const float *logits, const void *actions,
                               int rows, const void *sums) {
  OpsRowsOfHead all = rows_of(head, logits, actions, rows);
  all.count = sums ? NULL : state->count;
  return all;
}

void device_policy_sample(Ops *ops, const OpsHead *head, const float *logits, int rows, uint64_t seed, uint32_t purpose,
                          uint32_t first_world, uint32_t step, void *actions, float *logp) {
  const OpsSample arguments = {
    rows_of(head, logits, NULL, rows), seed, purpose, first_world, step, NULL, actions, logp};
  DEVICE_LAUNCH(device_state(ops), ops_sample, (size_t)rows, &arguments);
}

void device_policy_sample_at(Ops *ops, const OpsHead *head, const float *logits, int rows, uint64_t seed,
                             uint32_t purpose, uint32_t first_world, const OpsClock *clock, uint32_t step,
                             void *actions, float *logp) {
  const OpsSample arguments = {
    rows_of(head, logits, NULL, rows), seed, purpose, first_world, step, clock, actions, logp};
  DEVICE_LAUNCH(device_state(ops), ops_sample, (size_t)rows, &arguments);
}

void device_policy_logp(Ops *ops, const OpsHead *head, const float *logits, const void *actions, float *logp,
                        int rows) {
  DEVICE_LAUNCH(device_state(ops), ops_logp, (size_t)rows, &(OpsLogp){rows_of(head, logits, actions, rows), logp});
}

void device_policy_kl(Ops *ops, const OpsHead *head, const float *p, const float *q, int rows, double *kl,
                      double *kl_reverse) {
  DeviceState *state = device_state(ops);
  double *parts = device_alloc_row_parts(state, rows, KERNEL_SUMS);
  const OpsKl arguments = {rows_of(head, p, NULL, rows), q, parts};
  double sums[KERNEL_SUMS];
  device_sum_rows(state, &ops_kl_launch, rows, &arguments, parts, sums, 0);
  *kl = sums[0];
  *kl_reverse = sums[1];
}

void device_policy_loss(Ops *ops, const OpsHead *head, const float *logits, const void *actions,
                        const float *logp_behavior, const float *logp_proximal, const float *advantage, int rows,
                        double epsilon, double entropy_coef, float *dlogits, OpsPolicySums *sums) {
  DeviceState *state = device_state(ops);
  OpsPolicyLoss arguments = {losses_of(state, head, logits, actions, rows, sums), logp_behavior, logp_proximal,
                             advantage, row_clip(epsilon, logp_proximal != NULL), entropy_coef, dlogits,
                             NULL, core_divisor_32((size_t)head->logits)};
  if (device_mlp_postpones(state, logits, sums, &arguments, NULL)) return;
  double *parts = arguments.sums = device_alloc_row_parts(state, rows, KERNEL_SUMS);
  double all[KERNEL_SUMS];
  device_sum_staged_rows(state, &ops_policy_loss_launch, rows, ops_policy_loss_shared(head), &arguments, parts,
                         sums ? all : NULL, OPS_STATS_POLICY);
  if (sums) *sums = (OpsPolicySums){.loss = all[0], .entropy = all[1], .k1 = all[2], .k3 = all[3], .clipped = all[4]};
}

void device_policy_sampled_entropy(Ops *ops, const OpsHead *head, const float *logits, const float *noise, int rows,
                                   double entropy_coef, float *dlogits, double *sum) {
  DeviceState *state = device_state(ops);
  double *parts = device_alloc_row_parts(state, rows, KERNEL_SUMS);
  const OpsSampledEntropy arguments = {losses_of(state, head, logits, NULL, rows, sum), noise, entropy_coef, dlogits,
                                       parts};
  double all[KERNEL_SUMS];
  CORE_CHECK(head->kind == OPS_TANH_AFFINE);
  device_sum_rows(state, &ops_sampled_entropy_launch, rows, &arguments, parts, sum ? all : NULL,
                  OPS_STATS_SAMPLED_ENTROPY);
  if (sum) *sum = all[0];
}

void device_controller_kl(Ops *ops, const OpsHead *head, const float *logits, const uint32_t *index, int rows,
                          float *reference, double *sum) {
  DeviceState *state = device_state(ops);
  double *parts = device_alloc_row_parts(state, rows, KERNEL_SUMS);
  const OpsControllerKl arguments = {rows_of(head, logits, NULL, rows), index, reference, parts};
  double all[KERNEL_SUMS];
  CORE_CHECK(head->kind == OPS_GAUSSIAN);
  device_sum_rows(state, &ops_controller_kl_launch, rows, &arguments, parts, sum ? all : NULL, OPS_STATS_CONTROLLER);
  if (sum) *sum = all[0];
}

void device_cap(Ops *ops, const float *behavior, const float *logp, double log_cap, size_t n, float *capped) {
  DEVICE_LAUNCH(device_state(ops), ops_cap, n, &(OpsClampLogRatio){behavior, logp, (float)log_cap, n, capped});
}

void device_kl_penalty(Ops *ops, const float *logp, const float *ref_logp, double weight, int rows,
                       float *kl_penalty_weights, double *sum) {
  DeviceState *state = device_state(ops);
  double *parts = device_alloc_row_parts(state, rows, KERNEL_SUMS);
  const OpsKlPenalty arguments = {logp, ref_logp, weight, (size_t)rows, sum ? NULL : state->count, kl_penalty_weights,
                             parts};
  double all[KERNEL_SUMS];
  device_sum_rows(state, &ops_kl_penalty_launch, rows, &arguments, parts, sum ? all : NULL, OPS_STATS_KL_PENALTY);
  if (sum) *sum = all[0];
}

void device_exact_kl_penalty(Ops *ops, const OpsHead *head, const float *logits, const float *ref_logits, int rows,
                             double weight, float *dlogits, double *sum) {
  DeviceState *state = device_state(ops);
  double *parts = device_alloc_row_parts(state, rows, KERNEL_SUMS);
  const OpsExactKl arguments = {losses_of(state, head, logits, NULL, rows, sum), ref_logits, weight, dlogits, parts};
  double all[KERNEL_SUMS];
  device_sum_rows(state, &ops_exact_kl_launch, rows, &arguments, parts, sum ? all : NULL, OPS_STATS_KL_PENALTY);
  if (sum) *sum = all[0];
}

void device_normal_rows(Ops *ops, uint64_t seed, uint32_t purpose, const uint32_t *index, uint32_t step, int rows,
                        int columns, float *noise) {
  CORE_CHECK(columns <= OPS_FACTORS_MAX);
  const OpsNormals arguments = {seed, purpose, step, index, (size_t)rows, (size_t)columns, noise};
  DEVICE_LAUNCH(device_state(ops), ops_normals, (size_t)rows, &arguments);
}

void device_gaussian_join(Ops *ops, const float *mean, const float *log_sigma, const int32_t *set, int rows,
                          int factors, float *logits) {
  const OpsJoin arguments = {mean, log_sigma, set, (size_t)rows, core_divisor((size_t)factors), logits};
  DEVICE_LAUNCH(device_state(ops), ops_join, arguments.rows * arguments.factors.number, &arguments);
}

/* Sums columns of source [rows][columns] by set -> target[sets][count]: as many sets at once as the scratch holds. */
static void sum_sets(DeviceState *state, OpsSetParts a, float *target) {
  const size_t parts = device_row_parts((int)a.rows), sets = a.sets, sets_per_pass = (size_t)state->max_width / a.count;
  CORE_CHECK(a.rows <= (size_t)state->max_rows && sets_per_pass > 0);
  for (a.first_set = 0; a.first_set < sets; a.first_set += sets_per_pass) {
    a.sets = sets - a.first_set < sets_per_pass ? sets - a.first_set : sets_per_pass;
    a.parts = device_alloc_row_parts(state, (int)a.rows, a.sets * a.count);
    DEVICE_LAUNCH(state, ops_set_parts, parts * a.sets * a.count, &a);
    device_fold_later(state, (OpsFold){.of = OPS_PARTS_DOUBLE, .parts = a.parts, .count = parts,
                                       .columns = a.sets * a.count, .result = target + a.first_set * a.count});
  }
  device_fold_now(state);
}

void device_gaussian_split(Ops *ops, const float *dlogits, const int32_t *set, int rows, int factors, int sets,
                           float *dmean, float *dlog_sigma) {
  DeviceState *state = device_state(ops);
  const size_t r = (size_t)rows, n = (size_t)factors;
  DEVICE_LAUNCH(state, ops_slice, r * n, &(OpsSlice){dlogits, dmean, r, 2 * n, 0, core_divisor(n)});
  sum_sets(state, (OpsSetParts){dlogits, set, r, 2 * n, n, n, 0, (size_t)sets, NULL}, dlog_sigma);
}

void device_gaussian_regularize(Ops *ops, const OpsHead *head, const float *logits, const int32_t *set,
                                const float *entropy_coef, double bound, double bounds_coef, int rows, float *dlogits,
                                OpsGaussianSums *sums) {
  DeviceState *state = device_state(ops);
  double *parts = device_alloc_row_parts(state, rows, KERNEL_SUMS);
  const OpsRegularize arguments = {losses_of(state, head, logits, NULL, rows, sums), set, entropy_coef, bound,
                                   bounds_coef, dlogits, parts};
  double all[KERNEL_SUMS];
  CORE_CHECK(head->kind == OPS_GAUSSIAN);
  device_sum_rows(state, &ops_regularize_launch, rows, &arguments, parts, sums ? all : NULL, OPS_STATS_REGULARIZE);
  if (sums) *sums = (OpsGaussianSums){.entropy = all[0], .bounds = all[1]};
}

void device_embed_forward(Ops *ops, const float *x, const float *embedding, int rows, int features, int width,
                          float *joined, int32_t *set) {
  const OpsEmbed arguments = {x, embedding, (size_t)rows, (size_t)features, (size_t)width,
                              core_divisor((size_t)(features + width)), joined, set};
  DEVICE_LAUNCH(device_state(ops), ops_embed, arguments.rows * (arguments.features + arguments.width), &arguments);
}

void device_embed_backward(Ops *ops, const float *djoined, const int32_t *set, int rows, int features, int width,
                           int sets, float *dembedding) {
  sum_sets(device_state(ops), (OpsSetParts){djoined, set, (size_t)rows, (size_t)(features + width), (size_t)features,
                                            (size_t)width, 0, (size_t)sets, NULL}, dembedding);
}

void device_value_loss(Ops *ops, const float *value, const float *old_value, const float *target, int rows, int clip,
                       double epsilon, double value_coef, float *dvalue, OpsValueSums *sums) {
  DeviceState *state = device_state(ops);
  OpsValueLoss arguments = {value, old_value, target, (size_t)rows, sums ? NULL : state->count,
                            clip ? (float)epsilon : INFINITY, value_coef, dvalue, NULL};
  if (device_mlp_postpones(state, value, sums, NULL, &arguments)) return;
  double *parts = arguments.sums = device_alloc_row_parts(state, rows, KERNEL_SUMS);
  double all[KERNEL_SUMS];
  device_sum_rows(state, &ops_value_loss_launch, rows, &arguments, parts, sums ? all : NULL, OPS_STATS_VALUE);
  if (sums) sums->loss = all[0];
}

void device_q_policy(Ops *ops, float *q, int rows, int columns, double epsilon) {
  OpsQ arguments = {.q = q, .rows = (size_t)rows, .columns = (size_t)columns};
  row_q_logp(epsilon, columns, &arguments.best, &arguments.other);
  DEVICE_LAUNCH(device_state(ops), ops_q_policy, (size_t)rows, &arguments);
}

void device_q_values(Ops *ops, const float *q, int rows, int columns, float *values) {
  const OpsQ arguments = {
    .q = (float *)(uintptr_t)q, .rows = (size_t)rows, .columns = (size_t)columns, .values = values};
  DEVICE_LAUNCH(device_state(ops), ops_q_values, (size_t)rows, &arguments);
}

void device_q_loss(Ops *ops, const float *q, const uint8_t *actions, const float *target, int rows, int columns,
                   float *dq, OpsValueSums *sums) {
  DeviceState *state = device_state(ops);
  double *parts = device_alloc_row_parts(state, rows, KERNEL_SUMS);
  const OpsQ arguments = {.q = (float *)(uintptr_t)q, .actions = actions, .target = target, .rows = (size_t)rows,
                          .columns = (size_t)columns, .count = sums ? NULL : state->count, .dq = dq,
                          .sums = parts};
  double all[KERNEL_SUMS];
  device_sum_rows(state, &ops_q_loss_launch, rows, &arguments, parts, sums ? all : NULL, OPS_STATS_VALUE);
  if (sums) sums->loss = all[0];
}
