/* A figure's gnuplot script (plot.h). All places are fractions of the canvas that plot_layout.c measured. The script
 * draws once a device (svg, png, pdf) by reading itself again: a loop in braces would make gnuplot count the braces
 * inside labels. */
#include "analysis/plot_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- the script ------------------------------------------------------------------------------------------------- */

typedef struct Writer {
  AnalysisPlot *plot;
  PlotLayout layout;
  CoreText *script;
  int labels, arrows;
  size_t line;
} Writer;

/* Canvas of a page of slides, in units of 1/96 inch. The bitmap of a longer one (hundreds of configurations in the
 * legend) has as many dots as a page and fewer an inch: drawing it would take longer than reading ten million rows. */
static const double page_area = 1280.0 * 800;

static void write_devices(const Writer *w, const char *name) {
  const AnalysisStyle *style = w->plot->style;
  const PlotLayout *l = &w->layout;
  const double scale = 300.0 / 96 * fmin(1, sqrt(page_area / (l->width * l->height))); /* 300 dots an inch */
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

/* Points of one shape and fill share a data block: x y colour. */
static size_t write_points(const Writer *w, size_t panel, AnalysisShape shape, bool hollow, bool dry) {
  const PlotPanel *p = &w->plot->panels[panel];
  size_t count = 0;
  for (size_t i = 0; i < p->point_count; i++) {
    const PlotPoint *point = &p->points[i];
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

static void write_pair(CoreText *script, double x, double y) {
  write_number(script, x);
  write_number(script, y);
  core_text_append(script, "\n");
}

/* Each stretch without a gap as one outline, along its lower edge and back along the upper one: as strips between two
 * lines (filledcurves x:low:high) gnuplot's cairo devices blend every strip over the whole canvas. A log axis' end
 * stands in for what it can not show. */
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

static void write_data(const Writer *w) {
  for (size_t panel = 0; panel < w->plot->panel_count; panel++) {
    const PlotPanel *p = &w->plot->panels[panel];
    for (int shape = 0; shape < 2 * ANALYSIS_SHAPES; shape++) {
      write_points(w, panel, (AnalysisShape)(shape / 2), shape % 2, false);
    }
    for (size_t c = 0; c < p->curve_count; c++) {
      const PlotCurve *curve = &p->curves[c];
      core_text_appendf(w->script, "$curve_%zu_%zu << EOD\n", panel, c);
      for (size_t i = 0; i < curve->n; i++) write_pair(w->script, curve->values[4 * i], curve->values[4 * i + 1]);
      core_text_append(w->script, "EOD\n");
      if (!curve->band) continue;
      core_text_appendf(w->script, "$band_%zu_%zu << EOD\n", panel, c);
      write_band(w->script, curve, p->has_y ? &p->y : &w->plot->y);
      core_text_append(w->script, "EOD\n");
    }
  }
}

/* Names come from users: they are quoted, and set without markup. */
static void append_categories(const PlotCategories *names, bool shown, CoreText *list) {
  for (size_t i = 0; i < names->count; i++) {
    if (i > 0) core_text_append(list, ", ");
    append_quoted(list, shown ? names->labels[i] : "", PLAIN);
    core_text_appendf(list, " %zu", i);
  }
}

static void append_chosen(const AnalysisPlot *plot, CoreText *list) {
  for (size_t i = 0; i < plot->x_tick_count; i++) {
    if (i > 0) core_text_append(list, ", ");
    append_quoted(list, plot->x_ticks[i].label, PLAIN);
    core_text_appendf(list, " %.12g", plot->x_ticks[i].at);
  }
}

static void write_axis(const Writer *w, const char *name, const AnalysisAxis *axis, const PlotCategories *names,
                       int ticks, bool numbered) {
  CoreText list = {0};
  bool chosen = *name == 'x' && w->plot->x_tick_count > 0;
  if (names->count) append_categories(names, numbered, &list);
  else if (chosen) append_chosen(w->plot, &list);
  else analysis_axis_ticks(axis, ticks, numbered, &list);
  core_text_appendf(w->script, "set %srange [%.10g:%.10g]\n%sset logscale %s\n", name, axis->low, axis->high,
                    axis->log ? "" : "un", name);
  core_text_appendf(w->script,
                    "set %stics out nomirror scale %s offset %s %s textcolor rgb '#%06x' font ',%.4g' (%s)\n", name,
                    names->count ? "0,0" : "0.6,0.35", *name == 'x' ? "0,0.35" : "0.5,0",
                    names->count || chosen ? "noenhanced" : "enhanced", w->plot->style->foreground,
                    0.9 * w->layout.font, core_text_string(&list));
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

static void write_legend_mark(Writer *w, const PlotEntry *entry, double x, double y) {
  const double line = 1.5 * w->layout.font;
  if (entry->line) {
    core_text_appendf(
        w->script, "set arrow %d from screen %.5f,%.5f to screen %.5f,%.5f nohead lw 1.8 %s lc rgb '#%06x' front\n",
        ++w->arrows, screen_x(w, x), screen_y(w, y), screen_x(w, x + line), screen_y(w, y),
        entry->dashed ? "dt (5,3)" : "", entry->mark.color);
    return;
  }
  core_text_appendf(w->script, "set label %d '' at screen %.5f,%.5f point pt %d ps %.3g lw 0.9 lc rgb '#%06x' front\n",
                    ++w->labels, screen_x(w, x + 0.7 * w->layout.font), screen_y(w, y),
                    point_type(entry->mark.shape, entry->hollow), 1.1 * point_size(w, entry->mark.shape),
                    entry->mark.color);
}

static void write_legend(Writer *w) {
  const PlotLayout *l = &w->layout;
  const AnalysisPlot *plot = w->plot;
  bool heads = plot_layout_legend_has_heads(plot);
  size_t used = plot_layout_legend_columns(plot, l->legend_rows);
  double left = used == 1 ? l->left : fmax(l->font, (l->width - (double)used * l->legend_column) / 2);
  size_t column = 0, row = 0;
  for (size_t i = 0; i < plot->entry_count; i++) {
    const PlotEntry *entry = &plot->entries[i];
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

static void write_levels(Writer *w, const PlotPanel *panel) {
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

static void write_boxes(const Writer *w, const PlotPanel *panel) {
  for (size_t i = 0; i < panel->box_count; i++) {
    const PlotBox *box = &panel->boxes[i];
    core_text_appendf(
      w->script,
      "set object %zu rectangle from first %.10g, first %.10g to first %.10g, first %.10g fillcolor rgb "
      "'#%06x' fillstyle solid noborder back\n",
      i + 1, box->left, box->bottom, box->right, box->top, box->color);
  }
}

static void write_texts(Writer *w, const PlotPanel *panel) {
  for (size_t i = 0; i < panel->text_count; i++) {
    const PlotText *text = &panel->texts[i];
    core_text_appendf(w->script, "set label %d ", ++w->labels);
    append_quoted(w->script, text->text, PLAIN);
    core_text_appendf(w->script,
                      " at first %.10g, first %.10g center noenhanced font ',%.4g' textcolor rgb '#%06x' front\n",
                      text->x, text->y, w->layout.small, text->color);
  }
}

static void write_plot_command(const Writer *w, size_t panel) {
  const PlotPanel *p = &w->plot->panels[panel];
  CoreText *s = w->script;
  static const char *const line_style[] = {"lw 1.8 lc rgb '#", "lw 1.2 dt (5,3) lc rgb '#", "lw 0.7 lc rgb '#90"};
  core_text_append(s, "plot NaN notitle");
  for (size_t c = 0; c < p->curve_count; c++) {
    if (!p->curves[c].band) continue;
    core_text_appendf(
      s, ", \\\n  $band_%zu_%zu using 1:2 with filledcurves closed fillstyle solid noborder lc rgb '#e0%06x' notitle",
      panel, c, p->curves[c].mark.color);
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
  write_label(w, p->title, left, top - 0.9 * l->font, ALIGN_LEFT, BOLD, plot_layout_title_font(l, p->title),
              plot->style->foreground);
  write_label(w, plot->x.title, left + l->panel_width / 2, bottom + 2.5 * l->font, ALIGN_CENTER, PLAIN, l->font,
              plot->style->foreground);
  write_label(w, p->note, left + l->panel_width / 2, bottom + 3.9 * l->font, ALIGN_CENTER, PLAIN, 0.9 * l->font,
              plot->style->foreground);
  write_levels(w, p);
  write_boxes(w, p);
  write_texts(w, p);
  const AnalysisAxis *y = p->has_y ? &p->y : &plot->y;
  if (column == 0 || p->has_y) {
    core_text_append(w->script, "set ylabel ");
    append_quoted(w->script, y->title, PLAIN);
    core_text_appendf(w->script, " noenhanced offset 1.2,0 font ',%.4g' textcolor rgb '#%06x'\n", l->font,
                      plot->style->foreground);
  } else {
    core_text_append(w->script, "unset ylabel\n");
  }
  write_axis(w, "y", y, &plot->y_names, 5, column == 0 || p->has_y);
  write_plot_command(w, panel);
  for (int i = labels + 1; i <= w->labels; i++) core_text_appendf(w->script, "unset label %d\n", i);
  for (int i = arrows + 1; i <= w->arrows; i++) core_text_appendf(w->script, "unset arrow %d\n", i);
  if (p->box_count) core_text_append(w->script, "unset object\n");
}

void analysis_plot_script(AnalysisPlot *plot, const char *name, const char *header, CoreText *script) {
  if (plot->panel_count == 0) analysis_plot_panel(plot, "", "");
  if (!plot->x_names.count) analysis_axis_finish(&plot->x);
  if (!plot->y_names.count) analysis_axis_finish(&plot->y);
  for (size_t p = 0; p < plot->panel_count; p++) analysis_axis_finish(&plot->panels[p].y);
  Writer w = {plot, plot_layout_make(plot), script, 0, 0, 0};
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
  if (plot->x_names.count) core_text_append(script, "set grid noxtics\n");
  if (plot->y_names.count) core_text_append(script, "set grid noytics\n");
  write_axis(&w, "x", &plot->x, &plot->x_names, plot->panel_count > 2 ? 4 : 5, true);
  write_legend(&w);
  for (size_t i = 0; i < plot->paragraph_count; i++)
    plot_layout_wrap(plot->paragraphs[i], w.layout.wrap, write_caption_line, &w);
  /* Legend and caption belong to the page: drawn once, with the first panel. */
  int page_labels = w.labels, page_arrows = w.arrows;
  for (size_t panel = 0; panel < plot->panel_count; panel++) {
    write_panel(&w, panel);
    for (int i = 1; panel == 0 && i <= page_labels; i++) core_text_appendf(script, "unset label %d\n", i);
    for (int i = 1; panel == 0 && i <= page_arrows; i++) core_text_appendf(script, "unset arrow %d\n", i);
  }
  core_text_append(script, "\nunset multiplot\nunset output\npass = pass + 1\n"
                   "if (!exists('alone') && (pass <= 2 || (pass == 3 && pdf))) reread\nundefine pass\n");
}
