/* `analyze watch NAME`: learning curves on the terminal while the runs of a sweep go on. Imports what is new, averages
 * each configuration's evaluations over its runs, and redraws, until every run has ended. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/commands.h"
#include "analysis/group.h"
#include "analysis/mean_line.h"
#include "analysis/statistics.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/terminal.h"
#include "store/paths.h"
#include "store/query.h"

enum { LINES_MAX = 8, HEIGHT = 14, WIDTH_MAX = 200, LABEL = 9, DOTS_ACROSS = 2, DOTS_DOWN = 4 };

typedef struct Request { const char *name, *root; double every_s; bool once; } Request;

typedef struct Line { size_t group, runs; double last; AnalysisCurve mean; } Line;

typedef struct Picture {
  AnalysisSelection selection;
  AnalysisGrouping groups;
  Line *lines;             /* [groups.count], best last value first */
  size_t active, evaluated; /* runs that go on or wait; runs that have a point */
} Picture;

/* ---- data ------------------------------------------------------------------------------------------------------- */

static const char points_sql[] =
  "SELECT transitions, coalesce(solve_rate, episode_return) FROM evaluation WHERE run_id = ?1 AND level_set ="
  " (SELECT level_set FROM evaluation WHERE run_id = ?1 ORDER BY level_set <> 'train', level_set LIMIT 1) ORDER BY "
  "iteration";

static int read_points(StoreQuery *query, const char *id, AnalysisCurve *curve) {
  bool row = false;
  int code;
  store_query_reset(query);
  store_query_bind_text(query, 1, id);
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    double value = store_query_real(query, 1);
    if (isfinite(value)) analysis_curve_add(curve, store_query_real(query, 0), value);
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
    code = read_points(query, p->selection.runs[r].id, &curves[line->runs]);
    if (curves[line->runs].n) line->runs++;
  }
  p->evaluated += line->runs;
  if (line->runs > 0 && code == CORE_OK) {
    AnalysisMeanLine all = analysis_mean_line_average(curves, line->runs, WIDTH_MAX, false);
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

/* A canvas of braille characters: 2 x 4 dots each, one colour a character (the last line's that touches it). */
typedef struct Canvas {
  int width;
  unsigned char dots[HEIGHT][WIDTH_MAX];
  unsigned char line[HEIGHT][WIDTH_MAX];
} Canvas;

static void set_dot(Canvas *canvas, int x, int y, size_t line) {
  static const unsigned char bits[DOTS_DOWN][DOTS_ACROSS] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  if (x < 0 || y < 0 || x >= canvas->width * DOTS_ACROSS || y >= HEIGHT * DOTS_DOWN) return;
  canvas->dots[y / DOTS_DOWN][x / DOTS_ACROSS] |= bits[y % DOTS_DOWN][x % DOTS_ACROSS];
  canvas->line[y / DOTS_DOWN][x / DOTS_ACROSS] = (unsigned char)line;
}

static void range(const Picture *p, size_t shown, double *low, double *high, double *last) {
  *low = INFINITY;
  *high = -INFINITY;
  *last = 1;
  for (size_t i = 0; i < shown; i++) {
    const AnalysisCurve *curve = &p->lines[i].mean;
    for (size_t k = 0; k < curve->n; k++) {
      *low = fmin(*low, curve->y[k]);
      *high = fmax(*high, curve->y[k]);
      *last = fmax(*last, curve->x[k]);
    }
  }
  if (!(*low <= *high)) *low = 0, *high = 1;
  if (*low >= 0 && *high <= 1) *low = 0; /* a rate */
  if (*low == *high) *high += 1;
}

static void draw_lines(const Picture *p, size_t shown, double low, double high, double last, Canvas *canvas) {
  int dots = canvas->width * DOTS_ACROSS, down = HEIGHT * DOTS_DOWN;
  for (size_t i = shown; i-- > 0;) { /* the best one last, on top */
    const AnalysisCurve *curve = &p->lines[i].mean;
    int before = -1;
    for (int x = 0; x < dots; x++) {
      double value = analysis_interpolate(curve->x, curve->y, curve->n, last * (double)x / (dots - 1));
      if (isnan(value)) continue;
      int y = (int)lround((high - value) / (high - low) * (down - 1));
      int step = before < 0 || before == y ? 0 : before < y ? 1 : -1;
      for (int at = before; step && at != y; at += step) set_dot(canvas, x, at, i); /* no holes in steep places */
      set_dot(canvas, x, y, i);
      before = y;
    }
  }
}

static const CoreColor colors[] = {CORE_BLUE, CORE_GREEN, CORE_YELLOW, CORE_RED,
                                   CORE_BOLD, CORE_DIM,   CORE_PLAIN,  CORE_PLAIN};

static void append_canvas(const Canvas *canvas, double low, double high, CoreText *text) {
  for (int row = 0; row < HEIGHT; row++) {
    bool labelled = row % 4 == 0 || row == HEIGHT - 1;
    if (labelled) core_text_appendf(text, "%*.3g ", LABEL - 1, high - (high - low) * row / (HEIGHT - 1));
    else core_text_appendf(text, "%*s", LABEL, "");
    for (int x = 0; x < canvas->width; x++) {
      unsigned code = 0x2800u + canvas->dots[row][x];
      const char glyph[4] = {(char)(0xe0 | code >> 12), (char)(0x80 | (code >> 6 & 63)), (char)(0x80 | (code & 63)),
                             '\0'};
      if (canvas->dots[row][x] == 0) core_text_append(text, " ");
      else
        core_text_appendf(text, "%s%s%s", core_terminal_color(stdout, colors[canvas->line[row][x] % LINES_MAX]), glyph,
                          core_terminal_reset(stdout));
    }
    core_text_append(text, "\n");
  }
}

static void append_legend(const Picture *p, size_t shown, CoreText *text) {
  for (size_t i = 0; i < shown; i++) {
    const Line *line = &p->lines[i];
    const AnalysisGroup *group = &p->groups.groups[line->group];
    core_text_appendf(text, "%s━━%s %-7.3g %s (%zu of %zu runs)\n", core_terminal_color(stdout, colors[i]),
                      core_terminal_reset(stdout), line->last, group->label, line->runs, group->run_count);
  }
  if (shown < p->groups.count)
    core_text_appendf(text, "   and %zu configurations below them, or without a point\n", p->groups.count - shown);
}

static void draw(const Picture *p, const Request *request, CoreText *text) {
  Canvas canvas = {.width = core_terminal_width(stdout) - LABEL - 1};
  double low, high, last;
  char count[32];
  size_t shown = 0;
  if (canvas.width > WIDTH_MAX) canvas.width = WIDTH_MAX;
  if (canvas.width < 20) canvas.width = 20;
  while (shown < p->groups.count && shown < LINES_MAX && p->lines[shown].runs > 0) shown++;
  range(p, shown, &low, &high, &last);
  core_text_appendf(text, "%s: %zu runs, %zu still going or waiting, %zu with evaluations\n", request->name,
                    p->selection.count, p->active, p->evaluated);
  if (shown == 0) {
    core_text_append(text, "no evaluation yet\n");
    return;
  }
  draw_lines(p, shown, low, high, last, &canvas);
  append_canvas(&canvas, low, high, text);
  core_text_appendf(text, "%*s0%*s transitions\n", LABEL, "", canvas.width - 12, core_text_count(last, count));
  append_legend(p, shown, text);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static int watch(void *asked, const char **operands, size_t count) {
  Request *request = asked;
  char root[CORE_PATH_MAX], path[CORE_PATH_MAX];
  CoreLive live = {.stream = stdout, .plain_every_s = 60};
  if (!(request->every_s >= 0.1 && request->every_s <= 86400))
    return core_error(CORE_USAGE, "--interval: expected 0.1 to 86400 seconds");
  request->name = operands[0];
  TRY(store_root(request->root, root));
  TRY(store_path_database(root, path));
  for (bool final = false; !final;) {
    StoreDatabase *database = NULL;
    Picture picture = {0};
    CoreText text = {0};
    TRY(analysis_database_open(path, &database)); /* imports what is new */
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
    .usage = "analyze watch NAME",
    .about = "Draws the learning curves of a sweep on the terminal (mean over the runs of each configuration, the best "
             "eight) and keeps them up to date until every run has ended. Into a pipe: one picture a minute.",
    .least = 1, .most = 1,
    .hint = "expected the name of a sweep"};
  Request request = {.every_s = 5};
  const CoreOption table[] = {
    {"root", 0, CORE_OPTION_TEXT, &request.root, "DIR",
     "the workspace (default: $SWEEP_ROOT, else the current folder)"},
    {"interval", 'n', CORE_OPTION_REAL, &request.every_s, "SECONDS", "how often to look (default: 5)"},
    {"once", 0, CORE_OPTION_FLAG, &request.once, NULL, "draw once and end"},
    {0}};
  return core_options_answer(&manual, table, argc, argv, watch, &request);
}
