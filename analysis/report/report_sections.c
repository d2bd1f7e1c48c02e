/* Sections of the report (report.h), one per sweep, since settings, axes and tasks of different sweeps are not
 * comparable. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/report.h"
#include "analysis/runs/membership.h"
#include "core/error.h"
#include "core/memory.h"

static int group_and_measure(AnalysisReport *report) {
  TRY(analysis_group_runs(&report->selection, NULL, &report->groups));
  return analysis_measures_read(report->database, &report->selection, NULL, 0, &report->measured);
}

int analysis_report_open(AnalysisReport *report, StoreDatabase *database, const char *path, const char *sweep,
                         const CoreOptionList *where) {
  *report = (AnalysisReport){.database = database, .path = path, .sweep = sweep, .where = where};
  int code = analysis_select_runs(database, sweep, where->items, where->count, &report->selection);
  if (code != CORE_OK) return core_error_context(code, "%s", path);
  TRY(analysis_selection_cover(database, sweep, &report->selection));
  return group_and_measure(report);
}

void analysis_report_close(AnalysisReport *report) {
  free(report->measured);
  analysis_grouping_free(&report->groups);
  analysis_selection_free(&report->selection);
  *report = (AnalysisReport){0};
}

/* Makes the section's directory, named after the sweep, or by a number if the name has other characters. */
static int section_directory(const char *directory, const char *sweep, size_t number, char path[CORE_PATH_MAX]) {
  bool plain = *sweep && *sweep != '.' && *sweep != '-' && strlen(sweep) < 128;
  for (const char *c = sweep; *c; c++) plain = plain && (isalnum((unsigned char)*c) || strchr("._-+=", *c));
  return plain ? core_files_path(path, "%s/sweeps/%s", directory, sweep)
               : core_files_path(path, "%s/sweeps/%zu", directory, number);
}

static int fill_section(const AnalysisReport *report, const char *directory, json_t *section) {
  analysis_report_add_configurations(report, section);
  TRY(analysis_report_add_curves(report, section));
  if (directory) return analysis_report_add_figures(report, directory, section);
  json_object_set_new(section, "figures", json_array());
  json_object_set_new(section, "missing_figures", json_array());
  return CORE_OK;
}

/* Adds a section. title: "" for the only one. */
static json_t *new_section(json_t *sections, const char *title) {
  json_t *section = json_object();
  json_object_set_new(section, "title", analysis_report_text(title));
  json_array_append_new(sections, section);
  return section;
}

static int add_sweep(const AnalysisReport *report, const char *sweep, const char *directory, json_t *sections) {
  char path[CORE_PATH_MAX];
  AnalysisReport of_sweep = {0};
  int code = analysis_report_open(&of_sweep, report->database, report->path, sweep, report->where);
  if (code == CORE_OK && directory) code = section_directory(directory, sweep, json_array_size(sections) + 1, path);
  CoreText title = {0};
  core_text_appendf(&title, "Sweep %s", sweep);
  if (code == CORE_OK) code = fill_section(&of_sweep, directory ? path : NULL, new_section(sections, title.data));
  core_text_free(&title);
  analysis_report_close(&of_sweep);
  return code;
}

/* Adds runs that belong to no sweep, without figures, which select runs by sweep. */
static int add_others(const AnalysisReport *report, const AnalysisMembership *membership, json_t *sections) {
  AnalysisReport others = *report;
  others.selection.count = 0;
  others.selection.runs = core_memory_allocate((report->selection.count + 1) * sizeof *others.selection.runs);
  others.groups = (AnalysisGrouping){0};
  others.measured = NULL;

  for (size_t r = 0; r < report->selection.count; r++) {
    bool member = false;
    for (size_t s = 0; s < membership->sweeps; s++) member |= analysis_membership_has(membership, r, s);
    if (!member) others.selection.runs[others.selection.count++] = report->selection.runs[r];
  }

  int code = CORE_OK;
  if (others.selection.count > 0) {
    code = group_and_measure(&others);
    if (code == CORE_OK) code = fill_section(&others, NULL, new_section(sections, "Runs of no sweep"));
  }

  free(others.selection.runs);
  free(others.measured);
  analysis_grouping_free(&others.groups);
  return code;
}

/* Adds sections of all sweeps with runs of the selection. */
static int add_sweeps(const AnalysisReport *report, const AnalysisMembership *membership, const char *directory,
                      json_t *sections) {
  for (size_t s = 0; s < membership->sweeps; s++) {
    bool any = false;
    for (size_t r = 0; r < report->selection.count && !any; r++) any = analysis_membership_has(membership, r, s);
    if (any) TRY(add_sweep(report, membership->sweep[s], directory, sections));
  }
  return add_others(report, membership, sections);
}

static size_t count_sweeps(const AnalysisReport *report, const AnalysisMembership *membership) {
  size_t count = 0;
  bool outside = false;
  for (size_t s = 0; s < membership->sweeps; s++) {
    bool any = false;
    for (size_t r = 0; r < report->selection.count && !any; r++) any = analysis_membership_has(membership, r, s);
    count += any;
  }
  for (size_t r = 0; r < report->selection.count; r++) {
    bool member = false;
    for (size_t s = 0; s < membership->sweeps; s++) member |= analysis_membership_has(membership, r, s);
    outside |= !member;
  }
  return count + outside;
}

int analysis_report_add_sections(const AnalysisReport *report, const char *directory, json_t *root) {
  json_t *sections = json_array();
  AnalysisMembership membership = {0};
  json_object_set_new(root, "sections", sections);
  int code = CORE_OK;
  if (!report->sweep || strchr(report->sweep, ','))
    code = analysis_membership_read(report->database, &report->selection, &membership);
  if (code == CORE_OK && count_sweeps(report, &membership) > 1)
    code = add_sweeps(report, &membership, directory, sections);
  else if (code == CORE_OK) code = fill_section(report, directory, new_section(sections, ""));
  analysis_membership_free(&membership);
  return code;
}
