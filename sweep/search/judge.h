/* What runs amount to, asked of `analyze measures`: one program knows the measures, and figures and searches see the
 * same numbers. */
#ifndef SWEEP_JUDGE_H
#define SWEEP_JUDGE_H
#include <stddef.h>

#include "core/config/config.h"

typedef struct SweepJudged {
  char (*ids)[CORE_RUN_ID]; /* [count] */
  double *values;           /* [count], NaN: not measured */
  size_t count;
} SweepJudged;

/* Imports what is new of the sweep, and asks for one measure of its runs. CORE_FAIL: results.db cannot be written, or
 * analyze (beside this program; $SWEEP_ANALYZE names another) does not answer; the message has its words. Caller calls
 * sweep_judged_free. */
int sweep_judge(const char *root, const char *sweep, const char *measure, SweepJudged *judged);
void sweep_judged_free(SweepJudged *judged);
/* NaN also for a run that was not asked for. */
double sweep_judged_value(const SweepJudged *judged, const char *id);

#endif
