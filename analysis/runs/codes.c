/* Records each code of a selection once (codes.h). */
#include "analysis/runs/codes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "store/code/code.h"

size_t analysis_codes_add(AnalysisSelection *selection, const char *hash, const char *files) {
  if (!hash || !*hash) return 0;
  for (size_t i = 0; i < selection->codes; i++)
    if (strcmp(selection->code[i].hash, hash) == 0) return i + 1;
  selection->code = core_memory_resize(selection->code, (selection->codes + 1) * sizeof *selection->code);
  selection->code[selection->codes] =
    (AnalysisCode){.hash = core_text_duplicate(hash), .files = core_text_duplicate(files ? files : "")};
  return ++selection->codes;
}

void analysis_codes_free(AnalysisSelection *selection) {
  for (size_t i = 0; i < selection->codes; i++) free(selection->code[i].hash), free(selection->code[i].files);
  free(selection->code);
}

/* Whether the code changed while the run was trained. */
static bool is_mixed(const AnalysisSelection *selection, const AnalysisRun *run) {
  return run->code > 0 && strchr(selection->code[run->code - 1].hash, '+');
}

bool analysis_codes_agree(const AnalysisSelection *selection, const AnalysisRun *a, const AnalysisRun *b) {
  if (is_mixed(selection, a) || is_mixed(selection, b)) return false;
  return a->code == b->code || a->code == 0 || b->code == 0;
}

bool analysis_codes_all_agree(const AnalysisSelection *selection, const size_t *run, size_t count) {
  const AnalysisRun *reference = NULL; /* the first run, then the first with a recorded code */
  for (size_t i = 0; i < count; i++) {
    const AnalysisRun *next = &selection->runs[run[i]];
    if (!reference || reference->code == 0) reference = next;
    if (!analysis_codes_agree(selection, reference, next)) return false;
  }
  return true;
}

static int by_cell(const void *left, const void *right) {
  const AnalysisRun *a = *(const AnalysisRun *const *)left, *b = *(const AnalysisRun *const *)right;
  const int order = strcmp(a->cell, b->cell);
  return order != 0 ? order : (a->code > b->code) - (a->code < b->code);
}

/* Appends the differences between two runs of a configuration, or within one that was resumed with other code. */
static void describe_difference(const AnalysisSelection *selection, const AnalysisRun *a, const AnalysisRun *b,
                                CoreText *text) {
  if (is_mixed(selection, a) || is_mixed(selection, b))
    core_text_append(text, "it changed while a run was trained");
  else store_code_compare(selection->code[a->code - 1].files, selection->code[b->code - 1].files, text);
}

void analysis_codes_describe(const AnalysisSelection *selection, CoreText *text) {
  const AnalysisRun **order = core_memory_allocate((selection->count + 1) * sizeof *order);
  CoreText what = {0};
  size_t configurations = 0;

  for (size_t r = 0; r < selection->count; r++) order[r] = &selection->runs[r];
  qsort(order, selection->count, sizeof *order, by_cell);

  /* Runs of a cell are neighbors. */
  for (size_t first = 0, end; first < selection->count; first = end) {
    const AnalysisRun *one = order[first], *other = NULL;
    for (end = first; end < selection->count && strcmp(order[end]->cell, order[first]->cell) == 0; end++) {
      if (one->code == 0) one = order[end];
      if (!other && !analysis_codes_agree(selection, one, order[end])) other = order[end];
    }
    configurations += other != NULL;
    if (other && what.length == 0) describe_difference(selection, one, other, &what);
  }

  if (configurations > 0)
    core_text_appendf(text, "%zu configuration%s runs by different code (%s); --where code=HASH takes those of one",
                      configurations, configurations == 1 ? " has" : "s have", core_text_string(&what));

  core_text_free(&what);
  free(order);
}

void analysis_codes_warn(const AnalysisSelection *selection) {
  static bool has_warned = false; /* curves --watch reads again and again */
  CoreText text = {0};
  if (!has_warned) analysis_codes_describe(selection, &text);
  has_warned = true;

  if (text.length > 0) fprintf(stderr, "warning: %s\n", text.data);
  core_text_free(&text);
}

/* Returns the first known code of a selection; NULL: none. */
static const AnalysisCode *first_code(const AnalysisSelection *selection) {
  for (size_t r = 0; r < selection->count; r++)
    if (selection->runs[r].code > 0) return &selection->code[selection->runs[r].code - 1];
  return NULL;
}

static bool has_code(const AnalysisSelection *selection, const char *hash) {
  for (size_t r = 0; r < selection->count; r++) {
    const size_t code = selection->runs[r].code;
    if (code > 0 && strcmp(selection->code[code - 1].hash, hash) == 0) return true;
  }
  return false;
}

void analysis_codes_compare(const AnalysisSelection *a, const AnalysisSelection *b, CoreText *text) {
  const AnalysisCode *one = first_code(a), *other = first_code(b);
  if (!one || !other || has_code(b, one->hash) || has_code(a, other->hash)) return;
  store_code_compare(one->files, other->files, text);
}
