/* Least-squares fits of learning curves. Families (Viering & Loog 2023, "The Shape of Learning Curves"; of these, the
 * Weibull and Hill curves extrapolate best in Mohr et al. 2022, "LCDB 1.0"):
 *
 *   exponential  y = a - b 2^(-x/h)
 *   Weibull      y = a - b 2^(-(x/h)^s)
 *   power law    y = a - b (1 + (2^(1/s) - 1) x/h)^(-s)
 *   Hill         y = a - b / (1 + (x/h)^s)              (Morgan, Mercer & Flodin's)
 *   line         y = a + b x,   logarithm  y = a + b log(1 + x/h): they have no asymptote
 *
 * h is where half of the rise b is done. a and b are linear, so that only h and s are searched (variable projection,
 * Golub & Pereyra 1973): over a grid, and from its best point by Levenberg and Marquardt's method. The family is that
 * of the smallest AICc (Hurvich & Tsai 1989). Pure functions over arrays. */
#ifndef ANALYSIS_GROWTH_H
#define ANALYSIS_GROWTH_H
#include <stdbool.h>
#include <stddef.h>

typedef enum AnalysisGrowthFamily {
  ANALYSIS_GROWTH_EXPONENTIAL,
  ANALYSIS_GROWTH_WEIBULL,
  ANALYSIS_GROWTH_POWER,
  ANALYSIS_GROWTH_HILL,
  ANALYSIS_GROWTH_LOGARITHM,
  ANALYSIS_GROWTH_LINE,
  ANALYSIS_GROWTH_FAMILIES
} AnalysisGrowthFamily;

enum { ANALYSIS_GROWTH_POINTS_MIN = 8 }; /* minimum number of points: two more than AICc's parameters */

typedef struct AnalysisGrowth {
  AnalysisGrowthFamily family;
  double a, b, half, shape; /* shape: s; 1 for families without */
  double squares;           /* sum of squared residuals */
  double aicc;
} AnalysisGrowth;

const char *analysis_growth_name(AnalysisGrowthFamily family); /* "exponential", "Hill" */

/* Basis of the fits of many curves on the same x: the curves of the grid of h and s. */
typedef struct AnalysisGrowthBasis AnalysisGrowthBasis;
/* x: [n] ascending, not negative, the last one positive; copied. */
AnalysisGrowthBasis *analysis_growth_basis_create(const double *x, size_t n);
void analysis_growth_basis_destroy(AnalysisGrowthBasis **basis);

/* Fits y[n] by the best family, or by a given one. Several threads may share the basis. */
AnalysisGrowth analysis_growth_fit(const AnalysisGrowthBasis *basis, const double *y);
AnalysisGrowth analysis_growth_fit_family(const AnalysisGrowthBasis *basis, const double *y,
                                          AnalysisGrowthFamily family);

double analysis_growth_value(const AnalysisGrowth *fit, double x);
/* Returns the asymptote; infinite with the sign of the rise if the family has none. */
double analysis_growth_asymptote(const AnalysisGrowth *fit);
/* Returns the share of the rise from x = 0 to the asymptote that is done at x; 0 without an asymptote. */
double analysis_growth_done(const AnalysisGrowth *fit, double x);

#endif
