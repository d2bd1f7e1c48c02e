/* Markers of dots (ddr.h). All seeds of a configuration have the same marker. */
#include "analysis/figures/ddr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

enum {
  VALUES_MAX = 10, /* maximum number of values of a setting that the legend lists */
  SIZES_MAX = 4,
};

typedef struct Looks {
  const AnalysisContext *context;
  const AnalysisGrouping *groups;   /* configurations */
  const CoreConfigRow **setting;    /* [setting_count] varied settings; NULL: none */
  size_t setting_count;
  size_t *varied;                   /* [group] index in `setting` */
  size_t *algorithm;                /* [group] index in `first_of` */
  size_t *first_of, algorithms;     /* [algorithms] first group of each algorithm */
  double *batch;                    /* [group] transitions per minibatch; 0: unknown, a program */
} Looks;

/* ---- the varied setting ----------------------------------------------------------------------------------------- */

/* Whether the setting is shown by shape or size, or follows from other settings. */
static bool is_shown_otherwise(const CoreConfigRow *row) {
  static const char *const names[] = {"algo.name", "env.num", "ppo.num_steps", "ppo.num_minibatches",
                                      "train.total_steps"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], row->name) == 0) return true;
  return false;
}

static bool is_equal(const Looks *l, size_t a, size_t b, const CoreConfigRow *row) {
  return analysis_group_compare(l->groups->groups[a].config, l->groups->groups[b].config, row) == 0;
}

/* Configurations of the group's family that have the group's value. */
static size_t count_alike(const Looks *l, size_t group, const CoreConfigRow *row) {
  size_t alike = 0;
  for (size_t g = 0; g < l->groups->count; g++)
    alike += l->groups->groups[g].family == l->groups->groups[group].family && is_equal(l, g, group, row);
  return alike;
}

/* Counts distinct values in the family; *most: number of configurations with the most common one. */
static size_t count_values(const Looks *l, size_t family, const CoreConfigRow *row, size_t *most) {
  size_t values = 0;
  *most = 0;
  for (size_t g = 0; g < l->groups->count; g++) {
    bool seen = false;
    if (l->groups->groups[g].family != family) continue;
    for (size_t e = 0; e < g && !seen; e++) seen = l->groups->groups[e].family == family && is_equal(l, e, g, row);
    if (seen) continue;
    values++;
    const size_t alike = count_alike(l, g, row);
    if (alike > *most) *most = alike;
  }
  return values;
}

static size_t find_setting(Looks *l, const CoreConfigRow *row) {
  size_t s = 0;
  while (s < l->setting_count && l->setting[s] != row) s++;
  if (s == l->setting_count) l->setting[l->setting_count++] = row;
  return s;
}

static void find_varied(Looks *l, size_t family) {
  const AnalysisFamily *of = &l->groups->families[family];
  const CoreConfigRow *first = NULL;

  size_t values = 0, most;
  for (size_t k = 0; k < of->key_count; k++) {
    const size_t here = is_shown_otherwise(of->keys[k]) ? 0 : count_values(l, family, of->keys[k], &most);
    if (here <= values) continue;
    first = of->keys[k];
    values = here;
  }

  for (size_t g = 0; g < l->groups->count; g++) {
    const CoreConfigRow *varied = first;
    if (l->groups->groups[g].family != family) continue;
    for (size_t k = 0; k < of->key_count; k++) {
      if (of->keys[k] == first || is_shown_otherwise(of->keys[k])) continue;
      count_values(l, family, of->keys[k], &most);
      if (count_alike(l, g, of->keys[k]) < most) varied = of->keys[k];
    }
    l->varied[g] = find_setting(l, varied);
  }
}

static void find_algorithms(Looks *l) {
  for (size_t g = 0; g < l->groups->count; g++) {
    const char *name = l->groups->groups[g].config->shared->algo.name;
    size_t a = 0;
    while (a < l->algorithms && strcmp(l->groups->groups[l->first_of[a]].config->shared->algo.name, name) != 0) a++;
    if (a == l->algorithms) l->first_of[l->algorithms++] = g;
    l->algorithm[g] = a;
  }
}

static void find_batches(Looks *l) {
  for (size_t r = 0; r < l->context->selection.count; r++) {
    const AnalysisRun *run = &l->context->selection.runs[r];
    if (run->config.shared->program) continue;
    l->batch[l->groups->group_of[r]] =
      (double)run->transitions_per_iteration / fmax(1, (double)run->config.shared->ppo.num_minibatches);
  }
}

/* ---- marks ------------------------------------------------------------------------------------------------------ */

static bool is_smaller(const Looks *l, size_t a, size_t b, const CoreConfigRow *row) {
  return analysis_group_compare(l->groups->groups[a].config, l->groups->groups[b].config, row) < 0;
}

/* Finds a group for each value of a setting, sorted by value. */
static size_t *setting_values(const Looks *l, size_t setting, size_t *count) {
  const CoreConfigRow *row = l->setting[setting];
  size_t *first = core_memory_allocate((l->groups->count + 1) * sizeof *first);
  *count = 0;
  for (size_t g = 0; g < l->groups->count; g++) {
    bool seen = l->varied[g] != setting;
    for (size_t i = 0; i < *count && !seen; i++) seen = !row || is_equal(l, first[i], g, row);
    if (seen) continue;
    size_t slot = (*count)++; /* insertion sort */
    for (; slot > 0 && is_smaller(l, g, first[slot - 1], row); slot--) first[slot] = first[slot - 1];
    first[slot] = g;
  }
  return first;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts the distinct minibatch sizes and returns their number. */
static size_t sort_batches(const Looks *l, double *sorted) {
  size_t count = 0;
  for (size_t g = 0; g < l->groups->count; g++) {
    size_t i = 0;
    if (!(l->batch[g] > 0)) continue;
    while (i < count && sorted[i] != l->batch[g]) i++;
    if (i == count) sorted[count++] = l->batch[g];
  }
  qsort(sorted, count, sizeof *sorted, by_value);
  return count;
}

/* Scales a minibatch to a point size, by its logarithm. */
static double batch_size(double batch, const double *sorted, size_t count) {
  static const double SMALLEST = 0.65, LARGEST = 1.5;
  if (count < 2 || !(batch > 0)) return 1;
  return SMALLEST + (LARGEST - SMALLEST) * log(batch / sorted[0]) / log(sorted[count - 1] / sorted[0]);
}

static void mark_setting(const Looks *l, size_t setting, AnalysisMark *of_group) {
  size_t count, *first = setting_values(l, setting, &count);
  for (size_t i = 0; i < count; i++) {
    const double t = count > 1 ? 0.12 + 0.78 * (double)i / (double)(count - 1) : 0.35;
    for (size_t g = 0; g < l->groups->count; g++)
      if (l->varied[g] == setting && (!l->setting[setting] || is_equal(l, first[i], g, l->setting[setting])))
        of_group[g].color = l->setting_count > 1 ? analysis_family_ramp(setting, t) : analysis_ramp(t);
  }
  free(first);
}

static AnalysisMark *mark_groups(const Looks *l, const double *sorted, size_t batches) {
  AnalysisMark *of_group = core_memory_zero_allocate(l->groups->count + 1, sizeof *of_group);
  for (size_t s = 0; s < l->setting_count && !l->groups->by_sweep; s++) mark_setting(l, s, of_group);
  for (size_t g = 0; g < l->groups->count; g++) {
    if (l->groups->by_sweep) of_group[g].color = analysis_name_color(l->groups->groups[g].sweep);
    of_group[g].shape = (AnalysisShape)(l->algorithm[g] % ANALYSIS_SHAPES);
    of_group[g].size = batch_size(l->batch[g], sorted, batches);
  }
  return of_group;
}

/* ---- legend ----------------------------------------------------------------------------------------------------- */

/* Returns the shape of the algorithm if all groups of the setting have the same, else a circle. */
static AnalysisShape setting_shape(const Looks *l, size_t setting, const AnalysisMark *of_group) {
  AnalysisShape shape = ANALYSIS_SHAPES;
  for (size_t g = 0; g < l->groups->count; g++) {
    if (l->varied[g] != setting) continue;
    if (shape != ANALYSIS_SHAPES && shape != of_group[g].shape) return ANALYSIS_CIRCLE;
    shape = of_group[g].shape;
  }
  return shape == ANALYSIS_SHAPES ? ANALYSIS_CIRCLE : shape;
}

static void add_setting(const Looks *l, size_t setting, const AnalysisMark *of_group, AnalysisPlot *plot) {
  size_t count, *first = setting_values(l, setting, &count);
  const CoreConfigRow *row = l->setting[setting];
  const AnalysisShape shape = setting_shape(l, setting, of_group);
  CoreText value = {0};
  analysis_plot_legend_head(plot, row ? analysis_key_name(row) : "");
  for (size_t i = 0; i < count; i++) {
    const bool named = count <= VALUES_MAX || i == 0 || i == count / 2 || i == count - 1;
    const AnalysisMark mark = {.color = of_group[first[i]].color, .shape = shape};
    const AnalysisGroup *group = &l->groups->groups[first[i]];
    const char *label = row ? analysis_key_shown(group->config, row, &value) : group->label;
    if (named) analysis_plot_legend_entry(plot, label, mark, false);
  }
  core_text_free(&value);
  free(first);
}

static void add_sweeps(const Looks *l, AnalysisPlot *plot) {
  const AnalysisSelection *selection = &l->context->selection;
  analysis_plot_legend_head(plot, "sweep");
  for (size_t s = 0; s <= selection->sweeps; s++) {
    bool any = false;
    for (size_t g = 0; g < l->groups->count; g++) any |= l->groups->groups[g].sweep == s;
    if (any)
      analysis_plot_legend_entry(plot, s ? selection->sweep[s - 1] : "no sweep",
                                 (AnalysisMark){.color = analysis_name_color(s)}, false);
  }
}

static void add_shapes_and_sizes(const Looks *l, const double *sorted, size_t batches, AnalysisPlot *plot) {
  const uint32_t muted = l->context->style->muted;
  if (l->algorithms > 1) analysis_plot_legend_head(plot, "algorithm");
  for (size_t a = 0; a < l->algorithms && l->algorithms > 1; a++) {
    char *name = analysis_algorithm_name(l->groups->groups[l->first_of[a]].config);
    const AnalysisMark mark = {.color = muted, .shape = (AnalysisShape)(a % ANALYSIS_SHAPES)};
    analysis_plot_legend_entry(plot, name, mark, false);
    free(name);
  }

  if (batches <= 1) return;
  analysis_plot_legend_head(plot, "minibatch");
  for (size_t i = 0; i < batches; i++) {
    char text[32];
    if (batches > SIZES_MAX && i != 0 && i != batches / 2 && i != batches - 1) continue;
    const AnalysisMark mark = {.color = muted, .size = batch_size(sorted[i], sorted, batches)};
    analysis_plot_legend_entry(plot, core_text_count(sorted[i], text), mark, false);
  }
}

AnalysisMark *analysis_ddr_marks(const AnalysisContext *context, AnalysisPlot *plot) {
  const AnalysisGrouping *groups = &context->configurations;
  const size_t count = groups->count + 1, runs = context->selection.count;
  size_t *indices = core_memory_zero_allocate(3 * count, sizeof *indices), batches;
  double *numbers = core_memory_zero_allocate(2 * count, sizeof *numbers);
  Looks l = {.context = context, .groups = groups, .varied = indices, .algorithm = indices + count,
             .first_of = indices + 2 * count, .batch = numbers,
             .setting = core_memory_zero_allocate(count, sizeof(const CoreConfigRow *))};

  for (size_t f = 0; f < groups->family_count; f++) find_varied(&l, f);
  find_algorithms(&l);
  find_batches(&l);
  batches = sort_batches(&l, numbers + count);

  AnalysisMark *of_group = mark_groups(&l, numbers + count, batches);
  AnalysisMark *marks = core_memory_allocate((runs + 1) * sizeof *marks);
  for (size_t r = 0; r < runs; r++) marks[r] = of_group[groups->group_of[r]];

  if (groups->by_sweep) add_sweeps(&l, plot);
  const size_t settings = !groups->by_sweep && groups->count > 1 ? l.setting_count : 0;
  for (size_t s = 0; s < settings; s++)
    add_setting(&l, s, of_group, plot);
  add_shapes_and_sizes(&l, numbers + count, batches, plot);

  free(of_group);
  free(indices);
  free(numbers);
  free(l.setting);
  return marks;
}
