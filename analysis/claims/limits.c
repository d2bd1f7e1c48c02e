/* Looks up the rows of limits.def (limits.h). */
#include "analysis/claims/limits.h"

#include <string.h>

#define CLAIM_LIMIT(id, words)
static const char *const test_limits[ANALYSIS_TESTS] = {
#define TEST_LIMIT(test, words) [ANALYSIS_TEST_##test] = words,
#include "analysis/claims/limits.def"
#undef TEST_LIMIT
};
#undef CLAIM_LIMIT

#define TEST_LIMIT(test, words)
static const struct { const char *id, *words; } claim_limits[] = {
#define CLAIM_LIMIT(id, words) {#id, words},
#include "analysis/claims/limits.def"
#undef CLAIM_LIMIT
};
#undef TEST_LIMIT

const char *analysis_test_limit(AnalysisTest test) { return test_limits[test]; }

const char *analysis_claim_limit(const AnalysisClaim *claim) {
  for (size_t i = 0; i < sizeof claim_limits / sizeof *claim_limits; i++)
    if (strcmp(claim_limits[i].id, claim->id) == 0) return claim_limits[i].words;
  return NULL;
}
