/* Elementwise formulas of entity matrices (entity.h), shared by the CPU's loops and the device's kernels. */
#ifndef TRAINER_OPS_ROW_ENTITY_INTERNAL_H
#define TRAINER_OPS_ROW_ENTITY_INTERNAL_H
#include "trainer/ops/entity.h"
#include "trainer/ops/fast_math_internal.h"

CORE_DEVICE_FN float row_pool_backward(float weight, float out, float dout, OpsActivation activation) {
  return weight * dout * (activation == OPS_TANH ? 1.0f - out * out : 1.0f);
}

/* Returns the weight of an entity: 0 is the dummy, 1 + i is a member where active[i] is not 0. */
CORE_DEVICE_FN float row_mean_weight(const float *active, int count, int entity) {
  float members = 1;
  for (int i = 0; i < count; i++) members += active[i] != 0;
  return entity == 0 || active[entity - 1] != 0 ? 1.0f / members : 0.0f;
}

/* before_r, before_z: the sigmoids' inputs. */
CORE_DEVICE_FN void row_gate_open(float before_r, float before_z, float x, float *r, float *z, float *rx) {
  *r = fast_sigmoid(before_r);
  *z = fast_sigmoid(before_z);
  *rx = *r * x;
}

CORE_DEVICE_FN float row_gate_out(float z, float x, float h) { return (1.0f - z) * x + z * h; }

CORE_DEVICE_FN void row_gate_close(float before_h, float z, float x, float *h, float *out) {
  *h = fast_tanh(before_h);
  *out = row_gate_out(z, x, *h);
}

CORE_DEVICE_FN void row_gate_close_backward(float dout, float z, float h, float x, float *dh, float *dz, float *dx) {
  *dh = dout * z * (1.0f - h * h);
  *dz = dout * (h - x) * z * (1.0f - z);
  *dx = dout * (1.0f - z);
}

/* Returns the gradient before r's sigmoid. */
CORE_DEVICE_FN float row_gate_open_backward(float drx, float r, float x) { return drx * x * r * (1.0f - r); }

/* Returns the index in the matrix of one end of a joint or thruster. */
CORE_DEVICE_FN int row_message_entity(const float *observation, const OpsMessage *m, int thing, int end) {
  return 1 + (int)observation[m->shapes + thing * m->ends + end];
}

#endif
