/* Numbers and intervals as all tables, captions and messages of analyze show them. */
#ifndef ANALYSIS_NUMBER_TEXT_H
#define ANALYSIS_NUMBER_TEXT_H
#include <stddef.h>

#include "analysis/statistics/interval.h"

/* Formats "0.31", "1590", "2.81e-05", "-" for NaN: three significant digits, and all integer digits below a million. */
void analysis_format_number(double value, char *buffer, size_t size);
/* Formats "0.310 [0.220, 0.400]", "422 [282, 561]": all three with the decimals that give the largest three digits,
 * at most three from 0.01 on; two significant digits each if the ends are positive and far apart. Without an
 * interval "0.31 [n = 2]". */
void analysis_format_interval(AnalysisInterval interval, char *buffer, size_t size);

#endif
