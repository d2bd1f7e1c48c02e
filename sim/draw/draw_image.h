/* Raster images of sheets of drawings or of given pixels: PNG, and animated GIF. Needs libgd; a program built without
 * it returns an error. */
#ifndef SIM_DRAW_IMAGE_H
#define SIM_DRAW_IMAGE_H
#include "core/text.h"
#include "sim/draw/draw.h"

/* Returns whether the program was built with libgd. Otherwise all functions below return CORE_USAGE. */
bool sim_draw_image_available(void);

/* Pixels of an image, borrowed: red, green and blue, [height][width][3], rows from the top. */
typedef struct SimDrawPixels { int width, height; const uint8_t *rgb; } SimDrawPixels;

/* Appends a PNG file of the sheet. CORE_USAGE: see sim_draw_sheet_check; CORE_FAIL: out of memory. */
int sim_draw_png(const SimDrawSheet *sheet, CoreText *png);
/* Writes the sheet's pixels: rgb [sim_draw_sheet_height][sim_draw_sheet_width][3]. Errors as for sim_draw_png. */
int sim_draw_rgb(const SimDrawSheet *sheet, uint8_t *rgb);
/* Appends a PNG file of the pixels. */
int sim_draw_png_pixels(const SimDrawPixels *pixels, CoreText *png);

/* Animation that loops endlessly. All frames share one palette: the drawings' colors, or those of the first frame of
 * pixels. */
typedef struct SimDrawGif SimDrawGif;
enum { SIM_DRAW_FRAME_CS = 3 }; /* hundredths of a second per frame: an environment step is 1/30 s */

int sim_draw_gif_create(SimDrawGif **gif);
/* Add a frame, of the same size and kind as the first one. */
int sim_draw_gif_add(SimDrawGif *gif, const SimDrawSheet *sheet, int delay_cs);
int sim_draw_gif_add_pixels(SimDrawGif *gif, const SimDrawPixels *pixels, int delay_cs);
/* Appends the file. Needs at least one frame; no frame may follow. */
int sim_draw_gif_finish(SimDrawGif *gif, CoreText *bytes);
void sim_draw_gif_destroy(SimDrawGif **gif);

#endif
