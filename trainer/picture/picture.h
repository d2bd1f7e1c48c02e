/* An image or video file of worlds, its format selected by the file extension: .png and .svg show the last frame added,
 * .gif and .mp4 all of them. Frames are sheets of vector drawings, or pixels rendered by an environment. The file is
 * created atomically when it is complete. */
#ifndef TRAINER_PICTURE_H
#define TRAINER_PICTURE_H
#include <stdint.h>

#include "sim/draw/draw.h"
#include "sim/draw/draw_image.h"

typedef struct Picture Picture;

typedef enum PictureSource {
  PICTURE_DRAWINGS, /* sheets of drawings */
  PICTURE_PIXELS    /* RGB pixels, which .svg does not support */
} PictureSource;

/* Creates a picture, without writing anything yet. frame_s: duration of a frame in seconds. CORE_USAGE: unsupported
 * file extension, or .png and .gif of pixels without libgd. */
int picture_create(const char *path, PictureSource source, double frame_s, Picture **picture);
/* Whether the file is a .gif or .mp4, which show every frame added. */
bool picture_is_video(const Picture *picture);
/* Adds a frame; all frames of a video have the same size. CORE_USAGE: the frame is too large; .png, .gif and .mp4 of
 * drawings without libgd; .mp4 without ffmpeg. CORE_FAIL: ffmpeg failed. */
int picture_add(Picture *picture, const SimDrawSheet *sheet, bool is_last);
int picture_add_pixels(Picture *picture, const SimDrawPixels *pixels, bool is_last);
/* Writes the file. At least one frame must have been added, the last one with is_last. */
int picture_write(Picture *picture);
void picture_destroy(Picture **picture);

/* Checks the width and height of a drawing. CORE_USAGE: names --size and its limits. */
int picture_check_size(int64_t pixels);

/* Returns the default file name: level.png, or level.svg without libgd. */
const char *picture_default_name(void);

#endif
