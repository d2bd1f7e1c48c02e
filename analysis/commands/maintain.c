/* `analyze check` and `analyze merge` (store/care/maintain.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/commands.h"
#include "analysis/figures/figure.h"
#include "analysis/runs/select.h"
#include "core/command/options.h"
#include "core/json.h"
#include "core/terminal.h"
#include "core/unicode.h"
#include "store/care/maintain.h"

/* ---- check ------------------------------------------------------------------------------------------------------ */

typedef struct Report { bool json, repair; json_t *list; } Report;

static const char *const severity_names[] = {"note", "warning", "damage"};
static const char *const remedy_names[] = {"", "deleted", "recomputed", "logs are imported again"};

static void tell(void *context, const StoreFinding *finding) {
  static const CoreColor colors[] = {CORE_DIM, CORE_YELLOW, CORE_RED};
  Report *report = context;
  if (report->json) {
    json_t *text = core_json_text(finding->text); /* NULL if the database contains invalid UTF-8 */
    json_array_append_new(report->list,
                          json_pack("{s:s, s:s, s:o, s:b, s:s}", "severity", severity_names[finding->severity],
                                    "subject", finding->subject, "text", text ? text : json_null(), "repairable",
                                    finding->repairable, "done", remedy_names[finding->remedy]));
    return;
  }
  printf("%s%-7s%s  %s: %s%s%s%s\n", core_terminal_color(stdout, colors[finding->severity]),
         severity_names[finding->severity], core_terminal_reset(stdout), finding->subject, finding->text,
         finding->remedy ? " (" : "", remedy_names[finding->remedy], finding->remedy ? ")" : "");
}

static void print_summary(const StoreCheck *check, const Report *report, const char *path) {
  printf("%lld runs, %lld iterations, %lld evaluations, %lld run logs looked at: %lld damaged, %lld warnings\n",
         (long long)check->runs, (long long)check->iterations, (long long)check->evaluations, (long long)check->logs,
         (long long)check->findings[STORE_DAMAGE], (long long)check->findings[STORE_WARNING]);
  if (!report->repair && check->repairable > 0)
    core_unicode_print(stdout, "%lld of them can be mended: analyze check --repair %s\n",
                       (long long)check->repairable, path);
  if (report->repair) printf("%lld mended\n", (long long)check->repaired);
}

/* Makes a backup, repairs the rows, then imports again. */
static int repair(StoreDatabase *database, const char *path, const char *root, Report *report, StoreCheck *check) {
  char copy[CORE_PATH_MAX];
  TRY(core_files_path(copy, "%s.before-repair", path));
  TRY(store_backup(database, copy));
  core_unicode_print(stderr, "note: the file as it was is kept as %s\n", copy);
  TRY(store_check(database, root, true, tell, report, check));
  StoreImport import;
  return root && check->repaired ? store_import(database, root, NULL, true, &import) : CORE_OK;
}

static int check(const char *path, Report *report) {
  char root[CORE_PATH_MAX];
  StoreDatabase *database = NULL;
  StoreCheck result = {0};
  if (!core_files_exists(path))
    return core_error(CORE_USAGE, "%s: no such file; name the results.db of a workspace", path);

  const char *logs = analysis_database_in_workspace(path, root) ? root : NULL;
  if (report->repair && !logs)
    fprintf(stderr, "note: no directory runs/ next to the database: gaps cannot be filled from run logs\n");

  TRY(store_database_open(path, !report->repair, &database));
  if (store_is_merged(database) && logs) {
    core_unicode_print(stderr,
                       "note: %s was made by analyze merge: the run logs of the workspace it lies in are not its own\n",
                       path);
    logs = NULL;
  }

  int code = report->repair ? repair(database, path, logs, report, &result)
                            : store_check(database, logs, false, tell, report, &result);
  store_database_close(&database);
  if (code != CORE_OK) return code;

  if (report->json) {
    json_t *object = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:O}", "runs", (json_int_t)result.runs, "iterations",
                               (json_int_t)result.iterations, "evaluations", (json_int_t)result.evaluations, "logs",
                               (json_int_t)result.logs, "repairable", (json_int_t)result.repairable, "repaired",
                               (json_int_t)result.repaired, "findings", report->list);
    core_json_print(object);
  } else print_summary(&result, report, path);

  int64_t left = result.findings[STORE_DAMAGE] + result.findings[STORE_WARNING] - result.repaired;
  if (result.shorter > 0)
    return core_error(CORE_FAIL, "%lld run log%s shorter than what was imported; the rows are kept",
                      (long long)result.shorter, result.shorter == 1 ? " is" : "s are");
  return left > 0 && result.findings[STORE_DAMAGE] > 0 && !report->repair
           ? core_error(CORE_FAIL, "%s is damaged", path) : CORE_OK;
}

static int answer_check(void *given, const char **operands, size_t count) {
  Report *report = given;
  report->list = json_array();
  int code = check(analysis_database_path(operands, count), report);
  json_decref(report->list);
  return code;
}

int analysis_check(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "analyze check [results.db] [--repair]",
    .about = "Checks for damage of the file, orphaned rows, gaps in iterations, runs with fewer rows than their state "
             "records, invalid values, and run logs that are missing, truncated or changed since their import. Changes "
             "nothing without --repair.\n\n"
             "Exit status: 0 intact or repaired (possibly with warnings), 1 damaged, or a run log was truncated after "
             "its import (its rows are kept).",
    ANALYSIS_ONE_DATABASE};
  Report report = {0};
  const CoreOption table[] = {
    {"repair", 0, CORE_OPTION_FLAG, &report.repair, NULL,
     "delete orphaned rows, and import the logs of runs with gaps again; keeps a backup of the file"},
    {"json", 0, CORE_OPTION_FLAG, &report.json, NULL, "print the findings as JSON"},
    {0}};
  return core_options_run(&manual, table, argc, argv, answer_check, &report);
}

/* ---- merge ------------------------------------------------------------------------------------------------------ */

/* Refuses to write to a source, under whatever name. */
static int refuse_same_file(const char *output, const char *source) {
  char *first = realpath(output, NULL), *second = realpath(source, NULL);
  bool same = first && second && strcmp(first, second) == 0;
  free(first);
  free(second);
  return same ? core_error(CORE_USAGE, "%s is both a source and the output; name another file with -o", source)
              : CORE_OK;
}

static json_t *merge_json(const StoreMerge *merge, const char *path) {
  json_t *name = core_json_text(path);
  return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "source", name ? name : json_null(), "runs_added",
                   (json_int_t)merge->runs_added, "runs_replaced", (json_int_t)merge->runs_replaced, "runs_kept",
                   (json_int_t)merge->runs_kept, "iterations", (json_int_t)merge->iterations, "evaluations",
                   (json_int_t)merge->evaluations, "sweeps", (json_int_t)merge->sweeps, "sweeps_renamed",
                   (json_int_t)merge->renamed_sweeps);
}

/* Merges one database. list: for --json, else NULL. */
static int merge_one(StoreDatabase *target, const char *path, json_t *list) {
  StoreDatabase *source = NULL;
  StoreMerge merge = {0};
  TRY(store_database_open(path, true, &source));
  int code = store_merge(target, source, &merge);
  store_database_close(&source);
  if (code != CORE_OK) return core_error_context(code, "%s", path);
  if (list) {
    json_array_append_new(list, merge_json(&merge, path));
    return CORE_OK;
  }
  core_unicode_print(stdout,
                     "%s: %lld runs added, %lld replaced (with more progress), %lld kept; %lld iterations, "
                     "%lld evaluations, "
                     "%lld sweeps", path, (long long)merge.runs_added, (long long)merge.runs_replaced,
                     (long long)merge.runs_kept, (long long)merge.iterations, (long long)merge.evaluations,
                     (long long)merge.sweeps);
  if (merge.renamed_sweeps) printf(" (%lld renamed: another experiment file)", (long long)merge.renamed_sweeps);
  printf("\n");
  return CORE_OK;
}

static const CoreManual merge_manual = {
  .usage = "analyze merge a.db b.db ... -o all.db",
  .about = "Adds the sweeps and runs of each database to the output; the sources are only read. A new output is marked "
           "as merged: nothing is imported into it from a workspace. A run in several databases is taken from the one "
           "where it has progressed further, so that merging again changes nothing. A sweep name with different "
           "experiment files becomes two sweeps.",
  .operands_min = 1, .operands = {"DATABASE"}, .operands_max = SIZE_MAX,
  .hint = "expected databases and an output"};

typedef struct MergeRequest { const char *output; bool json; } MergeRequest;

static int merge(void *given, const char **operands, size_t count) {
  const MergeRequest *request = given;
  const char *output = request->output;
  if (!output) return core_options_usage_error(&merge_manual, "missing -o");
  for (size_t i = 0; i < count; i++) {
    if (!core_files_exists(operands[i])) return core_error(CORE_USAGE, "%s: no such file", operands[i]);
    TRY(refuse_same_file(output, operands[i]));
  }
  StoreDatabase *target = NULL;
  json_t *list = request->json ? json_array() : NULL;
  const bool is_new = !core_files_exists(output);
  int code = store_database_open(output, false, &target);
  if (code == CORE_OK && is_new) code = store_merge_begin(target); /* an existing database keeps its kind */
  for (size_t i = 0; i < count && code == CORE_OK; i++) code = merge_one(target, operands[i], list);
  if (code == CORE_OK) code = store_database_finish(&target);
  else store_database_close(&target);
  if (code == CORE_OK && list) core_json_print(list);
  else json_decref(list);
  return code;
}

int analysis_merge(int argc, char **argv) {
  MergeRequest request = {0};
  const CoreOption table[] = {
    {"output", 'o', CORE_OPTION_TEXT, &request.output, "FILE", "database to create or add to"},
    {"json", 0, CORE_OPTION_FLAG, &request.json, NULL, "print the contribution of each source as JSON"},
    {0}};
  return core_options_run(&merge_manual, table, argc, argv, merge, &request);
}
