/* Conditions on annotations, --where tag=NAME and --where pinned=yes, and on code, --where code=HASH. */
#ifndef ANALYSIS_ANNOTATED_H
#define ANALYSIS_ANNOTATED_H
#include "analysis/runs/select.h"

/* Whether "key=value" is such a condition. No setting has these names. */
bool analysis_is_annotation(const char *pair);

/* Keeps the runs that meet these conditions among where[count]; ignores others. A run has its own tags and those of
 * its sweeps, it is pinned if a sweep has pinned it, and its code is given by the first digits of the hash.
 * Conditions on the same key are alternatives. Appends "; tag=paper" to `filter`. CORE_USAGE: an invalid value.
 * CORE_FAIL: no run is left; the message lists the existing tags. */
int analysis_filter_annotated(StoreDatabase *database, const char *const *where, size_t count,
                            AnalysisSelection *selection, CoreText *filter);

#endif
