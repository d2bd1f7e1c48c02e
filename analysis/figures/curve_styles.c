/* Colors and line styles of curves (curve_styles.h). */
#include "analysis/figures/curve_styles.h"

#include <stdlib.h>

#include "core/memory.h"

/* Whether the run belongs to the family of switched runs. */
static bool is_switched(const AnalysisCurveSet *set, size_t run) {
  return set->switched != SIZE_MAX && set->groups.groups[set->groups.group_of[run]].family == set->switched;
}

AnalysisLineStyle *analysis_curve_styles(const AnalysisCurveSet *set) {
  AnalysisMark *marks = analysis_marks_create(&set->groups, set->context.style);
  AnalysisMark *targets = analysis_marks_create(&set->targets, set->context.style);
  AnalysisLineStyle *looks = core_memory_zero_allocate(set->groups.count + 1, sizeof *looks);
  for (size_t r = 0, switched = 0; r < set->context.selection.count; r++) {
    const size_t group = set->groups.group_of[r];
    looks[group] = (AnalysisLineStyle){marks[group], ANALYSIS_SOLID};
    if (!is_switched(set, r)) continue;
    const bool begins = !set->context.selection.runs[r].config.shared->init.from[0];
    looks[group] =
      (AnalysisLineStyle){targets[set->targets.group_of[switched++]], begins ? ANALYSIS_THIN : ANALYSIS_DASHED};
  }
  free(marks);
  free(targets);
  return looks;
}

void analysis_curve_switch_legend(const AnalysisCurveSet *set, AnalysisPlot *plot) {
  const AnalysisMark plain = {.color = set->context.style->foreground};
  AnalysisMark *targets = analysis_marks_create(&set->targets, set->context.style);
  for (size_t g = 0; g < set->targets.count && set->targets.count > 1; g++)
    analysis_plot_legend_entry(plot, set->targets.groups[g].label, targets[g], true);
  analysis_plot_legend_line(plot, "from the start", plain, ANALYSIS_THIN);
  analysis_plot_legend_line(plot, "from another's checkpoint", plain, ANALYSIS_DASHED);
  free(targets);
}
