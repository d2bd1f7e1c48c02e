/* Writes a question as lines of JSON, runs the program, and checks every line of its answer (ask.h). */
#include "sweep/search/ask.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/process.h"
#include "core/unicode.h"
#include "store/code/code.h"

enum { PROTOCOL = 1, SHOWN = 200 /* characters of an answer in a message */ };

/* ---- question ---------------------------------------------------------------------------------------------------- */

/* Appends a value as one line, and releases it. */
static void append_line(json_t *value, CoreText *text) {
  core_json_append(value, 0, text);
  core_text_append(text, "\n");
  json_decref(value);
}

/* Returns 31 bits, which every generator takes. */
static json_int_t seed_of(const SweepAsk *ask, const char *purpose) {
  return (json_int_t)(core_search_seed(ask->spec->name, ask->search->name, purpose) >> 33);
}

static json_t *choices_json(const CoreSearchAxis *axis, uint64_t which) {
  json_t *list = json_array();
  for (size_t c = 0; c < axis->choice_count; c++)
    if (which >> c & 1) json_array_append_new(list, core_json_text(axis->choices[c]));
  return list;
}

/* Makes a number of a setting: a whole one for integers. */
static json_t *number_json(const CoreSearchAxis *axis, double value) {
  return axis->row->kind == CORE_CONFIG_INT ? json_integer((json_int_t)value) : core_json_real(value);
}

static json_t *axis_json(const CoreSearch *space, size_t index) {
  static const char *const scales[] = {"linear", "log", "logit", "pow2"};
  const CoreSearchAxis *axis = &space->axes[index];
  json_t *made = json_pack("{s:s}", "setting", axis->row->name);
  if (axis->choices) {
    json_object_set_new(made, "kind", core_json_text("choice"));
    json_object_set_new(made, "choices", choices_json(axis, UINT64_MAX));
  } else {
    json_object_set_new(made, "kind", core_json_text(axis->row->kind == CORE_CONFIG_INT ? "integer" : "real"));
    json_object_set_new(made, "scale", core_json_text(scales[axis->scale]));
    json_object_set_new(made, "low", number_json(axis, axis->low));
    json_object_set_new(made, "high", number_json(axis, axis->high));
  }
  if (axis->parent == CORE_SEARCH_NO_PARENT) return made;

  const CoreSearchAxis *parent = &space->axes[axis->parent];
  json_object_set_new(made, "when", json_pack("{s:s, s:o}", "setting", parent->row->name, "choices",
                                              choices_json(parent, axis->when)));
  return made;
}

static json_t *head_json(const SweepAsk *ask) {
  const CoreSearch *space = &ask->search->space;
  json_t *goals = json_array(), *axes = json_array();
  for (size_t g = 0; g < space->goal_count; g++)
    json_array_append_new(goals, json_pack("{s:s, s:s}", "direction", space->goals[g].minimize ? "min" : "max",
                                           "measure", space->goals[g].measure));
  for (size_t i = 0; i < space->count; i++) json_array_append_new(axes, axis_json(space, i));

  json_t *head = json_pack("{s:i, s:s, s:s, s:I, s:I, s:o, s:o}", "protocol", PROTOCOL, "sweep", ask->spec->name,
                           "search", ask->search->name, "seed", seed_of(ask, ""), "trials", (json_int_t)space->trials,
                           "goals", goals, "space", axes);
  if (space->method == CORE_SEARCH_OPTUNA) json_object_set_new(head, "sampler", core_json_text(space->program));
  return head;
}

/* Makes {"ppo.epochs": 3, "algo.name": "ppo"} of the active settings. */
static json_t *settings_json(const CoreSearch *space, const double *coordinate) {
  json_t *settings = json_object();
  CoreText text = {0};
  for (size_t i = 0; i < space->count; i++) {
    const CoreSearchAxis *axis = &space->axes[i];
    double number;
    if (isnan(coordinate[i])) continue;
    const char *value = core_search_value_at(axis, coordinate[i], &text);
    const bool is_number = !axis->choices && core_text_to_real(value, &number);
    json_object_set_new(settings, axis->row->name, is_number ? number_json(axis, number) : core_json_text(value));
  }
  core_text_free(&text);
  return settings;
}

static json_t *trial_json(const SweepAsk *ask, size_t trial, double *coordinate) {
  const CoreSearch *space = &ask->search->space;
  const bool has_ended = trial < ask->known, has_value = has_ended && ask->results[trial].has_value;
  json_t *values = has_value ? json_array() : NULL;
  for (size_t g = 0; g < space->goal_count && has_value; g++)
    json_array_append_new(values, core_json_real(ask->results[trial].value[g]));

  sweep_search_trial(ask->search, trial, coordinate);
  const int64_t wave = has_ended ? ask->search->wave[trial] : ask->wave;
  return json_pack("{s:I, s:I, s:s, s:o, s:o}", "trial", (json_int_t)trial, "wave", (json_int_t)wave, "state",
                   has_value ? "ended" : has_ended ? "failed" : "waiting", "settings",
                   settings_json(space, coordinate), "values", values);
}

static void append_question(const SweepAsk *ask, CoreText *text) {
  const CoreSearch *space = &ask->search->space;
  double coordinate[CORE_SEARCH_AXES_MAX];
  char purpose[64];

  append_line(head_json(ask), text);
  for (size_t trial = 0; trial < ask->search->trials && ask->wanted > 0; trial++)
    append_line(trial_json(ask, trial, coordinate), text);
  for (size_t i = 0; i < ask->refused; i++)
    append_line(json_pack("{s:o, s:s}", "refused", settings_json(space, ask->refusals[i].coordinate), "reason",
                          ask->refusals[i].reason), text);

  snprintf(purpose, sizeof purpose, "wave %lld round %lld", (long long)ask->wave, (long long)ask->round);
  append_line(json_pack("{s:I, s:I, s:I}", "ask", (json_int_t)ask->wanted, "wave", (json_int_t)ask->wave, "seed",
                        seed_of(ask, purpose)), text);
}

/* ---- program ----------------------------------------------------------------------------------------------------- */

/* Returns an error about the program: "[search s]: method = command:/a/b.py: PROBLEM". */
static int program_error(const SweepAsk *ask, int code, const char *problem) {
  CoreText method = {0};
  char *plain = core_text_duplicate(problem); /* it may be the message of the last error */
  core_unicode_mask_line(plain);
  core_search_method_print(&ask->search->space, &method);
  core_error(code, "[%s]: method = %s: %s; nothing was recorded, so sweep submit %s asks again",
             ask->search->entry->section, core_text_string(&method), plain, ask->spec->name);
  core_text_free(&method);
  free(plain);
  return code;
}

/* Fills the command line of the program. paths: buffers. */
static int find_program(const SweepAsk *ask, char paths[2][CORE_PATH_MAX], const char *arguments[4]) {
  const CoreSearch *space = &ask->search->space;
  char hash[CORE_SHA256];
  if (space->method == CORE_SEARCH_OPTUNA) {
    TRY(core_program_library_file("ask_optuna.py", paths[0]));
    arguments[0] = store_code_python("", paths[1]);
    arguments[1] = paths[0];
    return CORE_OK;
  }

  arguments[0] = space->program;
  const int code = core_sha256_file(space->program, hash, NULL);
  if (code != CORE_OK) return program_error(ask, code, core_error_message());
  if (strcmp(hash, space->program_hash) == 0) return CORE_OK;
  return program_error(ask, CORE_USAGE, "the program was changed after the sweep was submitted; submit the experiment "
                       "file again to accept it as it is now");
}

/* Returns the last line of a program's messages, without its newline. */
static const char *last_line(CoreText *text) {
  while (text->length > 0 && strchr("\r\n ", text->data[text->length - 1])) text->data[--text->length] = '\0';
  const char *string = core_text_string(text), *newline = strrchr(string, '\n');
  return newline ? newline + 1 : string;
}

static int run_program(const SweepAsk *ask, const char *question, CoreProcessOutput *output) {
  char paths[2][CORE_PATH_MAX], problem[512];
  const char *arguments[4] = {NULL};
  const int64_t timeout_s = ask->search->space.timeout_s;
  TRY(find_program(ask, paths, arguments));
  const int code = core_process_run(arguments, NULL, question, (int)timeout_s, output);
  if (code != CORE_OK) return program_error(ask, code, core_error_message());
  if (!output->timed_out && output->exit_code == 0) return CORE_OK;

  if (output->timed_out)
    snprintf(problem, sizeof problem, "it did not end within timeout = %lld seconds, and was killed",
             (long long)timeout_s);
  else if (output->exit_code > 128)
    snprintf(problem, sizeof problem, "it was killed by signal %d", output->exit_code - 128);
  else {
    const char *said = last_line(&output->error);
    snprintf(problem, sizeof problem, "it failed with exit code %d%s%.*s", output->exit_code, *said ? ": " : "", SHOWN,
             said);
  }
  return program_error(ask, CORE_FAIL, problem);
}

/* ---- answer ------------------------------------------------------------------------------------------------------ */

/* Gets a setting's coordinate. Returns a problem; NULL: none. */
static const char *read_value(const CoreSearchAxis *axis, const json_t *value, double *coordinate) {
  char text[64];
  CoreText canonical = {0};
  if (axis->choices) {
    const char *choice = json_string_value(value);
    *coordinate = choice ? core_search_coordinate(axis, choice) : NAN;
    return isnan(*coordinate) ? "is none of its choices, which are texts" : NULL;
  }

  if (!json_is_number(value)) return "is no number";
  const double number = json_number_value(value);
  if (!isfinite(number)) return "is not finite";
  if (axis->row->kind == CORE_CONFIG_INT && floor(number) != number) return "is no whole number";
  core_text_from_real(number, text);
  *coordinate = core_search_coordinate(axis, text);
  if (isnan(*coordinate)) return "is outside of the space";

  *coordinate = core_search_coordinate(axis, core_search_value_at(axis, *coordinate, &canonical));
  core_text_free(&canonical);
  return NULL;
}

/* Fills coordinate[axes] from the settings of a line. Values of inactive settings are ignored. CORE_FAIL: `problem` has
 * what is wrong. */
static int read_settings(const CoreSearch *space, const json_t *settings, double *coordinate, CoreText *problem) {
  const char *name;
  json_t *value;
  CoreText text = {0};

  for (size_t i = 0; i < space->count; i++) coordinate[i] = NAN;
  for (size_t i = 0; i < space->count && problem->length == 0; i++) {
    const size_t axis = space->order[i];
    const CoreSearchAxis *of = &space->axes[axis];
    if (!core_search_is_active(space, axis, coordinate)) continue;
    value = json_object_get(settings, of->row->name);
    const char *wrong = value ? read_value(of, value, &coordinate[axis]) : NULL;
    if (!value) core_text_appendf(problem, "has no value of %s", of->row->name);
    if (!wrong) continue;

    core_search_axis_print(space, axis, &text);
    core_text_appendf(problem, "has %s = ", of->row->name);
    core_json_append(value, 0, problem);
    core_text_appendf(problem, ", which %s; its values are %s", wrong, core_text_string(&text));
  }

  json_object_foreach((json_t *)settings, name, value) {
    const CoreConfigRow *row = core_config_find(name);
    bool is_searched = false;
    for (size_t i = 0; i < space->count; i++) is_searched |= space->axes[i].row == row;
    if (!is_searched && problem->length == 0) core_text_appendf(problem, "has %.80s, which is not searched", name);
  }
  core_text_free(&text);
  return problem->length == 0 ? CORE_OK : CORE_FAIL;
}

/* Reads one line of the answer, {"settings": {...}} or {"error": "..."} (CORE_USAGE: `problem` has its text). */
static int read_line(const CoreSearch *space, const char *line, double *coordinate, CoreText *problem) {
  json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
  const json_t *settings = json_object_get(root, "settings");
  const char *error = json_string_value(json_object_get(root, "error"));
  int code = CORE_FAIL;

  if (error) {
    core_text_append(problem, error);
    code = CORE_USAGE;
  } else if (!json_is_object(root))
    core_text_appendf(problem, "is no object of JSON: '%.*s'", SHOWN, line);
  else if (!json_is_object(settings))
    core_text_appendf(problem, "has no settings: '%.*s'", SHOWN, line);
  else code = read_settings(space, settings, coordinate, problem);
  json_decref(root);
  return code;
}

/* Reads the proposals. Empty lines are skipped. */
static int read_answer(const SweepAsk *ask, char *answer, double *coordinates) {
  const CoreSearch *space = &ask->search->space;
  double beyond[CORE_SEARCH_AXES_MAX];
  CoreText problem = {0}, message = {0};
  size_t count = 0, number = 0;
  int code = CORE_OK;

  for (char *tail = answer; tail && *tail && problem.length == 0;) {
    const char *line = strsep(&tail, "\n");
    number++;
    if (line[strspn(line, " \t\r")] == '\0') continue;
    const bool is_wanted = count < ask->wanted;
    code = read_line(space, line, is_wanted ? coordinates + count * space->count : beyond, &problem);
    count++;
  }

  if (code == CORE_USAGE) core_text_append(&message, core_text_string(&problem));
  else if (problem.length > 0)
    core_text_appendf(&message, "line %zu of its answer %s", number, core_text_string(&problem));
  else if (count != ask->wanted)
    core_text_appendf(&message, "it proposed %zu trials, but was asked for %zu", count, ask->wanted);
  code = message.length == 0 ? CORE_OK : program_error(ask, CORE_FAIL, core_text_string(&message));
  core_text_free(&problem);
  core_text_free(&message);
  return code;
}

int sweep_ask(const SweepAsk *ask, double *coordinates) {
  CoreText question = {0};
  CoreProcessOutput output = {0};
  append_question(ask, &question);
  int code = run_program(ask, core_text_string(&question), &output);
  if (code == CORE_OK) code = read_answer(ask, output.out.data, coordinates);
  core_text_free(&question);
  core_process_output_free(&output);
  return code;
}

int sweep_ask_check(const SweepSpec *spec) {
  for (size_t i = 0; i < spec->search_count; i++) {
    const SweepSearch *search = &spec->searches[i];
    if (!core_search_has_program(&search->space) || !sweep_search_is_open(search)) continue;
    TRY(sweep_ask(&(SweepAsk){.spec = spec, .search = search}, NULL));
  }
  return CORE_OK;
}
