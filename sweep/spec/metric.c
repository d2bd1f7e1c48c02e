/* Finds columns of results.db and rows of its table metric by name (metric.h). */
#include "sweep/spec/metric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "store/runlog/runlog.h"

static const struct { const char *column, *name; SweepMetricTable table; } columns[] = {
#define X(column, unit, comment) {#column, "evaluation." #column, SWEEP_METRIC_EVALUATION},
  STORE_EVALUATION_COLUMNS(X)
#undef X
#define X(column, unit, comment) {#column, "iteration." #column, SWEEP_METRIC_ITERATION},
  STORE_ITERATION_COLUMNS(X)
#undef X
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static const char prefix[] = "metric.";

/* Finds a column by its name with or without the table. Without, the first one or, if `reversed`, the last one. */
static bool find_column(const char *name, bool reversed, SweepMetric *metric) {
  for (size_t i = 0; i < COLUMNS; i++) {
    const size_t index = reversed ? COLUMNS - 1 - i : i;
    if (strcmp(columns[index].name, name) != 0 && strcmp(columns[index].column, name) != 0) continue;
    *metric = (SweepMetric){.table = columns[index].table, .column = columns[index].column};
    snprintf(metric->name, sizeof metric->name, "%s", columns[index].name);
    return true;
  }
  return false;
}

static bool set_named(SweepMetric *metric, const char *name) {
  *metric = (SweepMetric){.table = SWEEP_METRIC_NAMED};
  return *name && snprintf(metric->name, sizeof metric->name, "%s%s", prefix, name) < (int)sizeof metric->name;
}

/* Returns the column of [metric] that stores this metric of the program; NULL: none. */
static const char *find_mapped(const CoreScript *program, const char *name) {
  const CoreScriptDefinition *definition = program->definition;
  for (size_t i = 0; i < definition->metric_count; i++)
    if (strcmp(definition->metrics[i].name, name) == 0 || strcmp(definition->metrics[i].column, name) == 0)
      return definition->metrics[i].column;
  return NULL;
}

static const char *find_nearest(const char *name, const char *const *others, size_t count) {
  const char **names = core_memory_allocate((2 * COLUMNS + count) * sizeof *names);
  for (size_t i = 0; i < count; i++) names[i] = others[i];
  for (size_t i = 0; i < COLUMNS; i++) {
    names[count + i] = columns[i].column;
    names[count + COLUMNS + i] = columns[i].name;
  }
  const char *nearest = core_text_nearest(name, names, 2 * COLUMNS + count);
  free(names);
  return nearest;
}

/* Whether the name is probably a misspelling, and not a metric of a program. */
static bool is_misspelling(const char *name, const char *nearest) {
  const size_t a = strlen(name), b = nearest ? strlen(nearest) : 0;
  return nearest && a <= b + 1 && b <= a + 1;
}

int sweep_metric_find(const char *subject, const char *name, const CoreScript *program, const char *const *others,
                      size_t count, SweepMetric *metric) {
  const bool is_prefixed = strncmp(name, prefix, sizeof prefix - 1) == 0;
  const char *short_name = is_prefixed ? name + sizeof prefix - 1 : name;
  const char *mapped = program ? find_mapped(program, short_name) : NULL;
  if (find_column(mapped ? mapped : name, program != NULL, metric)) return CORE_OK;
  if (mapped && set_named(metric, mapped)) return CORE_OK;
  if (is_prefixed && set_named(metric, short_name)) return CORE_OK;
  const char *nearest = find_nearest(name, others, count);
  const bool is_own = program ? !is_misspelling(name, nearest) : strchr(name, '/') != NULL;
  if (is_own && set_named(metric, name)) return CORE_OK;
  if (nearest)
    return core_error(CORE_USAGE, "%.80s is not %s; did you mean %s? A metric without a column is metric.NAME", name,
                      subject, nearest);
  return core_error(CORE_USAGE, "%.80s is not %s; a metric without a column is metric.NAME", name, subject);
}

const char *sweep_metric_short(const SweepMetric *metric) { return strchr(metric->name, '.') + 1; }
