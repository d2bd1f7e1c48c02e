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
#include "sweep/spec/markers.h"
#include "sweep/spec/trust.h"

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

/* Reads the program of a run. NULL: there is none, or no such run. */
static const CoreScript *read_program(const char *root, const char *id) {
  char path[CORE_PATH_MAX];
  CoreConfig config = core_config_default();
  if (store_path_run(root, id, "config.ini", path) != CORE_OK || core_config_read(path, &config) != CORE_OK)
    core_error_clear();
  return config.program;
}

/* Returns the name that [metric] gives to a column; "": none. */
static const char *metric_of(const CoreScript *program, const char *column) {
  const CoreScriptDefinition *definition = program->definition;
  for (size_t i = 0; i < definition->metric_count; i++)
    if (strcmp(definition->metrics[i].column, column) == 0) return definition->metrics[i].name;
  return "";
}

/* Compares what turns the records of two programs into rows. *key: the first difference, and its two values. Returns
 * whether there is one. */
static bool differs(const CoreScript *old, const CoreScript *now, const char **key, const char *values[2]) {
  static const CoreScriptKey keys[] = {CORE_SCRIPT_metrics, CORE_SCRIPT_step, CORE_SCRIPT_goal};
  static const char *const names[] = {"metrics", "step", "goal"};

  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    *key = names[i];
    values[0] = core_script_text(old, keys[i]);
    values[1] = core_script_text(now, keys[i]);
    if (strcmp(values[0], values[1]) != 0) return true;
  }

  const CoreScript *both[] = {old, now};
  for (size_t side = 0; side < 2; side++)
    for (size_t i = 0; i < both[side]->definition->metric_count; i++) {
      *key = both[side]->definition->metrics[i].column;
      values[0] = metric_of(old, *key);
      values[1] = metric_of(now, *key);
      if (strcmp(values[0], values[1]) != 0) return true;
    }
  return false;
}

/* Notes a finished run whose rows were made by other keys of [program] or [metric], which are not part of its id. */
static void compare_mapping(const char *root, const char *id, const CoreScript *program, SweepCodeChanges *codes) {
  const CoreScript *old = read_program(root, id);
  const char *key, *values[2];
  if (!old || !differs(old, program, &key, values)) return;
  if (codes->remapped++ == 0)
    core_text_appendf(&codes->mapping, "%s = %s, now %s", key, *values[0] ? values[0] : "(none)",
                      *values[1] ? values[1] : "(none)");
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

  for (size_t run = 0; run < grid->runs; run++) {
    if (code != CORE_OK) break;
    if (!is_repeated(grid, run, &config, &previous)) code = find_code(&config, &found);
    if (code != CORE_OK || (!found && !config.program)) continue;
    if (store_run_state_read(root, grid->ids[run], true, &state) != CORE_OK) core_warn("%s", core_error_message());
    if (config.program && store_status_is_final(state.status))
      compare_mapping(root, grid->ids[run], config.program, codes);
    if (!found) continue;
    add_line(&codes->current, found);
    compare_run(found, &state, core_text_string(&kept), codes);
  }

  core_text_free(&kept);
  return code;
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

void sweep_code_describe_absent(const SweepCodeChanges *codes, CoreText *text) {
  if (codes->absent > 0)
    core_text_appendf(text, "%s since these runs: %zu run%s the old code", core_text_string(&codes->absent_difference),
                      codes->absent, codes->absent == 1 ? " keeps" : "s keep");
}

void sweep_code_describe_mapping(const SweepCodeChanges *codes, CoreText *text) {
  if (codes->remapped > 0)
    core_text_appendf(text, "%zu finished run%s rows that were read with %s; --force runs %s again", codes->remapped,
                      codes->remapped == 1 ? " keeps" : "s keep", core_text_string(&codes->mapping),
                      codes->remapped == 1 ? "it" : "them");
}

void sweep_code_describe(const SweepCodeChanges *codes, CoreText *text) {
  const size_t runs = codes->finished + codes->unfinished;
  if (runs == 0) return;
  if (codes->finished > 0) core_text_appendf(text, "%zu finished", codes->finished);
  if (codes->unfinished > 0)
    core_text_appendf(text, "%s%zu unfinished", codes->finished > 0 ? " and " : "", codes->unfinished);
  core_text_appendf(text, " run%s made by other code (%s)", runs == 1 ? " was" : "s were",
                    core_text_string(&codes->difference));
}

void sweep_code_free(SweepCodeChanges *codes) {
  core_text_free(&codes->current);
  core_text_free(&codes->changed);
  core_text_free(&codes->difference);
  core_text_free(&codes->absent_difference);
  core_text_free(&codes->mapping);
}

/* Records the accepted code in the sweep's directory, before anything starts. */
static int record_kept(const char *root, const SweepGrid *grid, const SweepCodeChanges *codes) {
  char *lines = core_text_duplicate(core_text_string(&codes->changed)), *rest;
  int code = CORE_OK;
  for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    char *summary = line;
    const char *hash = strsep(&summary, "\t");
    code = sweep_kept_add(root, grid->spec->name, hash, summary ? summary : "");
    if (code != CORE_OK) break;
  }
  free(lines);
  return code;
}

int sweep_code_admit_text(const char *root, const SweepSpec *spec, const SweepCodeChoice *choice) {
  int code = sweep_trust_check(root, spec);
  const bool is_new = code == CORE_USAGE;
  if (is_new && choice->out) {
    fprintf(choice->out, "%s: %s:\n", spec->name,
            choice->trust ? "trusted from now on" : "--trust would accept this");
    sweep_trust_print(spec, choice->out);
    fflush(choice->out);
  }
  if (is_new && choice->trust) {
    core_error_clear();
    code = CORE_OK;
  }
  if (code == CORE_OK) code = sweep_trust_accept(root, spec);
  return code;
}

int sweep_code_admit(const char *root, const SweepGrid *grid, const SweepCodeChoice *choice) {
  SweepCodeChanges codes = {0};
  CoreText text = {0};
  store_code_clear_cache(); /* files may have changed since */
  TRY(sweep_code_admit_text(root, grid->spec, choice));
  TRY(sweep_code_check_trust(grid, choice->trust));

  int code = sweep_code_compare(root, grid, &codes);
  const bool has_changed = codes.finished + codes.unfinished > codes.kept;
  if (code == CORE_OK && has_changed && !choice->force && !choice->keep) {
    sweep_code_describe(&codes, &text);
    code = core_error(CORE_USAGE, "%s: %s; --force starts them over, --keep accepts the mix", grid->spec->name,
                      core_text_string(&text));
  }

  if (code == CORE_OK && codes.remapped > 0 && !choice->force) {
    sweep_code_describe_mapping(&codes, &text);
    core_warn("%s: %s", grid->spec->name, core_text_string(&text));
  }
  if (code == CORE_OK && has_changed && choice->keep) code = record_kept(root, grid, &codes);

  core_text_free(&text);
  sweep_code_free(&codes);
  return code;
}
