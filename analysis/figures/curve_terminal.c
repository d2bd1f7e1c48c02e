/* `analyze curves --terminal`: the lines of a set of curves as braille characters, a picture for each panel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/curve_set.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "core/unicode.h"

enum { LINES_MAX = 8, HEIGHT_MIN = 5, HEIGHT_MAX = 14, WIDTH_MIN = 20, WIDTH_MAX = 200, LABEL = 9, DOTS_ACROSS = 2,
       DOTS_DOWN = 4, ROWS_PER_TICK = 3 };

static const CoreColor colors[LINES_MAX] = {CORE_BLUE, CORE_GREEN, CORE_YELLOW, CORE_RED,
                                            CORE_BOLD, CORE_DIM,   CORE_PLAIN,  CORE_PLAIN};

/* Axis: values from low to high; on a log axis both are positive. */
typedef struct Axis {
  double low, high;
  bool is_log;
} Axis;

/* Picture of one panel: its lines, best last value first, and a canvas with 2 x 4 dots and one color per character. */
typedef struct Picture {
  const AnalysisLineData *line[LINES_MAX];
  double last[LINES_MAX];      /* [count] value at the end of the line */
  size_t count, hidden;        /* hidden: lines beyond LINES_MAX or the screen, and those without a value */
  int width, height;           /* size of the canvas in characters */
  Axis x, y;
  double step;                 /* distance of the y labels, its multiples */
  unsigned char dots[HEIGHT_MAX][WIDTH_MAX];
  unsigned char color[HEIGHT_MAX][WIDTH_MAX]; /* index of the last line that touches the character */
} Picture;

/* ---- lines ------------------------------------------------------------------------------------------------------ */

/* Whether the axes can show point i of the line. */
static bool has_point(const Picture *p, const AnalysisLineData *line, size_t i) {
  const double x = line->grid[i], y = line->mean[i];
  return line->runs[i] > 0 && isfinite(y) && (!p->x.is_log || x > 0) && (!p->y.is_log || y > 0);
}

/* Returns the value at the end of the line; NaN: none. */
static double last_value(const Picture *p, const AnalysisLineData *line) {
  size_t n = line->n;
  while (n > 0 && !has_point(p, line, n - 1)) n--;
  return n > 0 ? line->mean[n - 1] : NAN;
}

/* Inserts a line behind those with a higher last value. */
static void insert_line(Picture *p, const AnalysisLineData *line) {
  const double last = last_value(p, line);
  size_t i = p->count;
  if (isnan(last) || (i == LINES_MAX && last <= p->last[LINES_MAX - 1])) {
    p->hidden++;
    return;
  }

  if (i == LINES_MAX) p->hidden++, i--;
  else p->count++;
  for (; i > 0 && p->last[i - 1] < last; i--) {
    p->line[i] = p->line[i - 1];
    p->last[i] = p->last[i - 1];
  }
  p->line[i] = line;
  p->last[i] = last;
}

/* Returns the smallest of 1, 2, 2.5, 5 times a power of ten that divides the span into at most `pieces` parts. */
static double round_step(double span, int pieces) {
  static const double factors[] = {1, 2, 2.5, 5, 10};
  const double raw = span / pieces, base = pow(10, floor(log10(raw)));
  size_t i = 0;
  while (i < 4 && factors[i] * base < raw * (1 - 1e-9)) i++;
  return factors[i] * base;
}

/* Computes the ranges of the axes; a linear x axis and the y axis of a rate begin at 0. */
static void find_ranges(Picture *p) {
  Axis x = {INFINITY, -INFINITY, p->x.is_log}, y = {INFINITY, -INFINITY, p->y.is_log};
  for (size_t l = 0; l < p->count; l++) {
    for (size_t i = 0; i < p->line[l]->n; i++) {
      if (!has_point(p, p->line[l], i)) continue;
      x.low = fmin(x.low, p->line[l]->grid[i]);
      x.high = fmax(x.high, p->line[l]->grid[i]);
      y.low = fmin(y.low, p->line[l]->mean[i]);
      y.high = fmax(y.high, p->line[l]->mean[i]);
    }
  }

  if (!x.is_log) x.low = fmin(x.low, 0);
  if (x.low == x.high) x.high += fmax(1, fabs(x.high));
  if (!y.is_log && y.low >= 0 && y.high <= 1) y.low = 0;
  if (y.low == y.high) y.high += fabs(y.high) > 1 || y.is_log ? fabs(y.high) / 2 : 1;

  const int pieces = p->height / ROWS_PER_TICK;
  p->step = round_step(y.high - y.low, pieces < 2 ? 2 : pieces);
  p->x = x;
  p->y = y;
}

/* ---- canvas ----------------------------------------------------------------------------------------------------- */

/* Returns where a value lies on the axis: 0 at its lower end, 1 at its upper one. */
static double share_of(const Axis *axis, double value) {
  if (axis->is_log) return log(value / axis->low) / log(axis->high / axis->low);
  return (value - axis->low) / (axis->high - axis->low);
}

/* Returns the row of dots of a value, 0 at the top. */
static int dot_of(const Picture *p, double value) {
  return (int)lround((1 - share_of(&p->y, value)) * (p->height * DOTS_DOWN - 1));
}

static void set_dot(Picture *p, int x, int y, size_t line) {
  static const unsigned char bits[DOTS_DOWN][DOTS_ACROSS] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  if (x < 0 || y < 0 || x >= p->width * DOTS_ACROSS || y >= p->height * DOTS_DOWN) return;
  p->dots[y / DOTS_DOWN][x / DOTS_ACROSS] |= bits[y % DOTS_DOWN][x % DOTS_ACROSS];
  p->color[y / DOTS_DOWN][x / DOTS_ACROSS] = (unsigned char)line;
}

/* Draws from one point of the grid to the next; where some runs have ended, every third dot only. */
static void draw_segment(Picture *p, size_t l, size_t i) {
  const AnalysisLineData *line = p->line[l];
  const bool is_whole = line->runs[i] == line->run_count;
  const int last = p->width * DOTS_ACROSS - 1;
  const int x0 = (int)lround(share_of(&p->x, line->grid[i - 1]) * last), y0 = dot_of(p, line->mean[i - 1]);
  const int x1 = (int)lround(share_of(&p->x, line->grid[i]) * last), y1 = dot_of(p, line->mean[i]);

  const int across = abs(x1 - x0), down = abs(y1 - y0), dots = across > down ? across : down;
  for (int k = 0; k <= dots; k++) {
    const double share = dots ? (double)k / dots : 0;
    const int x = x0 + (int)lround(share * (x1 - x0));
    if (is_whole || x % 3 == 0) set_dot(p, x, y0 + (int)lround(share * (y1 - y0)), l);
  }
}

static void draw_lines(Picture *p) {
  for (size_t l = p->count; l-- > 0;) { /* best one last, on top */
    const AnalysisLineData *line = p->line[l];
    for (size_t i = 1; i < line->n; i++)
      if (has_point(p, line, i - 1) && has_point(p, line, i)) draw_segment(p, l, i);
  }
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

/* Finds the value whose label stands in this row of characters: a multiple of the step, on a log axis also a power of
 * ten; false: none. */
static bool find_tick(const Picture *p, int row, double *value) {
  for (double i = ceil(p->y.low / p->step - 1e-9); i <= floor(p->y.high / p->step + 1e-9); i++) {
    *value = i * p->step + 0.0; /* no -0 */
    if (!(p->y.is_log && *value <= 0) && dot_of(p, *value) / DOTS_DOWN == row) return true;
  }

  for (double power = p->y.is_log ? ceil(log10(p->y.low)) : INFINITY; power <= log10(p->y.high); power++) {
    *value = pow(10, power);
    if (dot_of(p, *value) / DOTS_DOWN == row) return true;
  }
  return false;
}

static void append_canvas(const Picture *p, CoreText *text) {
  for (int row = 0; row < p->height; row++) {
    double tick;
    if (find_tick(p, row, &tick)) core_text_appendf(text, "%*.4g ", LABEL - 1, tick);
    else core_text_appendf(text, "%*s", LABEL, "");

    for (int x = 0; x < p->width; x++) {
      char glyph[5];
      core_unicode_encode(0x2800u + p->dots[row][x], glyph); /* a Braille pattern */
      if (p->dots[row][x] == 0) core_text_append(text, " ");
      else
        core_text_appendf(text, "%s%s%s", core_terminal_color(stdout, colors[p->color[row][x]]), glyph,
                          core_terminal_reset(stdout));
    }
    core_text_append(text, "\n");
  }
}

/* Appends "0     solve rate against environment transitions     328 k", as wide as the canvas. */
static void append_x_axis(const AnalysisCurveSet *set, const Picture *p, CoreText *text) {
  const AnalysisLineData *line = p->line[0];
  char column[128], title[256], low[32], high[32];
  analysis_curve_set_title(set, analysis_curve_set_shown(set, line->panel, line->column), column, sizeof column);
  core_text_count(p->x.low, low);
  core_text_count(p->x.high, high);

  const int room = p->width - core_terminal_columns(low) - core_terminal_columns(high);
  snprintf(title, sizeof title, "%s against %s", column, analysis_abscissa_names[set->abscissa]);
  if (room < core_terminal_columns(title) + 2) snprintf(title, sizeof title, "%s", column);
  if (room < core_terminal_columns(title) + 2) *title = '\0';

  const int left = (room - core_terminal_columns(title)) / 2, right = room - core_terminal_columns(title) - left;
  core_text_appendf(text, "%*s%s%*s%s%*s%s\n", LABEL, "", low, left, "", title, right, "", high);
}

/* Appends a name, truncated to `room` columns so that the text after it is visible. */
static void append_cut(CoreText *text, const char *name, int room) {
  if (core_terminal_columns(name) <= room) {
    core_text_append(text, name);
    return;
  }

  size_t length = 0;
  for (int columns = 0; name[length] && columns < room - 1; columns++)
    do length++;
    while (((unsigned char)name[length] & 0xc0) == 0x80);
  core_text_append_bytes(text, name, length);
  core_text_append(text, "…");
}

static void append_legend(const Picture *p, int width, CoreText *text) {
  for (size_t l = 0; l < p->count; l++) {
    char value[32], runs[64];
    snprintf(value, sizeof value, "%-7.3g", p->last[l]);
    snprintf(runs, sizeof runs, " (%zu of %zu runs)", p->line[l]->run_count, p->line[l]->curve_count);
    core_text_appendf(text, "%s━━%s %s ", core_terminal_color(stdout, colors[l]), core_terminal_reset(stdout), value);
    append_cut(text, p->line[l]->label, width - 4 - (int)strlen(value) - (int)strlen(runs));
    core_text_appendf(text, "%s\n", runs);
  }
  if (p->hidden) core_text_appendf(text, "   and %zu with lower values or no point\n", p->hidden);
}

/* ---- pictures --------------------------------------------------------------------------------------------------- */

/* Divides the screen's height: curves first, then as many of the best lines as fit. frame: rows of the picture without
 * the canvas and the legend. */
static void share_height(Picture *p, size_t pictures, int frame) {
  const int shared = 2; /* line about the runs, the cursor's own row */
  const int screen = (core_terminal_height(stdout) - shared) / (int)pictures;
  p->height = HEIGHT_MAX;
  if (core_terminal_height(stdout) == 0) return;

  while (p->count > 1 && (int)p->count + (p->hidden > 0) > screen - frame - HEIGHT_MIN) p->count--, p->hidden++;
  const int left = screen - frame - (int)p->count - (p->hidden > 0);
  p->height = left < HEIGHT_MIN ? HEIGHT_MIN : left > HEIGHT_MAX ? HEIGHT_MAX : left;
}

static void append_panel(const AnalysisCurveSet *set, size_t column, size_t panel, int width, CoreText *text) {
  const size_t pictures = set->column_count * set->panel_count;
  Picture *p = core_memory_zero_allocate(1, sizeof *p);
  p->x.is_log = set->log_x;
  p->y.is_log = analysis_curve_set_is_log(set, column);
  p->width = width - LABEL;
  if (p->width > WIDTH_MAX) p->width = WIDTH_MAX;
  if (p->width < WIDTH_MIN) p->width = WIDTH_MIN;

  for (size_t l = 0; l < set->line_count; l++)
    if (set->lines[l].column == column && set->lines[l].panel == panel) insert_line(p, &set->lines[l]);
  if (p->count > 0) {
    const bool has_title = pictures > 1 && *set->panel_name[panel];
    if (has_title) append_cut(text, set->panel_name[panel], width);
    if (has_title) core_text_append(text, "\n");
    share_height(p, pictures, 1 + has_title);
    find_ranges(p);
    draw_lines(p);
    append_canvas(p, text);
    append_x_axis(set, p, text);
    append_legend(p, width, text);
  }
  free(p);
}

void analysis_curve_set_append_terminal(const AnalysisCurveSet *set, CoreText *text) {
  const int width = core_terminal_width(stdout) - 1; /* a full last column would wrap */
  CoreText runs = {0};
  analysis_describe_runs(&set->context, &runs);
  append_cut(text, core_text_string(&runs), width);
  core_text_append(text, "\n");
  core_text_free(&runs);

  for (size_t i = 0; i < set->column_count * set->panel_count; i++)
    append_panel(set, i / set->panel_count, i % set->panel_count, width, text);
}
