/* Assembles the shared part of pages (page.h). */
#include "analysis/plot/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/plot/palette.h"
#include "core/embed.h"

CORE_EMBED(analysis_page_elements, "analysis/plot/elements.js");
CORE_EMBED(analysis_page_charts, "analysis/plot/charts.js");
CORE_EMBED(analysis_page_style, "analysis/plot/charts.css");

void analysis_page_append_script(CoreText *text) {
  core_text_append(text, analysis_page_elements);
  core_text_append(text, "\nconst palette = [");
  for (size_t i = 0; i < ANALYSIS_NAME_COLORS; i++)
    core_text_appendf(text, "%s\"#%06x\"", i > 0 ? ", " : "", analysis_name_color(i));
  core_text_append(text, "];\n");
  core_text_append(text, analysis_page_charts);
}

void analysis_page_append_style(CoreText *text) { core_text_append(text, analysis_page_style); }

const char *analysis_page_fill(const char *template, const char *mark, const CoreText *text, CoreText *page) {
  const char *found = strstr(template, mark);
  CORE_CHECK(found);
  core_text_append_bytes(page, template, (size_t)(found - template));
  core_text_append(page, core_text_string(text));
  return found + strlen(mark);
}

AnalysisPageColors analysis_page_colors_create(const AnalysisGrouping *grouping) {
  const AnalysisStyle *light, *dark;
  analysis_style_find("paper", &light);
  analysis_style_find("dark", &dark);
  return (AnalysisPageColors){analysis_colors_create(grouping, light), analysis_colors_create(grouping, dark)};
}

void analysis_page_colors_free(AnalysisPageColors *colors) {
  free(colors->light);
  free(colors->dark);
  *colors = (AnalysisPageColors){NULL, NULL};
}

json_t *analysis_page_color(const AnalysisPageColors *colors, size_t group) {
  char light[8], dark[8];
  snprintf(light, sizeof light, "#%06x", (unsigned)(colors->light[group] & 0xffffff));
  snprintf(dark, sizeof dark, "#%06x", (unsigned)(colors->dark[group] & 0xffffff));
  return json_pack("[s, s]", light, dark);
}
