/* `analyze report results.db -o DIR`: a self-contained page DIR/index.html. The page (report_page.html) is compiled
 * in; its data are one JSON value, built by report_data.c, report_sections.c, report_curves.c and report_videos.c. */
#include "analysis/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/commands.h"
#include "analysis/figures/figure.h"
#include "analysis/plot/page.h"
#include "analysis/runs/codes.h"
#include "core/command/options.h"
#include "core/embed.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/unicode.h"

CORE_EMBED(analysis_report_page, "analysis/report/report_page.html");
CORE_EMBED(analysis_report_style, "analysis/report/report.css");
CORE_EMBED(analysis_report_script, "analysis/report/report.js");

/* Appends JSON for a <script> element, escaping '<' (which could end the element) and everything that a browser
 * could interpret as markup. */
static void append_script_json(CoreText *page, const json_t *root) {
  char *text = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
  for (const char *c = text; c && *c;) {
    size_t plain = strcspn(c, "<>&");
    core_text_append_bytes(page, c, plain);
    c += plain;
    if (*c) core_text_appendf(page, "\\u%04x", (unsigned)(unsigned char)*c++);
  }
  free(text);
}

/* Appends the page with its style, its data and its script. */
static void build_page(const json_t *root, CoreText *page) {
  CoreText style = {0}, data = {0}, script = {0};
  analysis_page_append_style(&style);
  core_text_append(&style, analysis_report_style);
  append_script_json(&data, root);
  analysis_page_append_script(&script);
  core_text_append(&script, analysis_report_script);

  const char *rest = analysis_page_fill(analysis_report_page, "@STYLE@", &style, page);
  rest = analysis_page_fill(rest, "@DATA@", &data, page);
  core_text_append(page, analysis_page_fill(rest, "@SCRIPT@", &script, page));

  core_text_free(&style);
  core_text_free(&data);
  core_text_free(&script);
}

static int write_page(const char *directory, const json_t *root, bool json) {
  char path[CORE_PATH_MAX];
  CoreText page = {0};
  build_page(root, &page);

  int code = core_files_path(path, "%s/index.html", directory);
  if (code == CORE_OK) code = core_files_write_atomic(path, page.data, page.length);
  if (code == CORE_OK && json)
    core_json_print(json_pack("{s:o, s:I}", "file", analysis_report_text(path), "bytes", (json_int_t)page.length));
  else if (code == CORE_OK) core_unicode_print(stdout, "%s  %.1f MB\n", path, 1e-6 * (double)page.length);
  core_text_free(&page);
  return code;
}

typedef struct Request {
  const char *sweep, *directory, *title;
  CoreOptionList where;
  bool no_figures, json;
} Request;

/* Adds the requested title, or the name of the sweep if all runs are of one. */
static void add_title(const AnalysisReport *report, const Request *request, json_t *root) {
  const json_t *sweeps = json_object_get(root, "sweeps"), *only = json_array_get(sweeps, 0);
  const char *title = request->title ? request->title : request->sweep;
  const bool all_of_it = json_array_size(sweeps) == 1 &&
                         json_number_value(json_object_get(only, "runs")) >= (double)report->selection.count;
  if (!title && all_of_it) title = json_string_value(json_object_get(only, "name"));
  json_object_set_new(root, "title", analysis_report_text(title ? title : "Results"));
}

static int fill_report(const AnalysisReport *report, const Request *request, json_t *root) {
  AnalysisContext context = {.selection = report->selection, .configurations = report->groups};
  CoreText summary = {0};
  analysis_describe_runs(&context, &summary);
  core_text_append(&summary, ".");
  json_object_set_new(root, "subtitle", analysis_report_text(report->selection.filter));
  json_object_set_new(root, "summary", analysis_report_text(core_text_string(&summary)));
  core_text_free(&summary);
  TRY(analysis_report_add_runs(report, root));
  TRY(analysis_report_add_claims(report, root));
  TRY(analysis_report_add_provenance(report, root));
  analysis_report_add_videos(report, root);
  add_title(report, request, root);
  return analysis_report_add_sections(report, request->no_figures ? NULL : request->directory, root);
}

static int make_report(const char *path, const Request *request) {
  AnalysisReport report = {0};
  StoreDatabase *database = NULL;
  json_t *root = json_object();
  int code = analysis_database_open(path, &database);
  analysis_database_keep();
  if (code == CORE_OK) code = analysis_report_open(&report, database, path, request->sweep, &request->where);
  if (code == CORE_OK) analysis_codes_warn(&report.selection);
  if (code == CORE_OK) code = core_files_make_directories(request->directory);
  if (code == CORE_OK) code = fill_report(&report, request, root);
  if (code == CORE_OK) code = write_page(request->directory, root, request->json);
  json_decref(root);
  analysis_report_close(&report);
  store_database_close(&database);
  return code;
}

static const CoreManual manual = {
  .usage = "analyze report [results.db] [-o DIR]",
  .about = "Writes one self-contained HTML page. Each sweep has a section with interactive curves, every figure that "
           "its runs allow, and its configurations with their differences. Then follow videos (eval.video_every), "
           "claims of the papers whose experiments have run, runs, failures and provenance. Of more than 5000 runs, "
           "only those are listed that failed, diverged, were lost or stopped, or have a tag, note or pin.",
  ANALYSIS_ONE_DATABASE};

static int answer(void *request, const char **operands, size_t count) {
  return make_report(analysis_database_path(operands, count), request);
}

int analysis_report(int argc, char **argv) {
  Request request = {.directory = "report"};
  const CoreOption table[] = {
    {"output", 'o', CORE_OPTION_TEXT, &request.directory, "DIR", "output directory of index.html (default: report)"},
    {"sweep", 0, CORE_OPTION_TEXT, &request.sweep, "NAME", "only the runs of this sweep (default: all runs)"},
    {"where", 'w', CORE_OPTION_LIST, &request.where, "KEY=VALUE", "only runs with this setting"},
    {"title", 0, CORE_OPTION_TEXT, &request.title, "TEXT",
     "the page's title (default: the sweep's name, and Results where there are several)"},
    {"no-figures", 0, CORE_OPTION_FLAG, &request.no_figures, NULL, "omit the figures (no gnuplot needed)"},
    {"json", 0, CORE_OPTION_FLAG, &request.json, NULL, "print the path and size of the page as JSON"},
    {0}};
  return core_options_run(&manual, table, argc, argv, answer, &request);
}
