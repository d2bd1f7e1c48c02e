/* The memory of a policy (net.memory): an LSTM over what a network sees, and a layer norm of its output, which stands
 * in front of trunk and towers (rl_games' A2CBuilder with before_mlp and layer_norm, as SAPG's AllegroKuka has it). It
 * runs over sequences: rows of consecutive steps, the state that enters the first, and which steps begin an episode. */
#ifndef TRAINER_RECURRENT_H
#define TRAINER_RECURRENT_H
#include <stdbool.h>

#include "core/device/arena.h"
#include "trainer/ops/recurrent.h"

/* Where its parameters begin in their part of a network's vector. Two biases, as in PyTorch: their gradients are equal,
 * and both count in a norm and are stepped. */
typedef struct RecurrentShape {
  int in, width;             /* width 0: there is no memory */
  size_t wx, bx, wh, bh;     /* [in][4 width], [4 width], [width][4 width], [4 width]; columns i, f, g, o */
  size_t gain, offset;       /* [width] of the layer norm */
  size_t parameters;
} RecurrentShape;

/* How the rows of the next passes hang together: [length][sequences], so step t of sequence s is row t * sequences + s.
 * A state is h and c of each network that has a memory of its own, the actor's first. */
typedef struct RecurrentSequences {
  int length;                /* 1: rows are single steps of as many sequences */
  const float *start;        /* [sequences][numbers of a state] that enter the first step */
  const uint8_t *begins;     /* [rows] 1: the first step of an episode, which 0 enters; NULL: none */
  float *end;                /* as start, after the last step; may be start; NULL: not wanted */
} RecurrentSequences;

/* Its working memory, of the pass that ran last; any number of parameter vectors may use it one after the other. */
typedef struct Recurrent {
  RecurrentShape shape;
  int states;                /* numbers of a sequence's state, of all networks */
  float *gates;              /* [rows][4 width] the gates; after a backward pass the gradient before them */
  float *h_in, *c_in;        /* [rows][width] what entered each step */
  float *h;                  /* [rows][width] the output, normalised by the layer norm */
  float *inverse;            /* [rows] of the layer norm */
  float *output;             /* [rows][width] */
  float *room;               /* [rows][4 width] of a device; NULL on the host */
  float *dstate;             /* [2][rows][width] */
} Recurrent;

RecurrentShape recurrent_shape(int in, int width);
/* networks: that have one of their own. max_rows: of any later pass. */
void recurrent_register(Recurrent *recurrent, const RecurrentShape *shape, int networks, int max_rows,
                        CoreArena *arena);
/* Initial parameters, PyTorch's: all of the LSTM uniform within +-1 / sqrt(width); gains 1, offsets 0. A function of
 * (seed, tensor, row of the kernel) alone; row[in]: the number that an input has there, NULL: its own. */
void recurrent_initialise(const RecurrentShape *shape, uint64_t seed, uint32_t tensor, const int32_t *row,
                          float *theta);
/* "actor.lstm Wx[3,17]" for the k-th parameter. buffer >= 64. */
const char *recurrent_parameter_name(const RecurrentShape *shape, const char *network, size_t k, char *buffer);

/* x [rows][in] -> recurrent->output. network: whose part of a state it is, 0 the actor's. first: the sequence of the
 * first row, where rows are single steps; else 0. */
void recurrent_forward(const Recurrent *recurrent, Ops *ops, const float *theta, const float *x, int rows,
                       const RecurrentSequences *sequences, int network, int first);
/* After recurrent_forward of the same rows: the gradient at the output (overwritten) -> gradient [parameters] (set),
 * and dx [rows][in] unless NULL. Nothing goes on into the states that entered. */
void recurrent_backward(const Recurrent *recurrent, Ops *ops, const float *theta, const float *x, int rows,
                        const RecurrentSequences *sequences, float *doutput, float *dx, float *gradient);

#endif
