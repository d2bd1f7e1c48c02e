/* Variable projection over a grid, and its refinement (growth.h). */
#include "analysis/statistics/growth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

/* Search region: h in units of the last x, from a two hundredth of the curve to ten times its length. */
static const double half_min = 1.0 / 200, half_max = 10;
enum { HALVES = 28, SHAPES = 7, STEPS_MAX = 30 };

/* Family: name, number of fitted parameters, and range of s. */
static const struct { const char *name; size_t parameters; double shape_min, shape_max; } families[] = {
  [ANALYSIS_GROWTH_EXPONENTIAL] = {"exponential", 3, 1, 1}, [ANALYSIS_GROWTH_WEIBULL] = {"Weibull", 4, 0.35, 4},
  [ANALYSIS_GROWTH_POWER] = {"power law", 4, 0.3, 6},       [ANALYSIS_GROWTH_HILL] = {"Hill", 4, 0.6, 6},
  [ANALYSIS_GROWTH_LOGARITHM] = {"logarithm", 3, 1, 1},     [ANALYSIS_GROWTH_LINE] = {"line", 2, 1, 1},
};

const char *analysis_growth_name(AnalysisGrowthFamily family) { return families[family].name; }

static bool has_shape(AnalysisGrowthFamily family) { return families[family].parameters == 4; }
static bool has_half(AnalysisGrowthFamily family) { return families[family].parameters > 2; }

/* Returns g(x) of y = a - b g(x). */
static double remaining(AnalysisGrowthFamily family, double x, double half, double shape) {
  const double u = x / half;
  switch (family) {
    case ANALYSIS_GROWTH_EXPONENTIAL: return exp2(-u);
    case ANALYSIS_GROWTH_WEIBULL: return exp2(-pow(u, shape));
    case ANALYSIS_GROWTH_POWER: return pow(1 + (exp2(1 / shape) - 1) * u, -shape);
    case ANALYSIS_GROWTH_HILL: return 1 / (1 + pow(u, shape));
    case ANALYSIS_GROWTH_LOGARITHM: return -log1p(u);
    default: return -u;
  }
}

double analysis_growth_value(const AnalysisGrowth *fit, double x) {
  return fit->a - fit->b * remaining(fit->family, x, fit->half, fit->shape);
}

static bool is_bounded(AnalysisGrowthFamily family) { return family < ANALYSIS_GROWTH_LOGARITHM; }

double analysis_growth_asymptote(const AnalysisGrowth *fit) {
  return is_bounded(fit->family) ? fit->a : fit->b >= 0 ? INFINITY : -INFINITY;
}

double analysis_growth_done(const AnalysisGrowth *fit, double x) {
  return is_bounded(fit->family) ? 1 - remaining(fit->family, x, fit->half, fit->shape) : 0;
}

/* ---- the grid ---------------------------------------------------------------------------------------------------- */

/* Point of the grid. */
typedef struct Node {
  AnalysisGrowthFamily family;
  double half, shape;
  double squares;          /* sum of squares of its centered curve */
} Node;

struct AnalysisGrowthBasis {
  size_t n, count;
  double *x;               /* [n] */
  Node *nodes;             /* [count] sorted by family */
  double *curve;           /* [count][n] g(x) minus its mean */
};

/* Returns point i of `count` at equal ratios between low and high. */
static double spaced(double low, double high, size_t i, size_t count) {
  return count > 1 ? low * pow(high / low, (double)i / (double)(count - 1)) : low;
}

/* Subtracts the mean of g[n]; returns the sum of squares. */
static double center(double *g, size_t n) {
  double mean = 0, squares = 0;
  for (size_t i = 0; i < n; i++) mean += g[i] / (double)n;
  for (size_t i = 0; i < n; i++) {
    g[i] -= mean;
    squares += g[i] * g[i];
  }
  return squares;
}

static void add_node(AnalysisGrowthBasis *basis, AnalysisGrowthFamily family, double half, double shape) {
  double *curve = basis->curve + basis->count * basis->n;
  for (size_t i = 0; i < basis->n; i++) curve[i] = remaining(family, basis->x[i], half, shape);
  basis->nodes[basis->count++] = (Node){family, half, shape, center(curve, basis->n)};
}

AnalysisGrowthBasis *analysis_growth_basis_create(const double *x, size_t n) {
  enum { NODES_MAX = ANALYSIS_GROWTH_FAMILIES * HALVES * SHAPES };
  AnalysisGrowthBasis *basis = core_memory_allocate(sizeof *basis);
  *basis = (AnalysisGrowthBasis){.n = n};
  basis->x = core_memory_allocate(n * sizeof *basis->x);
  basis->nodes = core_memory_allocate(NODES_MAX * sizeof *basis->nodes);
  basis->curve = core_memory_allocate(NODES_MAX * n * sizeof *basis->curve);
  memcpy(basis->x, x, n * sizeof *x);

  const double last = x[n - 1];
  for (int f = 0; f < ANALYSIS_GROWTH_FAMILIES; f++) {
    const size_t halves = has_half((AnalysisGrowthFamily)f) ? HALVES : 1;
    const size_t shapes = has_shape((AnalysisGrowthFamily)f) ? SHAPES : 1;
    for (size_t h = 0; h < halves; h++)
      for (size_t s = 0; s < shapes; s++) {
        const double half = halves > 1 ? last * spaced(half_min, half_max, h, halves) : last;
        const double shape = spaced(families[f].shape_min, families[f].shape_max, s, shapes);
        add_node(basis, (AnalysisGrowthFamily)f, half, shape);
      }
  }
  return basis;
}

void analysis_growth_basis_destroy(AnalysisGrowthBasis **basis) {
  if (!*basis) return;
  free((*basis)->x);
  free((*basis)->nodes);
  free((*basis)->curve);
  free(*basis);
  *basis = NULL;
}

/* ---- refinement -------------------------------------------------------------------------------------------------- */

/* Curve to be fitted. */
typedef struct Fit {
  const AnalysisGrowthBasis *basis;
  const double *y;         /* [n] */
  double mean;             /* mean of y */
  AnalysisGrowthFamily family;
  double *residual, *moved[2]; /* [n] residuals at the current point, and near it along log h and log s */
} Fit;

/* Computes residuals[n] of the best a and b for the given log h and log s; returns their sum of squares. */
static double project(const Fit *fit, const double point[2], double *residual, double *a, double *b) {
  const size_t n = fit->basis->n;
  const double half = exp(point[0]), shape = exp(point[1]);
  double mean = 0, product = 0, square = 0, sum = 0;

  for (size_t i = 0; i < n; i++) {
    residual[i] = remaining(fit->family, fit->basis->x[i], half, shape);
    mean += residual[i] / (double)n;
  }

  for (size_t i = 0; i < n; i++) {
    product += (residual[i] - mean) * fit->y[i];
    square += (residual[i] - mean) * (residual[i] - mean);
  }

  *b = square > 0 ? -product / square : 0;
  *a = fit->mean + *b * mean;

  for (size_t i = 0; i < n; i++) {
    residual[i] = fit->y[i] - *a + *b * residual[i];
    sum += residual[i] * residual[i];
  }

  return sum;
}

/* Computes the gradient of half the sum of squares, and Gauss and Newton's matrix, by differences. */
static void differentiate(const Fit *fit, const double point[2], size_t dimensions, double gradient[2],
                          double matrix[2][2]) {
  static const double step = 1e-6;
  double a, b;

  for (size_t d = 0; d < dimensions; d++) {
    double near[2] = {point[0], point[1]};
    near[d] += step;
    project(fit, near, fit->moved[d], &a, &b);
    for (size_t i = 0; i < fit->basis->n; i++) fit->moved[d][i] = (fit->moved[d][i] - fit->residual[i]) / step;
  }

  for (size_t d = 0; d < dimensions; d++) {
    gradient[d] = 0;
    for (size_t i = 0; i < fit->basis->n; i++) gradient[d] += fit->moved[d][i] * fit->residual[i];
    for (size_t e = 0; e < dimensions; e++) {
      matrix[d][e] = 0;
      for (size_t i = 0; i < fit->basis->n; i++) matrix[d][e] += fit->moved[d][i] * fit->moved[e][i];
    }
  }
}

/* Fixes coordinates at the border of the search region that the descent would leave. */
static void fix_borders(const double point[2], const double low[2], const double high[2], double gradient[2],
                        double matrix[2][2]) {
  for (size_t d = 0; d < 2; d++) {
    if (!(point[d] >= high[d] && gradient[d] < 0) && !(point[d] <= low[d] && gradient[d] > 0)) continue;
    gradient[d] = matrix[0][1] = matrix[1][0] = 0;
  }
}

/* Solves (matrix + damping diag(matrix)) step = -gradient; false if it is singular. */
static bool solve(size_t dimensions, double matrix[2][2], const double gradient[2], double damping, double step[2]) {
  const double p = matrix[0][0] * (1 + damping), q = dimensions > 1 ? matrix[1][1] * (1 + damping) : 1;
  const double cross = dimensions > 1 ? matrix[0][1] : 0, second = dimensions > 1 ? gradient[1] : 0;
  const double determinant = p * q - cross * cross;
  if (!(determinant > 0)) return false;
  step[0] = -(gradient[0] * q - second * cross) / determinant;
  step[1] = -(second * p - gradient[0] * cross) / determinant;
  return true;
}

/* Moves from a point of the grid to the nearest minimum within the search region. */
static double descend(Fit *fit, double point[2], double *a, double *b) {
  const size_t dimensions = has_shape(fit->family) ? 2 : has_half(fit->family) ? 1 : 0;
  const double last = fit->basis->x[fit->basis->n - 1];
  const double low[2] = {log(half_min * last), log(families[fit->family].shape_min)};
  const double high[2] = {log(half_max * last), log(families[fit->family].shape_max)};
  double squares = project(fit, point, fit->residual, a, b), damping = 1e-3;
  if (dimensions == 0) return squares;

  for (int i = 0; i < STEPS_MAX; i++) {
    double gradient[2] = {0}, matrix[2][2] = {{0}}, step[2], trial_squares = INFINITY;
    differentiate(fit, point, dimensions, gradient, matrix);
    fix_borders(point, low, high, gradient, matrix);

    for (; damping < 1e9 && trial_squares >= squares; damping *= 8) {
      double trial[2] = {point[0], point[1]}, trial_a, trial_b;
      if (!solve(dimensions, matrix, gradient, damping, step)) continue;
      for (size_t d = 0; d < dimensions; d++) trial[d] = fmin(high[d], fmax(low[d], point[d] + step[d]));
      trial_squares = project(fit, trial, fit->moved[0], &trial_a, &trial_b);
      if (trial_squares >= squares) continue;
      memcpy(point, trial, sizeof trial);
      break;
    }

    if (trial_squares >= squares) break;
    const bool is_converged = squares - trial_squares <= 1e-8 * squares;
    squares = project(fit, point, fit->residual, a, b);
    damping = fmax(1e-9, damping / 16);
    if (is_converged) break;
  }
  return squares;
}

/* ---- families ---------------------------------------------------------------------------------------------------- */

/* Returns Hurvich & Tsai's criterion; the variance of the noise is a parameter too. */
static double corrected_criterion(double squares, size_t n, AnalysisGrowthFamily family) {
  const double k = (double)families[family].parameters + 1, points = (double)n;
  return points * log(squares / points) + 2 * k + 2 * k * (k + 1) / (points - k - 1);
}

/* Finds the best point of the grid for each family: node[family], squares[family]. */
static void search_grid(const AnalysisGrowthBasis *basis, const double *y, double total, size_t *node,
                        double *squares) {
  for (int f = 0; f < ANALYSIS_GROWTH_FAMILIES; f++) squares[f] = INFINITY;
  for (size_t k = 0; k < basis->count; k++) {
    const double *curve = basis->curve + k * basis->n;
    const AnalysisGrowthFamily family = basis->nodes[k].family;
    double product = 0;
    for (size_t i = 0; i < basis->n; i++) product += curve[i] * y[i];
    const double explained = basis->nodes[k].squares > 0 ? product * product / basis->nodes[k].squares : 0;
    if (!(total - explained < squares[family])) continue;
    squares[family] = total - explained;
    node[family] = k;
  }
}

/* Fits one family, or all that may be the best (family = ANALYSIS_GROWTH_FAMILIES). */
static AnalysisGrowth fit_families(const AnalysisGrowthBasis *basis, const double *y, AnalysisGrowthFamily family) {
  static const double margin = 8; /* a family this far behind on the grid rarely becomes the best by refinement */
  const size_t n = basis->n;
  double squares[ANALYSIS_GROWTH_FAMILIES], total = 0, least = INFINITY;
  size_t node[ANALYSIS_GROWTH_FAMILIES] = {0};
  AnalysisGrowth best = {.aicc = INFINITY};
  Fit fit = {.basis = basis, .y = y};

  for (size_t i = 0; i < n; i++) fit.mean += y[i] / (double)n;
  for (size_t i = 0; i < n; i++) total += (y[i] - fit.mean) * (y[i] - fit.mean);
  const double floor = 1e-18 * total + 1e-300; /* rounding errors of an exact fit */

  search_grid(basis, y, total, node, squares);
  for (int f = 0; f < ANALYSIS_GROWTH_FAMILIES; f++)
    least = fmin(least, corrected_criterion(fmax(floor, squares[f]), n, (AnalysisGrowthFamily)f));

  fit.residual = core_memory_allocate(3 * n * sizeof *fit.residual);
  for (size_t d = 0; d < 2; d++) fit.moved[d] = fit.residual + (d + 1) * n;
  for (int f = 0; f < ANALYSIS_GROWTH_FAMILIES; f++) {
    const AnalysisGrowthFamily tried = (AnalysisGrowthFamily)f;
    const bool is_far = corrected_criterion(fmax(floor, squares[f]), n, tried) > least + margin;
    if (family == ANALYSIS_GROWTH_FAMILIES ? is_far : tried != family) continue;
    fit.family = tried;
    const Node *start = &basis->nodes[node[f]];
    double point[2] = {log(start->half), log(start->shape)}, a, b;
    const double sum = fmax(floor, descend(&fit, point, &a, &b));
    const double criterion = corrected_criterion(sum, n, tried);
    if (criterion < best.aicc) best = (AnalysisGrowth){tried, a, b, exp(point[0]), exp(point[1]), sum, criterion};
  }

  free(fit.residual);
  return best;
}

AnalysisGrowth analysis_growth_fit(const AnalysisGrowthBasis *basis, const double *y) {
  return fit_families(basis, y, ANALYSIS_GROWTH_FAMILIES);
}

AnalysisGrowth analysis_growth_fit_family(const AnalysisGrowthBasis *basis, const double *y,
                                          AnalysisGrowthFamily family) {
  return fit_families(basis, y, family);
}
