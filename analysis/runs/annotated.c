/* Selects runs by tags, pins and code (select.h). Values are bound, never part of a statement. */
#include "analysis/runs/select.h"

#include <string.h>

#include "store/database/query.h"

static const char TAG[] = "tag=", PINNED[] = "pinned=", CODE[] = "code=";

static const char *value_of(const char *pair, const char *key) {
  const size_t length = strlen(key);
  return strncmp(pair, key, length) == 0 ? pair + length : NULL;
}

bool analysis_is_annotation(const char *pair) { 
  return value_of(pair, TAG) || value_of(pair, PINNED) || value_of(pair, CODE);
}

static int check(const char *pair) {
  const char *tag = value_of(pair, TAG), *pinned = value_of(pair, PINNED);
  bool ignored;
  if (tag && core_text_check_name(tag, "tag") != CORE_OK) return core_error_context(CORE_USAGE, "--where %.80s", pair);
  if (pinned && !core_text_to_bool(pinned, &ignored))
    return core_error(CORE_USAGE, "--where %.80s: pinned must be yes or no", pair);
  const char *code = value_of(pair, CODE);
  if (code && (!*code || strspn(code, "0123456789abcdef+") != strlen(code)))
    return core_error(CORE_USAGE, "--where %.80s: expected leading digits of a code hash (column code of run_summary)",
                      pair);
  return CORE_OK;
}

static int ask(StoreQuery *query, const char *id, const char *tag, bool *answer) {
  bool row;
  store_query_reset(query);
  store_query_bind_text(query, 1, id);
  if (tag) store_query_bind_text(query, 2, tag);
  TRY(store_query_step(query, &row));
  *answer = row && store_query_int(query, 0) != 0;
  return CORE_OK;
}

typedef struct Marks { StoreQuery *tag, *pinned; } Marks;

/* Whether a run meets one of the alternatives of a key; *asked: whether there is a condition on it. */
static int meets(const Marks *marks, const char *const *where, size_t count, const char *key, const char *id,
                 bool *answer) {
  bool asked = false, met = false;
  for (size_t i = 0; i < count && !met; i++) {
    const char *value = value_of(where[i], key);
    bool wanted = true, holds;
    if (!value) continue;
    asked = true;
    if (key == PINNED) core_text_to_bool(value, &wanted);
    TRY(ask(key == TAG ? marks->tag : marks->pinned, id, key == TAG ? value : NULL, &holds));
    met = holds == wanted;
  }
  *answer = met || !asked;
  return CORE_OK;
}

/* Whether the run's code starts with one of the given prefixes. */
static bool has_code(const AnalysisSelection *selection, const AnalysisRun *run, const char *const *where,
                     size_t count) {
  bool asked = false;
  for (size_t i = 0; i < count; i++) {
    const char *value = value_of(where[i], CODE);
    if (!value) continue;
    asked = true;
    if (run->code > 0 && strncmp(selection->code[run->code - 1].hash, value, strlen(value)) == 0) return true;
  }
  return !asked;
}

static int keep(const Marks *marks, const char *const *where, size_t count, AnalysisSelection *selection) {
  size_t kept = 0;
  for (size_t r = 0; r < selection->count; r++) {
    bool tagged, pinned;
    TRY(meets(marks, where, count, TAG, selection->runs[r].id, &tagged));
    TRY(meets(marks, where, count, PINNED, selection->runs[r].id, &pinned));
    const bool coded = has_code(selection, &selection->runs[r], where, count);
    if (!tagged || !pinned || !coded) continue;
    if (kept != r) selection->runs[kept] = selection->runs[r];
    kept++;
  }
  selection->count = kept;
  return CORE_OK;
}

static int nothing_left(StoreDatabase *database) {
  StoreQuery *query;
  CoreText tags = {0};
  bool row;
  int code;
  TRY(store_query_open(database, "SELECT DISTINCT value FROM annotation WHERE key = 'tag' ORDER BY value LIMIT 40",
                       &query));

  while ((code = store_query_step(query, &row)) == CORE_OK && row)
    core_text_appendf(&tags, "%s%s", tags.length ? ", " : "", store_query_text(query, 0));
  store_query_close(&query);

  if (code == CORE_OK && tags.length)
    code = core_error(CORE_FAIL, "no run has this tag, pin or code; existing tags: %.400s",
                      core_text_string(&tags));
  else if (code == CORE_OK)
    code = core_error(CORE_FAIL, "no run has this tag, pin or code; sweep annotate SWEEP|RUN --tag TAG adds one");

  core_text_free(&tags);
  return code;
}

int analysis_filter_annotated(StoreDatabase *database, const char *const *where, size_t count,
                            AnalysisSelection *selection, CoreText *filter) {
  Marks marks = {NULL, NULL};
  bool is_annotated = false;

  for (size_t i = 0; i < count; i++) {
    if (!analysis_is_annotation(where[i])) continue;
    TRY(check(where[i]));
    core_text_appendf(filter, "; %s", where[i]);
    is_annotated = true;
  }
  if (!is_annotated) return CORE_OK;

  int code = store_query_open(database,
                              "SELECT EXISTS(SELECT 1 FROM annotation WHERE key = 'tag' AND value = ?2 AND "
                              "(subject = 'run' AND name = ?1 OR subject = 'sweep' AND name IN "
                              "(SELECT sweep FROM sweep_run WHERE run_id = ?1)))", &marks.tag);
  if (code == CORE_OK)
    code = store_query_open(database,
                            "SELECT EXISTS(SELECT 1 FROM annotation WHERE key = 'pinned' AND value = ?1)",
                            &marks.pinned);
  if (code == CORE_OK) code = keep(&marks, where, count, selection);

  if (marks.tag) store_query_close(&marks.tag);
  if (marks.pinned) store_query_close(&marks.pinned);
  return code == CORE_OK && selection->count == 0 ? nothing_left(database) : code;
}
