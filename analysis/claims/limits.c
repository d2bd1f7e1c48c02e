/* The rows of limits.def, looked up. */
#include "analysis/claims/limits.h"

#include <string.h>

#define CLAIM_LIMIT(id, words)
static const char *const of_tests[ANALYSIS_TESTS] = {
#define TEST_LIMIT(test, words) [ANALYSIS_TEST_##test] = words,
#include "analysis/claims/limits.def"
#undef TEST_LIMIT
};
#undef CLAIM_LIMIT

#define TEST_LIMIT(test, words)
static const struct { const char *id, *words; } of_claims[] = {
#define CLAIM_LIMIT(id, words) {#id, words},
#include "analysis/claims/limits.def"
#undef CLAIM_LIMIT
};
#undef TEST_LIMIT

const char *analysis_test_limit(AnalysisTest test) { return of_tests[test]; }

const char *analysis_claim_limit(const AnalysisClaim *claim) {
  for (size_t i = 0; i < sizeof of_claims / sizeof *of_claims; i++)
    if (strcmp(of_claims[i].id, claim->id) == 0) return of_claims[i].words;
  return NULL;
}
