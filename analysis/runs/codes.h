/* External code that runs were trained on: runs of one configuration by different code are not seeds of each other.
 * Runs without a recorded code (of older versions) count as equal. */
#ifndef ANALYSIS_CODES_H
#define ANALYSIS_CODES_H
#include "analysis/runs/select.h"

/* Adds a run's code to the selection and returns its number there, from 1; 0 if hash is NULL or "". */
size_t analysis_codes_add(AnalysisSelection *selection, const char *hash, const char *files);
void analysis_codes_free(AnalysisSelection *selection);

/* Whether both runs were trained on the same code, as far as it is recorded. False if a run was resumed with other
 * code. */
bool analysis_codes_agree(const AnalysisSelection *selection, const AnalysisRun *a, const AnalysisRun *b);
/* Whether all of the selection's runs with the indices run[count] agree. */
bool analysis_codes_all_agree(const AnalysisSelection *selection, const size_t *run, size_t count);
/* Describes how many configurations have runs by different code, what differs, and the remedy; "" if none has. */
void analysis_codes_describe(const AnalysisSelection *selection, CoreText *text);
/* Prints that description as a warning on stderr. */
void analysis_codes_warn(const AnalysisSelection *selection);

/* Describes the differences between two selections without common code: "pendulous.py changed". */
void analysis_codes_compare(const AnalysisSelection *a, const AnalysisSelection *b, CoreText *text);

#endif
