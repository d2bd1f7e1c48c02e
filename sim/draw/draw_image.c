/* Raster images of drawings. A cell is painted on a canvas several times as fine and scaled down by averaging, which
 * smooths all edges; libgd, used only in this file, writes labels and encodes. Bodies may be anywhere: coordinates are
 * clipped to the canvas before they become pixel indices. */
#include "sim/draw/draw_image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

#if CORE_HAS_GD
#include <gd.h>
#include <gdfonts.h>

bool sim_draw_image_available(void) { return true; }

/* ---- one drawing on a fine canvas ------------------------------------------------------------------------------ */

enum { DISC_CORNERS = 128, OUTLINE_MAX = DISC_CORNERS + 4, FINE = 4, FINE_BUT_LARGE = 2, LARGE = 1024 };

typedef struct Canvas {
  int side, fine;       /* pixels; canvas pixels per image pixel in each direction */
  uint32_t *pixel;      /* [side][side] from the top: red << 16 | green << 8 | blue, as in gd */
} Canvas;

typedef struct Point { double x, y; } Point;
typedef struct Outline { Point point[OUTLINE_MAX]; int count; } Outline;

static Point to_pixels(const Canvas *canvas, float x, float y) {
  double scale = canvas->side / (double)SIM_DRAW_WIDTH;
  return (Point){((double)x - (double)SIM_DRAW_LEFT) * scale,
                 ((double)SIM_DRAW_BOTTOM + (double)SIM_DRAW_WIDTH - (double)y) * scale};
}

/* Finds the pixels first .. end - 1 of row y whose centers lie in the convex outline. */
static void span(const Outline *outline, int side, int y, int *first, int *end) {
  double middle = y + 0.5, least = side, most = 0;
  for (int i = 0; i < outline->count; i++) {
    Point a = outline->point[i], b = outline->point[(i + 1) % outline->count];
    if ((a.y <= middle) == (b.y <= middle)) continue;
    double x = a.x + (b.x - a.x) * (middle - a.y) / (b.y - a.y);
    least = fmin(least, x);
    most = fmax(most, x);
  }
  *first = (int)ceil(fmax(least, 0) - 0.5);
  *end = (int)ceil(fmin(most, side) - 0.5);
}

static void fill(Canvas *canvas, const Outline *outline, SimDrawColor color) {
  uint32_t pixel = (uint32_t)color.red << 16 | (uint32_t)color.green << 8 | color.blue;
  double top = canvas->side, bottom = 0;
  for (int i = 0; i < outline->count; i++) {
    top = fmin(top, outline->point[i].y);
    bottom = fmax(bottom, outline->point[i].y);
  }
  int last = (int)fmin(bottom, canvas->side - 1);
  for (int y = (int)fmax(top, 0); y <= last; y++) {
    int first, end;
    span(outline, canvas->side, y, &first, &end);
    for (int x = first; x < end; x++) canvas->pixel[(size_t)y * (size_t)canvas->side + (size_t)x] = pixel;
  }
}

static void fill_polygon(Canvas *canvas, const float *x, const float *y, int corners, SimDrawColor color) {
  Outline outline = {.count = corners};
  for (int i = 0; i < corners; i++) outline.point[i] = to_pixels(canvas, x[i], y[i]);
  fill(canvas, &outline, color);
}

static void fill_disc(Canvas *canvas, const SimDrawItem *item, float radius, SimDrawColor color) {
  const double turn = 6.283185307179586 / DISC_CORNERS;
  Outline outline = {.count = DISC_CORNERS};
  Point center = to_pixels(canvas, item->x[0], item->y[0]);
  double pixels = (double)radius * canvas->side / (double)SIM_DRAW_WIDTH;
  for (int i = 0; i < DISC_CORNERS; i++)
    outline.point[i] = (Point){center.x + pixels * cos(turn * i), center.y + pixels * sin(turn * i)};
  fill(canvas, &outline, color);
}

/* Paints the whole item in the edge's color, then its interior. */
static void paint_item(Canvas *canvas, const SimDrawItem *item) {
  float x[SIM_DRAW_CORNERS], y[SIM_DRAW_CORNERS];
  SimDrawColor outer = item->edge > 0 ? SIM_DRAW_BLACK : item->fill;
  if (item->corners == 0) {
    fill_disc(canvas, item, item->radius, outer);
    if (item->edge > 0) fill_disc(canvas, item, item->radius - item->edge, item->fill);
    return;
  }
  fill_polygon(canvas, item->x, item->y, item->corners, outer);
  if (item->edge > 0 && sim_draw_inset(item, item->edge, x, y))
    fill_polygon(canvas, x, y, item->corners, item->fill);
}

static void paint_drawing(Canvas *canvas, const SimDrawing *drawing) {
  size_t pixels = (size_t)canvas->side * (size_t)canvas->side;
  for (size_t i = 0; i < pixels; i++) canvas->pixel[i] = 0xffffff;
  for (int i = 0; i < drawing->count; i++) paint_item(canvas, &drawing->item[i]);
}

/* ---- a sheet --------------------------------------------------------------------------------------------------- */

static uint32_t mean(const Canvas *canvas, int left, int top) {
  uint32_t red = 0, green = 0, blue = 0, area = (uint32_t)(canvas->fine * canvas->fine);
  for (int y = top; y < top + canvas->fine; y++) {
    const uint32_t *row = canvas->pixel + (size_t)y * (size_t)canvas->side;
    for (int x = left; x < left + canvas->fine; x++) {
      red += row[x] >> 16;
      green += row[x] >> 8 & 0xff;
      blue += row[x] & 0xff;
    }
  }
  return (red + area / 2) / area << 16 | (green + area / 2) / area << 8 | (blue + area / 2) / area;
}

/* Writes the mean of fine x fine canvas pixels to each pixel of `image` from (left, top) on. */
static void scale_down(const Canvas *canvas, gdImagePtr image, int left, int top) {
  int side = canvas->side / canvas->fine;
  for (int y = 0; y < side; y++)
    for (int x = 0; x < side; x++)
      gdImageTrueColorPixel(image, left + x, top + y) = (int)mean(canvas, x * canvas->fine, y * canvas->fine);
}

/* Writes a cell's label. gd's own font has ASCII only; a label is cut at the end of its cell. */
static void paint_label(gdImagePtr image, const SimDrawSheet *sheet, int cell) {
  gdFontPtr font = gdFontGetSmall();
  unsigned char text[SIM_DRAW_LABEL];
  int length = 0;
  for (const char *c = sheet->cell[cell].label; *c && (length + 1) * font->w <= sheet->pixels; c++)
    if (((unsigned char)*c & 0xc0) != 0x80) text[length++] = *c >= ' ' && *c <= '~' ? (unsigned char)*c : '?';
  text[length] = '\0';
  gdImageString(image, font, sim_draw_cell_left(sheet, cell), sim_draw_cell_top(sheet, cell) - font->h - 1, text,
                gdTrueColor(0, 0, 0));
}

static void paint_sheet(const SimDrawSheet *sheet, Canvas *canvas, gdImagePtr image) {
  gdImageFilledRectangle(image, 0, 0, gdImageSX(image) - 1, gdImageSY(image) - 1, gdTrueColor(255, 255, 255));
  for (int i = 0; i < sheet->count; i++) {
    paint_drawing(canvas, &sheet->cell[i].drawing);
    scale_down(canvas, image, sim_draw_cell_left(sheet, i), sim_draw_cell_top(sheet, i));
    if (sheet->labeled) paint_label(image, sheet, i);
  }
}

static int out_of_memory(int width, int height) {
  return core_error(CORE_FAIL, "out of memory for an image of %d x %d pixels", width, height);
}

/* Renders the sheet as a truecolor image; free it with gdImageDestroy. */
static int make_image(const SimDrawSheet *sheet, gdImagePtr *image) {
  TRY(sim_draw_sheet_check(sheet));
  int width = sim_draw_sheet_width(sheet), height = sim_draw_sheet_height(sheet);
  Canvas canvas = {.fine = sheet->pixels > LARGE ? FINE_BUT_LARGE : FINE};
  canvas.side = sheet->pixels * canvas.fine;
  canvas.pixel = malloc((size_t)canvas.side * (size_t)canvas.side * sizeof *canvas.pixel);
  *image = canvas.pixel ? gdImageCreateTrueColor(width, height) : NULL;
  if (*image) paint_sheet(sheet, &canvas, *image);
  free(canvas.pixel);
  return *image ? CORE_OK : out_of_memory(width, height);
}

/* Appends and frees the bytes; NULL, where gd ran out of memory, is an error. */
static int append_bytes(void *bytes, int count, CoreText *text) {
  if (!bytes) return core_error(CORE_FAIL, "libgd cannot encode the image");
  core_text_append_bytes(text, bytes, (size_t)count);
  gdFree(bytes);
  return CORE_OK;
}

/* Encodes and frees the image. */
static int append_png(gdImagePtr image, CoreText *png) {
  int count = 0;
  void *bytes = gdImagePngPtr(image, &count);
  gdImageDestroy(image);
  return append_bytes(bytes, count, png);
}

int sim_draw_png(const SimDrawSheet *sheet, CoreText *png) {
  gdImagePtr image;
  TRY(make_image(sheet, &image));
  return append_png(image, png);
}

int sim_draw_rgb(const SimDrawSheet *sheet, uint8_t *rgb) {
  gdImagePtr image;
  TRY(make_image(sheet, &image));
  for (int y = 0; y < gdImageSY(image); y++)
    for (int x = 0; x < gdImageSX(image); x++, rgb += 3) {
      const int pixel = gdImageTrueColorPixel(image, x, y);
      rgb[0] = (uint8_t)gdTrueColorGetRed(pixel);
      rgb[1] = (uint8_t)gdTrueColorGetGreen(pixel);
      rgb[2] = (uint8_t)gdTrueColorGetBlue(pixel);
    }
  gdImageDestroy(image);
  return CORE_OK;
}

/* Copies pixels to a truecolor image; free it with gdImageDestroy. */
static int copy_image(const SimDrawPixels *pixels, gdImagePtr *image) {
  const uint8_t *rgb = pixels->rgb;
  *image = gdImageCreateTrueColor(pixels->width, pixels->height);
  if (!*image) return out_of_memory(pixels->width, pixels->height);
  for (int y = 0; y < pixels->height; y++)
    for (int x = 0; x < pixels->width; x++, rgb += 3)
      gdImageTrueColorPixel(*image, x, y) = gdTrueColor(rgb[0], rgb[1], rgb[2]);
  return CORE_OK;
}

int sim_draw_png_pixels(const SimDrawPixels *pixels, CoreText *png) {
  gdImagePtr image;
  TRY(copy_image(pixels, &image));
  return append_png(image, png);
}

/* ---- animations ------------------------------------------------------------------------------------------------ */

enum { PALETTE = 256, CUBE_SIDE = 4, CUBE = CUBE_SIDE * CUBE_SIDE * CUBE_SIDE };
enum { BITS_DRAWN = 5, BITS_SEEN = 6, KEYS = 1 << 3 * BITS_SEEN };

struct SimDrawGif {
  CoreText bytes;
  gdImagePtr before;        /* last frame: the next one stores only differences */
  int16_t nearest[KEYS];    /* palette index of a color reduced to `bits` bits per channel; -1: not computed yet */
  int bits;
  SimDrawColor color[PALETTE];
  int colors;
};

static int key_of(const SimDrawGif *gif, int pixel) {
  const int cut = 8 - gif->bits;
  return (gdTrueColorGetRed(pixel) >> cut << gif->bits | gdTrueColorGetGreen(pixel) >> cut) << gif->bits |
         gdTrueColorGetBlue(pixel) >> cut;
}

static void add_color(SimDrawGif *gif, int red, int green, int blue) {
  gif->color[gif->colors++] = (SimDrawColor){(uint8_t)red, (uint8_t)green, (uint8_t)blue};
}

/* Chooses the drawings' colors and their mixtures with black, since nearly all edges are black. */
static void choose_drawn_colors(SimDrawGif *gif) {
  const int steps = (PALETTE - 1) / SIM_DRAW_COLORS;
  SimDrawColor pure[SIM_DRAW_COLORS];
  sim_draw_palette(pure);
  gif->bits = BITS_DRAWN;
  add_color(gif, 0, 0, 0);
  for (int step = steps; step > 0; step--)
    for (int i = 0; i < SIM_DRAW_COLORS; i++)
      add_color(gif, pure[i].red * step / steps, pure[i].green * step / steps, pure[i].blue * step / steps);
}

/* Chooses gd's median cut of the image, and a coarse cube of all colors for those that only later frames have. */
static int choose_seen_colors(SimDrawGif *gif, gdImagePtr image) {
  gdImagePtr cut = gdImageCreatePaletteFromTrueColor(image, 0, PALETTE - CUBE);
  if (!cut) return out_of_memory(gdImageSX(image), gdImageSY(image));
  gif->bits = BITS_SEEN;
  for (int i = 0; i < gdImageColorsTotal(cut) && i < PALETTE - CUBE; i++)
    add_color(gif, gdImageRed(cut, i), gdImageGreen(cut, i), gdImageBlue(cut, i));
  for (int i = 0; i < CUBE; i++)
    add_color(gif, i % CUBE_SIDE * 255 / (CUBE_SIDE - 1), i / CUBE_SIDE % CUBE_SIDE * 255 / (CUBE_SIDE - 1),
              i / CUBE_SIDE / CUBE_SIDE * 255 / (CUBE_SIDE - 1));
  gdImageDestroy(cut);
  return CORE_OK;
}

static void fill_palette(const SimDrawGif *gif, gdImagePtr image) {
  for (int i = 0; i < gif->colors; i++)
    gdImageColorAllocate(image, gif->color[i].red, gif->color[i].green, gif->color[i].blue);
}

/* Maps the palette's colors to themselves, the first ones with priority: a drawing's pure colors before mixtures. */
static void seed_keys(SimDrawGif *gif) {
  for (int i = 0; i < KEYS; i++) gif->nearest[i] = -1;
  for (int i = gif->colors - 1; i >= 0; i--)
    gif->nearest[key_of(gif, gdTrueColor(gif->color[i].red, gif->color[i].green, gif->color[i].blue))] = (int16_t)i;
}

/* Returns a pixel's palette index. The first pixel of a key decides for all. */
static int palette_index(SimDrawGif *gif, gdImagePtr frame, int pixel) {
  int16_t *index = &gif->nearest[key_of(gif, pixel)];
  if (*index < 0)
    *index = (int16_t)gdImageColorClosest(frame, gdTrueColorGetRed(pixel), gdTrueColorGetGreen(pixel),
                                          gdTrueColorGetBlue(pixel));
  return *index;
}

static gdImagePtr to_palette(SimDrawGif *gif, gdImagePtr image) {
  gdImagePtr frame = gdImageCreatePalette(gdImageSX(image), gdImageSY(image));
  if (!frame) return NULL;
  if (!gif->before) seed_keys(gif);
  fill_palette(gif, frame);
  for (int y = 0; y < gdImageSY(image); y++)
    for (int x = 0; x < gdImageSX(image); x++)
      gdImagePalettePixel(frame, x, y) =
        (unsigned char)palette_index(gif, frame, gdImageTrueColorPixel(image, x, y));
  return frame;
}

int sim_draw_gif_create(SimDrawGif **gif) {
  *gif = core_memory_zero_allocate(1, sizeof **gif);
  return CORE_OK;
}

static bool same_pixels(gdImagePtr a, gdImagePtr b) {
  for (int y = 0; y < gdImageSY(a); y++)
    if (memcmp(a->pixels[y], b->pixels[y], (size_t)gdImageSX(a)) != 0) return false;
  return true;
}

/* Appends a frame. gd stores differences from the previous frame, but omits a frame without any, and with it its delay:
 * such a frame is stored as its first pixel. */
static int append_frame(SimDrawGif *gif, gdImagePtr frame, int delay_cs) {
  int count = 0;
  if (!gif->before) {
    void *begin = gdImageGifAnimBeginPtr(frame, &count, 1, 0);
    TRY(append_bytes(begin, count, &gif->bytes));
  }

  bool still = gif->before && same_pixels(frame, gif->before);
  gdImagePtr added = still ? gdImageCreatePalette(1, 1) : frame;
  if (!added) return out_of_memory(1, 1);
  if (still) {
    fill_palette(gif, added);
    gdImagePalettePixel(added, 0, 0) = gdImagePalettePixel(frame, 0, 0);
  }

  void *bytes = gdImageGifAnimAddPtr(added, &count, 0, 0, 0, delay_cs, gdDisposalNone, still ? NULL : gif->before);
  if (still) gdImageDestroy(added);
  return append_bytes(bytes, count, &gif->bytes);
}

/* Adds a frame and frees the image. */
static int add_image(SimDrawGif *gif, gdImagePtr image, int delay_cs) {
  int width = gdImageSX(image), height = gdImageSY(image);
  gdImagePtr frame = to_palette(gif, image);
  gdImageDestroy(image);
  if (!frame) return out_of_memory(width, height);
  CORE_CHECK(!gif->before || (gdImageSX(gif->before) == width && gdImageSY(gif->before) == height));
  int code = append_frame(gif, frame, delay_cs);
  if (gif->before) gdImageDestroy(gif->before);
  gif->before = frame;
  return code;
}

int sim_draw_gif_add(SimDrawGif *gif, const SimDrawSheet *sheet, int delay_cs) {
  gdImagePtr image;
  TRY(make_image(sheet, &image));
  if (!gif->before) choose_drawn_colors(gif);
  return add_image(gif, image, delay_cs);
}

int sim_draw_gif_add_pixels(SimDrawGif *gif, const SimDrawPixels *pixels, int delay_cs) {
  gdImagePtr image;
  TRY(copy_image(pixels, &image));
  int code = gif->before ? CORE_OK : choose_seen_colors(gif, image);
  if (code == CORE_OK) return add_image(gif, image, delay_cs);
  gdImageDestroy(image);
  return code;
}

int sim_draw_gif_finish(SimDrawGif *gif, CoreText *bytes) {
  int count = 0;
  CORE_CHECK(gif->before);
  void *end = gdImageGifAnimEndPtr(&count);
  TRY(append_bytes(end, count, &gif->bytes));
  core_text_append_bytes(bytes, gif->bytes.data, gif->bytes.length);
  return CORE_OK;
}

void sim_draw_gif_destroy(SimDrawGif **gif) {
  if (!*gif) return;
  if ((*gif)->before) gdImageDestroy((*gif)->before);
  core_text_free(&(*gif)->bytes);
  free(*gif);
  *gif = NULL;
}

#else

static int absent(void) {
  return core_error(CORE_USAGE, ".png, .gif and .mp4 require libgd, which this program was built without; choose "
                    ".svg, or install libgd (libgd-dev, gd-devel) and build again");
}

bool sim_draw_image_available(void) { return false; }
int sim_draw_png(const SimDrawSheet *sheet, CoreText *png) { return absent(); }
int sim_draw_png_pixels(const SimDrawPixels *pixels, CoreText *png) { return absent(); }
int sim_draw_rgb(const SimDrawSheet *sheet, uint8_t *rgb) { return absent(); }
int sim_draw_gif_create(SimDrawGif **gif) {
  *gif = NULL;
  return absent();
}
int sim_draw_gif_add(SimDrawGif *gif, const SimDrawSheet *sheet, int delay_cs) { return absent(); }
int sim_draw_gif_add_pixels(SimDrawGif *gif, const SimDrawPixels *pixels, int delay_cs) { return absent(); }
int sim_draw_gif_finish(SimDrawGif *gif, CoreText *bytes) { return absent(); }
void sim_draw_gif_destroy(SimDrawGif **gif) {}

#endif
