/* `analyze table`: configurations as text, Markdown, LaTeX, CSV or JSON: runs, solve rates with intervals, DDR, speed.
 * No image; writes <name>.txt, .md, .tex or .csv. With --runs: runs instead of configurations (table_runs.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figure.h"
#include "analysis/figures/scored.h"
#include "analysis/plot/number_text.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "core/unicode.h"

enum { COLUMNS = 8 };

typedef enum Format { FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_LATEX, FORMAT_CSV, FORMATS } Format;
static const char *const format_names[] = {"text", "markdown", "latex", "csv"};
static const char *const endings[] = {"txt", "md", "tex", "csv"};

/* Row of a configuration; NaN: no value. */
typedef struct Row {
  size_t runs, unfinished, censored; /* censored: unfinished runs stopped by rule */
  AnalysisInterval final, best, iqm;
  double ddr, speed;
} Row;

typedef struct Table {
  AnalysisContext context;
  AnalysisRequest request;
  AnalysisScored scored;
  const char *group_keys, *format_name, *measures;
  bool lists_runs;             /* --runs */
  Format format;
  AnalysisGrouping groups;
  Row *rows;                   /* [group] */
  char *(*cells)[COLUMNS];     /* [group] formatted */
} Table;

static const char *const headers[COLUMNS] = {"configuration", "runs", "unfinished", "final [95 %]", "max [95 %]",
                                             "IQM of final [95 %]", "DDR", "transitions/s"};
static const char *const short_headers[COLUMNS] = {"", "runs", "unfinished", "final", "max", "IQM", "DDR",
                                                   "transitions/s"};

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

/* Computes the interval over the runs of a configuration, run[count]. */
static AnalysisInterval interval_of(const Table *t, AnalysisMeasure measure, AnalysisAggregate aggregate,
                                    const size_t *run, size_t count) {
  return analysis_scored_interval(&t->scored, measure, aggregate, run, count);
}

static void make_rows(Table *t) {
  AnalysisMembers members = analysis_grouping_members(&t->groups, t->context.selection.count);
  t->rows = core_memory_zero_allocate(t->groups.count + 1, sizeof *t->rows);

  for (size_t g = 0; g < t->groups.count; g++) {
    Row *row = &t->rows[g];
    const size_t *run = members.run + members.first[g];
    row->runs = members.first[g + 1] - members.first[g];

    for (size_t i = 0; i < row->runs; i++) {
      row->unfinished += !t->scored.runs[run[i]].ended;
      row->censored += t->scored.runs[run[i]].censored;
    }

    row->final = interval_of(t, ANALYSIS_MEASURE_final, ANALYSIS_AGGREGATE_MEAN, run, row->runs);
    row->best = interval_of(t, ANALYSIS_MEASURE_best, ANALYSIS_AGGREGATE_MEAN, run, row->runs);
    row->iqm = interval_of(t, ANALYSIS_MEASURE_final, ANALYSIS_AGGREGATE_IQM, run, row->runs);
    row->ddr = interval_of(t, ANALYSIS_MEASURE_ddr, ANALYSIS_AGGREGATE_MEAN, run, row->runs).center;
    row->speed = interval_of(t, ANALYSIS_MEASURE_speed, ANALYSIS_AGGREGATE_MEAN, run, row->runs).center;
  }

  analysis_members_free(&members);
}

/* ---- cells ------------------------------------------------------------------------------------------------------ */

static char *interval_cell(AnalysisInterval interval) {
  char text[64];
  analysis_format_interval(interval, text, sizeof text);
  return core_text_duplicate(text);
}

static char *count_cell(double value) {
  char text[32];
  return core_text_duplicate(isfinite(value) ? core_text_count(value, text) : "-");
}

static void make_cells(Table *t) {
  t->cells = core_memory_zero_allocate(t->groups.count + 1, sizeof *t->cells);
  for (size_t g = 0; g < t->groups.count; g++) {
    const Row *row = &t->rows[g];
    char number[32], **cell = t->cells[g];

    cell[0] = core_text_duplicate(t->groups.groups[g].label);
    snprintf(number, sizeof number, "%zu", row->runs);
    cell[1] = core_text_duplicate(number);

    snprintf(number, sizeof number, row->censored ? "%zu (%zu by rule)" : "%zu", row->unfinished, row->censored);
    cell[2] = core_text_duplicate(row->unfinished ? number : "");

    cell[3] = interval_cell(row->final);
    cell[4] = interval_cell(row->best);
    cell[5] = interval_cell(row->iqm);
    cell[6] = count_cell(row->ddr);
    cell[7] = count_cell(row->speed);
  }
}

static void append_interval(CoreText *csv, AnalysisInterval interval) {
  analysis_csv_value(csv, interval.center);
  analysis_csv_value(csv, interval.low);
  analysis_csv_value(csv, interval.high);
}

/* Writes one row per configuration with unrounded values, which --json prints, too. */
static void make_csv(const Table *t, CoreText *csv) {
  core_text_append(csv, "configuration");
  analysis_csv_keys(csv, &t->groups);
  core_text_append(csv, ",runs,unfinished,censored,final,final_low,final_high,max,max_low,max_high,iqm,iqm_low,"
                        "iqm_high,ddr,steps_per_second\n");

  for (size_t g = 0; g < t->groups.count; g++) {
    const Row *row = &t->rows[g];

    analysis_csv_field(csv, t->groups.groups[g].label);
    analysis_csv_key_values(csv, &t->groups, t->groups.groups[g].config);
    core_text_appendf(csv, ",%zu,%zu,%zu", row->runs, row->unfinished, row->censored);

    append_interval(csv, row->final);
    append_interval(csv, row->best);
    append_interval(csv, row->iqm);
    analysis_csv_value(csv, row->ddr);
    analysis_csv_value(csv, row->speed);

    core_text_append(csv, "\n");
  }
}

/* ---- formats ---------------------------------------------------------------------------------------------------- */

/* Appends a label; labels contain users' text, whose markup is escaped. */
static void append_markdown(CoreText *out, const char *text) {
  for (const char *c = text; *c; c++) {
    if (strchr("\\`*_{}[]<>()#+-!|~&$", *c) &&
        !(*c == '-' || *c == '[' || *c == ']' || *c == '(' || *c == ')' || *c == '+'))
      core_text_append(out, "\\");
    core_text_append_bytes(out, (unsigned char)*c < 0x20 ? " " : c, 1);
  }
}

static void append_latex(CoreText *out, const char *text) {
  for (const char *c = text; *c; c++) {
    if (*c == '\\') core_text_append(out, "\\textbackslash{}");
    else if (*c == '~') core_text_append(out, "\\textasciitilde{}");
    else if (*c == '^') core_text_append(out, "\\textasciicircum{}");
    else if (strchr("&%$#_{}", *c)) core_text_appendf(out, "\\%c", *c);
    else core_text_append_bytes(out, (unsigned char)*c < 0x20 ? " " : c, 1);
  }
}

static void append_row(const Table *t, const char *const *cells, CoreText *out) {
  bool latex = t->format == FORMAT_LATEX;
  for (size_t c = 0; c < COLUMNS; c++) {
    core_text_append(out, latex ? (c ? " & " : "") : "| ");
    if (latex) append_latex(out, cells[c]);
    else append_markdown(out, cells[c]);
    if (!latex) core_text_append(out, " ");
  }
  core_text_append(out, latex ? " \\\\\n" : "|\n");
}

static void append_table(const Table *t, CoreText *out) {
  bool latex = t->format == FORMAT_LATEX;
  if (t->format == FORMAT_CSV) {
    make_csv(t, out);
    return;
  }
  if (latex) core_text_append(out, "\\begin{tabular}{lrrllllr}\n\\hline\n");
  append_row(t, headers, out);
  core_text_append(out, latex ? "\\hline\n" : "|---|---:|---:|---|---|---|---:|---:|\n");
  for (size_t g = 0; g < t->groups.count; g++) append_row(t, (const char *const *)t->cells[g], out);
  if (latex) core_text_append(out, "\\hline\n\\end{tabular}\n");
}

/* Appends the provenance as comments of the format, then the table. */
static void append_document(const Table *t, const char *source, CoreText *out) {
  const char *before = t->format == FORMAT_LATEX ? "% " : t->format == FORMAT_MARKDOWN ? "" : "# ";

  if (t->format == FORMAT_MARKDOWN) core_text_append(out, "<!--\n");
  for (const char *line = source; *line;) {
    size_t length = strcspn(line, "\n");
    core_text_append(out, before);
    for (size_t i = 0; i < length; i++) /* "-->" would end the comment */
      core_text_append_bytes(out, line[i] == '>' && t->format == FORMAT_MARKDOWN ? "?" : line + i, 1);
    core_text_append(out, "\n");
    line += length + (line[length] == '\n');
  }
  if (t->format == FORMAT_MARKDOWN) core_text_append(out, "-->\n\n");

  if (t->format != FORMAT_TEXT) {
    append_table(t, out);
    return;
  }

  for (size_t g = 0; g <= t->groups.count; g++) /* tabs, for awk and spreadsheets */
    for (size_t c = 0; c < COLUMNS; c++)
      core_text_appendf(out, "%s%s", g ? t->cells[g - 1][c] : headers[c], c + 1 < COLUMNS ? "\t" : "\n");
}

static int write_file(const Table *t) {
  char path[CORE_PATH_MAX];
  CoreText source = {0}, document = {0};
  TRY(core_files_make_directories(t->context.directory));
  TRY(core_files_path(path, "%s/%s.%s", t->context.directory, t->context.name, endings[t->format]));
  analysis_describe_source(&t->context, analysis_scored_query, analysis_interval_description, &source);
  append_document(t, core_text_string(&source), &document);
  int code = core_files_write_atomic(path, document.data, document.length);
  core_text_free(&source);
  core_text_free(&document);
  if (code == CORE_OK && t->format == FORMAT_TEXT && !t->request.json) core_unicode_print(stdout, "%s\n", path);
  return code;
}

/* ---- a terminal that is too narrow for the table ---------------------------------------------------------------- */

static int table_width(const Table *t) {
  int width = 2 * (COLUMNS - 1);
  for (size_t c = 0; c < COLUMNS; c++) {
    int widest = core_terminal_columns(headers[c]);
    for (size_t g = 0; g < t->groups.count; g++) {
      const int here = core_terminal_columns(t->cells[g][c]);
      if (here > widest) widest = here;
    }
    width += widest;
  }
  return width;
}

/* Whether the table is too wide for the terminal; a pipe has no limit unless COLUMNS is set. */
static bool is_too_wide(const Table *t) {
  return (core_terminal_is_tty(stdout) || getenv("COLUMNS")) && table_width(t) > core_terminal_width(stdout);
}

typedef struct Key { const CoreConfigRow *row; size_t index, values; } Key;

static int by_values(const void *left, const void *right) {
  const Key *a = left, *b = right;
  if (a->values != b->values) return a->values > b->values ? -1 : 1;
  return (a->row > b->row) - (a->row < b->row);
}

/* Sorts the keys of the configurations by their number of values, the largest first; [key_count]. */
static Key *sorted_keys(const AnalysisGrouping *groups) {
  Key *keys = core_memory_allocate((groups->key_count + 1) * sizeof *keys);
  for (size_t k = 0; k < groups->key_count; k++) {
    keys[k] = (Key){groups->keys[k], k, 0};
    for (size_t g = 0; g < groups->count; g++) {
      bool known = false;
      for (size_t e = 0; e < g && !known; e++)
        known = analysis_config_value_equals(groups->groups[e].config, groups->groups[g].config, keys[k].row);
      keys[k].values += !known;
    }
  }
  qsort(keys, groups->key_count, sizeof *keys, by_values);
  return keys;
}

/* Appends "com 16, eps 0.2": the keys with several values, or those with one. */
static void append_values(const AnalysisGrouping *groups, const Key *keys, const AnalysisConfig *config, bool several,
                          CoreText *text) {
  CoreText value = {0};
  for (size_t k = 0; k < groups->key_count; k++) {
    if ((keys[k].values > 1) != several || !analysis_key_applies(config, keys[k].row) ||
        analysis_key_is_shadowed(config, groups->keys, groups->key_count, keys[k].index))
      continue;
    core_text_appendf(text, "%s%s %s", text->length ? ", " : "", analysis_key_name(keys[k].row),
                      analysis_key_value(config, keys[k].row, &value));
  }
  core_text_free(&value);
}

/* Prints what differs, the most distinctive key first, with the numbers below; common values are printed once. */
static void print_narrow(const Table *t) {
  const AnalysisGrouping *groups = &t->groups;
  Key *keys = sorted_keys(groups);
  CoreText text = {0};

  append_values(groups, keys, groups->groups[0].config, false, &text);
  if (text.length) printf("all:");
  if (text.length) core_terminal_print_wrapped(stdout, core_text_string(&text), 5, 4);

  for (size_t g = 0; g < groups->count; g++) {
    core_text_clear(&text);
    append_values(groups, keys, groups->groups[g].config, true, &text);
    core_terminal_print_wrapped(stdout, text.length ? core_text_string(&text) : t->cells[g][0], 0, 0);

    core_text_clear(&text);
    for (size_t c = 1; c < COLUMNS; c++)
      if (*t->cells[g][c])
        core_text_appendf(&text, "%s%s %s", text.length ? ", " : "", short_headers[c], t->cells[g][c]);
    core_terminal_print_wrapped(stdout, core_text_string(&text), 4, 0);
  }

  core_text_free(&text);
  free(keys);
}

static void print_table(const Table *t) {
  CoreText text = {0};
  if (t->request.json) {
    make_csv(t, &text);
    analysis_csv_print_json(core_text_string(&text));
    core_text_free(&text);
    return;
  }

  if (t->format != FORMAT_TEXT) { /* prints nothing else, so that it can be piped into a document */
    append_table(t, &text);
    printf("%s", core_text_string(&text));
    core_text_free(&text);
    return;
  }

  if (is_too_wide(t)) print_narrow(t);
  else {
    CoreTable *table = core_table_create(headers, COLUMNS);
    for (size_t g = 0; g < t->groups.count; g++)
      for (size_t c = 0; c < COLUMNS; c++) core_table_cell(table, "%s", t->cells[g][c]);
    core_table_print(table, stdout);
    core_table_destroy(&table);
  }

  analysis_describe_runs(&t->context, &text);
  core_text_append(&text, ".");

  AnalysisInterval *intervals = core_memory_allocate((t->groups.count + 1) * sizeof *intervals);
  for (size_t g = 0; g < t->groups.count; g++) intervals[g] = t->rows[g].final;
  analysis_describe_missing(intervals, t->groups.count, &text);
  free(intervals);
  analysis_scored_describe(&t->scored, &text);

  printf("\n");
  core_terminal_print_wrapped(stdout, core_text_string(&text), 0, 0);
  core_text_free(&text);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

/* Finds the format by --format, or else by the ending of a file given as -o. */
static int find_format(Table *t) {
  const char *output = t->request.directory;
  const char *ending = *t->context.stem ? strrchr(output, '.') + 1 : NULL;
  Format of_file = FORMAT_TEXT;
  while (ending && of_file < FORMATS && strcmp(ending, endings[of_file]) != 0) of_file++;
  if (of_file == FORMATS)
    return core_error(CORE_USAGE, "-o %s: a table is no .%s; expected .txt, .md, .tex or .csv", output, ending);
  t->format = t->format_name ? FORMAT_TEXT : of_file;
  while (t->format_name && t->format < FORMATS && strcmp(t->format_name, format_names[t->format]) != 0) t->format++;
  if (t->format == FORMATS)
    return core_error(CORE_USAGE, "--format %s: expected text, markdown, latex or csv", t->format_name);
  if (!ending || t->format == of_file) return CORE_OK;
  return core_error(CORE_USAGE, "-o %s: --format %s writes .%s", output, t->format_name, endings[t->format]);
}

/* Prints the measures of each run; writes no file. */
static int print_runs(const Table *t, const char *path) {
  const char *const format = t->format_name ? t->format_name : "text";
  const bool is_csv = strcmp(format, "csv") == 0;
  if (t->group_keys) return core_error(CORE_USAGE, "--runs and --group exclude each other");
  if (t->request.directory || t->request.name)
    return core_error(CORE_USAGE, "--runs writes no file; redirect its output instead of --output or --name");
  if (!is_csv && strcmp(format, "text") != 0)
    return core_error(CORE_USAGE, "--format %s: with --runs, expected text or csv", format);
  if (is_csv && t->request.json) return core_error(CORE_USAGE, "--json and --format csv exclude each other");
  return analysis_table_runs_print(path, &t->request, t->measures ? t->measures : "final", t->scored.budget, is_csv);
}

static int answer(void *figure, const char **operands, size_t count) {
  Table *t = figure;
  if (t->lists_runs) return print_runs(t, analysis_database_path(operands, count));
  if (t->measures) return core_error(CORE_USAGE, "--measure requires --runs");

  TRY(analysis_context_open(&t->context, &t->request, analysis_database_path(operands, count)));
  TRY(find_format(t));
  TRY(analysis_scored_check(&t->scored));
  TRY(analysis_group_runs(&t->context.selection, t->group_keys, &t->groups));
  TRY(analysis_scored_read(&t->scored, &t->context));
  TRY(analysis_scored_refuse_mixed(&t->scored, &t->context, (const AnalysisGrouping *const[]){&t->groups}, 1));
  make_rows(t);
  make_cells(t);
  print_table(t);
  fflush(stdout);
  return write_file(t);
}

static const CoreManual manual = {
  .usage = "analyze table [results.db] [--format text|markdown|latex|csv] [--group KEYS | --runs] [OPTIONS]",
  .about = "The configurations in numbers: runs and those that have not ended, final and largest solve rate and the "
           "interquartile mean of the final one with 95 % intervals, DDR (geometric mean) and speed. Markdown, LaTeX "
           "and CSV are printed bare, ready for a document, --json as unrounded numbers; the file in the figures' "
           "folder (table.txt, .md, .tex or .csv) carries its source as comments.\n\n"
           "With --runs: one row per run and one column per --measure, on the training levels unless --level-set names "
           "others. The measures:\n\n"
#define X(name, words, range) "  " #name ": " words "\n"
#include "core/config/measures.def"
#undef X
           "\nFurther measures are the columns of `analyze curves --y` and the metrics of programs, by name: the mean "
           "over the last quarter of the run. Empty, or \"-\": not measured. Only claims have score_at_time.",
  ANALYSIS_ONE_DATABASE};

int analysis_figure_table(int argc, char **argv) {
  Table t = {.request = {.argc = argc, .argv = argv}};

  const CoreOption table[] = {
    {"format", 'f', CORE_OPTION_TEXT, &t.format_name, "FORMAT",
     "text, markdown, latex or csv (default: by the ending of -o FILE, or text)"},
    {"group", 'g', CORE_OPTION_TEXT, &t.group_keys, "KEY[,KEY]",
     "one row for each value of these settings (default: all that vary)"},
    {"runs", 0, CORE_OPTION_FLAG, &t.lists_runs, NULL, "one row per run: text, CSV or JSON on standard output"},
    {"measure", 'm', CORE_OPTION_TEXT, &t.measures, "NAME[,NAME]", "with --runs: its columns (default: final)"},
    {"budget", 'b', CORE_OPTION_REAL, &t.scored.budget, "N",
     "use only the first N transitions (default: all)"},
    ANALYSIS_REQUEST_OPTIONS(t.request),
    {0}};

  int code = core_options_run(&manual, table, argc, argv, answer, &t);
  if (t.cells) {
    for (size_t g = 0; g < t.groups.count; g++)
      for (size_t c = 0; c < COLUMNS; c++) free(t.cells[g][c]);
  }
  free(t.cells);
  free(t.rows);

  analysis_scored_free(&t.scored);
  analysis_grouping_free(&t.groups);
  analysis_context_close(&t.context);
  return code;
}
