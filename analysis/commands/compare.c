/* `analyze compare`: compares two groups of runs: their aggregates, the difference, the probability that a run of A
 * scores higher, and the number of seeds that would distinguish them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/commands.h"
#include "analysis/figures/figure.h"
#include "analysis/runs/codes.h"
#include "analysis/runs/measures.h"
#include "analysis/statistics/interval.h"
#include "core/command/options.h"
#include "core/config/config.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/terminal.h"

typedef struct Request {
  const char *sweep, *level_set, *measure;
  double budget;
  CoreOptionList where;
  bool json;
} Request;

/* Side of the comparison. */
typedef struct Side {
  const char *text;            /* as written by the user */
  AnalysisSelection selection;
  AnalysisRunMetrics *measured;
  char **task;                 /* [run] task */
  double *score;               /* scores of the common tasks, sorted by task */
  size_t *first;               /* [tasks + 1] */
  size_t used, unfinished, without, elsewhere; /* numbers of runs: used, not ended, without a value, of other tasks */
  size_t censored;                             /* unfinished runs stopped by their sweep's rule */
  size_t broken;                               /* used runs that diverged or failed, with an untrained policy's score */
  size_t siblings;                             /* runs merged into another one that started from the same checkpoint */
} Side;

/* Whether a run can be used. One that diverged or failed always has a score. Means of KL and DDR are geometric, and
 * need positive values. */
static bool is_usable(const Side *side, size_t r, AnalysisMeasure measure) {
  const AnalysisRunMetrics *m = &side->measured[r];
  const double value = m->value[measure];
  if (analysis_measure_range(measure, NULL, NULL, 0).logarithmic) return m->ended && value > 0 && isfinite(value);
  return m->ended && (!isnan(value) || (m->broken && analysis_measure_is_score(measure)));
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* Returns the values of core_config_task_keys, which identify a task in all figures; free() it. */
static char *name_task(const AnalysisConfig *config) {
  char *names = core_text_duplicate(core_config_task_keys), *rest = names;
  CoreText task = {0}, value = {0};
  for (char *name; (name = strsep(&rest, ","));) {
    const CoreConfigRow *row = core_config_find(name);
    if (row) core_text_appendf(&task, "%s%s", task.length ? " " : "", analysis_config_get(config, row, &value));
  }
  core_text_free(&value);
  free(names);
  return task.data;
}

/* Reads a side: "com=8,epochs=4" are conditions in addition to the common ones. */
static int read_side(StoreDatabase *database, const Request *request, AnalysisMeasure measure, Side *side) {
  char *copy = core_text_duplicate(side->text), *save = NULL;
  size_t count = request->where.count;
  const char **where = core_memory_allocate((count + strlen(copy) + 1) * sizeof *where);
  for (size_t i = 0; i < count; i++) where[i] = request->where.items[i];
  for (char *part = strtok_r(copy, ",", &save); part; part = strtok_r(NULL, ",", &save)) where[count++] = part;
  int code = analysis_select_runs(database, request->sweep, where, count, &side->selection);
  if (code == CORE_OK)
    code = analysis_measures_read(database, &side->selection, request->level_set, request->budget, &side->measured);
  free(where);
  free(copy);
  if (code != CORE_OK) return core_error_context(code, "%s", side->text);
  side->task = core_memory_zero_allocate(side->selection.count + 1, sizeof *side->task);
  for (size_t r = 0; r < side->selection.count; r++) {
    side->task[r] = name_task(&side->selection.runs[r].config);
    side->unfinished += !side->measured[r].ended;
    side->censored += side->measured[r].censored;
    side->without += side->measured[r].ended && !is_usable(side, r, measure);
  }
  return CORE_OK;
}

/* Gives the runs of programs, whose task is unknown, the task of the other side: it must have one, of the trainer. */
static void adopt_task(Side *side, const Side *other) {
  for (size_t r = 0; r < side->selection.count; r++)
    if (!side->selection.runs[r].config.shared->program) return;
  for (size_t r = 0; r < other->selection.count; r++)
    if (other->selection.runs[r].config.shared->program || strcmp(other->task[r], other->task[0]) != 0) return;
  for (size_t r = 0; r < side->selection.count && other->selection.count; r++) {
    free(side->task[r]);
    side->task[r] = core_text_duplicate(other->task[0]);
  }
}

static bool has_task(const Side *side, const char *task, AnalysisMeasure measure) {
  for (size_t r = 0; r < side->selection.count; r++) {
    if (is_usable(side, r, measure) && strcmp(side->task[r], task) == 0) return true;
  }
  return false;
}

static int by_name(const void *left, const void *right) { return strcmp(*(char *const *)left, *(char *const *)right); }

/* Lists the tasks that both sides have, sorted; pointers into the sides. */
static size_t common_tasks(const Side *a, const Side *b, AnalysisMeasure measure, const char **tasks) {
  size_t count = 0, distinct = 0;
  for (size_t r = 0; r < a->selection.count; r++) {
    if (is_usable(a, r, measure) && has_task(b, a->task[r], measure)) tasks[count++] = a->task[r];
  }
  qsort(tasks, count, sizeof *tasks, by_name);
  for (size_t i = 0; i < count; i++) {
    if (distinct == 0 || strcmp(tasks[distinct - 1], tasks[i]) != 0) tasks[distinct++] = tasks[i];
  }
  return distinct;
}

/* Averages the usable runs of the task that started from the same checkpoint as run r, since they are correlated.
 * *first: whether r is the first of them. */
static double mean_of_siblings(const Side *side, size_t r, AnalysisMeasure measure, bool *first) {
  const bool logarithmic = analysis_measure_range(measure, NULL, NULL, 0).logarithmic;
  const AnalysisRun *runs = side->selection.runs;
  double sum = 0, n = 0;
  *first = true;
  for (size_t k = 0; k < side->selection.count; k++) {
    const bool alike = k == r || (runs[r].parent[0] && strcmp(runs[k].parent, runs[r].parent) == 0 &&
                                  strcmp(side->task[k], side->task[r]) == 0 && is_usable(side, k, measure));
    if (!alike) continue;
    *first = *first && k >= r;
    sum += logarithmic ? log(side->measured[k].value[measure]) : side->measured[k].value[measure];
    n++;
  }
  return logarithmic ? exp(sum / n) : sum / n;
}

static AnalysisScores gather(Side *side, const char *const *tasks, size_t count, AnalysisMeasure measure) {
  side->score = core_memory_allocate((side->selection.count + 1) * sizeof *side->score);
  side->first = core_memory_zero_allocate(count + 1, sizeof *side->first);
  for (size_t t = 0; t < count; t++) {
    for (size_t r = 0; r < side->selection.count; r++) {
      bool first;
      if (!is_usable(side, r, measure) || strcmp(side->task[r], tasks[t]) != 0) continue;
      const double score = mean_of_siblings(side, r, measure, &first);
      side->broken += side->measured[r].broken;
      if (first) side->score[side->used++] = score;
      else side->siblings++;
    }
    side->first[t + 1] = side->used;
  }
  side->elsewhere = side->selection.count - side->unfinished - side->without - side->siblings - side->used;
  return (AnalysisScores){side->score, side->first, count};
}

/* Gives diverged and failed runs without a score the lowest score of their task on both sides, 0 for solve rates. */
static void fill_worst(Side *a, Side *b, size_t tasks, AnalysisRange range) {
  Side *sides[2] = {a, b};
  for (size_t t = 0; t < tasks; t++) {
    double worst = isfinite(range.low) ? range.low : NAN;
    for (int s = 0; s < 2; s++)
      for (size_t i = sides[s]->first[t]; i < sides[s]->first[t + 1]; i++)
        if (!isfinite(range.low)) worst = fmin(worst, sides[s]->score[i]);
    for (int s = 0; s < 2; s++)
      for (size_t i = sides[s]->first[t]; i < sides[s]->first[t + 1]; i++)
        if (isnan(sides[s]->score[i])) sides[s]->score[i] = worst;
  }
}

/* Refuses a verdict if seeds of one configuration used different code; notes if the sides did. */
static int check_codes(const Side *a, const Side *b) {
  const Side *const sides[2] = {a, b};
  CoreText text = {0};
  int code = CORE_OK;
  for (int s = 0; s < 2 && code == CORE_OK; s++) {
    core_text_clear(&text);
    analysis_codes_describe(&sides[s]->selection, &text);
    if (text.length > 0) code = core_error(CORE_FAIL, "%s: no verdict: %s", sides[s]->text, text.data);
  }
  core_text_clear(&text);
  if (code == CORE_OK) analysis_codes_compare(&a->selection, &b->selection, &text);
  if (code == CORE_OK && text.length > 0)
    fprintf(stderr, "note: %s and %s were trained with different code (%s)\n", a->text, b->text, text.data);
  core_text_free(&text);
  return code;
}

/* Refuses runs that are on both sides. */
static int check_disjoint(const Side *a, const Side *b) {
  enum { SHOWN = 5 };
  CoreText shared = {0};
  size_t count = 0;
  for (size_t r = 0; r < a->selection.count; r++) {
    size_t other = 0;
    while (other < b->selection.count && strcmp(a->selection.runs[r].id, b->selection.runs[other].id) != 0) other++;
    if (other == b->selection.count) continue;
    if (count < SHOWN) core_text_appendf(&shared, "%s%s", count ? ", " : "", a->selection.runs[r].id);
    count++;
  }
  if (count > SHOWN) core_text_appendf(&shared, " and %zu more", count - SHOWN);
  const int key = (int)strcspn(a->text, "=");
  const bool of_one = strncmp(a->text, b->text, (size_t)key + 1) == 0; /* B's condition is on the same key */
  CoreText further = {0};
  if (!of_one) core_text_appendf(&further, ", or B with a further key (%s,%.*s=ANOTHER)", b->text, key, a->text);
  int code = CORE_OK;
  if (count > 0)
    code = core_error(CORE_USAGE,
                      "%s and %s overlap: of A's %zu and B's %zu runs %zu %s in both (%s); write groups that exclude "
                      "each other: %s and %.*s=ANOTHER%s",
                      a->text, b->text, a->selection.count, b->selection.count, count, count == 1 ? "is" : "are",
                      core_text_string(&shared), a->text, key, a->text, core_text_string(&further));
  core_text_free(&further);
  core_text_free(&shared);
  return code;
}

static void side_free(Side *side) {
  for (size_t r = 0; side->task && r < side->selection.count; r++) free(side->task[r]);
  free(side->task);
  free(side->score);
  free(side->first);
  free(side->measured);
  analysis_selection_free(&side->selection);
}

/* Whether some common tasks have solve rates and others returns. */
static bool mixes(const Side *a, const Side *b, const char *const *tasks, size_t count, AnalysisMeasure measure) {
  const Side *sides[2] = {a, b};
  bool is[2] = {false, false};
  if (analysis_measure_is_return(measure)) return false;
  for (int s = 0; s < 2; s++)
    for (size_t r = 0; r < sides[s]->selection.count; r++)
      for (size_t t = 0; t < count && !isnan(sides[s]->measured[r].value[measure]); t++)
        if (is_usable(sides[s], r, measure) && strcmp(sides[s]->task[r], tasks[t]) == 0)
          is[sides[s]->measured[r].rated] = true;
  return is[0] && is[1];
}

/* ---- the answer ------------------------------------------------------------------------------------------------- */

typedef struct Comparison {
  AnalysisInterval mean[2], iqm[2], improvement;
  AnalysisInterval difference; /* difference of the means; ratio for KL and DDR, whose means are geometric */
  bool ratio;
  size_t seeds_needed, tasks;
  double sd[2]; /* standard deviations within tasks */
  char verdict[160];
} Comparison;

/* Computes the standard deviation around each task's mean, unbiased; for a logarithmic range that of the logarithms. */
static double sd_within(const AnalysisScores *scores, bool logarithmic) {
  double squares = 0;
  size_t degrees = 0, all = scores->first[scores->tasks];
  double *value = core_memory_allocate((all + 1) * sizeof *value);
  for (size_t i = 0; i < all; i++) value[i] = logarithmic ? log(scores->score[i]) : scores->score[i];
  for (size_t t = 0; t < scores->tasks; t++) {
    const size_t n = scores->first[t + 1] - scores->first[t];
    const double sd = analysis_sd(value + scores->first[t], n);
    if (n > 1) squares += sd * sd * (double)(n - 1);
    degrees += n - 1;
  }
  free(value);
  return degrees ? sqrt(squares / (double)degrees) : NAN;
}

/* Whether larger values are better: scores, but not changes of scores. */
static bool is_better_when_larger(AnalysisMeasure measure) {
  switch (measure) {
    case ANALYSIS_MEASURE_gain:
    case ANALYSIS_MEASURE_fall:
    case ANALYSIS_MEASURE_rise_second:
    case ANALYSIS_MEASURE_late_gain:
    case ANALYSIS_MEASURE_total_gain:
    case ANALYSIS_MEASURE_early_gain: return false;
    default: return analysis_measure_is_score(measure);
  }
}

/* Formats the verdict. */
static void judge(Comparison *c, bool few, bool no_spread, AnalysisMeasure measure) {
  const double equal = c->ratio ? 1 : 0;
  const char *larger = c->difference.low > equal ? "A" : c->difference.high < equal ? "B" : NULL;
  char *verdict = c->verdict;
  const size_t size = sizeof c->verdict;
  if (few) snprintf(verdict, size, "too few runs for a verdict, which needs 3 per side");
  else if (no_spread)
    snprintf(verdict, size, "no verdict: all seeds of a side have the same value, which does not predict more seeds");
  else if (!larger) snprintf(verdict, size, "not distinguishable");
  else if (is_better_when_larger(measure)) snprintf(verdict, size, "%s scores higher", larger);
  else snprintf(verdict, size, "%s is larger in %s", analysis_measure_label(measure), larger);
}

static Comparison compare(const AnalysisScores *a, const AnalysisScores *b, AnalysisRange range,
                          AnalysisMeasure measure) {
  Comparison c = {.tasks = a->tasks, .ratio = range.logarithmic};
  const AnalysisScores *sides[2] = {a, b};
  double spread[2]; /* in the unit of the difference: logarithmic for KL and DDR */
  for (int s = 0; s < 2; s++) {
    c.mean[s] = analysis_interval(sides[s], ANALYSIS_AGGREGATE_MEAN, range, 0.95);
    c.iqm[s] = analysis_interval(sides[s], ANALYSIS_AGGREGATE_IQM, range, 0.95);
    c.sd[s] = sd_within(sides[s], false);
    spread[s] = sd_within(sides[s], c.ratio);
  }
  c.difference = analysis_difference_interval(a, b, ANALYSIS_AGGREGATE_MEAN, range, 0.95);
  c.improvement = analysis_improvement_interval(a, b, 0.95);
  const bool few = isnan(c.difference.low);
  if (few) c.improvement.low = c.improvement.high = NAN;
  c.seeds_needed = analysis_seeds_needed(c.ratio ? log(c.difference.center) : c.difference.center, spread[0],
                                         spread[1], c.tasks, 0.95, 0.8);
  if (c.seeds_needed && c.seeds_needed < ANALYSIS_INTERVAL_RUNS_MIN) c.seeds_needed = ANALYSIS_INTERVAL_RUNS_MIN;
  judge(&c, few, spread[0] == 0 && spread[1] == 0, measure);
  return c;
}

static void print_side(CoreTable *table, const char *name, const Side *side, const Comparison *c, int s) {
  char text[64];
  core_table_cell(table, "%s: %s", name, side->text);
  core_table_cell(table, "%zu", side->used);
  analysis_format_interval(c->mean[s], text, sizeof text);
  core_table_cell(table, "%s", text);
  analysis_format_interval(c->iqm[s], text, sizeof text);
  core_table_cell(table, "%s", text);
  analysis_format_number(c->sd[s], text, sizeof text);
  core_table_cell(table, "%s", text);
}

static void print_left_out(const char *name, const Side *side) {
  if (side->broken)
    printf("%s: %zu runs diverged or failed and count with the score of their untrained policy\n", name, side->broken);
  if (side->siblings)
    printf("%s: runs that started from the same checkpoint count as one, with their mean: %zu fewer\n", name,
           side->siblings);
  if (side->unfinished + side->without + side->elsewhere == 0) return;
  printf("%s excludes %zu unfinished runs, %zu without a value, %zu on tasks that the other side lacks\n",
         name, side->unfinished, side->without, side->elsewhere);
  if (side->censored)
    printf("%s: %zu of these were stopped by rule (censored), mostly the worse ones, which biases the rest upward; "
           "--budget N compares at N transitions, which more runs have reached\n", name, side->censored);
}

static void print_answer(const Side *a, const Side *b, const Comparison *c, AnalysisMeasure measure) {
  static const char *const headers[] = {"runs of", "n", "mean [95 %]", "IQM [95 %]", "sd"};
  char text[64];
  CoreTable *table = core_table_create(headers, sizeof headers / sizeof *headers);
  print_side(table, "A", a, c, 0);
  print_side(table, "B", b, c, 1);
  core_table_print(table, stdout);
  core_table_destroy(&table);
  printf("\n%s, %zu task%s\n", analysis_measure_label(measure), c->tasks, c->tasks == 1 ? "" : "s");
  analysis_format_interval(c->difference, text, sizeof text);
  printf("%s: %s\n", c->ratio ? "A / B" : "A - B", text);
  analysis_format_interval(c->improvement, text, sizeof text);
  printf("P(A > B): %s\n%s", text, c->verdict);
  if (c->seeds_needed)
    printf("; a difference of this size needs %zu seeds per side (95 %%, power 0.8)", c->seeds_needed);
  else if (isfinite(c->sd[0]) && isfinite(c->sd[1])) printf("; no number of seeds up to 10000 detects this difference");
  printf("\n");
  print_left_out("A", a);
  print_left_out("B", b);
}

static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *interval_json(AnalysisInterval i) {
  return json_pack("{s:o, s:o, s:o}", "estimate", number(i.center), "low", number(i.low), "high", number(i.high));
}

static json_t *side_json(const Side *side, const Comparison *c, int s) {
  json_t *text = core_json_text(side->text);
  return json_pack("{s:o, s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I}", "runs_of", text ? text : json_null(), "n",
                   (json_int_t)side->used, "mean", interval_json(c->mean[s]), "iqm", interval_json(c->iqm[s]), "sd",
                   number(c->sd[s]), "unfinished", (json_int_t)side->unfinished, "censored",
                   (json_int_t)side->censored, "without_value", (json_int_t)side->without, "other_tasks",
                   (json_int_t)side->elsewhere, "broken", (json_int_t)side->broken, "siblings",
                   (json_int_t)side->siblings);
}

static void print_json(const Side *a, const Side *b, const Comparison *c, AnalysisMeasure measure) {
  json_t *root = json_pack("{s:s, s:o, s:o, s:I, s:o, s:o, s:s, s:o}", "measure", analysis_measure_name(measure),
                           "a", side_json(a, c, 0), "b", side_json(b, c, 1), "tasks", (json_int_t)c->tasks,
                           c->ratio ? "ratio" : "difference", interval_json(c->difference), "improvement",
                           interval_json(c->improvement), "verdict", c->verdict, "seeds_needed",
                           c->seeds_needed ? json_integer((json_int_t)c->seeds_needed) : json_null());
  core_json_print(root);
}

static int answer(StoreDatabase *database, const Request *request, Side *a, Side *b) {
  AnalysisMeasure measure;
  TRY(analysis_measure_find(request->measure, &measure));
  TRY(read_side(database, request, measure, a));
  TRY(read_side(database, request, measure, b));
  adopt_task(a, b);
  adopt_task(b, a);
  TRY(check_disjoint(a, b));
  TRY(check_codes(a, b));
  const char **tasks = core_memory_allocate((a->selection.count + 1) * sizeof *tasks);
  size_t count = common_tasks(a, b, measure, tasks);
  if (count > 0) {
    AnalysisScores x = gather(a, tasks, count, measure), y = gather(b, tasks, count, measure);
    const AnalysisRange of_a = analysis_measure_range(measure, a->measured, NULL, a->selection.count);
    const AnalysisRange of_b = analysis_measure_range(measure, b->measured, NULL, b->selection.count);
    const AnalysisRange range = isinf(of_a.low) ? of_a : of_b;
    if (analysis_measure_is_score(measure) && mixes(a, b, tasks, count, measure)) {
      free(tasks);
      return core_error(CORE_FAIL, "--measure %s: a mean over tasks would mix solve rates with returns; compare "
                        "final_return, or choose tasks with --where env.task=...", request->measure);
    }
    fill_worst(a, b, count, range);
    Comparison c = compare(&x, &y, range, measure);
    if (request->json) print_json(a, b, &c, measure);
    else print_answer(a, b, &c, measure);
  }
  free(tasks);
  if (count > 0) return CORE_OK;
  return core_error(CORE_FAIL, "nothing to compare: no task has runs of both sides that have ended and measured the %s "
                    "(A: %zu runs, %zu not ended; B: %zu, %zu not ended)", analysis_measure_label(measure),
                    a->selection.count, a->unfinished, b->selection.count, b->unfinished);
}

static const CoreManual manual = {
  .usage = "analyze compare [results.db] A B",
  .about = "Compares two groups of runs, each given by settings: KEY=VALUE[,KEY=VALUE...]. No run may be in both. "
           "Prints mean and IQM with 95 % intervals, the difference (for KL and DDR the ratio) with its interval, the "
           "probability that a run of A scores higher, and the number of seeds per side that would decide.\n\n"
           "Example:\n"
           "  analyze compare results.db com=8 com=128",
  .operands_min = 2, .operands = {"DATABASE", "A", "B"}, .operands_max = 3,
  .hint = "expected two groups of runs, such as com=8 com=128, and before them the database, or none for that of the "
          "workspace"};

static int answer_request(void *asked, const char **operands, size_t count) {
  const Request *request = asked;
  if (!(request->budget >= 0)) return core_error(CORE_USAGE, "--budget: expected a number of transitions");
  if (count == 2 && !strchr(operands[0], '='))
    return core_options_usage_error(&manual, "%s is not a group of runs", operands[0]);
  Side a = {.text = operands[count - 2]}, b = {.text = operands[count - 1]};
  StoreDatabase *database = NULL;
  int code = analysis_database_open(analysis_database_path(operands, count - 2), &database);
  if (code == CORE_OK) code = answer(database, request, &a, &b);
  store_database_close(&database);
  side_free(&a);
  side_free(&b);
  return code;
}

int analysis_compare(int argc, char **argv) {
  Request request = {.measure = "final"};
  const CoreOption table[] = {
    {"measure", 'm', CORE_OPTION_TEXT, &request.measure, "NAME",
     "final, best, gain, ddr, kl, speed ... (default: final)"},
    {"budget", 0, CORE_OPTION_REAL, &request.budget, "N", "use only the first N transitions (default: all)"},
    {"sweep", 0, CORE_OPTION_TEXT, &request.sweep, "NAME[,NAME]", "only the runs of these sweeps (default: all runs)"},
    {"where", 'w', CORE_OPTION_LIST, &request.where, "KEY=VALUE", "condition on both sides"},
    {"level-set", 0, CORE_OPTION_TEXT, &request.level_set, "NAME", "evaluation levels (default: train)"},
    {"json", 0, CORE_OPTION_FLAG, &request.json, NULL, "print the result as JSON"},
    {0}};
  return core_options_run(&manual, table, argc, argv, answer_request, &request);
}
