/* Drawings of worlds: positions and colors; SVG that is well-formed for any label. */
#include "test.h"

#include "draw_scene.h"

#include "sim/draw/draw.h"
#include "sim/levels/level_set.h"
#include "sim/levels/morphology.h"

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
  SimSize size = {SIM_POLYGONS_MAX, SIM_CIRCLES_MAX, SIM_JOINTS_MAX, SIM_THRUSTERS_MAX};
  SimLevel level = sim_level_empty(size, true);
  SimDrawing drawing;
  for (int i = 4; i < SIM_POLYGONS_MAX; i++) set_rect(&level.polygon[i], 2, 2, 0.1f, 0.1f, 0, false);
  for (int i = 0; i < SIM_CIRCLES_MAX; i++) set_disc(&level.circle[i], 2, 2, 0.1f, 0, false);
  for (int i = 0; i < SIM_JOINTS_MAX; i++) level.joint[i] = (SimJoint){.a = 4, .b = 5 + i, .active = true};
  for (int i = 0; i < SIM_THRUSTERS_MAX; i++) level.thruster[i] = (SimThruster){.shape = 4, .active = true};
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

/* Whether all tags are closed in order, attributes are quoted, and there is no stray markup or control character:
 * enough of XML for what the writer can get wrong; tests/cli/test_show.sh asks xmllint as well. */
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
  assert_non_null(strstr(svg.data, "cx=\"1\" cy=\"3\"")); /* at its position */
  core_text_free(&svg);
}

static void test_checker_refuses(void **state) {
  static const char *const wrong[] = {"<?x?><a><b></a></b>", "<?x?><a>", "<?x?><a b=\"c></a>", "<?x?><a>&</a>",
                                      "<?x?></a>", "<?x?><a>\x01</a>", "<?x?><a></a><a></a>", "<?x?><a>></a>"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    if (is_well_formed(wrong[i])) fail_msg("%s passes", wrong[i]);
}

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
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
