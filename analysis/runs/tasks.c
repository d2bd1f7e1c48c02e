/* Tasks of runs (tasks.h). */
#include "analysis/runs/tasks.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"

size_t analysis_tasks_find(const AnalysisSelection *selection, size_t *task_of) {
  size_t *first = core_memory_allocate((selection->count + 1) * sizeof *first), tasks = 0; /* [task] first run */
  for (size_t r = 0; r < selection->count; r++) {
    const CoreConfig *config = selection->runs[r].config.shared;
    size_t t = 0;
    while (t < tasks && !core_config_is_same_task(selection->runs[first[t]].config.shared, config)) t++;
    if (t == tasks) first[tasks++] = r;
    task_of[r] = t;
  }
  free(first);
  return tasks;
}

AnalysisTaskScores analysis_tasks_scores(const double *value, const size_t *task, size_t count, size_t tasks) {
  AnalysisTaskScores sorted = {.score = core_memory_allocate((count + 1) * sizeof(double)),
                               .first = core_memory_allocate((tasks + 1) * sizeof(size_t))};
  size_t position = 0, kept = 0;
  for (size_t t = 0; t < tasks; t++) {
    sorted.first[kept] = position;
    for (size_t i = 0; i < count; i++)
      if (task[i] == t && !isnan(value[i])) sorted.score[position++] = value[i];
    if (position > sorted.first[kept]) kept++;
  }
  sorted.first[kept] = position;
  sorted.scores = (AnalysisScores){.score = sorted.score, .first = sorted.first, .tasks = kept};
  return sorted;
}

AnalysisInterval analysis_tasks_interval(const double *value, const size_t *task, size_t count, size_t tasks,
                                         AnalysisAggregate aggregate, AnalysisRange range) {
  AnalysisTaskScores sorted = analysis_tasks_scores(value, task, count, tasks);
  const AnalysisInterval interval = analysis_interval(&sorted.scores, aggregate, range, 0.95);
  analysis_tasks_scores_free(&sorted);
  return interval;
}

void analysis_tasks_scores_free(AnalysisTaskScores *scores) {
  free(scores->score);
  free(scores->first);
  *scores = (AnalysisTaskScores){0};
}
