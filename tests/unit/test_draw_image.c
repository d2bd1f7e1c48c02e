/* sim/draw's pictures and films: their pixels as libgd reads them, and the blocks of a GIF. */
#include "test.h"

#include "draw_scene.h"

#if CORE_HAS_GD
#include <gd.h>
#endif

/* ---- pixels ----------------------------------------------------------------------------------------------------- */

#if CORE_HAS_GD

static gdImagePtr decode(const SimDrawSheet *sheet) {
  CoreText png = {0};
  assert_int_equal(sim_draw_png(sheet, &png), CORE_OK);
  gdImagePtr image = gdImageCreateFromPngPtr((int)png.length, png.data);
  core_text_free(&png);
  assert_non_null(image);
  return image;
}

static gdImagePtr draw(const SimLevel *level) {
  static SimDrawCell cell;
  sim_draw_world(level, NULL, &cell.drawing);
  SimDrawSheet sheet = sheet_of(&cell, 1, 1, 1, PIXELS, false);
  return decode(&sheet);
}

static void assert_pixel(gdImagePtr image, float x, float y, int rgb) {
  int px = (int)((x + 0.1f) * 100), py = PIXELS - 1 - (int)((y + 0.1f) * 100);
  int got = gdImageGetTrueColorPixel(image, px, py) & 0xffffff;
  if (got != rgb) fail_msg("at %g %g m: %06x instead of %06x", (double)x, (double)y, (unsigned)got, (unsigned)rgb);
}

static void test_pixels(void **state) {
  SimLevel level = scene();
  gdImagePtr image = draw(&level);
  assert_int_equal(gdImageSX(image), PIXELS);
  assert_int_equal(gdImageSY(image), PIXELS);
  assert_pixel(image, 1, 1, 0x00cc00);
  assert_pixel(image, 3.2f, 1.2f, 0xa0a0a0);
  assert_pixel(image, 4.3f, 4.05f, 0x505050);
  assert_pixel(image, 4.5f, 3, 0x7f3333);
  assert_pixel(image, 1, 2.8f, 0x003366);
  assert_pixel(image, 3, 2.8f, 0xff6666);
  assert_pixel(image, 2.5f, 4.5f, 0xffffff);  /* air */
  assert_pixel(image, 2.5f, 0.1f, 0x505050);  /* floor */
  assert_pixel(image, -0.07f, 2, 0x505050);   /* left wall */
  assert_pixel(image, 5.07f, 2, 0x505050);    /* right wall */
  assert_pixel(image, 2.5f, 5.07f, 0x505050); /* ceiling */
  assert_pixel(image, -0.07f, 5.07f, 0x505050); /* a closed corner */
  assert_pixel(image, 0.61f, 1, 0);           /* the green body's left edge, inside it */
  assert_pixel(image, 0.58f, 1, 0xffffff);
  assert_pixel(image, 3, 3.3f, 0);            /* the circle's line, upwards */
  assert_pixel(image, 1.4f, 1, 0x00ffff);     /* the motor's joint */
  assert_pixel(image, 3, 0.65f, 0xff00ff);    /* the flame under the nozzle */
  gdImageDestroy(image);
}

static void test_rotation(void **state) {
  SimLevel level = scene();
  level.polygon[4].rotation = 1.5707963f; /* 0.4 x 0.8 now */
  level.circle[1].rotation = 1.5707963f;  /* the line points left */
  gdImagePtr image = draw(&level);
  assert_pixel(image, 1, 1.25f, 0x00cc00);
  assert_pixel(image, 1.3f, 1.05f, 0xffffff);
  assert_pixel(image, 2.7f, 3, 0);
  assert_pixel(image, 3, 3.3f, 0xff6666);
  gdImageDestroy(image);
}

/* Anything may be anywhere: it must be cut off, not overflow. */
static void test_far_and_not_finite(void **state) {
  SimLevel level = scene();
  set_rect(&level.polygon[4], 1e9f, -1e9f, 1, 1, SIM_ROLE_GREEN, false);
  set_rect(&level.polygon[5], 2.5f, 2.5f, 1e8f, 0.2f, SIM_ROLE_BLUE, false);
  set_rect(&level.polygon[6], NAN, 1, 1, 1, SIM_ROLE_RED, false);
  set_disc(&level.circle[0], 1, 1, INFINITY, SIM_ROLE_RED, false);
  set_disc(&level.circle[1], 2.5f, -1e6f, 1e6f + 1.5f, SIM_ROLE_GREEN, false);
  level.joint[0].active = level.thruster[0].active = false;
  gdImagePtr image = draw(&level);
  assert_pixel(image, 0.5f, 2.5f, 0x0066cc);
  assert_pixel(image, 4.5f, 2.5f, 0x0066cc);
  assert_pixel(image, 2.5f, 3.5f, 0xffffff);
  assert_pixel(image, 2.2f, 1, 0x00cc00);
  gdImageDestroy(image);
}

static void test_labels(void **state) {
  static SimDrawCell cell[2];
  snprintf(cell[0].label, sizeof cell[0].label, "H");
  memset(cell[1].label, '\xff', sizeof cell[1].label - 1);
  SimDrawSheet sheet = sheet_of(cell, 2, 2, 1, 64, true);
  gdImagePtr image = decode(&sheet);
  int dark[2] = {0, 0}, outside = 0;
  for (int y = 0; y < sim_draw_cell_top(&sheet, 0); y++)
    for (int x = 0; x < gdImageSX(image); x++) {
      if ((gdImageGetTrueColorPixel(image, x, y) & 0xffffff) == 0xffffff) continue;
      int i = x >= sim_draw_cell_left(&sheet, 1);
      dark[i]++;
      outside += x < sim_draw_cell_left(&sheet, i) || x >= sim_draw_cell_left(&sheet, i) + 64;
    }
  assert_true(dark[0] > 5);
  assert_true(dark[1] > dark[0]); /* '?' repeated to the full width */
  assert_int_equal(outside, 0);
  gdImageDestroy(image);
}

/* ---- GIF: the blocks of the file, read here by the format's own description -------------------------------------- */

typedef struct GifFacts { int frames, local_palettes, loops, ended, delay[64]; } GifFacts;

static const unsigned char *skip_blocks(const unsigned char *at, const unsigned char *end) {
  while (at < end && *at) at += *at + 1;
  return at + 1;
}

static GifFacts read_gif(const CoreText *bytes) {
  GifFacts facts = {.loops = -1};
  const unsigned char *at = (const unsigned char *)bytes->data, *end = at + bytes->length;
  assert_true(bytes->length > 13 && memcmp(at, "GIF89a", 6) == 0);
  assert_true(at[10] & 0x80); /* the palette of all frames */
  at += 13 + 3 * (2 << (at[10] & 7));
  while (at < end && !facts.ended) {
    if (*at == 0x3b) facts.ended = 1;
    else if (*at == 0x21) {
      if (at[1] == 0xf9 && facts.frames < 64) facts.delay[facts.frames] = at[4] | at[5] << 8;
      if (at[1] == 0xff && memcmp(at + 3, "NETSCAPE2.0", 11) == 0) facts.loops = at[16] | at[17] << 8;
      at = skip_blocks(at + 2, end);
    } else {
      assert_int_equal(*at, 0x2c);
      facts.frames++;
      facts.local_palettes += at[9] >> 7;
      at = skip_blocks(at + 11, end);
    }
  }
  return facts;
}

static void test_gif(void **state) {
  enum { FRAMES = 12 };
  static SimDrawCell cell;
  SimLevel level = scene();
  SimDrawSheet sheet = sheet_of(&cell, 1, 1, 1, PIXELS, false);
  SimDrawGif *gif = NULL;
  CoreText bytes = {0};

  assert_int_equal(sim_draw_gif_create(&gif), CORE_OK);
  for (int i = 0; i < FRAMES; i++) {
    if (i > 2) level.polygon[4].y += 0.1f; /* the first ones are equal: they must not vanish */
    sim_draw_world(&level, NULL, &cell.drawing);
    assert_int_equal(sim_draw_gif_add(gif, &sheet, i == FRAMES - 1 ? 100 : SIM_DRAW_FRAME_CS), CORE_OK);
  }
  assert_int_equal(sim_draw_gif_finish(gif, &bytes), CORE_OK);
  sim_draw_gif_destroy(&gif);
  assert_null(gif);

  GifFacts facts = read_gif(&bytes);
  assert_int_equal(facts.frames, FRAMES);
  assert_int_equal(facts.local_palettes, 0);
  assert_int_equal(facts.loops, 0); /* indefinitely */
  assert_true(facts.ended);
  for (int i = 0; i < FRAMES; i++) assert_int_equal(facts.delay[i], i == FRAMES - 1 ? 100 : 3);

  gdImagePtr first = gdImageCreateFromGifPtr((int)bytes.length, bytes.data);
  assert_non_null(first);
  assert_pixel(first, 1, 1, 0x00cc00);
  assert_pixel(first, 1, 2.8f, 0x003366);
  assert_pixel(first, 2.5f, 4.5f, 0xffffff);
  assert_pixel(first, 1.4f, 1, 0x00ffff);
  gdImageDestroy(first);
  core_text_free(&bytes);
}

static void assert_color(int pixel, int wanted) {
  for (int shift = 0; shift < 24; shift += 8)
    assert_in_range((pixel >> shift & 255) - (wanted >> shift & 255) + 4, 0, 8);
}

/* A .png keeps all colors, a .gif comes near to those of its first frame. */
static void test_pixels_of_others(void **state) {
  enum { WIDTH = 5, HEIGHT = 4 };
  static const uint8_t colors[3][3] = {{200, 100, 50}, {7, 77, 177}, {250, 5, 5}};
  uint8_t rgb[HEIGHT][WIDTH][3];
  const SimDrawPixels pixels = {WIDTH, HEIGHT, &rgb[0][0][0]};
  SimDrawGif *gif = NULL;
  CoreText bytes = {0};

  for (int i = 0; i < WIDTH * HEIGHT; i++) memcpy(rgb[i / WIDTH][i % WIDTH], colors[i > 6], 3);
  assert_int_equal(sim_draw_png_pixels(&pixels, &bytes), CORE_OK);

  gdImagePtr image = gdImageCreateFromPngPtr((int)bytes.length, bytes.data);
  assert_non_null(image);
  assert_int_equal(gdImageSX(image), WIDTH);
  assert_int_equal(gdImageSY(image), HEIGHT);
  assert_int_equal(gdImageGetTrueColorPixel(image, 1, 1), 0xc86432); /* the 6th, in rows from the top */
  assert_int_equal(gdImageGetTrueColorPixel(image, 2, 1), 0x074db1);
  gdImageDestroy(image);
  core_text_clear(&bytes);

  assert_int_equal(sim_draw_gif_create(&gif), CORE_OK);
  assert_int_equal(sim_draw_gif_add_pixels(gif, &pixels, 7), CORE_OK);
  memcpy(rgb[3][4], colors[2], 3);
  assert_int_equal(sim_draw_gif_add_pixels(gif, &pixels, 9), CORE_OK);
  assert_int_equal(sim_draw_gif_finish(gif, &bytes), CORE_OK);
  sim_draw_gif_destroy(&gif);

  const GifFacts facts = read_gif(&bytes);
  assert_int_equal(facts.frames, 2);
  assert_int_equal(facts.local_palettes, 0);
  assert_int_equal(facts.delay[0], 7);

  image = gdImageCreateFromGifPtr((int)bytes.length, bytes.data);
  assert_non_null(image);
  assert_color(gdImageGetTrueColorPixel(image, 1, 1), 0xc86432);
  assert_color(gdImageGetTrueColorPixel(image, 2, 1), 0x074db1);
  gdImageDestroy(image);
  core_text_free(&bytes);
}

#else

static void test_absent(void **state) {
  static SimDrawCell cell;
  SimDrawSheet sheet = sheet_of(&cell, 1, 1, 1, 100, false);
  SimDrawGif *gif = NULL;
  CoreText bytes = {0};
  assert_false(sim_draw_image_available());
  assert_int_equal(sim_draw_png(&sheet, &bytes), CORE_USAGE);
  assert_message("libgd");
  assert_int_equal(sim_draw_gif_create(&gif), CORE_USAGE);
  assert_null(gif);
}

#endif

int main(void) {
  const struct CMUnitTest tests[] = {
#if CORE_HAS_GD
    cmocka_unit_test(test_pixels),
    cmocka_unit_test(test_rotation),
    cmocka_unit_test(test_far_and_not_finite),
    cmocka_unit_test(test_labels),
    cmocka_unit_test(test_gif),
    cmocka_unit_test(test_pixels_of_others),
#else
    cmocka_unit_test(test_absent),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
