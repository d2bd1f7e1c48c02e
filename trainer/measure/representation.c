/* Sums over states of a network's hidden activations, and the closed forms over them (representation.h). */
#include "trainer/measure/representation.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "trainer/ops/fast_math_internal.h"
#include "trainer/ranks/ranks.h"
#include "trainer/update/reduce.h"

static const double SHARE = 0.99, LYLE_MIN = 0.01, INACTIVE_BELOW = 1e-5, DEAD_SPREAD = 1e-3;

/* ---- sums ------------------------------------------------------------------------------------------------------ */

/* Returns the index of a layer's first unit. */
static int first_unit(const Representation *representation, int layer) {
  int first = 0;
  for (int i = 0; i < layer; i++) first += representation->layer[i].width;
  return first;
}

void representation_register(Representation *representation, const NetworkShape *shape,
                             const RepresentationLayer *convolutions, int count, CoreArena *arena) {
  CORE_CHECK(count + shape->layers <= REPRESENTATION_LAYERS_MAX);
  *representation = (Representation){.convolutions = count, .layers = count,
                                     .width = shape->layers > 1 ? shape->width[shape->layers - 1] : 0};
  for (int i = 0; i < count; i++) representation->layer[i] = convolutions[i];
  for (int layer = 1; layer < shape->layers; layer++)
    representation->layer[representation->layers++] =
      (RepresentationLayer){shape->width[layer], 1, shape->activation[layer - 1]};

  representation->units = first_unit(representation, representation->layers);
  size_t units = (size_t)representation->units, width = (size_t)representation->width;
  CORE_ARENA(arena, representation->unit, units, "activation moments [units]");
  CORE_ARENA(arena, representation->magnitude, units, "activation magnitudes [units]");

  representation->device = core_arena_device(arena);
  const size_t on_device = representation->device ? units - (size_t)first_unit(representation, count) : 0;
  CORE_ARENA_DEVICE(arena, representation->unit_on_device, on_device, "activation moments [units]");
  CORE_ARENA_DEVICE(arena, representation->magnitude_on_device, on_device, "activation magnitudes [units]");

  if (width > REPRESENTATION_WIDTH_MAX || width == 0) return;
  CORE_ARENA_DEVICE(arena, representation->gram_on_device, representation->device ? width * width : 0,
                    "feature Gram matrix [width][width]");
  CORE_ARENA(arena, representation->gram, width * width, "feature Gram matrix [width][width]");
  CORE_ARENA(arena, representation->centered, width * width, "centered Gram matrix [width][width]");
  CORE_ARENA(arena, representation->eigenvalues, width, "Gram eigenvalues [width]");
  CORE_ARENA(arena, representation->scratch, width, "eigenvalue scratch [width]");
}

/* Returns the number of units of the hidden layers, which come after the convolutions'. */
static size_t hidden_units(const Representation *representation) {
  return (size_t)(representation->units - first_unit(representation, representation->convolutions));
}

void representation_begin(Representation *representation) {
  size_t units = (size_t)representation->units, width = (size_t)representation->width;
  representation->states = 0;
  memset(representation->unit, 0, units * sizeof *representation->unit);
  memset(representation->magnitude, 0, units * sizeof *representation->magnitude);
  if (representation->gram) memset(representation->gram, 0, width * width * sizeof *representation->gram);
  if (representation->device == NULL) return;
  const size_t on_device = hidden_units(representation);
  CoreDevice *device = representation->device;
  core_device_zero(device, representation->unit_on_device, on_device * sizeof *representation->unit);
  core_device_zero(device, representation->magnitude_on_device, on_device * sizeof *representation->magnitude);
  if (representation->gram)
    core_device_zero(device, representation->gram_on_device, width * width * sizeof *representation->gram);
}

/* Adds one layer's units over `rows` states, two passes per unit: no digits are lost where a saturated unit hardly
 * moves. */
static void add_units(const float *h, int rows, int width, Moments *unit, double *magnitude) {
#pragma omp parallel for schedule(static)
  for (int u = 0; u < width; u++) {
    double sum = 0, absolute = 0, m2 = 0;

    for (int r = 0; r < rows; r++) {
      double value = (double)h[(size_t)r * (size_t)width + (size_t)u];
      sum += value;
      absolute += fabs(value);
    }
    for (int r = 0; r < rows; r++) {
      double d = (double)h[(size_t)r * (size_t)width + (size_t)u] - sum / rows;
      m2 += d * d;
    }

    const Moments batch = {.n = rows, .mean = sum / rows, .m2 = m2};
    moments_merge(&unit[u], &batch);
    magnitude[u] += absolute;
  }
}

void representation_add(Representation *representation, const NetworkActivations *activations, int rows) {
  const int first = representation->convolutions, hidden = representation->layers - first;
  for (int layer = 0; layer < hidden; layer++) {
    const int unit = first_unit(representation, first + layer);
    add_units(activations->hidden[layer], rows, representation->layer[first + layer].width, representation->unit + unit,
              representation->magnitude + unit);
  }
  if (representation->gram)
    representation_add_gram(activations->hidden[hidden - 1], rows, representation->width, representation->gram);
  representation->states += rows;
}

void representation_add_on_device(Representation *representation, Ops *ops, const NetworkShape *shape,
                                  const NetworkActivations *activations, int trunk, int rows) {
  const int first = representation->convolutions, hidden = representation->layers - first;
  for (int layer = 0, unit = 0; layer < hidden; layer++) {
    const bool is_bf16 = network_hidden_is_bf16(ops, shape, layer + 1 == trunk);
    const void *h = activations->hidden[layer];
    const int width = representation->layer[first + layer].width;
    ops->unit_sums(ops, h, is_bf16, rows, width, representation->unit_on_device + unit,
                   representation->magnitude_on_device + unit);
    if (representation->gram && layer + 1 == hidden)
      ops->gram(ops, h, is_bf16, rows, width, representation->gram_on_device);
    unit += width;
  }
  representation->states += rows;
}

/* Copies the device's sums to their place among the host's. */
static void read_device(Representation *representation) {
  const size_t first = (size_t)first_unit(representation, representation->convolutions),
               n = hidden_units(representation), width = (size_t)representation->width;
  CoreDevice *device = representation->device;
  if (n == 0) return;
  core_device_to_host(device, representation->unit + first, representation->unit_on_device,
                      n * sizeof *representation->unit);
  core_device_to_host(device, representation->magnitude + first, representation->magnitude_on_device,
                      n * sizeof *representation->magnitude);
  if (representation->gram)
    core_device_to_host(device, representation->gram, representation->gram_on_device,
                        width * width * sizeof *representation->gram);
}

void representation_add_convolution(Representation *representation, int i, const float *h, int rows) {
  const RepresentationLayer *layer = &representation->layer[i];
  const int unit = first_unit(representation, i);
  add_units(h, rows * layer->positions, layer->width, representation->unit + unit, representation->magnitude + unit);
}

void representation_reduce(Representation *representation) {
  const size_t units = (size_t)representation->units, width = (size_t)representation->width;
  if (representation->device) read_device(representation);
  reduce_moments(representation->unit, units);
  ranks_sum(representation->magnitude, units);
  ranks_sum(&representation->states, 1);
  if (representation->gram) ranks_sum(representation->gram, width * width);
}

/* target[0 .. n-1] += sum over four states of value[r] * row_r[0 .. n-1]; rows are `stride` apart. */
CPU_VECTOR static void add_four(double *target, const double value[4], const float *row, size_t stride, int n) {
  const float *second = row + stride, *third = second + stride, *fourth = third + stride;
  for (int j = 0; j < n; j++)
    target[j] += (value[0] * (double)row[j] + value[1] * (double)second[j]) +
                 (value[2] * (double)third[j] + value[3] * (double)fourth[j]);
}

/* Blocked: a block of rows of the triangle stays in the cache while all states pass over it. */
void representation_add_gram(const float *x, int rows, int width, double *gram) {
  enum { BLOCK = 8 };
  const size_t stride = (size_t)width;
#pragma omp parallel for schedule(dynamic)

  for (int first = 0; first < width; first += BLOCK) {
    int end = first + BLOCK < width ? first + BLOCK : width, r = 0;
    for (; r + 4 <= rows; r += 4) {
      const float *row = x + (size_t)r * stride;
      for (int i = first; i < end; i++) {
        const double value[4] = {(double)row[i], (double)row[stride + (size_t)i], (double)row[2 * stride + (size_t)i],
                                 (double)row[3 * stride + (size_t)i]};
        add_four(gram + (size_t)i * stride, value, row, stride, i + 1);
      }
    }

    for (; r < rows; r++) {
      const float *row = x + (size_t)r * stride;
      for (int i = first; i < end; i++)
        for (int j = 0; j <= i; j++) gram[(size_t)i * stride + (size_t)j] += (double)row[i] * (double)row[j];
    }
  }
}

void representation_center_gram(const double *gram, const Moments *feature, int width, double states,
                                double *centered) {
  for (int i = 0; i < width; i++)
    for (int j = 0; j <= i; j++) {
      const size_t k = (size_t)i * (size_t)width + (size_t)j;
      centered[k] = gram[k] - states * feature[i].mean * feature[j].mean;
    }
}

/* ---- eigenvalues ----------------------------------------------------------------------------------------------- */

/* Reduces the leading (i + 1) x (i + 1) part by the reflection that clears row i left of the subdiagonal. Returns the
 * subdiagonal element. p [i] is scratch. */
static double reflect_row(double *a, size_t n, int i, double *p) {
  double *v = a + (size_t)i * n, norm = 0, scale = 0;
  for (int k = 0; k < i; k++) scale = fmax(scale, fabs(v[k]));
  for (int k = 0; k < i - 1; k++) norm += v[k] / scale * (v[k] / scale);
  if (!(norm > 0)) return v[i - 1]; /* nothing to clear */
  norm = scale * sqrt(norm + v[i - 1] / scale * (v[i - 1] / scale));
  double beta = v[i - 1] > 0 ? -norm : norm;
  v[i - 1] -= beta; /* v: the reflection's vector, H = I - v v^T / h */
  double h = -beta * v[i - 1], vp = 0;

  for (int k = 0; k < i; k++) p[k] = 0;
  for (int k = 0; k < i; k++) { /* p = A v, from the lower triangle */
    const double *row = a + (size_t)k * n;
    double sum = row[k] * v[k];
    for (int j = 0; j < k; j++) {
      sum += row[j] * v[j];
      p[j] += row[j] * v[k];
    }
    p[k] += sum;
  }

  /* A <- A - v q^T - q v^T, with q = p - (v^T p / 2h) v, stored in p. */
  for (int k = 0; k < i; k++) {
    p[k] /= h;
    vp += p[k] * v[k];
  }
  for (int k = 0; k < i; k++) p[k] -= vp / (2 * h) * v[k];
  for (int k = 0; k < i; k++) {
    double *row = a + (size_t)k * n;
    for (int j = 0; j <= k; j++) row[j] -= v[k] * p[j] + p[k] * v[j];
  }

  return beta;
}

/* Computes the eigenvalues of the symmetric tridiagonal matrix with diagonal d[n] and subdiagonal e[0 .. n-2] (e[n-1]
 * is scratch): QL steps with Wilkinson's shift, from the top, splitting where a subdiagonal element is negligible. */
static void tridiagonal_eigenvalues(double *d, double *e, int n) {
  enum { STEPS_MAX = 60 }; /* an eigenvalue takes two or three */
  e[n - 1] = 0;
  for (int low = 0; low < n; low++)
    for (int step = 0; step < STEPS_MAX; step++) {
      int high = low;
      while (high < n - 1 && fabs(e[high]) > 1e-16 * (fabs(d[high]) + fabs(d[high + 1]))) high++;
      if (high == low) break;

      /* Wilkinson's shift, then a QL step from high down to low. */
      double half = (d[low + 1] - d[low]) / (2 * e[low]);
      double g = d[high] - d[low] + e[low] / (half + copysign(hypot(half, 1), half)), s = 1, c = 1, p = 0;
      int i = high - 1;

      for (; i >= low; i--) {
        double f = s * e[i], b = c * e[i], r = hypot(f, g);
        e[i + 1] = r;
        if (r == 0) { /* splits here exactly */
          d[i + 1] -= p;
          e[high] = 0;
          break;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
      }

      if (i >= low) continue;
      d[low] -= p;
      e[low] = g;
      e[high] = 0;
    }
}

static int descending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

void representation_eigenvalues(double *matrix, int n, double *values, double *scratch) {
  for (int i = n - 1; i >= 1; i--) {
    double below = reflect_row(matrix, (size_t)n, i, values);
    matrix[i] = below; /* row 0 above the diagonal is free */
  }
  for (int i = 0; i < n; i++) values[i] = matrix[(size_t)i * (size_t)n + (size_t)i];
  for (int i = 1; i < n; i++) scratch[i - 1] = matrix[i];
  tridiagonal_eigenvalues(values, scratch, n);
  qsort(values, (size_t)n, sizeof *values, descending);
}

/* ---- ranks and units ------------------------------------------------------------------------------------------- */

/* Returns the least k whose first k values make up SHARE of the total. */
static double count_share(const double *values, int n, double power) {
  double total = 0, sum = 0;
  int k = 0;
  for (int i = 0; i < n; i++) total += pow(values[i], power);
  while (k < n && !(sum >= SHARE * total)) sum += pow(values[k++], power);
  return k > 0 ? k : 1;
}

RepresentationRank representation_rank_of(const double *eigenvalues, int width, double states) {
  double singular[REPRESENTATION_WIDTH_MAX], sum = 0, entropy = 0;
  RepresentationRank rank = {0};
  for (int i = 0; i < width; i++) { /* rounding makes a 0 slightly negative */
    singular[i] = sqrt(fmax(eigenvalues[i], 0));
    sum += singular[i];
    rank.lyle += singular[i] / sqrt(states) > LYLE_MIN;
  }
  for (int i = 0; i < width; i++)
    if (singular[i] > 0) entropy -= singular[i] / sum * log(singular[i] / sum);
  rank.pca = count_share(singular, width, 2);
  rank.srank = count_share(singular, width, 1);
  rank.effective = exp(entropy);
  return rank;
}

RepresentationRank representation_rank(Representation *representation) {
  const int width = representation->width;
  const double states = representation->states;
  double *values = representation->eigenvalues, *scratch = representation->scratch;
  if (representation->gram == NULL || states < width) return (RepresentationRank){NAN, NAN, NAN, NAN, NAN};
  representation_center_gram(representation->gram, representation->unit + representation->units - width, width, states,
                             representation->centered);
  representation_eigenvalues(representation->centered, width, values, scratch);
  const double centered = representation_rank_of(values, width, states).pca;
  representation_eigenvalues(representation->gram, width, values, scratch);
  RepresentationRank rank = representation_rank_of(values, width, states);
  rank.centered = centered;
  return rank;
}

/* Whether a unit is dead: a saturating unit that does not move, or one with a flat side that never leaves it. */
static bool is_dead(OpsActivation activation, const Moments *unit, double magnitude) {
  if (activation == OPS_TANH || activation == OPS_ELU) return sqrt(moments_variance(unit)) < DEAD_SPREAD;
  return magnitude == 0;
}

/* Counts the dormant, inactive and dead units of one layer. */
static RepresentationUnits count_units(const Representation *representation, int layer, double tau) {
  const RepresentationLayer *own = &representation->layer[layer];
  const int first = first_unit(representation, layer);
  RepresentationUnits units = {0};
  double mean = 0;
  for (int u = 0; u < own->width; u++) mean += representation->magnitude[first + u] / own->width;
  for (int u = first; u < first + own->width; u++) {
    double magnitude = representation->magnitude[u];
    units.dormant += magnitude <= tau * mean;
    units.inactive += magnitude / (representation->states * own->positions) < INACTIVE_BELOW;
    units.dead += is_dead(own->activation, &representation->unit[u], magnitude);
  }
  return units;
}

static RepresentationUnits share_of(RepresentationUnits units, int count) {
  if (count == 0) return (RepresentationUnits){NAN, NAN, NAN};
  return (RepresentationUnits){units.dormant / count, units.inactive / count, units.dead / count};
}

RepresentationUnits representation_layer_units(const Representation *representation, int layer, double tau) {
  const RepresentationLayer *own = &representation->layer[layer - 1];
  return share_of(count_units(representation, layer - 1, tau), own->positions > 0 ? own->width : 0);
}

RepresentationUnits representation_units(const Representation *representation, double tau) {
  RepresentationUnits units = {0};
  int count = 0;
  for (int layer = 0; layer < representation->layers; layer++) {
    if (representation->layer[layer].positions == 0) continue;
    const RepresentationUnits own = count_units(representation, layer, tau);
    units.dormant += own.dormant;
    units.inactive += own.inactive;
    units.dead += own.dead;
    count += representation->layer[layer].width;
  }
  return share_of(units, count);
}

/* ---- the policy ------------------------------------------------------------------------------------------------ */

/* Adds a Gaussian's means and standard deviations in place of action probabilities; fixed deviations add nothing. */
static void add_gaussian(const OpsHead *head, const float *logits, int rows, Moments *per_logit) {
  for (int r = 0; r < rows; r++, logits += head->logits)
    for (int k = 0; k < head->factors; k++) {
      moments_add(&per_logit[k], (double)logits[k]);
      moments_add(&per_logit[head->factors + k], ops_head_std(head, logits, k));
    }
}

void representation_add_policy(const OpsHead *head, const float *logits, int rows, Moments *per_logit) {
  if (ops_head_is_continuous(head)) {
    add_gaussian(head, logits, rows, per_logit);
    return;
  }
  for (int r = 0; r < rows; r++, logits += head->logits)
    for (int factor = 0, first = 0; factor < head->factors; factor++) {
      double largest = -INFINITY, sum = 0, weight[OPS_LOGITS_MAX];
      for (int k = 0; k < head->size[factor]; k++) largest = fmax(largest, (double)logits[first + k]);
      for (int k = 0; k < head->size[factor]; k++) sum += weight[k] = exp((double)logits[first + k] - largest);
      for (int k = 0; k < head->size[factor]; k++) moments_add(&per_logit[first + k], weight[k] / sum);
      first += head->size[factor];
    }
}

double representation_policy_variance(const OpsHead *head, const Moments *per_logit) {
  double sum = 0;
  for (int k = 0; k < head->logits; k++) sum += moments_variance_unbiased(&per_logit[k]);
  return sum / head->logits;
}
