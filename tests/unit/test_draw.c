/* Pictures of worlds: what is drawn where and in which colour, decoded again by libgd where it is there; SVG that is
 * well-formed whatever a label holds; bodies far away or not finite. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "sim/batch/batch.h"
#include "sim/draw/draw.h"
#include "sim/draw/draw_image.h"
#include "sim/draw/draw_svg.h"
#include "sim/levels/level_set.h"
#include "sim/levels/morphology.h"

#if CORE_HAS_GD
#include <gd.h>
#endif

enum { PIXELS = 520 }; /* 100 a metre */

/* ---- a world with one of everything ----------------------------------------------------------------------------- */

static void set_rect(SimShape *shape, float x, float y, float half_x, float half_y, int role, bool fixated) {
  const float sx[] = {-1, 1, 1, -1}, sy[] = {1, 1, -1, -1};
  *shape = (SimShape){.x = x, .y = y, .role = role, .vertex_count = 4, .active = true, .density = 1, .friction = 1};
  shape->inverse_mass = shape->inverse_inertia = fixated ? 0 : 1;
  for (int i = 0; i < 4; i++) {
    shape->vertex_x[i] = sx[i] * half_x;
    shape->vertex_y[i] = sy[i] * half_y;
  }
}

static void set_disc(SimShape *shape, float x, float y, float radius, int role, bool fixated) {
  *shape = (SimShape){.x = x, .y = y, .radius = radius, .role = role, .active = true, .density = 1, .friction = 1};
  shape->inverse_mass = shape->inverse_inertia = fixated ? 0 : 1;
}

static SimLevel scene(void) {
  SimLevel level = sim_level_empty(SIM_SIZE_L, true);
  set_rect(&level.polygon[4], 1, 1, 0.4f, 0.2f, SIM_ROLE_GREEN, false);
  set_rect(&level.polygon[5], 3, 1, 0.3f, 0.3f, SIM_ROLE_NORMAL, false);
  set_rect(&level.polygon[6], 4.5f, 4, 0.3f, 0.1f, SIM_ROLE_NORMAL, true);
  set_rect(&level.polygon[7], 4.5f, 3, 0.3f, 0.1f, SIM_ROLE_RED, true);
  set_disc(&level.circle[0], 1, 3, 0.5f, SIM_ROLE_BLUE, true);
  set_disc(&level.circle[1], 3.005f, 3.005f, 0.5f, SIM_ROLE_RED, false); /* its line covers whole pixels */
  level.joint[0] = (SimJoint){.a = 4, .b = 5, .a_x = 0.4f, .b_x = -1.6f, .active = true, .motor_on = true,
                              .motor_binding = 2, .motor_speed = 1, .motor_power = 1};
  level.joint[1] = (SimJoint){.a = 6, .b = 12, .active = true, .fixed = true};
  level.thruster[0] = (SimThruster){.shape = 5, .y = -0.3f, .rotation = 1.5707963f, .power = 1, .binding = 1,
                                    .active = true};
  assert_int_equal(sim_level_check(&level), CORE_OK);
  return level;
}

static SimDrawSheet sheet_of(SimDrawCell *cell, int count, int columns, int rows, int pixels, bool labelled) {
  return (SimDrawSheet){columns, rows, pixels, labelled, count, cell};
}

/* ---- the list of items ------------------------------------------------------------------------------------------ */

static void test_items(void **state) {
  SimLevel level = scene();
  SimDrawing drawing;
  sim_draw_world(&level, NULL, &drawing);
  /* 4 statics, 4 polygons, 2 circles with a line each, 2 joints, a thruster of two parts */
  assert_int_equal(drawing.count, 4 + 4 + 4 + 2 + 2);
  for (int i = 0; i < level.size.polygons; i++) level.polygon[i].active = false;
  for (int i = 0; i < level.size.circles; i++) level.circle[i].active = false;
  level.joint[0].active = level.joint[1].active = level.thruster[0].active = false;
  sim_draw_world(&level, NULL, &drawing);
  assert_int_equal(drawing.count, 0);
}

static void assert_color(SimDrawColor color, int red, int green, int blue) {
  if (color.red != red || color.green != green || color.blue != blue)
    fail_msg("(%d, %d, %d) instead of (%d, %d, %d)", color.red, color.green, color.blue, red, green, blue);
}

static void test_colors(void **state) {
  static const int rgb[4][3] = {{160, 160, 160}, {0, 204, 0}, {0, 102, 204}, {255, 102, 102}};
  for (int role = 0; role < 4; role++) {
    SimShape shape = {.role = role, .inverse_mass = 1};
    assert_color(sim_draw_body_color(&shape), rgb[role][0], rgb[role][1], rgb[role][2]);
    shape.inverse_mass = 0;
    if (role == 0) assert_color(sim_draw_body_color(&shape), 80, 80, 80);
    else assert_color(sim_draw_body_color(&shape), rgb[role][0] / 2, rgb[role][1] / 2, rgb[role][2] / 2);
  }
}

/* The full list would not fit if a level could hold more than SIM_DRAW_ITEMS of everything. */
static void test_fullest_level(void **state) {
  SimSize size = {SIM_MAX_POLYGONS, SIM_MAX_CIRCLES, SIM_MAX_JOINTS, SIM_MAX_THRUSTERS};
  SimLevel level = sim_level_empty(size, true);
  SimDrawing drawing;
  for (int i = 4; i < SIM_MAX_POLYGONS; i++) set_rect(&level.polygon[i], 2, 2, 0.1f, 0.1f, 0, false);
  for (int i = 0; i < SIM_MAX_CIRCLES; i++) set_disc(&level.circle[i], 2, 2, 0.1f, 0, false);
  for (int i = 0; i < SIM_MAX_JOINTS; i++) level.joint[i] = (SimJoint){.a = 4, .b = 5 + i, .active = true};
  for (int i = 0; i < SIM_MAX_THRUSTERS; i++) level.thruster[i] = (SimThruster){.shape = 4, .active = true};
  sim_draw_world(&level, NULL, &drawing);
  assert_int_equal(drawing.count, SIM_DRAW_ITEMS);
}

/* Joints are drawn where both bodies have their anchors, at the start and while everything moves. */
static void test_joints_hold_bodies(void **state) {
  SimLevelSet set;
  SimBatch *batch = NULL;
  SimBatchOptions options = sim_batch_options_default();
  assert_int_equal(sim_morphology_set("all", "all", 64, &set), CORE_OK);
  options.worlds = set.count;
  options.auto_reset = false;
  assert_int_equal(sim_batch_create(&options, &set, &batch), CORE_OK);
  uint8_t actions[64 * SIM_ACTIONS] = {0};
  int32_t own[64];
  for (int w = 0; w < set.count; w++) own[w] = w;
  sim_batch_reset_to(batch, own, NULL);
  for (int step = 0; step < 30; step++) {
    for (int w = 0; w < set.count; w++) {
      SimLevel world;
      SimDrawing drawing;
      int joints = 0, thrusters = 0;
      sim_batch_get_world(batch, w, &world);
      sim_draw_world(&world, NULL, &drawing);
      for (int i = 0; i < world.size.joints; i++) joints += world.joint[i].active;
      for (int i = 0; i < world.size.thrusters; i++) thrusters += world.thruster[i].active;
      int first = drawing.count - joints - 2 * thrusters;
      for (int i = 0, k = first; i < world.size.joints; i++) {
        const SimJoint *joint = &world.joint[i];
        if (!joint->active) continue;
        int b = joint->b;
        const SimShape *body = b < world.size.polygons ? &world.polygon[b] : &world.circle[b - world.size.polygons];
        float x = body->x + cosf(body->rotation) * joint->b_x - sinf(body->rotation) * joint->b_y;
        float y = body->y + sinf(body->rotation) * joint->b_x + cosf(body->rotation) * joint->b_y;
        const SimDrawItem *item = &drawing.item[k++];
        float shown_x = item->corners ? (item->x[0] + item->x[2]) / 2 : item->x[0];
        float shown_y = item->corners ? (item->y[0] + item->y[2]) / 2 : item->y[0];
        if (hypotf(x - shown_x, y - shown_y) > (step == 0 ? 1e-4f : 0.06f))
          fail_msg("%s, step %d, joint %d: drawn at %g %g, the second body's anchor is at %g %g", world.name, step, i,
                   (double)shown_x, (double)shown_y, (double)x, (double)y);
      }
    }
    for (size_t i = 0; i < sizeof actions; i++) actions[i] = (uint8_t)((i * 7 + (size_t)step / 5) % 2);
    sim_batch_step(batch, actions, &(SimStepOut){0});
  }
  sim_batch_destroy(&batch);
  sim_level_set_free(&set);
}

static void test_flames_follow_thrust(void **state) {
  SimLevel level = scene();
  SimDrawing off, on;
  sim_draw_world(&level, (float[]){1, 0}, &off);
  sim_draw_world(&level, (float[]){0, 1}, &on);
  const SimDrawItem *short_flame = &off.item[off.count - 2], *long_flame = &on.item[on.count - 2];
  assert_true(long_flame->y[2] < short_flame->y[2] - 0.1f); /* it pushes upwards */
  assert_true(fabsf(long_flame->x[2] - 3) < 1e-3f);
  assert_color(long_flame->fill, 255, 0, 255);
}

static void test_inset(void **state) {
  SimDrawItem square = {.corners = 4, .x = {0, 1, 1, 0}, .y = {1, 1, 0, 0}};
  SimDrawItem needle = {.corners = 3, .x = {0, 1, 0}, .y = {0.001f, 0, -0.001f}};
  SimDrawItem point = {.corners = 3};
  float x[SIM_DRAW_CORNERS], y[SIM_DRAW_CORNERS];
  assert_true(sim_draw_inset(&square, 0.25f, x, y));
  for (int i = 0; i < 4; i++) {
    assert_true(fabsf(x[i] - (square.x[i] < 0.5f ? 0.25f : 0.75f)) < 1e-6f);
    assert_true(fabsf(y[i] - (square.y[i] < 0.5f ? 0.25f : 0.75f)) < 1e-6f);
  }
  assert_false(sim_draw_inset(&square, 0.6f, x, y));
  assert_false(sim_draw_inset(&needle, 0.1f, x, y));
  assert_false(sim_draw_inset(&point, 0.1f, x, y));
}

static void test_sheet_limits(void **state) {
  static SimDrawCell cell[4];
  CoreText text = {0};
  const SimDrawSheet bad[] = {
    sheet_of(cell, 1, 1, 1, SIM_DRAW_PIXELS_MIN - 1, false), sheet_of(cell, 1, 1, 1, SIM_DRAW_PIXELS_MAX + 1, false),
    sheet_of(cell, 0, 1, 1, 100, false), sheet_of(cell, 2, 1, 1, 100, false), sheet_of(cell, 1, 0, 1, 100, false),
    sheet_of(cell, 1, 1, -1, 100, false), sheet_of(cell, 4, 100, 1, 100, true),
    sheet_of(cell, 4, 1, 1 << 30, 100, true)};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(sim_draw_svg(&bad[i], &text), CORE_USAGE);
    assert_int_equal(sim_draw_png(&bad[i], &text), CORE_USAGE);
  }
  assert_int_equal(text.length, 0);
  SimDrawSheet single = sheet_of(cell, 1, 1, 1, 100, false), four = sheet_of(cell, 4, 2, 2, 100, true);
  assert_int_equal(sim_draw_sheet_width(&single), 100);
  assert_int_equal(sim_draw_sheet_height(&single), 100);
  for (int i = 0; i < 4; i++) { /* cells lie inside and do not overlap */
    int left = sim_draw_cell_left(&four, i), top = sim_draw_cell_top(&four, i);
    assert_true(left >= 0 && left + 100 <= sim_draw_sheet_width(&four));
    assert_true(top >= SIM_DRAW_LABEL_PIXELS && top + 100 <= sim_draw_sheet_height(&four));
    if (i % 2) assert_true(left >= sim_draw_cell_left(&four, i - 1) + 100);
    if (i >= 2) assert_true(top >= sim_draw_cell_top(&four, i - 2) + 100 + SIM_DRAW_LABEL_PIXELS);
  }
}

/* ---- SVG -------------------------------------------------------------------------------------------------------- */

/* Are all tags closed in order, attributes quoted, and is there no stray markup or control character? Enough of XML for
 * what the writer can get wrong; tests/cli/test_show.sh asks xmllint as well. */
static bool is_well_formed(const char *xml) {
  char open[16][16];
  int depth = 0, roots = 0;
  const char *c = strstr(xml, "?>");
  if (!c) return false;
  for (c += 2; *c; c++) {
    if ((unsigned char)*c < ' ' && *c != '\n') return false;
    if (*c == '>') return false;
    if (*c == '&' && strncmp(c, "&amp;", 5) && strncmp(c, "&lt;", 4) && strncmp(c, "&gt;", 4) &&
        strncmp(c, "&quot;", 6) && strncmp(c, "&apos;", 6)) return false;
    if (*c != '<') continue;
    bool closing = c[1] == '/', quoted = false;
    const char *name = c + 1 + closing;
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz");
    if (length == 0 || length > 15) return false;
    for (c = name + length; *c && (quoted || *c != '>'); c++) {
      if (*c == '"') quoted = !quoted;
      if (*c == '<') return false;
    }
    if (*c != '>' || quoted) return false;
    if (closing) {
      if (depth == 0 || strlen(open[depth - 1]) != length || memcmp(open[depth - 1], name, length) != 0) return false;
      depth--;
    } else if (c[-1] != '/') {
      if (depth == 16) return false;
      if (depth == 0) roots++;
      memcpy(open[depth], name, length);
      open[depth++][length] = '\0';
    }
  }
  return depth == 0 && roots == 1;
}

static void test_svg(void **state) {
  static const char *const labels[] = {"plain", "</text><script>alert('x')</script>", "a & b \" c ' d > e",
                                       "\x01\x02\t\n\x7f", "\xff\xfe broken \xc3", "gr\xc3\xbc\xc3\x9f",
                                       "\xef\xbf\xbf"};
  enum { LABELS = sizeof labels / sizeof *labels };
  static SimDrawCell cell[LABELS];
  CoreText svg = {0};
  SimLevel level = scene();
  for (int i = 0; i < LABELS; i++) {
    sim_draw_world(&level, NULL, &cell[i].drawing);
    snprintf(cell[i].label, sizeof cell[i].label, "%s", labels[i]);
  }
  SimDrawSheet sheet = sheet_of(cell, LABELS, 4, 2, 100, true);
  assert_int_equal(sim_draw_svg(&sheet, &svg), CORE_OK);
  assert_true(is_well_formed(core_text_string(&svg)));
  assert_true(core_text_is_utf8(core_text_string(&svg)));
  assert_null(strstr(svg.data, "<script"));
  assert_non_null(strstr(svg.data, "gr\xc3\xbc\xc3\x9f"));
  assert_non_null(strstr(svg.data, "fill=\"#00cc00\""));  /* a green body */
  assert_non_null(strstr(svg.data, "fill=\"#003366\""));  /* a fixated blue one */
  assert_non_null(strstr(svg.data, "cx=\"1\" cy=\"3\"")); /* where it is */
  core_text_free(&svg);
}

static void test_checker_refuses(void **state) {
  static const char *const wrong[] = {"<?x?><a><b></a></b>", "<?x?><a>", "<?x?><a b=\"c></a>", "<?x?><a>&</a>",
                                      "<?x?></a>", "<?x?><a>\x01</a>", "<?x?><a></a><a></a>", "<?x?><a>></a>"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    if (is_well_formed(wrong[i])) fail_msg("%s passes", wrong[i]);
}

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
  assert_true(dark[1] > dark[0]); /* as many '?' as fit */
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
  assert_int_equal(facts.loops, 0); /* for ever */
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

static void assert_near(int pixel, int wanted) {
  for (int shift = 0; shift < 24; shift += 8)
    assert_in_range((pixel >> shift & 255) - (wanted >> shift & 255) + 4, 0, 8);
}

/* A .png keeps all colours, a .gif comes near to those of its first frame. */
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
  assert_near(gdImageGetTrueColorPixel(image, 1, 1), 0xc86432);
  assert_near(gdImageGetTrueColorPixel(image, 2, 1), 0x074db1);
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
  assert_non_null(strstr(core_error_message(), "libgd"));
  assert_int_equal(sim_draw_gif_create(&gif), CORE_USAGE);
  assert_null(gif);
}

#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_items),
    cmocka_unit_test(test_colors),
    cmocka_unit_test(test_fullest_level),
    cmocka_unit_test(test_joints_hold_bodies),
    cmocka_unit_test(test_flames_follow_thrust),
    cmocka_unit_test(test_inset),
    cmocka_unit_test(test_sheet_limits),
    cmocka_unit_test(test_svg),
    cmocka_unit_test(test_checker_refuses),
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
