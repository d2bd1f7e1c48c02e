/* One unit of an LSTM step (recurrent.h), for the CPU's loops and the device's kernels. */
#ifndef TRAINER_OPS_ROW_LSTM_INTERNAL_H
#define TRAINER_OPS_ROW_LSTM_INTERNAL_H
#include "trainer/ops/fast_math_internal.h"

/* Gates after their activations; where stated, their inputs (i, f, g, o of z) or the gradients at those. */
typedef struct RowGates { float i, f, g, o; } RowGates;

CORE_DEVICE_FN RowGates row_lstm_gates(float i, float f, float g, float o) {
  const RowGates gates = {fast_sigmoid(i), fast_sigmoid(f), fast_tanh(g), fast_sigmoid(o)};
  return gates;
}

CORE_DEVICE_FN float row_lstm_cell(const RowGates *gates, float c_in) { return gates->f * c_in + gates->i * gates->g; }

CORE_DEVICE_FN float row_lstm_output(const RowGates *gates, float c) { return gates->o * fast_tanh(c); }

/* Returns the gradients at z. dh, dc: gradients at h and c after the step; *dc_in: at the cell state that entered. */
CORE_DEVICE_FN RowGates row_lstm_gradient(const RowGates *gates, float c_in, float dh, float dc, float *dc_in) {
  const float squashed = fast_tanh(row_lstm_cell(gates, c_in));
  const float dcell = dc + dh * gates->o * (1.0f - squashed * squashed);
  const RowGates dz = {dcell * gates->g * gates->i * (1.0f - gates->i), dcell * c_in * gates->f * (1.0f - gates->f),
                       dcell * gates->i * (1.0f - gates->g * gates->g),
                       dh * squashed * gates->o * (1.0f - gates->o)};
  *dc_in = dcell * gates->f;
  return dz;
}

#endif
