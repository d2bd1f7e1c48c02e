/* Encodes a .mp4 with ffmpeg, which reads raw pixels from a socket. No shell is involved. */
#ifndef TRAINER_MP4_H
#define TRAINER_MP4_H
#include <stdint.h>

typedef struct Mp4 Mp4;

/* Starts ffmpeg. frame_s: duration of a frame in seconds. CORE_USAGE: PATH has no ffmpeg. CORE_FAIL: it cannot be
 * started. */
int mp4_create(const char *path, int width, int height, double frame_s, Mp4 **mp4);
/* Adds a frame, rgb [height][width][3], top row first. CORE_FAIL: ffmpeg exited; its messages are on stderr. */
int mp4_add_frame(Mp4 *mp4, const uint8_t *rgb);
/* Waits for ffmpeg and renames the file into place. CORE_FAIL: as above, or the file cannot be written. */
int mp4_finish(Mp4 *mp4);
/* Ends ffmpeg and deletes an unfinished file. */
void mp4_destroy(Mp4 **mp4);

#endif
