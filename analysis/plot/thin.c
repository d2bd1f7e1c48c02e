/* Legends, CSV fields and captions of grouped lines (thin.h). */
#include "analysis/plot/thin.h"

#include "analysis/plot/csv.h"

void analysis_thin_legend(const AnalysisGrouping *grouping, const AnalysisMark *marks, bool line, AnalysisPlot *plot) {
  const bool heads = grouping->family_count > 1 && grouping->count > grouping->family_count;
  for (size_t g = 0; g < grouping->count && grouping->count > 1; g++) {
    const AnalysisGroup *group = &grouping->groups[g];
    if (heads && (g == 0 || group[-1].family != group->family))
      analysis_plot_legend_head(plot, grouping->families[group->family].name);
    analysis_plot_legend_entry(plot, heads ? group->within : group->label, marks[g], line);
  }
}

void analysis_thin_csv(const AnalysisGrouping *grouping, size_t group, CoreText *csv) {
  const AnalysisGroup *of = &grouping->groups[group];
  const AnalysisFamily *family = &grouping->families[of->family];
  CoreText value = {0};
  for (size_t k = 0; k < grouping->key_count; k++) {
    bool averaged = false;
    for (size_t a = 0; a < family->averaged_count; a++) averaged |= family->averaged[a] == grouping->keys[k];
    core_text_append(csv, ",");
    if (!averaged) analysis_csv_field(csv, analysis_key_value(of->config, grouping->keys[k], &value));
  }
  core_text_free(&value);
}

static void append_keys(const CoreConfigRow *const *keys, size_t count, const CoreConfigRow *without, CoreText *text) {
  bool first = true;
  for (size_t k = 0; k < count; k++) {
    if (keys[k] == without) continue;
    core_text_appendf(text, "%s%s", first ? "" : ", ", analysis_key_name(keys[k]));
    first = false;
  }
}

void analysis_thin_describe(const AnalysisGrouping *grouping, const CoreConfigRow *const *facet, CoreText *text) {
  bool is_thinned = false;
  for (size_t f = 0; f < grouping->family_count; f++) {
    const AnalysisFamily *family = &grouping->families[f];
    const CoreConfigRow *panels = facet ? facet[f] : NULL;
    const size_t averaged = family->averaged_count - (panels != NULL);
    if (!family->averaged_count) continue;

    core_text_appendf(text, "%s%sines: %s", family->name, *family->name ? ": l" : "L",
                      analysis_key_name(family->keys[0]));
    if (panels) core_text_appendf(text, "; panels: %s", analysis_key_name(panels));
    if (averaged) core_text_append(text, "; averaged over ");
    if (averaged) append_keys(family->averaged, family->averaged_count, panels, text);
    core_text_append(text, ". ");
    is_thinned = true;
  }
  if (is_thinned) core_text_append(text, "Lines are of the setting that explains most of the last values. ");
}
