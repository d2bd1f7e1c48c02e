/* The multi-layer perceptron (network.h): where parameters and activations lie, orthogonal initialisation, and the
 * order of the layers' forward and backward passes. The arithmetic of a layer is the ops'. */
#include "trainer/network.h"

#include <math.h>

#include "core/memory.h"
#include "core/random.h"

/* -------- shape ---------------------------------------------------------------------------------------------- */

NetworkShape network_shape(int inputs, int width, int depth, int outputs, OpsActivation activation, double head_gain) {
  CORE_CHECK(depth >= 0 && depth < NETWORK_LAYERS_MAX);
  NetworkShape shape = {.layers = depth + 1, .activation = activation, .head_gain = head_gain};
  shape.width[0] = inputs;
  for (int layer = 1; layer <= depth; layer++) shape.width[layer] = width;
  shape.width[depth + 1] = outputs;
  return shape;
}

static size_t layer_parameters(const NetworkShape *shape, int layer) {
  return ((size_t)shape->width[layer] + 1) * (size_t)shape->width[layer + 1];
}

size_t network_kernel(const NetworkShape *shape, int layer) {
  size_t offset = 0;
  for (int l = 0; l < layer; l++) offset += layer_parameters(shape, l);
  return offset;
}

size_t network_bias(const NetworkShape *shape, int layer) {
  return network_kernel(shape, layer) + (size_t)shape->width[layer] * (size_t)shape->width[layer + 1];
}

size_t network_parameters(const NetworkShape *shape) { return network_kernel(shape, shape->layers); }

const char *network_parameter_name(const NetworkShape *shape, const char *network, size_t k, char *buffer) {
  enum { NAME = 64 };
  for (int layer = 0; layer < shape->layers; layer++) {
    size_t kernel = network_kernel(shape, layer), bias = network_bias(shape, layer),
           out = (size_t)shape->width[layer + 1];
    if (k < bias) {
      snprintf(buffer, NAME, "%s.W%d[%zu,%zu]", network, layer, (k - kernel) / out, (k - kernel) % out);
      return buffer;
    }
    if (k < bias + out) {
      snprintf(buffer, NAME, "%s.b%d[%zu]", network, layer, k - bias);
      return buffer;
    }
  }
  snprintf(buffer, NAME, "%s[%zu]", network, k);
  return buffer;
}

/* -------- initialisation ------------------------------------------------------------------------------------- */

/* Modified Gram-Schmidt on `count` vectors of `length` doubles, one after the other in memory: the Q of a QR whose R
 * has a positive diagonal. Each later vector loses its part along the present one independently of the others. */
static void orthonormalise(double *vectors, int count, int length) {
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
  int length = in > out ? in : out, count = in > out ? out : in;
  double *vectors = core_memory_allocate(sizeof(double) * (size_t)length * (size_t)count);
  for (int i = 0; i < length; i++)
    for (int j = 0; j < count; j++) vectors[(size_t)j * length + i] = gaussian[(size_t)i * count + j];
  orthonormalise(vectors, count, length);
  for (int i = 0; i < in; i++)
    for (int o = 0; o < out; o++) {
      size_t at = in >= out ? (size_t)o * length + i : (size_t)i * length + o;
      kernel[(size_t)i * out + o] = (float)(gain * vectors[at]);
    }
  free(vectors);
}

/* n independent N(0, 1) numbers of one tensor, four a block of random words. */
static void draw_gaussian(uint64_t seed, uint32_t tensor, double *values, size_t n) {
  for (size_t i = 0; i < n; i += 4) {
    CoreRandom4 words = core_random_4(seed, CORE_RANDOM_WEIGHTS, tensor, (uint32_t)(i / 4), 0);
    double four[4];
    core_random_normal_pair(words.v[0], words.v[1], &four[0], &four[1]);
    core_random_normal_pair(words.v[2], words.v[3], &four[2], &four[3]);
    for (size_t k = 0; k < 4 && i + k < n; k++) values[i + k] = four[k];
  }
}

void network_initialise(const NetworkShape *shape, uint64_t seed, uint32_t tensor, float *theta) {
  for (int layer = 0; layer < shape->layers; layer++) {
    int in = shape->width[layer], out = shape->width[layer + 1];
    size_t elements = (size_t)in * (size_t)out;
    double *gaussian = core_memory_allocate(sizeof(double) * elements);
    draw_gaussian(seed, tensor + (uint32_t)layer, gaussian, elements);
    network_orthogonal(gaussian, in, out, layer == shape->layers - 1 ? shape->head_gain : sqrt(2),
                       theta + network_kernel(shape, layer));
    memset(theta + network_bias(shape, layer), 0, sizeof(float) * (size_t)out);
    free(gaussian);
  }
}

/* -------- passes --------------------------------------------------------------------------------------------- */

size_t network_activation_floats(const NetworkShape *shape, int rows) {
  size_t floats = 0;
  for (int layer = 0; layer < shape->layers; layer++) floats += (size_t)rows * (size_t)shape->width[layer + 1];
  return floats;
}

void network_place_activations(const NetworkShape *shape, int rows, float *block, NetworkActivations *activations) {
  for (int layer = 0; layer < shape->layers; layer++) {
    activations->hidden[layer] = block;
    block += (size_t)rows * (size_t)shape->width[layer + 1];
  }
}

static OpsActivation layer_activation(const NetworkShape *shape, int layer) {
  return layer == shape->layers - 1 ? OPS_LINEAR : shape->activation;
}

void network_forward(Ops *ops, const NetworkShape *shape, const float *theta, const float *x, int rows,
                     const NetworkActivations *activations) {
  for (int layer = 0; layer < shape->layers; layer++) {
    const float *input = layer ? activations->hidden[layer - 1] : x;
    ops->dense_forward(ops, input, theta + network_kernel(shape, layer), theta + network_bias(shape, layer),
                       activations->hidden[layer], rows, shape->width[layer], shape->width[layer + 1],
                       layer_activation(shape, layer));
  }
}

static int widest(const NetworkShape *shape) {
  int width = 0;
  for (int layer = 1; layer <= shape->layers; layer++)
    width = shape->width[layer] > width ? shape->width[layer] : width;
  return width;
}

void network_backward(Ops *ops, const NetworkShape *shape, const float *theta, const float *x, int rows,
                      const NetworkActivations *activations, float *doutput, float *scratch, float *gradient) {
  float *halves[2] = {scratch, scratch + (size_t)rows * (size_t)widest(shape)}, *dy = doutput;
  for (int layer = shape->layers - 1; layer >= 0; layer--) {
    size_t kernel = network_kernel(shape, layer), bias = network_bias(shape, layer);
    const float *input = layer ? activations->hidden[layer - 1] : x;
    float *dx = layer ? halves[layer % 2] : NULL; /* nobody needs the gradient at the observations */
    ops->dense_backward(ops, input, theta + kernel, theta + bias, activations->hidden[layer], dy, dx,
                        gradient + kernel, gradient + bias, rows, shape->width[layer], shape->width[layer + 1],
                        layer_activation(shape, layer));
    dy = dx;
  }
}
