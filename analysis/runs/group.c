/* Groups runs into configurations (group.h). A group has the same values of some keys; a family contains the groups
 * of one algorithm, whose labels name only what varies inside it ("com 16" needs no "epochs 8" if all have 8). */
#include "analysis/runs/group.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/tasks.h"
#include "core/memory.h"

static const CoreConfigRow *algorithm_row(void) { return core_config_find("algo.name"); }

/* Returns the index of a choice in its setting's list. */
static int choice_rank(const CoreConfigRow *row, const char *choice) {
  size_t length = strlen(choice);
  int rank = 0;
  for (const char *cursor = row->choices; *cursor; rank++) {
    size_t here = strcspn(cursor, "|");
    if (here == length && memcmp(cursor, choice, length) == 0) break;
    cursor += here + (cursor[here] == '|');
  }
  return rank;
}

int analysis_group_compare(const AnalysisConfig *a, const AnalysisConfig *b, const CoreConfigRow *row) {
  if (a->shared == b->shared && analysis_config_is_shared(row)) return 0;
  const CoreConfigRow *row_a = analysis_key_row(a, row), *row_b = analysis_key_row(b, row);
  if (!row_a || !row_b) return (row_a != NULL) - (row_b != NULL);
  if (row_a != row_b) { /* numbers of different programs */
    const double x = analysis_key_number(a, row), y = analysis_key_number(b, row);
    return (x > y) - (x < y);
  }

  row = row_a;
  const void *left = analysis_config_field(a, row), *right = analysis_config_field(b, row);
  switch (row->kind) {
    case CORE_CONFIG_INT: {
      int64_t x = *(const int64_t *)left, y = *(const int64_t *)right;
      return (x > y) - (x < y);
    }
    case CORE_CONFIG_REAL: {
      double x = *(const double *)left, y = *(const double *)right;
      return (x > y) - (x < y);
    }
    case CORE_CONFIG_BOOL: return (int)*(const bool *)left - (int)*(const bool *)right;
    case CORE_CONFIG_ENUM: {
      const int order = choice_rank(row, left) - choice_rank(row, right);
      return order ? order : strcmp(left, right); /* names after "mujoco/..." have equal ranks */
    }
    case CORE_CONFIG_STRING: return strcmp(left, right);
  }
  return 0;
}

static bool same_value(const AnalysisConfig *a, const AnalysisConfig *b, const CoreConfigRow *row) {
  return analysis_group_compare(a, b, row) == 0;
}

/* ---- which keys ------------------------------------------------------------------------------------------------- */

/* Whether core_config_resolve changes the setting: scheme and factor already describe it. */
static bool follows_from_scale(const CoreConfigRow *row) {
  static const char *const names[] = {"env.num", "ppo.num_minibatches", "ppo.learning_rate", "pqn.learning_rate"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(row->name, names[i]) == 0) return true;
  return false;
}

/* Whether two runs that both use the key differ in it: PPO's unused COM does not make COM vary. If programs have
 * different names for it, only the trainer's name varies, and the names of programs with two settings of this meaning,
 * which the trainer's name does not describe. */
static bool key_varies(const AnalysisSelection *selection, const CoreConfigRow *row) {
  const AnalysisConfig *first = NULL, *first_ambiguous = NULL;
  const CoreConfigRow *name = NULL;
  bool varies = false, has_several_names = false;
  for (size_t r = 0; r < selection->count; r++) {
    const AnalysisConfig *config = &selection->runs[r].config;
    const CoreConfigRow *used = analysis_key_row(config, row);
    if (!used || (selection->runs[r].scaled && follows_from_scale(row))) continue;
    has_several_names |= name && used != name;
    name = used;

    if (!first) first = config;
    else varies |= !same_value(first, config, row);

    if (used != row || !row->equivalent || analysis_key_row(config, row->equivalent)) continue;
    if (!first_ambiguous) first_ambiguous = config;
    else if (!same_value(first_ambiguous, config, row)) return true;
  }

  return varies && (has_several_names ? !row->is_program : name == row);
}

/* Finds the settings whose values differ between runs, read or not, in one pass over the configurations: key_varies
 * costs much more. A program's setting may always vary. Returns a flag per row; free() it. */
static bool *find_candidates(const AnalysisSelection *selection) {
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  bool *is_candidate = core_memory_zero_allocate(count, sizeof *is_candidate);
  for (size_t r = 0; r < selection->count; r++) {
    const AnalysisConfig *first = &selection->runs[0].config, *config = &selection->runs[r].config;
    for (size_t i = 0; i < count; i++)
      is_candidate[i] = is_candidate[i] || config->shared->program || rows[i].is_program ||
                        !analysis_config_value_equals(first, config, &rows[i]);
  }
  return is_candidate;
}

/* Whether a key describes the same setting as another one in every run that has it. */
static bool is_redundant(const AnalysisSelection *selection, const CoreConfigRow *key, const CoreConfigRow *other) {
  const CoreConfigRow *meaning = key->is_program ? key->equivalent : key;
  if (key == other) return true;
  if (!meaning || meaning != (other->is_program ? other->equivalent : other)) return false;
  for (size_t r = 0; r < selection->count; r++) {
    const AnalysisConfig *config = &selection->runs[r].config;
    const CoreConfigRow *used = analysis_key_row(config, key);
    if (used && used != analysis_key_row(config, other)) return false;
  }
  return true;
}

static int by_configuration(const void *left, const void *right) {
  const AnalysisRun *a = *(AnalysisRun *const *)left, *b = *(AnalysisRun *const *)right;
  const uintptr_t x = (uintptr_t)a->config.shared, y = (uintptr_t)b->config.shared;
  if (x != y) return x < y ? -1 : 1;
  if (a->sweep != b->sweep) return a->sweep < b->sweep ? -1 : 1;
  return (a > b) - (a < b);
}

/* Returns the first run of each configuration in each sweep, in the order of the runs; free() its runs. They are enough
 * to find which shared settings vary. */
static AnalysisSelection find_first_runs(const AnalysisSelection *selection) {
  const AnalysisRun **order = core_memory_allocate((selection->count + 1) * sizeof *order);
  bool *is_first = core_memory_zero_allocate(selection->count + 1, sizeof *is_first);
  for (size_t r = 0; r < selection->count; r++) order[r] = &selection->runs[r];
  qsort(order, selection->count, sizeof *order, by_configuration);
  for (size_t i = 0; i < selection->count; i++) {
    const bool is_new = i == 0 || order[i]->config.shared != order[i - 1]->config.shared;
    is_first[order[i] - selection->runs] = is_new || order[i]->sweep != order[i - 1]->sweep;
  }

  AnalysisSelection first = *selection;
  first.count = 0;
  first.runs = core_memory_allocate((selection->count + 1) * sizeof *first.runs);
  for (size_t r = 0; r < selection->count; r++)
    if (is_first[r]) first.runs[first.count++] = selection->runs[r];

  free(order);
  free(is_first);
  return first;
}

/* Finds the keys that vary. first: find_first_runs(selection). */
static void varying_keys(const AnalysisSelection *selection, const AnalysisSelection *first,
                         const AnalysisGrouping *without, AnalysisGrouping *grouping) {
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  grouping->keys = core_memory_allocate(count * sizeof *grouping->keys);
  bool *is_candidate = find_candidates(first);
  for (size_t i = 0; i < count; i++) {
    const AnalysisSelection *compared = analysis_config_is_shared(&rows[i]) ? first : selection;
    bool candidate = is_candidate[i] && rows[i].identity && strcmp(rows[i].name, "train.seed") != 0;
    for (size_t k = 0; k < without->key_count && candidate; k++)
      candidate = !is_redundant(first, &rows[i], without->keys[k]);
    if (candidate && key_varies(compared, &rows[i])) grouping->keys[grouping->key_count++] = &rows[i];
  }
  free(is_candidate);
}

/* Parses keys; "task" means all settings of the task, "none" no key. */
static int asked_keys(const char *keys, AnalysisGrouping *grouping) {
  if (strcmp(keys, "none") == 0) return CORE_OK;
  if (strcmp(keys, "task") == 0) keys = core_config_task_keys;
  grouping->keys = core_memory_allocate((strlen(keys) + 1) * sizeof *grouping->keys);

  for (const char *start = keys; *start; ) {
    size_t length = strcspn(start, ",");
    char name[CORE_CONFIG_TEXT];
    if (length == 0 || length >= sizeof name) return core_error(CORE_USAGE, "%s: expected KEY[,KEY]", keys);
    memcpy(name, start, length);
    name[length] = '\0';

    const CoreConfigRow **key = &grouping->keys[grouping->key_count];
    TRY(analysis_find_key(name, key));
    bool is_new = true;
    for (size_t k = 0; k < grouping->key_count; k++) is_new = is_new && grouping->keys[k] != *key;
    grouping->key_count += is_new;
    start += length + (start[length] == ',');
  }

  return grouping->key_count ? CORE_OK : core_error(CORE_USAGE, "no key to group by: expected KEY[,KEY]");
}

/* ---- groups and families ---------------------------------------------------------------------------------------- */

/* Order of the groups: by sweep and algorithm, so that families are contiguous, then by the other keys. */
typedef struct Order {
  bool by_sweep;
  const CoreConfigRow **keys; /* [key_count] of the grouping, the algorithm first */
  size_t key_count;
} Order;

typedef struct Place { const Order *order; const AnalysisRun *run; } Place;

static Order order_create(const AnalysisGrouping *grouping) {
  const CoreConfigRow *algorithm = algorithm_row();
  Order order = {grouping->by_sweep, core_memory_allocate((grouping->key_count + 1) * sizeof *order.keys), 0};
  for (size_t k = 0; k < grouping->key_count; k++)
    if (grouping->keys[k] == algorithm) order.keys[order.key_count++] = algorithm;
  for (size_t k = 0; k < grouping->key_count; k++)
    if (grouping->keys[k] != algorithm) order.keys[order.key_count++] = grouping->keys[k];
  return order;
}

/* Compares the sweeps and settings of two runs: 0 if they belong to one group. */
static int compare_runs(const Order *order, const AnalysisRun *a, const AnalysisRun *b) {
  if (order->by_sweep && a->sweep != b->sweep) return a->sweep < b->sweep ? -1 : 1;
  for (size_t k = 0; k < order->key_count; k++) {
    const int difference = analysis_group_compare(&a->config, &b->config, order->keys[k]);
    if (difference != 0) return difference;
  }
  return 0;
}

static int compare_places(const void *left, const void *right) {
  const Place *a = left, *b = right;
  const int difference = compare_runs(a->order, a->run, b->run);
  return difference ? difference : (a->run > b->run) - (a->run < b->run);
}

/* Finds the groups, in their order, by sorting. Within a group the runs keep the order of the selection. */
static void find_groups(const AnalysisSelection *selection, AnalysisGrouping *grouping) {
  size_t count = selection->count;
  Order order = order_create(grouping);
  Place *places = core_memory_allocate((count + 1) * sizeof *places);
  grouping->groups = core_memory_zero_allocate(count + 1, sizeof *grouping->groups);
  grouping->group_of = core_memory_allocate((count + 1) * sizeof *grouping->group_of);
  for (size_t r = 0; r < count; r++) places[r] = (Place){&order, &selection->runs[r]};
  qsort(places, count, sizeof *places, compare_places);

  for (size_t i = 0; i < count; i++) {
    const AnalysisRun *run = places[i].run;
    if (i == 0 || compare_runs(&order, places[i - 1].run, run) != 0)
      grouping->groups[grouping->count++] =
        (AnalysisGroup){.config = &run->config, .sweep = grouping->by_sweep ? run->sweep : 0};
    grouping->groups[grouping->count - 1].run_count++;
    grouping->group_of[run - selection->runs] = grouping->count - 1;
  }

  free(places);
  free(order.keys);
}

AnalysisMembers analysis_grouping_members(const AnalysisGrouping *grouping, size_t runs) {
  AnalysisMembers members = {.first = core_memory_zero_allocate(grouping->count + 2, sizeof(size_t)),
                             .run = core_memory_allocate((runs + 1) * sizeof(size_t))};
  size_t *next = members.first + 1; /* next place of each group, finally its end */
  for (size_t r = 0; r < runs; r++) members.first[grouping->group_of[r] + 2]++;
  for (size_t g = 2; g < grouping->count + 2; g++) members.first[g] += members.first[g - 1];
  for (size_t r = 0; r < runs; r++) members.run[next[grouping->group_of[r]]++] = r;
  return members;
}

void analysis_members_free(AnalysisMembers *members) {
  free(members->first);
  free(members->run);
  *members = (AnalysisMembers){0};
}

/* Converts ppo_ewma to PPO-EWMA. */
char *analysis_algorithm_name(const AnalysisConfig *config) {
  char *name = core_text_duplicate(config->shared->algo.name);
  if (config->shared->program) return name;
  for (char *c = name; *c; c++) *c = *c == '_' ? '-' : (char)toupper((unsigned char)*c);
  return name;
}

/* Whether the values of one key determine those of the other, in both directions, among the family's groups. */
static bool keys_move_together(const AnalysisGrouping *grouping, size_t family, const CoreConfigRow *a,
                               const CoreConfigRow *b) {
  for (size_t g = 0; g < grouping->count; g++) {
    for (size_t e = 0; e < g && grouping->groups[g].family == family; e++) {
      const AnalysisConfig *one = grouping->groups[g].config, *other = grouping->groups[e].config;
      if (grouping->groups[e].family == family && same_value(one, other, a) != same_value(one, other, b)) return false;
    }
  }
  return true;
}

/* Removes keys from the labels that change together with an earlier one, such as a budget that follows the
 * environments. */
static void drop_followers(AnalysisGrouping *grouping, size_t family) {
  AnalysisFamily *of = &grouping->families[family];
  size_t kept = 0;
  for (size_t k = 0; k < of->key_count; k++) {
    bool follows = false;
    for (size_t e = 0; e < kept && !follows; e++)
      follows = keys_move_together(grouping, family, of->keys[e], of->keys[k]);
    if (!follows) of->keys[kept++] = of->keys[k];
  }
  of->key_count = kept;
}

static void family_keys(AnalysisGrouping *grouping, size_t family) {
  AnalysisFamily *one = &grouping->families[family];
  one->keys = core_memory_allocate((grouping->key_count + 1) * sizeof *one->keys);
  for (size_t k = 0; k < grouping->key_count; k++) {
    const AnalysisConfig *first = NULL;
    bool varies = false;
    for (size_t g = 0; g < grouping->count; g++) {
      if (grouping->groups[g].family != family) continue;
      if (!first) first = grouping->groups[g].config;
      varies |= !same_value(first, grouping->groups[g].config, grouping->keys[k]);
    }
    if (varies) one->keys[one->key_count++] = grouping->keys[k];
  }
  drop_followers(grouping, family);
}

/* Whether all groups of the sweep have the same algorithm. */
static bool has_one_algorithm(const AnalysisGrouping *grouping, size_t sweep) {
  const AnalysisConfig *first = NULL;
  for (size_t g = 0; g < grouping->count; g++) {
    if (grouping->groups[g].sweep != sweep) continue;
    if (first && !same_value(first, grouping->groups[g].config, algorithm_row())) return false;
    first = grouping->groups[g].config;
  }
  return true;
}

static char *family_name(const AnalysisGrouping *grouping, const AnalysisSelection *selection,
                         const AnalysisGroup *group, bool by_algorithm) {
  CoreText name = {0};
  char *algorithm = by_algorithm ? analysis_algorithm_name(group->config) : core_text_duplicate("");
  const char *sweep = group->sweep ? selection->sweep[group->sweep - 1] : "no sweep";
  if (!grouping->by_sweep) core_text_append(&name, algorithm);
  else if (!by_algorithm || has_one_algorithm(grouping, group->sweep)) core_text_append(&name, sweep);
  else core_text_appendf(&name, "%s: %s", sweep, algorithm);
  free(algorithm);
  return name.data ? name.data : core_text_duplicate("");
}

/* Finds families: groups are sorted by sweep and algorithm, so that a family starts where one of them changes. */
static void find_families(const AnalysisSelection *selection, AnalysisGrouping *grouping) {
  bool by_algorithm = false;
  for (size_t k = 0; k < grouping->key_count; k++) by_algorithm |= grouping->keys[k] == algorithm_row();
  grouping->families = core_memory_zero_allocate(grouping->count + 1, sizeof *grouping->families);
  for (size_t g = 0; g < grouping->count; g++) {
    AnalysisGroup *group = &grouping->groups[g];
    bool begins = g == 0 || group[-1].sweep != group->sweep ||
                  (by_algorithm && !same_value(group[-1].config, group->config, algorithm_row()));
    if (begins) grouping->family_count++;
    group->family = grouping->family_count - 1;
    AnalysisFamily *family = &grouping->families[group->family];
    if (begins) family->name = family_name(grouping, selection, group, by_algorithm);
    family->group_count++;
  }
  for (size_t f = 0; f < grouping->family_count; f++) family_keys(grouping, f);
}

/* ---- labels ----------------------------------------------------------------------------------------------------- */

/* Shortens numbers with more than five digits, such as those made by a scheme. */
static const char *shorten(const char *text, const CoreConfigRow *row, char room[32]) {
  double value;
  if (row->kind != CORE_CONFIG_REAL || strlen(text) < 9 || !core_text_to_real(text, &value)) return text;
  snprintf(room, 32, "%.5g", value);
  return room;
}

static char *make_label(const AnalysisGroup *group, const AnalysisFamily *family, bool with_family) {
  CoreText label = {0}, value = {0};
  char room[32];
  if (with_family) core_text_append(&label, family->name);

  for (size_t k = 0; k < family->key_count; k++) {
    const char *text = analysis_key_value(group->config, family->keys[k], &value);
    const bool is_shadowed = analysis_key_is_shadowed(group->config, family->keys, family->key_count, k);
    if (!*text || is_shadowed) continue; /* unused, empty or a second name: omitted */
    core_text_appendf(&label, "%s%s %s", label.length ? ", " : "", analysis_key_name(family->keys[k]),
                      shorten(text, family->keys[k], room));
  }

  if (label.length == 0) { /* the only configuration of its family */
    char *name = analysis_algorithm_name(group->config);
    core_text_append(&label, name);
    free(name);
  }

  core_text_free(&value);
  return label.data;
}

static void make_labels(AnalysisGrouping *grouping) {
  bool clash = grouping->by_sweep;
  for (size_t g = 0; g < grouping->count; g++) {
    AnalysisGroup *group = &grouping->groups[g];
    group->within = make_label(group, &grouping->families[group->family], false);
    for (size_t k = 0; k < g && !clash; k++) clash = strcmp(grouping->groups[k].within, group->within) == 0;
  }
  for (size_t g = 0; g < grouping->count; g++) {
    AnalysisGroup *group = &grouping->groups[g];
    group->label = make_label(group, &grouping->families[group->family], clash);
  }
}

/* ---- by sweep --------------------------------------------------------------------------------------------------- */

static bool varies_in_sweep(const AnalysisSelection *selection, const CoreConfigRow *row, size_t sweep) {
  const AnalysisConfig *first = NULL;
  for (size_t r = 0; r < selection->count; r++) {
    const AnalysisConfig *config = &selection->runs[r].config;
    if (selection->runs[r].sweep != sweep || !analysis_key_applies(config, row)) continue;
    if (first && !same_value(first, config, row)) return true;
    first = config;
  }
  return false;
}

static bool is_of_task(const CoreConfigRow *row) {
  const char *match = strstr(core_config_task_keys, row->name);
  return match && strchr(",", match[strlen(row->name)]) && (match == core_config_task_keys || match[-1] == ',');
}

static bool has_several_sweeps(const AnalysisSelection *selection) {
  bool outside = false;
  for (size_t r = 0; r < selection->count; r++) outside |= selection->runs[r].sweep == 0;
  return selection->sweeps + outside > 1 && selection->sweeps > 0;
}

/* Whether the sweeps differ in more settings than the runs within any of them: in a setting of the task that is
 * constant within each sweep, or in two settings more. first: find_first_runs(selection). */
static bool sweeps_differ(const AnalysisSelection *selection, const AnalysisSelection *first,
                          const AnalysisGrouping *grouping) {
  bool task = false;
  size_t most = 0;
  bool *within = core_memory_zero_allocate(grouping->key_count + 1, sizeof *within);

  for (size_t s = 0; s <= selection->sweeps; s++) {
    size_t varying = 0;

    for (size_t k = 0; k < grouping->key_count; k++) {
      const CoreConfigRow *key = grouping->keys[k];
      const bool varies = varies_in_sweep(analysis_config_is_shared(key) ? first : selection, key, s);
      varying += varies;
      within[k] |= varies;
    }
    if (varying > most) most = varying;
  }

  for (size_t k = 0; k < grouping->key_count; k++)
    task |= !within[k] && is_of_task(grouping->keys[k]);
  free(within);
  return task || grouping->key_count > most + 1;
}

int analysis_group_runs(const AnalysisSelection *selection, const char *keys, AnalysisGrouping *grouping) {
  return analysis_group_runs_without(selection, keys, NULL, grouping);
}

/* Sets the keys, and whether to group by sweep. */
static int choose_keys(const AnalysisSelection *selection, const char *keys, const char *without,
                       AnalysisGrouping *grouping) {
  AnalysisGrouping shown = {0};
  if (keys) return asked_keys(keys, grouping);
  AnalysisSelection first = find_first_runs(selection);
  int code = without ? asked_keys(without, &shown) : CORE_OK;
  if (code == CORE_OK) {
    varying_keys(selection, &first, &shown, grouping);
    grouping->by_sweep = has_several_sweeps(&first) && sweeps_differ(selection, &first, grouping);
  }
  free(shown.keys);
  free(first.runs);
  return code;
}

int analysis_group_runs_without(const AnalysisSelection *selection, const char *keys, const char *without,
                                AnalysisGrouping *grouping) {
  memset(grouping, 0, sizeof *grouping);
  int code = choose_keys(selection, keys, without, grouping);
  if (code != CORE_OK) {
    analysis_grouping_free(grouping);
    return code;
  }
  find_groups(selection, grouping);
  find_families(selection, grouping);
  make_labels(grouping);
  return CORE_OK;
}

void analysis_grouping_free(AnalysisGrouping *grouping) {
  for (size_t g = 0; g < grouping->count; g++) {
    free(grouping->groups[g].label);
    free(grouping->groups[g].within);
  }
  for (size_t f = 0; f < grouping->family_count; f++) {
    free(grouping->families[f].name);
    free(grouping->families[f].keys);
    free(grouping->families[f].averaged);
  }
  free(grouping->keys);
  free(grouping->families);
  free(grouping->groups);
  free(grouping->group_of);
  memset(grouping, 0, sizeof *grouping);
}
