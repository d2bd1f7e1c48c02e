/* Prints docs/papers.md: each figure of the papers with its environment and budget in the paper and here, shared
 * assumptions, and its claims. Reads papers.def, claims.def, limits.def and the experiment files alone
 * (`make docs`); run it in the repository's root. Exits with 1 if one of them names something that another lacks. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/tests.h"
#include "analysis/figures/papers.h"
#include "core/memory.h"
#include "core/text.h"
#include "sweep/plan/plan.h"
#include "sweep/plan/speed.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/resources.h"

enum { WIDTH = 118, LISTED = 5, PAIRS = 9, SHARED = 3 };

static int faults;

static void fault(const char *what, const char *name) {
  fprintf(stderr, "papers_page: %s: %s\n", what, name);
  faults++;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* Prints text in lines of at most WIDTH columns; the continuation lines of a list item are indented by two blanks. */
static void print_wrapped(const char *text) {
  const char *indent = strncmp(text, "- ", 2) == 0 ? "  " : "";
  size_t column = 0;
  for (const char *word = text; *word; word += strspn(word, " ")) {
    const size_t length = strcspn(word, " ");
    size_t columns = 0;
    for (size_t i = 0; i < length; i++) columns += ((unsigned char)word[i] & 0xc0) != 0x80;
    if (column > 0 && column + 1 + columns > WIDTH) {
      printf("\n%s", indent);
      column = strlen(indent);
    } else if (column > 0) {
      putchar(' ');
      column++;
    }
    printf("%.*s", (int)length, word);
    column += columns;
    word += length;
  }
  putchar('\n');
}

/* An ordered set of texts. */
typedef struct Values { char **text; size_t count; } Values;

static void values_add(Values *values, const char *text) {
  for (size_t i = 0; i < values->count; i++)
    if (strcmp(values->text[i], text) == 0) return;
  values->text = core_memory_resize(values->text, (values->count + 1) * sizeof *values->text);
  values->text[values->count++] = core_text_duplicate(text);
}

/* Appends the values as a list; more than `most` as their count, the first and the last. */
static void values_print(const Values *values, size_t most, CoreText *text) {
  if (values->count > most) {
    core_text_appendf(text, "%zu: %s ... %s", values->count, values->text[0], values->text[values->count - 1]);
    return;
  }
  for (size_t i = 0; i < values->count; i++) core_text_appendf(text, "%s%s", i ? ", " : "", values->text[i]);
}

static void values_free(Values *values) {
  for (size_t i = 0; i < values->count; i++) free(values->text[i]);
  free(values->text);
}

static int by_number(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* A set of numbers in ascending order. */
typedef struct Numbers { double *value; size_t count; } Numbers;

static void numbers_add(Numbers *numbers, double value) {
  for (size_t i = 0; i < numbers->count; i++)
    if (numbers->value[i] == value) return;
  numbers->value = core_memory_resize(numbers->value, (numbers->count + 1) * sizeof *numbers->value);
  numbers->value[numbers->count++] = value;
  qsort(numbers->value, numbers->count, sizeof *numbers->value, by_number);
}

/* Appends a number as experiments write it: small ones in full, large ones as 3e9, 1.501e9. */
static void number_print(double value, CoreText *text) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "%.9e", value);
  char *exponent = strchr(buffer, 'e'), *end = exponent;
  while (end[-1] == '0' || end[-1] == '.') {
    if (*--end == '.') break;
  }
  if (value < 1e5 || end - buffer > 6) core_text_appendf(text, "%.0f", value);
  else core_text_appendf(text, "%.*se%d", (int)(end - buffer), buffer, atoi(exponent + 1));
}

static void numbers_print(const Numbers *numbers, CoreText *text) {
  for (size_t i = 0; i < numbers->count; i++) {
    if (numbers->count > LISTED && i > 0 && i + 1 < numbers->count) continue;
    core_text_append(text, i == 0 ? "" : numbers->count > LISTED ? " to " : ", ");
    number_print(numbers->value[i], text);
  }
}

/* ---- our runs ---------------------------------------------------------------------------------------------------- */

static void add_task(const CoreConfig *config, Values *tasks) {
  const CoreConfig usual = core_config_default();
  CoreText text = {0};
  char *levels = core_text_duplicate(config->env.levels), *save = NULL;
  if (core_config_has_no_envs(config)) {
    values_add(tasks, "noisy parabola");
  } else if (strcmp(config->env.task, "levels") == 0) {
    for (char *level = strtok_r(levels, "+", &save); level; level = strtok_r(NULL, "+", &save))
      values_add(tasks, level);
  } else {
    core_text_append(&text, config->env.task);
    if (strcmp(config->env.morphologies, usual.env.morphologies) != 0)
      core_text_appendf(&text, " %s", config->env.morphologies);
    if (strcmp(config->env.difficulty, usual.env.difficulty) != 0)
      core_text_appendf(&text, " (difficulty %s)", config->env.difficulty);
    values_add(tasks, core_text_string(&text));
  }
  free(levels);
  core_text_free(&text);
}

/* Appends the table's cell of the runs that the experiment file makes without a profile. */
static void append_ours(const char *path, CoreText *text) {
  SweepSpec spec;
  SweepGrid grid;
  Values tasks = {0}, shapes = {0};
  char shape[64];
  Numbers environments = {0}, steps = {0}, transitions = {0};
  if (sweep_spec_read(path, NULL, NULL, 0, &spec) != CORE_OK) {
    fault(core_error_message(), path);
    return;
  }
  if (sweep_grid_expand(&spec, &grid) != CORE_OK) {
    fault(core_error_message(), path);
    sweep_spec_free(&spec);
    return;
  }
  for (size_t r = 0; r < grid.runs; r++) {
    CoreConfig config, resolved;
    sweep_grid_config(&grid, r, &config);
    if (core_config_is_scaled(&config) && core_config_resolve(&config, &resolved) == CORE_OK) config = resolved;
    add_task(&config, &tasks);
    numbers_add(&transitions, (double)config.train.total_steps);
    if (core_config_has_no_envs(&config)) continue;
    numbers_add(&environments, (double)config.env.num);
    numbers_add(&steps, (double)config.ppo.num_steps);
    snprintf(shape, sizeof shape, "%d × %d", (int)config.env.num, (int)config.ppo.num_steps);
    values_add(&shapes, shape);
  }
  values_print(&tasks, LISTED, text);
  core_text_append(text, "; ");
  if (shapes.count == environments.count * steps.count && shapes.count > 0) { /* full product */
    numbers_print(&environments, text);
    core_text_append(text, " × ");
    numbers_print(&steps, text);
  } else {
    values_print(&shapes, PAIRS, text);
  }
  if (shapes.count) core_text_append(text, "; ");
  numbers_print(&transitions, text);
  core_text_appendf(text, "; %zu runs, %zu seeds", grid.runs, spec.seed_count);
  values_free(&tasks);
  values_free(&shapes);
  free(environments.value);
  free(steps.value);
  free(transitions.value);
  sweep_grid_free(&grid);
  sweep_spec_free(&spec);
}

/* Returns the first figure that is drawn from this experiment; its block has the table of the runs. */
static const AnalysisPaper *first_of(const char *experiment) {
  const AnalysisPaper *figure = analysis_papers;
  while (strcmp(figure->experiment, experiment) != 0) figure++;
  return figure;
}

/* ---- costs ------------------------------------------------------------------------------------------------------- */

typedef struct Cost { double runs, transitions, gpu_hours, cpu_hours, bytes; } Cost;

static void add_run_cost(const CoreConfig *config, const SlurmSettings *settings, Cost *cost) {
  const SweepWork work = {.left = sweep_plan_transitions(config)};
  SweepSpeed speed;
  const SweepCost run = sweep_speeds_cost(NULL, config, settings, &work, &speed);
  const double hours = sweep_cost_seconds(&run) / 3600;
  cost->runs++;
  cost->transitions += work.left;
  if (settings->gpus_per_run > 0) cost->gpu_hours += hours * settings->gpus_per_run;
  else cost->cpu_hours += hours * (double)(settings->ranks_per_run * settings->cpus_per_run);
  cost->bytes += run.disk_bytes;
}

/* Adds the cost of an experiment to *cost, and that of runs that no earlier one has to *sum. With a profile, runs have
 * one processor each. */
static void add_cost(const char *path, const char *profile, SweepIdSet *seen, Cost *cost, Cost *sum) {
  const SlurmSettings laptop = slurm_settings_default();
  SweepSpec spec;
  SweepGrid grid;
  SweepResources resources;
  if (sweep_spec_read(path, profile, NULL, 0, &spec) != CORE_OK) {
    fault(core_error_message(), path);
    return;
  }
  if (sweep_grid_expand(&spec, &grid) != CORE_OK || sweep_resources_make(&grid, &resources) != CORE_OK) {
    fault(core_error_message(), path);
    exit(1);
  }
  for (size_t run = 0; run < grid.runs; run++) {
    CoreConfig config;
    sweep_grid_config(&grid, run, &config);
    const SlurmSettings *own = &resources.sets[sweep_resources_of_run(&resources, &grid, run)];
    add_run_cost(&config, profile ? &laptop : own, cost);
    if (sweep_id_set_add(seen, grid.ids[run], NULL)) add_run_cost(&config, profile ? &laptop : own, sum);
  }
  sweep_resources_free(&resources);
  sweep_grid_free(&grid);
  sweep_spec_free(&spec);
}

/* Experiments at full size and with two profiles; a row of the tables shows the first SHOWN. */
enum { PROFILES = 3, SHOWN = 2 };
static const char *const profiles[PROFILES] = {NULL, "laptop", "demo"};

/* Appends "21 GPU-h". */
static void append_time(const Cost *cost, CoreText *text) {
  char buffer[32];
  if (cost->gpu_hours > 0) core_text_appendf(text, "%s GPU-h", core_text_count(cost->gpu_hours, buffer));
  if (cost->gpu_hours > 0 && cost->cpu_hours >= 0.05) core_text_append(text, ", ");
  if (cost->gpu_hours == 0 && cost->cpu_hours < 0.05) core_text_append(text, "< 0.1 h");
  else if (cost->cpu_hours >= 0.05 && cost->cpu_hours < 10) core_text_appendf(text, "%.1f h", cost->cpu_hours);
  else if (cost->cpu_hours >= 10) core_text_appendf(text, "%s h", core_text_count(cost->cpu_hours, buffer));
}

/* Appends " 60 G; 824 MB; 21 GPU-h | 12 runs, 1.0 h |": an experiment's cost at each shown size. */
static void append_costs(const char *experiment, CoreText *text) {
  for (int i = 0; i < SHOWN; i++) {
    Cost cost = {0}, sum = {0};
    SweepIdSet seen = {0};
    char buffer[32];
    add_cost(experiment, profiles[i], &seen, &cost, &sum);
    if (i > 0) {
      core_text_appendf(text, " %.0f runs, ", cost.runs);
    } else {
      core_text_appendf(text, " %s; ", core_text_count(cost.transitions, buffer));
      core_text_appendf(text, "%sB; ", core_text_count(cost.bytes, buffer));
    }
    append_time(&cost, text);
    core_text_append(text, " |");
    sweep_id_set_free(&seen);
  }
}

/* Prints the table of what all experiments cost together; runs that several share count once. */
static void print_totals(void) {
  CoreText text = {0};
  for (int i = 0; i < PROFILES; i++) {
    SweepIdSet seen = {0};
    Cost sum = {0};
    char buffer[32];
    for (const AnalysisPaper *figure = analysis_papers; figure->name; figure++) {
      Cost cost = {0};
      if (first_of(figure->experiment) == figure) add_cost(figure->experiment, profiles[i], &seen, &cost, &sum);
    }
    core_text_clear(&text);
    core_text_appendf(&text, "| %s | %.0f | ", i > 0 ? profiles[i] : "full", sum.runs);
    core_text_appendf(&text, "%s | ", core_text_count(sum.transitions, buffer));
    core_text_appendf(&text, "%sB | ", core_text_count(sum.bytes, buffer));
    append_time(&sum, &text);
    printf("%s |\n", text.data);
    sweep_id_set_free(&seen);
  }
  core_text_free(&text);
}

/* ---- assumptions ------------------------------------------------------------------------------------------------- */

static char *trim(char *text) {
  text += strspn(text, " \t");
  size_t length = strlen(text);
  while (length > 0 && isspace((unsigned char)text[length - 1])) text[--length] = '\0';
  return text;
}

/* Adds the assumption of a line whose comment has "(p)": "`setting = value`" or "all of `[block]`", and the comment.
 * The first of several lines with the same setting and value counts. */
static void add_assumption(const char *section, char *line, Values *assumptions) {
  char *comment = strchr(line, ';');
  if (!comment || !strstr(comment, "(p)")) return;
  *comment++ = '\0';
  char *words = trim(comment), *what = trim(line), *equals = strchr(what, '=');
  bool last = false;
  if (strncmp(words, "(p)", 3) == 0) {
    words = trim(words + 3);
  } else if (strlen(words) > 3 && strcmp(words + strlen(words) - 3, "(p)") == 0) {
    last = true;
    words[strlen(words) - 3] = '\0';
    words = trim(words);
  }
  CoreText text = {0};
  if (*what == '[') {
    core_text_appendf(&text, "all of `%s`", what);
  } else if (equals) {
    *equals = '\0';
    const bool full = strchr(what, '.') != NULL;
    core_text_appendf(&text, "`%s%s%s = %s`", full ? "" : section, full ? "" : ".", trim(what), trim(equals + 1));
  }
  bool is_new = text.length > 0;
  for (size_t i = 0; i < assumptions->count && is_new; i++)
    is_new = strncmp(assumptions->text[i], text.data, text.length) != 0;
  if (is_new) {
    /* "8 is the paper's; the others (p)": the part that is assumed must stay. */
    if (*words) core_text_appendf(&text, " (%s%s)", words, last && strchr(words, ';') ? " assumed" : "");
    values_add(assumptions, text.data);
  }
  core_text_free(&text);
}

/* Collects every value of the file, except those of profiles, whose comment has "(p)". */
static void read_assumptions(const char *path, Values *assumptions) {
  char line[1024], section[128] = "";
  FILE *file = fopen(path, "r");
  if (!file) {
    fault("cannot be read", path);
    return;
  }
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "[profile", 8) == 0) break;
    if (line[0] == '[') snprintf(section, sizeof section, "%.*s", (int)strcspn(line + 1, "] "), line + 1);
    if (line[0] != ';') add_assumption(section, line, assumptions);
  }
  fclose(file);
}

static bool is_of(const char *title, const char *paper) { return strncmp(title, paper, strlen(paper)) == 0; }

/* Returns the "1a" of "P000 Fig. 1a". */
static const char *number_of(const char *title) {
  const char *last = strrchr(title, ' ');
  return last ? last + 1 : title;
}

/* Returns the number of the paper's experiments with this assumption, and appends their figures. */
static size_t count_sharing(const char *paper, const char *assumption, CoreText *figures) {
  size_t count = 0;
  for (const AnalysisPaper *figure = analysis_papers; figure->name; figure++) {
    if (!is_of(figure->title, paper) || first_of(figure->experiment) != figure) continue;
    Values own = {0};
    read_assumptions(figure->experiment, &own);
    for (size_t i = 0; i < own.count; i++) {
      if (strcmp(own.text[i], assumption) != 0) continue;
      core_text_appendf(figures, "%s%s", count ? ", " : "", number_of(figure->title));
      count++;
    }
    values_free(&own);
  }
  return count;
}

/* Prints the assumptions that at least SHARED of the paper's experiments have in common, with their figures. */
static void print_shared(const char *paper) {
  Values all = {0};
  bool is_first = true;
  for (const AnalysisPaper *figure = analysis_papers; figure->name; figure++)
    if (is_of(figure->title, paper)) read_assumptions(figure->experiment, &all);
  for (size_t i = 0; i < all.count; i++) {
    CoreText figures = {0}, text = {0};
    if (count_sharing(paper, all.text[i], &figures) >= SHARED) {
      if (is_first) printf("\nShared assumptions (p), with the figures whose runs have them:\n\n");
      is_first = false;
      core_text_appendf(&text, "- %s: %s", all.text[i], core_text_string(&figures));
      print_wrapped(text.data);
    }
    core_text_free(&figures);
    core_text_free(&text);
  }
  values_free(&all);
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

/* Whether a claim's list "5a, 12, App. B" names figure "12a". A number without a letter names all of its panels. */
static bool names_figure(const char *list, const char *figure) {
  const size_t digits = strspn(figure, "0123456789");
  for (const char *word = list; *word; word += strspn(word, ", ")) {
    const size_t length = strcspn(word, ", ");
    if (length == strlen(figure) && strncmp(word, figure, length) == 0) return true;
    if (length == digits && strncmp(word, figure, digits) == 0 && isalpha((unsigned char)figure[digits])) return true;
    word += length;
  }
  return false;
}

static bool speaks_of(const AnalysisClaim *claim, const AnalysisPaper *figure) {
  return is_of(figure->title, claim->paper) && names_figure(claim->figure, number_of(figure->title));
}

/* Returns the first figure of the page that a claim names, or NULL. */
static const AnalysisPaper *home_of(const AnalysisClaim *claim) {
  for (const AnalysisPaper *figure = analysis_papers; figure->name; figure++)
    if (speaks_of(claim, figure)) return figure;
  return NULL;
}

/* Appends the claims of a figure. */
static void append_claims(const AnalysisPaper *figure, CoreText *text) {
  size_t count;
  const AnalysisClaim *claims = analysis_claims_list(&count);
  bool is_first = true;
  for (size_t i = 0; i < count; i++) {
    if (!speaks_of(&claims[i], figure)) continue;
    core_text_appendf(text, "%s`%s`", is_first ? " Claims: " : ", ", claims[i].id);
    is_first = false;
  }
  if (!is_first) core_text_append(text, ".");
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static const AnalysisPaperRuns *runs_of(const AnalysisPaper *figure) {
  for (const AnalysisPaperRuns *runs = analysis_paper_runs; runs->experiment; runs++)
    if (strcmp(runs->experiment, figure->experiment) == 0) return runs;
  fault("papers.def has no EXPERIMENT row for", figure->experiment);
  return NULL;
}

/* Appends what the paper says of the experiment's runs. */
static void append_paper(const AnalysisPaperRuns *runs, CoreText *text) {
  core_text_appendf(text, "%s; %s%s%s; %s seeds", runs->environment, runs->shape, runs->shape[0] ? "; " : "",
                    runs->transitions, runs->seeds);
}

/* Appends the same as "as 1a" if the runs of the paper's figure 1a, in an earlier row of the table, are alike. */
static void append_paper_or_row(const char *paper, const AnalysisPaper *figure, CoreText *text) {
  CoreText other = {0};
  append_paper(runs_of(figure), text);
  for (const AnalysisPaper *earlier = analysis_papers; earlier < figure; earlier++) {
    if (!is_of(earlier->title, paper) || first_of(earlier->experiment) != earlier) continue;
    core_text_clear(&other);
    append_paper(runs_of(earlier), &other);
    if (strcmp(other.data, text->data) != 0) continue;
    core_text_clear(text);
    core_text_appendf(text, "as %s", number_of(earlier->title));
    break;
  }
  core_text_free(&other);
}

/* Prints the table of a paper's experiments: their figures, the runs of the paper and of the experiment file, and what
 * these cost. */
static void print_experiments(const char *paper) {
  printf("\n| figures | experiment | paper | here | cost | laptop |\n|---|---|---|---|---|---|\n");
  for (const AnalysisPaper *figure = analysis_papers; figure->name; figure++) {
    const AnalysisPaperRuns *runs = runs_of(figure);
    CoreText figures = {0}, theirs = {0}, ours = {0};
    if (!runs || !is_of(figure->title, paper) || first_of(figure->experiment) != figure) continue;
    for (const AnalysisPaper *other = figure; other->name; other++)
      if (strcmp(other->experiment, figure->experiment) == 0)
        core_text_appendf(&figures, "%s%s", figures.length ? ", " : "", number_of(other->title));
    append_paper_or_row(paper, figure, &theirs);
    append_ours(runs->experiment, &ours);
    core_text_append(&ours, " |");
    append_costs(runs->experiment, &ours);
    printf("| %s | [%s](../%s) | %s | %s\n", core_text_string(&figures), runs->experiment + strlen("experiments/"),
           runs->experiment, core_text_string(&theirs), core_text_string(&ours));
    core_text_free(&figures);
    core_text_free(&theirs);
    core_text_free(&ours);
  }
}

/* Prints the list item of a figure. */
static void print_figure(const AnalysisPaper *figure) {
  const AnalysisPaperRuns *runs = runs_of(figure);
  CoreText text = {0};
  core_text_appendf(&text, "- **%s** `%s`: %s.", number_of(figure->title), figure->name, figure->summary);
  if (runs && first_of(figure->experiment) == figure && runs->stand_in[0])
    core_text_appendf(&text, " **Stand-in**: %s.", runs->stand_in);
  append_claims(figure, &text);
  print_wrapped(text.data);
  core_text_free(&text);
}

static void print_paper(const AnalysisPaperTitle *paper) {
  CoreText text = {0};
  printf("\n## %s: %s\n\n", paper->key, paper->title);
  print_wrapped(paper->note);
  print_experiments(paper->key);
  print_shared(paper->key);
  putchar('\n');
  for (const AnalysisPaper *figure = analysis_papers; figure->name; figure++)
    if (is_of(figure->title, paper->key)) print_figure(figure);
  for (const AnalysisPaperAbsent *absent = analysis_paper_absents; absent->title; absent++) {
    if (!is_of(absent->title, paper->key)) continue;
    core_text_clear(&text);
    core_text_appendf(&text, "- **%s**: %s. **Not drawn**: %s.", number_of(absent->title), absent->summary,
                      absent->reason);
    print_wrapped(text.data);
  }
  core_text_free(&text);
}

/* Returns the name of a test in claims.def, or NULL. */
static const char *name_of(AnalysisTest test, const AnalysisClaim *claims, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (claims[i].test == test) return claims[i].test_name;
  return NULL;
}

/* Whether two tests have the same statistic and condition. */
static bool are_alike(AnalysisTest a, AnalysisTest b) {
  const char *direction, *statistic = analysis_test_statistic(a, &direction);
  return strcmp(statistic, analysis_test_statistic(b, &direction)) == 0 &&
         analysis_test_info(a)->condition == analysis_test_info(b)->condition;
}

/* Prints the tests of claims.def; tests that are alike share a row. */
static void print_tests(const AnalysisClaim *claims, size_t count) {
  for (AnalysisTest test = 0; test < ANALYSIS_TESTS; test++) {
    CoreText names = {0}, directions = {0};
    const char *direction, *statistic = analysis_test_statistic(test, &direction);
    const size_t length = strlen(statistic) - (statistic[strlen(statistic) - 1] == ',');
    const bool is_limit_new = test == 0 || analysis_test_limit(test) != analysis_test_limit(test - 1);
    if (is_limit_new && !name_of(test, claims, count))
      fault("limits.def speaks of a test that claims.def lacks", statistic);

    for (;; test++) {
      const char *name = name_of(test, claims, count);
      if (name) {
        analysis_test_statistic(test, &direction);
        core_text_appendf(&names, "%s`%s`", names.length ? " " : "", name);
        core_text_appendf(&directions, "%s%s", directions.length ? "; " : "", direction);
      }
      if (test + 1 == ANALYSIS_TESTS || !are_alike(test, test + 1)) break;
    }

    const char *condition = analysis_test_info(test)->condition;
    if (names.length)
      printf("| %s | %.*s | %s%s%s |\n", names.data, (int)length, statistic, directions.data, condition ? "; " : "",
             condition ? condition : "");
    core_text_free(&names);
    core_text_free(&directions);
  }
}

static const char intro[] =
  "# The papers, figure by figure\n\n"
  "Which experiment reproduces a figure, how ours departs from the paper's, and which claims it tests. `make docs`\n"
  "generates this page.\n\n"
  "    sweep submit experiments/fig1a_com.ini --profile demo --wait    # the runs\n"
  "    analyze fig1a results.db                                        # the figure\n"
  "    analyze claims results.db --claim com_low                       # a verdict on one claim\n"
  "    analyze claims --list                                           # the claims, and what no verdict can tell\n\n"
  "Each paper begins with a table of its experiments: environment, environments × steps, transitions and runs of the\n"
  "paper and of ours, at full size, and [costs](#costs). An experiment file marks with (p) the values that the paper\n"
  "does not state, and names further assumed defaults in its first lines. All others are the paper's, or the defaults\n"
  "of the code that it names. Below the table are the figures, by their names for `analyze`, with their claims. A\n"
  "**stand-in** replaces an environment that is not available here.\n\n"
  "## Tests\n\n"
  "`analyze claims --list` has each claim in the paper's words, with its [test](results.md#tests-of-claims), measure,\n"
  "setting and experiments, and what the test cannot tell.\n\n"
  "| test | statistic | claimed |\n|---|---|---|\n";

static const char costs_intro[] =
  "\n## Costs\n\n"
  "Costs are those of [the cost model](experiments.md#costs), with level searches, evaluations and checkpoints: at\n"
  "full size transitions, bytes on disk and time, with `--profile laptop` runs and time. A run on 128 GPUs takes 128\n"
  "GPU-hours per hour; h means hours of one processor. All together, each run once:\n\n"
  "| size | runs | transitions | bytes | time |\n|---|---|---|---|---|\n";

int main(void) {
  size_t count;
  const AnalysisClaim *claims = analysis_claims_list(&count);
  for (size_t i = 0; i < count; i++)
    if (!home_of(&claims[i])) fault("claims.def names no figure of papers.def", claims[i].id);
  fputs(intro, stdout);
  print_tests(claims, count);
  fputs(costs_intro, stdout);
  print_totals();
  for (const AnalysisPaperTitle *paper = analysis_paper_titles; paper->key; paper++) print_paper(paper);
  return faults > 0;
}
