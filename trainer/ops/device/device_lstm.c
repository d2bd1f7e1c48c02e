/* LSTM passes on a device (recurrent.h): a product and a kernel per step; work that does not depend on the previous
 * step is done at once. */
#include "trainer/ops/device/device_internal.h"
#include "trainer/ops/kernels/kernels_lstm.h"
#include "trainer/ops/recurrent.h"

/* Returns the rows before step t. */
static size_t row_of(const OpsLstm *l, int t) { return (size_t)t * (size_t)l->sequences; }

/* Returns the flags of sequences that begin an episode at step t; NULL: none, or there is no such step. */
static const uint8_t *first_at(const OpsLstm *l, int t) {
  return l->begins && t < l->length ? l->begins + row_of(l, t) : NULL;
}

static void forward_step(Ops *ops, const OpsLstm *l, int t) {
  const size_t w = (size_t)l->width, n = (size_t)l->sequences, row = row_of(l, t), next = row_of(l, t + 1);
  const bool is_last = t + 1 == l->length;
  device_dense_forward(ops, l->h_in + row * w, l->wh, l->bh, l->step_products, l->sequences, l->width, 4 * l->width,
                       OPS_LINEAR);
  OpsLstmStep step = {.gates = l->gates + row * 4 * w, .products = l->step_products, .c_in = l->c_in + row * w,
                      .h = l->h + row * w, .first = first_at(l, t + 1), .width = core_divisor(w), .sequences = n,
                      .stride = is_last ? l->stride : w};
  step.h_out = is_last ? l->end : l->h_in + next * w;
  step.c_out = is_last ? (l->end ? l->end + w : NULL) : l->c_in + next * w;
  DEVICE_LAUNCH(device_state(ops), ops_lstm_step, n * w, &step);
}

static void lstm_forward(Ops *ops, const OpsLstm *l) {
  const size_t w = (size_t)l->width, n = (size_t)l->sequences;
  device_dense_forward(ops, l->x, l->wx, l->bx, l->gates, l->length * l->sequences, l->in, 4 * l->width, OPS_LINEAR);
  const OpsLstmEnter stream_push = {l->start, l->start + w, l->stride, n, core_divisor(w), first_at(l, 0), l->h_in,
                                    l->c_in};
  DEVICE_LAUNCH(device_state(ops), ops_lstm_enter, n * w, &stream_push);
  for (int t = 0; t < l->length; t++) forward_step(ops, l, t);
}

static void lstm_backward(Ops *ops, const OpsLstm *l, const float *dh, const OpsLstmGradients *gradients) {
  DeviceState *state = device_state(ops);
  float *dstate = gradients->dstate, *dz = l->gates;
  const int rows = l->length * l->sequences, columns = 4 * l->width;
  const size_t w = (size_t)l->width, n = (size_t)l->sequences;

  core_device_zero(ops->device, dstate, 2 * n * w * sizeof *dstate);
  for (int t = l->length - 1; t >= 0; t--) {
    const size_t row = row_of(l, t);
    const OpsLstmGradient back = {.gates = l->gates + row * 4 * w, .c_in = l->c_in + row * w, .dh = dh + row * w,
                                  .dh_next = dstate, .dc = dstate + n * w, .first = first_at(l, t + 1),
                                  .width = core_divisor(w), .sequences = n};
    DEVICE_LAUNCH(state, ops_lstm_gradient, n * w, &back);
    device_multiply(state, &(DeviceProduct){.transpose_b = 1, .m = n, .n = w, .k = 4 * w, .a = back.gates, .b = l->wh,
                                            .c = dstate});
  }

  ops->flops += 8.0 * rows * l->width * l->width;
  device_dense_backward(ops, l->h_in, l->wh, l->bh, dz, dz, NULL, gradients->dwh, gradients->dbh, rows, l->width,
                        columns, OPS_LINEAR);
  device_dense_backward(ops, l->x, l->wx, l->bx, dz, dz, gradients->dx, gradients->dwx, gradients->dbx, rows, l->in,
                        columns, OPS_LINEAR);
}

const OpsRecurrent DEVICE_RECURRENT = {.lstm_forward = lstm_forward, .lstm_backward = lstm_backward};
