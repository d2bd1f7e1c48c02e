/* The model of a figure (plot.h) and its gnuplot script. All places are computed in pixels of 1/96 inch from the
 * style's font size and written as fractions of the canvas. The script draws twice, once a device, by reading itself
 * again: a loop in braces would make gnuplot count the braces inside labels. */
#include "analysis/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

typedef struct Point { double x, y; AnalysisMark mark; bool hollow; } Point;
typedef struct Curve {
  size_t n;
  double *values; /* [n][x y low high] */
  AnalysisMark mark;
  AnalysisLine line;
  bool band;
} Curve;
typedef struct Level { double y; char *label; } Level;

typedef struct Panel {
  char *title, *note;
  Point *points;
  Curve *curves;
  Level *levels;
  size_t point_count, curve_count, level_count;
} Panel;

typedef struct Entry { char *label; AnalysisMark mark; bool head, hollow, line; } Entry;

struct AnalysisPlot {
  const AnalysisStyle *style;
  AnalysisAxis x, y;
  Panel *panels;
  Entry *entries;
  char **paragraphs;
  size_t panel_count, entry_count, paragraph_count;
};

/* Grows an array by one element and gives its place. */
#define APPEND(array, count) \
  ((array) = core_memory_resize((array), ((count) + 1) * sizeof *(array)), &(array)[(count)++])

/* ---- the model -------------------------------------------------------------------------------------------------- */

AnalysisPlot *analysis_plot_create(const AnalysisStyle *style, const char *x_title, bool x_log, const char *y_title,
                                   bool y_log) {
  AnalysisPlot *plot = core_memory_zero_allocate(1, sizeof *plot);
  plot->style = style;
  plot->x = (AnalysisAxis){.title = core_text_duplicate(x_title), .log = x_log};
  plot->y = (AnalysisAxis){.title = core_text_duplicate(y_title), .log = y_log};
  return plot;
}

static void panel_free(Panel *panel) {
  for (size_t i = 0; i < panel->curve_count; i++) free(panel->curves[i].values);
  for (size_t i = 0; i < panel->level_count; i++) free(panel->levels[i].label);
  free(panel->title);
  free(panel->note);
  free(panel->points);
  free(panel->curves);
  free(panel->levels);
}

void analysis_plot_destroy(AnalysisPlot **plot) {
  AnalysisPlot *p = *plot;
  if (!p) return;
  for (size_t i = 0; i < p->panel_count; i++) panel_free(&p->panels[i]);
  for (size_t i = 0; i < p->entry_count; i++) free(p->entries[i].label);
  for (size_t i = 0; i < p->paragraph_count; i++) free(p->paragraphs[i]);
  free((char *)p->x.title);
  free((char *)p->y.title);
  free(p->panels);
  free(p->entries);
  free(p->paragraphs);
  free(p);
  *plot = NULL;
}

size_t analysis_plot_panel(AnalysisPlot *plot, const char *title, const char *note) {
  Panel *panel = APPEND(plot->panels, plot->panel_count);
  *panel = (Panel){.title = core_text_duplicate(title), .note = core_text_duplicate(note)};
  return plot->panel_count - 1;
}

void analysis_plot_point(AnalysisPlot *plot, size_t panel, double x, double y, AnalysisMark mark, bool hollow) {
  Panel *p = &plot->panels[panel];
  *APPEND(p->points, p->point_count) = (Point){x, y, mark, hollow};
  analysis_axis_include(&plot->x, x);
  analysis_axis_include(&plot->y, y);
}

void analysis_plot_curve(AnalysisPlot *plot, size_t panel, size_t n, const double *x, const double *y,
                         const double *low, const double *high, AnalysisMark mark, AnalysisLine line) {
  Panel *p = &plot->panels[panel];
  double *values = core_memory_allocate((4 * n + 1) * sizeof *values);
  for (size_t i = 0; i < n; i++) {
    const double row[4] = {x[i], y[i], low ? low[i] : NAN, high ? high[i] : NAN};
    memcpy(values + 4 * i, row, sizeof row);
    if (isnan(y[i])) continue;
    analysis_axis_include(&plot->x, x[i]);
    for (int k = 1; k < 4; k++) analysis_axis_include(&plot->y, row[k]);
  }
  *APPEND(p->curves, p->curve_count) = (Curve){n, values, mark, line, low && high};
}

void analysis_plot_level(AnalysisPlot *plot, size_t panel, double y, const char *label) {
  Panel *p = &plot->panels[panel];
  *APPEND(p->levels, p->level_count) = (Level){y, core_text_duplicate(label)};
  analysis_axis_include(&plot->y, y);
}

void analysis_plot_legend_head(AnalysisPlot *plot, const char *text) {
  *APPEND(plot->entries, plot->entry_count) = (Entry){.label = core_text_duplicate(text), .head = true};
}

void analysis_plot_legend_entry(AnalysisPlot *plot, const char *label, AnalysisMark mark, bool hollow, bool line) {
  *APPEND(plot->entries, plot->entry_count) = (Entry){core_text_duplicate(label), mark, false, hollow, line};
}

void analysis_plot_caption(AnalysisPlot *plot, const char *text) {
  *APPEND(plot->paragraphs, plot->paragraph_count) = core_text_duplicate(text);
}

/* ---- text for gnuplot ------------------------------------------------------------------------------------------- */

typedef enum Face { PLAIN, BOLD } Face;

/* Single quotes take everything as it is but the quote itself. Back quotes (command substitution), at signs (macros)
 * and control characters are replaced all the same: no reading of gnuplot's manual should be needed to trust this. Bold
 * is markup, so there its characters are escaped; plain labels are set without markup (noenhanced). */
static void append_quoted(CoreText *script, const char *text, Face face) {
  core_text_append(script, face == BOLD ? "'{/:Bold " : "'");
  for (const char *c = text; *c; c++) {
    if (*c == '\'') core_text_append(script, "\'\'");
    else if (*c == '`') core_text_append(script, "´");
    else if (*c == '@') core_text_append(script, "(at)");
    else if (face == BOLD && strchr("{}^_&~\\", *c)) core_text_appendf(script, "\\%c", *c);
    else core_text_append_bytes(script, (unsigned char)*c < 0x20 || *c == 0x7f ? " " : c, 1);
  }
  core_text_append(script, face == BOLD ? "}'" : "'");
}

/* Each line of `text` as a comment; a backslash would join the next line to it. */
static void append_comment(CoreText *script, const char *text) {
  core_text_append(script, "# ");
  for (const char *c = text; *c; c++) {
    if (*c == '\n') core_text_append(script, c[1] ? "\n# " : "");
    else if (*c == '`' || *c == '@' || *c == '\\' || (unsigned char)*c < 0x20) core_text_append(script, "?");
    else core_text_append_bytes(script, c, 1);
  }
  core_text_append(script, "\n");
}

/* Characters of UTF-8, and about how wide they are in Helvetica. */
static double text_width(const char *text, double font_px) {
  double width = 0;
  for (const char *c = text; *c; c++) {
    if (((unsigned char)*c & 0xc0) == 0x80) continue;
    width += strchr("iljtfr.,:;' |()[]", *c) ? 0.32 : *c == 'm' || *c == 'w' || (*c >= 'A' && *c <= 'Z') ? 0.74 : 0.56;
  }
  return width * font_px;
}

/* ---- layout ----------------------------------------------------------------------------------------------------- */

typedef struct Layout {
  double font, small, row;              /* px: text, captions and notes, distance of legend rows */
  double width, height;                 /* of the canvas */
  double left, gap, panel_width, panel_height, above, below; /* around each panel */
  size_t columns, rows;                 /* of panels */
  double legend_top, legend_column;
  size_t legend_rows;
  double caption_top, caption_row;
  size_t caption_lines;
  size_t wrap;                          /* characters of a caption line */
} Layout;

/* Columns that the legend takes with so many rows: each block begins a column of its own. */
static size_t legend_columns(const AnalysisPlot *plot, size_t rows) {
  size_t columns = 0, in_column = 0;
  for (size_t i = 0; i < plot->entry_count; i++) {
    const Entry *entry = &plot->entries[i];
    if (entry->head || columns == 0 || in_column == rows) {
      columns++;
      in_column = 0;
    }
    if (!entry->head) in_column++;
  }
  return columns;
}

static bool legend_has_heads(const AnalysisPlot *plot) {
  for (size_t i = 0; i < plot->entry_count; i++) {
    if (plot->entries[i].head) return true;
  }
  return false;
}

/* Breaks a paragraph at spaces; calls back for each line. Returns the number of lines. */
static size_t wrap_text(const char *text, size_t wrap, void (*line)(void *, const char *), void *context) {
  size_t lines = 0;
  while (*text) {
    size_t best = 0, at = 0, characters = 0;
    for (; text[at] && characters <= wrap; at++) {
      if (text[at] == ' ') best = at;
      characters += ((unsigned char)text[at] & 0xc0) != 0x80;
    }
    size_t length = !text[at] && characters <= wrap ? at : best ? best : at;
    while (!best && length == at && ((unsigned char)text[length] & 0xc0) == 0x80) length++;
    char *piece = core_text_duplicate(text);
    piece[length] = '\0';
    if (line) line(context, piece);
    free(piece);
    lines++;
    text += length;
    while (*text == ' ') text++;
  }
  return lines;
}

static void layout_legend(const AnalysisPlot *plot, Layout *layout) {
  double widest = 0;
  for (size_t i = 0; i < plot->entry_count; i++) {
    double width =
        text_width(plot->entries[i].label, layout->font * 0.9) + (plot->entries[i].head ? 0 : 2.6 * layout->font);
    if (width > widest) widest = width;
  }
  layout->legend_column = widest + 0.8 * layout->font;
  double usable = layout->width - 2 * layout->font;
  size_t fit = (size_t)(usable / layout->legend_column);
  if (fit < 1) fit = 1;
  layout->legend_rows = 1;
  while (layout->legend_rows < plot->entry_count && legend_columns(plot, layout->legend_rows) > fit)
    layout->legend_rows++;
  size_t columns = legend_columns(plot, layout->legend_rows);
  /* Spread the columns over the width, but not so far that a label leaves its column's neighbours. */
  if (columns > 1) layout->legend_column = fmin(usable / (double)columns, 1.35 * layout->legend_column);
}

static Layout make_layout(const AnalysisPlot *plot) {
  const AnalysisStyle *style = plot->style;
  Layout l = {.font = style->font_px, .small = 0.86 * style->font_px};
  size_t n = plot->panel_count;
  bool notes = false, titles = false;
  for (size_t p = 0; p < n; p++) {
    notes |= plot->panels[p].note[0] != '\0';
    titles |= plot->panels[p].title[0] != '\0';
  }
  l.row = 1.45 * l.font;
  l.columns = n <= 3 ? n : n == 4 ? 2 : 3;
  l.rows = (n + l.columns - 1) / l.columns;
  l.width = n == 1 ? style->column_px : style->page_px;
  l.left = 4.6 * l.font;
  l.gap = 1.5 * l.font;
  l.above = (titles ? 2.2 : 1.0) * l.font;
  l.below = (notes ? 5.0 : 3.6) * l.font;
  l.panel_width = (l.width - l.left - 1.2 * l.font - (double)(l.columns - 1) * l.gap) / (double)l.columns;
  l.panel_height = fmin(fmax(l.panel_width * (l.columns == 1 ? 0.72 : 0.8), 13 * l.font), 24 * l.font);
  layout_legend(plot, &l);
  bool heads = legend_has_heads(plot);
  l.legend_top = (double)l.rows * (l.above + l.panel_height + l.below) + 0.4 * l.font;
  double legend = plot->entry_count ? ((double)l.legend_rows + (heads ? 1 : 0)) * l.row + 0.6 * l.font : 0;
  l.caption_top = l.legend_top + legend;
  l.caption_row = 1.32 * l.small;
  l.wrap = (size_t)((l.width - 2 * l.font) / (0.485 * l.small));
  for (size_t i = 0; i < plot->paragraph_count; i++)
    l.caption_lines += wrap_text(plot->paragraphs[i], l.wrap, NULL, NULL);
  l.height = ceil(l.caption_top + (double)l.caption_lines * l.caption_row + 0.6 * l.font);
  return l;
}

/* ---- the script ------------------------------------------------------------------------------------------------- */

typedef struct Writer { AnalysisPlot *plot; Layout layout; CoreText *script; int labels, arrows; size_t line; } Writer;

static void write_devices(const Writer *w, const char *name) {
  const AnalysisStyle *style = w->plot->style;
  const Layout *l = &w->layout;
  const double scale = 300.0 / 96; /* 300 dots an inch */
  CoreText *s = w->script;
  core_text_append(s, "if (!exists('pass')) pass = 1\nreset\n");
  core_text_appendf(
      s, "if (pass == 1) set terminal svg size %.0f,%.0f font 'Helvetica,%.4g' linewidth %.4g background '#%06x'\n",
      l->width, l->height, l->font, 0.9 * style->line, style->background);
  core_text_appendf(s, "if (pass == 1) set output '%s.svg'\n", name);
  core_text_append(s, "cairo = (strstrt(GPVAL_TERMINALS, ' pngcairo') > 0)\n");
  core_text_appendf(s,
                    "if (pass == 2 && cairo) set terminal pngcairo size %.0f,%.0f font 'Helvetica,%.4g' fontscale %.4g "
                    "linewidth %.4g pointscale %.4g background '#%06x'\n",
                    l->width * scale, l->height * scale, l->font, scale * 0.75, scale * 0.9 * style->line, scale,
                    style->background);
  core_text_appendf(s, "if (pass == 2 && !cairo) set terminal png size %.0f,%.0f font 'Helvetica,%.4g' fontscale %.4g "
                    "linewidth %.4g background '#%06x'\n", l->width * scale, l->height * scale, l->font, scale * 0.75,
                    scale * 0.9 * style->line, style->background);
  core_text_appendf(s, "if (pass == 2) set output '%s.png'\n\n", name);
}

static void write_number(CoreText *script, double value) {
  if (isfinite(value)) core_text_appendf(script, " %.10g", value);
  else core_text_append(script, " NaN");
}

/* Points of one shape and fill share a data block: x y colour. */
static size_t write_points(const Writer *w, size_t panel, AnalysisShape shape, bool hollow, bool dry) {
  const Panel *p = &w->plot->panels[panel];
  size_t count = 0;
  for (size_t i = 0; i < p->point_count; i++) {
    const Point *point = &p->points[i];
    if (point->mark.shape != shape || point->hollow != hollow) continue;
    if (!dry && count == 0) core_text_appendf(w->script, "$points_%zu_%d_%d << EOD\n", panel, (int)shape, (int)hollow);
    if (!dry) {
      write_number(w->script, point->x);
      write_number(w->script, point->y);
      core_text_appendf(w->script, " 0x%06x\n", point->mark.color);
    }
    count++;
  }
  if (!dry && count > 0) core_text_append(w->script, "EOD\n");
  return count;
}

static void write_data(const Writer *w) {
  for (size_t panel = 0; panel < w->plot->panel_count; panel++) {
    const Panel *p = &w->plot->panels[panel];
    for (int shape = 0; shape < 2 * ANALYSIS_SHAPES; shape++) {
      write_points(w, panel, (AnalysisShape)(shape / 2), shape % 2, false);
    }
    for (size_t c = 0; c < p->curve_count; c++) {
      core_text_appendf(w->script, "$curve_%zu_%zu << EOD\n", panel, c);
      for (size_t i = 0; i < p->curves[c].n; i++) {
        for (int k = 0; k < 4; k++) write_number(w->script, p->curves[c].values[4 * i + (size_t)k]);
        core_text_append(w->script, "\n");
      }
      core_text_append(w->script, "EOD\n");
    }
  }
}

static void write_axis(const Writer *w, const char *name, const AnalysisAxis *axis, int ticks, bool numbered) {
  CoreText list = {0};
  analysis_axis_ticks(axis, ticks, numbered, &list);
  core_text_appendf(w->script, "set %srange [%.10g:%.10g]\n%sset logscale %s\n", name, axis->low, axis->high,
                    axis->log ? "" : "un", name);
  core_text_appendf(
      w->script, "set %stics out nomirror scale 0.6,0.35 offset %s textcolor rgb '#%06x' font ',%.4g' (%s)\n", name,
      *name == 'x' ? "0,0.35" : "0.5,0", w->plot->style->foreground, 0.9 * w->layout.font, core_text_string(&list));
  core_text_free(&list);
}

static double screen_x(const Writer *w, double px) { return px / w->layout.width; }
static double screen_y(const Writer *w, double px) { return 1 - px / w->layout.height; }

typedef enum Alignment { ALIGN_LEFT, ALIGN_CENTER } Alignment;

static void write_label(Writer *w, const char *text, double x, double y, Alignment alignment, Face face, double size,
                        uint32_t color) {
  core_text_appendf(w->script, "set label %d ", ++w->labels);
  append_quoted(w->script, text, face);
  core_text_appendf(w->script, " at screen %.5f,%.5f %s %s font ',%.4g' textcolor rgb '#%06x' front\n", screen_x(w, x),
                    screen_y(w, y), alignment == ALIGN_LEFT ? "left" : "center",
                    face == BOLD ? "enhanced" : "noenhanced", size, color);
}

static int point_type(AnalysisShape shape, bool hollow) {
  static const int filled[ANALYSIS_SHAPES] = {7, 5, 9, 13, 11};
  return filled[shape] - (hollow ? 1 : 0);
}

static double point_size(const Writer *w, AnalysisShape shape) {
  static const double size[ANALYSIS_SHAPES] = {1, 0.92, 1.12, 1.18, 1.12}; /* so that areas look alike */
  return 0.64 * w->plot->style->point * size[shape];
}

static void write_legend_mark(Writer *w, const Entry *entry, double x, double y) {
  const double line = 1.5 * w->layout.font;
  if (entry->line) {
    core_text_appendf(
        w->script, "set arrow %d from screen %.5f,%.5f to screen %.5f,%.5f nohead lw 1.8 lc rgb '#%06x' front\n",
        ++w->arrows, screen_x(w, x), screen_y(w, y), screen_x(w, x + line), screen_y(w, y), entry->mark.color);
    return;
  }
  core_text_appendf(w->script, "set label %d '' at screen %.5f,%.5f point pt %d ps %.3g lw 0.9 lc rgb '#%06x' front\n",
                    ++w->labels, screen_x(w, x + 0.7 * w->layout.font), screen_y(w, y),
                    point_type(entry->mark.shape, entry->hollow), 1.1 * point_size(w, entry->mark.shape),
                    entry->mark.color);
}

static void write_legend(Writer *w) {
  const Layout *l = &w->layout;
  const AnalysisPlot *plot = w->plot;
  bool heads = legend_has_heads(plot);
  size_t used = legend_columns(plot, l->legend_rows);
  double left = used == 1 ? l->left : fmax(l->font, (l->width - (double)used * l->legend_column) / 2);
  size_t column = 0, row = 0;
  for (size_t i = 0; i < plot->entry_count; i++) {
    const Entry *entry = &plot->entries[i];
    if (entry->head || column == 0 || row == l->legend_rows) {
      column++;
      row = 0;
    }
    double x = left + (double)(column - 1) * l->legend_column;
    double y = l->legend_top + ((double)row + (heads && !entry->head ? 1.5 : 0.5)) * l->row;
    if (entry->head) {
      write_label(w, entry->label, x, y, ALIGN_LEFT, BOLD, 0.9 * l->font, plot->style->foreground);
      continue;
    }
    write_legend_mark(w, entry, x, y);
    write_label(w, entry->label, x + (entry->line ? 2.0 : 1.6) * l->font, y, ALIGN_LEFT, PLAIN, 0.9 * l->font,
                plot->style->foreground);
    row++;
  }
}

static void write_caption_line(void *context, const char *text) {
  Writer *w = context;
  double y = w->layout.caption_top + ((double)w->line++ + 0.5) * w->layout.caption_row;
  write_label(w, text, w->layout.font, y, ALIGN_LEFT, PLAIN, w->layout.small, w->plot->style->muted);
}

static void write_levels(Writer *w, const Panel *panel) {
  const AnalysisStyle *style = w->plot->style;
  for (size_t i = 0; i < panel->level_count; i++) {
    core_text_appendf(w->script,
                      "set arrow %d from graph 0, first %.10g to graph 1, first %.10g nohead dt (6,4) lw 0.8 "
                      "lc rgb '#%06x' back\n",
                      ++w->arrows, panel->levels[i].y, panel->levels[i].y, style->muted);
    core_text_appendf(w->script, "set label %d ", ++w->labels);
    append_quoted(w->script, panel->levels[i].label, PLAIN);
    core_text_appendf(w->script,
                      " at graph 0.985, first %.10g right offset 0,0.45 noenhanced font ',%.4g' textcolor rgb "
                      "'#%06x' back\n",
                      panel->levels[i].y, 0.95 * w->layout.small, style->muted);
  }
}

static void write_plot_command(const Writer *w, size_t panel) {
  const Panel *p = &w->plot->panels[panel];
  CoreText *s = w->script;
  static const char *const line_style[] = {"lw 1.8 lc rgb '#", "lw 1.2 dt (5,3) lc rgb '#", "lw 0.7 lc rgb '#90"};
  core_text_append(s, "plot NaN notitle");
  for (size_t c = 0; c < p->curve_count; c++) {
    if (!p->curves[c].band) continue;
    core_text_appendf(s, ", \\\n  $curve_%zu_%zu using 1:3:4 with filledcurves lc rgb '#e0%06x' notitle", panel, c,
                      p->curves[c].mark.color);
  }
  for (size_t c = 0; c < p->curve_count; c++) {
    core_text_appendf(s, ", \\\n  $curve_%zu_%zu using 1:2 with lines %s%06x' notitle", panel, c,
                      line_style[p->curves[c].line], p->curves[c].mark.color);
  }
  for (int k = 0; k < 2 * ANALYSIS_SHAPES; k++) {
    AnalysisShape shape = (AnalysisShape)(k / 2);
    bool hollow = k % 2 == 0; /* under the filled ones */
    if (write_points(w, panel, shape, hollow, true) == 0) continue;
    double size = point_size(w, shape);
    if (!hollow) { /* a fill that lets others shine through, and a crisp edge */
      core_text_appendf(
          s, ", \\\n  $points_%zu_%d_0 using 1:2:($3 + 0x50000000) with points pt %d ps %.3g lc rgb variable notitle",
          panel, (int)shape, point_type(shape, false), size);
    }
    core_text_appendf(s,
                      ", \\\n  $points_%zu_%d_%d using 1:2:3 with points pt %d ps %.3g lw %s lc rgb variable notitle",
                      panel, (int)shape, (int)hollow, point_type(shape, true), size, hollow ? "0.9" : "0.6");
  }
  core_text_append(s, "\n");
}

static void write_panel(Writer *w, size_t panel) {
  const AnalysisPlot *plot = w->plot;
  const Layout *l = &w->layout;
  const Panel *p = &plot->panels[panel];
  size_t column = panel % l->columns, row = panel / l->columns;
  double left = l->left + (double)column * (l->panel_width + l->gap);
  double top = (double)row * (l->above + l->panel_height + l->below) + l->above, bottom = top + l->panel_height;
  core_text_appendf(w->script,
                    "\nset lmargin at screen %.5f; set rmargin at screen %.5f; set tmargin at screen %.5f; "
                    "set bmargin at screen %.5f\n",
                    screen_x(w, left), screen_x(w, left + l->panel_width), screen_y(w, top), screen_y(w, bottom));
  int labels = w->labels, arrows = w->arrows;
  write_label(w, p->title, left, top - 0.9 * l->font, ALIGN_LEFT, BOLD, l->font, plot->style->foreground);
  write_label(w, plot->x.title, left + l->panel_width / 2, bottom + 2.5 * l->font, ALIGN_CENTER, PLAIN, l->font,
              plot->style->foreground);
  write_label(w, p->note, left + l->panel_width / 2, bottom + 3.9 * l->font, ALIGN_CENTER, PLAIN, 0.9 * l->font,
              plot->style->foreground);
  write_levels(w, p);
  if (column == 0) {
    core_text_append(w->script, "set ylabel ");
    append_quoted(w->script, plot->y.title, PLAIN);
    core_text_appendf(w->script, " noenhanced offset 1.2,0 font ',%.4g' textcolor rgb '#%06x'\n", l->font,
                      plot->style->foreground);
  } else {
    core_text_append(w->script, "unset ylabel\n");
  }
  write_axis(w, "y", &plot->y, 5, column == 0);
  write_plot_command(w, panel);
  for (int i = labels + 1; i <= w->labels; i++) core_text_appendf(w->script, "unset label %d\n", i);
  for (int i = arrows + 1; i <= w->arrows; i++) core_text_appendf(w->script, "unset arrow %d\n", i);
}

void analysis_plot_script(AnalysisPlot *plot, const char *name, const char *header, CoreText *script) {
  if (plot->panel_count == 0) analysis_plot_panel(plot, "", "");
  analysis_axis_finish(&plot->x);
  analysis_axis_finish(&plot->y);
  Writer w = {plot, make_layout(plot), script, 0, 0, 0};
  const AnalysisStyle *style = plot->style;
  append_comment(script, header);
  core_text_appendf(script, "# Draw again: gnuplot %s.gp\n\n", name);
  write_devices(&w, name);
  write_data(&w);
  core_text_appendf(
      script,
      "\nset border 3 lw 0.8 lc rgb '#%06x'\nset grid xtics ytics lw 0.6 lt 1 lc rgb '#%06x'\nset grid nomxtics\n"
      "unset key\nset multiplot\n",
      style->foreground, style->grid);
  write_axis(&w, "x", &plot->x, plot->panel_count > 2 ? 4 : 5, true);
  write_legend(&w);
  for (size_t i = 0; i < plot->paragraph_count; i++)
    wrap_text(plot->paragraphs[i], w.layout.wrap, write_caption_line, &w);
  /* Legend and caption belong to the page: drawn once, with the first panel. */
  int page_labels = w.labels, page_arrows = w.arrows;
  for (size_t panel = 0; panel < plot->panel_count; panel++) {
    write_panel(&w, panel);
    for (int i = 1; panel == 0 && i <= page_labels; i++) core_text_appendf(script, "unset label %d\n", i);
    for (int i = 1; panel == 0 && i <= page_arrows; i++) core_text_appendf(script, "unset arrow %d\n", i);
  }
  core_text_append(script, "\nunset multiplot\nunset output\npass = pass + 1\nif (pass <= 2) reread\nundefine pass\n");
}
