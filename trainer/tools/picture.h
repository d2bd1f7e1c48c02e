/* A picture file of worlds, its kind chosen by the name's ending: .png and .svg show the last frame that was added,
 * .gif all of them. The file appears whole when it is finished, or not at all. */
#ifndef TRAINER_PICTURE_H
#define TRAINER_PICTURE_H
#include <stdint.h>

#include "sim/draw/draw.h"

typedef struct Picture Picture;

/* CORE_USAGE: another ending. Nothing is written yet. */
int picture_create(const char *path, Picture **picture);
bool picture_moves(const Picture *picture); /* a .gif: worth a frame each step */
/* Adds a frame; all frames of a .gif have the same layout. CORE_USAGE: too large, or .png and .gif without libgd. */
int picture_add(Picture *picture, const SimDrawSheet *sheet, bool last);
/* Writes the file; at least one frame, the last one as such, must have been added. */
int picture_write(Picture *picture);
void picture_destroy(Picture **picture);

/* CORE_USAGE names --size and its limits when a drawing can not have so many pixels a side. */
int picture_check_size(int64_t pixels);

/* Where a picture goes when no file is named: level.png, or level.svg without libgd. */
const char *picture_default_name(void);

#endif
