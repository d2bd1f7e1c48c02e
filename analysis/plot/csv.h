/* Rows of a figure's CSV (RFC 4180), and the same rows as JSON. */
#ifndef ANALYSIS_CSV_H
#define ANALYSIS_CSV_H
#include "analysis/runs/group.h"

/* Appends a cell: core_text_append_cell (core/text.h). */
void analysis_csv_field(CoreText *csv, const char *text);
/* ",0.25", or "," where there is not a number. */
void analysis_csv_value(CoreText *csv, double value);
/* The headers or values of a grouping's keys, each with a comma before it. */
void analysis_csv_keys(CoreText *csv, const AnalysisGrouping *grouping);
void analysis_csv_key_values(CoreText *csv, const AnalysisGrouping *grouping, const CoreConfig *config);

/* To stdout: an array of an object a row, with the header's names; numbers as numbers, empty fields as null. */
void analysis_csv_print_json(const char *csv);

#endif
