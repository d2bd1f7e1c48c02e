/* Runs by what people said of them, --where tag=NAME and --where pinned=yes, and by what they were trained on,
 * --where code=HASH. */
#ifndef ANALYSIS_ANNOTATED_H
#define ANALYSIS_ANNOTATED_H
#include "analysis/runs/select.h"

/* Is "key=value" one of these? No setting has these names. */
bool analysis_is_annotation(const char *pair);

/* Keeps the runs that meet the pairs among where[count] of which analysis_is_annotation says so; the others are passed
 * over. A run has its own tags and those of its sweeps; it is pinned where some sweep has pinned it; its
 * code is named by the first digits of its hash. The same key twice
 * means either. Appends "; tag=paper" to `filter`. CORE_USAGE: a value that can be none. CORE_FAIL: no run is left; the
 * message has the tags that there are. */
int analysis_keep_annotated(StoreDatabase *database, const char *const *where, size_t count,
                            AnalysisSelection *selection, CoreText *filter);

#endif
