/* The claims of the papers (claims.def) and what the runs of a database say to each. */
#ifndef ANALYSIS_CLAIMS_H
#define ANALYSIS_CLAIMS_H
#include "analysis/claims/cells.h"
#include "analysis/runs/measures.h"
#include "analysis/statistics/statistics.h"

/* A "cell" is a configuration: its runs are seeds. A "stratum" is a set of cells in which everything is equal except
 * the key (and what stands beside it): tasks, levels and sizes are strata of their own, compared within, and averaged
 * with equal weights. In [brackets]: what is true if the claim is not, and how that is tested. permute.h has the
 * permutations, contrast.h the t statistics. "margin": 0.05 for shares such as the solve rate, else a fifth. */
typedef enum AnalysisTest {
  ANALYSIS_TEST_RISES,       /* a larger key has a larger measure [no key differs; permutation] */
  ANALYSIS_TEST_FALLS,       /* a larger key has a smaller measure [the same] */
  ANALYSIS_TEST_EQUAL,       /* all keys alike [two differ by the margin or more; two t tests of one side] */
  ANALYSIS_TEST_NOT_WORSE,   /* the highest key loses less than the margin to the lowest [it loses it or more; t] */
  ANALYSIS_TEST_LOW_END,     /* the best other key beats the lowest one [none does; t] */
  ANALYSIS_TEST_HIGH_END,    /* ... the highest one */
  ANALYSIS_TEST_LOW_PLATEAU, /* LOW_END, and the lowest key gains less than the margin in a quarter of the budget, by
                                the slope of its last two thirds [it gains it; t] */
  ANALYSIS_TEST_HIGH_PLATEAU, /* ... the highest one */
  ANALYSIS_TEST_ROBUST,      /* the lowest key loses more at the smallest second key than at the largest [not; t] */
  ANALYSIS_TEST_ROBUST_HIGH, /* the highest key loses more ... */
  ANALYSIS_TEST_SAME_BEST,   /* the best key at one end of the second loses nothing at the other [the margin; t] */
  ANALYSIS_TEST_GAIN_GROWS,  /* highest key - lowest key is greater at the largest second key [not; t] */
  ANALYSIS_TEST_GAIN_SHRINKS, /* ... is smaller there */
  ANALYSIS_TEST_GAIN_EQUAL,  /* ... is alike at all second keys [two differ by the margin or more; t] */
  ANALYSIS_TEST_BEST_AT_LOW, /* the best at the lowest second key is worse than the best elsewhere [not; t] */
  ANALYSIS_TEST_BEST_AT_HIGH, /* ... at the highest */
  ANALYSIS_TEST_BEST_EQUAL,  /* the best over the second key is alike at all keys [two differ by the margin; t] */
  ANALYSIS_TEST_MIDDLE,      /* the middle third of configurations by x beats both others [no relation; permutation] */
  ANALYSIS_TEST_UP,          /* Spearman's rho of x and the measure is above 0 [no relation; permutation] */
  ANALYSIS_TEST_DOWN,        /* ... below 0 */
  ANALYSIS_TEST_GROWS,       /* rho is greater at the end than at a tenth of the budget [the same; permutation] */
  ANALYSIS_TEST_ONE_CURVE,   /* the measure follows one curve of x, whichever setting moves x (curve.h) [some setting's
                                configurations lie the margin off the others' curve; t] */
  ANALYSIS_TEST_AT_LEAST_95, /* the mean is above 0.95 [not; t] */
  ANALYSIS_TEST_POSITIVE,    /* the mean is above 0 [not; t] */
  ANALYSIS_TEST_NEGATIVE,    /* the mean is below 0 [not; t] */
  ANALYSIS_TEST_SWITCH_UP,   /* runs begun from another's checkpoint with a raised key end higher than it, and gain in
                                the first tenth of the budget after the switch [not; t] */
  ANALYSIS_TEST_SWITCH_DOWN, /* with a lowered key: lower, and as runs that had it from the start [not, or the margin
                                apart; t] */
  ANALYSIS_TEST_SWITCH_SAME, /* with a raised key: as runs that had it from the start [the margin apart; t] */
  ANALYSIS_TESTS
} AnalysisTest;

typedef struct AnalysisClaim {
  const char *id, *paper, *figure, *sentence, *data, *where, *beside;
  AnalysisTest test;
  const char *test_name, *key, *second;
  AnalysisMeasure measure;
} AnalysisClaim;

/* The rows of claims.def; *count of them. */
const AnalysisClaim *analysis_claims_list(size_t *count);
/* Returns a test's statistic in words ("P(a larger setting has a larger value)"); *direction: "> 0.5". */
const char *analysis_test_statistic(AnalysisTest test, const char **direction);

typedef enum AnalysisVerdict { ANALYSIS_UNDECIDED, ANALYSIS_SUPPORTED, ANALYSIS_CONTRADICTED } AnalysisVerdict;

typedef struct AnalysisFindingOfClaim {
  const AnalysisClaim *claim;
  AnalysisVerdict verdict;     /* supported: p_for <= level; contradicted: p_against <= level */
  int looks;                   /* at data of growing numbers of seeds, that `level` pays for */
  double level;                /* 0.025 of each side, 5 % together; with several looks Pocock's (1977) */
  double p_for, p_against;     /* of data like these if the claim, and if its opposite, were false; NaN: not tested */
  AnalysisInterval interval;   /* of the statistic, 95 %; NaN ends where the test is a permutation */
  bool ratio;                  /* the statistic is a ratio of measures, not a difference */
  double margin;               /* of EQUAL and the like, of the statistic; else NaN */
  const char *statistic;       /* "P(a larger setting has a larger value)" */
  const char *direction;       /* "> 0.5" */
  char reason[160];            /* why it is undecided, "" otherwise */
  char note[160];              /* what the statistic does not show, as a setting that breaks the order; or "" */
  size_t cells, strata, runs;  /* that were counted */
  size_t seeds;                /* of the cell with the fewest */
  size_t unfinished, missing;  /* runs of the claim that have not ended, or have no such measure */
  size_t censored;             /* of the unfinished, stopped by their sweep's rule: they allow no verdict */
  size_t codes;                /* configurations with runs by different code: they allow no verdict */
  size_t diverged, failed;     /* of `runs`: counted with the scores of an untrained policy */
  size_t mixed;                /* cells left out: further settings move together with the key in them */
  size_t more_seeds;           /* a cell, for a verdict with probability 0.5 when the effect is as seen; 0: not known */
} AnalysisFindingOfClaim;

const char *analysis_verdict_name(AnalysisVerdict verdict);

enum { ANALYSIS_LOOKS_MAX = 5 };

/* What a command line asks beyond the runs. Zero-initialise. */
typedef struct AnalysisClaimsAsked {
  const char *const *ids;      /* [id_count] only these claims; none: all */
  size_t id_count;
  bool all_runs;               /* every run counts, whatever sweep it is of, not only those of the claim's data */
  double budget;               /* transitions that are looked at; 0: all */
  int64_t looks;               /* times that the claims are tested while seeds are added, 1 to ANALYSIS_LOOKS_MAX; 0: 2
                                  where a sweep of the claim has seeds of `sweep extend`, else 1 */
  const char *root;            /* of the workspace, which says that; NULL: unknown */
  bool correct;                /* Holm's (1979) correction over the claims that could be tested */
} AnalysisClaimsAsked;

/* Do all runs of this sweep (NULL: none was asked for) count for every claim? They do where it is no claim's data. */
bool analysis_claims_take_all(const char *sweep);

/* finding[*count], in the order of claims.def; free() it. The selection must be all runs that may count, with copies.
 * The same database gives the same findings, whatever the number of threads. CORE_USAGE: an unknown id, with the
 * nearest. */
int analysis_claims_evaluate(StoreDatabase *database, const AnalysisSelection *selection,
                             const AnalysisClaimsAsked *asked, AnalysisFindingOfClaim **finding, size_t *count);

/* The same from measures that are there already: measured[selection->count]. membership NULL: as asked->all_runs.
 * database: read for score_at_time only, which depends on the runs that are compared; NULL: it is in `measured`. */
int analysis_claims_judge(StoreDatabase *database, const AnalysisSelection *selection, const AnalysisMeasured *measured,
                          const AnalysisMembership *membership, const AnalysisClaimsAsked *asked,
                          AnalysisFindingOfClaim **finding, size_t *count);

#endif
