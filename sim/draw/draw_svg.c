/* SVG writer. Every drawing and label is a nested <svg>, which clips its content. Labels may hold any bytes and are
 * escaped here. */
#include "sim/draw/draw.h"

static void append_label(CoreText *svg, const SimDrawSheet *sheet, int i) {
  const char *label = sheet->cell[i].label;
  core_text_appendf(svg, "<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" overflow=\"hidden\"><text y=\"11\" "
                    "font-size=\"12\">", sim_draw_cell_left(sheet, i),
                    sim_draw_cell_top(sheet, i) - SIM_DRAW_LABEL_PIXELS, sheet->pixels, SIM_DRAW_LABEL_PIXELS);
  core_text_append_xml(svg, label);
  core_text_append(svg, "</text></svg>\n");
}

static void append_color(CoreText *svg, const SimDrawItem *item, bool edged) {
  core_text_appendf(svg, " fill=\"#%02x%02x%02x\"", item->fill.red, item->fill.green, item->fill.blue);
  if (edged) core_text_appendf(svg, " stroke=\"#000\" stroke-width=\"%.4g\"", (double)item->edge);
  core_text_append(svg, "/>\n");
}

static void append_points(CoreText *svg, const float *x, const float *y, int count) {
  core_text_append(svg, "<polygon points=\"");
  for (int i = 0; i < count; i++) core_text_appendf(svg, "%s%.5g,%.5g", i ? " " : "", (double)x[i], (double)y[i]);
  core_text_append(svg, "\"");
}

/* Appends an item. A stroke lies half on each side of its line, so that the line runs half an edge inside the
 * outline. */
static void append_item(CoreText *svg, const SimDrawItem *item) {
  float x[SIM_DRAW_CORNERS], y[SIM_DRAW_CORNERS];
  if (item->corners == 0) {
    core_text_appendf(svg, "<circle cx=\"%.5g\" cy=\"%.5g\" r=\"%.5g\"", (double)item->x[0], (double)item->y[0],
                      (double)(item->radius - 0.5f * item->edge));
    append_color(svg, item, item->edge > 0);
    return;
  }
  bool edged = item->edge > 0 && sim_draw_inset(item, 0.5f * item->edge, x, y);
  append_points(svg, edged ? x : item->x, edged ? y : item->y, item->corners);
  append_color(svg, item, edged);
}

static void append_drawing(CoreText *svg, const SimDrawSheet *sheet, int i) {
  const SimDrawing *drawing = &sheet->cell[i].drawing;
  core_text_appendf(svg, "<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" overflow=\"hidden\" ",
                    sim_draw_cell_left(sheet, i), sim_draw_cell_top(sheet, i), sheet->pixels, sheet->pixels);
  core_text_appendf(svg, "viewBox=\"%g %g %g %g\">\n", (double)SIM_DRAW_LEFT,
                    (double)-(SIM_DRAW_BOTTOM + SIM_DRAW_WIDTH), (double)SIM_DRAW_WIDTH, (double)SIM_DRAW_WIDTH);
  /* y points upwards in the world */
  core_text_append(svg, "<g transform=\"scale(1,-1)\" stroke-linejoin=\"miter\" stroke-miterlimit=\"10\">\n");
  for (int k = 0; k < drawing->count; k++) append_item(svg, &drawing->item[k]);
  core_text_append(svg, "</g>\n</svg>\n");
}

int sim_draw_svg(const SimDrawSheet *sheet, CoreText *svg) {
  TRY(sim_draw_sheet_check(sheet));
  int width = sim_draw_sheet_width(sheet), height = sim_draw_sheet_height(sheet);
  core_text_append(svg, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
  core_text_appendf(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                    "font-family=\"sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                    width, height, width, height);
  for (int i = 0; i < sheet->count; i++) {
    if (sheet->labeled) append_label(svg, sheet, i);
    append_drawing(svg, sheet, i);
  }
  core_text_append(svg, "</svg>\n");
  return CORE_OK;
}
