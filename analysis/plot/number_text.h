/* Numbers, intervals and rows as text, the same in all tables, captions, messages and files of analyze. */
#ifndef ANALYSIS_NUMBER_TEXT_H
#define ANALYSIS_NUMBER_TEXT_H
#include <stddef.h>

#include "analysis/runs/group.h"
#include "analysis/statistics/interval.h"

/* Formats "0.31", "1590", "2.81e-05", "-" for NaN: three significant digits, and all integer digits below a million. */
void analysis_format_number(double value, char *buffer, size_t size);
/* Formats "0.310 [0.220, 0.400]", "422 [282, 561]": all three with the decimals that give the largest three digits,
 * at most three from 0.01 on; two significant digits each if the ends are positive and far apart. Without an
 * interval "0.31 [n = 2]". */
void analysis_format_interval(AnalysisInterval interval, char *buffer, size_t size);

/* ---- rows of CSV ------------------------------------------------------------------------------------------------- */

/* Rows of a figure's CSV (RFC 4180), and the same rows as JSON. */

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
