/* What a network's hidden layers still represent (spec metrics.md 4): the rank of its features, units that say nothing,
 * and how much the policy differs between states. Sums over batches of states are added up in float64, in the order in
 * which they come; the closed forms are taken once at the end. Nothing here runs a network or changes one. */
#ifndef TRAINER_REPRESENTATION_H
#define TRAINER_REPRESENTATION_H
#include "core/device/arena.h"
#include "trainer/nets/network.h"

/* Ranks of features X [n][width] from the singular values s_1 >= s_2 >= ... of X, which is not centred but for
 * `centred`. */
typedef struct RepresentationRank {
  double pca;        /* least k with sum_{i<=k} s_i^2 >= 0.99 of all (Yang et al. 2019) */
  double centred;    /* the same of X less the mean of each feature */
  double srank;      /* the same of s_i (Kumar et al. 2021) */
  double lyle;       /* number of s_i / sqrt(n) > 0.01 (Lyle et al. 2022) */
  double effective;  /* exp of the entropy of s_i / sum s (Roy and Vetterli 2007) */
} RepresentationRank;

/* Units, as shares of their number. */
typedef struct RepresentationUnits {
  double dormant;    /* E|h_i| at most tau of the layer's mean of it (Sokar et al. 2023); all of a layer that is 0 */
  double inactive;   /* E|h_i| < 1e-5 */
  double dead;       /* tanh, elu: standard deviation over the states < 1e-3; relu, silu: always 0 (Moalla et al.) */
} RepresentationUnits;
#define REPRESENTATION_TAU 0.025
#define REPRESENTATION_TAU_LOOSE 0.1

/* A layer whose units are looked at: a hidden layer, or a convolution, whose units are its channels. A channel's values
 * in a state are those of all its positions (Sokar et al. 2023). positions 0: the layer has no activation of its own
 * (of a residual block), and its units do not count. */
typedef struct RepresentationLayer { int width, positions; OpsActivation activation; } RepresentationLayer;
enum { REPRESENTATION_LAYERS_MAX = 64 };

/* Sums of one network over the states seen since representation_begin. */
typedef struct Representation {
  RepresentationLayer layer[REPRESENTATION_LAYERS_MAX]; /* convolutions, then hidden layers */
  int layers, convolutions;
  int units, width;      /* of all layers; of the last hidden one, whose activations are the features, or 0 */
  double states;
  Moments *unit;         /* [units] of h, layer after layer */
  double *magnitude;     /* [units] sum of |h| */
  double *gram;          /* [width][width] X^T X, lower triangle; NULL when the layer is too wide to rank, or none */
  double *centred;       /* [width][width] the same of X less its means; NULL likewise */
  double *eigenvalues;   /* [width] */
  double *scratch;       /* [width] */
} Representation;

/* The widest layer that is ranked: the work grows with the cube. */
enum { REPRESENTATION_WIDTH_MAX = 1024 };

/* convolutions: of the encoder in front of the network; `count` of them, NULL for none. */
void representation_register(Representation *representation, const NetworkShape *shape,
                             const RepresentationLayer *convolutions, int count, CoreArena *arena);
void representation_begin(Representation *representation);
/* Adds the hidden layers of a forward pass over `rows` states. */
void representation_add(Representation *representation, const NetworkActivations *activations, int rows);
/* Adds convolution number i, h [rows][positions][width]: of the states that representation_add counts. */
void representation_add_convolution(Representation *representation, int i, const float *h, int rows);
/* All ranks: the sums over the states of all of them. */
void representation_reduce(Representation *representation);
/* NaN with fewer states than features, or where the layer is too wide or missing. Uses the Gram matrices up. */
RepresentationRank representation_rank(Representation *representation);
/* Of one layer, 1 for the first; shares of its units; NaN where they do not count. */
RepresentationUnits representation_layer_units(const Representation *representation, int layer, double tau);
/* Of all; NaN without a layer that counts. */
RepresentationUnits representation_units(const Representation *representation, double tau);

/* ---- its parts --------------------------------------------------------------------------------------------------- */

/* gram's lower triangle += x^T x; x [rows][width]. */
void representation_add_gram(const float *x, int rows, int width, double *gram);
/* Eigenvalues of a symmetric matrix of which the lower triangle is read, in descending order; the matrix and
 * scratch[n] are used up. Householder's tridiagonal form, then implicit QL. */
void representation_eigenvalues(double *matrix, int n, double *values, double *scratch);
/* gram, of `states` rows with these means: x^T x -> (x - mean)^T (x - mean), which is x^T x - states mean mean^T; the
 * lower triangle. */
void representation_centre_gram(const double *gram, const Moments *feature, int width, double states, double *centred);
/* From the eigenvalues of x^T x, in descending order, and the number of states; without `centred`. */
RepresentationRank representation_rank_of(const double *eigenvalues, int width, double states);

/* Adds the action probabilities in `rows` states, or a Gaussian's means and deviations: per_logit[head->logits],
 * moments over the states. */
void representation_add_policy(const OpsHead *head, const float *logits, int rows, Moments *per_logit);
/* Mean over the actions of the unbiased variance over the states (4.4); NaN with fewer than two states. */
double representation_policy_variance(const OpsHead *head, const Moments *per_logit);

#endif
