/* Golden cases of metrics other than KL (docs/algorithms.md#measurements): feature ranks, silent units, policy
 * variance, weight norms, gradient kurtosis, and the parts of the moments file that the trainer measures. */
#ifndef TESTS_GOLDEN_METRICS_H
#define TESTS_GOLDEN_METRICS_H
#include "core/device/arena.h"
#include "tests/golden/golden_check.h"
#include "trainer/math/estimators.h"
#include "trainer/math/kurtosis.h"
#include "trainer/measure/profile.h"
#include "trainer/measure/representation.h"
#include "trainer/rollout/coverage.h"

/* -------- representation ------------------------------------------------------------------------------------- */

/* Singular values come from the eigenvalues of X^T X, whose rounding hides those below 1e-8 of the largest: squares are
 * compared, against the largest square. */
static void rank_one(Check *check, const char *prefix) {
  const GoldEntry *shape = check_entry(check, check_name(check, prefix, "in/features"));
  size_t n = 0, states = (size_t)shape->dimension[0], width = (size_t)shape->dimension[1];
  float *features = check_input_float(check, check_name(check, prefix, "in/features"), &n);
  if (n != states * width || width < 1 || width > REPRESENTATION_WIDTH_MAX)
    check_give_up(check, "%sin/features is not a matrix that is ranked", prefix);
  double *gram = check_memory(check, width * width * sizeof(double)),
         *values = check_memory(check, width * sizeof(double)), *scratch = check_memory(check, width * sizeof(double));
  representation_add_gram(features, (int)states, (int)width, gram);
  representation_eigenvalues(gram, (int)width, values, scratch);
  size_t count = width;
  const double *singular = check_input(check, check_name(check, prefix, "out/singular_values"), &count);
  for (size_t i = 0; i < width; i++)
    check_note(check, fabs(values[i] - singular[i] * singular[i]) / (1e-13 * singular[0] * singular[0]), prefix,
               "singular_values", i);
  check->values += width;
  RepresentationRank rank = representation_rank_of(values, (int)width, (double)states);
  check_scalar(check, prefix, "pca", CHECK_DOUBLE, rank.pca);
  check_scalar(check, prefix, "srank", CHECK_DOUBLE, rank.srank);
  check_scalar(check, prefix, "lyle", CHECK_DOUBLE, rank.lyle);
  /* The hidden singular values weigh up to 1e-8 log(1e-8) each in the entropy. */
  const double *effective = check_input(check, check_name(check, prefix, "out/effective"), &(size_t){1});
  check_note(check, fabs(rank.effective - *effective) / (1e-6 * (double)width * *effective), prefix, "effective", 0);
  check->values++;
}

/* From the same Gram matrix and the features' means, as the trainer has it. Centring squares is good to 1e-13 of the
 * uncentered ones. */
static void rank_centered(Check *check, const char *prefix) {
  const GoldEntry *shape = check_entry(check, check_name(check, prefix, "in/features"));
  size_t n = 0, states = (size_t)shape->dimension[0], width = (size_t)shape->dimension[1];
  const float *features = check_input_float(check, check_name(check, prefix, "in/features"), &n);
  const size_t bytes = width * width * sizeof(double);
  double *gram = check_memory(check, bytes), *centered = check_memory(check, bytes);
  double *values = check_memory(check, width * sizeof(double)), *scratch = check_memory(check, width * sizeof(double));
  Moments *feature = check_memory(check, width * sizeof *feature);
  for (size_t i = 0; i < n; i++) moments_add(&feature[i % width], (double)features[i]);
  representation_add_gram(features, (int)states, (int)width, gram);
  representation_center_gram(gram, feature, (int)width, (double)states, centered);
  representation_eigenvalues(centered, (int)width, values, scratch);
  check_scalar(check, prefix, "pca_centred", CHECK_DOUBLE,
               representation_rank_of(values, (int)width, (double)states).pca);
}

static void representation_layers(Check *check) {
  int layers = check_int(check, "dormant/hp/layers", 1, NETWORK_LAYERS_MAX - 1);
  bool relu = check_int(check, "dormant/hp/activation", 0, 1) == 1;
  NetworkShape shape = {.layers = layers + 1};
  NetworkActivations activations;
  size_t states = 0;
  for (int layer = 0; layer < layers; layer++) {
    char name[64];
    size_t n = 0;
    snprintf(name, sizeof name, "dormant/layer%d/in/activation", layer);
    const GoldEntry *entry = check_entry(check, name);
    states = (size_t)entry->dimension[0];
    shape.width[layer + 1] = (int)entry->dimension[1];
    shape.activation[layer] = relu ? OPS_RELU : OPS_TANH;
    activations.hidden[layer] = check_input_float(check, name, &n);
    if (n == 0 || n != states * entry->dimension[1]) check_give_up(check, "%s is not a matrix", name);
  }
  CoreArena *arena = core_arena_create("golden");
  Representation representation;
  representation_register(&representation, &shape, NULL, 0, arena);
  if (core_arena_commit(arena) != CORE_OK) check_give_up(check, "out of memory");
  representation_begin(&representation);
  representation_add(&representation, &activations, (int)states);
  RepresentationUnits at_default = representation_units(&representation, REPRESENTATION_TAU),
                      at_zero = representation_units(&representation, 0);
  core_arena_destroy(&arena);
  check_scalar(check, "dormant/", "fraction_tau_0.025", CHECK_DOUBLE, at_default.dormant);
  check_scalar(check, "dormant/", "fraction_tau_0", CHECK_DOUBLE, at_zero.dormant);
  check_scalar(check, "dormant/", "percent_p002", CHECK_DOUBLE, 100 * at_default.inactive);
  check_scalar(check, "dormant/", "fraction_dead_moalla", CHECK_DOUBLE, at_default.dead);
}

static void representation_policy(Check *check) {
  OpsHead head = {0};
  size_t factors = 0, n = 0;
  const double *sizes = check_input(check, "policy_variance/hp/factors", &factors);
  if (factors < 1 || factors > OPS_FACTORS_MAX) check_give_up(check, "policy_variance/hp/factors: %zu", factors);
  head.factors = (int)factors;
  for (size_t f = 0; f < factors; f++) {
    if (!(sizes[f] >= 1 && sizes[f] + head.logits <= OPS_LOGITS_MAX)) check_give_up(check, "a factor of %g", sizes[f]);
    head.logits += head.size[f] = (int)sizes[f];
  }
  const float *logits = check_input_float(check, "policy_variance/in/logits", &n);
  Moments moments[OPS_LOGITS_MAX] = {{0}};
  double variance[OPS_LOGITS_MAX];
  representation_add_policy(&head, logits, (int)(n / (size_t)head.logits), moments);
  for (int k = 0; k < head.logits; k++) variance[k] = moments_variance_unbiased(&moments[k]);
  check_doubles(check, "policy_variance/", "per_action", CHECK_DOUBLE, variance, (size_t)head.logits);
  check_scalar(check, "policy_variance/", "mean", CHECK_DOUBLE, representation_policy_variance(&head, moments));
}

static void representation_weights(Check *check) {
  double squares = 0;
  for (int i = 0; i < 4; i++) {
    char in[64], out[16];
    size_t n = 0;
    snprintf(in, sizeof in, "weight_norm/in/%d", i);
    snprintf(out, sizeof out, "%d", i);
    const float *weights = check_input_float(check, in, &n);
    double square = check->ops->norm_squared(check->ops, weights, n);
    check_scalar(check, "weight_norm/", out, CHECK_DOUBLE, sqrt(square));
    squares += square;
  }
  check_scalar(check, "weight_norm/", "all", CHECK_DOUBLE, sqrt(squares));
}

static void case_representation(Check *check) {
  static const char *const matrices[] = {"rank/full/", "rank/decay/", "rank/low/", "rank/offset/"};
  for (int i = 0; i < 4; i++) {
    rank_one(check, matrices[i]);
    rank_centered(check, matrices[i]);
  }
  representation_layers(check);
  representation_policy(check);
  representation_weights(check);
  check->left_out = "ranks of centered features except for pca";
}

/* -------- state coverage ------------------------------------------------------------------------------------- */

/* The file projects on principal components of pooled runs, which one run cannot have; grids are the same. Here its
 * components make the points, whose cells, shares and entropies are ours. */
static void coverage_run(Check *check, int run, CoverageRecord *record, const double *mean, const double *deviation,
                         const double *component) {
  char name[64];
  size_t n = 0;
  snprintf(name, sizeof name, "in/run%d", run);
  const size_t features = (size_t)check_entry(check, name)->dimension[1];
  const float *x = check_input_float(check, name, &n);
  const size_t points = n / features;
  double *fine = check_memory(check, points * sizeof *fine), *coarse = check_memory(check, points * sizeof *coarse);
  memset(record->count, 0, sizeof record->count);
  for (size_t i = 0; i < points; i++) {
    double point[2] = {0, 0};
    for (size_t k = 0, kept = 0; k < features; k++) {
      if (deviation[k] == 0) continue;
      const double z = ((double)x[i * features + k] - mean[k]) / deviation[k];
      point[0] += z * component[kept];
      point[1] += z * component[features - 1 + kept++];
    }
    const int cell = coverage_cell(record, point);
    record->count[cell]++;
    fine[i] = cell;
    coarse[i] = cell / COVERAGE_FINE / 2 * COVERAGE_COARSE + cell % COVERAGE_FINE / 2;
  }
  const CoverageSummary summary = coverage_summarize(record->count);
  char prefix[2][32];
  snprintf(prefix[0], sizeof prefix[0], "G50/run%d/", run);
  snprintf(prefix[1], sizeof prefix[1], "G100/run%d/", run);
  for (int g = 0; g < 2; g++) {
    char out[64];
    snprintf(out, sizeof out, "out/%scells", prefix[g]);
    const double *cells = check_input(check, out, &(size_t){points}), *ours = g ? fine : coarse;
    for (size_t i = 0; i < points; i++) check_note(check, fabs(cells[i] - ours[i]) * 1e9, prefix[g], "cells", i);
    snprintf(out, sizeof out, "out/%scoverage", prefix[g]);
    const double share = g ? summary.share_fine : summary.share_coarse;
    check_note(check, fabs(check_real(check, out) - share) / 1e-12, prefix[g], "coverage", 0);
    snprintf(out, sizeof out, "out/%snormalised_entropy", prefix[g]);
    const double entropy = g ? summary.entropy_fine : summary.entropy_coarse;
    check_note(check, fabs(check_real(check, out) - entropy) / 1e-12, prefix[g], "normalised_entropy", 0);
    check->values += points + 2;
  }
}

static void case_coverage(Check *check) {
  size_t features = (size_t)check_entry(check, "out/mean")->dimension[0], sides = 2;
  const double *mean = check_input(check, "out/mean", &features), *deviation = check_input(check, "out/std", &features);
  const GoldEntry *shape = check_entry(check, "out/eigenvectors");
  size_t parts = 2 * (size_t)shape->dimension[1];
  const double *component = check_input(check, "out/eigenvectors", &parts);
  if (features < 2 || shape->dimension[1] != features - 1) check_give_up(check, "one feature was to be left out");
  CoverageRecord *record = check_memory(check, sizeof *record);
  memcpy(record->low, check_input(check, "out/box_low", &sides), sizeof record->low);
  memcpy(record->high, check_input(check, "out/box_high", &sides), sizeof record->high);
  for (int run = 0; run < 2; run++) coverage_run(check, run, record, mean, deviation, component);
  check->left_out = "the principal components, which take several runs";
}

/* -------- KL within an iteration ----------------------------------------------------------------------------- */

/* Mean KL(i || j) of diagonal Gaussians, in double as the file has them. */
static double profile_gaussian(const double *mu, const double *log_std, size_t states, size_t actions, size_t i,
                               size_t j) {
  double sum = 0;
  for (size_t s = 0; s < states; s++)
    for (size_t a = 0; a < actions; a++) {
      double p = log_std[i * actions + a], q = log_std[j * actions + a];
      double off = (mu[(i * states + s) * actions + a] - mu[(j * states + s) * actions + a]) * exp(-q);
      sum += q - p + 0.5 * exp(2 * (p - q)) + 0.5 * off * off - 0.5;
    }
  return sum / (double)states;
}

static void case_kl_profile(Check *check) {
  const GoldEntry *shape = check_entry(check, "in/mu");
  size_t n = 0, points = (size_t)shape->dimension[0], states = (size_t)shape->dimension[1],
         actions = (size_t)shape->dimension[2], scales = points * actions;
  const double *mu = check_input(check, "in/mu", &n), *log_std = check_input(check, "in/log_std", &scales);
  if (points < 3 || n != points * states * actions) check_give_up(check, "in/mu is not of three dimensions");
  double *sequential = check_memory(check, points * sizeof(double)),
         *reference = check_memory(check, points * sizeof(double));
  int *update = check_memory(check, points * sizeof(int));
  for (size_t i = 0; i < points; i++) {
    update[i] = (int)i;
    reference[i] = profile_gaussian(mu, log_std, states, actions, points - 1, i);
    if (i > 0) sequential[i - 1] = profile_gaussian(mu, log_std, states, actions, i, i - 1);
  }
  check_doubles(check, "", "seq_kl", CHECK_DOUBLE, sequential, points - 1);
  check_doubles(check, "", "ref_kl", CHECK_DOUBLE, reference, points);
  ProfileSummary summary = profile_summarize(reference, update, (int)points, 1);
  check_scalar(check, "", "monotone_fraction", CHECK_DOUBLE, summary.monotone);
  check_scalar(check, "", "log_ref_slope", CHECK_DOUBLE, summary.slope);
}

/* -------- parts of the moments file -------------------------------------------------------------------------- */

static void metrics_kurtosis(Check *check) {
  static const char *const sets[] = {"kurtosis/normal/", "kurtosis/sparse/", "kurtosis/constant/"};
  for (int set = 0; set < 3; set++) {
    size_t n = 0;
    const float *gradient = check_input_float(check, check_name(check, sets[set], "in/grad"), &n);
    const Kurtosis kurtosis = kurtosis_measure(gradient, n);
    check_scalar(check, sets[set], "all", CHECK_DOUBLE, kurtosis.all);
    check_scalar(check, sets[set], "nonzero", CHECK_DOUBLE, kurtosis.nonzero);
    check_scalar(check, sets[set], "zero_fraction", CHECK_DOUBLE, kurtosis.zero_fraction);
  }
}

static void metrics_silent(Check *check) {
  size_t n = 0;
  const double *l = check_input(check, "kl_estimators/in/l", &n), *advantage =
    check_input(check, "kl_estimators/in/advantage", &n);
  double epsilon = check_real(check, "kl_estimators/hp/eps"), silent = 0;
  for (size_t i = 0; i < n; i++) silent += estimators_no_gradient(l[i], advantage[i], epsilon);
  check_scalar(check, "kl_estimators/", "zero_gradient_fraction", CHECK_DOUBLE, silent / (double)n);
}

#endif
