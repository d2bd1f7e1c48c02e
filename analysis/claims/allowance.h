/* Allowances for failures and skew that few runs do not show. The t tests of contrast.h make them on both sides.
 *
 * - Failures. If a fifth of a setting's runs fails, ten runs show no failure in 11 % of cases. They then exceed the
 *   setting's mean by a fifth of the loss of a failed run, and their spread does not show it. Therefore the failure
 *   rate of a setting, over all tasks, counts as at least a fifth, unless its number of failures would then have a
 *   probability of at most 3.5 %: none in 16 runs, one in 24. If some run of the claim failed, that probability is
 *   divided by the number of settings (Bonferroni), since the setting without failures is chosen among them. Switches
 *   compare two groups that may both hide failures, so theirs is half of it: none in 19 runs. In a mean over
 *   configurations each is a setting, on each task.
 * - Skew. Near a bound of the measure (within a fifth of its range), seeds have a long tail away from it, so that the
 *   mean of few runs is usually too near to the bound. The allowance follows Johnson (1978, J. American Statistical
 *   Association 73:536), with the skewness of a gamma distribution that begins at the bound.
 *
 * A run fails if it diverged or failed, or ends with less than half of what its setting's best run has above an
 * untrained policy; of solve rates that is the lowest possible score. Measures that are no scores have no failures,
 * except shares whose mean is claimed. */
#ifndef ANALYSIS_ALLOWANCE_H
#define ANALYSIS_ALLOWANCE_H
#include "analysis/claims/claims.h"
#include "analysis/claims/contrast.h"

/* Runs of a setting without a failure that need no allowance for one, and those of a switch. */
enum { ANALYSIS_UNSEEN_RUNS = 16, ANALYSIS_UNSEEN_SWITCHED = 19 };

/* Allowance of a cell, on the scale of its scores. */
typedef struct AnalysisAllowance {
  double failures;         /* by how much failures that its runs do not show may lower its mean */
  double near_high, near_low; /* by how much skew near the bounds may lower, or raise, its mean */
  double loss;             /* mean loss of a failed run of it */
  size_t runs, failed;     /* runs of its setting over all tasks, and those that failed */
  size_t setting;          /* equal for the cells of one setting */
} AnalysisAllowance;

/* Sets cells->allowance. Call it after analysis_cells_scale, with the cells that the test compares. */
void analysis_cells_allow(const AnalysisTable *table, AnalysisCells *cells, const AnalysisClaimResult *f);
/* Returns the allowances for a comparison of the cells with is_end[cells] with all others, free() them: if none of
 * the others' runs failed, these are one side, whose runs together show whether a fifth fails. NULL: as
 * cells->allowance. */
AnalysisAllowance *analysis_allow_sides(const AnalysisCells *cells, const bool *is_end);
/* Returns by how much the failure rate of a setting may exceed failed / runs: up to a fifth, unless P(at most that many
 * failures | a fifth fails) is at most `level`. */
double analysis_unseen_rate(double runs, double failed, double level);
/* Sets over and under of a contrast. Failures count of the settings that matter most: of one, and of more as long as
 * their runs together are too few to show them. */
void analysis_contrast_allow(const AnalysisCells *cells, const double *weight, AnalysisContrast *contrast);
/* Returns the runs of a setting of the claim that need no allowance. */
size_t analysis_unseen_runs(const AnalysisClaim *claim);
/* Whether settings differ in their rates of failures; writes the lowest and the highest rate, "failures differ: 0 of 10
 * runs with ppo.com = 32, 2 of 10 with 128", or else that failures may be unseen. */
bool analysis_failures_differ(const AnalysisCells *cells, const AnalysisClaim *claim, char *text, size_t capacity);

#endif
