/* Recurrent part of a policy (net.memory): an LSTM over a network's input, and a layer norm of its output, before trunk
 * and towers (rl_games' A2CBuilder with before_mlp and layer_norm, as in SAPG's AllegroKuka). It runs over sequences:
 * rows of consecutive steps, the state that enters the first, and flags of steps that begin an episode. */
#ifndef TRAINER_RECURRENT_H
#define TRAINER_RECURRENT_H
#include <stdbool.h>

#include "core/device/arena.h"
#include "trainer/ops/recurrent.h"

/* Sizes, and offsets of the parameters in their part of a network's parameter vector. The LSTM has two biases, as in
 * PyTorch: their gradients are equal, and both enter the gradient norm and the optimizer step. */
typedef struct RecurrentShape {
  int in, width;             /* width 0: not recurrent */
  size_t wx, bx, wh, bh;     /* [in][4 width], [4 width], [width][4 width], [4 width]; columns i, f, g, o */
  size_t gain, offset;       /* [width] scale and shift of the layer norm */
  size_t parameters;
} RecurrentShape;

/* Division of the rows of a pass into sequences, [length][sequences]: step t of sequence s is row t * sequences + s. A
 * state is h and c of each network that has its own LSTM, the actor's first. */
typedef struct RecurrentSequences {
  int length;                /* 1: rows are single steps of as many sequences */
  const float *start;        /* [sequences][state size] states that enter the first step */
  const uint8_t *begins;     /* [rows] 1: first step of an episode, entered by a zero state; NULL: none */
  float *end;                /* final states, in the layout of start, which it may alias; NULL: not stored */
} RecurrentSequences;

/* Activations of the last pass, shared by all parameter vectors, one pass at a time. */
typedef struct Recurrent {
  RecurrentShape shape;
  int states;                /* floats of a sequence's state, of all networks */
  float *gates;              /* [rows][4 width] gates; after a backward pass, gradients of their pre-activations */
  float *h_in, *c_in;        /* [rows][width] state that entered each step */
  float *h;                  /* [rows][width] output, normalized by the layer norm */
  float *inverse;            /* [rows] 1 / standard deviation of the layer norm */
  float *output;             /* [rows][width] */
  float *step_products;      /* [rows][4 width] scratch of a device; NULL on the host */
  float *dstate;             /* [2][rows][width] */
} Recurrent;

RecurrentShape recurrent_shape(int in, int width);
/* Registers buffers. networks: number of networks with their own LSTM. max_rows: maximum rows of a pass. */
void recurrent_register(Recurrent *recurrent, const RecurrentShape *shape, int networks, int max_rows,
                        CoreArena *arena);
/* Initializes the parameters as PyTorch does: the LSTM's uniform within +-1 / sqrt(width); gains 1, offsets 0. Each row
 * of a weight matrix is a function of (seed, tensor, row number) alone. row[in]: row number of each input; NULL: its
 * index. */
void recurrent_init(const RecurrentShape *shape, uint64_t seed, uint32_t tensor, const int32_t *row,
                          float *theta);
/* Formats the name of the k-th parameter: "actor.lstm Wx[3,17]". buffer >= 64. */
const char *recurrent_parameter_name(const RecurrentShape *shape, const char *network, size_t k, char *buffer);

/* Computes x [rows][in] -> recurrent->output. network: index of the network's part of a state, 0 the actor's. first:
 * sequence of the first row, where rows are single steps; else 0. */
void recurrent_forward(const Recurrent *recurrent, Ops *ops, const float *theta, const float *x, int rows,
                       const RecurrentSequences *sequences, int network, int first);
/* Backpropagates doutput (overwritten) into gradient [parameters] (overwritten, not added to) and dx [rows][in], unless
 * NULL. Must follow recurrent_forward of the same rows. No gradient flows into the initial states. */
void recurrent_backward(const Recurrent *recurrent, Ops *ops, const float *theta, const float *x, int rows,
                        const RecurrentSequences *sequences, float *doutput, float *dx, float *gradient);

#endif
