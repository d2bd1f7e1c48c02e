/* Describes parents of runs (select.h). */
#include "analysis/runs/select.h"

#include <string.h>

#include "core/config/config.h"
#include "core/error.h"
#include "store/database/query.h"

static int read_parent(StoreQuery *query, const char *id, CoreConfig *config, bool *found) {
  bool row = false;
  store_query_reset(query);
  store_query_bind_text(query, 1, id);
  TRY(store_query_step(query, &row));
  const char *text = row ? store_query_text(query, 0) : NULL;
  *found = text && analysis_config_from_json(text, config) == CORE_OK;
  core_error_clear();
  return CORE_OK;
}

/* Formats "com 8, eps 0.2 at 1430"; "the same at 1430" for a parent that differs only in its own init.from. */
static void describe(const AnalysisConfig *parent, const AnalysisConfig *child, int64_t iteration, char *text,
                     size_t size) {
  CoreText words = {0}, theirs = {0}, ours = {0};
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);

  for (size_t i = 0; i < count; i++) {
    if (!rows[i].identity || strcmp(rows[i].section, "init") == 0 || strcmp(rows[i].name, "train.seed") == 0) continue;
    const char *value = analysis_key_own_value(parent, &rows[i], &theirs);
    if (strcmp(value, analysis_key_own_value(child, &rows[i], &ours)) == 0 || !*value) continue;
    core_text_appendf(&words, "%s%s %s", words.length ? ", " : "", analysis_key_name(&rows[i]), value);
  }

  if (!words.length) core_text_append(&words, "the same");
  if (iteration >= 0) core_text_appendf(&words, " at %lld", (long long)iteration);
  if (words.length < size) memcpy(text, words.data, words.length + 1);

  core_text_free(&words);
  core_text_free(&theirs);
  core_text_free(&ours);
}

int analysis_parents_name(StoreDatabase *database, AnalysisSelection *selection) {
  StoreQuery *query = NULL;
  int code = CORE_OK;
  TRY(store_query_open(database, "SELECT config FROM run WHERE id = ?1", &query));

  for (size_t r = 0; r < selection->count; r++) {
    if (code != CORE_OK) break;
    AnalysisRun *run = &selection->runs[r];
    const char *from = run->config.shared->init.from;
    CoreConfig parent;
    CoreOrigin origin;
    bool found = false;

    if (!*from) continue;
    if (core_origin_parse(from, &origin) != CORE_OK || !origin.is_run) {
      core_error_clear();
      continue;
    }

    memcpy(run->parent, origin.run, sizeof run->parent);
    code = read_parent(query, origin.run, &parent, &found);
    if (!found) continue;

    CoreConfig child = analysis_config_whole(&run->config);
    describe(&(AnalysisConfig){&parent, parent.train.seed}, &run->config, origin.iteration, child.init.from,
             sizeof child.init.from);
    run->config.shared = analysis_configs_share(selection->configs, &child);
  }

  store_query_close(&query);
  return code;
}
