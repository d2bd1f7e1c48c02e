/* Step schedule of a value as text: "0.1", or "0:0.1+700:0.003+1400:0.1" (0.1 for steps 0 to 699, ...). The separator
 * is '+' because commas separate values of a sweep. */
#ifndef CORE_SCHEDULE_H
#define CORE_SCHEDULE_H
#include <stddef.h>
#include <stdint.h>

enum { CORE_SCHEDULE_MAX = 32 };

typedef struct CoreSchedule {
  size_t count;                      /* at least 1 */
  int64_t from[CORE_SCHEDULE_MAX];   /* ascending, from[0] = 0 */
  double value[CORE_SCHEDULE_MAX];   /* finite, not negative */
} CoreSchedule;

/* Parses a schedule. CORE_USAGE: the message has `name` (the setting) and the invalid part. */
int core_schedule_parse(const char *name, const char *text, CoreSchedule *schedule);
/* Returns the value at a step, from 0. */
double core_schedule_at(const CoreSchedule *schedule, int64_t step);

#endif
