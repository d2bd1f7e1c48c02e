/* Chains of layers in few launches (kernels_mlp.h): the forward pass of all layers, the gradients of rows, and those of
 * all weights (device_weights.c). Values of hidden layers are in memory as device_chain.c leaves them, so either may
 * compute the backward pass of the other's forward pass. */
#include "core/memory.h"
#include "trainer/ops/device/device_internal.h"

static bool is_width(int units) { return units == 64 || units == 128 || units == 256; }

static uint32_t kernel_place(const OpsLayer *layers, int l) {
  uint32_t place = 0;
  for (int i = 0; i < l; i++) place += ((uint32_t)layers[i].in + 1) * (uint32_t)layers[i].out;
  return place;
}

bool device_mlp_takes(const DeviceState *state, const OpsLayer *layers, int count) {
  const OpsLayer *last = &layers[count - 1];
  int units = 0; /* whose gradients are in the ops' scratch (place_gradients) */
  if (!state->fused || state->precision != OPS_BF16 || count > OPS_MLP_LAYERS) return false;
  if (state->device->shared_bytes < OPS_MLP_BACKWARD_BYTES) return false; /* compute capability 8.6, 8.9, 12.0 */
  for (int l = 0; l + 1 < count; l++) {
    if (!is_width(layers[l].out) || layers[l].activation != OPS_TANH) return false;
    if (device_address(layers[l].y) % sizeof(OpsEight) > 0) return false;
  }
  for (int l = 2; l < count; l++) units += is_width(layers[l].out) ? layers[l].out : 0;
  if (units > 2 * state->max_width) return false;
  if (layers[0].in > OPS_MLP_WIDEST) return false;
  if (is_width(last->out)) return last->activation == OPS_TANH || last->activation == OPS_LINEAR;
  return count > 1 && last->out < OPS_MLP_WARP && last->activation == OPS_LINEAR;
}

/* Builds the kernels' arguments for a forward pass. */
static OpsMlp arguments_of(const DeviceMlp *mlp) {
  const OpsLayer *last = &mlp->layers[mlp->count - 1];
  OpsMlp a = {.layers = (uint32_t)mlp->count, .rows = (size_t)mlp->rows, .x = mlp->x,
              .row_x = (uint32_t)device_rounded_row((size_t)mlp->layers[0].in), .output = last->y,
              .activation = last->activation};
  for (int l = 0; l < mlp->count; l++) {
    const OpsLayer *layer = &mlp->layers[l];
    const uint32_t place = kernel_place(mlp->layers, l);
    a.layer[l] = (OpsMlpLayer){.w = mlp->theta + place, .b = layer->b, .in = (uint32_t)layer->in,
                               .out = (uint32_t)layer->out,
                               .y = l + 1 < mlp->count ? (uint16_t *)(void *)layer->y : NULL};
  }
  return a;
}

/* Launches a kernel with a block per processor at most, each of which iterates over its rows. */
static void launch_rows(const DeviceState *state, const CoreKernel *kernel, size_t shared, size_t rows,
                        const void *arguments) {
  const unsigned blocks = core_device_blocks(rows, OPS_MLP_ROWS, state->device->processors);
  state->device->launch(state->device, kernel, blocks, OPS_MLP_THREADS, shared, arguments);
}

/* ---- postponed passes -------------------------------------------------------------------------------------------- */

void device_expect_loss(Ops *ops) { device_state(ops)->pending.is_expected = true; }

void device_mlp_forward(const DeviceMlp *mlp) {
  DevicePending *pending = &mlp->state->pending;
  const OpsMlp arguments = arguments_of(mlp);
  device_mlp_flush(mlp->state);
  if (pending->is_expected) {
    pending->learn = (OpsMlpLearn){.mlp = arguments};
    pending->are_there = DEVICE_PASS;
  } else {
    launch_rows(mlp->state, &ops_mlp_forward_launch, OPS_MLP_FORWARD_BYTES, arguments.rows, &arguments);
  }
  pending->is_expected = false;
}

bool device_mlp_postpones(DeviceState *state, const float *outputs, const void *sums, const OpsPolicyLoss *policy,
                          const OpsValueLoss *value) {
  DevicePending *pending = &state->pending;
  if (sums || pending->are_there != DEVICE_PASS || pending->learn.mlp.output != outputs) {
    device_mlp_flush(state);
    return false;
  }
  pending->learn.is_policy = policy != NULL;
  if (policy) pending->learn.policy = *policy;
  else pending->learn.value = *value;
  pending->learn.mlp.dy = policy ? policy->dlogits : value->dvalue;
  pending->are_there = DEVICE_PASS_AND_LOSS;
  return true;
}

/* Gives the loss scratch for its sums; and, once it is launched, schedules their fold. */
static void place_sums(DeviceState *state, OpsMlpLearn *learn) {
  learn->policy.sums = learn->value.sums = device_alloc_row_parts(state, (int)learn->mlp.rows, KERNEL_SUMS);
}
static void fold_sums(DeviceState *state, const OpsMlpLearn *learn) {
  device_fold_sums(state, learn->policy.sums, device_row_parts((int)learn->mlp.rows), NULL,
                   learn->is_policy ? OPS_STATS_POLICY : OPS_STATS_VALUE);
}

void device_mlp_flush(DeviceState *state) {
  DevicePending *pending = &state->pending;
  OpsMlpLearn *learn = &pending->learn;
  if (pending->are_there == DEVICE_NOTHING) return;
  launch_rows(state, &ops_mlp_forward_launch, OPS_MLP_FORWARD_BYTES, learn->mlp.rows, &learn->mlp);
  if (pending->are_there == DEVICE_PASS_AND_LOSS) {
    const unsigned blocks = (unsigned)device_row_parts((int)learn->mlp.rows);
    place_sums(state, learn);
    if (learn->is_policy)
      state->device->launch(state->device, &ops_policy_loss_launch, blocks, KERNEL_ROWS,
                            ops_policy_loss_shared(&learn->policy.p.head), &learn->policy);
    else
      state->device->launch(state->device, &ops_value_loss_launch, blocks, KERNEL_ROWS,
                            KERNEL_ROWS * KERNEL_SUMS * sizeof(double), &learn->value);
    fold_sums(state, learn);
  }
  pending->are_there = DEVICE_NOTHING;
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* Gives each layer of whole warps its gradient: of the first two in the callers' scratch, of the others in the ops'. */
static void place_gradients(const DeviceMlp *mlp, float *scratch, OpsMlp *a) {
  size_t used = 0;
  uint16_t *memory = (uint16_t *)(void *)scratch;
  for (uint32_t l = 0; l < a->layers; l++) {
    if (!ops_mlp_is_wide(a->layer[l].out)) continue;
    if (l == 2) {
      memory = (uint16_t *)(void *)mlp->state->product;
      used = 0;
    }
    a->layer[l].dz = memory + used;
    used += a->rows * a->layer[l].out;
  }
}

/* Computes the gradients of rows: with the postponed pass and its loss, or alone. */
static void launch_gradients(DeviceState *state, const OpsMlp *a) {
  DevicePending *pending = &state->pending;
  if (pending->are_there != DEVICE_PASS_AND_LOSS || pending->learn.mlp.dy != a->dy) {
    device_mlp_flush(state);
    launch_rows(state, &ops_mlp_backward_launch, OPS_MLP_BACKWARD_BYTES, a->rows, a);
    return;
  }
  place_sums(state, &pending->learn);
  pending->learn.mlp = *a;
  launch_rows(state, &ops_mlp_learn_launch, OPS_MLP_BACKWARD_BYTES, a->rows, &pending->learn);
  fold_sums(state, &pending->learn);
  pending->are_there = DEVICE_NOTHING;
}

/* Computes the gradients of all weights. */
static void launch_weights(const DeviceMlp *mlp, const OpsMlp *a) {
  OpsWeightProduct product[OPS_MLP_LAYERS];
  for (uint32_t l = 0; l < a->layers; l++) {
    const OpsMlpLayer *layer = &a->layer[l];
    product[l] = (OpsWeightProduct){.x = l > 0 ? layer[-1].y : a->x, .row_x = l > 0 ? layer->in : a->row_x,
                                    .dz = layer->dz ? (const void *)layer->dz : a->dy, .dz_is_float = !layer->dz,
                                    .row_dz = layer->out, .rows = (uint32_t)a->rows, .in = layer->in,
                                    .out = layer->out, .dw = mlp->layers[l].dw, .db = mlp->layers[l].db};
  }
  device_weights(mlp->state, product, (int)a->layers);
}

const uint16_t *device_mlp_backward(const DeviceMlp *mlp, const float *dy, float *scratch) {
  OpsMlp a = arguments_of(mlp);
  a.dy = dy;
  place_gradients(mlp, scratch, &a);
  launch_gradients(mlp->state, &a);
  launch_weights(mlp, &a);
  device_fold_now(mlp->state); /* the scratch is free again */
  return a.layer[0].dz;
}
