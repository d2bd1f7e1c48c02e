/* Kernels of LSTM steps (recurrent.h): one thread per unit of a sequence. The products are the library's. */
#ifndef TRAINER_OPS_KERNELS_LSTM_H
#define TRAINER_OPS_KERNELS_LSTM_H
#include "trainer/ops/row_lstm_internal.h"

/* State that enters a step: h, c [sequences], `stride` floats apart; first [sequences] 1: a zero state, NULL: none. */
typedef struct OpsLstmEnter {
  const float *h, *c;
  size_t stride, sequences;
  CoreDivisor width;
  const uint8_t *first;
  float *h_in, *c_in;          /* [sequences][width] */
} OpsLstmEnter;
CORE_KERNEL_FN void ops_lstm_enter(const CoreDeviceThread *at, const OpsLstmEnter *a) {
  for (size_t i = core_device_first(at); i < a->sequences * a->width.number; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, a->width);
    const size_t s = place.whole, u = place.rest;
    const int is_first = a->first && a->first[s];
    a->h_in[i] = is_first ? 0.0f : a->h[s * a->stride + u];
    a->c_in[i] = is_first ? 0.0f : a->c[s * a->stride + u];
  }
}

/* One step. products: h Wh + bh; gates: x Wx + bx, then the gates. The new state is written to h_out and c_out,
 * `stride` floats apart (NULL: nowhere), as 0 where `first` marks that the next step begins an episode. */
typedef struct OpsLstmStep {
  float *gates;                /* [sequences][4 width] */
  const float *products;       /* [sequences][4 width] */
  const float *c_in;           /* [sequences][width] */
  float *h;                    /* [sequences][width] */
  float *h_out, *c_out;
  const uint8_t *first;        /* [sequences] or NULL */
  size_t stride, sequences;
  CoreDivisor width;
} OpsLstmStep;
CORE_KERNEL_FN void ops_lstm_step(const CoreDeviceThread *at, const OpsLstmStep *a) {
  const size_t w = a->width.number;

  for (size_t i = core_device_first(at); i < a->sequences * w; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, a->width);
    const size_t s = place.whole, u = place.rest;
    float *z = a->gates + s * 4 * w + u;
    const float *more = a->products + s * 4 * w + u;
    const RowGates gates = row_lstm_gates(z[0] + more[0], z[w] + more[w], z[2 * w] + more[2 * w],
                                          z[3 * w] + more[3 * w]);
    const float c = row_lstm_cell(&gates, a->c_in[i]), h = row_lstm_output(&gates, c);

    const int ends = a->first && a->first[s];
    z[0] = gates.i;
    z[w] = gates.f;
    z[2 * w] = gates.g;
    z[3 * w] = gates.o;

    a->h[i] = h;
    if (a->h_out == NULL) continue;
    a->h_out[s * a->stride + u] = ends ? 0.0f : h;
    a->c_out[s * a->stride + u] = ends ? 0.0f : c;
  }
}

/* Backward through a step: the gates become the gradient at z. dh_next, dc [sequences][width]: gradients at the state
 * after the step, ignored where `first` marks that the next step begins an episode; dc becomes that at the cell state
 * before it. */
typedef struct OpsLstmGradient {
  float *gates;                /* [sequences][4 width] */
  const float *c_in, *dh, *dh_next; /* [sequences][width] */
  float *dc;
  const uint8_t *first;        /* [sequences] or NULL */
  size_t sequences;
  CoreDivisor width;
} OpsLstmGradient;
CORE_KERNEL_FN void ops_lstm_gradient(const CoreDeviceThread *at, const OpsLstmGradient *a) {
  const size_t w = a->width.number;

  for (size_t i = core_device_first(at); i < a->sequences * w; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, a->width);
    const size_t s = place.whole, u = place.rest;
    float *z = a->gates + s * 4 * w + u, dc_in;
    const float keep = a->first && a->first[s] ? 0.0f : 1.0f;
    const RowGates gates = {z[0], z[w], z[2 * w], z[3 * w]};
    const RowGates dz = row_lstm_gradient(&gates, a->c_in[i], a->dh[i] + keep * a->dh_next[i], keep * a->dc[i],
                                          &dc_in);

    a->dc[i] = dc_in;
    z[0] = dz.i;
    z[w] = dz.f;
    z[2 * w] = dz.g;
    z[3 * w] = dz.o;
  }
}

#endif
