/* Groups failures for status and submit --wait. Reasons that differ only in numbers and run ids are one ("resumes from
 * iteration 512", "... 640"), so that many failures take few lines. status --failed prints each run's own message. */
#include "sweep/status/failures.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/terminal.h"

enum { REASONS_MAX = 100, DRAWN_MAX = 8, IDS_MAX = 4 };
static const char any[] = "...";

/* ---- reasons ----------------------------------------------------------------------------------------------------- */

static size_t word_length(const char *text) {
  size_t length = 0;
  while (isalnum((unsigned char)text[length])) length++;
  return length;
}

/* Whether the word is a number or a run id. */
static bool is_number(const char *word, size_t length) {
  if (strspn(word, "0123456789") >= length) return length > 0;
  return length == CORE_RUN_ID - 1 && strspn(word, "0123456789abcdef") >= length;
}

/* Returns the length of the number, run id or "..." at `text`; 0: none. */
static size_t variable_length(const char *text) {
  const size_t length = word_length(text);
  if (strncmp(text, any, strlen(any)) == 0) return strlen(any);
  return is_number(text, length) ? length : 0;
}

/* Whether a and b differ only in numbers and run ids. `merged`, initially empty, gets what they share. */
static bool merge(const char *a, const char *b, CoreText *merged) {
  while (*a && *b) {
    const size_t m = variable_length(a), n = variable_length(b);
    if (m > 0 && n > 0) {
      const bool is_same = m == n && strncmp(a, b, m) == 0;
      core_text_append_bytes(merged, is_same ? a : any, is_same ? m : strlen(any));
      a += m;
      b += n;
      continue;
    }

    /* One word, or one other character. */
    const size_t length = word_length(a) ? word_length(a) : 1;
    if (strncmp(a, b, length) != 0 || (word_length(a) && word_length(b) != length)) return false;
    core_text_append_bytes(merged, a, length);
    a += length;
    b += length;
  }
  return !*a && !*b;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static SweepFailure *find(SweepFailures *failures, const char *status, const char *reason) {
  for (size_t i = 0; i < failures->count; i++) {
    SweepFailure *item = &failures->items[i];
    CoreText merged = {0};
    if (strcmp(item->status, status) != 0) continue;
    if (strcmp(item->reason, reason) == 0) return item;
    const bool is_same = merge(item->reason, reason, &merged);
    if (is_same) {
      free(item->reason);
      item->reason = core_text_duplicate(core_text_string(&merged));
    }
    core_text_free(&merged);
    if (is_same) return item;
  }
  return NULL;
}

void sweep_failures_add(SweepFailures *failures, const char *status, const char *reason, size_t index) {
  SweepFailure *item = find(failures, status, reason);
  if (!item && failures->count == REASONS_MAX) {
    failures->others++;
    return;
  }

  if (!item) {
    failures->items = core_memory_resize(failures->items, (failures->count + 1) * sizeof *failures->items);
    item = &failures->items[failures->count++];
    *item = (SweepFailure){.status = status, .reason = core_text_duplicate(reason)};
  }

  if (item->count == item->capacity) {
    item->capacity = item->capacity ? 2 * item->capacity : 4;
    item->runs = core_memory_resize(item->runs, item->capacity * sizeof *item->runs);
  }
  item->runs[item->count++] = index;
}

void sweep_failures_free(SweepFailures *failures) {
  for (size_t i = 0; i < failures->count; i++) {
    free(failures->items[i].reason);
    free(failures->items[i].runs);
  }
  free(failures->items);
  *failures = (SweepFailures){0};
}

void sweep_failures_add_progress(const SweepProgress *progress, SweepFailures *failures) {
  for (size_t i = 0; i < progress->runs; i++)
    if (sweep_progress_needs_attention(progress, i))
      sweep_failures_add(failures, store_status_name(progress->run[i].state.status), sweep_progress_reason(progress, i),
                         i);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void draw_item(const SweepFailure *item, const SweepProgress *progress, CoreText *text) {
  if (item->count == 1) {
    core_text_appendf(text, "  %s %s: %s\n", progress->run[item->runs[0]].id, item->status, item->reason);
    return;
  }
  core_text_appendf(text, "  %zu %s: %s\n    ", item->count, item->status, item->reason);
  for (size_t i = 0; i < item->count && i < IDS_MAX; i++)
    core_text_appendf(text, "%s%s", i ? " " : "", progress->run[item->runs[i]].id);
  if (item->count > IDS_MAX) core_text_appendf(text, " and %zu more", item->count - IDS_MAX);
  core_text_append(text, "\n");
}

void sweep_failures_draw(const SweepFailures *failures, const SweepProgress *progress, CoreText *text) {
  size_t hidden = failures->others;
  bool is_shortened = hidden > 0;
  for (size_t i = 0; i < failures->count; i++) {
    const SweepFailure *item = &failures->items[i];
    if (i < DRAWN_MAX) draw_item(item, progress, text);
    else hidden += item->count;
    is_shortened |= item->count > IDS_MAX;
  }
  if (hidden > 0) core_text_appendf(text, "  %zu more for other reasons\n", hidden);
  if (is_shortened || hidden > 0)
    core_text_appendf(text, "  sweep status %s --failed lists all runs that need attention\n", progress->name);
}

json_t *sweep_failures_json(const SweepFailures *failures, const SweepProgress *progress) {
  json_t *list = json_array();
  for (size_t i = 0; i < failures->count; i++) {
    const SweepFailure *item = &failures->items[i];
    json_t *runs = json_array();
    for (size_t r = 0; r < item->count; r++)
      json_array_append_new(runs, core_json_text(progress->run[item->runs[r]].id));
    json_array_append_new(list, json_pack("{s:s, s:o, s:I, s:o}", "status", item->status, "reason",
                                          core_json_text(item->reason), "count", (json_int_t)item->count, "run", runs));
  }
  return list;
}
