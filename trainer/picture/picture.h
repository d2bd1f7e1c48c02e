/* A picture file of worlds, its kind chosen by the name's ending: .png and .svg show the last frame that was added,
 * .gif and .mp4 all of them. Frames are sheets of drawings, or pixels that an environment made. The file appears whole
 * when it is finished, or not at all. */
#ifndef TRAINER_PICTURE_H
#define TRAINER_PICTURE_H
#include <stdint.h>

#include "sim/draw/draw.h"
#include "sim/draw/draw_image.h"

typedef struct Picture Picture;

/* drawn: of sheets, else of pixels, which can be no .svg. frame_s: seconds that a frame is seen. CORE_USAGE: another
 * ending, or .png and .gif of pixels without libgd. Nothing is written yet. */
int picture_create(const char *path, bool drawn, double frame_s, Picture **picture);
bool picture_moves(const Picture *picture); /* a .gif or .mp4: worth a frame each step */
/* Adds a frame; all frames of a moving picture have the same size. CORE_USAGE: too large, .png, .gif and .mp4 of sheets
 * without libgd, .mp4 without ffmpeg. CORE_FAIL: ffmpeg ended. */
int picture_add(Picture *picture, const SimDrawSheet *sheet, bool last);
int picture_add_pixels(Picture *picture, const SimDrawPixels *pixels, bool last);
/* Writes the file; at least one frame, the last one as such, must have been added. */
int picture_write(Picture *picture);
void picture_destroy(Picture **picture);

/* CORE_USAGE names --size and its limits when a drawing cannot have so many pixels a side. */
int picture_check_size(int64_t pixels);

/* Where a picture goes when no file is named: level.png, or level.svg without libgd. */
const char *picture_default_name(void);

#endif
