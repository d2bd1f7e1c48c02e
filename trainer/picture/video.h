/* A .mp4 by ffmpeg, which gets raw pixels through a socket and writes the file. Started without a shell. */
#ifndef TRAINER_VIDEO_H
#define TRAINER_VIDEO_H
#include <stdint.h>

typedef struct Video Video;

/* frame_s: seconds a frame. CORE_USAGE: there is no ffmpeg in PATH. CORE_FAIL: it cannot be started. */
int video_create(const char *path, int width, int height, double frame_s, Video **video);
/* rgb [height][width][3], rows from the top. CORE_FAIL: ffmpeg has ended; its own words went to stderr. */
int video_add(Video *video, const uint8_t *rgb);
/* Waits for ffmpeg and gives the file its name. CORE_FAIL: as above, or the file cannot be written. */
int video_finish(Video *video);
/* What is not finished leaves no file. */
void video_destroy(Video **video);

#endif
