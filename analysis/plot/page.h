/* Parts that the live page (sweep/serve) and reports share: elements, numbers, charts and their colors. */
#ifndef ANALYSIS_PAGE_H
#define ANALYSIS_PAGE_H
#include <stddef.h>
#include <stdint.h>

#include "analysis/runs/group.h"
#include "core/json.h"
#include "core/text.h"

/* Append the script (elements.js, the palette of palette.h, charts.js) and the style (charts.css). */
void analysis_page_append_script(CoreText *text);
void analysis_page_append_style(CoreText *text);
/* Appends `template` up to the mark, then `text`; returns the rest after the mark. */
const char *analysis_page_fill(const char *template, const char *mark, const CoreText *text, CoreText *page);

/* Colors of groups, as in figures, on a light and on a dark page. */
typedef struct AnalysisPageColors { uint32_t *light, *dark; } AnalysisPageColors;

AnalysisPageColors analysis_page_colors_create(const AnalysisGrouping *grouping);
void analysis_page_colors_free(AnalysisPageColors *colors);
/* Returns a group's colors: ["#0072b2", "#0072b2"]. */
json_t *analysis_page_color(const AnalysisPageColors *colors, size_t group);

#endif
