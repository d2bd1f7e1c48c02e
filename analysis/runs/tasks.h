/* What runs were trained on, as numbers: the tasks over which rliable's aggregates stratify (metrics.md 5.3, 5.4). */
#ifndef ANALYSIS_TASKS_H
#define ANALYSIS_TASKS_H
#include "analysis/runs/select.h"
#include "analysis/statistics/interval.h"
#include "analysis/statistics/scores.h"
#include "core/config/task.h"

/* task_of[run] = 0.. in the order of first appearance; returns the number of tasks. */
size_t analysis_tasks_find(const AnalysisSelection *selection, size_t *task_of);

/* Sorts the values of some runs by task: score[count] and first[tasks + 1], tasks without a value left out, as are
 * NaN values. Owner frees with analysis_tasks_scores_free. */
typedef struct AnalysisTaskScores { AnalysisScores scores; double *score; size_t *first; } AnalysisTaskScores;
AnalysisTaskScores analysis_tasks_scores(const double *value, const size_t *task, size_t count, size_t tasks);
/* The interval of an aggregate of values of runs (NaN: none), value[i] being of task[i]; 95 %. */
AnalysisInterval analysis_tasks_interval(const double *value, const size_t *task, size_t count, size_t tasks,
                                         AnalysisAggregate aggregate, AnalysisRange range);

void analysis_tasks_scores_free(AnalysisTaskScores *scores);

#endif
