/* The Pareto front of a search with two goals (search_internal.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/figures/search_internal.h"
#include "core/memory.h"
#include "core/search/tpe.h"
#include "core/terminal.h"

/* Gets the losses of a trial; false: it lacks a value. */
static bool find_losses(const AnalysisSearch *s, size_t trial, double loss[CORE_SEARCH_GOALS_MAX]) {
  const CoreSearchGoal *goals = s->trials.space.goals;
  const double first = s->judged[trial].score.center, second = s->second_score[trial].center;
  loss[0] = goals[0].minimize ? first : -first;
  loss[1] = goals[1].minimize ? second : -second;
  return isfinite(first) && isfinite(second);
}

void analysis_search_find_front(AnalysisSearch *s) {
  s->second_score = core_memory_allocate((s->trials.count + 1) * sizeof *s->second_score);
  s->front = core_memory_allocate((s->trials.count + 1) * sizeof *s->front);
  for (size_t t = 0; t < s->trials.count; t++)
    s->second_score[t] = analysis_scored_interval(&s->scored, s->second, ANALYSIS_AGGREGATE_MEAN,
                                                  s->trials.trials[t].runs, s->trials.trials[t].count);

  /* In the order of the first goal, each trial that beats all before it in the second one is on the front. */
  for (size_t i = 0; i < s->valued; i++) {
    double loss[CORE_SEARCH_GOALS_MAX], other[CORE_SEARCH_GOALS_MAX];
    bool is_on = find_losses(s, s->order[i], loss);
    for (size_t k = 0; k < s->valued && is_on; k++)
      is_on = !find_losses(s, s->order[k], other) || !core_search_dominates(other, loss, CORE_SEARCH_GOALS_MAX);
    if (is_on) s->front[s->front_count++] = s->order[i];
  }
}

bool analysis_search_is_on_front(const AnalysisSearch *s, size_t trial) {
  for (size_t i = 0; i < s->front_count; i++)
    if (s->front[i] == trial) return true;
  return false;
}

void analysis_search_print_front(const AnalysisSearch *s) {
  const CoreSearch *space = &s->trials.space;
  const char *headers[CORE_SEARCH_AXES_MAX + 4] = {"front", "trial"};
  char titles[2][96], text[64];
  CoreText value = {0};

  snprintf(titles[0], sizeof titles[0], "%s [95 %%]", analysis_scored_title(&s->scored, &s->context));
  snprintf(titles[1], sizeof titles[1], "%s [95 %%]", analysis_measure_label(s->second));
  headers[2] = titles[0];
  headers[3] = titles[1];
  for (size_t a = 0; a < space->count; a++) headers[4 + a] = space->axes[a].row->name;
  CoreTable *table = core_table_create(headers, 4 + space->count);

  for (size_t i = 0; i < s->front_count; i++) {
    const size_t t = s->front[i];
    core_table_cell(table, "%zu", i + 1);
    core_table_cell(table, "%zu", t);
    analysis_format_interval(s->judged[t].score, text, sizeof text);
    core_table_cell(table, "%s", text);
    analysis_format_interval(s->second_score[t], text, sizeof text);
    core_table_cell(table, "%s", text);
    for (size_t a = 0; a < space->count; a++)
      core_table_cell(table, "%s", analysis_search_value(s, t, a, &value));
  }

  printf("Pareto front: no trial is better in one goal without being worse in the other\n");
  core_table_print(table, stdout);
  printf("\n");
  core_table_destroy(&table);
  core_text_free(&value);
}

void analysis_search_add_front(const AnalysisSearch *s, json_t *printed) {
  const CoreSearchGoal *goal = &s->trials.space.goals[1];
  json_t *front = json_array(), *trials = json_object_get(printed, "trials"), *trial;
  size_t i;
  for (i = 0; i < s->front_count; i++) json_array_append_new(front, json_integer((json_int_t)s->front[i]));
  json_object_set_new(printed, "front", front);
  json_object_set_new(printed, "second", json_pack("{s:s, s:s}", "goal", goal->minimize ? "min" : "max", "measure",
                                                   analysis_measure_name(s->second)));

  json_array_foreach(trials, i, trial) {
    const AnalysisInterval score = s->second_score[json_integer_value(json_object_get(trial, "trial"))];
    json_object_set_new(trial, "second", json_pack("{s:f, s:f, s:f}", "value", score.center, "low", score.low, "high",
                                                   score.high));
  }
}
