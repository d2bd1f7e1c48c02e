/* Tests in which a best setting matters (contrast.h): which one it is has to be learned from the data that test it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/contrast_internal.h"
#include "core/memory.h"

/* The keys of a claim, its second keys, and room for weights. */
typedef struct Choices {
  const AnalysisCells *cells;
  double *key, *second, *weight;  /* [keys], [seconds], [cells] */
  size_t keys, seconds;
} Choices;

static Choices choices_create(const AnalysisCells *cells) {
  Choices c = {.cells = cells, .weight = core_memory_allocate((cells->cells + 1) * sizeof *c.weight)};
  c.key = analysis_distinct(cells->key, cells->cells, &c.keys);
  c.second = analysis_distinct(cells->second, cells->cells, &c.seconds);
  return c;
}

static void choices_free(Choices *c) {
  free(c->key);
  free(c->second);
  free(c->weight);
}

/* One setting of the claim: places of its key and second key. */
typedef struct Setting { size_t key, second; } Setting;

/* Sets the contrast of a - b, averaged over the strata that have both; returns their number. */
static size_t contrast_of(const Choices *c, Setting a, Setting b, AnalysisContrast *contrast) {
  memset(c->weight, 0, (c->cells->cells + 1) * sizeof *c->weight);
  const size_t used = analysis_weigh_pair(c->cells, c->key[a.key], c->second[a.second], c->key[b.key],
                                          c->second[b.second], 1, c->weight);
  if (used > 0) *contrast = analysis_contrast(c->cells, c->weight);
  return used;
}

/* Sets the contrast of (a - b at the lowest second key) - (a - b at the highest), averaged over strata. `sign` 1: of
 * sums over both ends instead of differences. */
static size_t contrast_of_ends(const Choices *c, size_t a, size_t b, double sign, AnalysisContrast *contrast) {
  const double low = c->second[0], high = c->second[c->seconds - 1];
  memset(c->weight, 0, (c->cells->cells + 1) * sizeof *c->weight);
  const size_t used = analysis_weigh_pair(c->cells, c->key[a], low, c->key[b], low, 1, c->weight);
  const size_t other = analysis_weigh_pair(c->cells, c->key[a], high, c->key[b], high, sign, c->weight);
  if (used == 0 || other == 0) return 0;
  *contrast = analysis_contrast(c->cells, c->weight);
  return used < other ? used : other;
}

/* Combines "this setting is not the best" with "it does what is claimed": either suffices. */
static double either(double p_not_best, double p_claim, bool has_rivals) {
  return has_rivals ? fmin(1, 2 * fmin(p_not_best, p_claim)) : p_claim;
}

/* ---- the ends of the key ----------------------------------------------------------------------------------------- */

enum { END_CELLS_MIN = 3 };

static size_t cells_of(const AnalysisCells *cells, size_t s) { return cells->stratum[s + 1] - cells->stratum[s]; }

/* Whether all strata that are compared have the same keys. */
static bool has_same_keys(const AnalysisCells *cells) {
  size_t first = SIZE_MAX;
  for (size_t s = 0; s < cells->strata; s++) {
    const size_t n = cells_of(cells, s);
    if (n < END_CELLS_MIN) continue;
    if (first == SIZE_MAX) first = s;
    if (n != cells_of(cells, first)) return false;
    for (size_t i = 0; i < n; i++)
      if (cells->key[cells->stratum[s] + i] != cells->key[cells->stratum[first] + i]) return false;
  }
  return true;
}

static size_t best_of(const AnalysisCells *cells, size_t begin, size_t end, size_t but) {
  size_t best = SIZE_MAX;
  for (size_t c = begin; c < end; c++)
    if (c != but && (best == SIZE_MAX || analysis_cells_mean(cells, cells->score, c) >
                                           analysis_cells_mean(cells, cells->score, best))) best = c;
  return best;
}

/* The contrast of another cell - the end cell, averaged over strata: the cell at that place of each stratum, or with
 * SIZE_MAX the best one of each. *choices: how many ways there were. Returns the number of strata. */
static size_t contrast_of_end(const Choices *c, bool high, size_t place, AnalysisContrast *contrast, double *choices) {
  size_t used = 0;
  *choices = 1;
  memset(c->weight, 0, (c->cells->cells + 1) * sizeof *c->weight);
  for (size_t s = 0; s < c->cells->strata; s++) {
    const size_t n = cells_of(c->cells, s), begin = c->cells->stratum[s], end = high ? begin + n - 1 : begin;
    if (n < END_CELLS_MIN) continue;
    if (place != SIZE_MAX && begin + place == end) return 0;
    c->weight[place == SIZE_MAX ? best_of(c->cells, begin, begin + n, end) : begin + place]++;
    c->weight[end]--;
    *choices = place == SIZE_MAX ? *choices * (double)(n - 1) : (double)(n - 1);
    used++;
  }
  for (size_t i = 0; i < c->cells->cells; i++) c->weight[i] /= (double)(used > 0 ? used : 1);
  *contrast = analysis_contrast(c->cells, c->weight);
  return used;
}

/* Some other key beats the one at the end. Any of them may, which costs their number: the same in all strata, or where
 * these have different keys one in each. */
AnalysisTested analysis_test_end(const AnalysisCells *cells, bool high) {
  AnalysisTested tested = ANALYSIS_NOT_TESTED;
  Choices c = choices_create(cells);
  const bool same = has_same_keys(cells);
  double best = -INFINITY, beaten = 1, unbeaten = 0, choices;
  for (size_t place = 0; place < (same ? c.keys : 1); place++) {
    AnalysisContrast contrast;
    const size_t used = contrast_of_end(&c, high, same ? place : SIZE_MAX, &contrast, &choices);
    if (used == 0) continue;
    tested.strata = used;
    beaten = fmin(beaten, fmin(1, choices * analysis_contrast_above(contrast, 0)));
    unbeaten = fmax(unbeaten, analysis_contrast_below(contrast, 0));
    if (contrast.estimate > best) {
      best = contrast.estimate;
      tested.interval = analysis_contrast_interval(contrast, cells->count);
    }
  }
  if (tested.strata > 0) {
    tested.p_for = beaten;
    tested.p_against = unbeaten;
  }
  choices_free(&c);
  return tested;
}

/* The contrast of the mean of x at the end cells, over strata. */
static AnalysisContrast gain_at_end(const Choices *c, bool high) {
  AnalysisCells cells = *c->cells;
  size_t used = 0;
  cells.score = cells.x;
  memset(c->weight, 0, (cells.cells + 1) * sizeof *c->weight);
  for (size_t s = 0; s < cells.strata; s++) {
    const size_t n = cells_of(&cells, s), begin = cells.stratum[s];
    if (n < END_CELLS_MIN) continue;
    c->weight[high ? begin + n - 1 : begin]++;
    used++;
  }
  for (size_t i = 0; i < cells.cells; i++) c->weight[i] /= (double)(used > 0 ? used : 1);
  return analysis_contrast(&cells, c->weight);
}

AnalysisTested analysis_test_plateau(const AnalysisCells *cells, bool high, double margin) {
  AnalysisTested tested = analysis_test_end(cells, high);
  if (tested.strata == 0) return tested;
  Choices c = choices_create(cells);
  const AnalysisContrast gain = gain_at_end(&c, high);
  tested.p_for = fmax(tested.p_for, analysis_contrast_below(gain, margin));
  tested.p_against = fmin(1, 2 * fmin(tested.p_against, analysis_contrast_above(gain, margin)));
  choices_free(&c);
  return tested;
}

/* ---- the ends of the second key ---------------------------------------------------------------------------------- */

/* P that none of the other keys but `end` is better than k over both ends together; *rivals of them. */
static double not_best_of_both(const Choices *c, size_t k, size_t end, size_t *rivals) {
  double p = 1;
  *rivals = 0;
  for (size_t j = 0; j < c->keys; j++) {
    AnalysisContrast contrast;
    if (j == k || j == end || contrast_of_ends(c, j, k, 1, &contrast) == 0) continue;
    p = fmin(p, analysis_contrast_above(contrast, 0));
    ++*rivals;
  }
  return fmin(1, p * (double)*rivals);
}

/* The mean of key k over both ends and all strata that have it there; NaN: none has. */
static double mean_of_both(const Choices *c, size_t k) {
  double sum = 0;
  size_t used = 0;
  for (size_t s = 0; s < c->cells->strata; s++) {
    const size_t low = analysis_cell_find(c->cells, s, c->key[k], c->second[0]);
    const size_t high = analysis_cell_find(c->cells, s, c->key[k], c->second[c->seconds - 1]);
    if (low == SIZE_MAX || high == SIZE_MAX) continue;
    sum += analysis_cells_mean(c->cells, c->cells->score, low) + analysis_cells_mean(c->cells, c->cells->score, high);
    used++;
  }
  return used > 0 ? sum / (double)used : NAN;
}

/* The key at the end loses more to the best other key at the lowest second key than at the highest. */
AnalysisTested analysis_test_robust(const AnalysisCells *cells, bool high) {
  AnalysisTested tested = ANALYSIS_NOT_TESTED;
  Choices c = choices_create(cells);
  const size_t end = high && c.keys > 0 ? c.keys - 1 : 0;
  double best = -INFINITY, p_for = 0, p_against = 0;
  for (size_t k = 0; k < c.keys && c.seconds > 1; k++) {
    AnalysisContrast contrast;
    const size_t used = k == end ? 0 : contrast_of_ends(&c, k, end, -1, &contrast);
    size_t rivals;
    if (used == 0) continue;
    const double p_not_best = not_best_of_both(&c, k, end, &rivals);
    p_for = fmax(p_for, either(p_not_best, analysis_contrast_above(contrast, 0), rivals > 0));
    p_against = fmax(p_against, either(p_not_best, analysis_contrast_below(contrast, 0), rivals > 0));
    const double mean = mean_of_both(&c, k);
    if (mean > best) {
      best = mean;
      tested.interval = analysis_contrast_interval(contrast, cells->count);
    }
    if (used > tested.strata) tested.strata = used;
  }
  if (tested.strata > 0) {
    tested.p_for = p_for;
    tested.p_against = p_against;
  }
  choices_free(&c);
  return tested;
}

/* What one end says of one key: the probabilities that it is the best there, that it loses less than the margin at the
 * other end to every key, and that it loses more to some key. */
typedef struct AtEnd { double not_best, loses_little, loses_much, loss, mean; size_t rivals, strata; } AtEnd;

static AtEnd look_at(const Choices *c, size_t k, size_t here, size_t there, double margin) {
  AtEnd at = {1, 0, 1, 0, 0, 0, 0};
  for (size_t j = 0; j < c->keys; j++) {
    AnalysisContrast contrast;
    if (j == k) continue;
    if (contrast_of(c, (Setting){j, here}, (Setting){k, here}, &contrast) > 0) {
      at.not_best = fmin(at.not_best, analysis_contrast_above(contrast, 0));
      at.mean -= contrast.estimate;
      at.rivals++;
    }
    const size_t used = contrast_of(c, (Setting){j, there}, (Setting){k, there}, &contrast);
    if (used == 0) continue;
    at.loses_little = fmax(at.loses_little, analysis_contrast_below(contrast, margin));
    at.loses_much = fmin(at.loses_much, analysis_contrast_above(contrast, margin));
    at.loss = fmax(at.loss, contrast.estimate);
    if (used > at.strata) at.strata = used;
  }
  at.not_best = fmin(1, at.not_best * (double)at.rivals);
  at.loses_much = fmin(1, at.loses_much * (double)at.rivals);
  return at;
}

/* The interval of the loss of key k at second key `there` to the key that does best against it; negative where none
 * beats it. */
static AnalysisInterval loss_of(const Choices *c, size_t k, size_t there) {
  AnalysisContrast most = {-INFINITY, 0, 1}, contrast;
  for (size_t j = 0; j < c->keys; j++)
    if (j != k && contrast_of(c, (Setting){j, there}, (Setting){k, there}, &contrast) > 0 &&
        contrast.estimate > most.estimate) most = contrast;
  return analysis_contrast_interval(most, c->cells->count);
}

/* The best key at either end of the second key loses less than the margin at the other end. */
AnalysisTested analysis_test_same_best(const AnalysisCells *cells, double margin) {
  AnalysisTested tested = ANALYSIS_NOT_TESTED;
  Choices c = choices_create(cells);
  const size_t ends[2] = {0, c.seconds > 0 ? c.seconds - 1 : 0};
  double p_for = 0, p_against = 1;
  for (int side = 0; side < 2 && c.keys > 2 && c.seconds > 1; side++) {
    const size_t here = ends[side], there = ends[1 - side];
    size_t chosen = SIZE_MAX;
    double most = -INFINITY, against = 0;
    for (size_t k = 0; k < c.keys; k++) {
      const AtEnd at = look_at(&c, k, here, there, margin);
      if (at.strata == 0 || at.rivals == 0) continue;
      p_for = fmax(p_for, either(at.not_best, at.loses_little, true));
      against = fmax(against, either(at.not_best, at.loses_much, true));
      if (at.mean > most) most = at.mean, chosen = k;
      if (at.strata > tested.strata) tested.strata = at.strata;
    }
    if (chosen == SIZE_MAX) continue;
    const AnalysisInterval loss = loss_of(&c, chosen, there);
    if (isnan(tested.interval.center) || loss.center > tested.interval.center) tested.interval = loss;
    p_against = fmin(p_against, fmin(1, 2 * against));
  }
  if (tested.strata > 0) {
    tested.p_for = p_for;
    tested.p_against = p_against;
  }
  choices_free(&c);
  return tested;
}

/* The contrast of a setting elsewhere - the best at the end of the second key, averaged over the strata that have both.
 * */
static size_t contrast_with_best(const Choices *c, Setting other, double second, AnalysisContrast *contrast,
                                 double *choices) {
  const AnalysisCells *cells = c->cells;
  size_t used = 0;
  *choices = 1;
  memset(c->weight, 0, (cells->cells + 1) * sizeof *c->weight);
  for (size_t s = 0; s < cells->strata; s++) {
    const size_t e = analysis_cell_find(cells, s, c->key[other.key], c->second[other.second]);
    size_t begin = cells->stratum[s], end = cells->stratum[s + 1]; /* sorted by second key */
    while (begin < end && cells->second[begin] != second) begin++;
    while (end > begin && cells->second[end - 1] != second) end--;
    if (e == SIZE_MAX || begin == end) continue;
    c->weight[e]++;
    c->weight[best_of(cells, begin, end, SIZE_MAX)]--;
    *choices *= (double)(end - begin);
    used++;
  }
  for (size_t i = 0; i < cells->cells; i++) c->weight[i] /= (double)(used > 0 ? used : 1);
  if (used > 0) *contrast = analysis_contrast(cells, c->weight);
  return used;
}

/* The best setting at one end of the second key is worse than the best one elsewhere. Which one that is elsewhere, the
 * same in all strata, costs their number; for the opposite, which one there in each stratum. */
AnalysisTested analysis_test_best_at(const AnalysisCells *cells, bool high) {
  AnalysisTested tested = ANALYSIS_NOT_TESTED;
  Choices c = choices_create(cells);
  const size_t end = high && c.seconds > 0 ? c.seconds - 1 : 0;
  double greatest = -INFINITY, p_for = 1, p_against = 0, choices;
  size_t elsewhere = 0;
  for (size_t e = 0; e < c.keys * c.seconds && c.seconds > 1; e++) {
    const Setting other = {e / c.seconds, e % c.seconds};
    AnalysisContrast contrast;
    const size_t used = other.second == end ? 0 : contrast_with_best(&c, other, c.second[end], &contrast, &choices);
    if (used == 0) continue;
    elsewhere++;
    p_for = fmin(p_for, analysis_contrast_above(contrast, 0));
    p_against = fmax(p_against, fmin(1, choices * analysis_contrast_below(contrast, 0)));
    if (contrast.estimate > greatest) {
      greatest = contrast.estimate;
      tested.interval = analysis_contrast_interval(contrast, cells->count);
    }
    if (used > tested.strata) tested.strata = used;
  }
  if (tested.strata > 0) {
    tested.p_for = fmin(1, p_for * (double)elsewhere);
    tested.p_against = p_against;
  }
  choices_free(&c);
  return tested;
}
