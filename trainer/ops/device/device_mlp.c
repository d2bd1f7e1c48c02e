/* Chains of layers in few launches (kernels_mlp.h): the forward pass of all layers, the gradients of rows, and those of
 * all weights, one launch each, and their fold. Values of hidden layers are in memory as device_chain.c leaves them, so
 * either may compute the backward pass of the other's forward pass. */
#include "core/memory.h"
#include "trainer/ops/device/device_internal.h"

enum { SLABS_MAX = 16 }; /* slabs of rows of the weights' gradients */

static bool is_width(int units) { return units == 64 || units == 128 || units == 256; }

static uint32_t kernel_place(const OpsLayer *layers, int l) {
  uint32_t place = 0;
  for (int i = 0; i < l; i++) place += ((uint32_t)layers[i].in + 1) * (uint32_t)layers[i].out;
  return place;
}

bool device_mlp_takes(const DeviceState *state, const OpsLayer *layers, int count) {
  const OpsLayer *last = &layers[count - 1];
  if (!state->fused || state->precision != OPS_BF16 || count > OPS_MLP_LAYERS) return false;
  if (state->device->shared_bytes < OPS_MLP_BACKWARD_BYTES) return false; /* compute capability 8.6, 8.9, 12.0 */
  for (int l = 0; l + 1 < count; l++) {
    if (!is_width(layers[l].out) || layers[l].activation != OPS_TANH) return false;
    if (device_address(layers[l].y) % sizeof(OpsEight) > 0) return false;
  }
  if (layers[0].in > OPS_MLP_WIDEST) return false;
  if (is_width(last->out)) return last->activation == OPS_TANH || last->activation == OPS_LINEAR;
  return count > 1 && last->out < OPS_MLP_WARP && last->activation == OPS_LINEAR;
}

bool device_mlp_takes_gradients(const OpsLayer *layers, int count) {
  for (int l = 0; l < count; l++) {
    const OpsLayer *layer = &layers[l];
    if (layer->dw != layers[0].dw + kernel_place(layers, l)) return false;
    if (layer->db != layer->dw + (size_t)layer->in * (size_t)layer->out) return false;
  }
  return true;
}

size_t device_mlp_parts_max(void) {
  return (size_t)OPS_MLP_LAYERS * (OPS_MLP_WIDEST + 1) * OPS_MLP_WIDEST;
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
                               .out = (uint32_t)layer->out, .place = place,
                               .y = l + 1 < mlp->count ? (uint16_t *)(void *)layer->y : NULL};
  }
  return a;
}

/* Launches a kernel with a block per processor at most, each of which iterates over its rows. */
static void launch_rows(const DeviceMlp *mlp, const CoreKernel *kernel, size_t shared, const OpsMlp *arguments) {
  CoreDevice *device = mlp->state->device;
  const unsigned blocks = core_device_blocks((size_t)mlp->rows, OPS_MLP_ROWS, device->processors);
  device->launch(device, kernel, blocks, OPS_MLP_THREADS, shared, arguments);
}

void device_mlp_forward(const DeviceMlp *mlp) {
  const OpsMlp arguments = arguments_of(mlp);
  launch_rows(mlp, &ops_mlp_forward_launch, OPS_MLP_FORWARD_BYTES, &arguments);
}

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

const uint16_t *device_mlp_backward(const DeviceMlp *mlp, const float *dy, float *scratch) {
  DeviceState *state = mlp->state;
  OpsMlp a = arguments_of(mlp);
  a.dy = dy;
  a.parameters = kernel_place(mlp->layers, mlp->count);
  place_gradients(mlp, scratch, &a);
  launch_rows(mlp, &ops_mlp_backward_launch, OPS_MLP_BACKWARD_BYTES, &a);

  /* slabs that the scratch holds, which depends on the sizes of the run alone */
  const size_t room = state->column_parts_capacity / a.parameters, most = room < SLABS_MAX ? room : SLABS_MAX;
  const size_t groups = (a.rows + OPS_MLP_SLAB - 1) / OPS_MLP_SLAB;
  a.slab_rows = (groups + most - 1) / most * OPS_MLP_SLAB;
  const size_t slabs = (a.rows + a.slab_rows - 1) / a.slab_rows;
  a.parts = device_alloc_parts(state, slabs * a.parameters);
  for (uint32_t l = 0; l < a.layers; l++) a.tiles += ops_mlp_sides(a.layer[l].in) * ops_mlp_sides(a.layer[l].out);
  state->device->launch(state->device, &ops_mlp_weights_launch, (unsigned)slabs * a.tiles, OPS_MLP_THREADS,
                        OPS_MLP_WEIGHTS_BYTES, &a);
  DEVICE_LAUNCH(state, ops_mlp_fold, a.parameters, &(OpsMlpFold){a.parts, slabs, a.parameters, mlp->layers[0].dw});
  device_fold_now(state); /* the scratch is free again */
  return a.layer[0].dz;
}
