/* Numbers and intervals as every table, caption and message of analyze prints them. */
#ifndef ANALYSIS_NUMBER_TEXT_H
#define ANALYSIS_NUMBER_TEXT_H
#include <stddef.h>

#include "analysis/statistics/interval.h"

/* "0.31", "1590", "2.81e-05", "-" for NaN: three significant digits, all those before the point below a million. */
void analysis_format_number(double value, char *buffer, size_t size);
/* "0.310 [0.220, 0.400]", "422 [282, 561]": all three to one decimal place, by which the largest has three digits, and
 * at most three decimals from 0.01 on; two significant digits each where the ends are positive and far apart. Without
 * an interval "0.31 [n = 2]". */
void analysis_format_interval(AnalysisInterval interval, char *buffer, size_t size);

#endif
