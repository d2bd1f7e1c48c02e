/* Multi-layer perceptron over ops. Its parameters are one flat vector, layer after layer: kernel W (in, out) row-major,
 * bias b, and for a hidden layer with layer norm its gain and offset. */
#ifndef TRAINER_NETWORK_H
#define TRAINER_NETWORK_H
#include <stdbool.h>

#include "trainer/ops/ops.h"

enum { NETWORK_LAYERS_MAX = 33 };      /* 16 layers of a trunk, 16 of a tower, a head */
#define NETWORK_NORM_EPSILON 1e-5      /* added to the variance in layer norm (PyTorch's) */

typedef struct NetworkShape {
  int layers;                                   /* hidden layers + the head */
  int width[NETWORK_LAYERS_MAX + 1];            /* width[0] = inputs, width[layers] = outputs */
  OpsActivation activation[NETWORK_LAYERS_MAX]; /* activation of each layer; the head is linear */
  bool layer_norm;                              /* hidden layers: product, layer norm, activation */
  bool stores_bf16;                             /* whether a device stores hidden outputs as bf16 (ops.h), except */
  int first_chain;                              /* the last one of this many leading layers; 0: no other chain */
  double head_gain;                             /* orthogonal gain: 0.01 policy, 1.0 value; hidden sqrt(2) (0 bias) */
} NetworkShape;

/* Returns a shape with `depth` hidden layers of width[depth] without layer norm, and the head. */
NetworkShape network_shape(int inputs, const int *width, int depth, int outputs, OpsActivation activation,
                           double head_gain);
/* Inserts `depth` hidden layers of width[depth] and `activation` between the inputs and the first layer. */
void network_prepend(NetworkShape *shape, const int *width, int depth, OpsActivation activation);

size_t network_parameters(const NetworkShape *shape);
/* Return the offsets in the vector of layer l's kernel and bias, and of its layer norm's gain and offset if present. */
size_t network_kernel(const NetworkShape *shape, int layer);
size_t network_bias(const NetworkShape *shape, int layer);
size_t network_norm_gain(const NetworkShape *shape, int layer);
size_t network_norm_offset(const NetworkShape *shape, int layer);
bool network_has_norm(const NetworkShape *shape, int layer);
/* Formats the name of the k-th parameter for messages: "actor.W1[3,17]". buffer >= 64. */
const char *network_parameter_name(const NetworkShape *shape, const char *network, size_t k, char *buffer);

/* Initializes orthogonally (docs/algorithms.md#initial-weights): QR of a Gaussian, R's diagonal positive, in double; a
 * function of (seed, tensor number) only; biases 0, layer norm's gains 1 and offsets 0. tensor: 0 for the actor, 100
 * for the critic (+ layer). */
void network_init(const NetworkShape *shape, uint64_t seed, uint32_t tensor, float *theta);

/* Initializes one kernel: gaussian is [max(in, out)][min(in, out)] row-major; the longer side of kernel [in][out]
 * becomes orthonormal, times gain. Part of network_init(). */
void network_orthogonal(const double *gaussian, int in, int out, double gain, float *kernel);

/* Activations of a forward pass that backward needs, by layer. */
typedef struct NetworkActivations {
  float *hidden[NETWORK_LAYERS_MAX];      /* [rows][width[l+1]]: the layer's output */
  float *normalized[NETWORK_LAYERS_MAX];  /* [rows][width[l+1]] with layer norm: before gain and offset */
  float *inverse[NETWORK_LAYERS_MAX];     /* [rows] with layer norm: 1 / standard deviation */
} NetworkActivations;
/* Return the floats of the activations of the first `layers` layers for `rows` rows, and of all layers;
 * network_place_activations() assigns all within one block of that many floats, layer after layer. */
size_t network_layers_floats(const NetworkShape *shape, int layers, int rows);
size_t network_activation_floats(const NetworkShape *shape, int rows);
void network_place_activations(const NetworkShape *shape, int rows, float *block, NetworkActivations *activations);

/* Whether the output of a hidden layer of a forward pass is bf16 (ops.h, chain_forward). is_last: the pass ended with
 * this layer. */
bool network_hidden_is_bf16(const Ops *ops, const NetworkShape *shape, bool is_last);

/* Callback after each layer of a backward pass: the gradient is complete from parameter `first` to the last. */
typedef struct NetworkWatch {
  void (*on_complete)(void *context, bool is_actor, size_t first); /* may be NULL */
  void *context;
  bool is_actor;               /* argument of on_complete */
} NetworkWatch;

/* Run layers first .. end-1, of which hidden[end-1] is the output. x [rows][width[first]] is the input of layer
 * `first`; dy, the gradient at the output of layer end-1, is overwritten; dx [rows][width[first]] is set unless NULL.
 * theta and gradient are the complete vectors. scratch: 2*rows*(widest layer after the inputs) floats. watch may be
 * NULL. */
void network_forward_layers(Ops *ops, const NetworkShape *shape, const float *theta, const float *x, int rows,
                            const NetworkActivations *activations, int first, int end);
void network_backward_layers(Ops *ops, const NetworkShape *shape, const float *theta, const float *x, int rows,
                             const NetworkActivations *activations, int first, int end, float *dy, float *dx,
                             float *scratch, float *gradient, const NetworkWatch *watch);

#endif
