/* Axes: ranges from data, and readable ticks (1-2-5 steps; decades with minor ticks on log axes). */
#ifndef ANALYSIS_AXIS_H
#define ANALYSIS_AXIS_H
#include <stdbool.h>

#include "core/text.h"

typedef struct AnalysisAxis {
  const char *title;   /* title with unit */
  bool log;
  bool seen;           /* whether low and high contain data */
  double low, high;
} AnalysisAxis;

/* Extends the axis to include the value; ignores NaN, and values that a log axis cannot show. */
void analysis_axis_include(AnalysisAxis *axis, double value);
/* Adds margins once all data are included; a linear axis that begins near 0 begins at 0. Without data: 0..1. */
void analysis_axis_finish(AnalysisAxis *axis);
/* Appends gnuplot's list "'label' position level, ..." for `set xtics (...)`: about `count` labeled ticks. Labels
 * are empty unless `numbered`. */
void analysis_axis_ticks(const AnalysisAxis *axis, int count, bool numbered, CoreText *text);

#endif
