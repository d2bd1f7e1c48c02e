/* Formats the command of the first run, its code and hints (plan.h). */
#include "sweep/plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "core/unicode.h"
#include "core/config/script.h"
#include "store/workspace/paths.h"

/* ---- hints ------------------------------------------------------------------------------------------------------- */

static bool is_end(char c) { return c == '\0' || c == ' ' || c == '\t'; }

/* Returns the length of what a shell would interpret at `c`; 0: nothing. in_quotes: inside "...". */
static size_t shell_length(const char *c, bool begins_word, bool in_quotes) {
  static const char *const operators[] = {"&&", "||", "2>&1", ">>", "<<", "|", ">", "<"};
  const bool is_name = (c[1] >= 'a' && c[1] <= 'z') || (c[1] >= 'A' && c[1] <= 'Z') || c[1] == '_';
  if (*c == '$' && (is_name || c[1] == '(' || (c[1] == '{' && c[2] == '{'))) return strcspn(c, " \t\"'}/:,;");
  if (*c == '`') return strcspn(c + 1, "`") + (strchr(c + 1, '`') ? 2 : 1);
  if (in_quotes) return 0;
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (strncmp(c, operators[i], strlen(operators[i])) == 0) return strlen(operators[i]);
  if ((*c == ';' || *c == '&') && is_end(c[1])) return 1;
  if (*c == '*') return 1;
  return begins_word && *c == '~' && (c[1] == '/' || is_end(c[1])) ? 1 + (c[1] == '/') : 0;
}

/* Whether the command passes text to a shell or another interpreter: sh -c '...'. */
static bool has_interpreter(const char *command) {
  return strstr(command, "sh -c ") || strstr(command, "sh -lc ") || strstr(command, "sh -ec ") ||
         strstr(command, "sh -euc ") || strstr(command, " eval ");
}

void sweep_program_find_shell(const char *command, CoreText *hints) {
  const bool skips_quotes = has_interpreter(command);
  char quote = '\0';
  bool begins_word = true;

  for (const char *c = command; *c; begins_word = is_end(*c) || *c == '=', c++) {
    if (quote ? *c == quote : *c == '"' || *c == '\'') {
      quote = quote ? '\0' : *c;
      continue;
    }
    if (quote == '\'' || (quote && skips_quotes)) continue;
    if (*c == '{' && c[1] != '{') c += strcspn(c, "}");
    if (!*c) return;

    const size_t length = shell_length(c, begins_word, quote != '\0');
    if (length == 0) continue;
    core_text_appendf(hints, "no shell interprets %.*s in command, which the program gets as it is; write a script, or "
                      "sh -c '...'\n", (int)length, c);
    c += length - 1;
    if (!c[1]) return;
  }
}

/* Adds a hint if a comment ends the line of a key, which may be meant as a part of its value. */
static void find_comment(const SweepSpec *spec, const char *key, CoreText *hints) {
  for (size_t i = 0; i < spec->ini.count; i++) {
    const CoreIniEntry *entry = &spec->ini.entries[i];
    if (!entry->key || strcmp(entry->section, "program") != 0 || strcmp(entry->key, key) != 0) continue;
    if (!*entry->comment) continue;
    core_text_appendf(hints, "%s ends before the comment '%.60s' in line %d; if that is a part of it, put \"...\" "
                      "around it\n", key, entry->comment, entry->line);
  }
}

static void find_hints(const SweepSpec *spec, CoreText *hints) {
  find_comment(spec, "command", hints);
  find_comment(spec, "setup", hints);
  find_comment(spec, "resume", hints);
  sweep_program_find_shell(core_script_text(spec->base.program, CORE_SCRIPT_command), hints);
  sweep_program_find_shell(core_script_text(spec->base.program, CORE_SCRIPT_resume), hints);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Finds the first run of the program and appends its command, and the words that a continued attempt adds. */
static int append_command(const char *root, const SweepGrid *grid, CoreText *command, CoreText *resume) {
  CoreConfig config;
  char dir[CORE_PATH_MAX], settings[CORE_PATH_MAX];
  for (size_t run = 0; run < grid->runs; run++) {
    sweep_grid_config(grid, run, &config);
    if (!config.program) continue;
    TRY(store_path_run(root, grid->ids[run], "files", dir));
    TRY(store_path_run(root, grid->ids[run], "settings.json", settings));
    const CoreScriptRun values = {.id = grid->ids[run], .dir = dir, .config = settings, .seed = config.train.seed};
    TRY(core_script_quote(config.program, core_script_text(config.program, CORE_SCRIPT_command), &values, command));
    return core_script_quote(config.program, core_script_text(config.program, CORE_SCRIPT_resume), &values, resume);
  }
  return CORE_OK;
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

static void print_skipped(const SweepSpec *spec) {
  const char *label = "not hashed";
  for (const char *line = core_text_string(&spec->code_skipped); *line; line = strchr(line, '\n') + 1) {
    const int name = (int)strcspn(line, "\t"), reason = (int)strcspn(line + name + 1, "\n");
    core_unicode_print(stdout, "%-12s %.*s (%.*s)\n", label, name, line, reason, line + name + 1);
    label = "";
  }
  if (!*label) printf("             to hash other files, list all in code = FILES\n");
}

static void print_hints(const SweepSpec *spec) {
  CoreText hints = {0};
  find_hints(spec, &hints);
  for (const char *line = core_text_string(&hints); *line; line = strchr(line, '\n') + 1)
    core_unicode_print(stdout, "hint         %.*s\n", (int)strcspn(line, "\n"), line);
  core_text_free(&hints);
}

void sweep_program_print(const char *root, const SweepPlan *plan) {
  const CoreScript *program = plan->spec->base.program;
  CoreText command = {0}, resume = {0};
  char directory[CORE_PATH_MAX];
  if (!program) return;
  print_skipped(plan->spec);

  if (append_command(root, &plan->grid, &command, &resume) == CORE_OK && command.length > 0 &&
      core_script_directory(program, directory) == CORE_OK) {
    const char *setup = core_script_text(program, CORE_SCRIPT_setup);
    core_unicode_print(stdout, "command      %s\n             in %s", command.data, directory);
    if (*setup) core_unicode_print(stdout, ", after the setup: %s", setup);
    if (resume.length > 0) core_unicode_print(stdout, "; when it continues, with %s", resume.data);
    printf("\n");
  }

  core_error_clear();
  print_hints(plan->spec);
  core_text_free(&command);
  core_text_free(&resume);
}

static json_t *json_of_lines(const char *lines) {
  json_t *list = json_array();
  for (const char *line = lines; *line; line = strchr(line, '\n') + 1) {
    CoreText text = {0};
    const size_t name = strcspn(line, "\t\n"), end = strcspn(line, "\n");
    core_text_append_bytes(&text, line, name);
    if (name < end) core_text_appendf(&text, " (%.*s)", (int)(end - name - 1), line + name + 1);
    json_array_append_new(list, core_json_text(core_text_string(&text)));
    core_text_free(&text);
  }
  return list;
}

json_t *sweep_program_json(const char *root, const SweepPlan *plan) {
  const CoreScript *program = plan->spec->base.program;
  CoreText command = {0}, resume = {0}, hints = {0};
  char directory[CORE_PATH_MAX] = "";
  if (!program) return NULL;
  if (append_command(root, &plan->grid, &command, &resume) != CORE_OK ||
      core_script_directory(program, directory) != CORE_OK)
    core_error_clear();
  find_hints(plan->spec, &hints);

  json_t *object = json_object();
  json_object_set_new(object, "command", core_json_text(core_text_string(&command)));
  json_object_set_new(object, "directory", core_json_text(directory));
  json_t *skipped = json_of_lines(core_text_string(&plan->spec->code_skipped));
  if (plan->spec->is_code_unknown)
    json_array_append_new(skipped, json_string("all code (no file of the command was found)"));
  json_object_set_new(object, "not_hashed", skipped);
  json_object_set_new(object, "hints", json_of_lines(core_text_string(&hints)));

  core_text_free(&command);
  core_text_free(&resume);
  core_text_free(&hints);
  return object;
}
