/* Prints the claims (claims.h) as text or JSON for `analyze claims`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/claims.h"
#include "analysis/claims/plans.h"
#include "analysis/claims/tests.h"
#include "analysis/commands.h"
#include "analysis/figures/figure.h"
#include "core/command/options.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/terminal.h"

static CoreColor verdict_color(AnalysisVerdict verdict) {
  return verdict == ANALYSIS_SUPPORTED ? CORE_GREEN : verdict == ANALYSIS_CONTRADICTED ? CORE_RED : CORE_YELLOW;
}

/* Returns the scale of the interval. */
static AnalysisComparison shown_scale(const AnalysisClaimResult *f) {
  return analysis_test_is_of_ranks(f->claim->test) ? ANALYSIS_BY_DIFFERENCE : f->comparison;
}

/* Writes an interval, or its center if it has no bounds, on its scale. */
static void format_interval(AnalysisComparison scale, AnalysisInterval interval, char text[64]) {
  const AnalysisInterval shown = {analysis_comparison_shown(scale, interval.center),
                                  analysis_comparison_shown(scale, interval.low),
                                  analysis_comparison_shown(scale, interval.high), interval.n};
  if (isnan(shown.low)) snprintf(text, 64, "%.3g", shown.center);
  else analysis_format_interval(shown, text, 64);
}

/* Appends each task's result. */
static void append_tasks(const AnalysisClaimResult *f, CoreText *text) {
  const AnalysisComparison scale = shown_scale(f);
  for (size_t i = 0; i < f->task_count; i++) {
    const AnalysisTaskResult *task = &f->tasks[i];
    char interval[64];
    format_interval(scale, task->interval, interval);
    core_text_appendf(text, "%s%s: %s, p = %.2g for and %.2g against", i > 0 ? "; " : "", task->label, interval,
                      task->p_for, task->p_against);
  }
}

/* Appends the test: statistic, value, claimed direction and amount of data. */
static void append_test(const AnalysisClaimResult *f, CoreText *text) {
  char interval[64];
  const AnalysisComparison scale = shown_scale(f);
  core_text_appendf(text, "%s of the %s: ", f->statistic, analysis_measure_label(f->claim->measure));

  if (isnan(f->interval.center)) {
    core_text_appendf(text, "%s. Data: %s", f->reason, f->claim->data);
  } else {
    format_interval(scale, f->interval, interval);
    const char *claimed = scale == ANALYSIS_BY_RATIO && strcmp(f->direction + 1, " 0") == 0
                            ? f->direction[0] == '>' ? "> 1" : "< 1" : f->direction;
    core_text_appendf(text, "%s%s, claimed %s", analysis_comparison_prefix(scale), interval, claimed);

    const char *condition = analysis_test_info(f->claim->test)->condition;
    if (isfinite(f->margin) && !analysis_test_is_plateau(f->claim->test))
      core_text_appendf(text, " beyond %.3g", analysis_comparison_shown(scale, f->margin));
    if (condition && !isnan(f->condition.center)) {
      analysis_format_interval(f->condition, interval, sizeof interval);
      core_text_appendf(text, "; %.*s: %s%s", (int)strcspn(condition, ","), condition, interval,
                        condition + strcspn(condition, ","));
    }
    core_text_appendf(text, ", p = %.2g for and %.2g against it; %zu runs, %zu configurations, %zu comparisons",
                      f->p_for, f->p_against, f->runs, f->cells, f->strata);
  }

  if (f->verdict == ANALYSIS_UNDECIDED && !isnan(f->interval.center)) {
    const bool is_final = f->censored || f->codes || f->disagree || f->unseen || f->is_not_seen;
    if (is_final) core_text_appendf(text, "; %s", f->reason);
    else if (f->more_seeds)
      core_text_appendf(text, "; %s: about %zu seeds would decide (power 0.5)", f->reason, f->more_seeds);
    else core_text_appendf(text, "; %s, and more seeds would hardly help", f->reason);
  }

  if (f->claim->can && f->range[0]) core_text_appendf(text, "; tested range: %s", f->range);
  if (f->note[0]) core_text_appendf(text, "; %s", f->note);
  if (f->diverged) core_text_appendf(text, "; %zu diverged, counted as untrained", f->diverged);
  if (f->failed) core_text_appendf(text, "; %zu failed, counted as untrained", f->failed);
  if (f->unfinished) core_text_appendf(text, "; %zu unfinished", f->unfinished);
  if (f->censored) core_text_appendf(text, ", %zu of them stopped by rule (censored, not used)", f->censored);
  if (f->missing) core_text_appendf(text, "; %zu without the measure", f->missing);

  if (f->mixed)
    core_text_appendf(text, "; %zu configurations excluded, in which other settings change with %s", f->mixed,
                      f->claim->key);
}

static void print_claim(const AnalysisClaimResult *f, CoreText *text) {
  printf("%s%-12s%s", core_terminal_color(stdout, verdict_color(f->verdict)), analysis_verdict_name(f->verdict),
         core_terminal_reset(stdout));
  core_text_clear(text);
  core_text_appendf(text, "%s Fig. %s: %s.", f->claim->paper, f->claim->figure, f->claim->sentence);
  core_terminal_print_wrapped(stdout, core_text_string(text), 14, 12);

  core_text_clear(text);
  append_test(f, text);
  core_terminal_print_wrapped(stdout, core_text_string(text), 14, 0);
  if (f->task_count == 0) return;
  core_text_clear(text);
  append_tasks(f, text);
  core_terminal_print_wrapped(stdout, core_text_string(text), 14, 0);
}

/* Numbers of claims by verdict, before and after Holm's correction. */
typedef struct Totals {
  size_t alone[3], together[3];
  size_t tested;               /* claims that the correction counts */
  size_t without_runs;         /* claims that are not printed */
  size_t others;               /* claims with runs that --claim leaves out */
  int looks;
} Totals;

/* Sets the numbers of the printed claims. is_corrected: the results are already. */
static void count_verdicts(const AnalysisClaimResult *list, size_t count, bool is_corrected, Totals *totals) {
  AnalysisClaimResult *copy = core_memory_allocate((count + 1) * sizeof *copy);
  memcpy(copy, list, count * sizeof *copy);
  for (size_t i = 0; i < count; i++) totals->alone[list[i].verdict]++;
  for (size_t i = 0; i < count; i++) totals->looks = list[i].looks > totals->looks ? list[i].looks : totals->looks;

  if (is_corrected)
    for (size_t i = 0; i < count; i++) totals->tested += !isnan(list[i].p_for);
  else totals->tested = analysis_claims_correct(copy, count);
  for (size_t i = 0; i < count; i++) totals->together[copy[i].verdict]++;
  free(copy);
}

static void append_verdicts(const size_t verdicts[3], CoreText *text) {
  core_text_appendf(text, "%zu supported, %zu contradicted, %zu undecided", verdicts[ANALYSIS_SUPPORTED],
                    verdicts[ANALYSIS_CONTRADICTED], verdicts[ANALYSIS_UNDECIDED]);
}

/* Prints a paragraph, and empties the text. */
static void print_paragraph(CoreText *text) {
  core_terminal_print_wrapped(stdout, core_text_string(text), 0, 0);
  core_text_clear(text);
}

static void print_totals(const Totals *totals, size_t count, bool is_corrected) {
  CoreText text = {0};
  core_text_appendf(&text, "%zu claims: ", count);
  append_verdicts(is_corrected ? totals->together : totals->alone, &text);
  if (is_corrected) {
    core_text_appendf(&text, "; p and verdicts are Holm's, over the %zu that could be tested", totals->tested);
  } else if (totals->tested > 1) {
    core_text_append(&text, "; each by itself is wrong in at most 5 % of cases. ");
    core_text_appendf(&text, "With Holm's correction over the %zu that could be tested (--correct): ", totals->tested);
    append_verdicts(totals->together, &text);
  }

  printf("\n");
  print_paragraph(&text);

  if (totals->others) {
    core_text_appendf(&text, "%zu more claims have runs here; a page that reports some corrects over all of them: omit "
                      "--claim", totals->others);
    print_paragraph(&text);
  }
  if (totals->without_runs) {
    core_text_appendf(&text, "%zu more claims have no runs here; --list prints them and the experiments that they need",
                      totals->without_runs);
    print_paragraph(&text);
  }
  if (totals->looks > 1) {
    core_text_appendf(&text, "claims of extended sweeps are tested at %d looks: one-sided p <= 0.0147 at two (Pocock "
                      "1977); --looks N", totals->looks);
    print_paragraph(&text);
  }

  core_text_free(&text);
}

static void print_text(const AnalysisClaimResult *list, size_t count, const Totals *totals, bool is_corrected,
                       const AnalysisPlans *plans) {
  CoreText text = {0};
  bool has_runs = false;
  for (size_t i = 0; i < count; i++) {
    print_claim(&list[i], &text);
    has_runs = has_runs || analysis_claim_has_runs(&list[i]);
  }

  print_totals(totals, count, is_corrected);
  if (!has_runs) printf("no run belongs to the papers' experiments; --sweep NAME uses all runs of a sweep\n");
  for (size_t i = 0; i < plans->count; i++) {
    core_text_clear(&text);
    core_text_append(&text, "plan ");
    analysis_plan_describe(&plans->plan[i], &text);
    print_paragraph(&text);
  }

  core_text_free(&text);
}

static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *tasks_json(const AnalysisClaimResult *f) {
  json_t *list = json_array();
  for (size_t i = 0; i < f->task_count; i++) {
    const AnalysisTaskResult *task = &f->tasks[i];
    json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "task", task->label, "estimate",
                                          number(task->interval.center), "low", number(task->interval.low), "high",
                                          number(task->interval.high), "p_for", number(task->p_for), "p_against",
                                          number(task->p_against)));
  }
  return list;
}

/* Returns the claim itself, without a result. */
static json_t *description_json(const AnalysisClaim *c) {
  const char *limit = analysis_claim_limit(c);
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "id", c->id, "paper", c->paper,
                   "figure", c->figure, "sentence", c->sentence, "data", c->data, "where", c->where, "test",
                   c->test_name, "key", c->key, "second", c->second, "measure", analysis_measure_name(c->measure),
                   "test_limit", analysis_test_limit(c->test), "limit", limit ? json_string(limit) : json_null());
}

static json_t *claim_json(const AnalysisClaimResult *f) {
  const AnalysisClaim *c = f->claim;
  json_t *object = description_json(c);

  json_t *found = json_pack(
    "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
    "s:i, s:f, s:s}", "verdict", analysis_verdict_name(f->verdict), "statistic", f->statistic, "direction",
    f->direction, "estimate", number(f->interval.center), "low", number(f->interval.low), "high",
    number(f->interval.high), "p_for", number(f->p_for), "p_against", number(f->p_against), "margin",
    number(f->margin), "scale", analysis_comparison_name(shown_scale(f)),
    "reason", f->reason, "runs", (json_int_t)f->runs, "configurations", (json_int_t)f->cells, "comparisons",
    (json_int_t)f->strata, "more_seeds", (json_int_t)f->more_seeds, "unfinished", (json_int_t)f->unfinished,
    "censored", (json_int_t)f->censored, "diverged", (json_int_t)f->diverged, "failed", (json_int_t)f->failed,
    "without_measure", (json_int_t)f->missing, "mixed", (json_int_t)f->mixed, "by_different_code",
    (json_int_t)f->codes, "looks", f->looks, "level", f->level, "note", f->note);
  json_object_update(object, found);

  const char *condition = analysis_test_info(c->test)->condition;
  json_object_set_new(object, "condition", condition ? json_string(condition) : json_null());
  json_object_set_new(object, "condition_estimate", number(f->condition.center));
  json_object_set_new(object, "condition_low", number(f->condition.low));
  json_object_set_new(object, "condition_high", number(f->condition.high));

  json_object_set_new(object, "tasks", tasks_json(f));
  json_object_set_new(object, "tasks_disagree", json_boolean(f->disagree));
  json_object_set_new(object, "can", json_boolean(c->can));
  json_object_set_new(object, "not_seen", json_boolean(f->is_not_seen));
  json_object_set_new(object, "tested_range", json_string(f->range));
  json_object_set_new(object, "failures_differ", json_boolean(f->failures_differ));

  json_decref(found);
  return object;
}

static json_t *verdicts_json(const size_t verdicts[3]) {
  json_t *object = json_object();
  for (int v = 0; v < 3; v++)
    json_object_set_new(object, analysis_verdict_name((AnalysisVerdict)v), json_integer((json_int_t)verdicts[v]));
  return object;
}

static void print_json(const AnalysisClaimResult *list, size_t count, const Totals *totals, bool is_corrected,
                       const AnalysisPlans *plans) {
  json_t *claims = json_array();
  for (size_t i = 0; i < count; i++) json_array_append_new(claims, claim_json(&list[i]));
  core_json_print(json_pack("{s:o, s:b, s:I, s:o, s:o, s:I, s:I, s:o}", "claims", claims, "corrected", is_corrected,
                            "tested", (json_int_t)totals->tested, "verdicts",
                            verdicts_json(is_corrected ? totals->together : totals->alone), "verdicts_together",
                            verdicts_json(totals->together), "without_runs", (json_int_t)totals->without_runs,
                            "left_out", (json_int_t)totals->others, "plans", analysis_plans_json(plans)));
}

typedef struct Options {
  const char *sweep;
  CoreOptionList where, claim;
  double budget;
  int64_t looks;
  bool json, correct, list;
} Options;

static void print_description(const AnalysisClaim *c, CoreText *text) {
  printf("%-12s", c->id);
  core_text_clear(text);
  core_text_appendf(text, "%s Fig. %s: %s.", c->paper, c->figure, c->sentence);
  core_terminal_print_wrapped(stdout, core_text_string(text), 14, strlen(c->id) < 12 ? 12 : (int)strlen(c->id));

  core_text_clear(text);
  core_text_appendf(text, "%s of the %s", c->test_name, analysis_measure_label(c->measure));
  if (*c->key) core_text_appendf(text, " by %s", c->key);
  if (*c->second) core_text_appendf(text, " and %s", c->second);
  core_text_appendf(text, ". Data: %s. It cannot tell %s.", c->data, analysis_test_limit(c->test));
  if (analysis_claim_limit(c)) core_text_appendf(text, " Nor can it tell %s.", analysis_claim_limit(c));
  core_terminal_print_wrapped(stdout, core_text_string(text), 14, 0);
}

/* Prints the claims of --list. CORE_USAGE: an unknown id. */
static int list_claims(const Options *request) {
  size_t count;
  const AnalysisClaim *claims = analysis_claims_list(&count);
  const AnalysisClaimsOptions wanted = {.ids = request->claim.items, .id_count = request->claim.count};
  TRY(analysis_claims_check_ids(&wanted));

  json_t *list = json_array();
  CoreText text = {0};
  for (size_t i = 0; i < count; i++) {
    if (!analysis_claim_is_selected(&wanted, &claims[i])) continue;
    if (request->json) json_array_append_new(list, description_json(&claims[i]));
    else print_description(&claims[i], &text);
  }

  core_text_free(&text);
  if (request->json) core_json_print(json_pack("{s:o}", "claims", list));
  else json_decref(list);
  return CORE_OK;
}

/* Removes claims without runs, unless the user names claims. Returns the number of the others. */
static size_t drop_without_runs(const Options *request, AnalysisClaimResult *list, size_t count, Totals *totals) {
  size_t kept = 0;
  if (request->claim.count > 0) return count;
  for (size_t i = 0; i < count; i++) {
    if (analysis_claim_has_runs(&list[i])) list[kept++] = list[i];
    else free(list[i].tasks);
  }
  totals->without_runs = count - kept;
  return kept;
}

static int run_claims(void *context, const char **operands, size_t operand_count) {
  const Options *request = context;
  StoreDatabase *database = NULL;
  AnalysisSelection selection = {0};
  AnalysisClaimResult *list = NULL;
  AnalysisPlans plans = {0};
  Totals totals = {.looks = 1};
  size_t count = 0;
  const char *path = analysis_database_path(operands, operand_count);
  char root[CORE_PATH_MAX];
  if (request->list) return list_claims(request);
  if (request->looks < 0 || request->looks > ANALYSIS_LOOKS_MAX)
    return core_error(CORE_USAGE, "--looks: expected 1 to %d", ANALYSIS_LOOKS_MAX);
  if (!(request->budget >= 0)) return core_error(CORE_USAGE, "--budget: expected a positive number of transitions");

  TRY(analysis_database_open(path, &database));
  int code = analysis_select_with_copies(database, request->sweep, request->where.items, request->where.count,
                                         &selection);
  if (code != CORE_OK) core_error_context(code, "%s", path);
  const AnalysisClaimsOptions claims = {
    .ids = request->claim.items, .id_count = request->claim.count, .correct = request->correct,
    .all_runs = analysis_claims_use_all_runs(request->sweep), .budget = request->budget, .looks = request->looks,
    .others = &totals.others, .root = analysis_database_in_workspace(path, root) ? root : NULL};
  if (code == CORE_OK) code = analysis_claims_evaluate(database, &selection, &claims, &list, &count);
  if (code == CORE_OK) code = analysis_plans_read(database, request->sweep, &plans);

  if (code == CORE_OK) {
    count = drop_without_runs(request, list, count, &totals);
    count_verdicts(list, count, request->correct, &totals);
    if (request->json) print_json(list, count, &totals, request->correct, &plans);
    else print_text(list, count, &totals, request->correct, &plans);
  }

  analysis_plans_free(&plans);
  analysis_claims_free(&list, count);
  analysis_selection_free(&selection);
  store_database_close(&database);
  return code;
}

int analysis_claims(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "analyze claims [results.db]",
    .about = "Tests each claim of the three papers that has runs: supported, contradicted or "
             "undecided, with the statistic, the probability of such data if the claim, or its opposite, were false, "
             "and the number of seeds that would decide it. Runs are compared only if all settings except the studied "
             "one are equal. Diverged and failed runs count with the score of an untrained policy. Unfinished runs are "
             "reported but not used; if a [stop] rule ended some, there is no verdict without --budget. With --sweep, "
             "all runs of a sweep that is not of the papers count for every claim.",
    ANALYSIS_ONE_DATABASE};

  Options request = {0};
  const CoreOption table[] = {
    {"sweep", 0, CORE_OPTION_TEXT, &request.sweep, "NAME", "only the runs of this sweep (default: all runs)"},
    {"where", 'w', CORE_OPTION_LIST, &request.where, "KEY=VALUE", "only runs with this setting"},
    {"claim", 0, CORE_OPTION_LIST, &request.claim, "ID", "only this claim (com_low); may be given several times"},
    {"budget", 0, CORE_OPTION_REAL, &request.budget, "N",
     "compare runs at N transitions (default: their full budgets)"},
    {"looks", 0, CORE_OPTION_INT, &request.looks, "N",
     "number of tests while seeds are added (default: 2 for extended sweeps, else 1)"},
    {"correct", 0, CORE_OPTION_FLAG, &request.correct, NULL,
     "correct the verdicts for testing all claims together (Holm 1979)"},
    {"list", 0, CORE_OPTION_FLAG, &request.list, NULL,
     "list all claims, the experiments that they need and what no verdict can tell; reads no database"},
    {"json", 0, CORE_OPTION_FLAG, &request.json, NULL, "print the claims as JSON"},
    {0}};

  return core_options_run(&manual, table, argc, argv, run_claims, &request);
}
