/* The command of a program: splits it into words and expands placeholders (script.h). No shell interprets it. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/config/script.h"
#include "core/memory.h"

typedef struct Words {
  const CoreScript *program;
  const CoreScriptRun *run;
  char **items;
  size_t count, capacity;
  const char *text;     /* all words */
  CoreText word;
  bool may_vanish;      /* whether the word has a condition: it is left out if it is empty */
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

  if (words->word.length > 0 && words->word.data[words->word.length - 1] == '$')
    return core_error(CORE_USAGE, "no shell interprets ${%.80s}; write its value, or a script that starts the program",
                      name);
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
    core_text_append(&words->word, core_script_value(words->program, setting->row)->written);
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

/* Appends the text of "{NAME?TEXT:OTHER}": TEXT if the setting is true, else OTHER; ":OTHER" may be missing. */
static int append_condition(Words *words, const char *placeholder) {
  static const char *const yes[] = {"True", "true", "yes", "on"};
  char name[CORE_SCRIPT_NAME];
  const size_t length = strcspn(placeholder, "?");
  const char *text = placeholder + length + 1, *other = strchr(text, ':');
  if (length >= sizeof name) return unknown_placeholder(words, placeholder);
  memcpy(name, placeholder, length);
  name[length] = '\0';

  const CoreScriptSetting *setting = core_script_find(words->program, name);
  if (!setting) return unknown_placeholder(words, name);
  if (!core_script_is_boolean(setting))
    return core_error(CORE_USAGE, "{%.80s}: %s is neither true nor false; its default must be True or False",
                      placeholder, name);

  bool is_true = false;
  const char *value = core_script_value(words->program, setting->row)->text;
  for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) is_true = is_true || strcmp(value, yes[i]) == 0;
  if (is_true) core_text_append_bytes(&words->word, text, other ? (size_t)(other - text) : strlen(text));
  else if (other) core_text_append(&words->word, other + 1);
  words->may_vanish = true;
  return CORE_OK;
}

/* ---- {flags} and {overrides} ------------------------------------------------------------------------------------- */

bool core_script_names(const char *text, const char *name) {
  const size_t length = strlen(name);
  for (const char *c = strchr(text, '{'); c; c = strchr(c, '{')) {
    c++;
    if (*c == '{') c++;
    else if (strncmp(c, name, length) == 0 && (c[length] == '}' || c[length] == '?')) return true;
  }
  return false;
}

/* Adds "--lr" "0.1", and "--bias=-0.1" where a program would take the value for an option. */
static void add_flag(Words *words, const char *name, const char *value) {
  const bool is_dashed = *value == '-';
  CoreText text = {0};
  core_text_appendf(&text, "--%s%s%s", name, is_dashed ? "=" : "", is_dashed ? value : "");
  add_word(words, core_text_string(&text));
  if (!is_dashed) add_word(words, value);
  core_text_free(&text);
}

/* Whether Hydra reads the text as one word without quotes: letters first, so that it is no number. */
static bool is_hydra_word(const char *text) {
  static const char *const others[] = {"true", "false", "inf", "nan"};
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const size_t first = strspn(text, "_/");
  if (!text[first] || !strchr(letters, text[first])) return false;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcasecmp(text, others[i]) == 0) return false;
  for (const char *c = text; *c; c++)
    if (!strchr(letters, *c) && !strchr("0123456789_-./:@", *c)) return false;
  return true;
}

/* Whether the text is a list of plain words and numbers, such as [64,64]. */
static bool is_hydra_list(const char *text) {
  const size_t length = strlen(text);
  int depth = 0;
  if (length < 2 || *text != '[' || text[length - 1] != ']') return false;
  for (const char *c = text; *c; c++) {
    depth += (*c == '[') - (*c == ']');
    const bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
    if (depth < 0 || (depth == 0 && c[1]) || (!is_letter && !strchr("[],_-+./ ", *c))) return false;
  }
  return depth == 0;
}

/* Appends a text in quotes of Hydra's grammar. Backslashes count only in front of a quote; "${" would be replaced. */
static void append_hydra_quoted(CoreText *text, const char *value) {
  core_text_append(text, "'");
  for (const char *c = value; *c;) {
    const size_t slashes = strspn(c, "\\");
    const bool is_special = c[slashes] == '\'' || !c[slashes] || strncmp(c + slashes, "${", 2) == 0;
    for (size_t i = 0; i < slashes * (is_special ? 2 : 1); i++) core_text_append(text, "\\");
    c += slashes;
    if (!*c) break;
    if (*c == '\'' || strncmp(c, "${", 2) == 0) core_text_append(text, "\\");
    core_text_append_bytes(text, c++, 1);
  }
  core_text_append(text, "'");
}

/* Adds "lr=0.1" by the grammar of Hydra's overrides: only numbers, choices, null, words and lists have no quotes. */
static void add_override(Words *words, const CoreScriptSetting *setting, const char *value) {
  CoreText text = {0};
  core_text_appendf(&text, "%s=", setting->row->name);
  const bool is_number = core_config_is_number(setting->kind);
  const bool is_plain_choice = setting->kind == CORE_CONFIG_ENUM && *value && !value[strspn(value,
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@+")];
  if (is_number || is_plain_choice || is_hydra_word(value) || is_hydra_list(value)) core_text_append(&text, value);
  else append_hydra_quoted(&text, value);
  add_word(words, core_text_string(&text));
  core_text_free(&text);
}

/* Adds the words of {flags} or {overrides}: settings that the text does not name itself. */
static void add_settings(Words *words, bool flags) {
  const CoreScriptDefinition *definition = words->program->definition;
  for (size_t i = 0; i < definition->setting_count; i++) {
    const CoreScriptSetting *setting = &definition->settings[i];
    const char *value = words->program->values[i]->written;
    if (core_script_names(words->text, setting->row->name)) continue;
    if (flags) add_flag(words, setting->row->name, value);
    else add_override(words, setting, value);
  }
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

enum { PLACEHOLDER_MAX = 512 };

/* Reads the text after an opening brace; *end: the position after the closing one. */
static int read_name(const char *text, char name[PLACEHOLDER_MAX], const char **end) {
  const size_t length = strcspn(text, "} \t\"'");
  if (text[length] != '}' || length == 0 || length >= PLACEHOLDER_MAX)
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
  char quote = '\0', name[PLACEHOLDER_MAX];
  bool is_quoted = false;
  core_text_clear(&words->word);
  words->may_vanish = false;

  while (*c && (quote || !is_end(*c))) {
    if (*c == '{' && c[1] == '{') {
      core_text_append(&words->word, "{");
      c += 2;
    } else if (*c == '{') {
      TRY(read_name(c + 1, name, &c));
      TRY(strchr(name, '?') ? append_condition(words, name) : append_placeholder(words, name));
    } else if (quote ? *c == quote : *c == '"' || *c == '\'') {
      quote = quote ? '\0' : *c;
      is_quoted = true;
      c++;
    } else {
      if (quote == '"' && *c == '\\' && (c[1] == '"' || c[1] == '\\')) c++;
      core_text_append_bytes(&words->word, c++, 1);
    }
  }

  if (quote) return core_error(CORE_USAGE, "%.60s: quote %c is not closed", *text, quote);
  *text = c;
  if (words->word.length > 0 || is_quoted || !words->may_vanish) add_word(words, core_text_string(&words->word));
  return CORE_OK;
}

int core_script_argv(const CoreScript *program, const char *text, const CoreScriptRun *run, char ***argv,
                     size_t *count) {
  Words words = {.program = program, .run = run, .text = text};
  int code = CORE_OK;
  for (const char *c = text + strspn(text, " \t"); *c; c += strspn(c, " \t")) {
    const char *end = expand_settings(&words, c);
    if (end) c = end;
    else code = read_word(&words, &c);
    if (code != CORE_OK) break;
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

static void quote_word(const char *word, CoreText *text) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,";
  if (*word && strspn(word, plain) == strlen(word)) core_text_append(text, word);
  else core_text_append_shell(text, word);
}

int core_script_quote(const CoreScript *program, const char *text, const CoreScriptRun *run, CoreText *line) {
  char **words;
  size_t count;
  TRY(core_script_argv(program, text, run, &words, &count));
  for (size_t i = 0; i < count; i++) {
    core_text_append(line, line->length ? " " : "");
    quote_word(words[i], line);
  }
  core_script_argv_free(&words);
  return CORE_OK;
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

int core_script_metrics_path(const CoreScript *program, const CoreScriptRun *run, const char *directory,
                             const char *location, char path[CORE_PATH_MAX]) {
  char **words;
  size_t count;
  TRY(core_script_argv(program, location, run, &words, &count));
  const int code = core_files_path_in(directory, count > 0 ? words[0] : ".", path);
  core_script_argv_free(&words);
  return code;
}

int core_script_source(const char *metrics, CoreScriptSource *source, const char **location) {
  static const struct { const char *prefix; CoreScriptSource source;
  } kinds[] = {{"jsonl:", CORE_SCRIPT_JSONL},
               {"csv:", CORE_SCRIPT_CSV},
               {"stdout:", CORE_SCRIPT_STDOUT},
               {"tensorboard:", CORE_SCRIPT_TENSORBOARD}};

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

  return core_error(
    CORE_USAGE, "metrics = %.80s: expected jsonl, jsonl:FILE, csv:FILE, stdout:NAME=REGEX or tensorboard:DIR", metrics);
}
