/* analysis/axis, palette, plot and render: readable ticks, files that contain their source, and above all labels
 * that are never more than text to gnuplot, for any user input. Images are skipped without gnuplot. */
#include "test.h"

#include "analysis/plot/axis.h"
#include "analysis/plot/number_text.h"
#include "analysis/plot/plot.h"
#include "analysis/plot/plot_internal.h"
#include "core/error.h"
#include "core/files.h"

static const char hostile[] =
    "it's `touch pwned` $(touch pwned) @pwned \" ); system(\"touch pwned\") \\\n{/:Bold EOD\n# <b>&amp; ρ";

static bool have_gnuplot(void) {
  const char *path = getenv("PATH");
  char *directories = core_text_duplicate(path ? path : "");
  bool found = false;
  char *save = NULL;
  for (char *directory = strtok_r(directories, ":", &save); directory; directory = strtok_r(NULL, ":", &save)) {
    char program[CORE_PATH_MAX];
    found |= core_files_path(program, "%s/gnuplot", directory) == CORE_OK && access(program, X_OK) == 0;
  }
  free(directories);
  return found;
}

/* ---- axes ------------------------------------------------------------------------------------------------------- */

/* Counts labeled ticks and asserts that all are inside the range. */
static int labeled_ticks(double low, double high, bool log, char *text, size_t size) {
  AnalysisAxis axis = {.title = "", .log = log};
  CoreText list = {0};
  analysis_axis_include(&axis, low);
  analysis_axis_include(&axis, high);
  analysis_axis_include(&axis, NAN);
  analysis_axis_include(&axis, INFINITY);
  analysis_axis_finish(&axis);
  assert_true(axis.low < axis.high && isfinite(axis.low) && isfinite(axis.high) && (!log || axis.low > 0));
  analysis_axis_ticks(&axis, 5, true, &list);
  int count = 0;
  for (const char *at = core_text_string(&list); (at = strchr(at, '\'')); at = strchr(at + 1, '\'') + 1) {
    double place = strtod(strchr(at + 1, '\'') + 1, NULL), slack = 1e-9 * fmax(fabs(axis.low), fabs(axis.high));
    assert_true(place >= axis.low - slack && place <= axis.high + slack);
    count += at[1] != '\'';
  }
  snprintf(text, size, "%s", core_text_string(&list));
  core_text_free(&list);
  return count;
}

static void test_ticks(void **state) {
  (void)state;
  char text[2048];
  static const struct { double low, high; bool log; } ranges[] = {
                {0, 1, false},   {0, 0.0371, false},  {-3, 7e9, false},    {5, 5, false},    {0, 0, false},
                {-2, -1, false}, {1e-8, 3e-8, false}, {0.98, 0.99, false}, {3e4, 7e4, true}, {2.1e4, 2.4e4, true},
                {1, 1e12, true}, {5e5, 5e5, true},    {1e-12, 1, true}};

  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    int count = labeled_ticks(ranges[i].low, ranges[i].high, ranges[i].log, text, sizeof text);
    if (count < 2 || count > 13) fail_msg("%g to %g has %d labels: %s", ranges[i].low, ranges[i].high, count, text);
  }

  for (double low = 1e-3; low < 1; low *= 1.17) {
    for (double ratio = 1.05; ratio < 1e5; ratio *= 1.31) {
      int count = labeled_ticks(low, low * ratio, true, text, sizeof text);
      if (count < 2 || count > 8) fail_msg("log %g to %g has %d labels: %s", low, low * ratio, count, text);
    }
  }

  assert_int_equal(labeled_ticks(0, 1, false, text, sizeof text), 6); /* 0, 0.2 ... 1 */
  labeled_ticks(0, 2e6, false, text, sizeof text);
  assert_non_null(strstr(text, "'0.5M' 500000"));
  labeled_ticks(3e4, 7e4, true, text, sizeof text);
  assert_non_null(strstr(text, "'40k' 40000")); /* inside a decade: equal steps */
  labeled_ticks(2e4, 1e5, true, text, sizeof text);
  assert_non_null(strstr(text, "'5·10^{4}' 50000 0"));
  labeled_ticks(100, 1e4, true, text, sizeof text);
  assert_non_null(strstr(text, "'10^{3}' 1000 0"));
  assert_non_null(strstr(text, "'' 3000 1")); /* minor ticks between decades */
}

static void test_axis_without_data(void **state) {
  (void)state;
  AnalysisAxis linear = {.title = ""}, logarithmic = {.title = "", .log = true};
  analysis_axis_include(&logarithmic, 0);
  analysis_axis_include(&logarithmic, -1);
  analysis_axis_finish(&linear);
  analysis_axis_finish(&logarithmic);
  assert_true(linear.low == 0 && linear.high >= 1 && logarithmic.low > 0 && logarithmic.high > logarithmic.low);
}

static void test_styles(void **state) {
  (void)state;
  const AnalysisStyle *style = NULL;
  assert_int_equal(analysis_style_find(NULL, &style), CORE_OK);
  assert_string_equal(style->name, "paper");
  assert_int_equal(analysis_style_find("dark", &style), CORE_OK);
  assert_int_equal(analysis_style_find("slide", &style), CORE_USAGE);
  assert_message("slides");
  assert_int_equal(analysis_style_find("'`x`", &style), CORE_USAGE);
}

/* The color's place in Oklab (Ottosson 2020), where distances are those that people see. */
static void to_oklab(uint32_t color, double lab[3]) {
  double c[3];
  for (int i = 0; i < 3; i++) {
    const double v = ((color >> (16 - 8 * i)) & 255) / 255.0;
    c[i] = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
  }
  const double l = cbrt(0.4122214708 * c[0] + 0.5363325363 * c[1] + 0.0514459929 * c[2]);
  const double m = cbrt(0.2119034982 * c[0] + 0.6806995451 * c[1] + 0.1073969566 * c[2]);
  const double s = cbrt(0.0883024619 * c[0] + 0.2817188376 * c[1] + 0.6299787005 * c[2]);
  lab[0] = 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s;
  lab[1] = 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s;
  lab[2] = 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s;
}

/* The smallest distance of two of the colors of a family of `count` values, and from the page. */
static double least_distance(size_t count, const char *style_name) {
  const AnalysisStyle *style;
  const CoreConfigRow *keys[] = {core_config_find("ppo.epsilon")};
  AnalysisFamily family = {.name = "", .keys = keys, .key_count = 1, .group_count = count};
  AnalysisGroup groups[64] = {{.label = NULL}};
  const AnalysisGrouping grouping = {.families = &family, .family_count = 1, .groups = groups, .count = count};
  double least = INFINITY, a[3], b[3];
  assert_int_equal(analysis_style_find(style_name, &style), CORE_OK);
  uint32_t *colors = analysis_colors_create(&grouping, style);
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k <= i; k++) {
      to_oklab(colors[i], a);
      to_oklab(k < i ? colors[k] : style->background, b);
      least = fmin(least, hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]));
    }
  free(colors);
  return least;
}

static void test_many_groups_have_distinct_colors(void **state) {
  (void)state;
  static const char *const styles[] = {"paper", "dark"};
  for (int s = 0; s < 2; s++) {
    for (size_t count = 9; count <= 12; count++) assert_true(least_distance(count, styles[s]) > 0.085);
    for (size_t count = 13; count <= 30; count++) assert_true(least_distance(count, styles[s]) > 0.05);
  }
}

static void test_csv_fields(void **state) {
  (void)state;
  CoreText csv = {0};
  analysis_csv_field(&csv, "plain 1.5");
  core_text_append(&csv, "|");
  analysis_csv_field(&csv, "a,b\"c\nd");
  assert_string_equal(core_text_string(&csv), "plain 1.5|\"a,b\"\"c\nd\"");
  core_text_free(&csv);
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static AnalysisPlot *hostile_plot(void) {
  const AnalysisStyle *style = NULL;
  const AnalysisMark mark = {.color = 0x0072b2};
  const double x[] = {10, 20, 300}, y[] = {0.1, NAN, 0.3}, low[] = {0, NAN, 0.2}, high[] = {0.2, NAN, 0.4};

  analysis_style_find(NULL, &style);
  AnalysisPlot *plot = analysis_plot_create(style, hostile, true, hostile, false);
  for (int p = 0; p < 2; p++) {
    size_t panel = analysis_plot_panel(plot, hostile, hostile);
    analysis_plot_point(plot, panel, 100, 0.5, mark, false);
    analysis_plot_point(plot, panel, 200, 0.6, mark, true);
    analysis_plot_point(plot, panel, NAN, 0.6, mark, true);
    analysis_plot_curve(plot, panel, 3, x, y, low, high, mark, ANALYSIS_SOLID);
    analysis_plot_level(plot, panel, 0.05, hostile);
    analysis_plot_box(plot, panel, 20, 0.1, 40, 0.2, 0x123456);
    analysis_plot_text(plot, panel, 30, 0.15, hostile, 0xffffff);
  }

  size_t own = analysis_plot_panel(plot, hostile, hostile);
  analysis_plot_panel_axis(plot, own, hostile, true);
  analysis_plot_point(plot, own, 100, 1e-5, mark, false);

  analysis_plot_legend_line(plot, hostile, mark, ANALYSIS_DASHED);
  analysis_plot_legend_head(plot, hostile);
  analysis_plot_legend_entry(plot, hostile, mark, true);
  analysis_plot_caption(plot, hostile);
  analysis_plot_caption(
      plot,
      "averyveryverylongwordwithoutanyspaceßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßß"
      "ßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßß");
  return plot;
}

/* ---- layout ----------------------------------------------------------------------------------------------------- */

typedef struct Lines { char text[16][200]; size_t count; } Lines;

static void take_line(void *context, const char *text) {
  Lines *lines = context;
  assert_true(lines->count < 16);
  snprintf(lines->text[lines->count++], sizeof lines->text[0], "%s", text);
}

/* Whatever the width: no line begins with a sign or ends between a number and its unit, nothing is lost, nothing is too
 * wide that has a place to break. */
static void test_captions_break_between_words(void **state) {
  (void)state;
  static const char caption[] =
      "Number: mean of n = 3 runs (of fewer where one stands in brackets); –: no run. Band: 95 % interval (Student t). "
      "34 finished, 1 stopped, 1 diverged.";
  for (double room = 130; room < 700; room += 7) {
    Lines lines = {0};
    CoreText joined = {0};
    plot_layout_wrap(caption, 8.6, room, take_line, &lines);
    for (size_t i = 0; i < lines.count; i++) {
      const char *line = lines.text[i], *last = strrchr(line, ' ');
      if (strchr(":%=–)", *line) || strncmp(line, "t)", 2) == 0) fail_msg("at %g: '%s'", room, line);
      last = last ? last + 1 : line;
      if (strcmp(last, "95") == 0 || strcmp(last, "=") == 0 || strcmp(last, "1") == 0 || strcmp(last, "–:") == 0)
        fail_msg("at %g: '%s'", room, line);
      assert_true(plot_layout_text_width(line, 8.6) <= room);
      core_text_appendf(&joined, "%s%s", i ? " " : "", line);
    }
    assert_string_equal(core_text_string(&joined), caption);
    core_text_free(&joined);
  }
  assert_int_equal(plot_layout_wrap("averylongword", 10, 24, NULL, NULL), 4); /* broken where there is no other way */
  assert_int_equal(plot_layout_wrap("1 2 3 4 5 6", 10, 20, NULL, NULL), 3);
}

static void test_text_is_cut_to_its_room(void **state) {
  (void)state;
  char *whole = plot_layout_cut("com 8", 10, 100), *cut = plot_layout_cut("ρρρρρρρρρρρρρρρρρρρρ", 10, 80);
  assert_string_equal(whole, "com 8");
  assert_true(plot_layout_text_width(cut, 10) <= 80);
  assert_string_equal(cut, "ρρρρρρρρρρρ…");
  free(whole);
  free(cut);
}

/* Truncated texts stay distinct; texts that fit are unchanged. */
static void test_cut_texts_stay_apart(void **state) {
  (void)state;
  static const char *const labels[] = {
    "envs 16, morphologies car, eps 0.05, lr 0.0001", "envs 16, morphologies car, eps 0.05, lr 0.0003",
    "envs 16, morphologies car, eps 0.8, lr 0.0001",  "averyveryverylongnamewithoutanycomma_1",
    "averyveryverylongnamewithoutanycomma_2",         "com 8",
    "envs 16, morphologies car, eps 0.05, lr 0.0001"};
  enum { LABELS = sizeof labels / sizeof *labels };
  for (double room = 60; room < 400; room += 5) {
    char **cut = plot_layout_cut_apart(labels, LABELS, 10, room);
    for (size_t i = 0; i < LABELS; i++) {
      if (plot_layout_text_width(cut[i], 10) > room) fail_msg("at %g: '%s'", room, cut[i]);
      if (plot_layout_text_width(labels[i], 10) <= room) assert_string_equal(cut[i], labels[i]);
      for (size_t k = 0; k < i; k++)
        if ((strcmp(cut[i], cut[k]) == 0) != (strcmp(labels[i], labels[k]) == 0))
          fail_msg("at %g: '%s' and '%s'", room, cut[i], cut[k]);
    }
    plot_layout_cut_free(cut, LABELS);
  }
  char **cut = plot_layout_cut_apart(labels, 3, 10, 130);
  assert_string_equal(cut[0], "…eps 0.05, lr 0.0001");
  plot_layout_cut_free(cut, 3);
}

/* Positions of legends with blocks that fit side by side, and with blocks that do not. */
static void test_legends_keep_clear(void **state) {
  (void)state;
  const AnalysisStyle *style = NULL;
  static const char settings[] =
    "lr 0.1, eps 0.2, com 64, epochs 8, width 32, depth 1, minibatches 4, steps 128, envs 64";

  analysis_style_find(NULL, &style);
  for (int length = 0; length < (int)sizeof settings; length += 5) {
    AnalysisPlot *plot = analysis_plot_create(style, "x", false, "y", false);
    for (int block = 0; block < 4; block++) {
      char name[240];
      snprintf(name, sizeof name, "%d %.*s", block, length, settings);
      analysis_plot_panel(plot, name, name);
      analysis_plot_legend_head(plot, block ? name : "");
      for (int i = 0; i <= 3 * block; i++) analysis_plot_legend_entry(plot, name, (AnalysisMark){0}, block % 2);
    }

    PlotLayout l = plot_layout_make(plot);
    for (size_t i = 0; i < plot->entry_count; i++) {
      if (!plot->entries[i].label[0]) continue; /* a block without a name */
      assert_true(l.places[i].x >= 0 && l.places[i].y >= l.legend_top);
      assert_true(l.places[i].y < l.legend_top + l.legend_height);
      for (size_t k = 0; k < i; k++) {
        if (!plot->entries[k].label[0]) continue;
        const bool other_row = fabs(l.places[i].y - l.places[k].y) >= 0.99 * l.row;
        assert_true(other_row || fabs(l.places[i].x - l.places[k].x) >= l.legend_column - 1e-9);
      }
      assert_true(l.places[i].x + l.legend_column <= l.width);
    }
    plot_layout_free(&l);
    analysis_plot_destroy(&plot);
  }
}

/* A whisker is a stroke with a cap across each end, on linear and logarithmic axes. */
static void test_whiskers_have_square_caps(void **state) {
  (void)state;
  const AnalysisStyle *style = NULL;
  const double x[2] = {10, 1000}, at[2] = {100, 100}, level[2] = {0.5, 0.5}, ends[2] = {0.2, 0.6};
  CoreText script = {0};

  analysis_style_find(NULL, &style);
  AnalysisPlot *plot = analysis_plot_create(style, "x", true, "y", false);
  size_t panel = analysis_plot_panel(plot, "", "");
  analysis_plot_whisker(plot, panel, x, level, 0x112233);
  analysis_plot_whisker(plot, panel, at, ends, 0x445566);
  analysis_plot_script(plot, "whiskers", "test", &script);

  const char *row = strstr(core_text_string(&script), "$whiskers_0 << EOD\n");
  assert_non_null(row);
  double stroke[6][4];
  for (int i = 0; i < 6; i++) {
    row = strchr(row, '\n') + 1;
    assert_int_equal(sscanf(row, "%lf %lf %lf %lf", &stroke[i][0], &stroke[i][1], &stroke[i][2], &stroke[i][3]), 4);
    assert_true((stroke[i][2] == 0) != (stroke[i][3] == 0)); /* level or upright */
    const bool level_line = i < 3, cap = i % 3 > 0;
    assert_true((stroke[i][3] == 0) == (level_line != cap));
  }

  assert_true(stroke[1][0] == 10 && stroke[2][0] == 1000 && fabs(stroke[1][1] + stroke[1][3] / 2 - 0.5) < 1e-9);
  assert_true(stroke[4][1] == 0.2 && stroke[5][1] == 0.6);
  assert_true(fabs(log(100 / stroke[4][0]) - log((stroke[4][0] + stroke[4][2]) / 100)) < 1e-9); /* centered */
  core_text_free(&script);
  analysis_plot_destroy(&plot);
}

/* The axis includes a band that continues after its line has become dashed. */
static void test_bands_are_not_clipped(void **state) {
  (void)state;
  const AnalysisStyle *style = NULL;
  const double x[] = {1, 2, 3}, y[] = {1, 2, NAN}, low[] = {0.5, 1, 1}, high[] = {1.5, 3, 9};
  analysis_style_find(NULL, &style);
  AnalysisPlot *plot = analysis_plot_create(style, "x", false, "y", false);
  analysis_plot_curve(plot, analysis_plot_panel(plot, "", ""), 3, x, y, low, high, (AnalysisMark){0}, ANALYSIS_SOLID);
  assert_true(plot->y.high == 9 && plot->x.high == 3);
  analysis_plot_destroy(&plot);
}

static char *read_output(const char *directory, const char *file, size_t *size) {
  char path[CORE_PATH_MAX];
  char *bytes = NULL;
  core_files_path(path, "%s/%s", directory, file);
  if (core_files_read(path, 0, &bytes, size) != CORE_OK) fail_msg("%s", core_error_message());
  return bytes;
}

/* The cross-reference table is at the offset of the last lines, for any content before them. */
static void check_pdf(const char *directory) {
  size_t size = 0;
  char *pdf = read_output(directory, "hostile.pdf", &size), *end = NULL;
  assert_memory_equal(pdf, "%PDF-", 5);
  assert_memory_equal(pdf + size - 6, "%%EOF\n", 6);
  for (char *at = pdf; at + 9 < pdf + size; at++)
    if (memcmp(at, "startxref", 9) == 0) end = at;
  assert_non_null(end);
  long place = strtol(end + 9, NULL, 10);
  assert_true(place > 0 && (size_t)place < size);
  assert_memory_equal(pdf + place, "xref", 4);
  assert_true(end[-1] == '\n'); /* our comments are closed */
  free(pdf);
}

static void test_hostile_labels(void **state) {
  if (!have_gnuplot()) skip();
  char output[CORE_PATH_MAX], **names = NULL;
  size_t count = 0, size = 0;

  core_files_path(output, "%s/it's `a` \"folder\"", test_directory);
  AnalysisPlot *plot = hostile_plot();
  if (analysis_render(plot, output, "hostile", hostile, "a,b\n1,2\n") != CORE_OK) fail_msg("%s", core_error_message());
  analysis_plot_destroy(&plot);

  assert_int_equal(core_files_list(output, &names, &count), CORE_OK);
  static const char *const expected[] = {"hostile.csv", "hostile.gp", "hostile.pdf", "hostile.png", "hostile.svg"};
  bool pdf = count == 5; /* not every gnuplot has pdfcairo */
  assert_int_equal(count, pdf ? 5 : 4); /* no "pwned", and nothing temporary is left */
  for (size_t i = 0; i < count; i++) {
    assert_string_equal(names[i], expected[i + (!pdf && i >= 2)]);
    free(names[i]);
  }
  free(names);

  assert_false(core_files_exists("pwned"));
  if (pdf) check_pdf(output);

  char *svg = read_output(output, "hostile.svg", &size);
  assert_non_null(strstr(svg, "<desc>it&apos;s `touch pwned`"));
  assert_non_null(strstr(svg, "&lt;b&gt;&amp;amp; ρ"));
  assert_null(strstr(svg, "<b>"));
  assert_non_null(strstr(svg, "it's ´touch pwned´ $(touch pwned) (at)pwned")); /* the label itself, as text */
  free(svg);

  char *csv = read_output(output, "hostile.csv", &size);
  assert_non_null(strstr(csv, "# # <b>&amp; ρ\na,b\n1,2\n")); /* each line of the source is a comment */
  free(csv);
}

/* Names on axes are text of users, too. */
static void test_hostile_names(void **state) {
  if (!have_gnuplot()) skip();
  char output[CORE_PATH_MAX];
  const AnalysisStyle *style = NULL;
  size_t size;
  core_files_path(output, "%s/names", test_directory);
  analysis_style_find("dark", &style);
  AnalysisPlot *plot = analysis_plot_create(style, "x", false, "y", false);
  analysis_plot_category_x(plot, hostile);
  analysis_plot_category_x(plot, "10^{3}_a");
  analysis_plot_category_y(plot, hostile);
  size_t panel = analysis_plot_panel(plot, "", "");
  analysis_plot_box(plot, panel, -0.4, -0.4, 0.4, 0.4, analysis_ramp(0.5));
  if (analysis_render(plot, output, "names", "source", "a\n1\n") != CORE_OK) fail_msg("%s", core_error_message());
  analysis_plot_destroy(&plot);
  assert_false(core_files_exists("pwned"));
  char *svg = read_output(output, "names.svg", &size);
  assert_non_null(strstr(svg, "it's ´touch pwned´ $(touch pwned) (at)pwned"));
  assert_non_null(strstr(svg, "10^{3}_a")); /* no markup */
  free(svg);
}

/* gnuplot's SVG joins strokes of one color and forgets that the second one is dashed. */
static void test_legend_is_dashed_as_the_plot(void **state) {
  if (!have_gnuplot()) skip();
  const AnalysisStyle *style = NULL;
  const AnalysisMark mark = {.color = 0x0072b2};
  const double x[] = {1, 2}, y[] = {1, 2};
  char output[CORE_PATH_MAX], first[64] = "";
  size_t size, dashes = 0;

  core_files_path(output, "%s/dashes", test_directory);
  analysis_style_find(NULL, &style);
  AnalysisPlot *plot = analysis_plot_create(style, "x", false, "y", false);
  size_t panel = analysis_plot_panel(plot, "", "");
  analysis_plot_curve(plot, panel, 2, x, y, NULL, NULL, mark, ANALYSIS_SOLID);
  analysis_plot_curve(plot, panel, 2, y, x, NULL, NULL, mark, ANALYSIS_DASHED);
  analysis_plot_legend_entry(plot, "solid", mark, true);
  analysis_plot_legend_line(plot, "dashed", mark, ANALYSIS_DASHED);
  if (analysis_render(plot, output, "dashes", "source", "a\n1\n") != CORE_OK) fail_msg("%s", core_error_message());
  analysis_plot_destroy(&plot);

  char *svg = read_output(output, "dashes.svg", &size);
  for (const char *at = svg; (at = strstr(at, "stroke-dasharray='")); at++, dashes++) {
    char pattern[64];
    assert_int_equal(sscanf(at, "stroke-dasharray='%60[^']", pattern), 1);
    if (*first) assert_string_equal(pattern, first);
    memcpy(first, pattern, sizeof first);
  }
  assert_int_equal(dashes, 2);
  free(svg);
}

static uint32_t big_endian(const unsigned char *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* CRC-32 by polynomial division; libpng's chunks in the same file prove this one right. */
static uint32_t crc32_of(const unsigned char *bytes, size_t count) {
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < 8 * count; i++) {
    uint32_t bit = (crc ^ (bytes[i / 8] >> i % 8)) & 1;
    crc = (crc >> 1) ^ (bit ? 0xedb88320u : 0);
  }
  return ~crc;
}

static void test_png_is_sound(void **state) {
  if (!have_gnuplot()) skip();
  size_t size = 0, at = 8;
  bool described = false;
  AnalysisPlot *plot = hostile_plot();
  if (analysis_render(plot, test_directory, "sound", "query: SELECT 1", "x\n") != CORE_OK)
    fail_msg("%s", core_error_message());
  analysis_plot_destroy(&plot);
  unsigned char *png = (unsigned char *)read_output(test_directory, "sound.png", &size);
  while (at + 12 <= size) {
    size_t length = big_endian(png + at);
    assert_true(at + 12 + length <= size);
    assert_int_equal(big_endian(png + at + 8 + length), crc32_of(png + at + 4, length + 4));
    bool text = length == 11 + 5 + 15 && memcmp(png + at + 4, "iTXtDescription", 16) == 0;
    described |= text && memcmp(png + at + 8 + 16, "query: SELECT 1", 15) == 0;
    at += 12 + length;
  }
  assert_int_equal(at, size);
  assert_true(described);
  free(png);
}

static void test_no_gnuplot(void **state) {
  char *path = core_text_duplicate(getenv("PATH") ? getenv("PATH") : ""), output[CORE_PATH_MAX], file[CORE_PATH_MAX];
  core_files_path(output, "%s/without", test_directory);
  setenv("PATH", "/nonexistent", 1);
  AnalysisPlot *plot = hostile_plot();
  int code = analysis_render(plot, output, "plain", "source", "x\n");
  analysis_plot_destroy(&plot);
  setenv("PATH", path, 1);
  free(path);
  assert_int_equal(code, CORE_FAIL);
  assert_message("gnuplot");
  core_files_path(file, "%s/plain.csv", output);
  assert_true(core_files_exists(file)); /* the numbers are still written */
  core_files_path(file, "%s/plain.gp", output);
  assert_true(core_files_exists(file));
}

static void test_unwritable_directory(void **state) {
  char output[CORE_PATH_MAX];
  core_files_path(output, "%s/file", test_directory);
  core_files_write_atomic(output, "x", 1);
  AnalysisPlot *plot = hostile_plot();
  assert_int_equal(analysis_render(plot, output, "plain", "source", "x\n"), CORE_FAIL);
  assert_message(output);
  analysis_plot_destroy(&plot);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ticks),      cmocka_unit_test(test_axis_without_data), cmocka_unit_test(test_styles),
      cmocka_unit_test(test_many_groups_have_distinct_colors), cmocka_unit_test(test_csv_fields),
      cmocka_unit_test(test_hostile_labels), cmocka_unit_test(test_png_is_sound),
      cmocka_unit_test(test_no_gnuplot), cmocka_unit_test(test_unwritable_directory),
      cmocka_unit_test(test_hostile_names),
      cmocka_unit_test(test_captions_break_between_words), cmocka_unit_test(test_text_is_cut_to_its_room),
      cmocka_unit_test(test_cut_texts_stay_apart),
      cmocka_unit_test(test_legends_keep_clear),
      cmocka_unit_test(test_whiskers_have_square_caps), cmocka_unit_test(test_bands_are_not_clipped),
      cmocka_unit_test(test_legend_is_dashed_as_the_plot),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
