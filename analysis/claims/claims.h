/* Claims of the papers (claims.def), tested on the runs of a database. */
#ifndef ANALYSIS_CLAIMS_H
#define ANALYSIS_CLAIMS_H
#include "analysis/claims/cells.h"
#include "analysis/runs/measures.h"
#include "analysis/statistics/statistics.h"

/* A "cell" is a configuration, whose runs are seeds. A "stratum" is a set of cells that are equal except in the key
 * (and the free settings): tasks, levels and sizes are separate strata, whose results are averaged with equal weights
 * and must agree (tests.h).
 * The [brackets] give the null hypothesis and the kind of test: permutations are in contrast.h, t tests in contrast.h.
 * The margin is 0.05 for shares such as the solve rate, else a fifth. analysis_cells_scale has the scale of
 * each measure. */
typedef enum AnalysisTest {
  ANALYSIS_TEST_RISES,       /* a larger key has a larger measure [no key differs; permutation] */
  ANALYSIS_TEST_FALLS,       /* a larger key has a smaller measure [no key differs; permutation] */
  ANALYSIS_TEST_EQUAL,       /* all keys are equal [two differ by the margin or more; two one-sided t tests] */
  ANALYSIS_TEST_NOT_WORSE,   /* the highest key loses less than the margin to the lowest [it loses at least that; t] */
  ANALYSIS_TEST_LOW_END,     /* the best other key beats the lowest one [none does; t] */
  ANALYSIS_TEST_HIGH_END,    /* ... the highest one */
  ANALYSIS_TEST_LOW_PLATEAU, /* LOW_END, and in a quarter of the budget, by the slope of its last two thirds, the lowest
                                key gains less than a twentieth of all that it gained [it gains more; t] */
  ANALYSIS_TEST_HIGH_PLATEAU, /* ... the highest one */
  ANALYSIS_TEST_ROBUST,      /* the lowest key loses more at the smallest second key than at the largest [not; t] */
  ANALYSIS_TEST_ROBUST_HIGH, /* the highest key loses more ... */
  ANALYSIS_TEST_SAME_BEST,   /* the best key at one end of the second is as good at the other [loses the margin; t] */
  ANALYSIS_TEST_GAIN_GROWS,  /* highest key - lowest key is larger at the largest second key [not; t] */
  ANALYSIS_TEST_GAIN_SHRINKS, /* ... is smaller there */
  ANALYSIS_TEST_GAIN_EQUAL,  /* ... is equal at all second keys [two differ by the margin or more; t] */
  ANALYSIS_TEST_BEST_AT_LOW, /* the best at the lowest second key is worse than the best elsewhere [not; t] */
  ANALYSIS_TEST_BEST_AT_HIGH, /* ... at the highest */
  ANALYSIS_TEST_BEST_EQUAL,  /* the best over the second key is equal at all keys [two differ by the margin; t] */
  ANALYSIS_TEST_MIDDLE,      /* the middle third by x beats both others, along each lever alone [no relation of x and
                                the measure, whatever levers do; t over levers, contrast.h] */
  ANALYSIS_TEST_UP,          /* the measure rises with x along the levers [no relation; t over levers] */
  ANALYSIS_TEST_DOWN,        /* it falls */
  ANALYSIS_TEST_GROWS,       /* it rises more at the end than at a tenth of the budget [equal; t over levers] */
  ANALYSIS_TEST_ONE_CURVE,   /* the measure is one function of x, whichever setting changes x (contrast.h) [the
                                configurations of some setting are the margin off the others' curve; t] */
  ANALYSIS_TEST_AT_LEAST_95, /* the mean of values in [0, 1] is above 0.95 [not; t, without a spread Markov's
                                inequality] */
  ANALYSIS_TEST_POSITIVE,    /* the mean is above 0 [not; t] */
  ANALYSIS_TEST_NEGATIVE,    /* the mean is below 0 [not; t] */
  ANALYSIS_TEST_SWITCH_UP,   /* runs that start from a parent's checkpoint with a raised key end higher than the parent,
                                and are above it a tenth of the budget after the switch [not; t] */
  ANALYSIS_TEST_SWITCH_DOWN, /* with a lowered key they end lower than the parent and than at the switch, and equal to
                                runs with that key from the start [not, or the margin apart; t] */
  ANALYSIS_TEST_SWITCH_SAME, /* with a raised key they end equal to runs with that key from the start [the margin
                                apart; t] */
  ANALYSIS_TESTS
} AnalysisTest;

typedef struct AnalysisClaim {
  const char *id, *paper, *figure, *sentence, *data, *where, *free_settings;
  AnalysisTest test;
  const char *test_name, *key, *second;
  AnalysisMeasure measure;
  bool can;                    /* it says that something can happen, which no range without it contradicts */
} AnalysisClaim;

/* Returns the claims of claims.def. */
const AnalysisClaim *analysis_claims_list(size_t *count);
/* Returns the description of a test's statistic ("P(a larger setting has a larger value)"); *direction: "> 0.5". */
const char *analysis_test_statistic(AnalysisTest test, const char **direction);

/* Comparison of values: by differences; by ratios, whose statistics are logarithms; by shares of each
 * stratum's mean absolute value. */
typedef enum AnalysisComparison { ANALYSIS_BY_DIFFERENCE, ANALYSIS_BY_RATIO, ANALYSIS_BY_SHARE } AnalysisComparison;

typedef enum AnalysisVerdict { ANALYSIS_UNDECIDED, ANALYSIS_SUPPORTED, ANALYSIS_CONTRADICTED } AnalysisVerdict;

/* Result of one of several strata, such as tasks. label: the settings in which it differs from the others. */
typedef struct AnalysisTaskResult {
  char label[96];
  AnalysisInterval interval;
  double p_for, p_against;
} AnalysisTaskResult;

typedef struct AnalysisClaimResult {
  const AnalysisClaim *claim;
  AnalysisVerdict verdict;     /* supported: p_for <= level; contradicted: p_against <= level */
  int looks;                   /* number of tests with growing numbers of seeds, for which `level` is corrected */
  double level;                /* one-sided level: 0.025, or Pocock's (1977) with several looks */
  double p_for, p_against;     /* probability of such data if the claim, or its opposite, were false; NaN: not tested */
  double p_together_for, p_together_against; /* probabilities of all tasks together, though one may decide alone */
  AnalysisInterval interval;   /* 95 % interval of the statistic; NaN bounds for permutation tests */
  AnalysisInterval condition;  /* that of the second condition of plateaus and switches (tests.h), else NaN */
  AnalysisTaskResult *tasks;   /* [task_count] strata tested alone; NULL: fewer than two */
  size_t task_count;
  bool is_not_seen;            /* a claim of what can happen, which significantly did not in the tested range */
  bool unseen;                 /* failures or skew that the runs may hide prevent a verdict (allowance.h) */
  bool failures_differ;        /* likewise, and settings differ in their rates of failures */
  bool disagree;               /* tasks significantly show different sides, which prevents a verdict */
  AnalysisComparison comparison; /* scale of the interval, unless it is of ranks */
  double margin;               /* margin of the statistic for EQUAL and similar tests, else NaN */
  const char *statistic;       /* "P(a larger setting has a larger value)" */
  const char *direction;       /* "> 0.5" */
  char reason[160];            /* reason for being undecided, else "" */
  char range[160];             /* tested range of the settings: "ppo.com 2 to 512, env.num 64 to 256"; "": none */
  char note[160];              /* fact that the statistic does not show, such as a violated order; or "" */
  size_t cells, strata, runs;  /* numbers compared */
  size_t seeds;                /* number of runs of the smallest cell */
  size_t unfinished, missing;  /* runs of the claim that are unfinished, or lack the measure */
  size_t censored;             /* unfinished runs stopped by their sweep's rule, which prevent a verdict */
  size_t codes;                /* configurations with runs by different code, which prevent a verdict */
  size_t diverged, failed;     /* runs of `runs` with the score of an untrained policy */
  size_t mixed;                /* cells dropped because other settings change with the key in them */
  size_t more_seeds;           /* seeds per cell for a verdict with probability 0.5 if the effect is as observed; 0:
                                  unknown */
} AnalysisClaimResult;

const char *analysis_verdict_name(AnalysisVerdict verdict);

enum { ANALYSIS_LOOKS_MAX = 5 };

/* Options of a test of claims. Zero-initialize. */
typedef struct AnalysisClaimsOptions {
  const char *const *ids;      /* [id_count] claims to test; none: all */
  size_t id_count;
  bool all_runs;               /* use runs of every sweep, not only those of the claim's data */
  double budget;               /* number of transitions to use; 0: all */
  int64_t looks;               /* number of tests while seeds are added, 1 to ANALYSIS_LOOKS_MAX; 0: 2 if a sweep of the
                                  claim was extended (`sweep submit --seeds`), else 1 */
  const char *root;            /* workspace, which records extensions; NULL: unknown */
  bool correct;                /* apply analysis_claims_correct */
  size_t *others;              /* receives the number of unselected claims with runs; NULL: not needed */
} AnalysisClaimsOptions;

/* Checks the options' ids. CORE_USAGE: an unknown one; the message names the nearest. */
int analysis_claims_check_ids(const AnalysisClaimsOptions *options);
/* Whether the options name the claim, or none. */
bool analysis_claim_is_selected(const AnalysisClaimsOptions *options, const AnalysisClaim *claim);

/* Whether the selection has runs of the claim, finished or not. */
bool analysis_claim_has_runs(const AnalysisClaimResult *result);

/* Applies Holm's (1979) step-down correction to probabilities and verdicts: the k-th smallest of m probabilities times
 * m - k + 1, at least the previous one. Returns m, the number of claims that could be tested. */
size_t analysis_claims_correct(AnalysisClaimResult *results, size_t count);

/* Whether all runs of this sweep (NULL: none was selected) count for every claim: true if no claim uses its data. */
bool analysis_claims_use_all_runs(const char *sweep);

/* Frees the results of analysis_claims_evaluate. */
void analysis_claims_free(AnalysisClaimResult **results, size_t count);

/* Tests the claims and returns results[*count], in the order of claims.def; free with analysis_claims_free. The
 * selection must include all runs that may count, with copies. Results do not depend on the number of threads.
 * CORE_USAGE: an unknown id; the message names the nearest. */
int analysis_claims_evaluate(StoreDatabase *database, const AnalysisSelection *selection,
                             const AnalysisClaimsOptions *options, AnalysisClaimResult **results, size_t *count);

/* Arranges the runs that a claim compares; call analysis_cells_free. database: as below. CORE_USAGE: a setting is
 * unknown. */
int analysis_claim_arrange(StoreDatabase *database, const AnalysisClaim *claim, const AnalysisTable *table,
                           AnalysisCells *cells);

/* Tests one claim, of claims.def or of the caller's own, on the runs of a table; free f->tasks. database: as below. */
int analysis_claim_test(StoreDatabase *database, const AnalysisClaimsOptions *options, const AnalysisClaim *claim,
                        const AnalysisTable *table, AnalysisClaimResult *f);

/* Does the same with existing metrics[selection->count]. membership NULL: as options->all_runs. database: used for
 * score_at_time and coverage, which depend on the compared runs; NULL: `metrics` has them. */
int analysis_claims_test(StoreDatabase *database, const AnalysisSelection *selection,
                         const AnalysisRunMetrics *metrics, const AnalysisMembership *membership,
                         const AnalysisClaimsOptions *options, AnalysisClaimResult **results, size_t *count);

/* ---- scale.c ----------------------------------------------------------------------------------------------------- */

/* Scale on which the values of a claim are compared, the same for all kinds of tests. */

/* Chooses the comparison of a claim's values, sets f->comparison and f->margin, and transforms cells->score:
 * - differences: bounded measures (solve rates, shares), and slopes of logarithms. The values stay as they are;
 * - ratios: positive measures without an upper bound (KL, DDR, norms, speed), and returns if all are positive. The
 *   values become logarithms;
 * - shares: other returns and changes of returns, and all returns of tests that compare changes of one run. Each
 *   stratum is divided by its mean absolute value, so that no task outweighs the others.
 * Plateaus have a margin of their own, of cells->x: a twentieth. Late gains (x) are divided by the mean gain of their
 * cell since the start, such that the mean of x over the cell is the ratio of both means and its spread is that of the
 * linearized ratio. A straight line has 0.25, a square root of time 0.15, its logarithm 0.1, a saturated run 0.
 * A DDR or KL on the x axis (f->claim->key) becomes its logarithm. */
void analysis_cells_scale(const AnalysisTable *table, AnalysisCells *cells, AnalysisClaimResult *f);
/* Returns "ratio " and the like, which precede a value; "" for differences. */
const char *analysis_comparison_prefix(AnalysisComparison comparison);
/* Returns "difference", "ratio" or "share". */
const char *analysis_comparison_name(AnalysisComparison comparison);
/* Returns a value in the terms of the comparison: the ratio of its logarithm, else itself. */
double analysis_comparison_shown(AnalysisComparison comparison, double value);

#endif
