/* Completion for `analyze` in addition to commands and options (core/command/completion.h): sweeps of the workspace,
 * names of columns and measures. Reads only directories, never the database, which may be locked. */
#include <stdlib.h>
#include <string.h>

#include "analysis/commands.h"
#include "analysis/runs/columns.h"
#include "analysis/runs/measures.h"
#include "core/command/completion.h"
#include "store/workspace/paths.h"

static void add_sweeps(const CoreCompletionContext *typing, CoreText *values) {
  char root[CORE_PATH_MAX], directory[CORE_PATH_MAX], **names;
  size_t count;
  if (store_root(core_completion_option_value(typing, "root"), root) != CORE_OK) return;
  if (core_files_path(directory, "%s/sweeps", root) != CORE_OK) return;
  if (!core_files_exists(directory) || core_files_list(directory, &names, &count) != CORE_OK) return;
  for (size_t i = 0; i < count; i++) {
    if (core_text_check_name(names[i], "sweep") == CORE_OK) core_completion_add(values, names[i], NULL);
    free(names[i]);
  }
  free(names);
}

static void add_measures(const CoreCompletionContext *typing, CoreText *values) {
  for (int i = 0; i < ANALYSIS_MEASURES; i++) /* except the measure that is not of single runs (measures.h) */
    if (i != ANALYSIS_MEASURE_score_at_time)
      core_completion_add(values, analysis_measure_name((AnalysisMeasure)i),
                          analysis_measure_label((AnalysisMeasure)i));
}

static void add_columns(const CoreCompletionContext *typing, CoreText *values) {
  size_t count;
  const AnalysisColumn *columns = analysis_columns(&count);
  for (size_t i = 0; i < count; i++)
    if (analysis_column_is_number(&columns[i]))
      core_completion_add(values, analysis_column_short(&columns[i]), *columns[i].unit ? columns[i].unit : NULL);
}

const CoreCompletion analysis_completions[] = {
  {"SWEEP", add_sweeps}, {"--sweep", add_sweeps}, {"--measure", add_measures}, {"COLUMN", add_columns}, {0}};
