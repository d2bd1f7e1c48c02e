/* `analyze watch NAME`: learning curves on the terminal while the runs of a sweep continue. Imports new results,
 * averages each configuration's evaluations over its runs, and redraws, until every run has ended. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/commands.h"
#include "analysis/figures/mean_line.h"
#include "analysis/runs/group.h"
#include "analysis/statistics/statistics.h"
#include "core/command/options.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "core/unicode.h"
#include "store/database/query.h"
#include "store/workspace/paths.h"

enum {
  LINES_MAX = 8, HEIGHT_MIN = 5, HEIGHT_MAX = 14, WIDTH_MAX = 200, LABEL = 9, DOTS_ACROSS = 2, DOTS_DOWN = 4,
  ROWS_PER_TICK = 3
};

typedef struct Request { const char *name, *root; double every_s; bool once; } Request;

typedef struct Line { size_t group, runs; double last; AnalysisCurve mean; } Line;

typedef struct Picture {
  AnalysisSelection selection;
  AnalysisGrouping groups;
  Line *lines;             /* [groups.count], best last value first */
  size_t active, evaluated; /* runs that are running or waiting; runs that have a point */
  bool returns;            /* whether some points are returns, because an environment has no goal */
} Picture;

/* ---- data ------------------------------------------------------------------------------------------------------- */

static const char points_sql[] =
  "SELECT transitions, coalesce(solve_rate, episode_return), solve_rate IS NULL FROM evaluation WHERE run_id = ?1"
  " AND level_set ="
  " (SELECT level_set FROM evaluation WHERE run_id = ?1 ORDER BY level_set <> 'train', level_set LIMIT 1) ORDER BY "
  "iteration";

static int read_points(StoreQuery *query, const char *id, AnalysisCurve *curve, bool *returns) {
  bool row = false;
  int code;
  store_query_reset(query);
  store_query_bind_text(query, 1, id);
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    double value = store_query_real(query, 1);
    if (!isfinite(value)) continue;
    analysis_curve_add(curve, store_query_real(query, 0), value);
    *returns |= store_query_int(query, 2) != 0;
  }
  return code;
}

static int by_last(const void *left, const void *right) {
  const Line *a = left, *b = right;
  if (a->last != b->last) return a->last > b->last ? -1 : 1;
  return (a->group > b->group) - (a->group < b->group);
}

static int read_line(Picture *p, StoreQuery *query, size_t group, Line *line) {
  size_t room = p->groups.groups[group].run_count;
  AnalysisCurve *curves = core_memory_zero_allocate(room + 1, sizeof *curves);
  int code = CORE_OK;
  *line = (Line){.group = group, .last = -INFINITY};
  for (size_t r = 0; r < p->selection.count && code == CORE_OK; r++) {
    if (p->groups.group_of[r] != group) continue;
    code = read_points(query, p->selection.runs[r].id, &curves[line->runs], &p->returns);
    if (curves[line->runs].n) line->runs++;
  }
  p->evaluated += line->runs;
  if (line->runs > 0 && code == CORE_OK) {
    AnalysisMeanLine all = analysis_mean_line_average(curves, line->runs, WIDTH_MAX, ANALYSIS_RANGE_FREE);
    for (size_t i = 0; i < all.n; i++) analysis_curve_add(&line->mean, all.grid[i], all.mean[i]);
    line->last = line->mean.n ? line->mean.y[line->mean.n - 1] : -INFINITY;
    analysis_mean_line_free(&all);
  }
  for (size_t i = 0; i < room; i++) analysis_curve_free(&curves[i]);
  free(curves);
  return code;
}

static int read_picture(StoreDatabase *database, const char *sweep, Picture *p) {
  StoreQuery *query = NULL;
  TRY(analysis_select_runs(database, sweep, NULL, 0, &p->selection));
  TRY(analysis_group_runs(&p->selection, NULL, &p->groups));
  p->lines = core_memory_zero_allocate(p->groups.count + 1, sizeof *p->lines);
  for (size_t r = 0; r < p->selection.count; r++)
    p->active += p->selection.runs[r].status == STORE_RUNNING || p->selection.runs[r].status == STORE_PENDING;
  int code = store_query_open(database, points_sql, &query);
  for (size_t g = 0; g < p->groups.count && code == CORE_OK; g++) code = read_line(p, query, g, &p->lines[g]);
  store_query_close(&query);
  qsort(p->lines, p->groups.count, sizeof *p->lines, by_last);
  return code;
}

static void picture_free(Picture *p) {
  for (size_t g = 0; p->lines && g < p->groups.count; g++) analysis_curve_free(&p->lines[g].mean);
  free(p->lines);
  analysis_grouping_free(&p->groups);
  analysis_selection_free(&p->selection);
  memset(p, 0, sizeof *p);
}

/* ---- drawing ---------------------------------------------------------------------------------------------------- */

/* Canvas of braille characters with 2 x 4 dots each and one color per character (of the last line that touches it). */
typedef struct Canvas {
  int width, height;
  double low, high, step, last; /* ranges of the axes; step: distance of the y labels, its multiples */
  unsigned char dots[HEIGHT_MAX][WIDTH_MAX];
  unsigned char line[HEIGHT_MAX][WIDTH_MAX];
} Canvas;

static void set_dot(Canvas *canvas, int x, int y, size_t line) {
  static const unsigned char bits[DOTS_DOWN][DOTS_ACROSS] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  if (x < 0 || y < 0 || x >= canvas->width * DOTS_ACROSS || y >= canvas->height * DOTS_DOWN) return;
  canvas->dots[y / DOTS_DOWN][x / DOTS_ACROSS] |= bits[y % DOTS_DOWN][x % DOTS_ACROSS];
  canvas->line[y / DOTS_DOWN][x / DOTS_ACROSS] = (unsigned char)line;
}

/* Returns the smallest of 1, 2, 2.5, 5 times a power of ten that divides the span into at most `pieces` parts. */
static double round_step(double span, int pieces) {
  static const double factors[] = {1, 2, 2.5, 5, 10};
  const double raw = span / pieces, base = pow(10, floor(log10(raw)));
  size_t i = 0;
  while (i < 4 && factors[i] * base < raw * (1 - 1e-9)) i++;
  return factors[i] * base;
}

/* Computes the ranges; the axis of a rate begins at 0. */
static void find_range(const Picture *p, size_t shown, Canvas *canvas) {
  double low = INFINITY, high = -INFINITY;
  canvas->last = 1;
  for (size_t i = 0; i < shown; i++) {
    const AnalysisCurve *curve = &p->lines[i].mean;
    for (size_t k = 0; k < curve->n; k++) {
      low = fmin(low, curve->y[k]);
      high = fmax(high, curve->y[k]);
      canvas->last = fmax(canvas->last, curve->x[k]);
    }
  }
  if (!(low <= high)) low = 0, high = 1;
  if (low >= 0 && high <= 1) low = 0; /* a rate */
  if (low == high) high += fabs(high) > 1 ? fabs(high) / 2 : 1;
  const int pieces = canvas->height / ROWS_PER_TICK;
  canvas->step = round_step(high - low, pieces < 2 ? 2 : pieces);
  canvas->low = low;
  canvas->high = high;
}

/* Returns the row of dots of a value, 0 at the top. */
static int dot_of(const Canvas *canvas, double value) {
  return (int)lround((canvas->high - value) / (canvas->high - canvas->low) * (canvas->height * DOTS_DOWN - 1));
}

static void draw_lines(const Picture *p, size_t shown, Canvas *canvas) {
  int dots = canvas->width * DOTS_ACROSS;
  for (size_t i = shown; i-- > 0;) { /* best one last, on top */
    const AnalysisCurve *curve = &p->lines[i].mean;
    int before = -1;
    for (int x = 0; x < dots; x++) {
      double value = analysis_interpolate(curve->x, curve->y, curve->n, canvas->last * (double)x / (dots - 1));
      if (isnan(value)) continue;
      int y = dot_of(canvas, value), step = before < 0 || before == y ? 0 : before < y ? 1 : -1;
      for (int at = before; step && at != y; at += step) set_dot(canvas, x, at, i); /* fill gaps in steep parts */
      set_dot(canvas, x, y, i);
      before = y;
    }
  }
}

static const CoreColor colors[] = {CORE_BLUE, CORE_GREEN, CORE_YELLOW, CORE_RED,
                                   CORE_BOLD, CORE_DIM,   CORE_PLAIN,  CORE_PLAIN};

/* Finds the round number that falls into this row of characters; false: none. */
static bool tick_of(const Canvas *canvas, int row, double *value) {
  const double last = floor(canvas->high / canvas->step + 1e-9);
  for (double i = ceil(canvas->low / canvas->step - 1e-9); i <= last; i++) {
    *value = i * canvas->step;
    if (dot_of(canvas, *value) / DOTS_DOWN == row) return true;
  }
  return false;
}

static void append_canvas(const Canvas *canvas, CoreText *text) {
  for (int row = 0; row < canvas->height; row++) {
    double tick;
    if (tick_of(canvas, row, &tick))
      core_text_appendf(text, "%*.4g ", LABEL - 1, fabs(tick) < canvas->step / 2 ? 0 : tick);
    else core_text_appendf(text, "%*s", LABEL, "");
    for (int x = 0; x < canvas->width; x++) {
      char glyph[5];
      core_unicode_encode(0x2800u + canvas->dots[row][x], glyph); /* a Braille pattern */
      if (canvas->dots[row][x] == 0) core_text_append(text, " ");
      else
        core_text_appendf(text, "%s%s%s", core_terminal_color(stdout, colors[canvas->line[row][x] % LINES_MAX]), glyph,
                          core_terminal_reset(stdout));
    }
    core_text_append(text, "\n");
  }
}

/* Appends "0        solve rate against transitions        328 k", as wide as the canvas. */
static void append_x_axis(const Canvas *canvas, bool returns, CoreText *text) {
  char last[32];
  const char *words = returns ? "return against transitions" : "solve rate against transitions";
  core_text_count(canvas->last, last);
  const int room = canvas->width - 1 - (int)strlen(last), length = (int)strlen(words);
  if (room < length + 2) words = "transitions";
  core_text_appendf(text, "%*s0%*s%*s\n", LABEL, "", (room + (int)strlen(words)) / 2, words,
                    room - (room + (int)strlen(words)) / 2 + (int)strlen(last), last);
}

/* Appends a name, truncated to `room` so that the text after it is visible. */
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

static void append_legend(const Picture *p, size_t shown, int width, CoreText *text) {
  for (size_t i = 0; i < shown; i++) {
    const Line *line = &p->lines[i];
    const AnalysisGroup *group = &p->groups.groups[line->group];
    char value[32], runs[64];
    snprintf(value, sizeof value, "%-7.3g", line->last);
    snprintf(runs, sizeof runs, " (%zu of %zu runs)", line->runs, group->run_count);
    core_text_appendf(text, "%s━━%s %s ", core_terminal_color(stdout, colors[i]), core_terminal_reset(stdout), value);
    append_cut(text, group->label, width - 4 - (int)strlen(value) - (int)strlen(runs));
    core_text_appendf(text, "%s\n", runs);
  }
  if (shown < p->groups.count)
    core_text_appendf(text, "   and %zu configurations with lower values or no point\n", p->groups.count - shown);
}

/* Divides the screen's height: curves first, then as many of the best lines as fit. */
static void share_height(const Picture *p, size_t *shown, int *height) {
  const int screen = core_terminal_height(stdout), frame = 3; /* title, x axis, the cursor's own row */
  *height = HEIGHT_MAX;
  if (screen == 0) return;
  const int room = screen - frame - HEIGHT_MIN;
  while (*shown > 1 && (int)*shown + (*shown < p->groups.count) > room) --*shown;
  const int left = screen - frame - (int)*shown - (*shown < p->groups.count);
  *height = left < HEIGHT_MIN ? HEIGHT_MIN : left > HEIGHT_MAX ? HEIGHT_MAX : left;
}

static void draw(const Picture *p, const Request *request, CoreText *text) {
  const int width = core_terminal_width(stdout) - 1; /* a full last column would wrap */
  Canvas canvas = {.width = width - LABEL};
  char counts[128];
  size_t shown = 0;
  if (canvas.width > WIDTH_MAX) canvas.width = WIDTH_MAX;
  if (canvas.width < 20) canvas.width = 20;
  while (shown < p->groups.count && shown < LINES_MAX && p->lines[shown].runs > 0) shown++;
  snprintf(counts, sizeof counts, ": %zu runs, %zu running or waiting, %zu evaluated\n", p->selection.count,
           p->active, p->evaluated);
  append_cut(text, request->name, width + 1 - (int)strlen(counts));
  core_text_append(text, counts);
  if (shown == 0) {
    core_text_append(text, "no evaluation yet\n");
    return;
  }
  share_height(p, &shown, &canvas.height);
  find_range(p, shown, &canvas);
  draw_lines(p, shown, &canvas);
  append_canvas(&canvas, text);
  append_x_axis(&canvas, p->returns, text);
  append_legend(p, shown, width, text);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

/* Finds the database: `watch NAME` in a workspace, `watch results.db NAME`, or `watch results.db --sweep NAME` like
 * figures. */
static int find_database(Request *request, const char **operands, size_t count, char path[CORE_PATH_MAX]) {
  char root[CORE_PATH_MAX];
  const bool named = request->name != NULL, file = count > 0 && count == (named ? 1 : 2);
  if (named && count == 2) return core_error(CORE_USAGE, "the sweep is named twice: '%s', and --sweep %s", operands[1],
                                             request->name);
  if (file && request->root) return core_error(CORE_USAGE, "%s and --root %s exclude each other",
                                               operands[0], request->root);
  if (!named && count == 0) return core_error(CORE_USAGE, "missing name of a sweep: analyze watch NAME");
  if (!named) request->name = operands[count - 1];
  if (file) return core_files_path(path, "%s", operands[0]);
  TRY(store_root(request->root, root));
  return store_path_database(root, path);
}

static int watch(void *asked, const char **operands, size_t count) {
  Request *request = asked;
  char path[CORE_PATH_MAX];
  CoreLive live = {.stream = stdout, .plain_every_s = 60};
  if (!(request->every_s >= 0.1 && request->every_s <= 86400))
    return core_error(CORE_USAGE, "--interval: expected 0.1 to 86400 seconds");
  TRY(find_database(request, operands, count, path));
  for (bool final = false; !final;) {
    StoreDatabase *database = NULL;
    Picture picture = {0};
    CoreText text = {0};
    TRY(analysis_database_open(path, &database)); /* imports new results */
    int code = read_picture(database, request->name, &picture);
    store_database_close(&database);
    final = request->once || picture.active == 0;
    if (code == CORE_OK) {
      draw(&picture, request, &text);
      core_live_draw(&live, core_text_string(&text), final);
    }
    core_text_free(&text);
    picture_free(&picture);
    if (code != CORE_OK) return core_error_context(code, "%s", path);
    if (!final) nanosleep(&(struct timespec){.tv_sec = (time_t)request->every_s,
                                             .tv_nsec = (long)(fmod(request->every_s, 1) * 1e9)}, NULL);
  }
  return CORE_OK;
}

int analysis_watch(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "analyze watch [results.db] NAME",
    .about = "Draws the learning curves of a sweep on the terminal (mean over the runs of each configuration, the best "
             "eight) and updates them until every run has ended; in a pipe once a minute. Default database: results.db "
             "of the workspace.",
    .operands = {"DATABASE", "NAME"}, .operands_max = 2,
    .hint = "expected the name of a sweep"};
  Request request = {.every_s = 5};
  const CoreOption table[] = {
    {"root", 'r', CORE_OPTION_TEXT, &request.root, "DIR",
     "workspace (default: $SWEEP_ROOT, else the current directory)"},
    {"sweep", 0, CORE_OPTION_TEXT, &request.name, "NAME", "name of the sweep, instead of NAME"},
    {"interval", 'n', CORE_OPTION_REAL, &request.every_s, "SECONDS", "time between updates (default: 5)"},
    {"once", 0, CORE_OPTION_FLAG, &request.once, NULL, "print once and exit"},
    {0}};
  return core_options_run(&manual, table, argc, argv, watch, &request);
}
