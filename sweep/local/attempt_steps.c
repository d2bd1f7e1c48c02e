/* Collects the steps of an attempt's records (attempt_steps.h). */
#include "sweep/local/attempt_steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "store/runlog/runlog.h"
#include "store/workspace/paths.h"

typedef struct Collector {
  SweepAttemptSteps *steps;
  size_t capacity;
} Collector;

/* Adds a record, unless it only clears one of an earlier attempt. */
static int add_record(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
                      const StoreLayer *layer, const StoreMetric *metric) {
  Collector *collector = context;
  SweepAttemptSteps *steps = collector->steps;
  if (!iteration || !isfinite(iteration->transitions)) return CORE_OK;
  if (steps->count == collector->capacity) {
    collector->capacity = collector->capacity ? 2 * collector->capacity : 256;
    steps->steps = core_memory_resize(steps->steps, collector->capacity * sizeof *steps->steps);
  }
  steps->steps[steps->count++] = iteration->transitions;
  return CORE_OK;
}

static int compare_steps(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void sort(SweepAttemptSteps *steps) {
  if (steps->count > 1) qsort(steps->steps, steps->count, sizeof *steps->steps, compare_steps);
}

int sweep_attempt_steps_read(const char *root, const char *id, int attempt, SweepAttemptSteps *steps) {
  Collector collector = {.steps = steps};
  char name[32], path[CORE_PATH_MAX];
  int64_t end;
  StoreLogDamage damage;
  *steps = (SweepAttemptSteps){0};
  snprintf(name, sizeof name, "stats.%d.tsv", attempt);
  TRY(store_path_run(root, id, name, path));
  if (attempt < 1 || !core_files_exists(path)) return CORE_OK;
  const int code = store_runlog_read(path, 0, add_record, &collector, &end, &damage);
  if (code != CORE_OK) sweep_attempt_steps_free(steps);
  sort(steps);
  return code;
}

void sweep_attempt_steps_free(SweepAttemptSteps *steps) {
  free(steps->steps);
  *steps = (SweepAttemptSteps){0};
}

double sweep_attempt_steps_last(const SweepAttemptSteps *steps) {
  return steps->count ? steps->steps[steps->count - 1] : 0;
}

double sweep_attempt_steps_beyond(const SweepAttemptSteps *steps, double step) {
  size_t beyond = 0;
  while (beyond < steps->count && steps->steps[steps->count - 1 - beyond] > step) beyond++;
  return steps->count ? (double)beyond / (double)steps->count : 0;
}

double sweep_attempt_steps_repeated(const SweepAttemptSteps *steps, const SweepAttemptSteps *later) {
  size_t repeated = 0, next = 0; /* later->steps[next]: the first one after the step before */
  for (size_t i = 0; i < steps->count; i++) {
    repeated += next < later->count && later->steps[next] <= steps->steps[i];
    while (next < later->count && later->steps[next] <= steps->steps[i]) next++;
  }
  return steps->count ? (double)repeated / (double)steps->count : 1;
}

void sweep_attempt_steps_merge(SweepAttemptSteps *steps, const SweepAttemptSteps *other) {
  if (other->count == 0) return;
  steps->steps = core_memory_resize(steps->steps, (steps->count + other->count) * sizeof *steps->steps);
  memcpy(steps->steps + steps->count, other->steps, other->count * sizeof *steps->steps);
  steps->count += other->count;
  sort(steps);
}
