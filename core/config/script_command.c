/* The command of a program: words, and what placeholders in them stand for (script.h). No shell reads any of it. */
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
  static const char *const own[] = {"run", "dir", "seed", "config", "flags", "overrides"};
  const char *names[CORE_SCRIPT_SETTINGS_MAX + sizeof own / sizeof *own];
  const CoreScriptDefinition *definition = words->program->definition;
  size_t count = 0;
  for (size_t i = 0; i < definition->setting_count; i++) names[count++] = definition->settings[i].row->name;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) names[count++] = own[i];
  const char *nearest = core_text_nearest(name, names, count);
  if (strcmp(name, "flags") == 0 || strcmp(name, "overrides") == 0)
    return core_error(CORE_USAGE, "{%s} stands for several words, so it must be a word by itself", name);
  return core_error(CORE_USAGE, "{%.80s} is neither a setting nor run, dir, seed, config, flags or overrides%s%s%s",
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

/* {flags}: "--lr" "0.1" ...; {overrides}: "lr=0.1" ... */
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

/* The name behind an opening brace; *end: behind the closing one. */
static int read_name(const char *at, char name[CORE_SCRIPT_NAME], const char **end) {
  const size_t length = strcspn(at, "} \t\"'");
  if (at[length] != '}' || length == 0 || length >= CORE_SCRIPT_NAME)
    return core_error(CORE_USAGE, "{%.40s: expected a placeholder, as {lr}; write {{ for a brace", at);
  memcpy(name, at, length);
  name[length] = '\0';
  *end = at + length + 1;
  return CORE_OK;
}

static bool is_end(char c) { return c == '\0' || c == ' ' || c == '\t'; }

/* Whether the word at `at` is {flags} or {overrides} alone. */
static const char *take_settings(Words *words, const char *at) {
  const bool flags = strncmp(at, "{flags}", 7) == 0 && is_end(at[7]);
  const bool overrides = strncmp(at, "{overrides}", 11) == 0 && is_end(at[11]);
  if (!flags && !overrides) return NULL;
  add_settings(words, flags);
  return at + (flags ? 7 : 11);
}

/* One word from *at on. A quote keeps blanks; inside of "...", \" and \\ are " and \. */
static int read_word(Words *words, const char **at) {
  const char *c = *at;
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
  if (quote) return core_error(CORE_USAGE, "%.60s: the quote %c has no end", *at, quote);
  *at = c;
  add_word(words, core_text_string(&words->word));
  return CORE_OK;
}

int core_script_words(const CoreScript *program, const char *text, const CoreScriptRun *run, char ***result,
                       size_t *count) {
  Words words = {.program = program, .run = run};
  int code = CORE_OK;
  for (const char *at = text + strspn(text, " \t"); *at && code == CORE_OK; at += strspn(at, " \t")) {
    const char *behind = take_settings(&words, at);
    if (behind) at = behind;
    else code = read_word(&words, &at);
  }
  core_text_free(&words.word);
  if (code == CORE_OK && !words.items) words.items = core_memory_zero_allocate(1, sizeof *words.items);
  *result = words.items;
  *count = words.count;
  if (code != CORE_OK) core_script_words_free(result);
  return code;
}

void core_script_words_free(char ***words) {
  for (char **word = *words; word && *word; word++) free(*word);
  free(*words);
  *words = NULL;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

int core_script_folder(const CoreScript *program, char folder[CORE_PATH_MAX]) {
  const char *base = core_script_text(program, CORE_SCRIPT_folder), *cwd = core_script_text(program, CORE_SCRIPT_cwd);
  const char *home = getenv("HOME");
  if (strncmp(cwd, "~/", 2) == 0 && home) return core_files_path(folder, "%s/%s", home, cwd + 2);
  if (*cwd == '/') return core_files_path(folder, "%s", cwd);
  return core_files_path(folder, "%s%s%s", *base ? base : ".", *cwd ? "/" : "", cwd);
}

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

int core_script_source(const char *metrics, CoreScriptSource *source, const char **place) {
  static const struct { const char *word; CoreScriptSource source; } kinds[] = {
    {"csv:", CORE_SCRIPT_CSV}, {"stdout:", CORE_SCRIPT_STDOUT}, {"tensorboard:", CORE_SCRIPT_TENSORBOARD}};
  *source = CORE_SCRIPT_JSONL;
  *place = "";
  if (strcmp(metrics, "jsonl") == 0) return CORE_OK;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const size_t length = strlen(kinds[i].word);
    if (strncmp(metrics, kinds[i].word, length) != 0 || !metrics[length]) continue;
    *source = kinds[i].source;
    *place = metrics + length;
    return CORE_OK;
  }
  return core_error(CORE_USAGE, "metrics = %.80s: expected jsonl, csv:FILE, stdout:NAME=REGEX or tensorboard:DIR",
                    metrics);
}
