/* Fused passes of a transformer over shapes (kernels_fused_encoder.h), and the rule that chooses them. */
#include "trainer/ops/device/device_internal.h"
#include "trainer/ops/kernels/kernels_fused_encoder.h"

/* Whether all matrices and kernels of a layer start at multiples of 16 bytes. */
static bool is_aligned(const OpsTransformer *t) {
  uintptr_t addresses = device_address(t->theta) | device_address(t->rounded) | device_address(t->shapes);
  size_t offsets = 0;
  for (int l = 0; l < t->layers; l++) {
    const OpsTransformerLayer *layer = &t->layer[l];
    addresses |= device_address(layer->norm_1.y) | device_address(layer->qkv) | device_address(layer->attended) |
                 device_address(layer->gate_1.r) | device_address(layer->gate_2.r) | device_address(layer->gathered[0]);
    offsets |= layer->norm_1.gain | layer->norm_2.gain | layer->qkv_w | layer->out_w | layer->dense_w |
               layer->gate_1.w | layer->gate_2.w | layer->message[0] | layer->message[1];
  }
  return addresses % sizeof(OpsEight) == 0 && offsets % KERNEL_EIGHT == 0;
}

/* The rule: bf16 (the caller's table), worlds whose entities include room for all that they send, and enough shared
 * memory. TRAINER_FUSED=off: never. */
static bool takes(const DeviceState *state, const OpsTransformer *t) {
  const OpsAttention *a = &t->attention;
  if (!state->fused || OPS_ENCODER_SHARED > state->device->shared_bytes || !is_aligned(t)) return false;
  if (a->entities > OPS_ENTITIES_MAX || a->heads != OPS_TRANSFORMER_HEADS || a->size != KERNEL_HEAD_SIZE) return false;
  for (int k = 0; k < t->kinds; k++)
    if (t->kind[k].features > OPS_TRANSFORMER_FEATURES || t->kind[k].pack.count > a->entities) return false;
  return t->message[0].count + t->message[1].count <= a->entities;
}

/* Returns the multiply-adds per world. */
static double products_of(const OpsTransformer *t) {
  const double width = OPS_TRANSFORMER_WIDTH, attended = OPS_ENCODER_ATTENDED;
  double embedding = 0, messages = 0;
  for (int k = 0; k < t->kinds; k++) embedding += t->kind[k].pack.count * t->kind[k].features * t->kind[k].pack.width;
  for (int s = 0; s < 2; s++) messages += t->message[s].count * (t->message[s].ends + 1) * width * width;
  return embedding + t->layers * (messages + t->attention.entities * (4 * attended + 13 * width) * width);
}

bool device_transform(Ops *ops, OpsRows x, const OpsTransformer *t, float *embedding) {
  DeviceState *state = device_state(ops);
  if (!takes(state, t)) return false;

  const uint32_t worlds = OPS_ENCODER_ROWS / (uint32_t)t->attention.entities; /* a tile's */
  OpsEncode a = {.t = *t, .embedding = embedding, .worlds = worlds,
                 .attend = {.x = x, .attention = t->attention, .heads = core_divisor_32((size_t)t->attention.heads),
                            .entities = core_divisor_32((size_t)t->attention.entities), .numbers = OPS_NUMBERS_BF16}};
  for (int k = 0; k < t->kinds; k++) a.count[k] = core_divisor_32((size_t)t->kind[k].pack.count);
  state->device->launch(state->device, &ops_encoder_launch,
                        core_device_blocks((size_t)x.rows, worlds, state->device->processors), OPS_ENCODER_THREADS,
                        OPS_ENCODER_SHARED, &a);
  ops->flops += 2 * x.rows * products_of(t);
  return true;
}
