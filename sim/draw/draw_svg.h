/* SVG documents of sheets of drawings: vector graphics for browsers and drawing programs. */
#ifndef SIM_DRAW_SVG_H
#define SIM_DRAW_SVG_H
#include "core/text.h"
#include "sim/draw/draw.h"

/* Appends the document. CORE_USAGE: see sim_draw_sheet_check. */
int sim_draw_svg(const SimDrawSheet *sheet, CoreText *svg);

#endif
