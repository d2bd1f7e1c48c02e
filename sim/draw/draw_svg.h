/* A sheet of drawings as an SVG document: scales without loss, opens in every browser and drawing program. */
#ifndef SIM_DRAW_SVG_H
#define SIM_DRAW_SVG_H
#include "core/text.h"
#include "sim/draw/draw.h"

/* Appends the document. CORE_USAGE: see sim_draw_sheet_check. */
int sim_draw_svg(const SimDrawSheet *sheet, CoreText *svg);

#endif
