/* Sheets of drawings as pixels, and pictures whose pixels others made: PNG, and animated GIF. Needs libgd; a program
 * built without it says so. */
#ifndef SIM_DRAW_IMAGE_H
#define SIM_DRAW_IMAGE_H
#include "core/text.h"
#include "sim/draw/draw.h"

/* Was the program built with libgd? Without, everything below returns CORE_USAGE. */
bool sim_draw_image_available(void);

/* Somebody's pixels, red, green and blue: [height][width][3], rows from the top; borrowed. */
typedef struct SimDrawPixels { int width, height; const uint8_t *rgb; } SimDrawPixels;

/* Appends a PNG file's bytes. CORE_USAGE: see sim_draw_sheet_check. CORE_FAIL: memory is out. */
int sim_draw_png(const SimDrawSheet *sheet, CoreText *png);
/* The sheet's own pixels: rgb [sim_draw_sheet_height][sim_draw_sheet_width][3]. Errors: the same. */
int sim_draw_rgb(const SimDrawSheet *sheet, uint8_t *rgb);
/* Pixels as a PNG file. */
int sim_draw_png_pixels(const SimDrawPixels *pixels, CoreText *png);

/* An animation that repeats for ever; all frames share one palette: of the drawings' colours, or of what the first
 * frame of pixels shows. */
typedef struct SimDrawGif SimDrawGif;
enum { SIM_DRAW_FRAME_CS = 3 }; /* hundredths of a second a frame: an environment step is 1/30 s */

int sim_draw_gif_create(SimDrawGif **gif);
/* Every frame must have the first one's size, and be of its kind. */
int sim_draw_gif_add(SimDrawGif *gif, const SimDrawSheet *sheet, int delay_cs);
int sim_draw_gif_add_pixels(SimDrawGif *gif, const SimDrawPixels *pixels, int delay_cs);
/* Appends the file's bytes. At least one frame must have been added, and none comes after. */
int sim_draw_gif_finish(SimDrawGif *gif, CoreText *bytes);
void sim_draw_gif_destroy(SimDrawGif **gif);

#endif
