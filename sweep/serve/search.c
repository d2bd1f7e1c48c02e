/* Answers about a search: its trials as parallel coordinates, and how much of the scores each setting explains, by the
 * functions of `analyze search` (routes.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/measures.h"
#include "analysis/runs/tasks.h"
#include "analysis/runs/trials.h"
#include "core/memory.h"
#include "sweep/serve/routes.h"

enum { TRIALS_MAX = 1000, EXPLAINED_MAX = 400 /* trials that importance is computed from */ };

typedef struct Study {
  const ServeSweep *sweep;
  const ServeGroups *groups;
  AnalysisTrials trials;
  AnalysisMeasure measure;
  AnalysisRunMetrics *measured; /* [run of the selection]; NULL: the scores of the snapshot do */
  AnalysisInterval *score;    /* [trial] */
  bool *is_bad;               /* [trial] has a run that failed or diverged */
  size_t *order;              /* [ranked] trials, the best first */
  size_t ranked;
} Study;

/* ---- scores ------------------------------------------------------------------------------------------------------ */

/* A run's score without reading all its rows where the snapshot has it. */
static double run_value(const Study *study, size_t run) {
  const size_t index = study->groups->index[run];
  if (study->measured) return study->measured[run].value[study->measure];
  if (index == SIZE_MAX) return NAN;
  const ServeResult *result = &study->sweep->result[index];
  return study->measure == ANALYSIS_MEASURE_best ? result->best
         : study->measure == ANALYSIS_MEASURE_ddr ? result->ddr
                                                  : result->last;
}

static int read_measures(const ServeContext *context, Study *study) {
  const AnalysisMeasure measure = study->measure;
  if (measure == ANALYSIS_MEASURE_final || measure == ANALYSIS_MEASURE_best || measure == ANALYSIS_MEASURE_ddr)
    return CORE_OK;
  return analysis_measures_read(context->reader->database, &study->groups->selection, NULL, 0, &study->measured);
}

static bool is_broken(const Study *study, size_t run) {
  const size_t index = study->groups->index[run];
  if (index == SIZE_MAX) return false;
  return store_status_is_broken(study->sweep->view->progress.run[index].state.status);
}

static void score_trials(Study *study) {
  const AnalysisSelection *selection = &study->groups->selection;
  const size_t count = study->trials.count;
  double *value = core_memory_allocate((selection->count + 1) * sizeof *value);
  size_t *task = core_memory_allocate((selection->count + 1) * sizeof *task);
  const AnalysisRange range =
    study->measured ? analysis_measure_range(study->measure, study->measured, NULL, selection->count)
                    : (AnalysisRange){-INFINITY, INFINITY, study->measure == ANALYSIS_MEASURE_ddr};
  study->score = core_memory_allocate((count + 1) * sizeof *study->score);
  study->is_bad = core_memory_zero_allocate(count + 1, sizeof *study->is_bad);

  for (size_t t = 0; t < count; t++) {
    const AnalysisTrial *trial = &study->trials.trials[t];
    for (size_t i = 0; i < trial->count; i++) {
      value[i] = run_value(study, trial->runs[i]);
      task[i] = study->groups->task[trial->runs[i]];
      study->is_bad[t] |= is_broken(study, trial->runs[i]);
    }
    study->score[t] =
      analysis_tasks_interval(value, task, trial->count, study->groups->tasks, ANALYSIS_AGGREGATE_MEAN, range);
  }

  free(value);
  free(task);
}

static int compare_trials(const void *a, const void *b, void *context) {
  const Study *study = context;
  const size_t x = *(const size_t *)a, y = *(const size_t *)b;
  const double sign = study->trials.space.goals[0].minimize ? 1 : -1;
  const double p = sign * study->score[x].center, q = sign * study->score[y].center;
  return p != q ? (p > q) - (p < q) : (x > y) - (x < y);
}

static void rank_trials(Study *study) {
  study->order = core_memory_allocate((study->trials.count + 1) * sizeof *study->order);
  for (size_t t = 0; t < study->trials.count; t++)
    if (isfinite(study->score[t].center) && !study->is_bad[t]) study->order[study->ranked++] = t;
  qsort_r(study->order, study->ranked, sizeof *study->order, compare_trials, study);
}

/* ---- importance -------------------------------------------------------------------------------------------------- */

/* Explains the scores of the ranked trials, or of some evenly spread over the ranks. DDR counts by its logarithm. */
static double explain(const Study *study, double *importance, size_t *used) {
  const size_t n = study->ranked < EXPLAINED_MAX ? study->ranked : EXPLAINED_MAX;
  double *score = core_memory_allocate((n + 1) * sizeof *score);
  size_t *list = core_memory_allocate((n + 1) * sizeof *list), count = 0;

  for (size_t i = 0; i < n; i++) {
    const size_t t = study->order[i * study->ranked / n];
    const double value = study->trials.space.goals[0].is_log ? log(study->score[t].center) : study->score[t].center;
    if (!isfinite(value)) continue;
    score[count] = value;
    list[count++] = t;
  }

  const double explained = analysis_trials_importance(&study->trials, list, score, count, 0, importance, NULL);
  free(score);
  free(list);
  *used = count;
  return explained;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void add_tick(const CoreSearchAxis *axis, const char *text, json_t *ticks) {
  const double coordinate = core_search_coordinate(axis, text);
  if (!isnan(coordinate)) json_array_append_new(ticks, json_pack("[f, s]", core_search_unit(axis, coordinate), text));
}

/* Adds the multiples of a step of 1, 2 or 5 times a power of ten that lie on the axis: at most about ten. */
static void add_steps(const CoreSearchAxis *axis, double low, double high, json_t *ticks) {
  char text[32];
  const double raw = (high - low) / 8, power = pow(10, floor(log10(raw)));
  const double step = power * (raw <= power ? 1 : raw <= 2 * power ? 2 : raw <= 5 * power ? 5 : 10);
  if (!(raw > 0)) return;
  for (double k = ceil(low / step); k * step <= high; k++) {
    snprintf(text, sizeof text, "%.6g", k * step);
    add_tick(axis, text, ticks);
  }
}

/* Adds 1, 2 and 5 times the powers of ten that lie on the axis, the powers first. */
static void add_powers(const CoreSearchAxis *axis, double low, double high, json_t *ticks) {
  static const double factors[] = {1, 2, 5};
  char text[32];
  for (int f = 0; f < 3; f++)
    for (double k = floor(log10(low)); k <= log10(high); k++) {
      snprintf(text, sizeof text, "%.6g", factors[f] * pow(10, k));
      add_tick(axis, text, ticks);
    }
}

/* The texts along an axis, the more important ones first: its choices, or both ends of its range and round numbers. */
static json_t *ticks_json(const CoreSearchAxis *axis) {
  json_t *ticks = json_array();
  CoreText low = {0}, high = {0};
  double from, to;
  for (size_t c = 0; c < axis->choice_count; c++) add_tick(axis, axis->choices[c], ticks);
  if (axis->choices) return ticks;

  add_tick(axis, core_search_value(axis, 0, &low), ticks);
  add_tick(axis, core_search_value(axis, 1 - 1e-12, &high), ticks);
  if (core_text_to_real(low.data, &from) && core_text_to_real(high.data, &to)) {
    if (axis->scale == CORE_SEARCH_LOG && from > 0) add_powers(axis, from, to, ticks);
    else add_steps(axis, from, to, ticks);
  }
  core_text_free(&low);
  core_text_free(&high);
  return ticks;
}

static json_t *axes_json(const Study *study, const double *importance) {
  const CoreSearch *space = &study->trials.space;
  json_t *list = json_array();
  for (size_t a = 0; a < space->count; a++)
    json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:b, s:o}", "name", space->axes[a].row->name, "label",
                                          analysis_key_name(space->axes[a].row), "importance", importance[a], "log",
                                          space->axes[a].scale == CORE_SEARCH_LOG, "tick",
                                          ticks_json(&space->axes[a])));
  return list;
}

static json_t *trial_json(const Study *study, size_t t) {
  const CoreSearch *space = &study->trials.space;
  const AnalysisTrial *trial = &study->trials.trials[t];
  json_t *units = json_array(), *values = json_array(), *runs = json_array();
  CoreText text = {0};

  for (size_t a = 0; a < space->count; a++) {
    const double coordinate = trial->coordinate[a];
    core_text_clear(&text);
    json_array_append_new(units, isnan(coordinate) ? json_null()
                                                   : core_json_real(core_search_unit(&space->axes[a], coordinate)));
    json_array_append_new(values, isnan(coordinate) ? json_null()
                                                    : core_json_text(core_search_value_at(&space->axes[a], coordinate,
                                                                                          &text)));
  }

  for (size_t i = 0; i < trial->count; i++)
    json_array_append_new(runs, core_json_text(study->groups->selection.runs[trial->runs[i]].id));
  core_text_free(&text);
  return json_pack("{s:I, s:f, s:f, s:f, s:I, s:o, s:o, s:o}", "trial", (json_int_t)t, "value",
                   study->score[t].center, "low", study->score[t].low, "high", study->score[t].high, "n",
                   (json_int_t)study->score[t].n, "unit", units, "text", values, "run", runs);
}

static json_t *names_json(const SweepSpec *spec) {
  json_t *names = json_array();
  for (size_t i = 0; i < spec->search_count; i++) json_array_append_new(names, core_json_text(spec->searches[i].name));
  return names;
}

static json_t *study_json(const Study *study) {
  const CoreSearch *space = &study->trials.space;
  double importance[CORE_SEARCH_AXES_MAX];
  json_t *trials = json_array();
  size_t used;
  const double explained = explain(study, importance, &used);
  CoreText method = {0}, goals = {0};
  for (size_t i = 0; i < study->ranked && i < TRIALS_MAX; i++)
    json_array_append_new(trials, trial_json(study, study->order[i]));
  json_t *made = json_pack(
    "{s:s, s:o, s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:f, s:I, s:o, s:o}", "search", study->trials.name,
    "searches", names_json(&study->sweep->view->members.spec), "method", core_search_method_print(space, &method),
    "goal", space->goals[0].minimize ? "min" : "max", "goals", core_search_goals_print(space, &goals), "measure",
    analysis_measure_name(study->measure), "title", analysis_measure_label(study->measure), "log",
    space->goals[0].is_log, "trials", (json_int_t)study->trials.count, "wanted", (json_int_t)space->trials, "ranked",
    (json_int_t)study->ranked, "explained", explained, "explained_from", (json_int_t)used, "axis",
    axes_json(study, importance), "trial", trials);
  core_text_free(&goals);
  core_text_free(&method);
  return made;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static int fill_study(const ServeContext *context, const char *search, Study *study, json_t **value) {
  const AnalysisSelection *selection = &study->groups->selection;
  const char *sweep = study->sweep->view->progress.name;
  TRY(analysis_trials_read(context->reader->database, selection, sweep, search, &study->trials));
  TRY(analysis_measure_find(study->trials.space.goals[0].measure, &study->measure));
  TRY(read_measures(context, study));
  score_trials(study);
  rank_trials(study);
  *value = study_json(study);
  return CORE_OK;
}

int serve_api_search(const ServeContext *context, json_t **value) {
  Study study = {.groups = NULL};
  ServeGroups *groups;
  const char *search = serve_request_argument(context->request, "search");
  TRY(serve_argument_sweep(context, &study.sweep));
  const SweepSpec *spec = &study.sweep->view->members.spec;
  if (spec->search_count == 0) return core_error(SERVE_NOT_FOUND, "the sweep has no search");
  if (!search || !*search) search = spec->searches[0].name;

  TRY(serve_reader_open(context->reader));
  TRY(serve_groups_acquire(&context->serve->groups, context->reader->database, study.sweep, NULL, &groups));
  study.groups = groups;
  const int code = groups->selection.count == 0
                       ? core_error(SERVE_NOT_FOUND, "results.db has no run of this sweep yet")
                       : fill_study(context, search, &study, value);

  analysis_trials_free(&study.trials);
  free(study.measured);
  free(study.score);
  free(study.is_bad);
  free(study.order);
  serve_groups_release(&groups);
  return code;
}
