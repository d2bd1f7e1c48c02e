/* Power of the tests of claims: simulated runs of given configurations, with a claim that is true by a given effect,
 * tested as `analyze claims` does. Used by `sweep plan --power` and by the simulations of the tests. */
#ifndef ANALYSIS_POWER_H
#define ANALYSIS_POWER_H
#include "analysis/claims/claims.h"

/* Planned runs, without results. */
typedef struct AnalysisPlanned {
  AnalysisRun *runs;       /* [count] finished */
  size_t count, capacity;
} AnalysisPlanned;

/* Adds a run of this configuration unless it is already there. Its parent is that of init.from. */
void analysis_planned_add(AnalysisPlanned *planned, const CoreConfig *config, const char *id);
/* Names the parents of all seeds of a configuration alike, as a database does. Call it after the last run. */
void analysis_planned_name_parents(AnalysisPlanned *planned);
void analysis_planned_free(AnalysisPlanned *planned);

/* Values of a claim's measure over seeds, on the scale of comparison (claims.h): mean of bounded measures, and standard
 * deviation (of logarithms if by ratio). runs: number of runs that they are from; 0: assumed. */
typedef struct AnalysisSpread { double center, sd; size_t runs; } AnalysisSpread;

/* Returns what is assumed without runs: 0.6 and 0.04 for bounded measures, a standard deviation of 10 % for others. */
AnalysisSpread analysis_spread_assumed(const AnalysisClaim *claim);
/* Computes the pooled spread of the claim's runs within configurations; the assumed one with fewer than 3 degrees. */
int analysis_spread_measure(const AnalysisTable *table, const AnalysisClaim *claim, AnalysisSpread *spread);
/* Returns the effect that is assumed, 0.1 of the range or a factor of 1.56; 0 for claims of equality, which are true
 * without one. *is_ratio: whether it is a logarithm. */
double analysis_power_effect(const AnalysisClaim *claim, bool *is_ratio);
/* Whether a test is one of equality within a margin. */
bool analysis_power_is_of_margin(AnalysisTest test);
/* Whether a test is one over levers, whose error is the spread of their effects, so that more seeds hardly help. */
bool analysis_power_is_over_levers(AnalysisTest test);
/* Sets the metrics of simulated world `world`: no effect, and second conditions of plateaus and switches that hold. In
 * tests over levers each of them moves x. */
void analysis_power_fill(const AnalysisPlanned *planned, const AnalysisClaim *claim, AnalysisSpread spread,
                         uint32_t world, AnalysisRunMetrics *measured);
/* Adds the claim's effect; for tests of a margin it makes the claim false by as much. In tests over levers (MIDDLE, UP,
 * DOWN, GROWS) each lever has an effect of its own in each world, with a standard deviation equal to their mean. The
 * second condition of a plateau (no late gain) and of a switch (as large a lead, or fall) varies over seeds. */
void analysis_power_add_effect(const AnalysisPlanned *planned, const AnalysisClaim *claim, AnalysisSpread spread,
                               double effect, uint32_t world, AnalysisRunMetrics *measured);

/* Rates of support in simulated worlds, alone and at the middle level of Holm's correction of `claims`. */
typedef struct AnalysisPower { double alone, together; bool tested; } AnalysisPower;
/* Simulates the claim on the planned runs. tested false: these runs cannot test it. */
int analysis_power_simulate(const AnalysisPlanned *planned, const AnalysisClaim *claim, AnalysisSpread spread,
                            double effect, size_t claims, uint32_t worlds, AnalysisPower *power);
#endif
