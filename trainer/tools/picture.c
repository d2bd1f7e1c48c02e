/* Chooses between sim/draw_svg and sim/draw_image and writes their bytes. */
#include "trainer/tools/picture.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/files.h"
#include "core/memory.h"
#include "sim/draw/draw_image.h"
#include "sim/draw/draw_svg.h"

enum { REST_CS = 100 }; /* an animation rests on its last frame before it starts over */

typedef enum PictureKind { PICTURE_PNG, PICTURE_GIF, PICTURE_SVG, PICTURE_KINDS } PictureKind;
static const char *const endings[PICTURE_KINDS] = {".png", ".gif", ".svg"};

struct Picture {
  PictureKind kind;
  char path[CORE_PATH_MAX];
  CoreText bytes;
  SimDrawGif *gif;
};

static int kind_of(const char *path, PictureKind *kind) {
  const char *dot = strrchr(path, '.');
  *kind = PICTURE_KINDS;
  for (int i = 0; dot && i < PICTURE_KINDS; i++)
    if (strcasecmp(dot, endings[i]) == 0) {
      *kind = (PictureKind)i;
      return CORE_OK;
    }
  return core_error(CORE_USAGE, "%.200s: a picture's name must end in .png, .gif or .svg", path);
}

int picture_create(const char *path, Picture **picture) {
  PictureKind kind;
  *picture = NULL;
  TRY(kind_of(path, &kind));
  Picture *made = core_memory_zero_allocate(1, sizeof *made);
  made->kind = kind;
  int code = core_files_path(made->path, "%s", path);
  if (code == CORE_OK && kind == PICTURE_GIF) code = sim_draw_gif_create(&made->gif);
  if (code != CORE_OK) picture_destroy(&made);
  *picture = made;
  return code;
}

bool picture_moves(const Picture *picture) { return picture->kind == PICTURE_GIF; }

int picture_add(Picture *picture, const SimDrawSheet *sheet, bool last) {
  if (picture->kind == PICTURE_GIF) return sim_draw_gif_add(picture->gif, sheet, last ? REST_CS : SIM_DRAW_FRAME_CS);
  core_text_clear(&picture->bytes);
  return picture->kind == PICTURE_PNG ? sim_draw_png(sheet, &picture->bytes) : sim_draw_svg(sheet, &picture->bytes);
}

int picture_write(Picture *picture) {
  if (picture->kind == PICTURE_GIF) TRY(sim_draw_gif_finish(picture->gif, &picture->bytes));
  return core_files_write_atomic(picture->path, picture->bytes.data, picture->bytes.length);
}

void picture_destroy(Picture **picture) {
  if (!*picture) return;
  sim_draw_gif_destroy(&(*picture)->gif);
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
