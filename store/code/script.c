/* Finds the files of a program (script.h): asks find_program.py, and without Python takes the words of the command. */
#include "store/code/script.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "store/code/code.h"

enum { FINDER_S = 120, WORDS_MAX = 16384 };

/* Words of the command, of all values of its choices one after the other. */
typedef struct Words {
  const char **items; /* [count], NULL-terminated */
  size_t count, capacity;
  char ***commands;   /* [command_count] they own the words */
  size_t command_count;
} Words;

static void free_words(Words *words) {
  for (size_t i = 0; i < words->command_count; i++) core_script_argv_free(&words->commands[i]);
  free(words->commands);
  free(words->items);
}

static void push(Words *words, const char *word) {
  if (words->count + 2 > words->capacity) {
    words->capacity = words->capacity ? 2 * words->capacity : 64;
    words->items = core_memory_resize(words->items, words->capacity * sizeof *words->items);
  }
  words->items[words->count++] = word;
  words->items[words->count] = NULL;
}

/* Adds the words of the command under the present values. */
static int add_command(const CoreScript *program, Words *words) {
  char **command;
  size_t count;
  TRY(core_script_argv(program, core_script_text(program, CORE_SCRIPT_command), NULL, &command, &count));
  words->commands = core_memory_resize(words->commands, (words->command_count + 1) * sizeof *words->commands);
  words->commands[words->command_count++] = command;
  for (size_t i = 0; i < count; i++) push(words, command[i]);
  return CORE_OK;
}

/* Adds the words for the other values of a choice, since {algo}.py is a file for each of them. */
static int add_choices(const CoreScript *program, const CoreScriptSetting *setting, Words *words) {
  const bool is_named = core_script_names(core_script_text(program, CORE_SCRIPT_command), setting->row->name);
  int code = CORE_OK;
  if (setting->kind != CORE_CONFIG_ENUM || !is_named) return CORE_OK;

  char *choices = core_text_duplicate(setting->choices), *rest = choices;
  for (char *choice; code == CORE_OK && words->count < WORDS_MAX && (choice = strsep(&rest, "|"));) {
    CoreConfig config = core_config_default();
    core_script_attach(&config, program);
    code = core_script_set(&config, setting->row->name, choice);
    if (code == CORE_OK) code = add_command(config.program, words);
  }
  free(choices);
  return code;
}

/* ---- without Python ---------------------------------------------------------------------------------------------- */

static bool is_plain_file(const char *directory, const char *word) {
  char path[CORE_PATH_MAX];
  struct stat status;
  return core_files_path(path, "%s/%s", directory, word) == CORE_OK && stat(path, &status) == 0 &&
         S_ISREG(status.st_mode);
}

bool store_script_lists(const char *files, const char *name) {
  CoreText padded = {0}, list = {0};
  core_text_appendf(&padded, " %s ", name);
  core_text_appendf(&list, " %s ", files);
  const bool is_listed = strstr(list.data, padded.data) != NULL;
  core_text_free(&padded);
  core_text_free(&list);
  return is_listed;
}

static void add_name(const char *name, CoreText *files) {
  if (!store_script_lists(core_text_string(files), name))
    core_text_appendf(files, "%s%s", files->length ? " " : "", name);
}

/* Whether an absolute path is a program or script that is not the system's. */
static bool is_own_program(const char *path) {
  static const char *const system[] = {"/bin/", "/sbin/", "/usr/", "/lib/", "/lib64/", "/opt/", "/etc/", "/snap/",
                                       "/nix/", "/gnu/", "/proc/", "/dev/"};
  struct stat status;
  if (*path != '/' || stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  for (size_t i = 0; i < sizeof system / sizeof *system; i++)
    if (strncmp(path, system[i], strlen(system[i])) == 0 && status.st_uid == 0 && !(status.st_mode & 022)) return false;
  return true;
}

/* Whether a file is executed as it is, or has the name of a script. */
static bool is_executed(const char *path) {
  const char *extension = strrchr(path, '.');
  if (access(path, X_OK) == 0) return true;
  return extension && (strcmp(extension, ".sh") == 0 || strcmp(extension, ".py") == 0);
}

/* Adds words that name files below the working directory, and programs and scripts elsewhere. */
static void add_named_files(const Words *words, const char *directory, CoreText *files) {
  for (size_t i = 0; i < words->count; i++) {
    const char *word = words->items[i];
    if (!*word || strpbrk(word, " \t\"'\\")) continue;
    const bool is_code = *word == '/' ? is_own_program(word) && is_executed(word) : is_plain_file(directory, word);
    if (is_code) add_name(word, files);
  }
  core_error_clear();
}

/* Whether the command names a file by an absolute path that may be code, also within sh -c "...". */
static bool names_elsewhere(const Words *words) {
  for (size_t i = 0; i < words->count; i++)
    if (is_own_program(words->items[i]) || (strchr(words->items[i], ' ') && strchr(words->items[i], '/'))) return true;
  return false;
}

/* Whether the command may start Python, also within sh -c "...". */
static bool is_python(const Words *words) {
  for (size_t i = 0; i < words->count; i++) {
    const char *word = words->items[i];
    if (strstr(word, "python") || strstr(word, "pypy") || strstr(word, ".py") || strstr(word, " -m ") ||
        strcmp(word, "-m") == 0 || strncmp(word, "--module", 8) == 0)
      return true;
  }
  return false;
}

/* ---- with Python ------------------------------------------------------------------------------------------------- */

static void take_lines(char *text, StoreScriptFiles *found) {
  char *rest;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    const char *name = strchr(line, '\t');
    if (!name) continue;
    if (strncmp(line, "file\t", 5) == 0 && core_text_is_utf8(name + 1)) add_name(name + 1, &found->files);
    else
      core_text_appendf(&found->skipped, "%s%s\n", name + 1, strchr(name + 1, '\t') ? "" : "\tits name is not UTF-8");
  }
}

/* Runs find_program.py with the user's own Python. */
static int run_finder(const char *directory, const Words *words, StoreScriptFiles *found) {
  char finder[CORE_PATH_MAX], path[CORE_PATH_MAX];
  CoreProcessOutput output = {0};

  TRY(core_program_library_file("find_program.py", finder));
  const char **arguments = core_memory_zero_allocate(words->count + 5, sizeof *arguments);
  const char *const head[] = {store_code_python("", path), "-E", finder, directory};
  memcpy(arguments, head, sizeof head);
  memcpy(arguments + 4, words->items, words->count * sizeof *arguments);

  int code = core_process_run(arguments, NULL, NULL, FINDER_S, &output);
  free(arguments);
  if (code == CORE_OK && output.exit_code != 0)
    code = core_error(CORE_FAIL, "%.*s", (int)strcspn(core_text_string(&output.error), "\n"),
                      output.error.length ? output.error.data : "Python failed without a message");

  if (code == CORE_OK && output.out.data) take_lines(output.out.data, found);
  core_process_output_free(&output);
  return code;
}

static int find(const CoreScript *program, Words *words, StoreScriptFiles *found) {
  char directory[CORE_PATH_MAX];
  const CoreScriptDefinition *definition = program->definition;

  TRY(core_script_directory(program, directory));
  TRY(add_command(program, words));
  for (size_t i = 0; i < definition->setting_count; i++) TRY(add_choices(program, &definition->settings[i], words));

  add_named_files(words, directory, &found->files);
  const bool has_python = is_python(words), is_project = is_plain_file(directory, "pyproject.toml");
  if (!has_python && !is_project && !names_elsewhere(words) && found->files.length == 0) return CORE_OK;

  CoreText named = found->files;
  found->files = (CoreText){0};
  if (run_finder(directory, words, found) == CORE_OK) {
    core_text_free(&named);
    return CORE_OK;
  }

  store_script_free(found);
  found->files = named;
  if (has_python)
    core_text_appendf(&found->skipped, "imported modules\tthey could not be searched: %s\n", core_error_message());
  core_error_clear();
  return CORE_OK;
}

int store_script_find(const CoreScript *program, StoreScriptFiles *found) {
  Words words = {0};
  const int code = find(program, &words, found);
  free_words(&words);
  return code;
}

void store_script_free(StoreScriptFiles *found) {
  core_text_free(&found->files);
  core_text_free(&found->skipped);
}
