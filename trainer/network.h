/* A multi-layer perceptron over ops: parameters in one flat vector W0, b0, W1, b1, ... (kernels (in, out),
 * row-major). */
#ifndef TRAINER_NETWORK_H
#define TRAINER_NETWORK_H
#include "trainer/ops/ops.h"

enum { NETWORK_LAYERS_MAX = 17 };

typedef struct NetworkShape {
  int layers;                          /* hidden layers + the head */
  int width[NETWORK_LAYERS_MAX + 1];   /* width[0] = inputs, width[layers] = outputs */
  OpsActivation activation;            /* of the hidden layers; the head is linear */
  double head_gain;                    /* orthogonal gain: 0.01 policy, 1.0 value; hidden sqrt(2) (0 bias) */
} NetworkShape;

NetworkShape network_shape(int inputs, int width, int depth, int outputs, OpsActivation activation, double head_gain);
size_t network_parameters(const NetworkShape *shape);
/* Offsets of layer l's kernel and bias in the vector. */
size_t network_kernel(const NetworkShape *shape, int layer);
size_t network_bias(const NetworkShape *shape, int layer);
/* "actor.W1[3,17]" for the k-th parameter: the name in a NaN message. buffer >= 64. */
const char *network_parameter_name(const NetworkShape *shape, const char *network, size_t k, char *buffer);

/* Orthogonal initialisation (spec ppo.md 1.9, kinetix.md 6): QR of a Gaussian, R's diagonal positive, in double;
 * a function of (seed, tensor number) only; biases 0. tensor: 0 for the actor, 100 for the critic (+ layer). */
void network_initialise(const NetworkShape *shape, uint64_t seed, uint32_t tensor, float *theta);

/* Its step for one kernel: gaussian is [max(in, out)][min(in, out)] row-major; the longer side of kernel [in][out]
 * becomes orthonormal, times gain. */
void network_orthogonal(const double *gaussian, int in, int out, double gain, float *kernel);

/* Activations of a forward pass that backward needs: hidden[l] is [rows][width[l+1]]. */
typedef struct NetworkActivations { float *hidden[NETWORK_LAYERS_MAX]; } NetworkActivations;
/* Floats that activations for `rows` rows take; and placing them in one block of that many floats. */
size_t network_activation_floats(const NetworkShape *shape, int rows);
void network_place_activations(const NetworkShape *shape, int rows, float *block, NetworkActivations *activations);

/* hidden[layers-1] is the output [rows][outputs]. */
void network_forward(Ops *ops, const NetworkShape *shape, const float *theta, const float *x, int rows,
                     const NetworkActivations *activations);
/* doutput [rows][outputs] (overwritten) -> gradient (whole vector set). scratch: 2*rows*(widest layer after the
 * inputs) floats. */
void network_backward(Ops *ops, const NetworkShape *shape, const float *theta, const float *x, int rows,
                      const NetworkActivations *activations, float *doutput, float *scratch, float *gradient);

#endif
