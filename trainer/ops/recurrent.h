/* Operations of recurrent networks: an LSTM over sequences, forward and backward through time. A sub-table of Ops; its
 * rules on buffers, errors and reproducibility apply.
 *
 * Rows are time-major, [length][sequences], so a step's rows are contiguous. */
#ifndef TRAINER_OPS_RECURRENT_H
#define TRAINER_OPS_RECURRENT_H
#include "trainer/ops/ops.h"

/* LSTM (Hochreiter and Schmidhuber 1997, with forget gates) in PyTorch's form: columns i, f, g, o of z = x Wx + bx + h
 * Wh + bh; c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c'). The state that enters the first step of an
 * episode is 0. */
typedef struct OpsLstm {
  int in, width, sequences, length;
  const float *wx, *bx, *wh, *bh; /* [in][4 width], [4 width], [width][4 width], [4 width] */
  const float *x;                /* [length][sequences][in] */
  const float *start;            /* [sequences] initial states, `stride` floats apart: h [width], c [width] */
  size_t stride;
  const uint8_t *begins;         /* [length][sequences] 1: first step of an episode; NULL: none is */
  float *gates;                  /* [length][sequences][4 width]: i, f, g, o */
  float *h_in, *c_in;            /* [length][sequences][width] state that entered a step */
  float *h;                      /* [length][sequences][width] */
  float *end;                    /* final states, as start; may be start; NULL: not wanted */
  float *step_products;          /* [sequences][4 width] scratch of a device; unused on the host */
} OpsLstm;

/* Gradients that a backward pass sets, in the shapes of their variables. */
typedef struct OpsLstmGradients {
  float *dwx, *dbx, *dwh, *dbh;
  float *dx;                     /* NULL: not wanted */
  float *dstate;                 /* [2][sequences][width] at the initial state, h then c */
} OpsLstmGradients;

typedef struct OpsRecurrent {
  void (*lstm_forward)(Ops *ops, const OpsLstm *lstm);
  /* Runs after lstm_forward of the same. dh [length][sequences][width]: the gradient at h from the layers above,
   * without that through time. The gates become the gradient at z. */
  void (*lstm_backward)(Ops *ops, const OpsLstm *lstm, const float *dh, const OpsLstmGradients *gradients);
} OpsRecurrent;

#endif
