/* Tests of a relation between a measured x (the DDR) and the measure over the configurations of a grid.
 *
 * The configurations are no sample: they differ by a few levers, each of which moves x and the measure, and two that
 * depend on the same lever are related whatever x does. So a lever counts as one observation: the slope of the
 * measure over x within blocks of configurations that differ in this lever only. Student's t over the levers tests the
 * mean slope (Ibragimov and Mueller 2010, J. Business & Economic Statistics 28:453, valid for slopes of unequal
 * precision). If levers matter in directions that are unrelated to x, the nominal rate is significant; correlations
 * within blocks, which end at 1, exceed it.
 *
 * A lever is a smallest set of settings in which two configurations of a stratum differ: ppo.epsilon, or env.num and
 * ppo.num_steps if these change together. Each cell is a point, with its means of x and of the measure, which is
 * ranked within the stratum except in MIDDLE. Strata with the same lever are averaged. */
#ifndef ANALYSIS_LEVERS_H
#define ANALYSIS_LEVERS_H
#include "analysis/claims/contrast.h"

enum { ANALYSIS_LEVERS_MIN = 3 }; /* with two, Student's t has one degree of freedom */

/* Tests UP (DOWN: exchange p_for and p_against): the mean slope of the measure. */
AnalysisTestResult analysis_test_relation(const AnalysisTable *table, const AnalysisCells *cells);
/* Tests GROWS: the mean slope of the final measure minus that with early[runs], the measure early in training. */
AnalysisTestResult analysis_test_relation_grows(const AnalysisTable *table, const AnalysisCells *cells,
                                             const double *early);
/* Tests MIDDLE: the middle third of the stratum by x against each outer third, within the blocks of a lever; both
 * differences must be significant. */
AnalysisTestResult analysis_test_middle(const AnalysisTable *table, const AnalysisCells *cells);

#endif
