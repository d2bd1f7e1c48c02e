/* Regression trees as boxes, and the variances of their marginals (importance.h). */
#include "analysis/statistics/importance.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/statistics.h"
#include "core/memory.h"
#include "core/random.h"

/* ---- marginals --------------------------------------------------------------------------------------------------- */

static double width(const AnalysisBoxes *boxes, size_t box, size_t dimension) {
  const size_t i = box * boxes->dimensions + dimension;
  return boxes->high[i] - boxes->low[i];
}

/* Returns the volume of a box over all dimensions except a and b (SIZE_MAX: no exception). */
static double volume(const AnalysisBoxes *boxes, size_t box, size_t a, size_t b) {
  double product = 1;
  for (size_t d = 0; d < boxes->dimensions; d++)
    if (d != a && d != b) product *= width(boxes, box, d);
  return product;
}

double analysis_boxes_variance(const AnalysisBoxes *boxes) {
  double mean = 0, variance = 0;
  for (size_t i = 0; i < boxes->count; i++) mean += volume(boxes, i, SIZE_MAX, SIZE_MAX) * boxes->value[i];
  for (size_t i = 0; i < boxes->count; i++)
    variance += volume(boxes, i, SIZE_MAX, SIZE_MAX) * (boxes->value[i] - mean) * (boxes->value[i] - mean);
  return variance;
}

/* Lists the distinct edges of all boxes along a dimension, ascending; free(*edges). Returns their number. */
static size_t list_edges(const AnalysisBoxes *boxes, size_t dimension, double **edges) {
  size_t count = 0, distinct = 0;
  *edges = core_memory_allocate((2 * boxes->count + 1) * sizeof **edges);
  for (size_t i = 0; i < boxes->count; i++) {
    (*edges)[count++] = boxes->low[i * boxes->dimensions + dimension];
    (*edges)[count++] = boxes->high[i * boxes->dimensions + dimension];
  }
  qsort(*edges, count, sizeof **edges, analysis_compare_values);
  for (size_t i = 0; i < count; i++)
    if (distinct == 0 || (*edges)[i] > (*edges)[distinct - 1]) (*edges)[distinct++] = (*edges)[i];
  return distinct;
}

static size_t find_edge(const double *edges, size_t count, double value) {
  const double *found = bsearch(&value, edges, count, sizeof *edges, analysis_compare_values);
  return (size_t)(found - edges);
}

double analysis_boxes_marginal_variance(const AnalysisBoxes *boxes, size_t a, size_t b) {
  double *edges_a, *edges_b, mean = 0, variance = 0;
  const size_t count_a = list_edges(boxes, a, &edges_a), count_b = list_edges(boxes, b, &edges_b);
  const size_t cells_a = count_a - 1, cells_b = a == b ? 1 : count_b - 1;
  double *marginal = core_memory_zero_allocate(cells_a * cells_b, sizeof *marginal);

  for (size_t i = 0; i < boxes->count; i++) {
    const double *low = boxes->low + i * boxes->dimensions, *high = boxes->high + i * boxes->dimensions;
    const double share = volume(boxes, i, a, b) * boxes->value[i];

    const size_t first_a = find_edge(edges_a, count_a, low[a]);
    const size_t end_a = find_edge(edges_a, count_a, high[a]);
    const size_t first_b = a == b ? 0 : find_edge(edges_b, count_b, low[b]);
    const size_t end_b = a == b ? 1 : find_edge(edges_b, count_b, high[b]);
    for (size_t p = first_a; p < end_a; p++)
      for (size_t q = first_b; q < end_b; q++) marginal[p * cells_b + q] += share;
  }

  /* The mean first, then the variance around it. */
  for (int pass = 0; pass < 2; pass++) {
    for (size_t p = 0; p < cells_a; p++) {
      for (size_t q = 0; q < cells_b; q++) {
        const double size = (edges_a[p + 1] - edges_a[p]) * (a == b ? 1 : edges_b[q + 1] - edges_b[q]);
        const double value = marginal[p * cells_b + q];
        if (pass == 0) mean += size * value;
        else variance += size * (value - mean) * (value - mean);
      }
    }
  }

  free(edges_a);
  free(edges_b);
  free(marginal);
  return variance;
}

/* ---- trees ------------------------------------------------------------------------------------------------------- */

typedef struct Grower {
  const double *x, *y;
  size_t dimensions, capacity;
  size_t *list, *scratch;   /* points of the tree; buffer for the split */
  double *low, *high;       /* [dimensions] bounds of the current box */
  AnalysisBoxes *boxes;
} Grower;

typedef struct Value { double x, y; } Value;

static int compare_x(const void *left, const void *right) {
  const double a = ((const Value *)left)->x, b = ((const Value *)right)->x;
  return (a > b) - (a < b);
}

static void add_leaf(Grower *g, double value) {
  AnalysisBoxes *boxes = g->boxes;
  const size_t row = g->dimensions * sizeof *boxes->low;
  if (boxes->count == g->capacity) {
    g->capacity = g->capacity ? 2 * g->capacity : 64;
    boxes->low = core_memory_resize(boxes->low, g->capacity * row);
    boxes->high = core_memory_resize(boxes->high, g->capacity * row);
    boxes->value = core_memory_resize(boxes->value, g->capacity * sizeof *boxes->value);
  }
  memcpy(boxes->low + boxes->count * g->dimensions, g->low, row);
  memcpy(boxes->high + boxes->count * g->dimensions, g->high, row);
  boxes->value[boxes->count++] = value;
}

/* Finds the best split along one dimension. Returns the reduction of the sum of squares; 0: no split helps. */
static double find_best_split(const Value *sorted, size_t n, double *threshold) {
  double total = 0, left = 0, best = 0;
  for (size_t i = 0; i < n; i++) total += sorted[i].y;
  for (size_t i = 0; i + 1 < n; i++) {
    left += sorted[i].y;
    if (sorted[i].x >= sorted[i + 1].x) continue;
    const double a = (double)(i + 1), b = (double)(n - i - 1), right = total - left;
    const double reduction = left * left / a + right * right / b - total * total / (double)n;
    if (reduction <= best) continue;
    best = reduction;
    *threshold = 0.5 * (sorted[i].x + sorted[i + 1].x);
  }
  return best;
}

/* Selects the dimension and threshold of the best split; false: no split helps. */
static bool select_split(const Grower *g, size_t first, size_t n, size_t *dimension, double *threshold) {
  Value *sorted = core_memory_allocate(n * sizeof *sorted);
  double best = 0, squares = 0;

  for (size_t d = 0; d < g->dimensions; d++) {
    double candidate = 0;
    for (size_t i = 0; i < n; i++) {
      const size_t point = g->list[first + i];
      sorted[i] = (Value){g->x[point * g->dimensions + d], g->y[point]};
      if (d == 0) squares += sorted[i].y * sorted[i].y;
    }

    qsort(sorted, n, sizeof *sorted, compare_x);
    const double reduction = find_best_split(sorted, n, &candidate);
    if (reduction <= best) continue;
    best = reduction;
    *dimension = d;
    *threshold = candidate;
  }

  free(sorted);
  return best > 1e-12 * squares; /* smaller reductions are rounding errors */
}

/* Grows the subtree of points list[first .. first + n - 1] in the current box. Its depth is less than n. */
static void grow(Grower *g, size_t first, size_t n) {
  double threshold = 0, mean = 0;
  size_t dimension = 0, left = 0, right = 0;
  for (size_t i = 0; i < n; i++) mean += g->y[g->list[first + i]] / (double)n;

  if (n < 2 || !select_split(g, first, n, &dimension, &threshold)) {
    add_leaf(g, mean);
    return;
  }

  for (size_t i = 0; i < n; i++) {
    const size_t point = g->list[first + i];
    if (g->x[point * g->dimensions + dimension] <= threshold) g->list[first + left++] = point;
    else g->scratch[right++] = point;
  }
  memcpy(g->list + first + left, g->scratch, right * sizeof *g->scratch);

  const double low = g->low[dimension], high = g->high[dimension];
  g->high[dimension] = threshold;
  grow(g, first, left);
  g->high[dimension] = high;
  g->low[dimension] = threshold;
  grow(g, first + left, right);
  g->low[dimension] = low;
}

void analysis_boxes_grow(const double *x, const double *y, const size_t *list, size_t n, size_t dimensions,
                         AnalysisBoxes *boxes) {
  *boxes = (AnalysisBoxes){.dimensions = dimensions};
  Grower g = {.x = x, .y = y, .dimensions = dimensions, .boxes = boxes};
  g.list = core_memory_allocate(2 * (n + 1) * sizeof *g.list);
  g.scratch = g.list + n + 1;
  g.low = core_memory_zero_allocate(2 * dimensions + 1, sizeof *g.low);
  g.high = g.low + dimensions;
  memcpy(g.list, list, n * sizeof *g.list);
  for (size_t d = 0; d < dimensions; d++) g.high[d] = 1;
  grow(&g, 0, n);
  free(g.list);
  free(g.low);
}

void analysis_boxes_free(AnalysisBoxes *boxes) {
  free(boxes->low);
  free(boxes->high);
  free(boxes->value);
  *boxes = (AnalysisBoxes){0};
}

/* ---- forest ------------------------------------------------------------------------------------------------------ */

static void sample_points(uint64_t seed, uint32_t tree, size_t n, size_t *list) {
  CoreRandomStream stream = core_random_stream(seed, CORE_RANDOM_BOOTSTRAP, tree, 0);
  for (size_t i = 0; i < n; i++) list[i] = core_random_below(core_random_next(&stream), (uint32_t)n);
}

static void grow_forest(const double *x, const double *y, size_t n, size_t dimensions, uint64_t seed,
                        AnalysisBoxes *forest) {
  size_t *list = core_memory_allocate(n * sizeof *list);
  for (uint32_t t = 0; t < ANALYSIS_TREES; t++) {
    sample_points(seed, t, n, list);
    analysis_boxes_grow(x, y, list, n, dimensions, &forest[t]);
  }
  free(list);
}

static double predict(const AnalysisBoxes *boxes, const double *point) {
  for (size_t i = 0; i < boxes->count; i++) {
    const double *low = boxes->low + i * boxes->dimensions, *high = boxes->high + i * boxes->dimensions;
    bool is_inside = true;
    for (size_t d = 0; d < boxes->dimensions && is_inside; d++) is_inside = point[d] >= low[d] && point[d] <= high[d];
    if (is_inside) return boxes->value[i];
  }
  return NAN;
}

/* Computes the out-of-bag R^2: the share of the variance of y that trees predict for points not in their sample. */
static double out_of_bag(const AnalysisBoxes *forest, const double *x, const double *y, size_t n, size_t dimensions,
                         uint64_t seed) {
  double *sum = core_memory_zero_allocate(2 * n + 1, sizeof *sum), *trees = sum + n;
  size_t *list = core_memory_allocate(n * sizeof *list);
  bool *sampled = core_memory_allocate(n * sizeof *sampled);

  for (uint32_t t = 0; t < ANALYSIS_TREES; t++) {
    sample_points(seed, t, n, list);
    memset(sampled, 0, n * sizeof *sampled);
    for (size_t i = 0; i < n; i++) sampled[list[i]] = true;

    for (size_t i = 0; i < n; i++) {
      if (sampled[i]) continue;
      sum[i] += predict(&forest[t], x + i * dimensions);
      trees[i]++;
    }
  }

  const double mean = analysis_mean(y, n);
  double error = 0, variance = 0;
  for (size_t i = 0; i < n; i++) {
    if (trees[i] == 0) continue;
    error += (y[i] - sum[i] / trees[i]) * (y[i] - sum[i] / trees[i]);
    variance += (y[i] - mean) * (y[i] - mean);
  }

  free(sum);
  free(list);
  free(sampled);
  return variance > 0 ? 1 - error / variance : NAN;
}

/* Averages over the trees the share of variance explained by a main effect (a == b) or an interaction. */
static double mean_share(const AnalysisBoxes *forest, size_t a, size_t b) {
  double sum = 0;
  size_t trees = 0;
  for (size_t t = 0; t < ANALYSIS_TREES; t++) {
    const double total = analysis_boxes_variance(&forest[t]);
    if (!(total > 0)) continue;
    double effect = analysis_boxes_marginal_variance(&forest[t], a, b);
    if (a != b)
      effect -= analysis_boxes_marginal_variance(&forest[t], a, a) + analysis_boxes_marginal_variance(&forest[t], b, b);
    sum += fmax(0, effect) / total;
    trees++;
  }
  return trees ? sum / (double)trees : NAN;
}

/* Counts the settings with a larger main effect. */
static size_t find_rank(const double *main, size_t dimensions, size_t d) {
  size_t rank = 0;
  for (size_t other = 0; other < dimensions; other++)
    rank += main[other] > main[d] || (main[other] == main[d] && other < d);
  return rank;
}

double analysis_importance(const double *x, const double *y, size_t n, size_t dimensions, uint64_t seed, size_t pairs,
                           double *main, double *pair) {
  AnalysisBoxes forest[ANALYSIS_TREES] = {{0}};
  const bool has_forest = n >= ANALYSIS_IMPORTANCE_POINTS_MIN;

  if (has_forest) grow_forest(x, y, n, dimensions, seed, forest);
  const double explained = has_forest ? out_of_bag(forest, x, y, n, dimensions, seed) : NAN;
  const bool is_predictive = explained > 0;

  for (size_t d = 0; d < dimensions; d++) main[d] = is_predictive ? mean_share(forest, d, d) : NAN;
  const size_t pair_rows = pair ? dimensions : 0;
  for (size_t a = 0; a < pair_rows; a++) {
    for (size_t b = a; b < dimensions; b++) {
      const bool is_selected =
        is_predictive && a < b && find_rank(main, dimensions, a) < pairs && find_rank(main, dimensions, b) < pairs;
      pair[a * dimensions + b] = is_selected ? mean_share(forest, a, b) : 0;
      pair[b * dimensions + a] = pair[a * dimensions + b];
    }
  }

  const size_t trees = has_forest ? ANALYSIS_TREES : 0;
  for (size_t t = 0; t < trees; t++) analysis_boxes_free(&forest[t]);
  return explained;
}
