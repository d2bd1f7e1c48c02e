/* Each kind of code in a grid is looked at once (code.h). */
#include "sweep/plan/code.h"

#include <stdlib.h>
#include <string.h>

#include "core/config/script.h"
#include "core/log.h"
#include "store/code/code.h"
#include "store/code/trust.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/kept.h"

static bool has_same_code(const CoreConfig *a, const CoreConfig *b) {
  if (a->program || b->program) return a->program && b->program && a->program->definition == b->program->definition;
  return strcmp(a->env.task, b->env.task) == 0 && strcmp(a->env.python, b->env.python) == 0 &&
         strcmp(a->env.code, b->env.code) == 0 && strcmp(a->env.folder, b->env.folder) == 0;
}

/* Gets the configuration of a run. Returns whether its code is that of the previous run. */
static bool is_repeated(const SweepGrid *grid, size_t run, CoreConfig *config, CoreConfig *previous) {
  sweep_grid_config(grid, run, config);
  const bool is_same = run > 0 && has_same_code(config, previous);
  *previous = *config;
  return is_same;
}

int sweep_code_find_untrusted(const SweepGrid *grid, bool grant, CoreText *message) {
  CoreConfig config, previous;
  char problem[STORE_TRUST_MESSAGE];
  for (size_t run = 0; run < grid->runs && message->length == 0; run++) {
    if (is_repeated(grid, run, &config, &previous)) continue;
    if (config.program && grid->spec->is_own_program && !grant)
      continue; /* sweep submit trusts the program of its own file */
    TRY(store_trust_examine(&config, grant, problem));
    core_text_append(message, problem);
  }
  return CORE_OK;
}

int sweep_code_check_trust(const SweepGrid *grid, bool grant) {
  CoreText message = {0};
  int code = sweep_code_find_untrusted(grid, grant, &message);
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

/* Finds the code of a configuration; NULL: the trainer's only, or unknown. */
static int find_code(const CoreConfig *config, const StoreCode **code) {
  char message[STORE_TRUST_MESSAGE];
  *code = NULL;
  TRY(store_trust_examine_python(config, false, message));
  if (*message) return CORE_OK;
  TRY(store_code_find(config, code));
  if (!*(*code)->hash) *code = NULL;
  return CORE_OK;
}

static void compare_run(const StoreCode *code, const StoreState *state, const char *kept, SweepCodeChanges *codes) {
  const bool has_ended = store_status_is_final(state->status);
  if (!*state->code || strcmp(state->code, code->hash) == 0 || (!has_ended && state->iteration == 0)) return;
  if (codes->difference.length == 0) {
    const bool has_changed = strstr(state->code_files, "; before: ") != NULL;
    if (has_changed) core_text_append(&codes->difference, "it changed while they were trained");
    else store_code_compare(state->code_files, code->summary, &codes->difference);
  }
  if (has_ended) codes->finished++;
  else codes->unfinished++;
  codes->kept += strstr(kept, code->hash) != NULL;
  add_line(&codes->changed, code);
}

int sweep_code_compare(const char *root, const SweepGrid *grid, SweepCodeChanges *codes) {
  CoreConfig config, previous;
  StoreState state;
  CoreText kept = {0};
  const StoreCode *found = NULL;
  int code = sweep_kept_read(root, grid->spec->name, &kept);
  for (size_t run = 0; run < grid->runs && code == CORE_OK; run++) {
    if (!is_repeated(grid, run, &config, &previous)) code = find_code(&config, &found);
    if (code != CORE_OK || !found) continue;
    add_line(&codes->current, found);
    if (store_run_state_read(root, grid->ids[run], true, &state) != CORE_OK) core_warn("%s", core_error_message());
    compare_run(found, &state, core_text_string(&kept), codes);
  }
  core_text_free(&kept);
  return code;
}

/* Reads the program of a run. NULL: there is none, or no such run. */
static const CoreScript *read_program(const char *root, const char *id) {
  char path[CORE_PATH_MAX];
  CoreConfig config = core_config_default();
  if (store_path_run(root, id, "config.ini", path) != CORE_OK || core_config_read(path, &config) != CORE_OK)
    core_error_clear();
  return config.program;
}

void sweep_code_compare_absent(const char *root, const SweepGrid *grid, const SweepManifest *manifest,
                               SweepCodeChanges *codes) {
  const CoreScript *program = grid->spec->base.program;
  SweepIdSet present = {0};
  if (!program) return;
  const char *hash = core_script_text(program, CORE_SCRIPT_code_hash);
  sweep_id_set_add_all(&present, (const char(*)[CORE_RUN_ID])grid->ids, grid->runs);
  for (size_t i = 0; i < manifest->count; i++) {
    size_t index;
    if (sweep_id_set_find(&present, manifest->ids[i], &index)) continue;
    const CoreScript *old = read_program(root, manifest->ids[i]);
    if (!old || strcmp(core_script_text(old, CORE_SCRIPT_code_hash), hash) == 0) continue;
    if (codes->absent++ == 0)
      store_code_compare(core_script_text(old, CORE_SCRIPT_code_files),
                         core_script_text(program, CORE_SCRIPT_code_files), &codes->absent_difference);
  }
  sweep_id_set_free(&present);
}

void sweep_code_describe(const SweepCodeChanges *codes, CoreText *text) {
  const size_t all = codes->finished + codes->unfinished;
  if (all == 0) return;
  if (codes->finished > 0) core_text_appendf(text, "%zu finished", codes->finished);
  if (codes->unfinished > 0)
    core_text_appendf(text, "%s%zu unfinished", codes->finished > 0 ? " and " : "", codes->unfinished);
  core_text_appendf(text, " run%s made by other code (%s)", all == 1 ? " was" : "s were",
                    core_text_string(&codes->difference));
}

void sweep_code_free(SweepCodeChanges *codes) {
  core_text_free(&codes->current);
  core_text_free(&codes->changed);
  core_text_free(&codes->difference);
  core_text_free(&codes->absent_difference);
}

/* Records the accepted code in the sweep's directory, before anything starts. */
static int record_kept(const char *root, const SweepGrid *grid, const SweepCodeChanges *codes) {
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
  SweepCodeChanges codes = {0};
  CoreText text = {0};
  store_code_clear_cache(); /* files may have changed since */
  const bool is_trusted = choice->trust || grid->spec->is_own_program;
  TRY(sweep_code_check_trust(grid, is_trusted && !choice->dry_run));
  int code = sweep_code_compare(root, grid, &codes);
  const bool has_changed = codes.finished + codes.unfinished > codes.kept;
  if (code == CORE_OK && has_changed && !choice->force && !choice->keep) {
    sweep_code_describe(&codes, &text);
    code = core_error(CORE_USAGE, "%s: %s; --force starts them over, --keep accepts the mix", grid->spec->name,
                      core_text_string(&text));
  }
  if (code == CORE_OK && has_changed && choice->keep && !choice->dry_run) code = record_kept(root, grid, &codes);
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
