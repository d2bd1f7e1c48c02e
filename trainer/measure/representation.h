/* Representation metrics of a network's hidden layers (docs/algorithms.md#measurements): the rank of its features,
 * dormant and dead units, and the variance of the policy across states. Sums over batches of states are accumulated in
 * float64, in their order; the closed forms are computed once at the end. Nothing here runs a network or changes
 * one. */
#ifndef TRAINER_REPRESENTATION_H
#define TRAINER_REPRESENTATION_H
#include "core/config/config.h"
#include "core/device/arena.h"
#include "trainer/nets/network.h"

/* Ranks of features X [n][width] from the singular values s_1 >= s_2 >= ... of X, centered for `centered` only. */
typedef struct RepresentationRank {
  double pca;        /* least k with sum_{i<=k} s_i^2 >= 0.99 of the total (Yang et al. 2019) */
  double centered;    /* pca of X minus the mean of each feature */
  double srank;      /* pca with s_i instead of s_i^2 (Kumar et al. 2021) */
  double lyle;       /* number of s_i / sqrt(n) > 0.01 (Lyle et al. 2022) */
  double effective;  /* exp of the entropy of s_i / sum s (Roy and Vetterli 2007) */
} RepresentationRank;

/* Shares of units. */
typedef struct RepresentationUnits {
  double dormant;    /* E|h_i| at most tau times the layer's mean (Sokar et al. 2023); all units of a layer that is 0 */
  double inactive;   /* E|h_i| < 1e-5 */
  double dead;       /* tanh, elu: standard deviation over the states < 1e-3; relu, silu: always 0 (Moalla et al.) */
} RepresentationUnits;
#define REPRESENTATION_TAU 0.025
#define REPRESENTATION_TAU_LOOSE 0.1

/* Layer with measured units: a hidden layer, or a convolution, whose units are its channels. A channel's values in a
 * state are those of all its positions (Sokar et al. 2023). positions 0: the layer has no activation of its own (in a
 * residual block), and its units do not count. */
typedef struct RepresentationLayer { int width, positions; OpsActivation activation; } RepresentationLayer;
enum { REPRESENTATION_LAYERS_MAX = 64 };

/* Sums of one network over the states since representation_begin. */
typedef struct Representation {
  RepresentationLayer layer[REPRESENTATION_LAYERS_MAX]; /* convolutions, then hidden layers */
  int layers, convolutions;
  int units, width;      /* units of all layers; width of the last hidden one, whose activations are the features, or
                          * 0 */
  double states;
  Moments *unit;         /* [units] moments of h, layer after layer */
  double *magnitude;     /* [units] sum of |h| */
  double *gram;          /* [width][width] X^T X, lower triangle; NULL when the layer is too wide to rank, or missing */
  double *centered;       /* [width][width] the same of X minus its means; NULL likewise */
  double *eigenvalues;   /* [width] */
  double *scratch;       /* [width] */
  /* Sums of the hidden layers' units, and X^T X, where the network is on a device; else NULL. */
  CoreDevice *device;
  Moments *unit_on_device;
  double *magnitude_on_device, *gram_on_device;
} Representation;

/* Maximum width of a ranked layer. */
enum { REPRESENTATION_WIDTH_MAX = CORE_CONFIG_RANKED_WIDTH_MAX };

/* Registers the buffers. convolutions: `count` convolutions of the encoder in front of the network, NULL for none. */
void representation_register(Representation *representation, const NetworkShape *shape,
                             const RepresentationLayer *convolutions, int count, CoreArena *arena);
void representation_begin(Representation *representation);
/* Adds the hidden layers of a forward pass over `rows` states. */
void representation_add(Representation *representation, const NetworkActivations *activations, int rows);
/* Adds the hidden layers of a forward pass on a device, without waiting for it. trunk: layers that ran before the
 * others (agent.h). */
void representation_add_on_device(Representation *representation, Ops *ops, const NetworkShape *shape,
                                  const NetworkActivations *activations, int trunk, int rows);
/* Adds convolution number i, h [rows][positions][width], for states that representation_add counts. */
void representation_add_convolution(Representation *representation, int i, const float *h, int rows);
/* Reads the device's sums, if any, and sums over the states of all ranks; called by all ranks. */
void representation_reduce(Representation *representation);
/* Returns the ranks; NaN with fewer states than features, or where the layer is too wide or missing. Overwrites the
 * Gram matrices. */
RepresentationRank representation_rank(Representation *representation);
/* Returns the shares of units of one layer, 1 for the first; NaN where they do not count. */
RepresentationUnits representation_layer_units(const Representation *representation, int layer, double tau);
/* Returns the shares of all units; NaN without a layer that counts. */
RepresentationUnits representation_units(const Representation *representation, double tau);

/* ---- internal parts ---------------------------------------------------------------------------------------------- */

/* Adds x^T x to gram's lower triangle; x [rows][width]. */
void representation_add_gram(const float *x, int rows, int width, double *gram);
/* Computes the eigenvalues of a symmetric matrix, given its lower triangle, in descending order; overwrites the matrix
 * and scratch[n]. Householder's tridiagonal form, then implicit QL. */
void representation_eigenvalues(double *matrix, int n, double *values, double *scratch);
/* Centers gram, of `states` rows with these means: x^T x -> (x - mean)^T (x - mean), which is x^T x - states mean
 * mean^T; the lower triangle. */
void representation_center_gram(const double *gram, const Moments *feature, int width, double states, double *centered);
/* Computes the ranks except `centered` from the eigenvalues of x^T x, in descending order, and the number of states. */
RepresentationRank representation_rank_of(const double *eigenvalues, int width, double states);

/* Adds the action probabilities in `rows` states, or a Gaussian's means and standard deviations:
 * per_logit[head->logits], moments over the states. */
void representation_add_policy(const OpsHead *head, const float *logits, int rows, Moments *per_logit);
/* Returns the mean over the actions of the unbiased variance over the states (compute_policy_diversity of Moalla et al.
 * 2024); NaN with fewer than two states. */
double representation_policy_variance(const OpsHead *head, const Moments *per_logit);

#endif
