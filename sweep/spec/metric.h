/* Names of measured quantities in experiment files: stop.measure, and the goal of a search. */
#ifndef SWEEP_SPEC_METRIC_H
#define SWEEP_SPEC_METRIC_H
#include <stdbool.h>

#include "core/config/script.h"
#include "core/text.h"

enum { SWEEP_METRIC_NAME = 160 };

typedef enum SweepMetricTable { SWEEP_METRIC_EVALUATION, SWEEP_METRIC_ITERATION, SWEEP_METRIC_NAMED } SweepMetricTable;

typedef struct SweepMetric {
  SweepMetricTable table;        /* table of results.db; SWEEP_METRIC_NAMED: rows of the table metric */
  const char *column;            /* static; NULL: rows of the table metric */
  char name[SWEEP_METRIC_NAME];  /* with its table: "iteration.kl", "metric.losses/kl" */
} SweepMetric;

/* Finds a metric by name. program: its [metric] maps names to columns, and every other name is a metric of its own;
 * NULL: the trainer, whose other metrics contain a '/' ("info/distance") or are given as "metric.NAME". A name of two
 * tables is that of evaluations or, for a program, of iterations. CORE_USAGE: no run can have it, or it resembles a
 * column or one of others[count]; the message begins with "NAME is not SUBJECT". */
int sweep_metric_find(const char *subject, const char *name, const CoreScript *program, const char *const *others,
                      size_t count, SweepMetric *metric);
/* Returns the name without its table. */
const char *sweep_metric_short(const SweepMetric *metric);

#endif
