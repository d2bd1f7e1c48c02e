/* What recurrent networks need of the ops: an LSTM's way through sequences, forward and back through time. A part of
 * the table of ops.h; what it shares with it (buffers, errors, reproducibility) is said there.
 *
 * Rows stand step after step, [length][sequences], so that a step's rows follow each other. */
#ifndef TRAINER_OPS_RECURRENT_H
#define TRAINER_OPS_RECURRENT_H
#include "trainer/ops/ops.h"

/* An LSTM (Hochreiter and Schmidhuber 1997, with forget gates) as PyTorch has it: columns i, f, g, o of
 * z = x Wx + bx + h Wh + bh; c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c'). What enters a step that
 * begins an episode is 0. */
typedef struct OpsLstm {
  int in, width, sequences, length;
  const float *wx, *bx, *wh, *bh; /* [in][4 width], [4 width], [width][4 width], [4 width] */
  const float *x;                /* [length][sequences][in] */
  const float *start;            /* [sequences], `stride` floats from one to the next: h [width], c [width] */
  size_t stride;
  const uint8_t *begins;         /* [length][sequences] 1: the first step of an episode; NULL: none is */
  float *gates;                  /* [length][sequences][4 width]: i, f, g, o */
  float *h_in, *c_in;            /* [length][sequences][width] what entered a step */
  float *h;                      /* [length][sequences][width] */
  float *end;                    /* as start, after the last step; may be start; NULL: not wanted */
  float *room;                   /* [sequences][4 width] of a device's passes; the host's need none */
} OpsLstm;

/* The gradients that a backward pass sets, of the shapes of what they are of. */
typedef struct OpsLstmGradients {
  float *dwx, *dbx, *dwh, *dbh;
  float *dx;                     /* NULL: not wanted */
  float *dstate;                 /* [2][sequences][width] at what entered the first step, h then c */
} OpsLstmGradients;

typedef struct OpsRecurrent {
  void (*lstm_forward)(Ops *ops, const OpsLstm *lstm);
  /* After lstm_forward of the same. dh [length][sequences][width]: the gradient at h from behind, without that through
   * time. The gates become the gradient at z. */
  void (*lstm_backward)(Ops *ops, const OpsLstm *lstm, const float *dh, const OpsLstmGradients *gradients);
} OpsRecurrent;

#endif
