/* Limits of the tests of claims (limits.def), for docs/papers.md. */
#ifndef ANALYSIS_LIMITS_H
#define ANALYSIS_LIMITS_H
#include "analysis/claims/claims.h"

/* Returns the limit of a test, which completes "It cannot tell"; NULL: same as the previous test. */
const char *analysis_test_limit(AnalysisTest test);
/* Returns a limit of one claim in addition to its test's; NULL: none. */
const char *analysis_claim_limit(const AnalysisClaim *claim);

#endif
