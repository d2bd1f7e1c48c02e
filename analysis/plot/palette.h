/* Colors and markers of figures, safe for color-blind readers, and the three styles of figures. */
#ifndef ANALYSIS_PALETTE_H
#define ANALYSIS_PALETTE_H
#include <stddef.h>
#include <stdint.h>

#include "analysis/runs/group.h"

typedef struct AnalysisStyle {
  const char *name;
  double font_px;               /* 1 px = 1/96 inch; 7.5 points in the paper style */
  double page_px;               /* width of a figure with several panels: a double column in the paper style */
  double column_px;             /* width of a figure with one panel: a single column in the paper style */
  double line, point;           /* relative line width and point size; 1 in the paper style */
  uint32_t background, foreground, muted, grid;
} AnalysisStyle;

enum { ANALYSIS_NAME_COLORS = 10 };

/* Finds "paper", "slides" or "dark"; NULL: paper. CORE_USAGE: another name. */
int analysis_style_find(const char *name, const AnalysisStyle **style);

typedef enum AnalysisShape {
  ANALYSIS_CIRCLE, ANALYSIS_SQUARE, ANALYSIS_TRIANGLE, ANALYSIS_DIAMOND, ANALYSIS_TRIANGLE_DOWN, ANALYSIS_SHAPES
} AnalysisShape;

typedef struct AnalysisMark {
  uint32_t color; /* 0xRRGGBB */
  AnalysisShape shape;
  double size;    /* point scale; 0: 1 */
} AnalysisMark;

/* Returns one color per group, 0xRRGGBB: those of figures, reports and the live page. Names get the colors of Okabe and
 * Ito, ordered numbers a ramp from dark to light: viridis for a single family, a separate ramp (blues, reds, purples,
 * grays, greens, browns) for each of several. The groups of a family of 9 to 40 have hues of their own, from blue
 * through green, yellow and red to purple, in alternating lightness: the steps of a ramp would look alike. free() the
 * result. */
uint32_t *analysis_colors_create(const AnalysisGrouping *grouping, const AnalysisStyle *style);
/* Returns one marker per group, with these colors, and a shape for each of several families. With two keys in a single
 * family, the last one's value selects the shape. free() the result. */
AnalysisMark *analysis_marks_create(const AnalysisGrouping *grouping, const AnalysisStyle *style);

/* Returns the color of hue `t` (0 to 1) at one of three lightnesses, to be seen on the style's background. */
uint32_t analysis_hue(double t, size_t level, const AnalysisStyle *style);
/* Return the viridis color for t in 0..1 (clamped), and a readable text color on it. */
uint32_t analysis_ramp(double t);
/* Return the color of a family's ramp from dark (0) to light (1), and the color of one of several names. */
uint32_t analysis_family_ramp(size_t family, double t);
uint32_t analysis_name_color(size_t index);
uint32_t analysis_text_on(uint32_t color);
uint32_t analysis_mix(uint32_t a, uint32_t b, double t); /* blend from a (t = 0) to b (t = 1) */

#endif
