/* `analyze advise`: proposes what to try next. Locates the best of the configurations that have run by DDR and
 * stagnation, and proposes its neighbors, following Fig. 8: a configuration that stagnates needs more data per nat
 * of policy change (higher DDR: more COM, less epsilon, fewer epochs, more environments), one that still learns at
 * the end needs less of it or more time. Proposals are priced at measured speeds, accepted while the budget lasts,
 * and written as an experiment for `sweep plan`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/commands.h"
#include "analysis/figures/figure.h"
#include "analysis/runs/codes.h"
#include "analysis/runs/group.h"
#include "analysis/runs/measures.h"
#include "analysis/statistics/statistics.h"
#include "core/command/options.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "core/unicode.h"

enum { CONFIGURATIONS_MIN = 4, SEEDS_MIN = 2, PROPOSALS_MAX = 12 };

typedef struct Request {
  const char *sweep, *output, *name;
  CoreOptionList where;
  double hours;
  int64_t seeds;
  bool json;
} Request;

/* Configuration, computed from its ended runs. */
typedef struct Candidate {
  size_t group, seeds;
  double best, ddr, speed;       /* means (geometric for ddr) */
  AnalysisInterval final, gain;  /* gain: in the second half */
  double sd;                     /* standard deviation of the final score */
} Candidate;

typedef enum Phase { PHASE_UNKNOWN, PHASE_LEARNING, PHASE_STAGNATED } Phase;

typedef struct Proposal {
  CoreConfig config;
  char change[160], reason[240];
  double hours;                  /* total over its seeds; NaN: no speed was measured */
  bool taken;
} Proposal;

typedef struct Advice {
  AnalysisSelection selection;
  AnalysisGrouping groups;
  AnalysisRunMetrics *measured;
  Candidate *candidates;         /* sorted by rising DDR */
  size_t count, best;
  Phase phase;
  size_t seeds_needed;           /* to distinguish the best from the second; 0: distinguished, or hopeless */
  Proposal proposals[PROPOSALS_MAX];
  size_t proposal_count;
} Advice;

/* ---- what has run ----------------------------------------------------------------------------------------------- */

static int by_ddr(const void *left, const void *right) {
  const Candidate *a = left, *b = right;
  if (a->ddr != b->ddr) return a->ddr < b->ddr ? -1 : 1;
  return (a->group > b->group) - (a->group < b->group);
}

/* Returns the range of the values of a configuration's runs. */
static AnalysisRange range_of(const Advice *advice, size_t group, AnalysisMeasure measure) {
  size_t *run = core_memory_allocate((advice->selection.count + 1) * sizeof *run), n = 0;
  for (size_t r = 0; r < advice->selection.count; r++)
    if (advice->groups.group_of[r] == group) run[n++] = r;
  const AnalysisRange range = analysis_measure_range(measure, advice->measured, run, n);
  free(run);
  return range;
}

static bool summarize(const Advice *advice, size_t group, double *room, Candidate *candidate) {
  size_t runs = advice->selection.count, n = 0;
  double *final = room, *gain = room + runs, *ddr = gain + runs, *best = ddr + runs, *speed = best + runs;
  for (size_t r = 0; r < runs; r++) {
    const AnalysisRunMetrics *m = &advice->measured[r];
    const bool began_elsewhere = advice->selection.runs[r].parent[0]; /* neighbors would need its parents */
    if (advice->groups.group_of[r] != group || !m->ended || isnan(m->value[ANALYSIS_MEASURE_final]) ||
        !(m->value[ANALYSIS_MEASURE_ddr] > 0) || began_elsewhere) continue;
    final[n] = m->value[ANALYSIS_MEASURE_final];
    gain[n] = m->value[ANALYSIS_MEASURE_gain];
    ddr[n] = m->value[ANALYSIS_MEASURE_ddr];
    best[n] = m->value[ANALYSIS_MEASURE_best];
    speed[n++] = m->value[ANALYSIS_MEASURE_speed];
  }
  *candidate = (Candidate){group, n, analysis_mean(best, n), analysis_geometric_mean(ddr, n), analysis_mean(speed, n),
                           analysis_mean_interval(final, n, range_of(advice, group, ANALYSIS_MEASURE_final), 0.95),
                           analysis_mean_interval(gain, n, range_of(advice, group, ANALYSIS_MEASURE_gain), 0.95),
                           analysis_sd(final, n)};
  return n > 0;
}

/* Classifies a configuration. Learning: a significant gain in the second half. Stagnated: a gain of at most a tenth
 * of what was learned. */
static Phase phase_of(const Candidate *candidate) {
  const AnalysisInterval *gain = &candidate->gain;
  if (isnan(gain->low)) return PHASE_UNKNOWN;
  if (gain->low > 0 && gain->center > 0.1 * fabs(candidate->final.center)) return PHASE_LEARNING;
  return gain->high < 0.1 * fabs(candidate->final.center) ? PHASE_STAGNATED : PHASE_UNKNOWN;
}

static int look(Advice *advice) {
  double *room = core_memory_allocate((5 * advice->selection.count + 1) * sizeof *room);
  advice->candidates = core_memory_zero_allocate(advice->groups.count + 1, sizeof *advice->candidates);
  size_t ended = 0;
  for (size_t g = 0; g < advice->groups.count; g++) {
    ended += summarize(advice, g, room, &advice->candidates[advice->count]);
    if (advice->candidates[advice->count].seeds >= SEEDS_MIN) advice->count++;
  }
  free(room);
  if (advice->count < CONFIGURATIONS_MIN)
    return core_error(
      CORE_FAIL,
      "the runs cannot support advice: %zu configurations have ended with DDR and an evaluation, "
      "%zu of them with %d seeds or more; at least %d are needed (experiments/fig8_ddr.ini makes a good start)",
      ended, advice->count, SEEDS_MIN, CONFIGURATIONS_MIN);
  qsort(advice->candidates, advice->count, sizeof *advice->candidates, by_ddr);
  for (size_t c = 1; c < advice->count; c++) {
    if (advice->candidates[c].final.center > advice->candidates[advice->best].final.center) advice->best = c;
  }
  advice->phase = phase_of(&advice->candidates[advice->best]);
  return CORE_OK;
}

/* Returns the second best configuration, and whether it is distinguishable from the best. */
static const Candidate *runner_up(Advice *advice, bool *told) {
  const Candidate *best = &advice->candidates[advice->best], *second = NULL;
  for (size_t c = 0; c < advice->count; c++) {
    const Candidate *other = &advice->candidates[c];
    if (c != advice->best && (!second || other->final.center > second->final.center)) second = other;
  }
  double difference = best->final.center - second->final.center;
  advice->seeds_needed = analysis_seeds_needed(difference, best->sd, second->sd, 1, 0.95, 0.8);
  *told =
    advice->seeds_needed > 0 && advice->seeds_needed <= (best->seeds < second->seeds ? best->seeds : second->seeds);
  return second;
}

/* ---- proposals -------------------------------------------------------------------------------------------------- */

/* Removes the scheme: a scaled run's settings are effective ones, which a scheme would scale again. */
static CoreConfig without_scheme(const AnalysisConfig *config) {
  const CoreConfig plain = core_config_default();
  CoreConfig settings = analysis_config_whole(config);
  settings.scale = plain.scale;
  return settings;
}

static bool has_run(const Advice *advice, const CoreConfig *config) {
  char cell[CORE_RUN_ID], other[CORE_RUN_ID];
  core_config_cell_id(config, cell);
  for (size_t r = 0; r < advice->selection.count; r++) {
    const CoreConfig settings = without_scheme(&advice->selection.runs[r].config);
    core_config_cell_id(&settings, other);
    if (strcmp(other, cell) == 0) return true;
  }
  return false;
}

static CoreConfig best_settings(const Advice *advice) {
  return without_scheme(advice->groups.groups[advice->candidates[advice->best].group].config);
}

static bool is_proposed(const Advice *advice, const CoreConfig *config) {
  char id[CORE_RUN_ID], other[CORE_RUN_ID];
  core_config_cell_id(config, id);
  for (size_t i = 0; i < advice->proposal_count; i++) {
    core_config_cell_id(&advice->proposals[i].config, other);
    if (strcmp(id, other) == 0) return true;
  }
  return false;
}

static void propose(Advice *advice, const Request *request, const CoreConfig *config, const char *change,
                    const char *reason) {
  CoreConfig checked = *config;
  if (advice->proposal_count == PROPOSALS_MAX || core_config_check(&checked) != CORE_OK || has_run(advice, config) ||
      is_proposed(advice, config)) {
    core_error_clear();
    return;
  }
  Proposal *p = &advice->proposals[advice->proposal_count++];
  double speed = advice->candidates[advice->best].speed;
  *p = (Proposal){.config = *config};
  snprintf(p->change, sizeof p->change, "%s", change);
  snprintf(p->reason, sizeof p->reason, "%s", reason);
  p->hours = (double)request->seeds * (double)config->train.total_steps / speed / 3600;
}

/* Proposes runs that hold a DDR of `factor` times the best one's. */
static void propose_target(Advice *advice, const Request *request, double factor, const char *reason) {
  const Candidate *best = &advice->candidates[advice->best];
  CoreConfig config = best_settings(advice);
  char change[64], number[32];
  if (strcmp(config.algo.name, "ppo_ewma") != 0 && strcmp(config.algo.name, "ppo") != 0) return;
  snprintf(number, sizeof number, "%.2g", factor * (config.ppo.ddr_target > 0 ? config.ppo.ddr_target : best->ddr));
  config.ppo.ddr_target = strtod(number, NULL);
  snprintf(change, sizeof change, "ppo.ddr_target = %s", number);
  propose(advice, request, &config, change, reason);
}

/* Proposes a change of the setting that controls DDR in this algorithm: higher if `factor` is above 1. */
static void propose_step(Advice *advice, const Request *request, double factor, const char *reason) {
  CoreConfig config = best_settings(advice);
  char change[160], number[32];
  if (config.ppo.ddr_target > 0) {
    propose_target(advice, request, factor, reason);
    return;
  }
  if (strcmp(config.algo.name, "ppo_ewma") == 0) {
    config.ppo.com = round(fmax(config.ppo.com, 1) * factor);
    snprintf(change, sizeof change, "ppo.com = %s", core_text_from_real(config.ppo.com, number));
  } else if (strcmp(config.algo.name, "ppo") != 0 && strcmp(config.algo.name, "sapg") != 0) {
    return; /* pqn and noisy_sgd have neither COM nor epsilon */
  } else {
    config.ppo.epsilon = strtod(core_text_from_real(config.ppo.epsilon / sqrt(factor), number), NULL);
    snprintf(number, sizeof number, "%.3g", config.ppo.epsilon);
    config.ppo.epsilon = strtod(number, NULL);
    snprintf(change, sizeof change, "ppo.epsilon = %s", number);
  }
  propose(advice, request, &config, change, reason);
}

static void propose_epochs(Advice *advice, const Request *request, bool more, const char *reason) {
  CoreConfig config = best_settings(advice);
  char change[64];
  if (!more && config.ppo.epochs < 2) return;
  config.ppo.epochs = more ? 2 * config.ppo.epochs : config.ppo.epochs / 2;
  snprintf(change, sizeof change, "ppo.epochs = %lld", (long long)config.ppo.epochs);
  propose(advice, request, &config, change, reason);
}

/* Proposes more environments with more minibatches of the same size (the paper's scheme), which leaves the inner
 * loop unchanged. */
static void propose_environments(Advice *advice, const Request *request, int64_t times, const char *reason) {
  CoreConfig config = best_settings(advice);
  char change[96];
  config.env.num *= times;
  config.ppo.num_minibatches *= times;
  snprintf(change, sizeof change, "env.num = %lld, ppo.num_minibatches = %lld", (long long)config.env.num,
           (long long)config.ppo.num_minibatches);
  propose(advice, request, &config, change, reason);
}

static void propose_time(Advice *advice, const Request *request, const char *reason) {
  CoreConfig config = best_settings(advice);
  char change[64];
  config.train.total_steps *= 2;
  snprintf(change, sizeof change, "train.total_steps = %lld", (long long)config.train.total_steps);
  propose(advice, request, &config, change, reason);
}

static void make_proposals(Advice *advice, const Request *request) {
  bool top = advice->best + 1 == advice->count, bottom = advice->best == 0;
  if (advice->phase == PHASE_STAGNATED || top) {
    propose_step(advice, request, 4,
                 top ? "the best configuration has the highest DDR tried: the optimum may be above it"
                     : "it stagnates: a smaller outer step (higher DDR) raises the plateau");
    propose_environments(advice, request, 2,
                         "more data for the same outer step raises DDR without touching the inner loop");
    propose_epochs(advice, request, false, "fewer passes over the same data move the policy less");
  }
  if (advice->phase == PHASE_LEARNING) {
    propose_time(advice, request, "a significant gain in the second half: the budget ends before it stagnates");
    if (!bottom)
      propose_step(advice, request, 0.5,
                   "it still learns at the end: a larger outer step may be faster within this budget");
  }
  if (bottom) {
    propose_step(advice, request, 0.25, "the best configuration has the lowest DDR tried: the optimum may be below it");
    propose_epochs(advice, request, true, "more passes over the same data move the policy further");
  }
  if (!top && !bottom) {
    propose_step(advice, request, 2, "slightly more DDR than the best, which is inside the range tried");
    propose_step(advice, request, 0.5, "slightly less DDR than the best");
  }
  propose_target(advice, request, 1, "the trainer can hold the best DDR itself, whatever the task");
}

/* Accepts proposals in order while the budget lasts. */
static void take_affordable(Advice *advice, const Request *request) {
  double left = request->hours;
  for (size_t i = 0; i < advice->proposal_count; i++) {
    Proposal *p = &advice->proposals[i];
    p->taken = request->hours <= 0 || p->hours <= left;
    if (p->taken && request->hours > 0) left -= p->hours;
  }
}

/* ---- the experiment --------------------------------------------------------------------------------------------- */

/* Appends the settings in which the best configuration differs from the defaults, then a block for each proposal
 * with its differences from it. */
static void append_settings(const CoreConfig *base, CoreText *ini) {
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  CoreText value = {0};
  const char *section = "";
  for (size_t i = 0; i < count; i++) {
    const char *text = core_config_get(base, &rows[i], &value);
    if (!rows[i].identity || strcmp(rows[i].name, "train.seed") == 0 || strcmp(text, rows[i].def) == 0) continue;
    if (strcmp(section, rows[i].section) != 0) core_text_appendf(ini, "\n[%s]\n", section = rows[i].section);
    core_text_appendf(ini, "%s = %s\n", rows[i].key, text);
  }
  core_text_free(&value);
}

static void append_proposal(const CoreConfig *base, const Proposal *p, size_t number, CoreText *ini) {
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  CoreText ours = {0}, theirs = {0};
  core_text_appendf(ini, "\n; %s\n[grid try%zu]\n", p->reason, number);
  for (size_t i = 0; i < count; i++) {
    if (strcmp(core_config_get(base, &rows[i], &ours), core_config_get(&p->config, &rows[i], &theirs)) != 0)
      core_text_appendf(ini, "%s = %s\n", rows[i].name, core_text_string(&theirs));
  }
  core_text_free(&ours);
  core_text_free(&theirs);
}

static int write_experiment(const Advice *advice, const Request *request) {
  const CoreConfig base = best_settings(advice);
  CoreText ini = {0};
  size_t number = 0;
  TRY(core_text_check_name(request->name, "--name"));
  core_text_append(&ini,
                   "; Written by `analyze advise`: neighbors of the best configuration so far. Review it, then\n"
                   "; sweep plan this file.\n\n");
  core_text_appendf(&ini, "[sweep]\nname  = %s\nseeds = %lld\n", request->name, (long long)request->seeds);
  append_settings(&base, &ini);
  for (size_t i = 0; i < advice->proposal_count; i++) {
    if (advice->proposals[i].taken) append_proposal(&base, &advice->proposals[i], ++number, &ini);
  }
  int code = number ? core_files_write_atomic(request->output, ini.data, ini.length) : CORE_OK;
  core_text_free(&ini);
  if (request->json) return code;
  if (code == CORE_OK && number) core_unicode_print(stdout, "\nwritten: %s; next: sweep plan %s\n", request->output,
                                                    request->output);
  else if (code == CORE_OK) printf("\nno proposal fits into %.3g hours: nothing was written\n", request->hours);
  return code;
}

/* ---- words ------------------------------------------------------------------------------------------------------ */

static void print_state(Advice *advice) {
  static const char *const phases[] = {"too little data to see whether it stagnates", "it still learns at the end",
                                       "it stagnates"};
  const Candidate *best = &advice->candidates[advice->best];
  char final[64], gain[64], ddr[32];
  bool told;
  const Candidate *second = runner_up(advice, &told);
  analysis_format_interval(best->final, final, sizeof final);
  analysis_format_interval(best->gain, gain, sizeof gain);
  printf("%zu configurations compared, by DDR. Best: %s\n", advice->count, advice->groups.groups[best->group].label);
  printf("  final score %s, gained in the second half %s: %s\n", final, gain, phases[advice->phase]);
  printf("  DDR %s, %zu of %zu from the lowest%s\n", core_text_count(best->ddr, ddr), advice->best + 1, advice->count,
         advice->best == 0 ? ": the lowest tried" : advice->best + 1 == advice->count ? ": the highest tried" : "");
  size_t censored = 0, children = 0;
  for (size_t r = 0; r < advice->selection.count; r++) {
    censored += advice->measured[r].censored;
    children += advice->selection.runs[r].parent[0] != '\0';
  }
  if (children) printf("  %zu runs started from other runs' checkpoints: not used here\n", children);
  if (censored) printf("  %zu runs were stopped by rule (censored): not used here\n", censored);
  if (told) return;
  printf("  not distinguishable from the second best (%s)", advice->groups.groups[second->group].label);
  if (advice->seeds_needed)
    printf(": %zu seeds would decide, which is better than new settings\n", advice->seeds_needed);
  else printf(", and more seeds would hardly help\n");
}

static void print_proposals(const Advice *advice) {
  static const char *const headers[] = {"try", "hours", "taken", "because"};
  CoreTable *table = core_table_create(headers, 4);
  for (size_t i = 0; i < advice->proposal_count; i++) {
    const Proposal *p = &advice->proposals[i];
    core_table_cell(table, "%s", p->change);
    core_table_cell(table, isnan(p->hours) ? "?" : "%.3g", p->hours);
    core_table_cell(table, "%s", p->taken ? "yes" : "no");
    core_table_cell(table, "%s", p->reason);
  }
  printf("\n");
  core_table_print(table, stdout);
  core_table_destroy(&table);
}

static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *interval_json(AnalysisInterval i) {
  return json_pack("{s:o, s:o, s:o, s:I}", "mean", number(i.center), "low", number(i.low), "high", number(i.high), "n",
                   (json_int_t)i.n);
}

static void print_json(Advice *advice, const Request *request) {
  static const char *const phases[] = {"unknown", "learning", "stagnated"};
  const Candidate *best = &advice->candidates[advice->best];
  bool told, written = false;
  const Candidate *second = runner_up(advice, &told);
  json_t *list = json_array();
  for (size_t i = 0; i < advice->proposal_count; i++) {
    const Proposal *p = &advice->proposals[i];
    written |= p->taken;
    json_array_append_new(list, json_pack("{s:s, s:o, s:b, s:s}", "try", p->change, "hours", number(p->hours), "taken",
                                          p->taken, "because", p->reason));
  }
  core_json_print(json_pack(
    "{s:I, s:s, s:o, s:o, s:o, s:s, s:s, s:b, s:o, s:o, s:o}", "configurations", (json_int_t)advice->count, "best",
    advice->groups.groups[best->group].label, "final", interval_json(best->final), "gain", interval_json(best->gain),
    "ddr", number(best->ddr), "phase", phases[advice->phase], "second", advice->groups.groups[second->group].label,
    "told_from_second", told, "seeds_needed",
    advice->seeds_needed ? json_integer((json_int_t)advice->seeds_needed) : json_null(), "proposals", list, "written",
    written ? core_json_text(request->output) : json_null()));
}

static int advise(const char *path, const Request *request, Advice *advice) {
  StoreDatabase *database = NULL;
  TRY(analysis_database_open(path, &database));
  int code =
    analysis_select_runs(database, request->sweep, request->where.items, request->where.count, &advice->selection);
  if (code == CORE_OK) analysis_codes_warn(&advice->selection);
  if (code == CORE_OK) code = analysis_group_runs(&advice->selection, NULL, &advice->groups);
  if (code == CORE_OK) code = analysis_measures_read(database, &advice->selection, NULL, 0, &advice->measured);
  if (code == CORE_OK) code = look(advice);
  store_database_close(&database);
  if (code != CORE_OK) return core_error_context(code, "%s", path);
  make_proposals(advice, request);
  take_affordable(advice, request);
  if (request->json) {
    if (advice->proposal_count > 0) TRY(write_experiment(advice, request));
    print_json(advice, request);
    return CORE_OK;
  }
  print_state(advice);
  if (advice->proposal_count == 0) {
    printf("\nall neighbors of the best configuration have run already\n");
    return CORE_OK;
  }
  print_proposals(advice);
  return write_experiment(advice, request);
}

static const CoreManual manual = {
  .usage = "analyze advise [results.db] [--hours H] [-o FILE]",
  .about = "Proposes which COM, epsilon, epochs and number of environments to try next, from DDR and stagnation of the "
           "runs so far, with the reason and the cost at measured speeds; or reports that the runs cannot support "
           "advice. Use --where to select one task.",
  ANALYSIS_ONE_DATABASE};

static int answer(void *asked, const char **operands, size_t count) {
  const Request *request = asked;
  if (request->seeds < 1 || !(request->hours >= 0))
    return core_error(CORE_USAGE, "--seeds and --hours: expected positive numbers");
  Advice *advice = core_memory_zero_allocate(1, sizeof *advice);
  int code = advise(analysis_database_path(operands, count), request, advice);
  free(advice->candidates);
  free(advice->measured);
  analysis_grouping_free(&advice->groups);
  analysis_selection_free(&advice->selection);
  free(advice);
  return code;
}

int analysis_advise(int argc, char **argv) {
  Request request = {.output = "advice.ini", .name = "advice", .seeds = 3};
  const CoreOption table[] = {
    {"hours", 0, CORE_OPTION_REAL, &request.hours, "H", "budget in hours of one such machine (default: no limit)"},
    {"seeds", 0, CORE_OPTION_INT, &request.seeds, "N", "seeds of each proposal (default: 3)"},
    {"output", 'o', CORE_OPTION_TEXT, &request.output, "FILE", "experiment file to write (default: advice.ini)"},
    {"name", 0, CORE_OPTION_TEXT, &request.name, "NAME", "name of its sweep (default: advice)"},
    {"sweep", 0, CORE_OPTION_TEXT, &request.sweep, "NAME[,NAME]", "only the runs of these sweeps (default: all runs)"},
    {"where", 'w', CORE_OPTION_LIST, &request.where, "KEY=VALUE", "only runs with this setting"},
    {"json", 0, CORE_OPTION_FLAG, &request.json, NULL, "print state and proposals as JSON"},
    {0}};
  return core_options_run(&manual, table, argc, argv, answer, &request);
}
