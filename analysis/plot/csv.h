/* Rows of a figure's CSV (RFC 4180), and the same rows as JSON. */
#ifndef ANALYSIS_CSV_H
#define ANALYSIS_CSV_H
#include "analysis/runs/group.h"

/* Appends a field (core_text_append_cell in core/text.h). */
void analysis_csv_field(CoreText *csv, const char *text);
/* Appends ",0.25", or "," for NaN. */
void analysis_csv_value(CoreText *csv, double value);
/* Append the names, or the values, of a grouping's keys, each after a comma. */
void analysis_csv_keys(CoreText *csv, const AnalysisGrouping *grouping);
void analysis_csv_key_values(CoreText *csv, const AnalysisGrouping *grouping, const AnalysisConfig *config);

/* Prints an array with one object per row, named by the header; numbers as numbers, empty fields as null. */
void analysis_csv_print_json(const char *csv);

#endif
