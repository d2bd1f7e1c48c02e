/* Questions that the tests of the claims leave open (limits.def), in words for docs/papers.md. */
#ifndef ANALYSIS_LIMITS_H
#define ANALYSIS_LIMITS_H
#include "analysis/claims/claims.h"

/* Returns words that follow "It cannot tell", for every claim with this test; NULL: those of the test before it. */
const char *analysis_test_limit(AnalysisTest test);
/* Returns words for one claim that go beyond its test's; NULL: there are none. */
const char *analysis_claim_limit(const AnalysisClaim *claim);

#endif
