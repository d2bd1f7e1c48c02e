/* Merges groups that are equal in some keys (group.h). */
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/group.h"
#include "core/memory.h"

/* Range of groups of a merge, each with its bucket. */
typedef struct Merge {
  AnalysisGrouping *grouping;
  size_t first, end, *bucket; /* [end - first] */
} Merge;

/* Group of a merge, to be sorted by one key. */
typedef struct Valued { const AnalysisConfig *config; const CoreConfigRow *row; size_t group; } Valued;

static int by_value(const void *left, const void *right) {
  const Valued *a = left, *b = right;
  return analysis_group_compare(a->config, b->config, a->row);
}

/* Returns the number of distinct values of the key; place[end - first] (NULL: not wanted): number of smaller ones. */
static size_t find_places(const Merge *m, const CoreConfigRow *row, size_t *place) {
  const size_t count = m->end - m->first;
  Valued *sorted = core_memory_allocate((count + 1) * sizeof *sorted);
  size_t distinct = 0;
  for (size_t i = 0; i < count; i++) sorted[i] = (Valued){m->grouping->groups[m->first + i].config, row, i};
  qsort(sorted, count, sizeof *sorted, by_value);
  for (size_t i = 0; i < count; i++) {
    distinct += i == 0 || by_value(&sorted[i - 1], &sorted[i]) != 0;
    if (place) place[sorted[i].group] = distinct - 1;
  }
  free(sorted);
  return distinct;
}

/* Splits the buckets by the values of a key. */
static void split_buckets(Merge *m, const CoreConfigRow *row, size_t most) {
  size_t *places = core_memory_allocate((m->end - m->first + 1) * sizeof *places);
  const size_t values = find_places(m, row, places);
  for (size_t i = 0; i < m->end - m->first; i++) {
    const bool merges = values > most && core_config_is_number(row->kind);
    m->bucket[i] = m->bucket[i] * (merges ? most : values) + (merges ? places[i] * most / values : places[i]);
  }
  free(places);
}

/* Formats the label of a bucket: "lr 0.0001 to 0.001", "eps 0.2". */
static char *bucket_label(const Merge *m, size_t bucket, const CoreConfigRow *const *keys, size_t key_count) {
  CoreText label = {0}, value = {0};

  for (size_t k = 0; k < key_count; k++) {
    const AnalysisConfig *low = NULL, *high = NULL;

    for (size_t g = m->first; g < m->end; g++) {
      const AnalysisConfig *config = m->grouping->groups[g].config;
      if (m->bucket[g - m->first] != bucket) continue;
      if (!low || analysis_group_compare(config, low, keys[k]) < 0) low = config;
      if (!high || analysis_group_compare(config, high, keys[k]) > 0) high = config;
    }

    const char *text = analysis_key_value(low, keys[k], &value);
    if (!*text && (analysis_group_compare(low, high, keys[k]) == 0)) text = "none";
    core_text_appendf(&label, "%s%s %s", label.length ? ", " : "", analysis_key_name(keys[k]), text);
    if (!(analysis_group_compare(low, high, keys[k]) == 0))
      core_text_appendf(&label, " to %s", analysis_key_value(high, keys[k], &value));
  }

  core_text_free(&value);
  return label.data ? label.data : core_text_duplicate("all");
}

static AnalysisGroup merge_bucket(const Merge *m, size_t bucket, const CoreConfigRow *const *keys, size_t key_count) {
  AnalysisGroup merged = {0};
  for (size_t g = m->first; g < m->end; g++) {
    const AnalysisGroup *group = &m->grouping->groups[g];
    if (m->bucket[g - m->first] != bucket) continue;
    const size_t runs = merged.run_count + group->run_count;
    if (!merged.config) merged = *group;
    merged.run_count = runs;
  }
  const char *family = m->grouping->families[merged.family].name;
  merged.within = bucket_label(m, bucket, keys, key_count);
  CoreText label = {0};
  core_text_appendf(&label, "%s%s%s", family, *family ? ", " : "", merged.within);
  merged.label = label.data;
  return merged;
}

/* Records as averaged the settings that vary in the family but are not in `keys`, and those with merged values;
 * `keys` become the keys of the family. */
static void note_averaged(Merge *m, size_t family, const CoreConfigRow *const *keys, size_t key_count, size_t most) {
  AnalysisFamily *of = &m->grouping->families[family];
  of->averaged = core_memory_allocate((of->key_count + 1) * sizeof *of->averaged);
  for (size_t k = 0; k < of->key_count; k++) {
    bool kept = false;
    const size_t distinct = find_places(m, of->keys[k], NULL);
    for (size_t i = 0; i < key_count; i++) kept |= keys[i] == of->keys[k];
    if (!kept || (distinct > most && core_config_is_number(of->keys[k]->kind)))
      of->averaged[of->averaged_count++] = of->keys[k];
  }
  for (size_t k = 0; k < key_count; k++) of->keys[k] = keys[k];
  of->key_count = key_count;
}

void analysis_grouping_merge(const AnalysisSelection *selection, AnalysisGrouping *grouping, size_t family,
                             const CoreConfigRow *const *keys, size_t key_count, size_t most) {
  Merge m = {.grouping = grouping};

  for (size_t f = 0; f < family; f++) m.first += grouping->families[f].group_count;
  m.end = m.first + grouping->families[family].group_count;
  const size_t count = m.end - m.first;

  m.bucket = core_memory_zero_allocate(count + 1, sizeof *m.bucket);
  size_t *merged_of = core_memory_allocate((count + 1) * sizeof *merged_of), made = 0, buckets = 0;
  AnalysisGroup *merged = core_memory_allocate((count + 1) * sizeof *merged);

  for (size_t k = 0; k < key_count; k++) split_buckets(&m, keys[k], most);
  for (size_t g = 0; g < count; g++) buckets = m.bucket[g] >= buckets ? m.bucket[g] + 1 : buckets;
  note_averaged(&m, family, keys, key_count, most);

  for (size_t b = 0; b < buckets; b++) {
    bool has_groups = false;
    for (size_t g = 0; g < count; g++) {
      if (m.bucket[g] != b) continue;
      has_groups = true;
      merged_of[g] = m.first + made;
    }
    if (has_groups) merged[made++] = merge_bucket(&m, b, keys, key_count);
  }

  /* The merged groups take the place of the family's groups; the later ones move up. */
  for (size_t g = m.first; g < m.end; g++) {
    free(grouping->groups[g].label);
    free(grouping->groups[g].within);
  }
  memcpy(grouping->groups + m.first, merged, made * sizeof *merged);
  memmove(grouping->groups + m.first + made, grouping->groups + m.end,
          (grouping->count - m.end) * sizeof *grouping->groups);

  for (size_t r = 0; r < selection->count; r++) {
    size_t *group = &grouping->group_of[r];
    if (*group >= m.end) *group -= count - made;
    else if (*group >= m.first) *group = merged_of[*group - m.first];
  }
  grouping->count -= count - made;
  grouping->families[family].group_count = made;

  free(m.bucket);
  free(merged_of);
  free(merged);
}
