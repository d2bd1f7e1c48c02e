/* The code that runs were trained on, beside the trainer's own: runs of one configuration by different code are no
 * seeds of each other. Runs that do not tell their code (of older versions) count as alike. */
#ifndef ANALYSIS_CODES_H
#define ANALYSIS_CODES_H
#include "analysis/runs/select.h"

/* Puts a run's code into the selection and gives its number there, from 1. hash NULL or "": 0. */
size_t analysis_codes_add(AnalysisSelection *selection, const char *hash, const char *files);
void analysis_codes_free(AnalysisSelection *selection);

/* Were both trained on one code, as far as they tell? False also where a run went on under other code. */
bool analysis_codes_agree(const AnalysisSelection *selection, const AnalysisRun *a, const AnalysisRun *b);
/* Says how many configurations have runs by different code, what differs, and the way out; nothing: none. */
void analysis_codes_describe(const AnalysisSelection *selection, CoreText *text);
/* The same as a note on stderr. */
void analysis_codes_warn(const AnalysisSelection *selection);

/* Says what differs between the code of two selections that have none in common: "pendulous.py changed". */
void analysis_codes_compare(const AnalysisSelection *a, const AnalysisSelection *b, CoreText *text);

#endif
