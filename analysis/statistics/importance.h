/* How much of a search's differences each setting explains: functional ANOVA (Hutter, Hoos & Leyton-Brown 2014) of a
 * random forest (Breiman 2001). A tree divides the space into boxes with a value each, so its mean over all other
 * settings, and the variance of that, are exact sums over boxes. Pure functions over arrays. */
#ifndef ANALYSIS_IMPORTANCE_H
#define ANALYSIS_IMPORTANCE_H
#include <stddef.h>
#include <stdint.h>

/* A tree as its leaves: boxes of [0, 1]^dimensions. */
typedef struct AnalysisBoxes {
  size_t count, dimensions;
  double *low, *high;    /* [count][dimensions] */
  double *value;         /* [count] */
} AnalysisBoxes;

/* Variance over the space, each point alike; and of the mean over all but the settings a and b (equal: of one), which
 * is the sum of their main effects and their interaction. */
double analysis_boxes_variance(const AnalysisBoxes *boxes);
double analysis_boxes_marginal_variance(const AnalysisBoxes *boxes, size_t a, size_t b);

/* A regression tree of the points list[0 .. n-1] (repeats count), x[point][dimensions] in [0, 1]: divided where the sum
 * of squares falls most, halfway between two points, until a leaf has equal values or one point. Caller calls
 * analysis_boxes_free. */
void analysis_boxes_grow(const double *x, const double *y, const size_t *list, size_t n, size_t dimensions,
                         AnalysisBoxes *boxes);
void analysis_boxes_free(AnalysisBoxes *boxes);

enum { ANALYSIS_TREES = 64, ANALYSIS_IMPORTANCE_LEAST = 8 /* points, below which nothing can be said */ };

/* Computes main[dimensions], the share of the variance that each setting explains by itself, and pair[dimensions *
 * dimensions] (NULL: not wanted), what two explain together beyond that, for those of the `pairs` largest main effects,
 * else 0. Means over the trees that vary at all; NaN with fewer than ANALYSIS_IMPORTANCE_LEAST points, or where none
 * does. Fully grown trees explain noise, too: returns the share of the points' variance that trees grown without a
 * point predict of it (out-of-bag R^2, Breiman 2001); at most 0, main is NaN. */
double analysis_importance(const double *x, const double *y, size_t n, size_t dimensions, uint64_t seed, size_t pairs,
                           double *main, double *pair);

#endif
