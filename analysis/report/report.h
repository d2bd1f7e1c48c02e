/* What the page of `analyze report` shows, as JSON (report_data.c); the page itself is report_page.html. */
#ifndef ANALYSIS_REPORT_H
#define ANALYSIS_REPORT_H
#include "core/json.h"

#include "analysis/runs/group.h"
#include "analysis/runs/measures.h"
#include "core/command/options.h"

/* The chosen runs with all that the parts of the report need. */
typedef struct AnalysisReport {
  StoreDatabase *database;
  const char *path;
  AnalysisSelection selection;
  AnalysisGrouping groups;      /* configurations */
  AnalysisMeasured *measured;   /* [run] */
  const char *sweep;            /* that was asked for; NULL: all */
  const CoreOptionList *where;  /* --where */
} AnalysisReport;

/* A string value for any bytes: what is no UTF-8 is shown as '?'. NULL is null. */
json_t *analysis_report_text(const char *text);
/* A number, or null for NaN and infinities. */
json_t *analysis_report_number(double value);

/* `prefix` and the bytes in base64; free it. */
char *analysis_report_base64(const char *prefix, const char *bytes, size_t size);

/* Each sets its keys of the root object (named in report_page.html). */
int analysis_report_add_runs(const AnalysisReport *report, json_t *root);        /* runs, configurations, differences */
int analysis_report_add_curves(const AnalysisReport *report, json_t *root);      /* curves */
int analysis_report_add_claims(const AnalysisReport *report, json_t *root);      /* claims */
int analysis_report_add_provenance(const AnalysisReport *report, json_t *root);  /* tiles, sweeps, provenance */
void analysis_report_add_videos(const AnalysisReport *report, json_t *root);     /* videos */
/* Draws every figure that the data allow into <folder>/figures; arguments: as the user gave them ("--sweep" ...). */
int analysis_report_add_figures(const AnalysisReport *report, const char *folder, const char *const *arguments,
                                size_t argument_count, json_t *root);

#endif
