/* Colours and marks of the figures, safe for colour-blind readers, and the three looks a figure can have. */
#ifndef ANALYSIS_PALETTE_H
#define ANALYSIS_PALETTE_H
#include <stddef.h>
#include <stdint.h>

#include "analysis/runs/group.h"

typedef struct AnalysisStyle {
  const char *name;
  double font_px;               /* 1 px = 1/96 inch; the paper's is 7.5 point */
  double page_px;               /* width of a figure with several panels: the paper's double column */
  double column_px;             /* width of a figure with one panel: the paper's single column */
  double line, point;           /* of thickness and size, relative to the paper */
  uint32_t background, foreground, muted, grid;
} AnalysisStyle;

/* "paper", "slides" or "dark"; NULL = paper. CORE_USAGE otherwise. */
int analysis_style_find(const char *name, const AnalysisStyle **style);

typedef enum AnalysisShape {
  ANALYSIS_CIRCLE, ANALYSIS_SQUARE, ANALYSIS_TRIANGLE, ANALYSIS_DIAMOND, ANALYSIS_TRIANGLE_DOWN, ANALYSIS_SHAPES
} AnalysisShape;

typedef struct AnalysisMark {
  uint32_t color; /* 0xRRGGBB */
  AnalysisShape shape;
  double size;    /* scale of a point; 0: 1 */
} AnalysisMark;

/* One mark a group. Names get Okabe and Ito's colours, ordered numbers a ramp from dark to light: viridis for a single
 * family, a ramp of its own (blues, reds, purples, greys) and a shape of its own for each of several. With two keys in
 * a single family the last one's value makes the shape. free() the result. */
AnalysisMark *analysis_marks_create(const AnalysisGrouping *grouping, const AnalysisStyle *style);

/* viridis from 0 to 1 (what lies beyond counts as the end), and the colour of text that can be read on one. */
uint32_t analysis_ramp(double t);
/* The ramp of one of several families, from dark (0) to light (1), and the color of one of several names. */
uint32_t analysis_family_ramp(size_t family, double t);
uint32_t analysis_name_color(size_t index);
uint32_t analysis_text_on(uint32_t color);
uint32_t analysis_mix(uint32_t a, uint32_t b, double t); /* from a (t = 0) to b (t = 1) */

#endif
