/* Chooses between draw_svg, draw_image and ffmpeg, and writes their bytes. */
#include "trainer/picture/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/files.h"
#include "core/memory.h"
#include "sim/draw/draw_svg.h"
#include "trainer/picture/video.h"

enum { REST_CS = 100 }; /* a .gif rests on its last frame before it starts over */

typedef enum PictureKind { PICTURE_PNG, PICTURE_GIF, PICTURE_MP4, PICTURE_SVG, PICTURE_KINDS } PictureKind;
static const char *const endings[PICTURE_KINDS] = {".png", ".gif", ".mp4", ".svg"};

struct Picture {
  PictureKind kind;
  char path[CORE_PATH_MAX];
  double frame_s;
  int frames;
  CoreText bytes;
  SimDrawGif *gif;
  Video *video;             /* .mp4 from its first frame on */
  uint8_t *rgb;             /* a sheet's pixels, for .mp4 */
};

static int kind_of(const char *path, bool drawn, PictureKind *kind) {
  const char *dot = strrchr(path, '.');
  *kind = PICTURE_KINDS;
  for (int i = 0; dot && i < PICTURE_KINDS; i++)
    if (strcasecmp(dot, endings[i]) == 0) *kind = (PictureKind)i;
  if (drawn && *kind == PICTURE_KINDS)
    return core_error(CORE_USAGE, "%.200s: a picture's name must end in .png, .gif, .mp4 or .svg", path);
  if (!drawn && *kind >= PICTURE_SVG)
    return core_error(CORE_USAGE, "%.200s: a picture of this environment is made of pixels, so its name must end in "
                      ".png, .gif or .mp4", path);
  if (!drawn && *kind != PICTURE_MP4 && !sim_draw_image_available())
    return core_error(CORE_USAGE, "%.200s: this program was built without libgd; choose .mp4, or install libgd "
                      "(libgd-dev, gd-devel) and build again", path);
  return CORE_OK;
}

int picture_create(const char *path, bool drawn, double frame_s, Picture **picture) {
  PictureKind kind;
  *picture = NULL;
  TRY(kind_of(path, drawn, &kind));
  Picture *made = core_memory_zero_allocate(1, sizeof *made);
  made->kind = kind;
  made->frame_s = frame_s;
  int code = core_files_path(made->path, "%s", path);
  if (code == CORE_OK && kind == PICTURE_GIF) code = sim_draw_gif_create(&made->gif);
  if (code != CORE_OK) picture_destroy(&made);
  *picture = made;
  return code;
}

bool picture_moves(const Picture *picture) { return picture->kind == PICTURE_GIF || picture->kind == PICTURE_MP4; }

/* Whole hundredths of a second, so that no time is lost over many frames. */
static int delay_cs(Picture *picture, bool last) {
  const double frame_cs = 100 * picture->frame_s, k = picture->frames++;
  return last ? REST_CS : (int)(lround(frame_cs * (k + 1)) - lround(frame_cs * k));
}

static int add_to_video(Picture *picture, const SimDrawPixels *pixels) {
  if (!picture->video)
    TRY(video_create(picture->path, pixels->width, pixels->height, picture->frame_s, &picture->video));
  return video_add(picture->video, pixels->rgb);
}

static int add_sheet_to_video(Picture *picture, const SimDrawSheet *sheet) {
  const int width = sim_draw_sheet_width(sheet), height = sim_draw_sheet_height(sheet);
  TRY(sim_draw_sheet_check(sheet));
  if (!picture->rgb) picture->rgb = core_memory_allocate((size_t)width * (size_t)height * 3);
  TRY(sim_draw_rgb(sheet, picture->rgb));
  return add_to_video(picture, &(SimDrawPixels){width, height, picture->rgb});
}

int picture_add(Picture *picture, const SimDrawSheet *sheet, bool last) {
  core_text_clear(&picture->bytes);
  switch (picture->kind) {
    case PICTURE_GIF: return sim_draw_gif_add(picture->gif, sheet, delay_cs(picture, last));
    case PICTURE_MP4: return add_sheet_to_video(picture, sheet);
    case PICTURE_PNG: return sim_draw_png(sheet, &picture->bytes);
    default: return sim_draw_svg(sheet, &picture->bytes);
  }
}

int picture_add_pixels(Picture *picture, const SimDrawPixels *pixels, bool last) {
  core_text_clear(&picture->bytes);
  switch (picture->kind) {
    case PICTURE_GIF: return sim_draw_gif_add_pixels(picture->gif, pixels, delay_cs(picture, last));
    case PICTURE_MP4: return add_to_video(picture, pixels);
    default: return sim_draw_png_pixels(pixels, &picture->bytes);
  }
}

int picture_write(Picture *picture) {
  if (picture->kind == PICTURE_MP4) return video_finish(picture->video);
  if (picture->kind == PICTURE_GIF) TRY(sim_draw_gif_finish(picture->gif, &picture->bytes));
  return core_files_write_atomic(picture->path, picture->bytes.data, picture->bytes.length);
}

void picture_destroy(Picture **picture) {
  if (!*picture) return;
  sim_draw_gif_destroy(&(*picture)->gif);
  video_destroy(&(*picture)->video);
  free((*picture)->rgb);
  core_text_free(&(*picture)->bytes);
  free(*picture);
  *picture = NULL;
}

int picture_check_size(int64_t pixels) {
  if (pixels >= SIM_DRAW_PIXELS_MIN && pixels <= SIM_DRAW_PIXELS_MAX) return CORE_OK;
  return core_error(CORE_USAGE, "--size %lld: must be %d to %d pixels", (long long)pixels, SIM_DRAW_PIXELS_MIN,
                    SIM_DRAW_PIXELS_MAX);
}

const char *picture_default_name(void) { return sim_draw_image_available() ? "level.png" : "level.svg"; }
