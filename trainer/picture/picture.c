/* Encodes frames by draw_svg, draw_image or ffmpeg, depending on the file extension (picture.h). */
#include "trainer/picture/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/files.h"
#include "core/memory.h"
#include "sim/draw/draw.h"
#include "trainer/picture/mp4.h"

enum { LAST_FRAME_CS = 100 }; /* duration of a .gif's last frame before it loops */

typedef enum PictureFormat { PICTURE_PNG, PICTURE_GIF, PICTURE_MP4, PICTURE_SVG, PICTURE_FORMATS } PictureFormat;
static const char *const extensions[PICTURE_FORMATS] = {".png", ".gif", ".mp4", ".svg"};

struct Picture {
  PictureFormat format;
  char path[CORE_PATH_MAX];
  double frame_s;
  int frames;
  CoreText bytes;
  SimDrawGif *gif;
  Mp4 *mp4;                 /* created by the first frame of a .mp4 */
  uint8_t *rgb;             /* rasterized sheet, for .mp4 */
};

/* Selects the format by the extension of `path`. CORE_USAGE: as picture_create. */
static int find_format(const char *path, PictureSource source, PictureFormat *format) {
  const char *dot = strrchr(path, '.');
  *format = PICTURE_FORMATS;
  for (int i = 0; i < PICTURE_FORMATS; i++)
    if (dot && strcasecmp(dot, extensions[i]) == 0) *format = (PictureFormat)i;
  if (source == PICTURE_DRAWINGS && *format == PICTURE_FORMATS)
    return core_error(CORE_USAGE, "%.200s: unknown image format; the name must end in .png, .gif, .mp4 or .svg", path);
  if (source == PICTURE_PIXELS && *format >= PICTURE_SVG)
    return core_error(CORE_USAGE, "%.200s: unsupported image format; this environment renders pixels, so the name must "
                      "end in .png, .gif or .mp4", path);
  if (source == PICTURE_PIXELS && *format != PICTURE_MP4 && !sim_draw_image_available())
    return core_error(CORE_USAGE, "%.200s: this program was built without libgd; choose .mp4, or install libgd "
                      "(libgd-dev, gd-devel) and rebuild", path);
  return CORE_OK;
}

int picture_create(const char *path, PictureSource source, double frame_s, Picture **picture) {
  PictureFormat format;
  *picture = NULL;
  TRY(find_format(path, source, &format));
  Picture *created = core_memory_zero_allocate(1, sizeof *created);
  created->format = format;
  created->frame_s = frame_s;
  int code = core_files_path(created->path, "%s", path);
  if (code == CORE_OK && format == PICTURE_GIF) code = sim_draw_gif_create(&created->gif);
  if (code != CORE_OK) picture_destroy(&created);
  *picture = created;
  return code;
}

bool picture_is_video(const Picture *picture) {
  return picture->format == PICTURE_GIF || picture->format == PICTURE_MP4;
}

/* Computes the next frame's duration in integer centiseconds, so that rounding errors do not add up. */
static int delay_cs(Picture *picture, bool is_last) {
  const double frame_cs = 100 * picture->frame_s, k = picture->frames++;
  return is_last ? LAST_FRAME_CS : (int)(lround(frame_cs * (k + 1)) - lround(frame_cs * k));
}

static int add_to_mp4(Picture *picture, const SimDrawPixels *pixels) {
  if (!picture->mp4)
    TRY(mp4_create(picture->path, pixels->width, pixels->height, picture->frame_s, &picture->mp4));
  return mp4_add_frame(picture->mp4, pixels->rgb);
}

static int add_sheet_to_mp4(Picture *picture, const SimDrawSheet *sheet) {
  const int width = sim_draw_sheet_width(sheet), height = sim_draw_sheet_height(sheet);
  TRY(sim_draw_sheet_check(sheet));
  if (!picture->rgb) picture->rgb = core_memory_allocate((size_t)width * (size_t)height * 3);
  TRY(sim_draw_rgb(sheet, picture->rgb));
  return add_to_mp4(picture, &(SimDrawPixels){width, height, picture->rgb});
}

int picture_add(Picture *picture, const SimDrawSheet *sheet, bool is_last) {
  core_text_clear(&picture->bytes);
  switch (picture->format) {
    case PICTURE_GIF: return sim_draw_gif_add(picture->gif, sheet, delay_cs(picture, is_last));
    case PICTURE_MP4: return add_sheet_to_mp4(picture, sheet);
    case PICTURE_PNG: return sim_draw_png(sheet, &picture->bytes);
    default: return sim_draw_svg(sheet, &picture->bytes);
  }
}

int picture_add_pixels(Picture *picture, const SimDrawPixels *pixels, bool is_last) {
  core_text_clear(&picture->bytes);
  switch (picture->format) {
    case PICTURE_GIF: return sim_draw_gif_add_pixels(picture->gif, pixels, delay_cs(picture, is_last));
    case PICTURE_MP4: return add_to_mp4(picture, pixels);
    default: return sim_draw_png_pixels(pixels, &picture->bytes);
  }
}

int picture_write(Picture *picture) {
  if (picture->format == PICTURE_MP4) return mp4_finish(picture->mp4);
  if (picture->format == PICTURE_GIF) TRY(sim_draw_gif_finish(picture->gif, &picture->bytes));
  return core_files_write_atomic(picture->path, picture->bytes.data, picture->bytes.length);
}

void picture_destroy(Picture **picture) {
  if (!*picture) return;
  sim_draw_gif_destroy(&(*picture)->gif);
  mp4_destroy(&(*picture)->mp4);
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
