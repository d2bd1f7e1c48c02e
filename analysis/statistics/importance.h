/* Importance of settings in a search: functional ANOVA (Hutter, Hoos & Leyton-Brown 2014) of a random forest (Breiman
 * 2001). A tree partitions the space into boxes with one value each, so that its mean over all other settings, and the
 * variance of that mean, are exact sums over boxes. Pure functions over arrays. */
#ifndef ANALYSIS_IMPORTANCE_H
#define ANALYSIS_IMPORTANCE_H
#include <stddef.h>
#include <stdint.h>

/* Leaves of a tree: boxes in [0, 1]^dimensions. */
typedef struct AnalysisBoxes {
  size_t count, dimensions;
  double *low, *high;    /* [count][dimensions] */
  double *value;         /* [count] */
} AnalysisBoxes;

/* Compute the variance of the tree over the uniform distribution, and the variance of its mean over all settings except
 * a and b (which may be equal): the sum of their main effects and their interaction. */
double analysis_boxes_variance(const AnalysisBoxes *boxes);
double analysis_boxes_marginal_variance(const AnalysisBoxes *boxes, size_t a, size_t b);

/* Grows a regression tree from the points list[n] (with repetitions), x[point][dimensions] in [0, 1]. Splits where the
 * sum of squares falls most, halfway between two points, until a leaf has equal values or one point. The caller calls
 * analysis_boxes_free. */
void analysis_boxes_grow(const double *x, const double *y, const size_t *list, size_t n, size_t dimensions,
                         AnalysisBoxes *boxes);
void analysis_boxes_free(AnalysisBoxes *boxes);

enum { ANALYSIS_TREES = 64, ANALYSIS_IMPORTANCE_POINTS_MIN = 8 };

/* Computes main[dimensions], the share of variance that each setting explains by itself, and pair[dimensions *
 * dimensions] (optional), what two settings explain in addition, for the settings of the `pairs` largest main effects
 * and else 0. Averages over trees with nonzero variance; NaN with fewer than ANALYSIS_IMPORTANCE_POINTS_MIN points, or
 * without such trees. Fully grown trees fit noise too, so the result is the out-of-bag R^2 (Breiman 2001), the share of
 * variance that trees predict for points not in their sample; if it is 0 or less, main is NaN. */
double analysis_importance(const double *x, const double *y, size_t n, size_t dimensions, uint64_t seed, size_t pairs,
                           double *main, double *pair);

#endif
