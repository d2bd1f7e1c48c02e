/* Sheets of drawings as pixels: PNG, and animated GIF. Needs libgd; a program built without it says so. */
#ifndef SIM_DRAW_IMAGE_H
#define SIM_DRAW_IMAGE_H
#include "core/text.h"
#include "sim/draw/draw.h"

/* Was the program built with libgd? Without, everything below returns CORE_USAGE. */
bool sim_draw_image_available(void);

/* Appends a PNG file's bytes. CORE_USAGE: see sim_draw_sheet_check. CORE_FAIL: memory is out. */
int sim_draw_png(const SimDrawSheet *sheet, CoreText *png);

/* An animation that repeats for ever; all frames share one palette of the drawings' colours. */
typedef struct SimDrawGif SimDrawGif;
enum { SIM_DRAW_FRAME_CS = 3 }; /* hundredths of a second a frame: an environment step is 1/30 s */

int sim_draw_gif_create(SimDrawGif **gif);
/* Every sheet must have the first one's size. */
int sim_draw_gif_add(SimDrawGif *gif, const SimDrawSheet *sheet, int delay_cs);
/* Appends the file's bytes. At least one frame must have been added, and none comes after. */
int sim_draw_gif_finish(SimDrawGif *gif, CoreText *bytes);
void sim_draw_gif_destroy(SimDrawGif **gif);

#endif
