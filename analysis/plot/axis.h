/* Axes: ranges from data, and ticks that can be read (1-2-5 steps; decades with minor ticks on log axes). */
#ifndef ANALYSIS_AXIS_H
#define ANALYSIS_AXIS_H
#include <stdbool.h>

#include "core/text.h"

typedef struct AnalysisAxis {
  const char *title;   /* with units */
  bool log;
  bool seen;           /* low and high hold data */
  double low, high;
} AnalysisAxis;

/* Widens the axis to take the value in; NaN, and what a log axis cannot show, is passed over. */
void analysis_axis_include(AnalysisAxis *axis, double value);
/* Room at the ends once all data are in; a linear axis that begins near 0 begins at 0. Without data: 0..1. */
void analysis_axis_finish(AnalysisAxis *axis);
/* gnuplot's list "'label' place level, ..." for `set xtics (...)`: about `count` labelled ticks; the
 * labels are empty unless `numbered`. */
void analysis_axis_ticks(const AnalysisAxis *axis, int count, bool numbered, CoreText *text);

#endif
