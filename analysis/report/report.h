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
  AnalysisRunMetrics *measured;   /* [run] */
  const char *sweep;            /* that was asked for; NULL: all */
  const CoreOptionList *where;  /* --where */
} AnalysisReport;

/* A string value for any bytes: what is no UTF-8 is shown as '?'. NULL is null. */
json_t *analysis_report_text(const char *text);
/* A number, or null for NaN and infinities. */
json_t *analysis_report_number(double value);

/* `prefix` and the bytes in base64; free it. */
char *analysis_report_base64(const char *prefix, const char *bytes, size_t size);

/* Opens a report on the runs of a sweep (NULL: of all) that meet the conditions. The caller closes it with
 * analysis_report_close, also after an error. */
int analysis_report_open(AnalysisReport *report, StoreDatabase *database, const char *path, const char *sweep,
                         const CoreOptionList *where);
void analysis_report_close(AnalysisReport *report); /* not the database */

/* Each sets its keys of the root object, or of a section of it (named in report_page.html). */
int analysis_report_add_runs(const AnalysisReport *report, json_t *root);        /* runs */
void analysis_report_add_configurations(const AnalysisReport *report, json_t *section); /* configurations, differences,
                                                                                           shared_settings */
int analysis_report_add_curves(const AnalysisReport *report, json_t *section);   /* curves */
/* Sets sections: one for each sweep that has some of the runs, or a single one. folder: NULL leaves out the figures. */
int analysis_report_add_sections(const AnalysisReport *report, const char *folder, json_t *root);
int analysis_report_add_claims(const AnalysisReport *report, json_t *root);      /* claims */
int analysis_report_add_provenance(const AnalysisReport *report, json_t *root);  /* tiles, sweeps, provenance */
void analysis_report_add_videos(const AnalysisReport *report, json_t *root);     /* videos */
/* Draws every figure that the data allow into <folder>/figures: figures, missing_figures. */
int analysis_report_add_figures(const AnalysisReport *report, const char *folder, json_t *section);

#endif
