/* The command of a program: splits it into words and expands placeholders (script.h). No shell interprets it. */
#include <stdlib.h>
#include <string.h>

#include "core/config/script.h"
#include "core/memory.h"

typedef struct Words {
  const CoreScript *program;
  const CoreScriptRun *run;
  char **items;
  size_t count, capacity;
  CoreText word;
} Words;

static void add_word(Words *words, const char *text) {
  if (words->count + 1 >= words->capacity) {
    words->capacity = words->capacity ? 2 * words->capacity : 16;
    words->items = core_memory_resize(words->items, words->capacity * sizeof *words->items);
  }
  words->items[words->count++] = core_text_duplicate(text);
  words->items[words->count] = NULL;
}

/* ---- placeholders ------------------------------------------------------------------------------------------------ */

static int unknown_placeholder(const Words *words, const char *name) {
  static const char *const built_in[] = {"run", "dir", "seed", "config", "flags", "overrides"};
  const char *names[CORE_SCRIPT_SETTINGS_MAX + sizeof built_in / sizeof *built_in];
  const CoreScriptDefinition *definition = words->program->definition;
  size_t count = 0;
  for (size_t i = 0; i < definition->setting_count; i++) names[count++] = definition->settings[i].row->name;
  for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++) names[count++] = built_in[i];
  const char *nearest = core_text_nearest(name, names, count);
  if (strcmp(name, "flags") == 0 || strcmp(name, "overrides") == 0)
    return core_error(CORE_USAGE, "{%s} expands to several words, so it must be a separate word", name);
  return core_error(CORE_USAGE, "{%.80s} is not a setting, nor run, dir, seed, config, flags or overrides%s%s%s",
                    name, nearest ? "; did you mean {" : "; write {{ for a brace", nearest ? nearest : "",
                    nearest ? "}?" : "");
}

static int append_placeholder(Words *words, const char *name) {
  const CoreScriptRun *run = words->run;
  const struct { const char *name, *text; } texts[] = {
    {"run", run ? run->id : ""}, {"dir", run ? run->dir : ""}, {"config", run ? run->config : ""}};
  const CoreScriptSetting *setting = core_script_find(words->program, name);
  if (setting) {
    core_text_append(&words->word, core_script_value(words->program, setting->row)->text);
    return CORE_OK;
  }
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (strcmp(texts[i].name, name) != 0) continue;
    core_text_append(&words->word, texts[i].text ? texts[i].text : "");
    return CORE_OK;
  }
  if (strcmp(name, "seed") != 0) return unknown_placeholder(words, name);
  core_text_appendf(&words->word, "%lld", (long long)(run ? run->seed : 0));
  return CORE_OK;
}

/* Adds the words of {flags} ("--lr" "0.1" ...) or of {overrides} ("lr=0.1" ...). */
static void add_settings(Words *words, bool flags) {
  const CoreScriptDefinition *definition = words->program->definition;
  CoreText text = {0};
  for (size_t i = 0; i < definition->setting_count; i++) {
    const char *name = definition->settings[i].row->name, *value = words->program->values[i]->text;
    core_text_clear(&text);
    core_text_appendf(&text, flags ? "--%s" : "%s=", name);
    if (!flags) core_text_append(&text, value);
    add_word(words, core_text_string(&text));
    if (flags) add_word(words, value);
  }
  core_text_free(&text);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Reads the name after an opening brace; *end: the position after the closing one. */
static int read_name(const char *text, char name[CORE_SCRIPT_NAME], const char **end) {
  const size_t length = strcspn(text, "} \t\"'");
  if (text[length] != '}' || length == 0 || length >= CORE_SCRIPT_NAME)
    return core_error(CORE_USAGE, "{%.40s: expected a placeholder, such as {lr}; write {{ for a brace", text);
  memcpy(name, text, length);
  name[length] = '\0';
  *end = text + length + 1;
  return CORE_OK;
}

static bool is_end(char c) { return c == '\0' || c == ' ' || c == '\t'; }

/* Expands the word at `text` if it is {flags} or {overrides}. Returns the position after it, else NULL. */
static const char *expand_settings(Words *words, const char *text) {
  const bool flags = strncmp(text, "{flags}", 7) == 0 && is_end(text[7]);
  const bool overrides = strncmp(text, "{overrides}", 11) == 0 && is_end(text[11]);
  if (!flags && !overrides) return NULL;
  add_settings(words, flags);
  return text + (flags ? 7 : 11);
}

/* Adds one word and advances *text. A quote keeps blanks; inside "...", \" and \\ stand for " and \. */
static int read_word(Words *words, const char **text) {
  const char *c = *text;
  char quote = '\0', name[CORE_SCRIPT_NAME];
  core_text_clear(&words->word);
  while (*c && (quote || !is_end(*c))) {
    if (*c == '{' && c[1] == '{') {
      core_text_append(&words->word, "{");
      c += 2;
    } else if (*c == '{') {
      TRY(read_name(c + 1, name, &c));
      TRY(append_placeholder(words, name));
    } else if (quote ? *c == quote : *c == '"' || *c == '\'') {
      quote = quote ? '\0' : *c;
      c++;
    } else {
      if (quote == '"' && *c == '\\' && (c[1] == '"' || c[1] == '\\')) c++;
      core_text_append_bytes(&words->word, c++, 1);
    }
  }
  if (quote) return core_error(CORE_USAGE, "%.60s: quote %c is not closed", *text, quote);
  *text = c;
  add_word(words, core_text_string(&words->word));
  return CORE_OK;
}

int core_script_argv(const CoreScript *program, const char *text, const CoreScriptRun *run, char ***argv,
                     size_t *count) {
  Words words = {.program = program, .run = run};
  int code = CORE_OK;
  for (const char *c = text + strspn(text, " \t"); *c && code == CORE_OK; c += strspn(c, " \t")) {
    const char *end = expand_settings(&words, c);
    if (end) c = end;
    else code = read_word(&words, &c);
  }
  core_text_free(&words.word);
  if (code == CORE_OK && !words.items) words.items = core_memory_zero_allocate(1, sizeof *words.items);
  *argv = words.items;
  *count = words.count;
  if (code != CORE_OK) core_script_argv_free(argv);
  return code;
}

void core_script_argv_free(char ***argv) {
  for (char **word = *argv; word && *word; word++) free(*word);
  free(*argv);
  *argv = NULL;
}

/* ---- working directory ------------------------------------------------------------------------------------------- */

int core_script_directory(const CoreScript *program, char directory[CORE_PATH_MAX]) {
  const char *base = core_script_text(program, CORE_SCRIPT_folder), *cwd = core_script_text(program, CORE_SCRIPT_cwd);
  const char *home = getenv("HOME");
  if (strncmp(cwd, "~/", 2) == 0 && home) return core_files_path(directory, "%s/%s", home, cwd + 2);
  if (*cwd == '/') return core_files_path(directory, "%s", cwd);
  return core_files_path(directory, "%s%s%s", *base ? base : ".", *cwd ? "/" : "", cwd);
}

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

int core_script_source(const char *metrics, CoreScriptSource *source, const char **location) {
  static const struct { const char *prefix; CoreScriptSource source; } kinds[] = {
    {"jsonl:", CORE_SCRIPT_JSONL}, {"csv:", CORE_SCRIPT_CSV}, {"stdout:", CORE_SCRIPT_STDOUT}, {"tensorboard:", CORE_SCRIPT_TENSORBOARD}};
  *source = CORE_SCRIPT_JSONL;
  *location = "";
  if (strcmp(metrics, "jsonl") == 0) return CORE_OK;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const size_t length = strlen(kinds[i].prefix);
    if (strncmp(metrics, kinds[i].prefix, length) != 0 || !metrics[length]) continue;
    *source = kinds[i].source;
    *location = metrics + length;
    return CORE_OK;
  }
  return core_error(CORE_USAGE, "metrics = %.80s: expected jsonl, jsonl:FILE, csv:FILE, stdout:NAME=REGEX or tensorboard:DIR",
                    metrics);
}
