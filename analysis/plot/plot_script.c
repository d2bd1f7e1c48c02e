/* Writes the gnuplot script of a figure (plot.h). All positions are fractions of the canvas computed by
 * plot_layout.c. The script draws once per device (svg, png, pdf) by loading itself again: in a loop in braces
 * gnuplot would count the braces inside labels. */
#include "analysis/plot/plot_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/unicode.h"

/* ---- text for gnuplot ------------------------------------------------------------------------------------------- */

/* Appends a quoted text. Inside single quotes only the quote is special. Back quotes (command substitution), at
 * signs (macros) and control characters are replaced anyway, so that safety does not depend on details of gnuplot.
 * Bold is markup, whose characters are escaped; plain labels have no markup (noenhanced). */
static void append_quoted(CoreText *script, const char *text, PlotFace face) {
  char *safe = core_text_duplicate(text);
  core_unicode_mask_line(safe);
  core_text_append(script, face == PLOT_BOLD ? "'{/:Bold " : "'");
  for (const char *c = safe; *c; c++) {
    if (*c == '\'') core_text_append(script, "\'\'");
    else if (*c == '`') core_text_append(script, "´");
    else if (*c == '@') core_text_append(script, "(at)");
    else if (face == PLOT_BOLD && strchr("{}^_&~\\", *c)) core_text_appendf(script, "\\%c", *c);
    else core_text_append_bytes(script, c, 1);
  }
  core_text_append(script, face == PLOT_BOLD ? "}'" : "'");
  free(safe);
}

/* Appends each line of `text` as a comment; a backslash would join the next line to it. */
static void append_comment(CoreText *script, const char *text) {
  char *safe = core_text_duplicate(text);
  core_unicode_mask(safe);
  core_text_append(script, "# ");
  for (const char *c = safe; *c; c++) {
    if (*c == '\n') core_text_append(script, c[1] ? "\n# " : "");
    else if (*c == '`' || *c == '@' || *c == '\\' || (unsigned char)*c < 0x20) core_text_append(script, "?");
    else core_text_append_bytes(script, c, 1);
  }
  core_text_append(script, "\n");
  free(safe);
}

/* ---- the script ------------------------------------------------------------------------------------------------- */

/* Area of a slide in pixels of 1/96 inch. The bitmap of a larger canvas (hundreds of configurations in the legend)
 * has the same number of dots at a lower resolution, because rendering would take longer than reading ten million
 * rows. */
static const double page_area = 1280.0 * 800;

static void write_devices(const PlotWriter *w, const char *name) {
  const AnalysisStyle *style = w->plot->style;
  const PlotLayout *l = &w->layout;
  const double scale = 300.0 / 96 * fmin(1, sqrt(page_area / (l->width * l->height))); /* 300 dots per inch */
  CoreText *s = w->script;

  core_text_append(s, "if (!exists('pass')) pass = 1\nreset\n");
  core_text_appendf(
      s, "if (pass == 1) set terminal svg size %.0f,%.0f font 'Helvetica,%.4g' linewidth %.4g background '#%06x'\n",
      l->width, l->height, l->font, 0.9 * style->line, style->background);
  core_text_appendf(s, "if (pass == 1) set output '%s.svg'\n", name);
  core_text_appendf(s, "# png: %.0f dots an inch\n", 96 * scale);

  core_text_append(s, "cairo = (strstrt(GPVAL_TERMINALS, ' pngcairo') > 0)\n");
  core_text_append(s, "pdf = (strstrt(GPVAL_TERMINALS, ' pdfcairo') > 0)\nif (pass == 3 && !pdf) exit\n");

  core_text_appendf(s,
                    "if (pass == 2 && cairo) set terminal pngcairo size %.0f,%.0f font 'Helvetica,%.4g' fontscale %.4g "
                    "linewidth %.4g pointscale %.4g background '#%06x'\n",
                    l->width * scale, l->height * scale, l->font, scale * 0.75, scale * 0.9 * style->line, scale,
                    style->background);
  core_text_appendf(s, "if (pass == 2 && !cairo) set terminal png size %.0f,%.0f font 'Helvetica,%.4g' fontscale %.4g "
                    "linewidth %.4g background '#%06x'\n", l->width * scale, l->height * scale, l->font, scale * 0.75,
                    scale * 0.9 * style->line, style->background);

  core_text_appendf(s, "dot = (pass == 2 && !cairo) ? %.4g : 1 # that terminal has no pointscale\n", scale);
  core_text_appendf(s, "if (pass == 2) set output '%s.png'\n", name);
  core_text_appendf(s, "if (pass == 3) set terminal pdfcairo size %.4fin,%.4fin font 'Helvetica,%.4g' "
                    "fontscale 0.75 linewidth %.4g pointscale 0.75 background '#%06x'\n", l->width / 96, l->height / 96,
                    l->font, 0.9 * style->line, style->background);
  core_text_appendf(s, "if (pass == 3) set output '%s.pdf'\n\n", name);
}

static void write_number(CoreText *script, double value) {
  if (isfinite(value)) core_text_appendf(script, " %.10g", value);
  else core_text_append(script, " NaN");
}

/* Writes the points of one shape and fill as a data block: x y size color. */
static size_t write_points(const PlotWriter *w, size_t panel, AnalysisShape shape, bool hollow, bool dry) {
  const PlotPanel *p = &w->plot->panels[panel];
  size_t count = 0;

  for (size_t i = 0; i < p->point_count; i++) {
    const PlotPoint *point = &p->points[i];
    if (point->mark.shape != shape || point->hollow != hollow) continue;

    if (!dry && count == 0) core_text_appendf(w->script, "$points_%zu_%d_%d << EOD\n", panel, (int)shape, (int)hollow);
    if (!dry) {
      write_number(w->script, point->x);
      write_number(w->script, point->y);
      core_text_appendf(w->script, " %.4g 0x%06x\n", plot_point_size(w, point->mark), point->mark.color);
    }

    count++;
  }
  if (!dry && count > 0) core_text_append(w->script, "EOD\n");
  return count;
}

static void write_pair(CoreText *script, double x, double y) {
  write_number(script, x);
  write_number(script, y);
  core_text_append(script, "\n");
}

/* Writes each stretch without gaps as one outline, along the lower edge and back along the upper one: strips between
 * two lines (filledcurves x:low:high) make gnuplot's cairo devices blend every strip over the whole canvas. On a log
 * axis the end replaces values that it cannot show. */
static void write_band(CoreText *script, const PlotCurve *curve, const AnalysisAxis *y) {
  const double least = y->log ? y->low : -INFINITY;
  for (size_t first = 0, end; first < curve->n; first = end) {
    const double *rows = curve->values;
    end = first;
    while (end < curve->n && isfinite(rows[4 * end + 2]) && isfinite(rows[4 * end + 3])) end++;
    for (size_t i = first; i < end; i++) write_pair(script, rows[4 * i], fmax(rows[4 * i + 2], least));
    for (size_t i = end; i-- > first;) write_pair(script, rows[4 * i], fmax(rows[4 * i + 3], least));
    if (end > first) core_text_append(script, "\n");
    else end++;
  }
}

/* Computes the ends of a cap around `middle`, in axis coordinates. A whisker is drawn as three straight strokes, since
 * gnuplot's cairo devices cut the ends of a line of two points at a slant. */
static void cap_ends(const AnalysisAxis *axis, double length_px, double middle, double ends[2]) {
  static const double CAP_PX = 2.6;
  const double share = CAP_PX / length_px;
  const double half = share * (axis->log ? log(axis->high / axis->low) : axis->high - axis->low);
  for (int end = 0; end < 2; end++)
    ends[end] = axis->log ? middle * exp(end ? half : -half) : middle + (end ? half : -half);
}

static const AnalysisAxis *x_axis(const PlotWriter *w, const PlotPanel *panel) {
  return panel->has_x ? &panel->x : &w->plot->x;
}

static const AnalysisAxis *y_axis(const PlotWriter *w, const PlotPanel *panel) {
  return panel->has_y ? &panel->y : &w->plot->y;
}

static void write_stroke(CoreText *script, double x0, double y0, double x1, double y1, uint32_t color) {
  core_text_appendf(script, " %.10g %.10g %.10g %.10g 0x%06x\n", x0, y0, x1 - x0, y1 - y0, color);
}

static void write_whiskers(const PlotWriter *w, size_t panel) {
  const PlotPanel *p = &w->plot->panels[panel];
  const AnalysisAxis *y = y_axis(w, p);

  core_text_appendf(w->script, "$whiskers_%zu << EOD\n", panel);
  for (size_t i = 0; i < p->whisker_count; i++) {
    const PlotWhisker *k = &p->whiskers[i];
    double cap[2], low = y->log ? fmax(k->y[0], y->low) : k->y[0]; /* clamped like bands; then without a cap */
    const bool level = k->y[0] == k->y[1] && k->x[0] != k->x[1];

    write_stroke(w->script, k->x[0], low, k->x[1], k->y[1], k->color);
    for (int end = 0; end < 2; end++) {
      if (level) {
        cap_ends(y, w->layout.panel_height, k->y[end], cap);
        write_stroke(w->script, k->x[end], cap[0], k->x[end], cap[1], k->color);
      } else {
        cap_ends(x_axis(w, p), w->layout.panel_width, k->x[end], cap);
        write_stroke(w->script, cap[0], k->y[end], cap[1], k->y[end], k->color);
      }
    }
  }
  core_text_append(w->script, "EOD\n");
}

static void write_data(const PlotWriter *w) {
  for (size_t panel = 0; panel < w->plot->panel_count; panel++) {
    const PlotPanel *p = &w->plot->panels[panel];

    for (int shape = 0; shape < 2 * ANALYSIS_SHAPES; shape++) {
      write_points(w, panel, (AnalysisShape)(shape / 2), shape % 2, false);
    }
    if (p->whisker_count) write_whiskers(w, panel);

    for (size_t c = 0; c < p->curve_count; c++) {
      const PlotCurve *curve = &p->curves[c];
      core_text_appendf(w->script, "$curve_%zu_%zu << EOD\n", panel, c);
      for (size_t i = 0; i < curve->n; i++) write_pair(w->script, curve->values[4 * i], curve->values[4 * i + 1]);
      core_text_append(w->script, "EOD\n");

      if (!curve->band) continue;
      core_text_appendf(w->script, "$band_%zu_%zu << EOD\n", panel, c);
      write_band(w->script, curve, y_axis(w, p));
      core_text_append(w->script, "EOD\n");
    }
  }
}

/* Appends a name. Names come from users: they are quoted, and printed without markup. */
static void append_name(CoreText *list, const char *name, double value) {
  if (list->length) core_text_append(list, ", ");
  append_quoted(list, name, PLOT_PLAIN);
  core_text_appendf(list, " %.12g", value);
}

static void append_categories(const PlotCategories *names, bool shown, double font, double room, CoreText *list) {
  char **cut = plot_layout_cut_apart((const char *const *)names->labels, names->count, font, room);
  for (size_t i = 0; i < names->count; i++) append_name(list, shown ? cut[i] : "", (double)i);
  plot_layout_cut_free(cut, names->count);
}

/* Returns the position of a value as a fraction of the axis' length. */
static double place_on(const AnalysisAxis *axis, double value) {
  return axis->log ? log(value / axis->low) / log(axis->high / axis->low)
                   : (value - axis->low) / (axis->high - axis->low);
}

/* Appends a tick for each value, with a label if there is space after the previous one. */
static void append_chosen(const AnalysisPlot *plot, const PlotLayout *layout, CoreText *list) {
  double free_from = -INFINITY;
  const double font = 0.9 * layout->font;
  for (size_t i = 0; i < plot->x_tick_count; i++) {
    const PlotTick *tick = &plot->x_ticks[i];
    const double half = plot_layout_text_width(tick->label, font) / 2;
    const double offset = place_on(&plot->x, tick->at) * layout->panel_width;
    const bool shown = offset - half >= free_from;
    append_name(list, shown ? tick->label : "", tick->at);
    if (shown) free_from = offset + half + 0.4 * font;
  }
}

static void write_axis(const PlotWriter *w, const char *name, const AnalysisAxis *axis, const PlotCategories *names,
                       int ticks, bool numbered) {
  CoreText list = {0};
  const PlotLayout *l = &w->layout;
  const bool is_x = *name == 'x', chosen = is_x && w->plot->x_tick_count > 0, aslant = is_x && l->aslant;
  const double font = 0.9 * l->font;

  if (names->count)
    append_categories(names, numbered, font, aslant ? l->names_room : is_x ? INFINITY : 0.4 * w->plot->style->page_px,
                      &list);
  else if (chosen) append_chosen(w->plot, l, &list);
  else analysis_axis_ticks(axis, ticks, numbered, &list);

  core_text_appendf(w->script, "set %srange [%.10g:%.10g]\n%sset logscale %s\n", name, axis->low, axis->high,
                    axis->log ? "" : "un", name);

  const bool marked = !names->count || (is_x && !w->plot->y_names.count); /* bars and cells need none */
  core_text_appendf(w->script,
                    "set %stics out nomirror scale %s %s offset %s %s textcolor rgb '#%06x' font ',%.4g' (%s)\n", name,
                    marked ? "0.6,0.35" : "0,0", aslant ? "rotate by 45 right" : is_x ? "norotate" : "",
                    aslant ? "0,-0.15" : is_x ? "0,0.35" : "0.5,0", names->count || chosen ? "noenhanced" : "enhanced",
                    w->plot->style->foreground, font, core_text_string(&list));

  core_text_free(&list);
}

static double screen_x(const PlotWriter *w, double px) { return px / w->layout.width; }
static double screen_y(const PlotWriter *w, double px) { return 1 - px / w->layout.height; }

static void write_label_turned(PlotWriter *w, const char *text, double x, double y, double size, uint32_t color) {
  core_text_appendf(w->script, "set label %d ", ++w->labels);
  append_quoted(w->script, text, PLOT_PLAIN);
  core_text_appendf(w->script,
                    " at screen %.5f,%.5f center rotate by 90 noenhanced font ',%.4g' textcolor rgb '#%06x' front\n",
                    screen_x(w, x), screen_y(w, y), size, color);
}

void plot_write_label(PlotWriter *w, const char *text, double x, double y, PlotAlignment alignment, PlotFace face,
                      double size, uint32_t color) {
  core_text_appendf(w->script, "set label %d ", ++w->labels);
  append_quoted(w->script, text, face);
  core_text_appendf(w->script, " at screen %.5f,%.5f %s %s font ',%.4g' textcolor rgb '#%06x' front\n", screen_x(w, x),
                    screen_y(w, y), alignment == PLOT_LEFT ? "left" : "center",
                    face == PLOT_BOLD ? "enhanced" : "noenhanced", size, color);
}

int plot_point_type(AnalysisShape shape, bool hollow) {
  static const int filled[ANALYSIS_SHAPES] = {7, 5, 9, 13, 11};
  return filled[shape] - (hollow ? 1 : 0);
}

double plot_point_size(const PlotWriter *w, AnalysisMark mark) {
  static const double size[ANALYSIS_SHAPES] = {1, 0.92, 1.12, 1.18, 1.12}; /* equalizes the areas */
  return 0.64 * w->plot->style->point * size[mark.shape] * (mark.size > 0 ? mark.size : 1);
}

const char *plot_line_look(AnalysisLine line) {
  static const char *const looks[] = {
    [ANALYSIS_SOLID] = "lw 1.8 lc rgb '#",
    [ANALYSIS_DASHED] = "lw 1.8 dt (5,3) lc rgb '#",
    [ANALYSIS_DOTTED] = "lw 1.8 dt (2,3) lc rgb '#",
    [ANALYSIS_DASH_DOTTED] = "lw 1.8 dt (10,3,2,3) lc rgb '#",
    [ANALYSIS_FAINT] = "lw 0.7 lc rgb '#90",
    [ANALYSIS_THIN] = "lw 0.9 lc rgb '#",
  };
  return looks[line];
}

const char *plot_level_look(size_t level) {
  static const char *const looks[] = {"lw 0.8 dt (6,4) lc rgb '#", "lw 0.8 dt (2,3) lc rgb '#",
                                      "lw 0.8 dt (10,3,2,3) lc rgb '#", "lw 0.8 lc rgb '#"};
  return looks[level % (sizeof looks / sizeof *looks)];
}

/* Appends points with a translucent fill and a crisp edge. */
void plot_append_points(const PlotWriter *w, const char *block, AnalysisShape shape, bool hollow) {
  static const char look[] = "with points pt %d ps variable lw %s lc rgb variable notitle";
  CoreText *s = w->script;
  if (!hollow) {
    core_text_appendf(s, ", \\\n  %s using 1:2:($3 * dot):($4 + 0x50000000) ", block);
    core_text_appendf(s, look, plot_point_type(shape, false), "0.6");
  }
  core_text_appendf(s, ", \\\n  %s using 1:2:($3 * dot):4 ", block);
  core_text_appendf(s, look, plot_point_type(shape, true), hollow ? "0.9" : "0.6");
}

static void write_caption_line(void *context, const char *text) {
  PlotWriter *w = context;
  double y = w->layout.caption_top + ((double)w->line++ + 0.5) * w->layout.caption_row;
  plot_write_label(w, text, w->layout.font, y, PLOT_LEFT, PLOT_PLAIN, w->layout.small, w->plot->style->muted);
}

static void write_levels(PlotWriter *w, const PlotPanel *panel) {
  for (size_t i = 0; i < panel->level_count; i++)
    core_text_appendf(w->script,
                      "set arrow %d from graph 0, first %.10g to graph 1, first %.10g nohead %s%06x' back\n",
                      ++w->arrows, panel->levels[i].y, panel->levels[i].y, plot_level_look(panel->levels[i].label),
                      w->plot->style->muted);
}

static void write_boxes(const PlotWriter *w, const PlotPanel *panel) {
  for (size_t i = 0; i < panel->box_count; i++) {
    const PlotBox *box = &panel->boxes[i];
    core_text_appendf(
      w->script,
      "set object %zu rectangle from first %.10g, first %.10g to first %.10g, first %.10g fillcolor rgb "
      "'#%06x' fillstyle solid noborder back\n",
      i + 1, box->left, box->bottom, box->right, box->top, box->color);
  }
}

static void write_texts(PlotWriter *w, const PlotPanel *panel) {
  const AnalysisPlot *plot = w->plot;
  const bool cells = plot->x_names.count && plot->y_names.count;
  for (size_t i = 0; i < panel->text_count; i++) {
    const PlotText *text = &panel->texts[i];
    double size = w->layout.small, room = 0.9 * w->layout.panel_width / (double)(plot->x_names.count + !cells);
    if (cells) size *= fmin(1, room / plot_layout_text_width(text->text, size)); /* fits the text into the cell */
    core_text_appendf(w->script, "set label %d ", ++w->labels);
    append_quoted(w->script, text->text, PLOT_PLAIN);
    core_text_appendf(w->script,
                      " at first %.10g, first %.10g center noenhanced font ',%.4g' textcolor rgb '#%06x' front\n",
                      text->x, text->y, size, text->color);
  }
}

static void write_panel_plot(const PlotWriter *w, size_t panel) {
  const PlotPanel *p = &w->plot->panels[panel];
  CoreText *s = w->script;

  core_text_append(s, "plot NaN notitle");
  for (size_t c = 0; c < p->curve_count; c++) {
    if (!p->curves[c].band) continue;
    core_text_appendf(
      s, ", \\\n  $band_%zu_%zu using 1:2 with filledcurves closed fillstyle solid noborder lc rgb '#e0%06x' notitle",
      panel, c, p->curves[c].mark.color);
  }

  for (size_t c = 0; c < p->curve_count; c++) {
    core_text_appendf(s, ", \\\n  $curve_%zu_%zu using 1:2 with lines %s%06x' notitle", panel, c,
                      plot_line_look(p->curves[c].line), p->curves[c].mark.color);
  }

  if (p->whisker_count)
    core_text_appendf(s, ", \\\n  $whiskers_%zu using 1:2:3:4:5 with vectors nohead lw 1.1 lc rgb variable notitle",
                      panel);

  for (int k = 0; k < 2 * ANALYSIS_SHAPES; k++) {
    char block[48];
    const AnalysisShape shape = (AnalysisShape)(k / 2);
    const bool hollow = k % 2 == 0; /* below the filled ones */
    if (write_points(w, panel, shape, hollow, true) == 0) continue;
    snprintf(block, sizeof block, "$points_%zu_%d_%d", panel, (int)shape, (int)hollow);
    plot_append_points(w, block, shape, hollow);
  }

  core_text_append(s, "\n");
}

/* Writes the title of the y axis, left of the tick labels; smaller if it is longer than the axis. */
static void write_y_title(PlotWriter *w, const AnalysisAxis *axis, double left, double middle) {
  const PlotLayout *l = &w->layout;
  const double labels = plot_layout_tick_width(w->plot, axis, l->font);
  const double size = l->font * fmin(1, (l->panel_height + l->font) / plot_layout_text_width(axis->title, l->font));
  const double x = left - labels - (PLOT_TICK_ROOM + 0.85) * l->font;
  write_label_turned(w, axis->title, x, middle, size, w->plot->style->foreground);
}

/* Writes the panel's title and the texts under its x axis. */
static void write_panel_texts(PlotWriter *w, size_t panel, double left, double top) {
  const PlotPanel *p = &w->plot->panels[panel];
  const PlotLayout *l = &w->layout;
  const uint32_t color = w->plot->style->foreground;
  const char *axis = x_axis(w, p)->title;
  const double middle = left + l->panel_width / 2, below = top + l->panel_height + l->x_title;
  plot_write_label(w, w->titles[panel], left, top - 0.9 * l->font, PLOT_LEFT, PLOT_BOLD, w->title_font, color);
  plot_write_label(w, axis, middle, below, PLOT_CENTER, PLOT_PLAIN, plot_layout_note_font(l, axis, l->font), color);
  plot_write_label(w, p->note, middle, below + 1.4 * l->font, PLOT_CENTER, PLOT_PLAIN,
                   plot_layout_note_font(l, p->note, 0.9 * l->font), color);
}

static void write_panel(PlotWriter *w, size_t panel) {
  const AnalysisPlot *plot = w->plot;
  const PlotLayout *l = &w->layout;
  const PlotPanel *p = &plot->panels[panel];
  size_t column = panel % l->columns, row = panel / l->columns;
  double left = l->left + (double)column * (l->panel_width + l->gap);
  double top = (double)row * (l->above + l->panel_height + l->below) + l->above, bottom = top + l->panel_height;

  core_text_appendf(w->script,
                    "\nset lmargin at screen %.5f; set rmargin at screen %.5f; set tmargin at screen %.5f; "
                    "set bmargin at screen %.5f\n",
                    screen_x(w, left), screen_x(w, left + l->panel_width), screen_y(w, top), screen_y(w, bottom));

  int labels = w->labels, arrows = w->arrows;
  write_panel_texts(w, panel, left, top);
  write_levels(w, p);
  write_boxes(w, p);
  write_texts(w, p);

  const AnalysisAxis *y = y_axis(w, p);
  if (column == 0 || p->has_y) write_y_title(w, y, left, (top + bottom) / 2);
  write_axis(w, "x", x_axis(w, p), &plot->x_names, plot->panel_count > 2 ? 4 : 5, true);
  write_axis(w, "y", y, &plot->y_names, PLOT_TICKS_Y, column == 0 || p->has_y);
  write_panel_plot(w, panel);

  for (int i = labels + 1; i <= w->labels; i++) core_text_appendf(w->script, "unset label %d\n", i);
  for (int i = arrows + 1; i <= w->arrows; i++) core_text_appendf(w->script, "unset arrow %d\n", i);
  if (p->box_count) core_text_append(w->script, "unset object\n");
}

/* Makes titles of equal size, and truncates those that do not fit. */
static void make_titles(PlotWriter *w) {
  const AnalysisPlot *plot = w->plot;
  const PlotLayout *l = &w->layout;
  const char **titles = core_memory_allocate(plot->panel_count * sizeof *titles);
  for (size_t p = 0; p < plot->panel_count; p++) titles[p] = plot->panels[p].title;
  w->title_font = plot_layout_title_font(plot, l);
  w->titles = plot_layout_cut_apart(titles, plot->panel_count, PLOT_BOLD_ROOM * w->title_font,
                                    l->panel_width + (l->columns > 1 ? 0.8 : 0.3) * l->gap);
  free(titles);
}

static void finish_axes(AnalysisPlot *plot) {
  if (!plot->x_names.count) analysis_axis_finish(&plot->x);
  if (!plot->y_names.count) analysis_axis_finish(&plot->y);
  for (size_t p = 0; p < plot->panel_count; p++) {
    analysis_axis_finish(&plot->panels[p].x);
    analysis_axis_finish(&plot->panels[p].y);
  }
}

/* Writes the legend and the caption. */
static void write_page(PlotWriter *w) {
  plot_legend_write(w);
  for (size_t i = 0; i < w->plot->paragraph_count; i++)
    plot_layout_wrap(w->plot->paragraphs[i], w->layout.small, w->layout.wrap, write_caption_line, w);
  plot_legend_write_samples(w);
  for (; w->labels > 0; w->labels--) core_text_appendf(w->script, "unset label %d\n", w->labels);
}

void analysis_plot_script(AnalysisPlot *plot, const char *name, const char *header, CoreText *script) {
  if (plot->panel_count == 0) analysis_plot_panel(plot, "", "");

  finish_axes(plot);
  plot_legend_add_levels(plot);
  PlotWriter w = {.plot = plot, .layout = plot_layout_make(plot), .script = script};
  const AnalysisStyle *style = plot->style;

  make_titles(&w);
  append_comment(script, header);
  core_text_appendf(script, "# Draw again: gnuplot %s.gp\n\n", name);
  write_devices(&w, name);
  write_data(&w);

  core_text_append(script, "unset key\nset multiplot\n");
  write_page(&w);

  core_text_appendf(script,
                    "\nset border 3 lw 0.8 lc rgb '#%06x'\nset grid xtics ytics lw 0.6 lt 1 lc rgb '#%06x'\n"
                    "set grid nomxtics\n",
                    style->foreground, style->grid);

  if (plot->x_names.count) core_text_append(script, "set grid noxtics\n");
  if (plot->y_names.count) core_text_append(script, "set grid noytics\n");
  for (size_t panel = 0; panel < plot->panel_count; panel++) write_panel(&w, panel);
  core_text_append(script, "\nunset multiplot\nunset output\npass = pass + 1\n"
                   "if (!exists('alone') && (pass <= 2 || (pass == 3 && pdf))) reread\nundefine pass\n");

  plot_layout_cut_free(w.titles, plot->panel_count);
  plot_layout_free(&w.layout);
}
