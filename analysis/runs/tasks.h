/* Tasks of runs, over which rliable's aggregates stratify (scores.h, stratified.h). */
#ifndef ANALYSIS_TASKS_H
#define ANALYSIS_TASKS_H
#include "analysis/runs/select.h"
#include "analysis/statistics/interval.h"
#include "analysis/statistics/scores.h"
#include "core/config/config.h"

/* Numbers the tasks in the order of their first appearance, task_of[run] from 0; returns their number. */
size_t analysis_tasks_find(const AnalysisSelection *selection, size_t *task_of);

/* Groups the values of runs by task: score[count] and first[tasks + 1], without NaN and tasks that have no value.
 * Free with analysis_tasks_scores_free. */
typedef struct AnalysisTaskScores { AnalysisScores scores; double *score; size_t *first; } AnalysisTaskScores;
AnalysisTaskScores analysis_tasks_scores(const double *value, const size_t *task, size_t count, size_t tasks);
/* Returns the 95 % interval of an aggregate of values (NaN: none), value[i] being of task[i]. */
AnalysisInterval analysis_tasks_interval(const double *value, const size_t *task, size_t count, size_t tasks,
                                         AnalysisAggregate aggregate, AnalysisRange range);

void analysis_tasks_scores_free(AnalysisTaskScores *scores);

#endif
