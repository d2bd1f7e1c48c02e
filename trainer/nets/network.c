/* Multi-layer perceptron (network.h): layout of parameters and activations, orthogonal initialization, and the order of
 * the layers' forward and backward passes. The arithmetic of a layer is the ops'. */
#include "trainer/nets/network.h"

#include <math.h>

#include "core/device/device.h"
#include "core/memory.h"
#include "core/random.h"

/* -------- shape ---------------------------------------------------------------------------------------------- */

NetworkShape network_shape(int inputs, const int *width, int depth, int outputs, OpsActivation activation,
                           double head_gain) {
  CORE_CHECK(depth >= 0 && depth < NETWORK_LAYERS_MAX);
  NetworkShape shape = {.layers = depth + 1, .head_gain = head_gain};
  shape.width[0] = inputs;
  for (int layer = 1; layer <= depth; layer++) {
    shape.width[layer] = width[layer - 1];
    shape.activation[layer - 1] = activation;
  }
  shape.width[depth + 1] = outputs;
  shape.activation[depth] = OPS_LINEAR;
  return shape;
}

void network_prepend(NetworkShape *shape, const int *width, int depth, OpsActivation activation) {
  CORE_CHECK(depth >= 0 && shape->layers + depth <= NETWORK_LAYERS_MAX);
  for (int layer = shape->layers - 1; layer >= 0; layer--) {
    shape->width[layer + depth + 1] = shape->width[layer + 1];
    shape->activation[layer + depth] = shape->activation[layer];
  }
  for (int layer = 0; layer < depth; layer++) {
    shape->width[layer + 1] = width[layer];
    shape->activation[layer] = activation;
  }
  shape->layers += depth;
}

bool network_has_norm(const NetworkShape *shape, int layer) { return shape->layer_norm && layer < shape->layers - 1; }

static size_t layer_parameters(const NetworkShape *shape, int layer) {
  size_t out = (size_t)shape->width[layer + 1];
  return ((size_t)shape->width[layer] + 1) * out + (network_has_norm(shape, layer) ? 2 * out : 0);
}

size_t network_kernel(const NetworkShape *shape, int layer) {
  size_t offset = 0;
  for (int l = 0; l < layer; l++) offset += layer_parameters(shape, l);
  return offset;
}

size_t network_bias(const NetworkShape *shape, int layer) {
  return network_kernel(shape, layer) + (size_t)shape->width[layer] * (size_t)shape->width[layer + 1];
}

size_t network_norm_gain(const NetworkShape *shape, int layer) {
  return network_bias(shape, layer) + (size_t)shape->width[layer + 1];
}

size_t network_norm_offset(const NetworkShape *shape, int layer) {
  return network_norm_gain(shape, layer) + (size_t)shape->width[layer + 1];
}

size_t network_parameters(const NetworkShape *shape) { return network_kernel(shape, shape->layers); }

const char *network_parameter_name(const NetworkShape *shape, const char *network, size_t k, char *buffer) {
  enum { NAME = 64 };
  static const char *const vectors[] = {"b", "gain", "offset"};

  for (int layer = 0; layer < shape->layers; layer++) {
    size_t kernel = network_kernel(shape, layer), bias = network_bias(shape, layer),
           out = (size_t)shape->width[layer + 1];
    if (k < bias) {
      snprintf(buffer, NAME, "%s.W%d[%zu,%zu]", network, layer, (k - kernel) / out, (k - kernel) % out);
      return buffer;
    }
    if (k < network_kernel(shape, layer + 1)) {
      snprintf(buffer, NAME, "%s.%s%d[%zu]", network, vectors[(k - bias) / out], layer, (k - bias) % out);
      return buffer;
    }
  }

  snprintf(buffer, NAME, "%s[%zu]", network, k);
  return buffer;
}

/* -------- initialization ------------------------------------------------------------------------------------- */

/* Orthonormalizes `count` vectors of `length` doubles, contiguous in memory, by modified Gram-Schmidt: the Q of a QR
 * whose R has a positive diagonal. Each later vector loses its component along the current one independently of the
 * others. */
static void orthonormalize(double *vectors, int count, int length) {
  for (int j = 0; j < count; j++) {
    double *v = vectors + (size_t)j * length, norm = 0;
    for (int i = 0; i < length; i++) norm += v[i] * v[i];
    norm = sqrt(norm);
    for (int i = 0; i < length; i++) v[i] /= norm;
#pragma omp parallel for schedule(static) if ((double)(count - j) * length > 1e5)
    for (int other = j + 1; other < count; other++) {
      double *u = vectors + (size_t)other * length, dot = 0;
      for (int i = 0; i < length; i++) dot += u[i] * v[i];
      for (int i = 0; i < length; i++) u[i] -= dot * v[i];
    }
  }
}

void network_orthogonal(const double *gaussian, int in, int out, double gain, float *kernel) {
  int length = in > out ? in : out;
  int count = in > out ? out : in;
  double *vectors = core_memory_allocate(sizeof(double) * (size_t)length * (size_t)count);
  for (int i = 0; i < length; i++)
    for (int j = 0; j < count; j++) vectors[(size_t)j * length + i] = gaussian[(size_t)i * count + j];
  orthonormalize(vectors, count, length);
  for (int i = 0; i < in; i++)
    for (int o = 0; o < out; o++) {
      size_t index = in >= out ? (size_t)o * length + i : (size_t)i * length + o;
      kernel[(size_t)i * out + o] = (float)(gain * vectors[index]);
    }
  free(vectors);
}

/* Draws n independent N(0, 1) values of one tensor, four per block of random words. */
static void draw_gaussian(uint64_t seed, uint32_t tensor, double *values, size_t n) {
  for (size_t i = 0; i < n; i += 4) {
    CoreRandom4 words = core_random_4(seed, CORE_RANDOM_WEIGHTS, tensor, (uint32_t)(i / 4), 0);
    double four[4];
    core_random_normal_pair(words.v[0], words.v[1], &four[0], &four[1]);
    core_random_normal_pair(words.v[2], words.v[3], &four[2], &four[3]);
    for (size_t k = 0; k < 4 && i + k < n; k++) values[i + k] = four[k];
  }
}

void network_init(const NetworkShape *shape, uint64_t seed, uint32_t tensor, float *theta) {
  for (int layer = 0; layer < shape->layers; layer++) {
    int in = shape->width[layer], out = shape->width[layer + 1];
    size_t elements = (size_t)in * (size_t)out;
    double *gaussian = core_memory_allocate(sizeof(double) * elements);
    draw_gaussian(seed, tensor + (uint32_t)layer, gaussian, elements);
    network_orthogonal(gaussian, in, out, layer == shape->layers - 1 ? shape->head_gain : sqrt(2),
                       theta + network_kernel(shape, layer));
    memset(theta + network_bias(shape, layer), 0, sizeof(float) * (size_t)out);
    free(gaussian);
    if (!network_has_norm(shape, layer)) continue;
    for (int o = 0; o < out; o++) theta[network_norm_gain(shape, layer) + (size_t)o] = 1;
    memset(theta + network_norm_offset(shape, layer), 0, sizeof(float) * (size_t)out);
  }
}

/* -------- passes --------------------------------------------------------------------------------------------- */

/* Whether a layer's output is stored as bf16: not the last of a chain. */
static bool is_half(const NetworkShape *shape, int layer) {
  return shape->stores_bf16 && layer != shape->layers - 1 && layer != shape->first_chain - 1;
}

/* Returns the floats that hold a bf16 output and, after ReLU, its mask (device_chain.c). */
static size_t half_floats(size_t rows, size_t width, OpsActivation activation) {
  enum { ALIGNED = 256, MASK_BITS = 128, MASK_BYTES = MASK_BITS / 8 }; /* bits to which a row of the mask is rounded */
  const size_t output = (rows * width * sizeof(uint16_t) + ALIGNED - 1) / ALIGNED * ALIGNED;
  const size_t mask = activation == OPS_RELU ? rows * ((width + MASK_BITS - 1) / MASK_BITS * MASK_BYTES) : 0;
  return (output + mask) / sizeof(float);
}

static size_t layer_floats(const NetworkShape *shape, int layer, int rows) {
  size_t output = (size_t)rows * (size_t)shape->width[layer + 1];
  if (is_half(shape, layer))
    return half_floats((size_t)rows, (size_t)shape->width[layer + 1], shape->activation[layer]);
  return network_has_norm(shape, layer) ? 2 * output + (size_t)rows : output;
}

size_t network_layers_floats(const NetworkShape *shape, int layers, int rows) {
  size_t floats = 0;
  for (int layer = 0; layer < layers; layer++) floats += layer_floats(shape, layer, rows);
  return floats;
}

size_t network_activation_floats(const NetworkShape *shape, int rows) {
  return network_layers_floats(shape, shape->layers, rows);
}

void network_place_activations(const NetworkShape *shape, int rows, float *block, NetworkActivations *activations) {
  for (int layer = 0; layer < shape->layers; layer++) {
    size_t output = (size_t)rows * (size_t)shape->width[layer + 1];
    bool norm = network_has_norm(shape, layer);
    activations->hidden[layer] = block;
    activations->normalized[layer] = norm ? block + output : NULL;
    activations->inverse[layer] = norm ? block + 2 * output : NULL;
    block += layer_floats(shape, layer, rows);
  }
}

static void layer_forward(Ops *ops, const NetworkShape *shape, const float *theta, const float *x, int rows,
                          const NetworkActivations *activations, int layer) {
  const float *w = theta + network_kernel(shape, layer), *b = theta + network_bias(shape, layer);
  const int in = shape->width[layer], out = shape->width[layer + 1];
  if (!network_has_norm(shape, layer)) {
    ops->dense_forward(ops, x, w, b, activations->hidden[layer], rows, in, out, shape->activation[layer]);
    return;
  }
  float *z = activations->normalized[layer];
  ops->dense_forward(ops, x, w, b, z, rows, in, out, OPS_LINEAR);
  ops->norm_forward(ops, z, activations->inverse[layer], theta + network_norm_gain(shape, layer),
                    theta + network_norm_offset(shape, layer), activations->hidden[layer], rows, out,
                    NETWORK_NORM_EPSILON, shape->activation[layer]);
}

/* Builds the chain of layers first .. end-1 for the ops. gradient may be NULL. */
static void make_chain(const NetworkShape *shape, const float *theta, const NetworkActivations *activations, int first,
                       int end, float *gradient, OpsLayer *chain) {
  for (int layer = first; layer < end; layer++) {
    const size_t kernel = network_kernel(shape, layer), bias = network_bias(shape, layer);
    chain[layer - first] = (OpsLayer){
        .in = shape->width[layer], .out = shape->width[layer + 1], .activation = shape->activation[layer],
        .w = theta + kernel, .b = theta + bias, .y = activations->hidden[layer],
        .dw = gradient ? gradient + kernel : NULL, .db = gradient ? gradient + bias : NULL};
  }
}

/* Whether layers form a chain; layer norm between a product and its activation breaks one. */
static bool is_chain(const Ops *ops, const NetworkShape *shape, int first, int end) {
  return ops->chain_forward && end > first && !shape->layer_norm;
}

bool network_hidden_is_bf16(const Ops *ops, const NetworkShape *shape, bool is_last) {
  return ops->stores_bf16 && !is_last && is_chain(ops, shape, 0, shape->layers);
}

void network_forward_layers(Ops *ops, const NetworkShape *shape, const float *theta, const float *x, int rows,
                            const NetworkActivations *activations, int first, int end) {
  OpsLayer chain[NETWORK_LAYERS_MAX];
  if (is_chain(ops, shape, first, end)) {
    make_chain(shape, theta, activations, first, end, NULL, chain);
    ops->chain_forward(ops, x, chain, end - first, rows);
    return;
  }
  for (int layer = first; layer < end; layer++)
    layer_forward(ops, shape, theta, layer > first ? activations->hidden[layer - 1] : x, rows, activations, layer);
}

static void layer_backward(Ops *ops, const NetworkShape *shape, const float *theta, const float *x, int rows,
                           const NetworkActivations *activations, int layer, float *dy, float *dx, float *gradient) {
  const size_t kernel = network_kernel(shape, layer), bias = network_bias(shape, layer);
  const int in = shape->width[layer], out = shape->width[layer + 1];
  OpsActivation activation = shape->activation[layer];
  if (network_has_norm(shape, layer)) { /* dy becomes the gradient at the product, which has no activation here */
    const size_t gain = network_norm_gain(shape, layer), offset = network_norm_offset(shape, layer);
    ops->norm_backward(ops, activations->normalized[layer], activations->inverse[layer], theta + gain, theta + offset,
                       activations->hidden[layer], dy, gradient + gain, gradient + offset, rows, out, activation);
    activation = OPS_LINEAR;
  }
  ops->dense_backward(ops, x, theta + kernel, theta + bias, activations->hidden[layer], dy, dx, gradient + kernel,
                      gradient + bias, rows, in, out, activation);
}

static int widest(const NetworkShape *shape) {
  int width = 0;
  for (int layer = 1; layer <= shape->layers; layer++)
    width = shape->width[layer] > width ? shape->width[layer] : width;
  return width;
}

static void tell(const NetworkWatch *watch, const NetworkShape *shape, int layer) {
  if (watch && watch->on_complete) watch->on_complete(watch->context, watch->is_actor, network_kernel(shape, layer));
}

/* Watch of a chain, whose layer 0 is the network's layer `first`. */
typedef struct ChainWatch { const NetworkWatch *watch; const NetworkShape *shape; int first; } ChainWatch;
static void tell_of_chain(void *context, int layer) {
  const ChainWatch *chain = context;
  tell(chain->watch, chain->shape, chain->first + layer);
}

void network_backward_layers(Ops *ops, const NetworkShape *shape, const float *theta, const float *x, int rows,
                             const NetworkActivations *activations, int first, int end, float *dy, float *dx,
                             float *scratch, float *gradient, const NetworkWatch *watch) {
  float *halves[2] = {scratch, scratch + (size_t)rows * (size_t)widest(shape)};
  OpsLayer chain[NETWORK_LAYERS_MAX];

  if (is_chain(ops, shape, first, end)) {
    make_chain(shape, theta, activations, first, end, gradient, chain);
    ChainWatch listener = {watch, shape, first};
    ops->chain_backward(ops, x, chain, end - first, dy, dx, scratch, rows,
                        watch && watch->on_complete ? &(OpsWatch){tell_of_chain, &listener} : NULL);
    return;
  }

  for (int layer = end - 1; layer >= first; layer--) {
    float *below = layer > first ? halves[layer % 2] : dx;
    layer_backward(ops, shape, theta, layer > first ? activations->hidden[layer - 1] : x, rows, activations, layer, dy,
                   below, gradient);
    tell(watch, shape, layer);
    dy = below;
  }
}
