/* Parses and evaluates step schedules (schedule.h). */
#include "core/schedule.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/text.h"

/* Parses "700:0.003", or "0.003" if it is the only term. */
static int parse_term(const char *name, const char *term, bool alone, CoreSchedule *schedule) {
  char step[32];
  const char *colon = strchr(term, ':'), *value = colon ? colon + 1 : term;
  int64_t from = 0;
  size_t digits = colon ? (size_t)(colon - term) : 0;

  if (!colon && !alone)
    return core_error(CORE_USAGE, "%s: '%.40s' has no step; write STEP:VALUE, as in 0:0.1+700:0.003", name, term);
  if (digits >= sizeof step) return core_error(CORE_USAGE, "%s: '%.40s' is no step", name, term);
  memcpy(step, term, digits);
  step[digits] = '\0';
  /* Suffixes are rejected: the setting is hashed as text, so 1k and 1000 would be different run ids. */
  if (colon && !core_text_to_int(step, &from) && core_text_to_int_scaled(step, &from))
    return core_error(CORE_USAGE, "%s: write %lld for '%s' in '%.40s'; a schedule has no suffixes", name,
                      (long long)from, step, term);
  if (colon && (!core_text_to_int(step, &from) || from < 0))
    return core_error(CORE_USAGE, "%s: '%s' in '%.40s' is no step", name, step, term);

  size_t i = schedule->count;
  if (i == 0 ? from != 0 : from <= schedule->from[i - 1])
    return core_error(CORE_USAGE, "%s: step %lld in '%.40s' must be %s", name, (long long)from, term,
                      i == 0 ? "0, since it is the first" : "greater than the one before");
  if (!core_text_to_real(value, &schedule->value[i]) || !isfinite(schedule->value[i]) || schedule->value[i] < 0)
    return core_error(CORE_USAGE, "%s: '%.40s' is not a number from 0 on", name, value);

  schedule->from[i] = from;
  schedule->count++;
  return CORE_OK;
}

int core_schedule_parse(const char *name, const char *text, CoreSchedule *schedule) {
  char copy[1024], *tail = copy;
  *schedule = (CoreSchedule){0};
  TRY(core_text_copy(copy, sizeof copy, text, name));
  bool alone = strchr(copy, '+') == NULL;
  for (char *term; (term = strsep(&tail, "+"));) {
    if (schedule->count == CORE_SCHEDULE_MAX)
      return core_error(CORE_USAGE, "%s: more than %d parts", name, CORE_SCHEDULE_MAX);
    TRY(parse_term(name, term, alone, schedule));
  }
  return CORE_OK;
}

double core_schedule_at(const CoreSchedule *schedule, int64_t step) {
  size_t i = schedule->count - 1;
  while (i > 0 && schedule->from[i] > step) i--;
  return schedule->value[i];
}
