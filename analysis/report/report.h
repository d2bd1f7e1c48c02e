/* Data of the page of `analyze report` as JSON (report_data.c); the page itself is report_page.html. */
#ifndef ANALYSIS_REPORT_H
#define ANALYSIS_REPORT_H
#include "core/json.h"

#include "analysis/runs/group.h"
#include "analysis/runs/measures.h"
#include "core/command/options.h"

/* Selected runs, with everything that the parts of the report need. */
typedef struct AnalysisReport {
  StoreDatabase *database;
  const char *path;
  AnalysisSelection selection;
  AnalysisGrouping groups;      /* configurations */
  AnalysisRunMetrics *measured;   /* [run] */
  const char *sweep;            /* requested sweep; NULL: all */
  const CoreOptionList *where;  /* --where */
} AnalysisReport;

/* Returns a string; invalid UTF-8 becomes '?'. NULL is null. */
json_t *analysis_report_text(const char *text);
/* Returns a number, or null for NaN and infinities. */
json_t *analysis_report_number(double value);

/* Returns `prefix` and the bytes in base64; free() it. */
char *analysis_report_base64(const char *prefix, const char *bytes, size_t size);

/* Opens a report on the runs of a sweep (NULL: all) that meet the conditions. Close it with analysis_report_close,
 * also after an error. */
int analysis_report_open(AnalysisReport *report, StoreDatabase *database, const char *path, const char *sweep,
                         const CoreOptionList *where);
void analysis_report_close(AnalysisReport *report); /* keeps the database open */

/* Each sets its keys of the root object, or of a section of it (named in report_page.html). */
int analysis_report_add_runs(const AnalysisReport *report, json_t *root);        /* runs */
void analysis_report_add_configurations(const AnalysisReport *report, json_t *section); /* configurations, differences,
                                                                                           shared_settings */
int analysis_report_add_curves(const AnalysisReport *report, json_t *section);   /* curves */
/* Adds sections: one for each sweep that has some of the runs, or a single one. directory NULL: without figures. */
int analysis_report_add_sections(const AnalysisReport *report, const char *directory, json_t *root);
int analysis_report_add_claims(const AnalysisReport *report, json_t *root);      /* claims */
int analysis_report_add_provenance(const AnalysisReport *report, json_t *root);  /* tiles, sweeps, provenance */
void analysis_report_add_videos(const AnalysisReport *report, json_t *root);     /* videos */
/* Makes every figure that the data allow in <directory>/figures: figures, missing_figures. */
int analysis_report_add_figures(const AnalysisReport *report, const char *directory, json_t *section);

#endif
