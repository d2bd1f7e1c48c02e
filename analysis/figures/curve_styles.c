/* Colors and line styles of curves (curve_set.h). */
#include "analysis/figures/curve_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

enum { ORIGINS_MAX = 3 };
static const AnalysisLine origin_lines[ORIGINS_MAX] = {ANALYSIS_DASHED, ANALYSIS_DOTTED, ANALYSIS_DASH_DOTTED};

/* Settings of the parents of switched runs: "com 8". */
typedef struct Origins {
  struct { const char *text; int length; } origin[ORIGINS_MAX]; /* texts of the selection */
  size_t count;              /* more than ORIGINS_MAX, or 0: all have the same style */
} Origins;

/* Whether the run belongs to the family of switched runs. */
static bool is_switched(const AnalysisCurveSet *set, size_t run) {
  return set->switched != SIZE_MAX && set->groups.groups[set->groups.group_of[run]].family == set->switched;
}

/* Returns the index of a run's origin, from "com 8 at 1430"; its count if it is new. */
static size_t find_origin(const Origins *origins, const char *from, int length) {
  size_t i = 0;
  while (i < origins->count && (origins->origin[i].length != length ||
                                strncmp(origins->origin[i].text, from, (size_t)length) != 0))
    i++;
  return i;
}

static int origin_length(const char *from) {
  const char *marker = strstr(from, " at ");
  return marker ? (int)(marker - from) : (int)strlen(from);
}

static Origins find_origins(const AnalysisCurveSet *set) {
  Origins origins = {.count = 0};
  for (size_t r = 0; r < set->context.selection.count && origins.count <= ORIGINS_MAX; r++) {
    const char *from = set->context.selection.runs[r].config.shared->init.from;
    if (!is_switched(set, r) || !*from || strncmp(from, "run:", 4) == 0) continue; /* its parent is unknown */
    const int length = origin_length(from);
    if (find_origin(&origins, from, length) < origins.count) continue;
    if (origins.count < ORIGINS_MAX) {
      origins.origin[origins.count].text = from;
      origins.origin[origins.count].length = length;
    }
    origins.count++;
  }
  if (origins.count > ORIGINS_MAX) origins.count = 0;
  return origins;
}

/* Returns the line style of a switched run. */
static AnalysisLine switched_line(const Origins *origins, const char *from) {
  if (!*from) return ANALYSIS_THIN;
  const size_t origin = find_origin(origins, from, origin_length(from));
  return origin < origins->count ? origin_lines[origin] : ANALYSIS_DASHED;
}

AnalysisLineStyle *analysis_curve_styles(const AnalysisCurveSet *set) {
  AnalysisMark *marks = analysis_marks_create(&set->groups, set->context.style);
  AnalysisMark *targets = analysis_marks_create(&set->targets, set->context.style);
  AnalysisLineStyle *looks = core_memory_zero_allocate(set->groups.count + 1, sizeof *looks);
  const Origins origins = find_origins(set);

  for (size_t r = 0, switched = 0; r < set->context.selection.count; r++) {
    const size_t group = set->groups.group_of[r];
    looks[group] = (AnalysisLineStyle){marks[group], ANALYSIS_SOLID};
    if (!is_switched(set, r)) continue;
    const char *from = set->context.selection.runs[r].config.shared->init.from;
    looks[group] =
      (AnalysisLineStyle){targets[set->targets.group_of[switched++]], switched_line(&origins, from)};
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
  const Origins origins = find_origins(set);
  if (origins.count == 0) analysis_plot_legend_line(plot, "from another's checkpoint", plain, ANALYSIS_DASHED);
  for (size_t i = 0; i < origins.count; i++) {
    char label[128];
    snprintf(label, sizeof label, "switched from %.*s", origins.origin[i].length, origins.origin[i].text);
    analysis_plot_legend_line(plot, label, plain, origin_lines[i]);
  }
  free(targets);
}
