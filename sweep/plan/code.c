/* Each kind of code in a grid is looked at once (code.h). */
#include "sweep/plan/code.h"

#include <stdlib.h>
#include <string.h>

#include "core/config/script.h"
#include "core/log.h"
#include "store/code/code.h"
#include "store/code/trust.h"
#include "store/workspace/run.h"
#include "sweep/spec/kept.h"

static bool has_same_code(const CoreConfig *a, const CoreConfig *b) {
  if (a->program || b->program) return a->program && b->program && a->program->definition == b->program->definition;
  return strcmp(a->env.task, b->env.task) == 0 && strcmp(a->env.python, b->env.python) == 0 &&
         strcmp(a->env.code, b->env.code) == 0 && strcmp(a->env.folder, b->env.folder) == 0;
}

/* Is it that of the run before? */
static bool is_repeated(const SweepGrid *grid, size_t run, CoreConfig *config, CoreConfig *last) {
  sweep_grid_config(grid, run, config);
  const bool repeated = run > 0 && has_same_code(config, last);
  *last = *config;
  return repeated;
}

int sweep_code_look_at_trust(const SweepGrid *grid, bool grant, CoreText *message) {
  CoreConfig config, last;
  char words[STORE_TRUST_MESSAGE];
  for (size_t run = 0; run < grid->runs && message->length == 0; run++) {
    if (is_repeated(grid, run, &config, &last)) continue;
    if (config.program && grid->spec->is_own_program && !grant) continue; /* sweep submit grants it */
    TRY(store_trust_examine(&config, grant, words));
    core_text_append(message, words);
  }
  return CORE_OK;
}

int sweep_code_check_trust(const SweepGrid *grid, bool grant) {
  CoreText message = {0};
  int code = sweep_code_look_at_trust(grid, grant, &message);
  if (code == CORE_OK && message.length > 0)
    code = core_error(CORE_USAGE, "%s: %s", grid->spec->ini.file, core_text_string(&message));
  core_text_free(&message);
  return code;
}

/* ---- runs by other code ------------------------------------------------------------------------------------------ */

static void add_line(CoreText *lines, const StoreCode *code) {
  CoreText line = {0};
  core_text_appendf(&line, "%s\t%s\n", code->hash, code->summary);
  if (!strstr(core_text_string(lines), line.data)) core_text_append(lines, line.data);
  core_text_free(&line);
}

/* The code of a configuration; NULL: the trainer's alone, or not to be found out. */
static int find_code(const CoreConfig *config, const StoreCode **code) {
  char message[STORE_TRUST_MESSAGE];
  *code = NULL;
  TRY(store_trust_examine_python(config, false, message));
  if (*message) return CORE_OK;
  TRY(store_code_find(config, code));
  if (!*(*code)->hash) *code = NULL;
  return CORE_OK;
}

static void compare_run(const StoreCode *code, const StoreState *state, const char *kept, SweepCodes *codes) {
  const bool ended = state->status == STORE_FINISHED || state->status == STORE_DIVERGED;
  if (!*state->code || strcmp(state->code, code->hash) == 0 || (!ended && state->iteration == 0)) return;
  if (codes->what.length == 0) {
    const char *before = strstr(state->code_files, "; before: ");
    if (before) core_text_append(&codes->what, "it changed while they were trained");
    else store_code_compare(state->code_files, code->summary, &codes->what);
  }
  (*(ended ? &codes->ended : &codes->begun))++;
  codes->kept += strstr(kept, code->hash) != NULL;
  add_line(&codes->changed, code);
}

int sweep_code_compare(const char *root, const SweepGrid *grid, SweepCodes *codes) {
  CoreConfig config, last;
  StoreState state;
  CoreText kept = {0};
  const StoreCode *found = NULL;
  int code = sweep_kept_read(root, grid->spec->name, &kept);
  for (size_t run = 0; run < grid->runs && code == CORE_OK; run++) {
    if (!is_repeated(grid, run, &config, &last)) code = find_code(&config, &found);
    if (code != CORE_OK || !found) continue;
    add_line(&codes->now, found);
    if (store_run_state_read(root, grid->ids[run], true, &state) != CORE_OK) core_warn("%s", core_error_message());
    compare_run(found, &state, core_text_string(&kept), codes);
  }
  core_text_free(&kept);
  return code;
}

void sweep_code_describe(const SweepCodes *codes, CoreText *text) {
  const size_t all = codes->ended + codes->begun;
  if (all == 0) return;
  if (codes->ended > 0) core_text_appendf(text, "%zu finished", codes->ended);
  if (codes->begun > 0)
    core_text_appendf(text, "%s%zu unfinished", codes->ended > 0 ? " and " : "", codes->begun);
  core_text_appendf(text, " run%s made by other code (%s)", all == 1 ? " was" : "s were",
                    core_text_string(&codes->what));
}

void sweep_code_free(SweepCodes *codes) {
  core_text_free(&codes->now);
  core_text_free(&codes->changed);
  core_text_free(&codes->what);
}

/* What is kept is in the sweep's folder before anything starts. */
static int keep(const char *root, const SweepGrid *grid, const SweepCodes *codes) {
  char *lines = core_text_duplicate(core_text_string(&codes->changed)), *rest;
  int code = CORE_OK;
  for (char *line = strtok_r(lines, "\n", &rest); line && code == CORE_OK; line = strtok_r(NULL, "\n", &rest)) {
    char *summary = line;
    const char *hash = strsep(&summary, "\t");
    code = sweep_kept_add(root, grid->spec->name, hash, summary ? summary : "");
  }
  free(lines);
  return code;
}

int sweep_code_admit(const char *root, const SweepGrid *grid, const SweepCodeChoice *choice) {
  SweepCodes codes = {0};
  CoreText text = {0};
  store_code_clear_cache(); /* files may have changed since */
  const bool granted = choice->trust || grid->spec->is_own_program;
  TRY(sweep_code_check_trust(grid, granted && !choice->dry_run));
  int code = sweep_code_compare(root, grid, &codes);
  const bool changed = codes.ended + codes.begun > codes.kept;
  if (code == CORE_OK && changed && !choice->force && !choice->keep) {
    sweep_code_describe(&codes, &text);
    code = core_error(CORE_USAGE, "%s: %s; --force starts them over, --keep mixes them knowingly", grid->spec->name,
                      core_text_string(&text));
  }
  if (code == CORE_OK && changed && choice->keep && !choice->dry_run) code = keep(root, grid, &codes);
  core_text_free(&text);
  sweep_code_free(&codes);
  return code;
}

int sweep_code_admit_sweep(const SweepCommon *common, const char *name, const SweepCodeChoice *choice) {
  SweepSpec spec;
  SweepGrid grid;
  TRY(sweep_common_spec(common, name, &spec));
  int code = sweep_grid_expand(&spec, &grid);
  if (code == CORE_OK) {
    code = sweep_code_admit(common->root, &grid, choice);
    sweep_grid_free(&grid);
  }
  sweep_spec_free(&spec);
  return code;
}
