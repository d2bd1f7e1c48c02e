/* An ordinary sweep as the trials of a space whose settings are choices of their values (trials.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/trials.h"
#include "core/memory.h"

/* Finds the value of a setting of each configuration: index[configuration], NaN where it is not used, and fills the
 * axis. CORE_USAGE: it has too many values. */
static int find_values(const AnalysisSelection *selection, const AnalysisMembers *members, size_t count,
                       const CoreConfigRow *key, CoreSearchAxis *axis, double *index) {
  AnalysisGrouping values = {0};
  CoreText text = {0};
  TRY(analysis_group_runs(selection, key->name, &values));

  double *index_of = core_memory_allocate((values.count + 1) * sizeof *index_of);
  axis->choices = core_memory_allocate((values.count + 1) * sizeof *axis->choices);

  for (size_t v = 0; v < values.count; v++) {
    const AnalysisConfig *config = values.groups[v].config;
    index_of[v] = NAN;
    if (!analysis_key_applies(config, key)) continue;
    index_of[v] = (double)axis->choice_count;
    const char *value = analysis_key_value(config, key, &text);
    axis->choices[axis->choice_count++] = core_text_duplicate(value);
  }
  for (size_t c = 0; c < count; c++) index[c] = index_of[values.group_of[members->run[members->first[c]]]];

  core_text_free(&text);
  free(index_of);
  analysis_grouping_free(&values);

  if (axis->choice_count <= CORE_SEARCH_CHOICES_MAX) return CORE_OK;
  return core_error(CORE_USAGE, "%s has %zu values; their importance can be computed of at most %d; choose with "
                    "--where",
                    key->name, axis->choice_count, CORE_SEARCH_CHOICES_MAX);
}

/* Whether two settings vary together: equal values of one mean equal values of the other. Settings that some
 * configurations do not use are different. */
static bool vary_together(const double *a, const double *b, size_t count, size_t values) {
  double *partner = core_memory_allocate(2 * (values + 1) * sizeof *partner), *back = partner + values + 1;
  bool together = true;
  for (size_t i = 0; i < 2 * (values + 1); i++) partner[i] = NAN;
  for (size_t c = 0; c < count && together; c++) {
    together = !isnan(a[c]) && !isnan(b[c]);
    if (!together) break;
    double *of_a = &partner[(size_t)a[c]], *of_b = &back[(size_t)b[c]];
    together = (isnan(*of_a) || *of_a == b[c]) && (isnan(*of_b) || *of_b == a[c]);
    *of_a = b[c];
    *of_b = a[c];
  }
  free(partner);
  return together;
}

/* Adds an axis unless it has one value, or varies together with an earlier one, whose values are in
 * index[axis][count]. */
static void add_axis(CoreSearch *space, CoreSearchAxis *axis, const double *index, size_t count) {
  const double *added = index + space->count * count;
  bool is_new = axis->choice_count > 1;
  for (size_t a = 0; a < space->count && is_new; a++)
    is_new = space->axes[a].choice_count != axis->choice_count ||
             !vary_together(index + a * count, added, count, axis->choice_count);
  if (is_new) {
    space->axes[space->count++] = *axis;
    return;
  }
  for (size_t c = 0; c < axis->choice_count; c++) free(axis->choices[c]);
  free(axis->choices);
}

/* Returns the number of a trial among those of the complete grid, the last axis running fastest; of an incomplete one,
 * configurations without a setting come first. */
static size_t number_of(const CoreSearch *space, const double *coordinate) {
  size_t number = 0;
  for (size_t a = 0; a < space->count; a++)
    number = number * (space->axes[a].choice_count + 1) + (isnan(coordinate[a]) ? 0 : 1 + (size_t)coordinate[a]);
  return number;
}

/* Makes the trials; index: [axis][configuration]. */
static void make_trials(AnalysisTrials *trials, const AnalysisMembers *members, const double *index, size_t count) {
  CoreSearch *space = &trials->space;
  size_t cells = 1;
  for (size_t a = 0; a < space->count; a++) cells = cells > count ? cells : cells * space->axes[a].choice_count;

  trials->trials = core_memory_zero_allocate(count + 1, sizeof *trials->trials);
  trials->is_complete = cells == count;

  for (size_t c = 0; c < count; c++) {
    AnalysisTrial *trial = &trials->trials[trials->count++];
    trial->coordinate = core_memory_allocate((space->count + 1) * sizeof *trial->coordinate);
    trial->count = members->first[c + 1] - members->first[c];
    trial->runs = core_memory_allocate((trial->count + 1) * sizeof *trial->runs);
    memcpy(trial->runs, members->run + members->first[c], trial->count * sizeof *trial->runs);

    for (size_t a = 0; a < space->count; a++) {
      trial->coordinate[a] = index[a * count + c];
      trials->is_complete = trials->is_complete && !isnan(trial->coordinate[a]);
    }

    trial->place = number_of(space, trial->coordinate);
  }

  analysis_trials_sort(trials);
}

int analysis_trials_read_grid(const AnalysisSelection *selection, const AnalysisGrouping *configurations,
                              AnalysisTrials *trials) {
  const size_t count = configurations->count, keys = configurations->key_count;
  *trials = (AnalysisTrials){.is_grid = true};

  CoreSearch *space = &trials->space;
  space->trials = (int64_t)count;
  space->goals[space->goal_count++] = (CoreSearchGoal){.measure = "final"};
  if (keys > CORE_SEARCH_AXES_MAX)
    return core_error(CORE_USAGE, "%zu settings vary; their importance can be computed of at most %d", keys,
                      CORE_SEARCH_AXES_MAX);

  AnalysisMembers members = analysis_grouping_members(configurations, selection->count);
  double *index = core_memory_allocate((keys * count + 1) * sizeof *index);
  space->axes = core_memory_zero_allocate(keys + 1, sizeof *space->axes);
  int code = CORE_OK;

  for (size_t k = 0; k < keys; k++) {
    if (code != CORE_OK) break;
    CoreSearchAxis axis = {.row = configurations->keys[k], .parent = CORE_SEARCH_NO_PARENT};
    code = find_values(selection, &members, count, axis.row, &axis, index + space->count * count);
    add_axis(space, &axis, index, count);
  }

  if (code == CORE_OK && space->count == 0) code = core_error(CORE_USAGE, "no setting varies among these runs");
  space->order = core_memory_allocate((space->count + 1) * sizeof *space->order);
  for (size_t a = 0; a < space->count; a++) space->order[a] = a;
  if (code == CORE_OK) make_trials(trials, &members, index, count);

  free(index);
  analysis_members_free(&members);
  return code;
}
