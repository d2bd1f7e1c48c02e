/* A value that is switched at given steps, as text: "0.1", or "0:0.1+700:0.003+1400:0.1" (0.1 for the steps 0 to 699,
 * ...). '+' because a comma separates the values of a sweep. */
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

/* CORE_USAGE: `name` (the setting) is in the message, with the part that is wrong. */
int core_schedule_parse(const char *name, const char *text, CoreSchedule *schedule);
/* The value at a step, counted from 0. */
double core_schedule_at(const CoreSchedule *schedule, int64_t step);

#endif
